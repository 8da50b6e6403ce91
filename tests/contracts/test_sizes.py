"""Functions up to 60 lines, files up to 600: what was longer once may only get shorter."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contracts.sources import Module, modules

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("sources")  # one process parses them

FUNCTION_LINES = 60
FILE_LINES = 600
EXCEPTIONS = tomllib.loads(Path(__file__).with_name("sizes.toml").read_text(encoding="utf-8"))


def functions(
    tree: ast.AST, *, product_text: bool = False, prefix: str = ""
) -> Iterator[tuple[str, int]]:
    """Each function's qualified name and its lines; `product_text` leaves docstrings out."""
    for node in ast.iter_child_nodes(tree):
        inner = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", lines_of(node, product_text=product_text)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{prefix}{node.name}."
        yield from functions(node, product_text=product_text, prefix=inner)


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef, *, product_text: bool) -> int:
    """The lines from `def` to the end, the docstring's left out where it is product text."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    if not product_text or ast.get_docstring(function, clean=False) is None:
        return length
    docstring = function.body[0]
    return length - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


@cache
def too_long() -> dict[str, int]:
    """Every function and file over its limit, with its size."""
    found: dict[str, int] = {}
    for module in modules():
        size = len(module.lines) - 1
        if size > FILE_LINES:
            found[module.path] = size
        found |= long_functions(module)
    return found


def long_functions(module: Module) -> dict[str, int]:
    """The functions of one file that are over the limit, with their sizes."""
    return {
        f"{module.path}::{name}": size
        for name, size in functions(module.tree, product_text=module.path.endswith("/tools.py"))
        if size > FUNCTION_LINES
    }


def test_nothing_is_longer_than_its_limit_or_its_exception() -> None:
    allowed: dict[str, int] = EXCEPTIONS["lines"]
    grown = {name: size for name, size in too_long().items() if size > allowed.get(name, 0)}
    assert grown == {}


def test_exceptions_are_as_small_as_what_they_excuse() -> None:
    now = too_long()
    loose = {
        name: f"{size} allowed, {now.get(name, 0)} needed"
        for name, size in EXCEPTIONS["lines"].items()
        if size > now.get(name, 0)
    }
    assert loose == {}


def test_only_a_tools_docstring_is_not_counted() -> None:
    body = "\n".join(f"    x{number} = {number}" for number in range(70))
    tree = ast.parse(f'def f():\n    """One\n\n    more.\n    """\n{body}\n')
    assert list(functions(tree)) == [("f", 75)]
    assert list(functions(tree, product_text=True)) == [("f", 71)]
