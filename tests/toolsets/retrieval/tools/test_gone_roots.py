"""Every answer names the roots whose folders are gone, and is true of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.toolsets.retrieval.forest import Forest, make_forest

if TYPE_CHECKING:
    from pathlib import Path

ROOTS = ("docs", "code", "zeta")
OF_ALL: list[tuple[str, dict[str, Any]]] = [
    ("repo_search", {"query": "needle"}),
    ("repo_search", {"query": "needle", "limit": 1}),
    ("repo_search", {"query": "nowhere", "repo": "both"}),
    ("repo_smart_search", {"query": "needle"}),
    ("repo_smart_search", {"query": "needle", "limit": 2, "order": "path"}),
    ("repo_smart_search", {"query": "nowhere"}),
    ("repo_list_dir", {}),
    ("repo_list_dir", {"repo": "both", "path": "."}),
]


@pytest.fixture
def three(tmp_path: Path) -> Forest:
    """Three roots with files of the same names, searched once."""
    forest = make_forest(tmp_path, *ROOTS)
    for name in ROOTS:
        for number in range(4):
            forest.put(f"{name}/in/{number}.txt", f"needle\n{name}\n")
    for tool, asked in OF_ALL:
        assert "missing" not in forest.ok(tool, **asked)["meta"]
    return forest


def take_away(forest: Forest, name: str, becomes: str = "nothing") -> None:
    folder = forest.top / name
    folder.rename(forest.top / f"elsewhere {name}")
    if becomes == "a file":
        folder.write_text("needle\n")
    elif becomes == "a link":
        folder.symlink_to(f"elsewhere {name}")


@pytest.mark.parametrize(
    ("gone", "becomes"),
    [("docs", "nothing"), ("docs", "a link"), ("code", "a file"), ("zeta", "a link")],
)
def test_what_is_asked_of_all_roots_names_those_that_are_gone(
    three: Forest, gone: str, becomes: str
) -> None:
    take_away(three, gone, becomes)
    for tool, asked in OF_ALL * 2:
        for answer in three.pages(tool, **asked):
            assert answer["meta"]["missing"] == [gone]
            assert not any(answer["meta"].get("skipped", {}).values())
            assert gone not in str(answer["result"])
    for tool, path, code in (
        ("repo_open_file", "in/9.txt", "FILE_NOT_FOUND"),
        ("repo_list_dir", "on", "DIR_NOT_FOUND"),
    ):
        error = three.fails(tool, path=path)
        assert (error["code"], error["details"]["missing"]) == (code, [gone])
        assert gone in error["hint"]
    assert three.code("repo_open_file", path="../x") == "PATH_OUT_OF_ROOT"


def test_what_is_asked_of_one_root_names_no_other(three: Forest) -> None:
    take_away(three, "docs")
    for tool, asked in (
        ("repo_search", {"query": "needle", "repo": "code"}),
        ("repo_smart_search", {"query": "needle", "repo": "code"}),
        ("repo_list_dir", {"repo": "code"}),
        ("repo_list_dir", {"path": "code/in"}),
        ("repo_open_file", {"path": "code/in/1.txt"}),
        ("repo_open_file", {"repo": "code", "path": "in/1.txt"}),
    ):
        assert "missing" not in three.ok(tool, **asked)["meta"]


def test_where_one_root_is_left_it_is_the_one_that_is_used(three: Forest) -> None:
    take_away(three, "docs", "a link")
    take_away(three, "zeta")
    for tool, asked in (
        ("repo_open_file", {"path": "in/1.txt"}),
        ("repo_get_snippet", {"path": "in/1.txt", "start_line": 1, "end_line": 1}),
        ("repo_list_dir", {"path": "in"}),
    ):
        answer = three.ok(tool, **asked)
        assert (answer["result"]["repo"], answer["meta"]["missing"]) == ("code", ["docs", "zeta"])
    answer = three.ok("repo_search", query="needle")
    assert (answer["meta"]["repo"], len(answer["result"])) == ("code", 4)


def test_with_no_root_left_all_say_so(three: Forest) -> None:
    for name in ROOTS:
        take_away(three, name)
    for tool, asked in (*OF_ALL, ("repo_open_file", {"path": "in/1.txt"})):
        error = three.fails(tool, **asked)
        assert (error["code"], error["details"]["reason"]) == ("CONFIG_INVALID", "ROOT_NOT_FOUND")


def test_a_root_that_comes_back_is_searched(three: Forest) -> None:
    take_away(three, "code")
    first = three.ok("repo_search", query="needle")
    (three.top / "elsewhere code").rename(three.top / "code")
    again = three.ok("repo_search", query="needle")
    assert (len(first["result"]), len(again["result"])) == (8, 12)
    assert "missing" not in again["meta"]


def test_a_search_that_goes_on_when_a_root_went_says_so(three: Forest) -> None:
    for tool in ("repo_search", "repo_smart_search"):
        after = three.ok(tool, query="needle", limit=3)["meta"]["next"]["arguments"]
        take_away(three, "zeta")
        assert three.code(tool, **after) == "INVALID_CURSOR"
        (three.top / "elsewhere zeta").rename(three.top / "zeta")
        three.ok(tool, **after)
