"""Lines of a text: LF or CRLF ends a line, a lone CR is text, a final newline adds no line."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

BLOCK_CODE_POINTS: Final = 1 << 18
"""Code points split in one go, so that no second copy of a large text is made."""

_UNSIGNED: Final = 1 << 32


def line_starts(text: str) -> Sequence[int]:
    """Return the offset, in code points, of each line's first character; none for empty text."""
    starts = array("I" if len(text) < _UNSIGNED else "Q", [0] if text else [])
    for offset in range(0, len(text), BLOCK_CODE_POINTS):
        # Of n + 1 parts the first n end in a line break: each gives one start.
        parts = text[offset : offset + BLOCK_CODE_POINTS].split("\n")
        del parts[-1]
        lengths = [len(part) + 1 for part in parts]
        if lengths:
            lengths[0] += offset
            starts.extend(accumulate(lengths))
    if text.endswith("\n"):
        starts.pop()
    return starts


def line_count(text: str) -> int:
    """Return the number of lines; 0 for empty text."""
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


class TextLines:
    """A text with its lines; line numbers are 1-based and inclusive."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = line_starts(text)

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.starts)

    def line_at(self, offset: int) -> int:
        """Return the line that holds the character at a 0-based offset; at least 1."""
        return max(1, bisect_right(self.starts, offset))

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the offsets from the start of line `first` to the end of line `last`.

        The line break of `last` is part of the span; lines beyond the text are empty.
        """
        return self._start(first), self._start(last + 1)

    def between(self, first: int, last: int) -> str:
        """Return the text of the lines `first` to `last`, line breaks included."""
        start, end = self.span(first, last)
        return self.text[start:end]

    def _start(self, line: int) -> int:
        if line > len(self.starts):
            return len(self.text)
        return self.starts[line - 1 if line > 1 else 0]
