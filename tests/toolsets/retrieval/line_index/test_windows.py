"""Any part of a file's text, found through its survey, is what reading the whole would give."""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.text.lines import line_count, line_starts
from rolltop.toolsets.retrieval import line_index
from rolltop.toolsets.retrieval.line_index import (
    BinaryFile,
    FileChanged,
    LineIndex,
    TextReader,
    build_line_index,
)
from rolltop.workspace.encoding import decode
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Generator

_TEXTS = st.text(st.sampled_from("ab é漢🙂\r\n\t\u2028"), max_size=200)
_ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252", "shift_jis"])


@contextmanager
def opened(content: bytes, block: int = 1 << 16) -> Generator[tuple[LineIndex, TextReader]]:
    """Survey the content of a file in blocks of a size."""
    with tempfile.TemporaryDirectory() as folder, patch.object(line_index, "MIN_BLOCK", block):
        path = Path(folder, "file")
        path.write_bytes(content)
        with path.open("rb") as file:
            found = build_line_index(file, len(content))
            yield found, TextReader(file.fileno(), found)


def written(text: str, encoding: str) -> tuple[bytes, str]:
    """Return the bytes of a text, and the text they stand for."""
    content = text.encode(encoding, "replace")
    if encoding == "utf-16-be":
        content = b"\xfe\xff" + content
        return content, text
    return content, content.decode(encoding)


@given(
    text=_TEXTS,
    encoding=_ENCODINGS,
    block=st.integers(1, 40),
    start=st.integers(0, 220),
    count=st.integers(0, 220),
)
@settings(max_examples=examples(300))
def test_every_part_is_the_same_as_of_the_whole(
    text: str, encoding: str, block: int, start: int, count: int
) -> None:
    content, whole = written(text, encoding)
    with opened(content, block) as (found, windows):
        if found.encoding not in {"utf-8", "utf-16-le", "utf-16-be"}:
            whole = content.decode(found.encoding)  # what was detected; short texts tell little
        assert found.sha256 == hashlib.sha256(content).hexdigest()
        assert (found.length, found.lines) == (len(whole), line_count(whole))
        assert windows.text(start, start + count) == whole[start : start + count]
        starts = [*line_starts(whole), len(whole)]
        assert [windows.start_of(line) for line in range(1, len(starts) + 1)] == starts
        for offset in range(len(whole)):
            assert windows.line_of(offset) == whole.count("\n", 0, offset) + 1


@given(content=st.binary(max_size=300), block=st.integers(1, 40))
@settings(max_examples=examples(200))
def test_any_bytes_are_text_or_binary_and_read_the_same_in_blocks(
    content: bytes, block: int
) -> None:
    try:
        with opened(content, block) as (found, windows):
            whole = decode(content).text
            assert windows.text(0, found.length) == (whole if found.offsets else "")
    except BinaryFile:
        assert b"\0" in content


def test_a_file_damaged_in_a_few_places_is_still_read_as_utf8() -> None:
    content = "grüße, häuser, bäume\n".encode() * 50 + b"\xff\n" + "größe\n".encode() * 50
    with opened(content, 64) as (found, windows):
        assert (found.encoding, found.errors) == ("utf-8", "replace")
        assert windows.text(0, found.length) == content.decode("utf-8", "replace")


def test_a_fault_far_from_the_start_is_found_and_judged_by_what_is_around_it() -> None:
    content = b"plain ascii line\n" * 300_000 + "Größe über alles\n".encode("cp1252") * 100
    with opened(content) as (found, windows):
        assert found.encoding == "cp1252"
        assert windows.text(found.length - 17, found.length) == "Größe über alles\n"
        assert found.lines == 300_100


def test_large_files_take_larger_blocks_instead_of_more() -> None:
    with patch.object(line_index, "MAX_BLOCKS", 8), opened(b"x\n" * 5_000, 1) as (found, windows):
        assert len(found.offsets) <= 8
        assert windows.start_of(4_000) == 7_998


def test_bytes_that_are_not_those_surveyed_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\n" * 10)
    with path.open("r+b") as file:
        found = build_line_index(file, 40)
        file.seek(8)
        file.write(b"two\n")
        file.flush()
        windows = TextReader(file.fileno(), found)
        with pytest.raises(FileChanged):
            windows.text(0, 4)


def test_what_is_appended_during_a_read_is_not_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n" * 10)
    with path.open("r+b") as file:
        path.write_bytes(b"one\n" * 20)
        found = build_line_index(file, 40)
        assert (found.lines, found.length) == (10, 40)
        assert TextReader(file.fileno(), found).text(36, 99) == "one\n"
