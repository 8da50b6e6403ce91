"""The bytes of an open file as ripgrep sees them, and the lines in them as they are shown."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Final, NamedTuple

from rolltop.core.roots import is_binary
from rolltop.core.roots.opening import UTF16_MARKS
from rolltop.core.text.decode import beginning, decoded, encoding_of
from rolltop.toolsets.retrieval.exact.spots import Spot
from rolltop.toolsets.retrieval.formats import encoding_at
from rolltop.toolsets.retrieval.models import Line

PREVIEW: Final = 400
"""The longest preview in code points, its marks of cutting counted."""

CUT: Final = "…"
"""What stands where a preview was cut."""

_BEFORE_MATCH: Final = 100
"""Code points shown before a match that lies beyond the start of a long line, at least."""
_HEAD: Final = 8192
_BLOCK: Final = 1 << 16
_WINDOW: Final = 4 * PREVIEW + 16
"""Bytes that hold a preview's worth of characters, and what may be damaged at their start."""
_READ_WHOLE: Final = 1 << 20
"""Bytes of the largest file that is read whole to find a text in it."""
_KEPT: Final = 1 << 17
"""Bytes of the largest file that is read once, and kept: dozens of files are open at a time."""
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF8: Final = "utf-8"
_CONTINUING: Final = bytes(range(0x80, 0xC0))
"""In UTF-8 these go on with a character."""
_MOST_CONTINUING: Final = 3
_NOT_SEPARATE: Final = bytes(range(0x30, 0x100))
"""All but those that are a character of their own in every encoding."""


class Unreadable(Exception):
    """A file that is open cannot be read: its disk or server is at fault, or memory is short."""


class _Window(NamedTuple):
    """Text of one line around a place in it."""

    text: str
    place: int
    """Where in the text the place is: at the character it is in."""
    starts: bool
    """Whether it holds the line's start."""
    ends: bool
    """Whether it holds the line's end."""


