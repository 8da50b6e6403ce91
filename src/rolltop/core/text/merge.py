"""Two texts that were made from one become one text, where their changes are on other lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rolltop.core.text.diff import Hunk, diff_lines

Edit = tuple[int, int, tuple[str, ...]]
"""Lines from, to (0-based, exclusive) and what stands there instead."""


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with the changes of both; None if they conflict.

    Changes clash where they replace or delete the same line, or put different lines into one
    place. Equal changes are made once. It does not matter which of the two is which.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    lines = _lines(base)
    edits = sorted({*_edits(lines, _lines(ours)), *_edits(lines, _lines(theirs))})
    for first, second in itertools.pairwise(edits):
        if _is_conflict(first, second):
            return None
    merged: list[str] = []
    at = 0
    for start, end, new in edits:
        merged += [*lines[at:start], *new]
        at = end
    merged += lines[at:]
    if not all(line.endswith("\n") for line in merged[:-1]):
        return None  # a last line without its break came to stand before another
    return "".join(merged)


def merge_sets(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Return the union of both, in their order and ours first; never conflicts."""
    was, here, there = frozenset(base), frozenset(ours), frozenset(theirs)
    kept = [name for name in ours if name in there or name not in was]
    added = [name for name in theirs if name not in here and name not in was]
    return list(dict.fromkeys([*kept, *added]))


def _lines(text: str) -> list[str]:
    """Return the lines with their breaks: only LF ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _edits(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    def edit(hunk: Hunk) -> Edit:
        return hunk.start, hunk.end, tuple(after[hunk.new_start : hunk.new_end])

    return [edit(hunk) for hunk in diff_lines(before, after)]


def _is_conflict(first: Edit, second: Edit) -> bool:
    """Whether two different edits, the first not starting after the second, touch one place."""
    if first[0] == first[1] == second[0] == second[1]:
        return True
    return second[0] < first[1]
