"""Hostile texts cost no more than their length: every scanner is linear, and none overflows."""

from __future__ import annotations

from typing import Final

import pytest

from rolltop.documents.outline import FILE_TYPES, FileType, detect_file_type, parse_outline
from tests.forks import Forked

# Each has once made one of the scanners quadratic, or could.
UNITS: Final = [
    "a", " ", "\n", "[", "{", '"', "'", "/*", "<a ", "<!--", "<script>", "a: {", 'a: "', '"""',
    "\\section{", "\\verb|", "def f(", "class A {", "void f(", "template <", 'R"(', 'r#"', "a=(",
    "@A(", "1. ", "class A {\n", "[,#\\`", "(function(){", "=>{",
]  # fmt: skip

LENGTH: Final = 100_000

PROGRAM: Final = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from rolltop.documents.outline import parse_outline
for unit in {UNITS!r}:
    parse_outline(unit * ({LENGTH} // len(unit)), sys.argv[1])
parse_outline("namespace {{" * 20_000 + "{{}}" * 100_000, sys.argv[1])
"""


@pytest.mark.parametrize(
    "kind", ["html", "latex", "python", "c", "rust", "javascript", "json", "text"]
)
def test_repeated_marks_are_read_within_seconds_of_processor_time(kind: str) -> None:
    # A scanner that is quadratic needs minutes for these, a linear one 6 s on a slow machine; the
    # system ends it after 60.
    Forked(["-c", PROGRAM, kind]).output()


@pytest.mark.parametrize("kind", FILE_TYPES)
def test_an_endless_word_is_read(kind: FileType) -> None:
    found = parse_outline("a" * 300_000, kind)
    assert found.line_count == 1


@pytest.mark.parametrize("kind", FILE_TYPES)
@pytest.mark.parametrize("unit", ["> ", "[", "{", "(", "- ", "<div>", "  "])
def test_deep_nesting_overflows_nothing(kind: FileType, unit: str) -> None:
    assert parse_outline(unit * 30_000 + "\n# end\n", kind).line_count == 2


def test_thirty_thousand_headings_are_all_sections() -> None:
    found = parse_outline("# Same\n\n" * 30_000, "markdown").sections
    assert len(found) == len({section.id for section in found}) == 30_000
    assert found[-1].end_line == 60_000


def test_of_very_many_headings_the_deepest_are_left_out() -> None:
    found = parse_outline("# a\n## b\n### c\n" * 20_000, "markdown")
    assert (len(found.sections), max(section.level for section in found.sections)) == (40_000, 2)
    assert not found.is_divided
    divided = parse_outline("# a\n" * 50_001, "markdown")
    assert divided.is_divided
    assert len(divided.sections) < 1_000


def test_many_headings_below_one_huge_title_stay_small() -> None:
    found = parse_outline("# " + "x" * 1_000_000 + "\n" + "## y\n" * 10_000, "markdown").sections
    assert sum(len(title) for section in found for title in section.title_path) < 4_000_000


@pytest.mark.parametrize("name", ["", ".", "..md", "a.", "MD", "x" * 10_000 + ".Md"])
def test_odd_names_have_a_format(name: str) -> None:
    assert detect_file_type(name, "text") in FILE_TYPES
