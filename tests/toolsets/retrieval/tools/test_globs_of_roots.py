"""file_glob as a person writes it: from a root's top, or after a root's name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolsets.retrieval.forest import Forest, make_forest

SEARCHES = ("repo_search", "repo_smart_search")
FILES = (
    "docs/needle.md", "docs/guide/needle.md", "docs/guide/needle.txt", "code/needle.py",
    "code/docs/needle.md", "code/src/needle.py", "code/src/needle.md",
)  # fmt: skip


@pytest.fixture
def planted(forest: Forest) -> Forest:
    for name in FILES:
        forest.put(name, "a needle\n")
    return forest


def found(answer: dict[str, Any]) -> set[str]:
    return {f"{hit['repo']}/{hit['path']}" for hit in answer["result"]}


@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize(
    ("glob", "chosen", "repo"),
    [
        ("docs/**/*.md", {0, 1}, "docs"),
        ("docs/*.md", {0}, "docs"),
        ("docs/guide/", {1, 2}, "docs"),
        ("docs/guide", {1, 2}, "docs"),
        ("docs/", {0, 1, 2}, "docs"),
        ("docs/**", {0, 1, 2}, "docs"),
        ("docs", {0, 1, 2}, "docs"),
        ("./docs", {0, 1, 2}, "docs"),
        ("{docs/guide,code}", {1, 2, 3, 4, 5, 6}, "both"),
        ("code/**/*.py", {3, 5}, "code"),
        ("code/docs/*.md", {4}, "code"),
        ("{docs,code}/**/*.md", {0, 1, 4, 6}, "both"),
        ("{docs/*.md,code/*.py}", {0, 3}, "both"),
        ("{docs/*.md,*.py}", {0, 3, 5}, "both"),
        ("!docs/**", {3, 4, 5, 6}, "both"),
        ("!code/src/", {0, 1, 2, 3, 4}, "both"),
        ("src/**/*.py", {5}, "both"),
        ("./src/**/*.py", {5}, "both"),
        (".//./src", {5, 6}, "both"),
        ("!./src/", {0, 1, 2, 3, 4}, "both"),
        ("{./src,./guide/}", {1, 2, 5, 6}, "both"),
        *((top, set(range(7)), "both") for top in (".", "./", "/", " ", "//", "./.", "{.,x}")),
        ("**/docs/*.md", {4}, "both"),
        ("/docs/*.md", {4}, "both"),
        ("*.md", {0, 1, 4, 6}, "both"),
    ],
)
def test_a_glob_that_begins_with_a_roots_name_is_matched_in_that_root(
    planted: Forest, tool: str, glob: str, chosen: set[int], repo: str
) -> None:
    for given in ({}, {"repo": "both"}):
        answer = planted.ok(tool, query="needle", file_glob=glob, **given)
        assert found(answer) == {FILES[at] for at in chosen}
        assert answer["meta"]["repo"] == repo


@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize("name", ["glob", "file_glob", "fileGlob"])
@pytest.mark.parametrize(
    ("path", "glob", "chosen"),
    [
        ("src", "*.py", {5}),
        ("./src/", "**/*.md", {6}),
        ("code", "*.py", {3, 5}),
        ("code/", "/*.py", {3}),
        ("code", "src/*.py", {5}),
        ("docs", "guide/", {1, 2}),
        ("docs", "./guide", {1, 2}),
        ("src", "src/*.py", {5}),
        (".", "*.txt", {2}),
        ("/", "src/*.md", {6}),
        ("{guide,src}", "*.{txt,py}", {2, 5}),
        ("src", "!*.py", {6}),
        ("src/", "!/needle.md", {5}),
        ("src", "!./src/needle.md", {5}),
        ("docs", "!guide/", {0}),
        ("docs", "!docs/guide", {0}),
        ("code", "!{src/,docs/}", {3}),
        ("{guide,src}", "!*.{txt,py}", {1, 6}),
        ("src", "!nothing.*", {5, 6}),
        ("src", "*.py, *.rs", {5}),
        ("guide, src", "*.txt,*.py", {2, 5}),
        ("src", "!.", set[int]()),
        ("src/needle.md", "!*.py", {6}),
        (".", "!*.md", {2, 3, 5}),
        (None, "!*.md", {2, 3, 5}),
        ("src", ".", {5, 6}),
        ("src", None, {5, 6}),
        ("", "*.txt", {2}),
        (None, "*.txt", {2}),
    ],
)
def test_a_path_beside_a_glob_is_where_that_is_matched(
    planted: Forest, tool: str, name: str, path: str | None, glob: str | None, chosen: set[int]
) -> None:
    for given in ({"path": path, name: glob}, {name: glob, "path": path}):
        pages = planted.pages(tool, query="needle", limit=1, **given)
        assert {hit for page in pages for hit in found(page)} == {FILES[at] for at in chosen}


@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({"path": "/code/src"}, {5, 6}),
        ({"path": "/code/src/needle.py"}, {5}),
        ({"path": "/code/", "glob": "*.py"}, {3, 5}),
        ({"path": "/docs"}, {0, 1, 2}),
        ({"file_glob": "/docs/**/*.md"}, {0, 1}),
        ({"file_glob": "!/docs/guide/"}, {0, 3, 4, 5, 6}),
        ({"path": "/code/../code/src", "glob": "*.md"}, {6}),
        ({"path": "/code/src", "glob": "!*.md"}, {5}),
        ({"path": "/code/src", "glob": "!/code/src/needle.py"}, {6}),
    ],
)
def test_an_absolute_path_inside_a_root_is_one_below_its_name(
    planted: Forest, tool: str, given: dict[str, str], chosen: set[int]
) -> None:
    def absolute(value: str) -> str:
        inverted = "!" * value.startswith("!")
        return f"{inverted}{planted.top}{value.removeprefix('!')}" if "/" in value else value

    arguments = {name: absolute(value) for name, value in given.items()}
    answer = planted.ok(tool, query="needle", **arguments)
    assert found(answer) == {FILES[at] for at in chosen}
    assert not found(planted.ok(tool, query="needle", path="/elsewhere"))


@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize(
    ("glob", "chosen"),
    [
        ("{top}/code/src/*.md, {top}/docs/guide/", {1, 2, 6}),
        ("{top}/code/src/*.md,{top}/docs/guide/*", {1, 2, 6}),
        ("{top}/code/src/, !{top}/code/src/*.md", {5}),
        ("*.txt, {top}/code/src", {2, 5, 6}),
    ],
)
def test_every_part_of_a_list_may_be_absolute(
    planted: Forest, tool: str, glob: str, chosen: set[int]
) -> None:
    answer = planted.ok(tool, query="needle", file_glob=glob.format(top=planted.top))
    assert found(answer) == {FILES[at] for at in chosen}


@pytest.mark.parametrize("tool", SEARCHES)
def test_a_path_beside_what_is_no_glob_below_it_is_refused(planted: Forest, tool: str) -> None:
    for path, glob in (("!src", "*.py"), ("src", 5), ("src", ["*.py"])):
        error = planted.fails(tool, query="needle", path=path, glob=glob)
        assert "given twice" in error["message"]
    for glob in ("[", "![", "!", "!/", "*.py\n*.md", "!*.py\n"):
        assert planted.code(tool, query="needle", path="src", glob=glob) == "FILE_GLOB_INVALID"


@pytest.mark.parametrize("tool", SEARCHES)
def test_with_a_repo_named_only_its_own_name_is_left_off(planted: Forest, tool: str) -> None:
    def asked(repo: str, glob: str) -> set[str]:
        return found(planted.ok(tool, query="needle", repo=repo, file_glob=glob))

    assert asked("docs", "docs/*.md") == {"docs/needle.md"}
    assert asked("code", "docs/*.md") == {"code/docs/needle.md"}


def test_pages_of_a_glob_with_a_roots_name_go_on(planted: Forest) -> None:
    for tool in SEARCHES:
        pages = planted.pages(tool, query="needle", file_glob="{docs,code}/**/*.md", limit=1)
        names = [name for page in pages for name in found(page)]
        assert sorted(names) == sorted(FILES[at] for at in (0, 1, 4, 6))


@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize("glob", ["docs/**/*.rs", "doc/**/*.md", "nowhere/", "code/guide/*.md"])
def test_a_glob_that_selects_no_file_says_so(planted: Forest, tool: str, glob: str) -> None:
    meta = planted.ok(tool, query="needle", file_glob=glob)["meta"]
    assert meta["searched"] == {"files": 0, "bytes": 0}
    assert glob in meta["hint"]
    assert "selects no file" in meta["hint"]


@pytest.mark.parametrize("tool", SEARCHES)
def test_a_glob_that_selects_files_gets_no_hint(planted: Forest, tool: str) -> None:
    planted.put("docs/image.png", b"\0png")
    for query, glob in (("needle", "*.md"), ("xylophone", "*.md"), ("needle", "*.png")):
        assert "hint" not in planted.ok(tool, query=query, file_glob=glob)["meta"]


def test_a_root_with_a_name_of_other_letters_is_selected_too(tmp_path: Any) -> None:
    forest = make_forest(tmp_path, "bücher", "code")
    forest.put("bücher/a.md", "a needle\n")
    forest.put("code/a.md", "a needle\n")
    for tool in SEARCHES:
        assert found(forest.ok(tool, query="needle", file_glob="bücher/*.md")) == {"bücher/a.md"}
