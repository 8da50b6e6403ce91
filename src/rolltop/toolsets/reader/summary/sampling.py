"""An even sample of a long text, and the code fences its stretches start in."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from typing import Final

_FENCE_LINE: Final = re.compile(r"(?:^|\n)[ \t>]{0,8}(`{3,}|~{3,})")


def open_fences(text: str, positions: list[int]) -> list[str]:
    """Return, for each ascending offset, the code fence it lies in (empty outside)."""
    if "```" not in text and "~~~" not in text:
        return [""] * len(positions)
    marks = [(m.start(1), m.group(1)) for m in _FENCE_LINE.finditer(text)]
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


def windows(text: str, size: int, count: int, starts: list[int]) -> list[tuple[int, str]]:
    """Return stretches of a text as (first line, text): all of it, or a sample over the whole.

    A text of more than `size` characters is sampled at `count` even places, each moved to the
    next of `starts` (offsets of sections) where one is near, else to the next line.
    """
    if len(text) <= size:
        return [(1, text)]
    step, width = len(text) // count, size // count
    places = sorted({_aligned(text, at * step, step, starts) for at in range(count)})
    lines = [1]
    for before, after in pairwise([0, *places]):
        lines.append(lines[-1] + text.count("\n", before, after))
    return [
        (line, _whole_lines(text[place : place + width]))
        for place, line in zip(places, lines[1:], strict=True)
    ]


def _aligned(text: str, place: int, reach: int, starts: list[int]) -> int:
    at = bisect_right(starts, place - 1)
    if at < len(starts) and starts[at] < place + reach:
        return starts[at]
    return text.find("\n", place, place + reach) + 1 or place


def _whole_lines(text: str) -> str:
    end = text.rfind("\n")
    return text[:end] if end > 0 else text
