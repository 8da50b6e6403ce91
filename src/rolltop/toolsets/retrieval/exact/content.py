"""The bytes of an open file as ripgrep sees them, and the lines in them as they are shown."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from rolltop.core.roots import is_binary
from rolltop.core.roots.opening import UTF16_MARKS
from rolltop.core.text.decode import decode
from rolltop.toolsets.retrieval.exact.spots import Spot
from rolltop.toolsets.retrieval.formats import deciding
from rolltop.toolsets.retrieval.models import Line

PREVIEW: Final = 400
"""The longest preview in code points, its marks of cutting counted."""

CUT: Final = "…"
"""What stands where a preview was cut."""

_BEFORE_MATCH: Final = 100
"""Code points shown before a match that lies beyond the start of a long line, at least."""
_HEAD: Final = 8192
_BLOCK: Final = 1 << 16
_WINDOW: Final = 4 * PREVIEW
"""Bytes that hold a preview's worth of characters."""
_READ_WHOLE: Final = 1 << 20
"""Bytes of the largest file that is read whole to find a text in it."""
_KEPT: Final = 1 << 17
"""Bytes of the largest file that is read once, and kept: dozens of files are open at a time."""
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_CONTINUATION: Final = 4
"""A character of UTF-8 has at most as many bytes."""


class Unreadable(Exception):
    """A file that is open cannot be read: its disk or server is at fault, or memory is short."""


class _Window(NamedTuple):
    """Bytes of one line around a place in it."""

    data: bytes
    place: int
    """Where in `data` the place is."""
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
        self._encoding: str | None = None

    def shown(self, spot: Spot) -> tuple[str, int]:
        """Return the matching line, cut around the match where it is long, and where that is."""
        return self._cut(self._window(spot.offset, spot.column - 1))

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
        start, number = self._next_line(spot.offset), spot.line
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
        line_break = data.find(b"\n", place - start)
        if line_break >= 0:
            data, ends = data[:line_break].removesuffix(b"\r"), True
        return _Window(data, place - start, not start, ends)

    def _cut(self, window: _Window) -> tuple[str, int]:
        """Return the window's text, `…` standing where the line goes on, and where its place is."""
        ahead = self._text(window.data[: window.place], starts=window.starts, ends=True)
        behind = self._text(window.data[window.place :], starts=True, ends=window.ends)
        text = ahead + behind
        if window.starts and window.ends and len(text) <= PREVIEW:
            return text, len(ahead)
        room = PREVIEW - 2 * len(CUT)
        first = 0
        if not window.starts or len(ahead) > room - _BEFORE_MATCH:
            first = max(0, len(ahead) - _BEFORE_MATCH)
            if window.ends:
                first = max(0, min(first, len(text) - room))
        cut_before = first > 0 or not window.starts
        room = PREVIEW - len(CUT) * cut_before
        at = len(CUT) * cut_before + len(ahead) - first
        if window.ends and len(text) - first <= room:
            return CUT * cut_before + text[first:], at
        return CUT * cut_before + text[first : first + room - len(CUT)] + CUT, at

    def _text(self, data: bytes, *, starts: bool, ends: bool) -> str:
        """Return the bytes as text: UTF-8, or what the file seems to be written in."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            whole = data if starts else _from_character(data)
            whole = whole if ends else _to_character(whole)
        try:
            return whole.decode()
        except UnicodeDecodeError:
            return data.decode(self._detected(), "replace")

    def _detected(self) -> str:
        if self._encoding is None:
            self._encoding = decode(deciding(self._read)).encoding
        return self._encoding


def read_at(descriptor: int, size: int, start: int) -> bytes:
    """Return up to `size` bytes of an open file. Raises Unreadable."""
    try:
        return os.pread(descriptor, size, start)
    except (OSError, MemoryError) as error:
        raise Unreadable from error


def _from_character(data: bytes) -> bytes:
    """Return the bytes without the rest of a character at their start."""
    for at in range(min(_CONTINUATION, len(data))):
        if data[at] & 0xC0 != 0x80:  # noqa: PLR2004  # UTF-8: 10xxxxxx goes on with a character
            return data[at:]
    return data


def _to_character(data: bytes) -> bytes:
    """Return the bytes without the first part of a character at their end."""
    for back in range(1, min(_CONTINUATION, len(data)) + 1):
        if data[-back] >= 0xC0:  # noqa: PLR2004  # UTF-8: 11xxxxxx begins a character
            return data[:-back]
    return data
