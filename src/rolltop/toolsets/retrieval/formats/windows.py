"""Parts of a file's text, read from the blocks they lie in."""

from __future__ import annotations

import os
import zlib
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from rolltop.core.text.decode import decoded

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.formats.surveying import Survey


class Changed(Exception):
    """The bytes of the file are not those that were surveyed."""


class Windows:
    """The text of an open file whose survey is known.

    Offsets are 0-based code points from the start of the text. Every method may raise
    `Changed`: what it answers is always a part of the very bytes the survey hashed.
    """

    def __init__(self, descriptor: int, surveyed: Survey) -> None:
        """Take the open file's descriptor; read nothing yet."""
        self._descriptor = descriptor
        self._survey = surveyed
        self._last: tuple[int, str] = (-1, "")

    def start_of(self, line: int) -> int:
        """Return the offset of a line's first character; the text's length beyond the last."""
        if line <= 1:
            return 0
        if line > self._survey.lines:
            return self._survey.length
        breaks = line - 1
        index = bisect_left(self._survey.breaks, breaks) - 1
        text = self._block(index)
        at = -1
        for _ in range(breaks - self._survey.breaks[index]):
            at = text.index("\n", at + 1)
        return self._survey.characters[index] + at + 1

    def line_of(self, offset: int) -> int:
        """Return the line of the character at an offset; at least 1."""
        index = bisect_right(self._survey.characters, offset) - 1
        if index < 0:
            return 1
        inside = offset - self._survey.characters[index]
        return self._survey.breaks[index] + self._block(index).count("\n", 0, inside) + 1

    def text(self, start: int, end: int) -> str:
        """Return the characters from `start` up to `end`."""
        parts: list[str] = []
        index = bisect_right(self._survey.characters, start) - 1
        while 0 <= index < len(self._survey.characters):
            first = self._survey.characters[index]
            if first >= end:
                break
            parts.append(self._block(index)[max(0, start - first) : end - first])
            index += 1
        return "".join(parts)

    def _block(self, index: int) -> str:
        """Return the text of one block."""
        if self._last[0] == index:
            return self._last[1]
        surveyed = self._survey
        starts = surveyed.offsets
        start = starts[index]
        end = starts[index + 1] if index + 1 < len(starts) else surveyed.size
        data = os.pread(self._descriptor, end - start, start)
        if zlib.crc32(data) != surveyed.checks[index]:
            raise Changed
        self._last = index, decoded(data, surveyed.encoding)
        return self._last[1]
