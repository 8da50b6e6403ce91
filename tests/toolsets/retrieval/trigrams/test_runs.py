"""What is kept of a text holds all that may be asked of it."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.trigrams.runs import grams, kept
from tests.campaign import examples

ALPHABET = "aAbZ_09.-> \t(){}\"'\0\x7f\x80éÉİ\u0131\u017f\u212aß\u03c3ςΣ漢\u0301😀"
LINES = st.text(st.sampled_from(ALPHABET), max_size=30)


@settings(max_examples=examples(100), deadline=None)
@given(lines=st.lists(LINES, max_size=8), data=st.data())
def test_every_trigram_asked_for_is_kept(lines: list[str], data: st.DataObject) -> None:
    """Whatever part of a line is looked for, the index proposes the file."""
    line = data.draw(st.sampled_from(lines or [""]))
    start = data.draw(st.integers(0, len(line)))
    asked = grams(line[start : data.draw(st.integers(start, len(line)))])
    found = kept("\n".join(lines).encode())
    db: Any = apsw.Connection(":memory:")
    with closing(db):
        db.execute(
            "CREATE VIRTUAL TABLE kept USING fts5(text, detail=none, tokenize='trigram')",
        )
        db.execute("INSERT INTO kept VALUES (?)", (found,))
        for gram in asked:
            there = list(db.execute("SELECT 1 FROM kept WHERE kept MATCH ?", (f'"{gram}"',)))
            assert there, (gram, found)


def test_ends_of_runs_are_asked_for_inside_a_text_only() -> None:
    assert grams("foo(bar") == ["foo", "oo ", " ba", "bar"]
    assert grams(" if ") == [" if", "if "]
    assert grams("->") == []
    assert kept(b"one ONE\tTwo-one\r\n") in {" one  two ", " two  one "}
    assert kept(b" \n-\n") == ""


def test_torn_bytes_hide_nothing_around_them() -> None:
    for data in (b"\xe2\x82needle\xff", b"needle\xc3", b"\xf0\x9f\x98needle"):
        assert "needle" in kept(data)
