"""What is kept of a text holds all that may be asked of it."""

from __future__ import annotations

import re
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.db import sqlite
from rolltop.toolsets.retrieval.grep.ripgrep import parse_query, ripgrep_path
from rolltop.toolsets.retrieval.index.trigram import grams, indexed_text, match_expression
from rolltop.toolsets.retrieval.index.trigram_file import TEXT, FileEntry, TrigramFile
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace.safe_open import UTF16_BOMS
from tests.campaign import examples
from tests.toolsets.retrieval.grep.drawn import patterns, texts_of_stretches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rolltop.toolsets.retrieval.models import Case

ALPHABET = "aAbZ_09.-> \t(){}\"'\0\x7f\x80éÉİ\u0131\u017f\u212aß\u03c3ςΣ漢\u0301😀"
LINES = st.text(st.sampled_from(ALPHABET), max_size=30)


@settings(max_examples=examples(100), deadline=None)
@given(lines=st.lists(LINES, max_size=8), data=st.data())
def test_every_trigram_asked_for_is_kept(lines: list[str], data: st.DataObject) -> None:
    """Whatever part of a line is looked for, the index proposes the file."""
    line = data.draw(st.sampled_from(lines or [""]))
    start = data.draw(st.integers(0, len(line)))
    asked = grams(line[start : data.draw(st.integers(start, len(line)))])
    found = indexed_text("\n".join(lines).encode())
    with closing(sqlite.library.connect(":memory:")) as db:
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
    assert indexed_text(b"one ONE\tTwo-one\r\n") in {" one  two ", " two  one "}
    assert indexed_text(b" \n-\n") == ""


def test_torn_bytes_hide_nothing_around_them() -> None:
    for data in (b"\xe2\x82needle\xff", b"needle\xc3", b"\xf0\x9f\x98needle"):
        assert "needle" in indexed_text(data)


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pattern=(
        patterns() | st.text(st.sampled_from(r"abc_ \(\)\.\b\w.+^$é|[*?]"), max_size=9)
    ).filter(str.strip),
    texts=st.lists(texts_of_stretches() | LINES, min_size=6, max_size=12),
    case=st.sampled_from(("sensitive", "ignore", "smart")),
    encoding=st.sampled_from(("utf-8", "latin-1", "utf-16")),
)
def test_the_index_proposes_every_file_that_matches(
    tmp_path: Path, pattern: str, texts: list[str], case: Case, encoding: str
) -> None:
    """Whatever an expression says, no file that ripgrep finds is left out."""
    query = Query(pattern, regex=True, case=case)
    datas = [text.encode(encoding, "replace") for text in texts]
    found = _matching(tmp_path, query, datas)
    assert found <= _proposed(tmp_path, query, datas), (pattern, match_expression(query))


@pytest.mark.parametrize(
    ("pattern", "asked"),
    [
        (r"class\s+Some\b", {"cla", "las", "ass", "Som", "ome"}),
        (r"a_name\(", {"a_n", "_na", "nam", "ame", "me "}),
        (r"one\.two", {"one", "ne ", " tw", "two"}),
        (r"^abcd+e$", {"abc", "bcd"}),
        (r"one.*two[a-z]?\d*|three", {"one", "two", "thr", "hre", "ree"}),
    ],
)
def test_a_simple_expression_asks_for_its_texts(pattern: str, asked: set[str]) -> None:
    said = match_expression(Query(pattern, regex=True))
    assert set(re.findall('"(.{3})"', said)) == asked


@pytest.mark.parametrize(
    "pattern", [r"\w*", "text?", "tex(t)", "some|or", "[text]", "text{2}", r"\x41text", r"\<text"]
)
def test_any_other_expression_asks_for_nothing(pattern: str) -> None:
    assert not match_expression(Query(pattern, regex=True))


def _matching(folder: Path, query: Query, datas: Sequence[bytes]) -> set[int]:
    """Return which of the files ripgrep finds; none where it cannot read the expression."""
    for number, data in enumerate(datas):
        (folder / f"{number}.txt").write_bytes(data)
    pattern = parse_query(query)
    names = [f"{number}.txt" for number in range(len(datas))]
    flags = ["--no-config", "--text", "--crlf", "--files-with-matches", *pattern.flags]
    done = subprocess.run(
        [ripgrep_path(), *flags, "-e", pattern.text.decode(), *names],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    return {int(number) for number in re.findall(rb"(\d+)\.txt", done.stdout)}


def _in_utf8(data: bytes) -> bytes:
    return data.decode("utf-16").encode() if data.startswith(UTF16_BOMS) else data


def _proposed(folder: Path, query: Query, datas: Sequence[bytes]) -> set[int]:
    expression = match_expression(query)
    if not expression:
        return set(range(len(datas)))
    index = folder / "index"
    for old in index.glob("*"):
        old.unlink()
    with closing(TrigramFile(index)) as file:
        noted = [
            FileEntry(f"{number}", (number, 1, 1, 1), TEXT, indexed_text(_in_utf8(data)))
            for number, data in enumerate(datas)
        ]
        file.put("/code", noted)
        numbers = file.matching(expression)
        paths: dict[int, int] = {}
        file.each_row("/code", 0, lambda path, row, _: paths.update({row.number: int(path)}))
    assert numbers is not None
    return {paths[number] for number in numbers}
