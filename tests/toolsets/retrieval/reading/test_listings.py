"""repo_list_dir: what is listed, in which order, how deep, and what is left out."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from hypothesis import assume, given, settings

from rolltop.toolsets.retrieval.service import directories
from tests.campaign import examples
from tests.toolsets.retrieval.forest import Forest, make_forest
from tests.workspace.test_sandbox import unprivileged
from tests.workspace.trees import Plan, build, chosen_by_git, plans


def paths(answer: dict[str, Any]) -> list[str]:
    return [entry["path"] for entry in answer["result"]["entries"]]


def test_without_repo_and_path_the_roots_are_listed(forest: Forest) -> None:
    for asked in ({}, {"repo": "both"}, {"path": "."}, {"path": "./"}):
        answer = forest.ok("repo_list_dir", **asked)
        assert answer["result"] == {
            "repo": "both",
            "path": ".",
            "entries": [
                {"path": "docs", "type": "directory"},
                {"path": "code", "type": "directory"},
            ],
        }
        assert answer["meta"]["repo"] == "both"


def test_the_only_root_is_listed_under_its_name_and_without(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    forest.put("code/src/x.py")
    for asked in ({}, {"path": "."}, {"path": "code"}, {"path": "code/"}, {"repo": "code"}):
        assert paths(forest.ok("repo_list_dir", **asked)) == ["src"]
    for asked in ({"path": "src"}, {"path": "code/src"}, {"repo": "both", "path": "code/src"}):
        assert paths(forest.ok("repo_list_dir", **asked)) == ["src/x.py"]
    [root] = paths(forest.ok("repo_list_dir", repo="both"))
    assert paths(forest.ok("repo_list_dir", path=root)) == ["src"]


def test_a_directory_has_its_files_with_sizes_and_its_folders(forest: Forest) -> None:
    forest.put("code/b/x.py", "12345")
    forest.put("code/a.py", "1")
    forest.put("code/B.py")
    for asked in ({"repo": "code"}, {"path": "code"}, {"path": "code/"}, {"path": "code/b/.."}):
        answer = forest.ok("repo_list_dir", **asked)
        assert answer["result"] == {
            "repo": "code",
            "path": ".",
            "uri": "rolltop://file/code/.",
            "entries": [
                {"path": "B.py", "type": "file", "size": 0},
                {"path": "a.py", "type": "file", "size": 1},
                {"path": "b", "type": "directory"},
            ],
        }
    inside = forest.ok("list_dir", path="b")
    assert inside["result"]["path"] == "b"
    assert inside["result"]["entries"] == [{"path": "b/x.py", "type": "file", "size": 5}]


@pytest.mark.parametrize("text", [*range(0, 40, 3)])
def test_a_listing_that_takes_long_goes_on_where_its_time_was_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: int
) -> None:
    """Each look at the clock finds it a second later."""
    forest = make_forest(tmp_path, "code", settings={"call_timeout": 10})
    for number in range(40):
        forest.put(f"code/{number:02}", "text" if number >= text else b"\0")
    monkeypatch.setattr(directories, "time", SimpleNamespace(monotonic=count().__next__))
    pages = forest.pages("repo_list_dir", repo="code")
    assert [path for page in pages for path in paths(page)] == [
        f"{number:02}" for number in range(text, 40)
    ]
    assert len(pages) == 9
    assert sum(page["meta"].get("skipped", {}).get("binary", 0) for page in pages) == text


def test_depth_lists_what_lies_below_in_the_order_of_paths(forest: Forest) -> None:
    for name in ("a/b/c/d/e/f", "a.txt", "a/z", "a-b/y"):
        forest.put(f"code/{name}", "x")
    expected = ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "a/z", "a-b", "a-b/y", "a.txt"]
    for depth in range(1, 6):
        within = [name for name in expected if name.count("/") < depth]
        assert paths(forest.ok("repo_list_dir", repo="code", depth=depth)) == within
    assert forest.code("repo_list_dir", repo="code", depth=6) == "INVALID_ARGUMENT"
    assert forest.code("repo_list_dir", repo="code", depth=0) == "INVALID_ARGUMENT"


def test_what_no_one_may_read_is_left_out_and_counted(forest: Forest) -> None:
    forest.put("docs/text", "x")
    forest.put("docs/binary", b"\0")
    forest.put("docs/utf16", "x".encode("utf-16"))
    forest.put("docs/.hidden", "x")
    forest.put("docs/.gitignore", "*.log\nbuild/\n")
    forest.put("docs/a.log", "x")
    forest.put("docs/build/x", "x")
    (forest.top / "docs" / "link").symlink_to("text")
    (forest.top / "docs" / "link-to-folder").symlink_to("..")
    os.mkfifo(forest.top / "docs" / "pipe")
    answer = forest.ok("repo_list_dir", repo="docs")
    assert paths(answer) == ["text", "utf16"]
    assert answer["meta"]["skipped"] == {"binary": 1, "special": 1}


def test_hidden_folders_are_not_listed_even_where_they_may_be_read(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "docs", allow_hidden=True)
    forest.put("docs/.hidden/a", "x")
    forest.put("docs/.gitignore", "build/\n")
    forest.put("docs/build/a", "x")
    forest.ok("repo_open_file", path=".hidden/a")
    for path in (".hidden", "build"):
        assert forest.code("repo_list_dir", path=path) == "DIR_NOT_FOUND"


def test_names_that_are_no_text_are_left_out_and_strange_ones_are_not(forest: Forest) -> None:
    forest.put(f"docs/{os.fsdecode(b'caf' + bytes([0xE9]))}", "x")
    strange = ["a\nb", "a b", "a*", "é", "\u202e", "\\x", "🙂", "-"]
    for name in strange:
        forest.put(f"docs/{name}", "x")
    answer = forest.ok("repo_list_dir", repo="docs")
    assert paths(answer) == sorted(strange)
    assert answer["meta"]["skipped"] == {"unreadable": 1}
    for name in strange:
        assert forest.ok("repo_open_file", path=name)["result"]["path"] == name


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (" ", "PATH_EMPTY"),
        ("/", "PATH_OUT_OF_ROOT"),
        ("..", "PATH_OUT_OF_ROOT"),
        ("docs/../..", "PATH_OUT_OF_ROOT"),
        ("out", "PATH_OUT_OF_ROOT"),
        ("missing", "DIR_NOT_FOUND"),
        ("a\0", "DIR_NOT_FOUND"),
        ("file", "DIR_NOT_FOUND"),
        ("file/below", "DIR_NOT_FOUND"),
        ("pipe", "DIR_NOT_FOUND"),
        (".git", "DIR_NOT_FOUND"),
        ("build", "DIR_NOT_FOUND"),
        ("twice", "PATH_AMBIGUOUS"),
    ],
)
def test_what_cannot_be_listed_is_refused_with_its_code(
    forest: Forest, path: str, code: str
) -> None:
    forest.put("docs/file", "x")
    forest.put("docs/.git/config", "x")
    forest.put("docs/.gitignore", "build/\n")
    forest.put("docs/build/x", "x")
    forest.put("docs/twice/x", "x")
    forest.put("code/twice/x", "x")
    (forest.top / "docs" / "out").symlink_to(forest.top)
    os.mkfifo(forest.top / "docs" / "pipe")
    assert forest.code("repo_list_dir", path=path) == code


@pytest.mark.parametrize("repo", ["nowhere", " ", 1])
def test_a_repo_that_is_none_is_refused(forest: Forest, repo: object) -> None:
    assert forest.code("repo_list_dir", repo=repo) == "REPO_INVALID"


def test_a_closed_directory_is_unreadable_and_one_below_is_counted(open_forest: Forest) -> None:
    open_forest.put("docs/a/shut/x", "x").parent.chmod(0o000)
    with unprivileged():
        assert open_forest.code("repo_list_dir", path="a/shut") == "DIR_UNREADABLE"
        answer = open_forest.ok("repo_list_dir", path="a", depth=2)
    assert paths(answer) == ["a/shut"]
    assert answer["meta"]["skipped"] == {"unreadable": 1}
    (open_forest.top / "docs/a/shut").chmod(0o755)


def test_a_file_that_the_disk_fails_to_give_is_listed_as_unreadable(
    forest: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest.put("docs/a", "x")

    def failing(*_: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", failing)
    answer = forest.ok("repo_list_dir", path="docs")
    assert answer["result"]["entries"] == []
    assert answer["meta"]["skipped"] == {"unreadable": 1}


def test_without_roots_the_settings_are_named(tmp_path: Path) -> None:
    error = make_forest(tmp_path).fails("repo_list_dir")
    assert (error["code"], error["details"]) == ("CONFIG_INVALID", {"reason": "MISSING_ROOT"})


def test_pages_join_to_the_whole_even_when_files_come_and_go(forest: Forest) -> None:
    names = [f"folder-{n:02}/file-{m}.py" for n in range(20) for m in range(10)]
    for name in names:
        forest.put(f"code/{name}", "x")
    whole = paths(forest.ok("repo_list_dir", repo="code", depth=2))
    pages = forest.pages("repo_list_dir", repo="code", depth=2, max_tokens=500)
    assert len(pages) > 3
    assert [path for page in pages for path in paths(page)] == whole
    first = pages[0]
    forest.put("code/aaa", "new before")
    forest.put("code/zzz", "new behind")
    rest = forest.ok(
        "repo_list_dir", **{**first["meta"]["next"]["arguments"], "max_tokens": 20_000}
    )
    assert paths(first) + paths(rest) == [*whole, "zzz"]


def test_a_cursor_of_another_listing_or_of_what_is_gone_is_refused(forest: Forest) -> None:
    for n in range(100):
        forest.put(f"code/file-{n:03}.py", "x")
    asked = forest.ok("repo_list_dir", repo="code", max_tokens=300)["meta"]["next"]["arguments"]
    for wrong in (
        {"depth": 2},
        {"repo": "docs"},
        {"cursor": "dir.0"},
        {"cursor": "x"},
        {"cursor": 1},
    ):
        assert forest.code("repo_list_dir", **{**asked, **wrong}) == "INVALID_CURSOR"
    shutil.rmtree(forest.top / "code")
    forest.put("code/other", "x")
    assert forest.code("repo_list_dir", **asked) == "INVALID_CURSOR"


def test_the_servers_own_data_is_not_there(tmp_path: Path) -> None:
    from rolltop.workspace import Roots  # noqa: PLC0415  # only here

    forest = make_forest(tmp_path, "docs", allow_hidden=True)
    forest.put("docs/data/desk.db", "x")
    forest.put("docs/other", "x")
    forest.desk.roots = Roots.open(
        {"docs": tmp_path / "docs"}, base=tmp_path, hidden_stores=[tmp_path / "docs" / "data"]
    )
    assert paths(forest.ok("repo_list_dir", repo="docs", depth=3)) == ["other"]
    assert forest.code("repo_list_dir", path="data") == "DIR_NOT_FOUND"
    assert forest.code("repo_open_file", path="data/desk.db") == "FILE_NOT_FOUND"


@settings(max_examples=examples(20), deadline=None)
@given(plans.filter(lambda plan: plan.shape != "part"))  # a root is read even where it is ignored
def test_a_listing_shows_the_files_git_shows(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = build(plan, Path(folder))
        assume(all(not part.startswith(".") for part in root.relative_to(folder).parts))
        expected = {name for name in chosen_by_git(root) if _is_text(name)}
        forest = make_forest(root.parent, root.name)
        answer = forest.ok("repo_list_dir", repo=root.name, depth=5)
        files = {entry["path"] for entry in answer["result"]["entries"] if entry["type"] == "file"}
        assert files == expected


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def test_of_a_fifo_nobody_is_told_to_read_it(forest: Forest) -> None:
    forest.put("docs/a.md", "x\n")
    os.mkfifo(forest.top / "docs" / "pipe")
    assert "repo_open_file" in forest.fails("repo_list_dir", path="a.md")["hint"]
    error = forest.fails("repo_list_dir", path="pipe")
    assert error["code"] == "DIR_NOT_FOUND"
    assert "FIFO" in error["hint"]
