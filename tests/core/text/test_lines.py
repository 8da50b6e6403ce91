"""Lines: LF and CRLF end one, a lone CR does not, a final newline adds none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.text import lines
from rolltop.core.text.lines import TextLines, line_count, line_starts
from tests.campaign import examples


@settings(max_examples=examples(200), deadline=None)
@given(text=st.text("a\n\r字"), block=st.integers(1, 5))
def test_lines_are_what_a_newline_ends(text: str, block: int) -> None:
    expected = [match.start() for match in re.finditer(r"[^\n]*\n|[^\n]+", text)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_CODE_POINTS", block)
        assert list(line_starts(text)) == expected
    assert line_count(text) == len(expected) == len(TextLines(text))


@settings(max_examples=examples(100), deadline=None)
@given(text=st.text("ab\n\r", min_size=1))
def test_lines_joined_are_the_text(text: str) -> None:
    lines_of_text = TextLines(text)
    count = len(lines_of_text)
    assert "".join(lines_of_text.between(line, line) for line in range(1, count + 1)) == text
    assert lines_of_text.between(1, count) == text


def test_crlf_ends_a_line_and_a_lone_cr_does_not() -> None:
    text = "one\r\ntwo\rstill two\nthree"
    found = TextLines(text)
    assert len(found) == 3
    assert found.between(1, 1) == "one\r\n"
    assert found.between(2, 2) == "two\rstill two\n"
    assert found.line_at(text.index("still")) == 2


def test_final_newline_adds_no_line() -> None:
    assert line_count("a\n") == 1
    assert line_count("a\n\n") == 2
    assert line_count("") == 0
    assert list(line_starts("")) == []


def test_lines_beyond_the_text_are_empty() -> None:
    assert TextLines("a\nb").between(3, 9) == ""
