"""Line index of a file: its encoding, lines, hash, and the byte offsets of its characters.

One pass over the file records a few numbers for each block (64 KiB that start at a character) and
no text. Any part of the text can then be read from its blocks; the CRC of a block detects changes.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import zlib
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from rolltop.workspace import is_binary
from rolltop.workspace.encoding import decode_as, detect_bom, detect_encoding, is_multibyte

MIN_BLOCK: Final = 1 << 16
# Files over 1 GiB get larger blocks instead of more, which bounds the index's size.
MAX_BLOCKS: Final = 1 << 14
# Longer lines are cut into blocks where a byte is a character of its own in every encoding.
_MAX_LINE_BYTES: Final = 1 << 22
_NOT_SEPARATE: Final = bytes(range(0x30, 0x100))
_HEAD_BYTES: Final = 1 << 13


class BinaryFile(Exception):
    """The file is not text: it has a NUL in its first 8 KiB and no UTF-16 byte order mark."""


def _empty_offsets() -> array[int]:
    return array("Q")


@dataclass(slots=True)
class LineIndex:
    """The line index of a file of `size` bytes.

    `length` is in code points, without the byte order mark. For each block: the offset of its first
    byte, the code points and line breaks before it, and the CRC of its bytes.
    """

    encoding: str
    errors: str
    size: int
    sha256: str = ""
    lines: int = 0
    length: int = 0
    offsets: array[int] = field(default_factory=_empty_offsets)
    characters: array[int] = field(default_factory=_empty_offsets)
    breaks: array[int] = field(default_factory=_empty_offsets)
    checks: array[int] = field(default_factory=_empty_offsets)


def build_line_index(file: BinaryIO, size: int) -> LineIndex:
    """Index the file's first `size` bytes, in bounded memory.

    Raises BinaryFile: the file is not text.
    """
    if is_binary(os.pread(file.fileno(), _HEAD_BYTES, 0)):
        raise BinaryFile
    encoding = detect_bom(os.pread(file.fileno(), _HEAD_BYTES, 0))
    if encoding is None:
        found = LineIndex("utf-8", "strict", size)
        if _scan_file(file, found, 0):
            return found
        encoding = detect_encoding(lambda start, size: os.pread(file.fileno(), size, start))
        found = LineIndex(encoding.name, "strict", size)
        if _scan_file(file, found, encoding.bom_length):
            return found
    found = LineIndex(encoding.name, "replace", size)
    _scan_file(file, found, encoding.bom_length)
    return found


def _scan_file(file: BinaryIO, index: LineIndex, skipped: int) -> bool:
    """Fill the index; return False if the bytes do not decode."""
    whole = hashlib.sha256(os.pread(file.fileno(), skipped, 0))
    decoder = codecs.getincrementaldecoder(index.encoding)(index.errors)
    # Python's decoders of several bytes a character replace damaged ones differently where a
    # block ends among them, so there blocks are whole lines.
    by_line = index.errors == "replace" and is_multibyte(index.encoding)
    room = max(MIN_BLOCK, -(-index.size // MAX_BLOCKS))
    file.seek(skipped)
    at = skipped
    pending = b""
    ended = True
    while at < index.size or pending:
        chunk = file.read(min(max(room, len(pending)), index.size - at))
        last = len(chunk) + at >= index.size or not chunk
        start, block = at - len(pending), pending + chunk
        try:
            if by_line:
                end = len(block) if last else _find_cut(block)
                text = decode_as(block[:end], index.encoding)
            else:
                text = decoder.decode(chunk, final=last)
                end = len(block) if last else len(block) - len(decoder.getstate()[0])
        except UnicodeDecodeError:
            return False
        whole.update(chunk)
        if end:
            _add_block(index, start, block[:end], text)
        at += len(chunk)
        pending = block[end:]
        ended = text.endswith("\n") if text else ended
        if last:
            break
    index.sha256 = whole.hexdigest()
    index.lines += not ended
    return True


def _find_cut(block: bytes) -> int:
    """Return where a block may end: after a line, in a very long line after a separate byte."""
    end = block.rfind(b"\n") + 1
    if end or len(block) < _MAX_LINE_BYTES:
        return end
    return len(block.rstrip(_NOT_SEPARATE)) or len(block)


def _add_block(index: LineIndex, offset: int, block: bytes, text: str) -> None:
    """Append a block; `lines` counts line breaks until the end of the file."""
    index.offsets.append(offset)
    index.characters.append(index.length)
    index.breaks.append(index.lines)
    index.checks.append(zlib.crc32(block))
    index.length += len(text)
    index.lines += text.count("\n")


class FileChanged(Exception):
    """The file's bytes differ from the indexed ones."""


class TextReader:
    """The text of an open, indexed file.

    Offsets are 0-based code points from the start of the text. Every method may raise
    `FileChanged`: text is returned only from the very bytes that were hashed.
    """

    def __init__(self, descriptor: int, surveyed: LineIndex) -> None:
        self._descriptor = descriptor
        self._survey = surveyed
        self._last: tuple[int, str] = (-1, "")

    def start_of(self, line: int) -> int:
        """Find the offset of a line's first character; the text's length beyond the last line."""
        if line <= 1:
            return 0
        if line > self._survey.lines:
            return self._survey.length
        breaks = line - 1
        index = bisect_left(self._survey.breaks, breaks) - 1
        text = self._read_block(index)
        at = -1
        for _ in range(breaks - self._survey.breaks[index]):
            at = text.index("\n", at + 1)
        return self._survey.characters[index] + at + 1

    def line_of(self, offset: int) -> int:
        """Find the line of the character at an offset; at least 1."""
        index = bisect_right(self._survey.characters, offset) - 1
        if index < 0:
            return 1
        inside = offset - self._survey.characters[index]
        return self._survey.breaks[index] + self._read_block(index).count("\n", 0, inside) + 1

    def text(self, start: int, end: int) -> str:
        """Read the characters from `start` up to `end`."""
        parts: list[str] = []
        index = bisect_right(self._survey.characters, start) - 1
        while 0 <= index < len(self._survey.characters):
            first = self._survey.characters[index]
            if first >= end:
                break
            parts.append(self._read_block(index)[max(0, start - first) : end - first])
            index += 1
        return "".join(parts)

    def _read_block(self, index: int) -> str:
        if self._last[0] == index:
            return self._last[1]
        surveyed = self._survey
        starts = surveyed.offsets
        start = starts[index]
        end = starts[index + 1] if index + 1 < len(starts) else surveyed.size
        data = os.pread(self._descriptor, end - start, start)
        if zlib.crc32(data) != surveyed.checks[index]:
            raise FileChanged
        self._last = index, decode_as(data, surveyed.encoding)
        return self._last[1]