class Content:
    """An open file, read by offsets that don't count a byte order mark.

    UTF-16 is turned into UTF-8 whole, small files are read at once; of others only what is asked
    for is read.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        """Look at the file's first bytes; `size` is what it had when its state was noted.

        This and what is asked later raises Unreadable.
        """
        self._descriptor: Final = descriptor
        head = read_at(descriptor, size + 1 if size <= _KEPT else _HEAD, 0)
        self._whole: Final = head if len(head) <= size <= _KEPT else None
        self.binary: Final = is_binary(head)
        self.is_ascii: Final = self._whole is not None and self._whole.isascii()
        """Whether all of it is known to be ASCII."""
        self._skipped: Final = len(_UTF8_MARK) if head.startswith(_UTF8_MARK) else 0
        self._converted: Final = self._utf16() if head.startswith(UTF16_MARKS) else None

    def shown(self, spot: Spot) -> tuple[str, int]:
        """Return the matching line, cut around the match where it is long, and where that is."""
        place = spot.column - 1 if spot.column else self._end() - spot.offset
        return self._cut(self._window(spot.offset, place))

    def before(self, spot: Spot, count: int) -> tuple[Line, ...]:
        """Return up to `count` lines before a matching line, each cut where it is long."""
        lines: list[Line] = []
        start, number = spot.offset, spot.line
        while len(lines) < count and start > 0:
            start, number = self._line_start(start - 1), number - 1
            lines.append(Line(number, self._cut(self._window(start, 0))[0]))
        return tuple(reversed(lines))

    def after(self, spot: Spot, count: int) -> tuple[Line, ...]:
        """Return up to `count` lines after a matching line, each cut where it is long."""
        lines: list[Line] = []
        start, number = self._next_line(spot.offset) if count else 0, spot.line
        while len(lines) < count and self._read(start, 1):
            number += 1
            lines.append(Line(number, self._cut(self._window(start, 0))[0]))
            if len(lines) < count:
                start = self._next_line(start)
        return tuple(lines)

    def spots(self, text: bytes, most: int) -> list[Spot] | None:
        """Return the first `most` lines that hold the text; None for a file too large to read."""
        data = self._read(0, _READ_WHOLE + 1)
        if len(data) > _READ_WHOLE:
            return None
        found: list[Spot] = []
        line, start = 1, 0
        place = data.find(text)
        while place >= 0 and len(found) < most:
            before, start = start, data.rfind(b"\n", 0, place) + 1
            line += data.count(b"\n", before, start)
            found.append(Spot(line, place - start + 1, start))
            end = data.find(b"\n", place)
            place = data.find(text, end) if end >= 0 else -1
        return found

    def _utf16(self) -> bytes:
        data = self._whole
        if data is None:
            data = read_at(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        try:
            return data.decode("utf-16", "replace").encode()
        except MemoryError as error:
            raise Unreadable from error

    def _read(self, start: int, size: int) -> bytes:
        if self._converted is not None:
            return self._converted[start : start + size]
        if self._whole is not None:
            at = start + self._skipped
            return self._whole[at : at + size]
        return read_at(self._descriptor, size, start + self._skipped)

    def _end(self) -> int:
        """Return how many bytes the text has."""
        kept = self._whole if self._converted is None else self._converted
        if kept is None:
            return os.fstat(self._descriptor).st_size - self._skipped
        return len(kept) - self._skipped

    def _line_start(self, end: int) -> int:
        """Return where the line starts whose line break is at `end`."""
        while end > 0:
            start = max(0, end - _BLOCK)
            found = self._read(start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def _next_line(self, start: int) -> int:
        """Return where the line after the one at `start` begins, at most the file's end."""
        while block := self._read(start, _BLOCK):
            found = block.find(b"\n")
            if found >= 0:
                return start + found + 1
            start += len(block)
        return start

    def _window(self, offset: int, place: int) -> _Window:
        """Return what is needed of the line at `offset` to show it around a byte in it."""
        start = max(0, place - _WINDOW)
        asked = place - start + _WINDOW
        data = self._read(offset + start, asked)
        ends = len(data) < asked
        line = data[: data.find(b"\n", place - start) + 1]
        if line and not start and line.isascii():  # as nearly all are
            return _Window(line[:-1].removesuffix(b"\r").decode(), place, starts=True, ends=True)
        encoding = _UTF8 if data.isascii() else self._encoding
        first = self._first_character(data, encoding, offset, start)
        if first != start:
            data = self._read(offset + first, asked + start - first)
        before = data[: place - first]
        line_break = data.find(b"\n", len(before))
        if line_break >= 0:
            text = decoded(data[:line_break].removesuffix(b"\r") + b"\n", encoding)[:-1]
        else:
            text = decoded(data, encoding) if ends else beginning(data, encoding)
        at = len(beginning(before, encoding))
        return _Window(text, at, not start, ends or line_break >= 0)

    def _first_character(self, data: bytes, encoding: str, offset: int, start: int) -> int:
        """Return where in the line at `offset` a character begins: at `start`, or near it.

        It is one that reads the same as when all of the line before it is read.
        """
        if not start:
            return 0
        if encoding == _UTF8:
            rest = data[:_MOST_CONTINUING]
            return start + len(rest) - len(rest.lstrip(_CONTINUING))
        end = start
        while end > 0:
            block = self._read(offset + max(0, end - _BLOCK), min(end, _BLOCK))
            end = max(0, end - _BLOCK)
            kept = len(block.rstrip(_NOT_SEPARATE))
            if kept:
                return end + kept
        return 0

    def _cut(self, window: _Window) -> tuple[str, int]:
        """Return the window's text, `…` standing where the line goes on, and where its place is."""
        text, place = window.text, window.place
        if window.starts and window.ends and len(text) <= PREVIEW:
            return text, place
        room = PREVIEW - 2 * len(CUT)
        first = 0
        if not window.starts or place > room - _BEFORE_MATCH:
            first = max(0, place - _BEFORE_MATCH)
            if window.ends:
                first = max(0, min(first, len(text) - room))
        cut_before = first > 0 or not window.starts
        room = PREVIEW - len(CUT) * cut_before
        at = len(CUT) * cut_before + place - first
        if window.ends and len(text) - first <= room:
            return CUT * cut_before + text[first:], at
        return CUT * cut_before + text[first : first + room - len(CUT)] + CUT, at

    @cached_property
    def _encoding(self) -> str:
        """The encoding of the file's text, which is that of every line of it."""
        if self._converted is not None:
            return _UTF8
        whole = self._whole
        if whole is not None:
            return encoding_of(lambda start, size: whole[start : start + size]).name
        try:
            return encoding_at(self._descriptor).name
        except (OSError, MemoryError) as error:
            raise Unreadable from error


def read_at(descriptor: int, size: int, start: int) -> bytes:
    """Return up to `size` bytes of an open file. Raises Unreadable."""
    try:
        return os.pread(descriptor, size, start)
    except (OSError, MemoryError) as error:
        raise Unreadable from error
