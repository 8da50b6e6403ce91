"""Where two sequences of lines differ."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Final, NamedTuple

_MAX_COMPARED_PAIRS: Final = 1_000_000
"""Pairs of lines that are compared with each other; of more, only lines that occur once."""
_MAX_STEPS: Final = 5_000_000
"""Steps of comparing pairs in one diff; what is left then differs as a whole."""


class Hunk(NamedTuple):
    """Lines `start` to `end` (0-based, exclusive) became lines `new_start` to `new_end`."""

    start: int
    end: int
    new_start: int
    new_end: int


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """Return where the lines differ, in order; two hunks have an equal line between them."""
    return _join_adjacent(_Comparison(before, after).hunks())


def _join_adjacent(found: Iterator[Hunk]) -> list[Hunk]:
    joined: list[Hunk] = []
    for hunk in found:
        last = joined[-1] if joined else None
        if last is not None and last.end == hunk.start and last.new_end == hunk.new_start:
            joined[-1] = Hunk(last.start, hunk.end, last.new_start, hunk.new_end)
        else:
            joined.append(hunk)
    return joined


class _Comparison:
    """Finds where two sequences of lines differ, in a bounded number of steps."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._before: Final = before
        self._after: Final = after
        self._left = _MAX_STEPS

    def hunks(self) -> Iterator[Hunk]:
        """Yield the differences in order."""
        pending = [(0, len(self._before), 0, len(self._after))]
        while pending:
            a, a_end, b, b_end = self._without_equal_ends(*pending.pop())
            if (a_end - a) * (b_end - b) <= _MAX_COMPARED_PAIRS:
                for i, j in [*self._match(a, a_end, b, b_end), (a_end, b_end)]:
                    if (i, j) != (a, b):
                        yield Hunk(a, i, b, j)
                    a, b = i + 1, j + 1
                continue
            self._left -= a_end - a + b_end - b
            anchors = self._left > 0 and _unique_line_anchors(
                self._before, self._after, a, a_end, b, b_end
            )
            if not anchors:
                yield Hunk(a, a_end, b, b_end)
                continue
            starts = [(a, b), *((i + 1, j + 1) for i, j in anchors)]
            stretches = zip(starts, [*anchors, (a_end, b_end)], strict=True)
            pending += [(i, i_end, j, j_end) for (i, j), (i_end, j_end) in stretches][::-1]

    def _without_equal_ends(
        self, a: int, a_end: int, b: int, b_end: int
    ) -> tuple[int, int, int, int]:
        before, after = self._before, self._after
        while a < a_end and b < b_end and before[a] == after[b]:
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and before[a_end - 1] == after[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        return a, a_end, b, b_end

    def _match(self, a: int, a_end: int, b: int, b_end: int) -> list[tuple[int, int]]:
        """Pair equal lines as SequenceMatcher does, as long as steps are left."""
        if a == a_end or b == b_end:
            return []
        before, after = self._before[a:a_end], self._after[b:b_end]
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        counts = Counter(after)
        # What SequenceMatcher looks at of the lines before one.
        costs = list(accumulate((1 + counts[line] for line in before), initial=0))
        pairs: list[tuple[int, int]] = []
        pending = [(0, len(before), 0, len(after))]
        while pending:
            low, high, low_b, high_b = pending.pop()
            self._left -= costs[high] - costs[low]
            if self._left < 0:
                break
            i, j, size = matcher.find_longest_match(low, high, low_b, high_b)
            pairs += ((a + i + at, b + j + at) for at in range(size))
            if size and low < i and low_b < j:
                pending.append((low, i, low_b, j))
            if size and i + size < high and j + size < high_b:
                pending.append((i + size, high, j + size, high_b))
        return sorted(pairs)


def _unique_line_anchors(  # two sequences and a stretch of each
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
