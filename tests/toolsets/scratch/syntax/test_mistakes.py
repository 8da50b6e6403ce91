"""What a partial edit typically leaves behind is found, on its line, in every language."""

from __future__ import annotations

from typing import Final

import pytest

from rolltop.toolsets.scratch.syntax import (
    LANGUAGES,
    CheckRequest,
    Diagnostic,
    tree_sitter_check,
)
from rolltop.toolsets.scratch.syntax.checker import check_cell

from .mistakes import Mistake, mistakes, sample

PROSE: Final = {"md", "txt"}
FOUND: Final = 0.95
# The share placed right: 0.95 by parsers; by grammars, which recover as they can, as measured.
PLACED: Final = {"c": 0.92, "h": 0.92, "cpp": 0.88, "hpp": 0.88, "java": 0.92, "cs": 0.87,
                 "rs": 0.95, "rb": 0.86, "php": 0.88}  # fmt: skip
GRAMMARS: Final = frozenset(PLACED)


def misjudged(language: str, found: dict[Mistake, tuple[Diagnostic, ...]]) -> tuple[float, float]:
    """The shares of the mistakes that were found, and that were placed right first."""
    assert len(found) >= 30, language
    placed = [one for one, errors in found.items() if errors and errors[0].line in one.lines]
    return sum(map(bool, found.values())) / len(found), len(placed) / len(found)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - PROSE))
def test_typical_mistakes_are_found_on_their_line(language: str) -> None:
    whole = check_cell(CheckRequest(language, sample(language)))
    assert whole.valid, whole.errors
    results = {one: check_cell(CheckRequest(language, one.text)) for one in mistakes(language)}
    shares = misjudged(language, {one: result.errors for one, result in results.items()})
    missed = [one.name for one, result in results.items() if result.valid]
    assert shares[0] >= FOUND, missed
    assert shares[1] >= PLACED.get(language, 0.95)


@pytest.mark.parametrize("language", ["go", "sh"])
def test_without_the_extra_a_grammar_finds_them(language: str) -> None:
    assert tree_sitter_check.check(sample(language), language).errors == []
    found = {
        one: tuple(tree_sitter_check.check(one.text, language).errors) for one in mistakes(language)
    }
    shares = misjudged(language, found)
    assert shares[0] >= 0.9, [one.name for one, errors in found.items() if not errors]
    assert shares[1] >= 0.8


@pytest.mark.parametrize("language", sorted(set(LANGUAGES)))
def test_a_result_says_what_checked_it(language: str) -> None:
    result = check_cell(CheckRequest(language, "" if language in PROSE else sample(language)))
    by = "grammar" if language in GRAMMARS else "none" if language == "txt" else "parser"
    assert result.details["syntax"]["by"] == by
    assert result.details["syntax"]["checked"] is (by != "none")
    assert ("GRAMMAR_ONLY" in {one.code for one in result.warnings}) is (by == "grammar")


@pytest.mark.parametrize(
    ("language", "text", "line"),
    [
        ("java", 'class A {\n void f() {\n  String s = "abc;\n  g();\n }\n}\n', 3),
        ("jsx", "const a = (\n <div>\n  <b>x</i>\n </div>\n);\n", 3),
        ("yaml", "a:\n  b: 1\n\tc: 2\n", 3),
        ("yaml", "a: 1\nb:\n  - x\n\t- y\n", 4),
        ("rb", "class A\n  def a\n    1\n  def b\n    2\n  end\nend\n", 2),
        ("ts", "const x: number;\nif (x) {}\n", 1),
        ("ts", "export interface A {}\nexport const x;\n", 2),
        ("ts", "const x: number;\n", 1),
    ],
)
def test_an_error_is_on_the_line_of_its_cause(language: str, text: str, line: int) -> None:
    assert [one.line for one in check_cell(CheckRequest(language, text)).errors][:1] == [line]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ts", "/** if it is so */\nexport const x: number;\nexport function f(a: 1): {b: 2};\n"),
        ("js", "return 1;\n"),
        ("js", "#!/usr/bin/env node\nvar a = <b>x</b>, await = 1;\nwith (a) {}\n"),
        ("rb", "foo.end\nx = {end: 1, if: 2}\ndef end; end\nalias end foo\n"),
        ("sh", "#!/usr/bin/env zsh\necho ${(U)x}\n"),
        ("sh", "echo fi done\nif=1\n'fi'\n"),
        ("go", "// Package a is.\n/* * */\npackage a\n"),
        ("cpp", "int a = static_cast<int>(b);\nFOO(a);\n"),
        ("rs", "foo! { a b }\nbar!(1);\n"),
        ("java", "class A { A() {} class B { B(int a) {} } record C(int a) { C {} } }\n"),
        ("cs", "class A<T> { A() {} ~A() {} const int B = 1; static A() { try {} finally {} } }\n"),
        ("c", 'char *a = "x" PRIu64 "y";\nMACRO(b)\nint c;\n'),
    ],
)
def test_valid_text_stays_valid(language: str, text: str) -> None:
    assert check_cell(CheckRequest(language, text)).errors == ()
    assert language not in ("sh", "go") or not tree_sitter_check.find_faults(text, language)
