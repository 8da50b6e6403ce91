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
from typing import BinaryIO, Final

from rolltop.core.roots import is_binary
from rolltop.core.text.decode import marked, padding
from rolltop.toolsets.retrieval.formats.encodings import encoding_at

LEAST_BLOCK: Final = 1 << 16
MOST_BLOCKS: Final = 1 << 14
"""Files of more than 1 GiB get larger blocks instead of more, so that a survey stays small."""
_HEAD: Final = 1 << 13


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
    encoding = marked(os.pread(file.fileno(), _HEAD, 0))
    if encoding is None:
        found = Survey("utf-8", "strict", size)
        if _scan(file, found, 0):
            return found
        encoding = encoding_at(file.fileno())
    found = Survey(encoding.name, "replace", size)
    _scan(file, found, encoding.mark)
    return found


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
            more = padding(chunk, found.encoding) if last else b""
            text = decoder.decode(chunk + more, final=last)
        except UnicodeDecodeError:
            return False
        text = text[: len(text) - len(more)]
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
