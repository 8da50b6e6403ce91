"""What stands in a function's body changes nothing of the outline around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.documents.outline import parse_outline
from rolltop.documents.outline.patterns import repetition
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.documents.outline import FileType


class Shape(NamedTuple):
    """How a language writes two functions, and what only it may hide braces in."""

    kind: FileType
    first: str
    second: str
    hidden: tuple[str, ...]


BRACES: Final = [
    Shape("c", "int first(int a)\n{", "int second(int a) {", ("#define D {", 'x = R"("\n}\n)";')),
    Shape("javascript", "function first(a) {", "function second(a) {", ("x = `}\n{`;", "y = /}/;")),
    Shape(
        "java",
        "class A {\n\n    int first(int a) {",
        "    int second(int a) {",
        ('x = """\n}""";',),
    ),
    Shape(
        "csharp",
        "class A {\n\n    int first(int a) {",
        "    int second(int a) {",
        ('x = @"a\n}\n";', 'x = @$"a\n}\n";'),
    ),
    Shape(
        "go", "func first(a int) {", "func second(a int) {", ("x := `}\n{`", "var a interface{}")
    ),
    Shape(
        "rust", "fn first(a: i32) {", "fn second(a: i32) {", ('x = r#""\n}\n"#;', "let a = '{';")
    ),
    Shape("php", "function first($a) {", "function second($a) {", ("# }", "$x = <<<E\n}\nE;")),
    Shape("kotlin", "fun first(a: Int) {", "fun second(a: Int) {", ('val x = """}\n{"""',)),
    Shape(
        "swift",
        "func first(a: Int) {",
        "func second(a: Int) {",
        ('let x = """\n}{\n"""', 'let x = #"}"{"#'),
    ),
]

PLAIN: Final = (
    "a = b / c;",
    's = "}\\"{";',
    "// it's }",
    "/* {\n } */",
    "",
    "call(a,\n{0}     b);",
)
PYTHON: Final = (
    "a = [b, {'c': (d, [e])}]", 's = "def x("', "# it's (", "'''\ndef no():\n'''", "",
    "x = 1 + \\\n2",
    "call(a,\n{0}     b[1:\n2])", "x = '('", 'f"{a[")"]}"', "a = (  # :)\n    b)",
)  # fmt: skip


def _bodies(
    plain: tuple[str, ...], nest: Callable[[str, list[str]], list[str]], indent: str
) -> st.SearchStrategy[list[str]]:
    """Return lists of statements, nested by `nest`, each with its indentation."""

    def deeper(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
        one = st.tuples(
            st.sampled_from(("if (a) ", "if (a &&\n{0}        b) ", "while (a) ")), inner
        )
        return st.lists(one.map(lambda pair: nest(*pair)), min_size=1, max_size=3).map(
            lambda parts: [line for part in parts for line in part]
        )

    base = st.lists(st.sampled_from(plain), max_size=4)
    tree = st.recursive(base, deeper, max_leaves=12)
    return tree.map(lambda lines: [_placed(line, indent) for line in lines])


def _placed(line: str, indent: str) -> str:
    """Return a statement behind its indentation, lines that continue it further in."""
    depth = len(line) - len(line.lstrip("\t"))
    margin = indent + "    " * depth
    return margin + line[depth:].replace("{0}", margin) if line.strip() else ""


def _in_braces(head: str, inner: list[str]) -> list[str]:
    return [f"{head}{{", *(f"\t{line}" for line in inner), "}"]


def _in_block(head: str, inner: list[str]) -> list[str]:
    return [f"{head.rstrip()}:", *(f"\t{line}" for line in inner), "\tpass"]


@pytest.mark.parametrize("shape", BRACES, ids=lambda shape: shape.kind)
@given(data=st.data())
@settings(max_examples=examples(40))
def test_a_body_in_braces_ends_with_its_own_brace(shape: Shape, data: st.DataObject) -> None:
    margin = "    " if shape.second.startswith(" ") else ""
    drawn = _bodies(PLAIN + shape.hidden, _in_braces, f"{margin}    ")
    body = data.draw(drawn, "body")
    head = [*shape.first.split("\n"), *"\n".join(body).split("\n")]
    lines = [*head, f"{margin}}}", shape.second, f"{margin}    x();", f"{margin}}}"]
    found = {
        section.title: section for section in parse_outline("\n".join(lines), shape.kind).sections
    }
    assert {"first", "second"} <= found.keys() <= {"A", "first", "second"}
    assert found["first"].end_line == len(head) + 1
    assert (found["second"].start_line, found["second"].end_line) == (len(head) + 2, len(lines))


def test_the_brace_at_the_margin_ends_a_body_whose_braces_do_not_match() -> None:
    first = ["int first(int a)", "{", "#if A", "    if (a) {", "#else", "    if (b) {", "#endif"]
    first += ["        c();", "    }", "}"]
    second = ["int second(int a)", "{", "#if A", "    }", "#endif", "}"]
    found = parse_outline("\n".join([*first, *second]), "c").sections
    assert [(section.title, section.start_line) for section in found] == [
        ("first", 1),
        ("second", len(first) + 1),
    ]
    assert found[0].end_line == len(first)


@given(body=_bodies(PYTHON, _in_block, "    "))
@settings(max_examples=examples(200))
def test_a_body_in_python_ends_with_its_last_line(body: list[str]) -> None:
    head = ["def first():", *"\n".join(body).split("\n"), "    last = 1"]
    lines = [*head, "", "# between", "def second():", "    pass"]
    found = parse_outline("\n".join(lines), "python").sections
    assert [(section.title, section.start_line, section.end_line) for section in found] == [
        ("first", 1, len(head)),
        ("second", len(head) + 3, len(head) + 4),
    ]


@given(text=st.text("abc", max_size=12))
@settings(max_examples=examples(200))
def test_what_is_repeated_is_matched_as_in_an_atomic_group(text: str) -> None:
    for parts in (("ab?c",), ("a+b", "c"), ("ab", "abc"), ("a(?:bc)*a", "b")):
        expected = re.match(rf"(?>(?:{'|'.join(parts)})*)", text)
        found = re.match(repetition(*parts), text)
        assert found is not None
        assert expected is not None
        assert found.end() == expected.end()
