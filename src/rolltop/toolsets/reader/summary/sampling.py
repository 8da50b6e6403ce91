"""An even sample of a long text, and the code fences its stretches start in."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE_LINE: Final = re.compile(r"[ \t>]{0,8}(`{3,}|~{3,})")


class Window(NamedTuple):
    """A stretch of a text: the number of its first line, its offset, and its own text."""

    line: int
    start: int
    text: str


def open_fences(text: str, positions: list[int]) -> list[str]:
    """Return, for each ascending offset, the code fence it lies in (empty outside)."""
    if "```" not in text and "~~~" not in text:
        return [""] * len(positions)
    marks = sorted(chain(_marks(text, "```"), _marks(text, "~~~")))
    found: list[str] = []
    current, at = "", 0
    for position in positions:
        while at < len(marks) and marks[at][0] < position:
            mark = marks[at][1]
            if not current:
                current = mark
            elif mark.startswith(current):
                current = ""
            at += 1
        found.append(current)
    return found


def _marks(text: str, fence: str) -> Iterator[tuple[int, str]]:
    """Yield the places and marks of the lines that start with a fence of that kind."""
    place = text.find(fence)
    while place >= 0:
        mark = _FENCE_LINE.match(text, text.rfind("\n", 0, place) + 1)
        if mark is not None and mark.start(1) == place:
            yield place, mark.group(1)
        line_end = text.find("\n", place)
        place = text.find(fence, line_end) if line_end >= 0 else -1


def windows(text: str, size: int, count: int, starts: list[int]) -> list[Window]:
    """Return stretches of a text: all of it, or a sample over the whole.

    A text of more than `size` characters is sampled at `count` even places, each moved to the
    next of `starts` (offsets of sections) where one is near, else to the next line.
    """
    if len(text) <= size:
        return [Window(1, 0, text)]
    step, width = len(text) // count, size // count
    places = sorted({_aligned(text, at * step, step, starts) for at in range(count)})
    breaks = (text.count("\n", before, after) for before, after in pairwise([0, *places]))
    return [
        Window(1 + line, place, _whole_lines(text[place : place + width]))
        for place, line in zip(places, accumulate(breaks), strict=True)
    ]


def _aligned(text: str, place: int, reach: int, starts: list[int]) -> int:
    at = bisect_right(starts, place - 1)
    if at < len(starts) and starts[at] < place + reach:
        return starts[at]
    return text.find("\n", place, place + reach) + 1 or place


def _whole_lines(text: str) -> str:
    end = text.rfind("\n")
    return text[:end] if end > 0 else text
