"""repo_smart_search as a tool: its envelope, order, pages and codes. Ranking is tested below it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.errors import DeadlineExceeded
from rolltop.toolsets.retrieval.index import trigram_index
from rolltop.toolsets.retrieval.service import ranking
from rolltop.workspace import Roots
from tests.campaign import examples
from tests.toolsets.retrieval.forest import Forest, make_forest

TYPED = [
    "harbour storms",
    "takeMasts",
    "take_masts",
    "voyage_03.py",
    "which ship took masts?",
    "masts(",
    '"storm',
    "a\nb masts",
    "*.py",
    "!",
    "\\",
    "-masts",
    "masts " * 500,
]


def places(answer: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(place["repo"], place["path"], place["line"]) for place in answer["result"]]


def plant(forest: Forest) -> Forest:
    """Write 40 files of functions and sections that tell of masts."""
    for n in range(20):
        forest.put(
            f"code/fleet/voyage_{n:02}.py",
            f'def take_masts_{n}(storm):\n    """Take {n} masts in a storm."""\n    return {n}\n',
        )
        forest.put(f"docs/log/{n:02}.md", f"# Voyage {n}\n\nThe storm took {n} masts.\n")
    return forest


@pytest.fixture
def planted(forest: Forest) -> Forest:
    return plant(forest)


# Of images, stores and archives that are built the same each time, all files are of 1970.
@pytest.mark.parametrize("seconds", [15_000_000_000, 1, 0, -1_000_000_000])
def test_a_file_of_a_far_year_is_found_as_any_other(forest: Forest, seconds: int) -> None:
    forest.put("code/old.py", "def take_masts():\n    return 1\n")
    os.utime(forest.top / "code" / "old.py", (seconds, seconds))
    for query in ("take_masts", "storm"):
        forest.ok("repo_smart_search", query=query)
    [place] = forest.ok("repo_smart_search", query="take_masts")["result"]
    assert place["path"] == "old.py"


def test_a_place_is_a_range_of_lines_and_says_why(planted: Forest) -> None:
    answer = planted.ok("repo_smart_search", query="take_masts_7")
    best = answer["result"][0]
    assert (best["repo"], best["path"]) == ("code", "fleet/voyage_07.py")
    assert 1 <= best["line"] <= best["end_line"] <= 3
    assert set(best["why"]) <= {"words", "name", "path", "meaning"}
    assert best["why"]
    scores = [place["score"] for place in answer["result"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["meta"]["repo"] == "both"
    assert answer == {**planted.ok("smart_search", query="take_masts_7"), "meta": answer["meta"]}


def test_by_path_the_same_places_come_in_the_order_of_paths(planted: Forest) -> None:
    ranked = planted.ok("repo_smart_search", query="storm masts", limit=100)
    by_path = planted.ok("repo_smart_search", query="storm masts", limit=100, order="path")
    order = [
        (("docs", "code").index(repo), path.split("/"), line)
        for repo, path, line in places(by_path)
    ]
    assert order == sorted(order)
    assert sorted(places(ranked)) == sorted(places(by_path))


@pytest.mark.parametrize("order", ["rank", "path"])
@pytest.mark.parametrize("limits", [{"limit": 7}, {"max_tokens": 600}, {"max_tokens": 250}])
def test_pages_have_no_gaps_and_no_repeats(
    planted: Forest, order: str, limits: dict[str, int]
) -> None:
    asked = {"query": "storm masts", "order": order}
    pages = planted.pages("repo_smart_search", **asked, **limits)
    assert len(pages) > 2
    joined = [place for page in pages for place in places(page)]
    whole = places(planted.ok("repo_smart_search", query="storm masts", limit=100))
    assert len(set(joined)) == len(joined)
    assert sorted(joined) == sorted(whole)
    if order == "rank":
        assert joined == whole


def test_the_same_search_has_the_same_answer(planted: Forest) -> None:
    first, second = (planted.ok("repo_smart_search", query="storm masts") for _ in range(2))
    assert first["result"] == second["result"]


def test_repo_and_glob_narrow_the_files(planted: Forest) -> None:
    only = planted.ok("repo_smart_search", query="storm masts", repo="docs", limit=100)
    assert {repo for repo, _, _ in places(only)} == {"docs"}
    assert only["meta"]["repo"] == "docs"
    some = planted.ok("repo_smart_search", query="storm masts", file_glob="*.py", limit=100)
    assert {path.rpartition(".")[2] for _, path, _ in places(some)} == {"py"}


def test_a_change_just_before_the_call_is_seen(planted: Forest) -> None:
    planted.put("docs/new.md", "# Quicksilver\n\nThe barometer held quicksilver.\n")
    assert places(planted.ok("repo_smart_search", query="quicksilver"))[0][1] == "new.md"
    planted.put("docs/new.md", "# Nothing\n")
    assert planted.ok("repo_smart_search", query="quicksilver")["result"] == []


def test_no_hit_names_a_spelling_that_does_occur(forest: Forest) -> None:
    forest.put("docs/a.md", "The Harbour master\n")
    assert forest.ok("repo_smart_search", query="harbuor")["meta"]["nearest"] == "Harbour"


def test_no_hit_names_no_spelling_of_files_that_were_not_wanted(forest: Forest) -> None:
    forest.put("code/a.c", "int mutexlocker(x);\n")
    forest.put("code/b.md", "hello world\n")
    meta = forest.ok("repo_smart_search", query="mutexlokcer", file_glob="*.md")["meta"]
    assert "nearest" not in meta
    meta = forest.ok("repo_smart_search", query="mutexlokcer", file_glob="*.m?")["meta"]
    assert "nearest" not in meta
    assert forest.ok("repo_smart_search", query="mutexlokcer")["meta"]["nearest"] == "mutexlocker"


def test_no_hit_says_what_was_searched(planted: Forest) -> None:
    meta = planted.ok("repo_smart_search", query="xylophone")["meta"]
    assert meta["searched"]["files"] == 40
    assert meta["skipped"] == {
        "binary": 0, "unreadable": 0, "special": 0, "too_large": 0, "changed": 0
    }  # fmt: skip


@pytest.mark.parametrize("index", ["none yet", "made"])
def test_no_hit_counts_as_exact_search_does(forest: Forest, index: str) -> None:
    for number in range(4):
        forest.put(f"docs/{number}.txt", "plain mast\n")
    (forest.top / "docs" / "b.dat").write_bytes(b"\0\1\2")
    if index == "made":
        trigram_index.update_index(forest.desk)
    (forest.top / "docs" / "3.txt").write_bytes(b"\0plain")
    forest.put("docs/5.txt", "new\n")
    (forest.top / "docs" / "link").symlink_to("missing")
    for glob in (None, "*.txt"):
        exact = forest.ok("repo_search", query="xylophone", file_glob=glob)["meta"]
        ranked = forest.ok("repo_smart_search", query="xylophone", file_glob=glob)["meta"]
        assert (ranked["searched"], ranked["skipped"]) == (exact["searched"], exact["skipped"])
        assert ranked["searched"]["files"] == 4
        assert ranked["skipped"]["binary"] == (1 if glob else 2)


def test_an_answer_says_how_many_files_it_left_out(forest: Forest) -> None:
    for number in range(70):
        forest.put(f"docs/{number}.txt", "a mast\n" if number < 65 else "a rare yard\n")
    meta = forest.ok("repo_smart_search", query="mast")["meta"]
    assert meta["unread"] == 5
    assert forest.ok("repo_smart_search", query="rare mast")["meta"]["unread"] == 10
    assert "unread" not in forest.ok("repo_smart_search", query="rare yard")["meta"]
    assert "unread" not in forest.ok("repo_smart_search", query="mast", file_glob="?.txt")["meta"]


def test_a_file_of_roots_in_each_other_takes_one_place(forest: Forest) -> None:
    for name in ("a.md", "docs/b.md", "docs/api/c.md"):
        forest.put(f"code/{name}", "A mast.\n")
    folders = {"code": "code", "docs": "code/docs", "api": "code/docs/api"}
    forest.desk.roots = Roots.open(folders, base=forest.top)

    def found(**asked: Any) -> list[tuple[str, str, int]]:
        return sorted(places(forest.ok("repo_smart_search", **asked)))

    each = [("api", "c.md", 1), ("code", "a.md", 1), ("docs", "b.md", 1)]
    assert found(query="mast") == found(query=".") == each
    assert found(query="mast", file_glob="docs/*.md") == [("docs", "b.md", 1)]
    of_code = [("code", name, 1) for name in ("a.md", "docs/api/c.md", "docs/b.md")]
    assert found(query="mast", repo="code") == of_code
    assert found(query="mast", file_glob="code/docs/**") == of_code[1:]


def test_signs_on_several_lines_are_found_among_many_files(forest: Forest) -> None:
    signs = "{\n        \n}"
    for number in range(70):
        forest.put(f"code/{number}.css", "a {}\n" if number else f"a {signs}\n")
    assert [one["path"] for one in forest.ok("repo_smart_search", query=signs)["result"]] == [
        "0.css"
    ]


def test_no_hit_answers_where_counting_takes_too_long(
    planted: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(*_: object, **__: object) -> None:
        raise DeadlineExceeded("too long", hint="none")

    monkeypatch.setattr(ranking, "search", too_long)
    answer = planted.ok("repo_smart_search", query="xylophone")
    assert answer["result"] == []
    assert "searched" not in answer["meta"]


def test_no_hit_counts_files_whose_names_no_answer_can_hold(forest: Forest) -> None:
    forest.put("docs/" + os.fsdecode(b"bad\xff.txt"), "mast")
    forest.put("docs/" + os.fsdecode(b"bad\xff.md"), "mast")
    for tool in ("repo_search", "repo_smart_search"):
        assert forest.ok(tool, query="mast")["meta"]["skipped"]["unreadable"] == 2
        meta = forest.ok(tool, query="mast", file_glob="*.md")["meta"]
        assert meta["skipped"]["unreadable"] == 1


@pytest.mark.parametrize("query", TYPED)
def test_nothing_a_person_types_makes_it_fail(planted: Forest, query: str) -> None:
    planted.ok("repo_smart_search", query=query)


_MADE: list[Forest] = []


@given(query=st.text(min_size=1, max_size=80).filter(str.strip))
@settings(max_examples=examples(50))
def test_no_text_makes_it_fail(query: str) -> None:
    if not _MADE:
        _MADE.append(plant(make_forest(Path(tempfile.mkdtemp()), "docs", "code")))
    _MADE[0].ok("repo_smart_search", query=query)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"query": ""}, "QUERY_EMPTY"),
        ({"query": " \n\t"}, "QUERY_EMPTY"),
        ({"query": None}, "INVALID_ARGUMENT"),
        ({"limit": 0}, "LIMIT_INVALID"),
        ({"limit": 101}, "LIMIT_INVALID"),
        ({"limit": "few"}, "LIMIT_INVALID"),
        ({"repo": "nowhere"}, "REPO_INVALID"),
        ({"file_glob": "["}, "FILE_GLOB_INVALID"),
        ({"file_glob": 5}, "FILE_GLOB_INVALID"),
        ({"order": "best"}, "INVALID_ARGUMENT"),
        ({"cursor": "x"}, "INVALID_CURSOR"),
        ({"cursor": '["00000000",20,0]'}, "INVALID_CURSOR"),
        ({"cursor": "ranked~WzIwXQ"}, "INVALID_CURSOR"),
    ],
)
def test_each_wrong_argument_has_its_code(
    planted: Forest, wrong: dict[str, Any], code: str
) -> None:
    assert planted.code("repo_smart_search", **{"query": "masts", **wrong}) == code


@pytest.mark.parametrize(
    "wrong", [{"query": "masts"}, {"order": "path"}, {"file_glob": "*.py"}, {"repo": "code"}]
)
def test_a_cursor_of_another_search_is_refused(planted: Forest, wrong: dict[str, Any]) -> None:
    first = planted.ok("repo_smart_search", query="storm masts", limit=5)
    asked = first["meta"]["next"]["arguments"]
    assert planted.code("repo_smart_search", **{**asked, **wrong}) == "INVALID_CURSOR"


def test_a_page_may_have_another_limit_than_the_one_before(planted: Forest) -> None:
    whole = places(planted.ok("repo_smart_search", query="storm masts", limit=12))
    first = planted.ok("repo_smart_search", query="storm masts", limit=5)
    asked = first["meta"]["next"]["arguments"]
    assert places(planted.ok("repo_smart_search", **{**asked, "limit": 7})) == whole[5:]


def follow(forest: Forest, answer: dict[str, Any]) -> list[tuple[str, str, int]]:
    """List what the pages after an answer show."""
    following = answer["meta"]["next"]
    pages = forest.pages(following["tool"], **following["arguments"])
    return [place for page in pages for place in places(page)]


@settings(max_examples=examples(30), deadline=None)
@given(
    order=st.sampled_from(["rank", "path"]),
    changes=st.lists(
        st.tuples(st.sampled_from(["remove", "create", "edit"]), st.integers(0, 24)), max_size=2
    ),
    limit=st.integers(2, 9),
)
def test_pages_go_on_after_a_change_at_what_came_next(
    order: str, changes: list[tuple[str, int]], limit: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        planted = plant(make_forest(Path(name), "docs", "code"))
        asked = {"query": "storm masts", "order": order, "limit": limit}
        first = planted.ok("repo_smart_search", **asked)
        comes_next = follow(planted, first)[0]
        for change, n in changes:
            path = f"code/fleet/voyage_{n:02}.py"
            if change == "remove":
                planted.top.joinpath(path).unlink(missing_ok=True)
            else:
                text = "masts" if change == "edit" else "storm masts " * n
                planted.put(path, f"def take(storm):\n    return {text!r}\n")
        anew = planted.ok("repo_smart_search", **asked)
        now = places(anew) + follow(planted, anew)
        if comes_next in now:
            assert follow(planted, first) == now[now.index(comes_next) :]
        else:
            code = planted.code("repo_smart_search", **first["meta"]["next"]["arguments"])
            assert code == "INVALID_CURSOR"


@pytest.mark.parametrize("order", ["rank", "path"])
@pytest.mark.parametrize("limits", [{"limit": 7}, {"limit": 20, "max_tokens": 400}])
def test_pages_go_on_in_another_process(
    planted: Forest, order: str, limits: dict[str, int]
) -> None:
    asked = {"query": "storm masts", "order": order, **limits}
    first = planted.ok("repo_smart_search", **asked)
    whole = places(first) + follow(planted, first)
    other = make_forest(planted.top, "docs", "code")
    assert places(first) + follow(other, first) == whole
    planted.put("docs/new.md", "# Weather\n\nIt was calm.\n")
    trigram_index.update_index(other.desk)
    ranking.update_index(other.desk)
    assert places(first) + follow(other, first) == whole
    other.desk.service(ranking.open_chunk_indexes).close()


@pytest.mark.parametrize("order", ["rank", "path"])
def test_pages_follow_while_the_index_grows(
    forest: Forest, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """They are parts of the ranking as it then is, in another process too."""
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 0)
    for n in range(150):
        text = "storm " * (n % 3) + "mast " * (n % 5) + "harbour " * (n % 11)
        forest.put(f"docs/{n:03}.txt", f"Ship {n}\n\n{text}\n\nThe storm of {n}.\n")
    asked = {"query": "storm mast harbour", "order": order, "limit": 7}
    first = forest.ok("repo_smart_search", **asked)
    assert "indexing" in first["meta"]
    trigram_index.update_index(forest.desk)
    ranking.update_index(forest.desk)
    anew = forest.ok("repo_smart_search", **asked)
    assert "indexing" not in anew["meta"]
    other = make_forest(forest.top, "docs", "code")
    for one in (forest, other):
        assert follow(one, first) == follow(forest, anew)
    other.desk.service(ranking.open_chunk_indexes).close()


def test_a_file_of_more_units_than_a_number_has_halves_is_ranked(forest: Forest) -> None:
    forest.put("docs/glossary.md", "".join(f"## Mast {n}\n\nOf ship {n}.\n" for n in range(1_200)))
    best = forest.ok("repo_smart_search", query="Mast 1100")["result"][0]
    assert best["line"] == 1 + 3 * 1100


def test_a_file_over_the_limit_is_not_ranked(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "docs", settings={"retrieval.max_file_bytes": 100})
    forest.put("docs/large.md", "tall masts " * 20)
    forest.put("docs/small.md", "short masts")
    answer = forest.ok("repo_smart_search", query="masts")
    assert [path for _, path, _ in places(answer)] == ["small.md"]
    zero = forest.ok("repo_smart_search", query="tall")["meta"]
    assert zero["skipped"]["too_large"] == 1
    assert "nearest" not in zero
    assert "nearest" not in forest.ok("repo_search", query="TALL")["meta"]


def test_a_huge_file_is_found_by_its_name_and_its_beginning(forest: Forest) -> None:
    forest.put("docs/ledger.txt", "cargo of wool\n" + "bales and bales\n" * 600_000)
    for query in ("ledger.txt", "cargo of wool"):
        best = forest.ok("repo_smart_search", query=query)["result"][0]
        assert (best["path"], best["line"]) == ("ledger.txt", 1)


def test_a_place_in_a_class_of_that_name_is_found_by_a_name(forest: Forest) -> None:
    forest.put("code/a.py", "class Capstan:\n    def turn(self):\n        return 1\n")
    found = {
        place["line"]: place["why"]
        for place in forest.ok("repo_smart_search", query="capstan")["result"]
    }
    assert found[2] == ["name"]


def test_a_long_line_is_shown_around_what_matched(forest: Forest) -> None:
    words = " ".join(f"word{n}" for n in range(200))
    forest.put("docs/one.txt", f"{words} kangaroo {words}")
    forest.put("docs/two.md", f"# Animals\n\n{words} wallaby {words}\n")
    for query in ("kangaroo", "wallaby"):
        preview = forest.ok("repo_smart_search", query=query)["result"][0]["preview"]
        assert query in preview
        assert len(preview) <= 400
        assert preview.endswith("…")


def test_without_roots_the_settings_are_named(tmp_path: Path) -> None:
    error = make_forest(tmp_path).fails("repo_smart_search", query="x")
    assert (error["code"], error["details"]) == ("CONFIG_INVALID", {"reason": "MISSING_ROOT"})
