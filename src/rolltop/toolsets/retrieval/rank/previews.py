"""The few lines of a unit that show what it is and why it was found."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

PREVIEW: Final = 400
"""Code points of a preview, the marks for what was cut counted."""

_HEAD: Final = 160
_MARK: Final = "…"
_LEAST: Final = _HEAD // 4
"""Code points of a line that are worth showing where it is longer."""


def preview(own: str, wanted: Collection[str]) -> str:
    """Return the first line of a unit and the lines with most of what is wanted.

    `…` stands for the lines that are left out, between them and at the end. A line that is too
    long is cut around what is wanted in it. `wanted` are texts in small letters.
    """
    lines = [line.rstrip() for line in own.split("\n")]
    at = next((at for at, line in enumerate(lines) if line.strip(" \t@#/*-=")), 0)
    later = [number for number in range(at + 1, len(lines)) if lines[number]]
    shown = [_cut(lines[at].strip(), _HEAD if later else PREVIEW, wanted)]
    best = _best(lines, at + 1, wanted)
    if later and later[0] < best:
        shown.append(_MARK)
    for number in later[bisect_left(later, best) :]:
        line = lines[number]
        room = PREVIEW - sum(map(len, shown)) - len(shown)
        if number < later[-1]:
            room -= len(f"\n{_MARK}")
        if room < min(len(line), _LEAST):
            shown += [_MARK] * (not shown[-1].endswith(_MARK))
            break
        shown.append(_cut(line, room, wanted))
    return "\n".join(shown)


def _best(lines: Sequence[str], first: int, wanted: Collection[str]) -> int:
    """Return the line from `first` on where most different texts stand in it and the two after."""
    found = [frozenset(filter(line.lower().__contains__, wanted)) for line in lines]
    best, most = first, 0
    for at in range(first, len(lines)):
        together = len(frozenset[str]().union(*found[at : at + 3]))
        if found[at] and together > most:
            best, most = at, together
    return best


def _cut(line: str, room: int, wanted: Collection[str]) -> str:
    """Return at most `room` code points of a line, those around the first text that is wanted."""
    if len(line) <= room:
        return line
    lowered = line.lower()
    if len(lowered) != len(line):
        lowered = line  # its places would be others
    found = [(at, len(text)) for text in wanted if (at := lowered.find(text)) >= 0]
    at, length = min(found, default=(0, 0))
    if not at or at + length < room:
        return line[: room - 1] + _MARK
    inside = room - 2 * len(_MARK)
    start = min(at, max(1, at - (inside - length) // 2))
    if start + inside + 1 >= len(line):
        return _MARK + line[1 - room :]
    return _MARK + line[start : start + inside] + _MARK
