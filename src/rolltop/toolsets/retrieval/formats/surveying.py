"""One pass over a file: its encoding, lines, hash, and where in its bytes characters lie.

Nothing of the text is kept. A block is some 64 KiB of the file that starts at a character; what
is kept of each is a few numbers, so any part of the text can be found later by reading the
blocks it lies in, and a check of their bytes tells whether they still are what was surveyed.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import zlib
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final

from rolltop.core.roots import is_binary
from rolltop.core.text.decode import SAMPLE, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEAST_BLOCK: Final = 1 << 16
MOST_BLOCKS: Final = 1 << 14
"""Files of more than 1 GiB get larger blocks instead of more, so that a survey stays small."""
_HEAD: Final = 1 << 13
_DECIDING: Final = 1 << 22
"""Bytes that the encoding of a file is detected from; of a smaller file it is all."""
# UTF-32's little-endian mark starts with UTF-16's.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Binary(Exception):
    """The file is not text: it has a NUL in its first 8 KiB and no mark of UTF-16."""


def _numbers() -> array[int]:
    return array("Q")


@dataclass(slots=True)
class Survey:
    """What is known of a file of `size` bytes.

    `length` is in code points, a byte order mark not counted. For each block: the offset of its
    first byte, the code points and the line breaks before it, and the CRC of its bytes.
    """

    encoding: str
    errors: str
    size: int
    sha256: str = ""
    lines: int = 0
    length: int = 0
    offsets: array[int] = field(default_factory=_numbers)
    characters: array[int] = field(default_factory=_numbers)
    breaks: array[int] = field(default_factory=_numbers)
    checks: array[int] = field(default_factory=_numbers)


def survey(file: BinaryIO, size: int) -> Survey:
    """Return the survey of the file's first `size` bytes, read in bounded memory.

    Raises:
        Binary: the file is not text.

    """
    if is_binary(os.pread(file.fileno(), _HEAD, 0)):
        raise Binary
    for encoding, errors, skipped in _encodings(file):
        found = Survey(encoding, errors, size)
        if _scan(file, found, skipped):
            return found
    raise Binary  # not reached: the last encoding reads any bytes


def _encodings(file: BinaryIO) -> Iterator[tuple[str, str, int]]:
    """Yield the encodings to try: name, what to do with faults, bytes of the mark.

    The file is read as UTF-8 unless a mark says otherwise; where it is not, by what is detected.
    """
    head = os.pread(file.fileno(), 4, 0)
    for mark, name in _MARKS:
        if head.startswith(mark):
            yield name, "strict", len(mark)
            yield name, "replace", len(mark)
            return
    yield "utf-8", "strict", 0
    found = decode(deciding(lambda start, size: os.pread(file.fileno(), size, start)))
    if found.encoding == "utf-8":
        yield "utf-8", "replace", 0
    elif not found.encoding.startswith(("utf-16", "utf-32")):
        yield found.encoding, "strict", 0
        if not found.exact:
            yield found.encoding, "replace", 0
    yield "cp1252", "strict", 0
    yield "latin-1", "strict", 0


def deciding(read: Callable[[int, int], bytes]) -> bytes:
    """Return the bytes that tell the encoding of a file that is no UTF-8.

    `read(start, size)` gives bytes of the file. Of a large one they are those around the first
    that are no UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    at = 0
    while chunk := read(at, LEAST_BLOCK):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            break
        at += len(chunk)
    return read(max(0, at - SAMPLE) if at > _DECIDING - LEAST_BLOCK - SAMPLE else 0, _DECIDING)


def _scan(file: BinaryIO, found: Survey, skipped: int) -> bool:
    """Fill the survey; return whether the file can be read in its encoding."""
    whole = hashlib.sha256(os.pread(file.fileno(), skipped, 0))
    decoder = codecs.getincrementaldecoder(found.encoding)(found.errors)
    room = max(LEAST_BLOCK, -(-found.size // MOST_BLOCKS))
    file.seek(skipped)
    at = skipped
    pending = b""
    ended = True
    while at < found.size or pending:
        chunk = file.read(min(room, found.size - at))
        last = len(chunk) + at >= found.size or not chunk
        try:
            text = decoder.decode(chunk, final=last)
        except UnicodeDecodeError:
            return False
        whole.update(chunk)
        held = decoder.getstate()[0] if not last else b""
        block = pending + chunk
        _add(found, at - len(pending), block[: len(block) - len(held)], text)
        at += len(chunk)
        pending = held
        ended = text.endswith("\n") if text else ended
        if last:
            break
    found.sha256 = whole.hexdigest()
    found.lines += not ended
    return True


def _add(found: Survey, offset: int, block: bytes, text: str) -> None:
    """Add a block to the survey; `lines` counts line breaks until the end is known."""
    found.offsets.append(offset)
    found.characters.append(found.length)
    found.breaks.append(found.lines)
    found.checks.append(zlib.crc32(block))
    found.length += len(text)
    found.lines += text.count("\n")
