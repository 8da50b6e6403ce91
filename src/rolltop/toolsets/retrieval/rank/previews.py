"""The few lines of a unit that show what it is and why it was found.

A unit may be a file of one line, or of a million: everything here takes steps by what is shown and
by what is found, and looks through the text itself only in one go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PREVIEW: Final = 400
"""Code points of a preview, the marks for what was cut counted."""

_HEAD: Final = 160
_MARK: Final = "…"
_LEAST: Final = _HEAD // 4
"""Code points of a line that are worth showing where it is longer."""

_TOGETHER: Final = 3
"""Lines in which, one after the other, texts stand together."""

_MOST_LINES: Final = 2_000
"""Lines with one of the texts that are looked for: each has an equal share, its first ones."""

_TELLING: Final = re.compile(r"[^\s@#/*=-]")
_FILLED: Final = re.compile(r"\S")


def preview(own: str, wanted: Collection[str]) -> str:
    """Return the first line of a unit and the lines with most of what is wanted.

    `…` stands for the lines that are left out, between them and at the end. A line that is too
    long is cut around what is wanted in it. `wanted` are texts in small letters.
    """
    last = len(own.rstrip())
    telling = _TELLING.search(own)
    first = own.rfind("\n", 0, telling.start()) + 1 if telling else 0
    end = _end(own, first)
    shown = [_cut(own[first:end].strip(), _HEAD if end < last else PREVIEW, wanted)]
    best = _best(own, end + 1, wanted)
    following = _FILLED.search(own, end)
    if following and following.start() < best:
        shown.append(_MARK)
    for start, line in _filled(own, best):
        room = PREVIEW - sum(map(len, shown)) - len(shown)
        if start + len(line) < last:
            room -= len(f"\n{_MARK}")
        if room < min(len(line), _LEAST):
            shown += [_MARK] * (not shown[-1].endswith(_MARK))
            break
        shown.append(_cut(line, room, wanted))
    return "\n".join(shown)


def _filled(own: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank from a line's start on: where each starts, and its text.

    White space at the end of a line is left out.
    """
    while found := _FILLED.search(own, start):
        start = own.rfind("\n", start, found.start()) + 1 or start
        end = _end(own, found.start())
        yield start, own[start:end].rstrip()
        start = end


def _best(own: str, first: int, wanted: Collection[str]) -> int:
    """Return where the line starts in which, with the two after, most different texts stand.

    It is the first of those alike, `first` where nothing is found; no line before that counts.
    """
    lowered = _lowered(own)
    present = [text for text in wanted if text in lowered]
    share = _MOST_LINES // len(present) if len(present) > 1 else 1
    found: dict[int, set[str]] = {}
    frequent: list[str] = []
    for text in present:
        starts = list(_lines(lowered, text, first, share))
        for start in starts:
            found.setdefault(start, set()).add(text)
        if len(starts) == share:
            frequent.append(text)
    if len(present) > 1 and frequent:
        _add_around(lowered, first, found, frequent)
    best, most = first, 0
    for start in sorted(found):
        second = _end(lowered, start) + 1
        third = _end(lowered, second) + 1
        together = len(found[start].union(found.get(second, ()), found.get(third, ())))
        if found[start] and together > most:
            best, most = start, together
        if most == len(present):
            break
    return best


def _add_around(
    text: str, first: int, found: dict[int, set[str]], frequent: Collection[str]
) -> None:
    """Look for texts that are in more lines than their share around the lines that were found."""
    lines: set[int] = set()
    for start in found:
        before = text.rfind("\n", first, max(first, start - 1)) + 1 or first
        at = text.rfind("\n", first, max(first, before - 1)) + 1 or first
        for _ in range(2 * _TOGETHER - 1):
            lines.add(at)
            at = _end(text, at) + 1
    for start in lines:
        line = text[start : _end(text, start)]
        found.setdefault(start, set()).update(one for one in frequent if one in line)


def _lines(text: str, sought: str, start: int, most: int) -> Iterator[int]:
    """Yield where the lines start, from one on, that hold a text: up to `most` lines."""
    for _ in range(most):
        at = text.find(sought, start)
        if at < 0:
            return
        yield text.rfind("\n", start, at) + 1 or start
        start = _end(text, at) + 1


def _lowered(text: str) -> str:
    """Return a text in small letters, each at the place of its capital: one capital makes two."""
    return text.replace("İ", "I").lower()


def _end(text: str, at: int) -> int:
    """Return where the line of a place ends, without its line break."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _cut(line: str, room: int, wanted: Collection[str]) -> str:
    """Return at most `room` code points of a line, those around the first text that is wanted."""
    if len(line) <= room:
        return line
    lowered = _lowered(line)
    found = [(at, len(text)) for text in wanted if (at := lowered.find(text)) >= 0]
    at, length = min(found, default=(0, 0))
    if not at or at + length < room:
        return line[: room - 1] + _MARK
    inside = room - 2 * len(_MARK)
    start = min(at, max(1, at - (inside - length) // 2))
    if start + inside + 1 >= len(line):
        return _MARK + line[1 - room :]
    return _MARK + line[start : start + inside] + _MARK
