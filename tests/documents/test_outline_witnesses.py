"""Outlines equal what a format's own parser finds: ast, docutils, json, tomllib."""

from __future__ import annotations

import ast
import io
import json
import sysconfig
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import docutils.nodes
import pytest
from docutils.core import publish_doctree
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.documents.outline import parse_outline
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

STDLIB: Final = Path(sysconfig.get_path("stdlib"))
PACKAGES: Final = Path(sysconfig.get_path("purelib"))

QUIET: Final = {
    "report_level": 5,
    "halt_level": 6,
    "doctitle_xform": False,
    "docinfo_xform": False,
    "file_insertion_enabled": False,
    "_disable_config": True,
}


def _declared(node: ast.AST, level: int) -> Iterator[tuple[str, int, int, int | None]]:
    """Yield name, level, first and last line of classes and functions, none inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([child.lineno, *(item.lineno for item in child.decorator_list)])
            yield child.name, level, first, child.end_lineno
            if isinstance(child, ast.ClassDef):
                yield from _declared(child, level + 1)
        elif isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _declared(child, level)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_python_sections_are_those_of_the_syntax_tree() -> None:
    files = sorted([*STDLIB.glob("[a-d]*.py"), *(STDLIB / "asyncio").glob("*.py")])
    count = 0
    for path in files:
        text = path.read_text("utf-8")
        expected = sorted(_declared(ast.parse(text), 1), key=lambda found: found[2])
        found = [
            (s.title, s.level, s.start_line, s.end_line)
            for s in parse_outline(text, "python").sections
        ]
        assert found == expected, path
        count += len(found)
    assert count > 1_500


def test_python_with_an_error_has_an_outline() -> None:
    text = "def a(:\n    x = (1,\n\n@d\nclass B:\n    async def c(self): '''\n def no()'''\n"
    found = [(s.title, s.level, s.start_line) for s in parse_outline(text, "python").sections]
    assert found == [("a", 1, 1), ("B", 1, 5), ("c", 2, 6)]


def _sections(node: docutils.nodes.Node, level: int) -> Iterator[int]:
    for child in node.children:
        if isinstance(child, docutils.nodes.section):
            yield level
            yield from _sections(child, level + 1)


def _docutils_levels(text: str) -> list[int]:
    overrides: dict[str, Any] = {**QUIET, "warning_stream": io.StringIO()}
    return list(_sections(publish_doctree(text, settings_overrides=overrides), 1))


def _our_levels(text: str) -> list[int]:
    return [section.level for section in parse_outline(text, "restructuredtext").sections]


BLOCKS: Final = st.lists(
    st.sampled_from(
        [
            "Title\n=====\n\n", "Other\n-----\n\n", "=====\n Top\n=====\n\n",
            "words\nmore words\n\n",
            "- item\n\n", "1. One\n------\n\n", "1. one\n2. two\n\n", "A\n=\n\n", "ab\n==\n\n",
            ".. note:: x\n\n   Inside\n   ======\n\n", "::\n\n  Code\n  ====\n\n", "  Quote\n\n",
            "===  ===\na    b\n===  ===\nA    B\n===  ===\n\n", "+---+\n| a |\n+---+\n\n",
            ":f: x\n\n",
            "| line\n| block\n\n", ">>> 1\n1\n\n", "----\n\n", "Long title\n====\n\n",
            ".. _x: y\n\n",
            "\u5b57\u5b57\n====\n\n", "-a  option\n\n",
        ]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(text=BLOCKS)
def test_restructuredtext_has_the_sections_docutils_finds(text: str) -> None:
    overrides: dict[str, Any] = {**QUIET, "report_level": 1, "warning_stream": io.StringIO()}
    tree = publish_doctree(text, settings_overrides=overrides)
    # docutils refuses a title whose style skips a level; we keep it.
    if "inconsistent title style" not in tree.astext().lower():
        assert _our_levels(text) == list(_sections(tree, 1))


def test_real_restructuredtext_has_the_sections_docutils_finds() -> None:
    files = sorted([*PACKAGES.rglob("*.rst"), *PACKAGES.glob("*.dist-info/licenses/**/*.txt")])
    texts = [path.read_text("utf-8", "replace").expandtabs(8) for path in files[:60]]
    texts = [text for text in texts if len(text) < 40_000]
    assert len(texts) > 5
    for text in texts:
        assert _our_levels(text) == _docutils_levels(text)


def test_restructuredtext_levels_come_in_order_of_appearance() -> None:
    text = (
        "====\nBook\n====\n\nOne\n---\n\nSub\n~~~\n\n:mod:`two` *and* ``three`` `l <u>`_\n"
        "-------------------------------------------\n\nText\n\n- list\n\n======\nBook 2\n======\n"
    )
    found = parse_outline(text, "restructuredtext").sections
    assert [(s.title, s.level, s.start_line, s.end_line) for s in found] == [
        ("Book", 1, 1, 17),
        ("One", 2, 5, 10),
        ("Sub", 3, 8, 10),
        ("two and three l", 2, 11, 17),
        ("Book 2", 1, 18, 20),
    ]


VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=examples(200), deadline=None)
@given(
    value=st.dictionaries(st.text(max_size=8), VALUES, max_size=6), indent=st.none() | st.just(2)
)
def test_json_sections_are_the_outermost_keys(value: dict[str, Any], indent: int | None) -> None:
    for escaped in (True, False):
        text = json.dumps(value, indent=indent, ensure_ascii=escaped)
        found = [section.title for section in parse_outline(text, "json").sections]
        assert found == [" ".join(key.split()) for key in value]


def test_toml_sections_are_the_tables_tomllib_finds() -> None:
    text = (
        'a = 1\n[tool.x]\nm = [\n  [1],\n  ["[z]"]\n]\ns = """\n[no]\n"""\n'
        "t = '''\n[neither]'''\n[[arr]] # comment\nk = '[no]'\n[\"a.b\".c]\n"
    )
    assert set(tomllib.loads(text)) == {"a", "tool", "arr", "a.b"}
    found = [(s.title, s.level, s.start_line) for s in parse_outline(text, "toml").sections]
    assert found == [("tool.x", 1, 2), ("arr", 1, 12), ('"a.b".c', 1, 14)]


def test_an_array_over_several_lines_hides_no_toml_table() -> None:
    text = 'a = [["x"],\n["y"]]\n[t]\nk = [\n["x"], [\n["y"]]\n]\n[[u]]\n["v"]\n[ w ] # one\n'
    assert set(tomllib.loads(text)) == {"a", "t", "u", "v", "w"}
    found = [(s.title, s.start_line) for s in parse_outline(text, "toml").sections]
    assert found == [("t", 3), ("u", 8), ('"v"', 9), ("w", 10)]
