"""A path where a search takes a glob: what exists as it is written is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.toolsets.retrieval.forest import Forest, make_forest

if TYPE_CHECKING:
    from pathlib import Path

SEARCHES = ("repo_search", "repo_smart_search")
FILES = (
    "app/[slug]/page.tsx", "app/[slug]/page.css", "app/[...all]/page.tsx", "app/s/page.tsx",
    "odd {x}/f.py", "odd {x}/f,g.py", "odd x/f.py", "src/a.py", "src/deep/a.py", "[wip.md",
    "!imp/f.py",
)  # fmt: skip
SLUG, ALL, ODD, SRC = {0, 1}, {2}, {4, 5}, {7, 8}
CASES: list[tuple[dict[str, str], set[int]]] = [
    ({"path": "app/[slug]"}, SLUG),
    ({"path": "app/[slug]/"}, SLUG),
    ({"path": "./app/[slug]/page.tsx"}, {0}),
    ({"path": "{top}/app/[slug]/page.tsx"}, {0}),
    ({"path": "code/app/[slug]/page.tsx"}, {0}),
    ({"file_glob": "app/[slug]/page.tsx"}, {0}),
    ({"file_glob": r"app/\[slug\]/page.tsx"}, {0}),
    ({"file_glob": "app/[slug]/*.css, app/[...all]/page.tsx"}, {1, 2}),
    ({"file_glob": "app/[slug]/,!app/[slug]/*.css"}, {0}),
    ({"file_glob": "app/[rst]/page.tsx"}, {3}),
    ({"path": "app/[slug]", "file_glob": "*.{ts,tsx}"}, {0}),
    ({"path": "app/[slug]", "file_glob": "!*.tsx"}, {1}),
    ({"path": "odd {x}"}, ODD),
    ({"path": "odd {x}/f.py"}, {4}),
    ({"path": "odd {x}/f,g.py"}, {5}),
    ({"path": "odd {x}", "file_glob": "*.py,*.md"}, ODD),
    ({"path": "[wip.md"}, {9}),
    ({"path": "!imp/f.py"}, {10}),
    ({"path": "rolltop://file/code/src/a.py"}, {7}),
    ({"path": "rolltop://file/code/src/a.py#L1-3"}, {7}),
    ({"path": "rolltop://file/code/app/%5Bslug%5D/page.tsx"}, {0}),
    ({"path": "rolltop://file/code/src", "file_glob": "*.py"}, SRC),
    ({"path": "rolltop://file/other/src/a.py"}, set()),
    ({"path": "src/a.py", "file_glob": "*.py"}, {7}),
    ({"path": "src/a.py", "file_glob": "src/*.py"}, {7}),
    ({"path": "src/a.py", "file_glob": "*.md, *.py"}, {7}),
    ({"path": "src/a.py", "file_glob": "*.md"}, set()),
    ({"path": "src/a.py", "file_glob": "!*.py"}, set()),
    ({"path": "src/a.py", "file_glob": "!*.md"}, {7}),
]


def found(answer: dict[str, Any]) -> set[str]:
    return {hit["path"] for hit in answer["result"]}


@pytest.fixture(scope="module", params=[("code",), ("code", "docs")], ids=" ".join)
def planted(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Forest:
    forest = make_forest(tmp_path_factory.mktemp("planted").resolve(), *request.param)
    for name in FILES:
        forest.put(f"code/{name}", "a needle\n")
    return forest


@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize(("given", "chosen"), CASES, ids=str)
def test_a_path_that_exists_as_it_is_written_is_meant(
    planted: Forest, tool: str, given: dict[str, str], chosen: set[int]
) -> None:
    top = planted.top / "code"
    asked = {name: value.replace("{top}", str(top)) for name, value in given.items()}
    for repo in ({}, {"repo": "code"}):
        answer = planted.ok(tool, query="needle", **asked, **repo)
        assert found(answer) == {FILES[at] for at in chosen}


@pytest.mark.parametrize("tool", SEARCHES)
def test_a_glob_is_none_the_less_one_for_a_file_that_is_called_like_it(
    forest: Forest, tool: str
) -> None:
    for name in ("*.py", "a.py", "**/b.py"):
        forest.put(f"code/{name}", "a needle\n")
    assert found(forest.ok(tool, query="needle", file_glob="*.py")) == {"*.py", "a.py", "**/b.py"}
    assert found(forest.ok(tool, query="needle", file_glob="**/b.py")) == {"**/b.py"}


@pytest.mark.parametrize("tool", SEARCHES)
def test_no_glob_tells_what_is_ignored_or_outside(forest: Forest, tool: str) -> None:
    def hint(name: str) -> str:
        meta = forest.ok(tool, query="needle", file_glob=f"{name}/x")["meta"]
        return meta["hint"].replace(name, "")

    forest.put("code/.hidden[1]/x", "a needle\n")
    forest.put("outside[1]", "")
    assert hint(".hidden[1]") == hint(".hidden[2]")
    assert hint("../outside[1]") == hint("../outside[2]")


@pytest.mark.parametrize("repo", [None, "code"])
@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({"path": "code"}, ["code/x.py", "code/src/y.py"]),
        ({"path": "code/x.py"}, ["code/x.py"]),
        ({"path": "code", "file_glob": "*.py"}, ["code/x.py", "code/src/y.py"]),
        ({"file_glob": "code/*.py"}, ["code/x.py"]),
        ({"file_glob": "./code/**"}, ["code/x.py", "code/src/y.py"]),
        ({"file_glob": "!code/**"}, ["top.py", "lib/z.py"]),
        ({"file_glob": "code/top.py"}, ["top.py"]),
        ({"file_glob": "code/lib/*.py"}, ["lib/z.py"]),
        ({"file_glob": "code/code/*.py"}, ["code/x.py"]),
        ({"path": "rolltop://file/code/code/x.py"}, ["code/x.py"]),
        ({"path": "{top}/code"}, ["code/x.py", "code/src/y.py"]),
        ({"path": "{top}", "file_glob": "/*.py"}, ["top.py"]),
    ],
    ids=str,
)
def test_the_only_roots_name_is_that_of_a_folder_in_it(
    tmp_path: Path, repo: str | None, given: dict[str, str], chosen: list[str]
) -> None:
    forest = make_forest(tmp_path, "code")
    for name in ("top.py", "lib/z.py", "code/x.py", "code/src/y.py"):
        forest.put(f"code/{name}", "a needle\n")
    top = forest.top / "code"
    asked = {name: value.replace("{top}", str(top)) for name, value in given.items()}
    for tool in SEARCHES:
        assert found(forest.ok(tool, query="needle", repo=repo, **asked)) == set(chosen)


def test_a_path_of_an_answer_is_good_for_each_next_call(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    for name in ("code/x.py", "x.py"):
        forest.put(f"code/{name}", f"a needle of {name}\n")
    listed = {"path": "code"}
    assert listed.items() <= forest.ok("repo_list_dir")["result"]["entries"][0].items()
    entries = forest.ok("repo_list_dir", **listed)["result"]["entries"]
    assert [entry["path"] for entry in entries] == ["code/x.py"]
    for repo in (None, "code"):
        asked = {"repo": repo, "path": "code/x.py"}
        assert forest.ok("repo_open_file", **asked)["result"]["path"] == "code/x.py"
        for tool in SEARCHES:
            assert found(forest.ok(tool, query="needle", **asked)) == {"code/x.py"}
