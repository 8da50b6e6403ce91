"""Where two sequences of lines differ."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

_MAX_COMPARED_PAIRS: Final = 1_000_000
"""Pairs of lines that are compared with each other; of more, only lines that occur once."""


class Hunk(NamedTuple):
    """Lines `start` to `end` (0-based, exclusive) became lines `new_start` to `new_end`."""

    start: int
    end: int
    new_start: int
    new_end: int


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """Return where the lines differ, in order; two hunks have an equal line between them."""
    return _join_adjacent(_differences(before, after, 0, len(before), 0, len(after)))


def _join_adjacent(found: Iterator[Hunk]) -> list[Hunk]:
    joined: list[Hunk] = []
    for hunk in found:
        last = joined[-1] if joined else None
        if last is not None and last.end == hunk.start and last.new_end == hunk.new_start:
            joined[-1] = Hunk(last.start, hunk.end, last.new_start, hunk.new_end)
        else:
            joined.append(hunk)
    return joined


def _differences(  # two sequences and a stretch of each
    before: Sequence[str], after: Sequence[str], a: int, a_end: int, b: int, b_end: int
) -> Iterator[Hunk]:
    while a < a_end and b < b_end and before[a] == after[b]:
        a, b = a + 1, b + 1
    while a < a_end and b < b_end and before[a_end - 1] == after[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
    if a == a_end and b == b_end:
        return
    if (a_end - a) * (b_end - b) <= _MAX_COMPARED_PAIRS:
        matcher = SequenceMatcher(None, before[a:a_end], after[b:b_end], autojunk=False)
        for tag, i, i_end, j, j_end in matcher.get_opcodes():
            if tag != "equal":
                yield Hunk(a + i, a + i_end, b + j, b + j_end)
        return
    anchors = _unique_line_anchors(before, after, a, a_end, b, b_end)
    if not anchors:
        yield Hunk(a, a_end, b, b_end)
    for i, j in anchors:
        yield from _differences(before, after, a, i, b, j)
        a, b = i + 1, j + 1
    if anchors:
        yield from _differences(before, after, a, a_end, b, b_end)


def _unique_line_anchors(  # as above
    before: Sequence[str], after: Sequence[str], a: int, a_end: int, b: int, b_end: int
) -> list[tuple[int, int]]:
    """Return the longest row of equal lines that occur once on each side."""
    counts = Counter(before[a:a_end]), Counter(after[b:b_end])
    places = {after[j]: j for j in range(b, b_end) if counts[1][after[j]] == 1}
    pairs = [
        (i, places[before[i]])
        for i in range(a, a_end)
        if counts[0][before[i]] == 1 and before[i] in places
    ]
    ends: list[int] = []  # the least line of `after` that a row of that length ends in
    lasts: list[int] = []
    previous: list[int] = []
    for at, (_i, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        previous.append(lasts[length - 1] if length else -1)
        if length == len(ends):
            ends.append(j)
            lasts.append(at)
        else:
            ends[length], lasts[length] = j, at
    row: list[tuple[int, int]] = []
    at = lasts[-1] if lasts else -1
    while at >= 0:
        row.append(pairs[at])
        at = previous[at]
    return row[::-1]
