"""What may not stand in the source: hosts, waits, skips, SQL made of strings."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.contracts.sources import ROOT, files, modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


pytestmark = pytest.mark.xdist_group("sources")  # one process parses them

# Written in halves, so that this file passes its own test.
NOWHERE = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "registry.npmjs" + ".org",
    "registry.yarnpkg" + ".com",
    "badge.fury" + ".io",
    "img.shields" + ".io",
    "/work/" + "main",
    "/work/" + "shared",
    "/work/" + ".library",
    "brief/" + "BRIEF",
    "uv" + "boot",
    "bash_" + "jobs",
]
WAITS_AND_SKIPS = {
    "sleep": {"time.sleep"},
    "skip": {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "unittest.skip"},
    "importorskip": {"pytest.importorskip"},
    "xfail": {"pytest.xfail", "pytest.mark.xfail"},
}
SQL = re.compile(
    r"\b(select|insert\s+into|update|delete\s+from|create|drop|alter)\b", re.IGNORECASE
)


def test_no_file_names_a_registry_or_a_workplace() -> None:
    found = [
        f"{name}: {word}"
        for name in files()
        for word in NOWHERE
        if word.encode() in (ROOT / name).read_bytes()
    ]
    assert found == []


def dotted(node: ast.AST) -> str:
    """The name that a node is, as in `time.sleep`; nothing for what is more than names."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            before = dotted(value)
            return before and f"{before}.{attribute}"
        case _:
            return ""


def dotted_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Every dotted name a file reads, with what it imported by `from` put in full."""
    full: dict[str, str] = {}
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            full |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Attribute | ast.Name):
            names.add(dotted(node))
    split = [name.partition(".") for name in names]
    return {full.get(first, first) + dot + rest for first, dot, rest in split}


@cache
def names_read() -> dict[str, set[str]]:
    """The dotted names that each file reads, benchmarks left out: there a wait is a figure."""
    return {
        module.path: dotted_names(module.nodes)
        for module in modules()
        if not module.path.startswith("benchmarks/")
    }


@pytest.mark.parametrize("kind", sorted(WAITS_AND_SKIPS))
def test_nothing_sleeps_and_no_test_is_skipped(kind: str) -> None:
    found = [
        f"{path}: {name}"
        for path, names in names_read().items()
        for name in sorted(names & WAITS_AND_SKIPS[kind])
    ]
    assert found == []


def test_a_sleep_is_found_under_any_name() -> None:
    for source in ("import time\ntime.sleep(1)", "from time import sleep as rest\nrest(1)"):
        assert "time.sleep" in dotted_names(ast.walk(ast.parse(source)))


def test_stores_never_build_sql_from_strings() -> None:
    found = [
        f"{module.path}:{node.lineno}"
        for module in modules("src/rolltop/")
        if module.path.endswith("/store.py") or "/store/" in module.path
        for node in module.nodes
        if isinstance(node, ast.JoinedStr) and SQL.search(ast.unparse(node))
    ]
    assert found == []


def public_without_docstring(tree: ast.AST, prefix: str = "") -> Iterator[str]:
    """The public classes, functions and methods of a file that say nothing of themselves."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from public_without_docstring(node, f"{prefix}{node.name}.")


def test_everything_public_says_what_it_answers() -> None:
    silent = [
        f"{module.path}: {name}"
        for module in modules("src/rolltop/")
        if "/migrations/" not in module.path
        for name in public_without_docstring(module.tree)
    ]
    assert silent == []


def test_no_pattern_has_a_possessive_group() -> None:
    """Python before 3.11.5 matches them wrongly (gh-106052); of one character they are fine.

    `patterns.repetition` makes those that it matches rightly.
    """
    found = [
        f"{module.path}:{node.lineno}"
        for module in modules("src/")
        if not module.path.endswith("outline/patterns.py")
        for node in module.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"[^\\]\)[*+?]\+", node.value)
    ]
    assert found == []
