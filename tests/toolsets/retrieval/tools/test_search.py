"""repo_search as a tool: its envelope, limits, pages and codes. What matches is tested below it."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.workspace import Roots
from tests.desks import make_desk
from tests.toolsets.retrieval.forest import Forest, make_forest
from tests.workspace.test_sandbox import unprivileged

if TYPE_CHECKING:
    from collections.abc import Generator

GONE = ("CONFIG_INVALID", "ROOT_NOT_FOUND")


def places(answer: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(hit["repo"], hit["path"], hit["line"]) for hit in answer["result"]]


@pytest.fixture
def planted(forest: Forest) -> Forest:
    """Return a forest where `needle` stands on 120 lines of 40 files."""
    for root in ("docs", "code"):
        for n in range(20):
            text = "hay\n" + f"a needle {n} in {root}\nhay\n" * 3
            forest.put(f"{root}/folder-{n % 4}/file-{n:02}.py", text)
    return forest


def test_a_hit_is_a_line_with_its_place(forest: Forest) -> None:
    forest.put("code/src/a.py", "one\n  two needles\n")
    answer = forest.ok("repo_search", query="needle")
    place = {"repo": "code", "path": "src/a.py", "uri": "rolltop://file/code/src/a.py#L2"}
    assert answer["result"] == [{**place, "line": 2, "preview": "  two needles"}]
    assert set(answer["meta"]) == {"repo", "duration_ms", "truncated"}
    assert answer["meta"]["repo"] == "both"


def test_context_brings_the_lines_around(forest: Forest) -> None:
    forest.put("code/a.py", "1\n2\nneedle\n4\n")
    (hit,) = forest.ok("repo_search", query="needle", context=2)["result"]
    assert hit["before"] == [{"line": 1, "text": "1"}, {"line": 2, "text": "2"}]
    assert hit["after"] == [{"line": 4, "text": "4"}]


def test_a_tree_deeper_than_calls_may_nest_is_searched(forest: Forest) -> None:
    levels = [forest.top / "code"]
    while len(levels) < sys.getrecursionlimit() + 100:
        levels.append(levels[-1] / "a")
        levels[-1].mkdir()
    file = levels[-1] / "f.txt"
    file.write_text("needle\n", encoding="utf-8")
    try:
        for _ in range(2):  # the second time the tree is known
            for given in ({}, {"file_glob": "**/*.txt"}):
                (hit,) = forest.ok("repo_search", query="needle", **given)["result"]
                assert hit["path"] == "a/" * (len(levels) - 1) + "f.txt"
            zero = forest.ok("repo_search", query="nothing of the kind", repo="code")
            assert zero["meta"]["searched"]["files"] == 1
            assert forest.ok("repo_smart_search", query="needle")["result"]
    finally:  # what clears folders away nests calls too
        file.unlink()
        for level in reversed(levels[1:]):
            level.rmdir()


@pytest.mark.parametrize("tool", ["repo_search", "repo_smart_search"])
def test_one_hit_whose_preview_is_cut_for_a_budget_is_all_there_is(
    forest: Forest, tool: str
) -> None:
    around = 'var a="日本語";' * 60
    forest.put("code/a.js", f"{around}function handler(){{}}{around}\n")
    answer = forest.ok(tool, query="handler", max_tokens=200)
    (hit,) = answer["result"]
    assert hit["preview"].endswith("…")
    assert answer["meta"]["truncated"] is False


def test_repo_is_one_root_or_all_in_their_order(planted: Forest) -> None:
    every = places(planted.ok("repo_search", query="needle", limit=1000))
    assert len(every) == 120
    assert [repo for repo, _, _ in every] == ["docs"] * 60 + ["code"] * 60
    assert every == places(planted.ok("search", query="needle", repo="both", limit=1000))
    only = planted.ok("repo_search", query="needle", repo="code")
    assert only["meta"]["repo"] == "code"
    assert places(only) == every[60:]
    for root in ("docs", "code"):
        own = [(path.split("/"), line) for repo, path, line in every if repo == root]
        assert own == sorted(own)


def test_with_one_root_meta_names_it(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "notes")
    forest.put("notes/a", "needle\n")
    assert forest.ok("repo_search", query="needle")["meta"]["repo"] == "notes"


def test_truncated_is_true_exactly_when_there_is_more(planted: Forest) -> None:
    for limit, more in ((119, True), (120, False), (121, False), (1, True)):
        answer = planted.ok("repo_search", query="needle", limit=limit)
        assert len(answer["result"]) == min(limit, 120)
        assert answer["meta"]["truncated"] is more
        assert ("next_cursor" in answer["meta"]) is more
        if more:
            following = answer["meta"]["next"]
            assert following["arguments"]["cursor"] == answer["meta"]["next_cursor"]


@pytest.mark.parametrize(
    "limits", [{"limit": 7}, {"max_tokens": 2_500}, {"max_tokens": 400}, {"max_tokens": 200}]
)
def test_pages_join_to_the_whole_without_gaps_or_repeats(
    planted: Forest, limits: dict[str, int]
) -> None:
    whole = places(planted.ok("repo_search", query="needle", context=1, limit=1000))
    pages = planted.pages("repo_search", query="needle", context=1, **limits)
    assert [place for page in pages for place in places(page)] == whole
    assert len(pages) > 2


@pytest.mark.parametrize("limits", [(5, 200), (4, 210), (3, 200), (5, 230)])
def test_a_long_path_leaves_the_call_that_goes_on_in_place(
    forest: Forest, limits: tuple[int, int]
) -> None:
    sections = [f"## Section {n}\n\nword body {n} and some more of this line\n" for n in range(12)]
    path = f"docs/f00-日本語{'x' * 60}.md"
    forest.put(path, "\n".join(sections))
    context, most = limits
    pages = forest.pages("repo_search", query="word", context=context, max_tokens=most)
    assert [line for page in pages for _, _, line in places(page)] == list(range(3, 48, 4))


def test_a_page_goes_on_when_files_it_has_read_change(planted: Forest) -> None:
    whole = places(planted.ok("repo_search", query="needle", limit=1000))
    first = planted.ok("repo_search", query="needle", limit=10)
    planted.put(f"docs/{whole[0][1]}", "no more\n")
    rest = planted.ok("repo_search", **{**first["meta"]["next"]["arguments"], "limit": 1000})
    assert places(first) + places(rest) == whole


def test_a_page_says_so_when_files_it_has_yet_to_read_changed(planted: Forest) -> None:
    def asked() -> dict[str, Any]:
        return planted.ok("repo_search", query="needle", max_tokens=400)["meta"]["next"][
            "arguments"
        ]

    after_edit, after_new, after_gone = asked(), asked(), asked()
    planted.put("code/folder-3/file-19.py", "another needle\n")
    assert planted.code("repo_search", **after_edit) == "INVALID_CURSOR"
    after_new = asked()
    planted.put("code/zzz", "x\n")
    assert planted.code("repo_search", **after_new) == "INVALID_CURSOR"
    after_gone = asked()
    shutil.rmtree(planted.top / "code" / "folder-3")
    error = planted.fails("repo_search", **after_gone)
    assert error["code"] == "INVALID_CURSOR"
    assert "without cursor" in error["hint"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": "hay"},
        {"case": "ignore"},
        {"regex": True},
        {"file_glob": "*.py"},
        {"repo": "code"},
        {"cursor": "[]"},
        {"cursor": "{}"},
        {"cursor": '["code","folder-0/file-00.py",2,1,0]'},
        {"cursor": "[" * 10_000},
        {"cursor": "x"},
        {"cursor": " "},
        {"cursor": 5},
    ],
)
def test_a_cursor_of_another_search_is_refused(planted: Forest, wrong: dict[str, Any]) -> None:
    asked = planted.ok("repo_search", query="needle", limit=10)["meta"]["next"]["arguments"]
    assert planted.code("repo_search", **{**asked, **wrong}) == "INVALID_CURSOR"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"query": ""}, "QUERY_EMPTY"),
        ({"query": " \t "}, "QUERY_EMPTY"),
        ({"query": "\n"}, "QUERY_EMPTY"),
        ({"query": "a\nb"}, "QUERY_INVALID"),
        ({"query": "a\r\nb"}, "QUERY_INVALID"),
        ({"query": "(", "regex": True}, "QUERY_INVALID"),
        ({"query": "a{2,1}", "regex": True}, "QUERY_INVALID"),
        ({"query": "\ud800"}, "QUERY_INVALID"),
        ({"query": 5}, "INVALID_ARGUMENT"),
        ({"limit": 0}, "LIMIT_INVALID"),
        ({"limit": 1001}, "LIMIT_INVALID"),
        ({"limit": -1}, "LIMIT_INVALID"),
        ({"limit": "few"}, "LIMIT_INVALID"),
        ({"limit": 5.5}, "LIMIT_INVALID"),
        ({"limit": True}, "LIMIT_INVALID"),
        ({"repo": "nowhere"}, "REPO_INVALID"),
        ({"repo": " "}, "REPO_INVALID"),
        ({"repo": 1}, "REPO_INVALID"),
        ({"file_glob": "["}, "FILE_GLOB_INVALID"),
        ({"file_glob": "{a,b"}, "FILE_GLOB_INVALID"),
        ({"file_glob": ["*.py"]}, "FILE_GLOB_INVALID"),
        ({"context": 6}, "INVALID_ARGUMENT"),
        ({"context": -1}, "INVALID_ARGUMENT"),
        ({"case": "upper"}, "INVALID_ARGUMENT"),
        ({"regex": "yes"}, "INVALID_ARGUMENT"),
        ({"queri": "x"}, "INVALID_ARGUMENT"),
        ({"max_tokens": 199}, "INVALID_ARGUMENT"),
    ],
)
def test_each_wrong_argument_has_its_code(
    planted: Forest, wrong: dict[str, Any], code: str
) -> None:
    assert planted.code("repo_search", **{"query": "needle", **wrong}) == code


def test_without_a_query_or_without_roots(forest: Forest, tmp_path: Path) -> None:
    assert forest.code("repo_search") == "INVALID_ARGUMENT"
    error = make_forest(tmp_path / "bare").fails("repo_search", query="x")
    assert (error["code"], error["details"]) == ("CONFIG_INVALID", {"reason": "MISSING_ROOT"})


def test_other_names_of_arguments_are_taken(planted: Forest) -> None:
    answer = planted.ok("repo_search", q="needle", max_results=3, glob="*.py")
    assert len(answer["result"]) == 3


def test_a_glob_narrows_the_files(planted: Forest) -> None:
    planted.put("code/other.md", "needle\n")
    assert places(planted.ok("repo_search", query="needle", file_glob="*.md")) == [
        ("code", "other.md", 1)
    ]
    assert len(planted.ok("repo_search", query="needle", file_glob="folder-1/**")["result"]) == 30


@pytest.mark.parametrize(
    "query",
    [r"TODO|FIXME", "func.*Execute", r"res\.\w+ = x", "^exports", "def foo$", "[a-z]+_id", r"a\(b"],
)
def test_a_zero_says_that_an_expression_was_taken_as_a_text(planted: Forest, query: str) -> None:
    meta = planted.ok("repo_search", query=query)["meta"]
    assert "with regex true" in meta["hint"]
    assert "hint" not in planted.ok("repo_search", query=query, regex=True)["meta"]


@pytest.mark.parametrize(
    "query",
    [
        "foo(bar)",
        "res.send =",
        "a[0]",
        "x || y",
        "x | y",
        "what?",
        "$HOME/x",
        "a * b",
        "C++",
        "a.b",
    ],
)
def test_a_zero_of_a_plain_text_has_no_such_hint(planted: Forest, query: str) -> None:
    assert "hint" not in planted.ok("repo_search", query=query)["meta"]
    assert "hint" not in planted.ok("repo_smart_search", query="^a.*b|c$ zzyzx")["meta"]


def test_an_honest_zero_says_what_was_searched_and_what_was_not(forest: Forest) -> None:
    forest.put("docs/a.md", "The Harbour master\n")
    forest.put("docs/binary", b"\0harbor")
    os.mkfifo(forest.top / "docs" / "pipe")
    forest.desk.settings = forest.desk.settings.replace({"retrieval.max_file_bytes": 1_000})
    forest.put("code/large", "harbor" * 1_000)
    meta = forest.ok("repo_search", query="harbour master")["meta"]
    assert meta["searched"] == {"files": 1, "bytes": 19}
    assert meta["skipped"] == {
        "binary": 1, "unreadable": 0, "special": 1, "too_large": 1, "changed": 0
    }  # fmt: skip
    assert meta["nearest"] == "Harbour master"
    assert not meta["truncated"]
    assert "nearest" not in forest.ok("repo_search", query="zebra")["meta"]


@pytest.mark.parametrize("before", [0, 60, 200, 390])
@pytest.mark.parametrize("context", [0, 2])
@pytest.mark.parametrize("character", ["龘", "\U0001f9d7", "\\", "\t"])
def test_however_small_the_budget_a_preview_shows_the_match(
    forest: Forest, before: int, context: int, character: str
) -> None:
    line = f"{character * before}mizzen{character * (394 - before)}\n"
    forest.put("docs/a.md", line * 3)
    for budget in (200, 260, 400, 900):
        answer = forest.ok("repo_search", query="mizzen", context=context, max_tokens=budget)
        assert all("mizzen" in hit["preview"] for hit in answer["result"])
        assert answer["result"]


@pytest.mark.parametrize("name", ["a.md", "é日本語" * 15 + "/a.md"])
@pytest.mark.parametrize("around", ["", "long words of another line " * 20, "日本語" * 100])
def test_lines_around_give_way_before_the_hit_is_cut(
    forest: Forest, name: str, around: str
) -> None:
    line = f"the mizzen mast {'龘' * 40}"
    forest.put(
        f"docs/{name}", "".join(f"{text}\n" for text in [around] * 5 + [line] + [around] * 5)
    )
    for budget in (200, 260, 320, 400, 900):
        asked = {"query": "mizzen", "max_tokens": budget}
        alone, hit = (
            forest.ok("repo_search", **asked, context=context)["result"][0] for context in (0, 5)
        )
        assert len(hit["preview"]) >= len(alone["preview"]) // 2
        assert "mizzen" in hit["preview"]
        assert all(shown["text"].rstrip("…") in around for shown in [*hit["before"], *hit["after"]])


@pytest.mark.parametrize("tool", ["repo_search", "repo_smart_search", "repo_list_dir"])
def test_a_link_is_counted_while_it_leads_nowhere(forest: Forest, tool: str) -> None:
    forest.put("docs/a.md", "The harbour master\n")
    (forest.top / "docs" / "link").symlink_to("target.md")
    (forest.top / "docs" / ".hidden").symlink_to("target.md")
    asked = {"repo": "docs"} if tool == "repo_list_dir" else {"query": "zebra"}

    def special() -> int:
        return forest.ok(tool, **asked)["meta"].get("skipped", {}).get("special", 0)

    for _ in range(2):
        assert special() == 1
        forest.put("docs/target.md", "Nothing\n")
        assert special() == 0
        (forest.top / "docs" / "target.md").unlink()
    assert special() == 1


def test_what_may_not_be_read_is_passed_by_and_counted(open_forest: Forest) -> None:
    open_forest.put("docs/shut", "needle\n").chmod(0o000)
    open_forest.put("docs/folder/a", "needle\n").parent.chmod(0o000)
    open_forest.put("docs/hay", "hay\n")
    os.mkfifo(open_forest.top / "docs" / "pipe")
    with unprivileged():
        meta = open_forest.ok("repo_search", query="needle")["meta"]
        ranked = open_forest.ok("repo_smart_search", query="needle")["meta"]
    assert meta["searched"] == {"files": 1, "bytes": 4}
    assert (meta["skipped"]["unreadable"], meta["skipped"]["special"]) == (2, 1)
    assert (ranked["searched"], ranked["skipped"]) == (meta["searched"], meta["skipped"])
    (open_forest.top / "docs" / "folder").chmod(0o755)


def test_an_answer_with_hits_says_which_files_may_hold_more(open_forest: Forest) -> None:
    open_forest.put("docs/shut", "needle\n").chmod(0o000)
    open_forest.put("docs/open", "needle\n")
    with unprivileged():
        answer = open_forest.ok("repo_search", query="needle")
        nothing_else = open_forest.ok("repo_search", query="needle", file_glob="open")
    assert places(answer) == [("docs", "open", 1)]
    assert answer["meta"]["skipped"] == {"unreadable": 1}
    assert "skipped" not in nothing_else["meta"]


@pytest.mark.parametrize("becomes", ["nothing", "a link", "a file"])
def test_a_root_that_becomes_something_else_leads_nowhere(
    forest: Forest, becomes: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("a needle\n")
    forest.put("docs/a.txt", "a needle\n")
    forest.put("code/b.txt", "a needle\n")
    assert len(forest.ok("repo_search", query="needle")["result"]) == 2
    shutil.rmtree(forest.top / "docs")
    if becomes == "a link":
        (forest.top / "docs").symlink_to(outside)
    elif becomes == "a file":
        (forest.top / "docs").write_text("a needle\n")
    for tool in ("repo_search", "repo_smart_search"):
        found = [hit["path"] for hit in forest.ok(tool, query="needle")["result"]]
        assert found == ["b.txt"]
        assert forest.code(tool, query="needle", repo="docs") == "CONFIG_INVALID"
    for tool in ("repo_open_file", "repo_list_dir"):
        for path in (".", "a.txt", "docs/a.txt"):
            error = forest.fails(tool, repo="docs", path=path)
            assert (error["code"], error["details"]["reason"]) == GONE
        assert forest.fails(tool, path="./docs/a.txt")["details"] == error["details"]
    assert forest.ok("repo_open_file", path="b.txt")["result"]["repo"] == "code"


@pytest.mark.parametrize("tool", ["repo_search", "repo_smart_search"])
def test_a_search_of_roots_that_were_moved_away_says_so(forest: Forest, tool: str) -> None:
    forest.put("code/b.txt", "a needle\n")
    (forest.top / "docs").rename(forest.top / "elsewhere")
    error = forest.fails(tool, query="needle", repo="docs")
    assert (error["code"], error["details"]["reason"]) == GONE
    assert len(forest.ok(tool, query="needle")["result"]) == 1
    (forest.top / "code").rename(forest.top / "elsewhere too")
    assert forest.code(tool, query="needle") == "CONFIG_INVALID"
    assert forest.code("repo_open_file", path="b.txt") == "CONFIG_INVALID"


def test_a_root_that_may_no_longer_be_reached_hides_no_other(open_forest: Forest) -> None:
    open_forest.put("shut/docs/a.txt", "a needle\n")
    open_forest.put("code/b.txt", "a needle\n")
    folders = {"docs": open_forest.top / "shut/docs", "code": open_forest.top / "code"}
    roots = Roots.open(folders, base=open_forest.top)
    store, data = open_forest.desk.database, open_forest.desk.settings["data_dir"]
    forest = Forest(open_forest.top, make_desk(store, roots=roots, settings={"data_dir": data}))
    (open_forest.top / "shut").chmod(0o000)
    with unprivileged():
        for tool in ("repo_search", "repo_smart_search"):
            assert forest.code(tool, query="needle", repo="docs") == "CONFIG_INVALID"
            assert len(forest.ok(tool, query="needle")["result"]) == 1
    (open_forest.top / "shut").chmod(0o755)


def test_a_change_just_before_the_call_is_seen(forest: Forest) -> None:
    path = forest.put("code/a.py", "needle\n")
    assert len(forest.ok("repo_search", query="needle")["result"]) == 1
    path.write_text("hay\n")
    assert forest.ok("repo_search", query="needle")["result"] == []
    forest.put("code/b.py", "needle\n")
    assert places(forest.ok("repo_search", query="needle")) == [("code", "b.py", 1)]
    (forest.top / "code/b.py").rename(forest.top / "code/c.py")
    assert places(forest.ok("repo_search", query="needle")) == [("code", "c.py", 1)]


def test_a_long_line_is_cut_around_the_match_and_a_budget_cuts_it_further(forest: Forest) -> None:
    forest.put("code/min.js", "x" * 50_000 + "needle" + "y" * 50_000 + "\n")
    (hit,) = forest.ok("repo_search", query="needle")["result"]
    assert len(hit["preview"]) <= 400
    assert "needle" in hit["preview"]
    assert hit["preview"].startswith("…")
    assert hit["preview"].endswith("…")
    (small,) = forest.ok("repo_search", query="needle", max_tokens=200)["result"]
    assert small["preview"].endswith("…")


def test_a_path_is_whole_or_the_budget_it_takes_is_named(forest: Forest) -> None:
    path = "a-rather-long-folder-name/" * 4 + "file.py"
    words = "some words of it " * 20
    forest.put(f"code/{path}", f"{words}\n{words} needle\n{words}\n")
    (hit,) = forest.ok("repo_search", query="needle", context=1, max_tokens=200)["result"]
    assert hit["path"] == path
    assert hit["preview"] == f"{words} needle"
    assert hit["before"][0]["text"].endswith("…")
    forest.put("code/" + "other-long-folder/" * 30 + "file.py", "x\nneedle 2\nneedle 2\n")
    error = forest.fails("repo_search", query="needle 2", max_tokens=200)
    assert error["code"] == "INVALID_ARGUMENT"
    assert "max_tokens" in error["hint"]


@contextmanager
def few_open_files(more: int) -> Generator[None]:
    """Let this process open only so many more files than it has open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {int(file.name) for file in Path("/proc/self/fd").iterdir()}
    free = (number for number in count() if number not in used)
    fewer = next(islice(free, more, None))
    resource.setrlimit(resource.RLIMIT_NOFILE, (fewer, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("query", [{"query": "needle"}, {"query": "n.*dle", "regex": True}])
def test_where_few_files_may_be_open_the_answer_is_the_same(
    forest: Forest, query: dict[str, Any]
) -> None:
    for n in range(150):
        forest.put(f"code/{n:03}.txt", f"a needle {n}\n")
    forest.put("code/binary", b"\0needle")
    whole = forest.ok("repo_search", **query)["result"]
    assert len(whole) == 150
    with few_open_files(40):
        assert forest.ok("repo_search", **query)["result"] == whole
        assert forest.ok("repo_search", query="xylophone")["meta"]["skipped"]["binary"] == 1
