"""The part of a long section that is worth most to a query: around its densest matches."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from math import log1p
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core import token_counter
from rolltop.core.fulltext.bm25 import K1

if TYPE_CHECKING:
    from rolltop.documents.outline import Section
    from rolltop.toolsets.reader.document_cache import OpenDocument

_MAX_LENGTH: Final = 500
"""Characters in which matches count as standing together."""
_MIN_RISE: Final = 1e-9
"""Sums of the same scores in another order differ by less."""
_BEGINNING_SHARE: Final = 0.8
"""A section is read from its beginning if a passage there scores this share of the best."""
_LEAD_LINES: Final = 3
"""Lines before the best passage that are given where they are short."""
_LEAD_SHARE: Final = 4
"""They take at most this part of the room."""
_LONG_TOKEN: Final = 128
"""Characters; hardly any token is longer."""
_USUAL_TOKEN: Final = 8
_SPACE: Final = re.compile(r"\s")


class Passage(NamedTuple):
    """A stretch from the first to the last of some matches that stand together."""

    score: float
    start: int
    end: int


def rising_passages(hits: Mapping[str, Sequence[int]], start: int, end: int) -> list[Passage]:
    """List the passages between two offsets that score higher than all before; the best is last.

    Different terms count more than one term repeated, and rare ones more than frequent ones.
    """
    offsets = {
        term: found[bisect_left(found, start) : bisect_left(found, end)]
        for term, found in hits.items()
    }
    total = sum(map(len, offsets.values()))
    weights = {term: log1p(total / len(found)) for term, found in offsets.items() if found}
    matches = sorted((at, term) for term in weights for at in offsets[term])
    counts = dict.fromkeys(weights, 0)
    first, score = 0, 0.0
    rising = [Passage(0.0, start, start)]
    for at, term in matches:
        counts[term] += 1
        score += weights[term] * _gain(counts[term])
        while matches[first][0] <= at - _MAX_LENGTH:
            gone = matches[first][1]
            score -= weights[gone] * _gain(counts[gone])
            counts[gone] -= 1
            first += 1
        if score > rising[-1].score + _MIN_RISE:
            rising.append(Passage(score, matches[first][0], at + len(term)))
    return rising


def _gain(count: int) -> float:
    """Return what the last of so many matches adds, by BM25's saturation."""
    return count / (count + K1) - (count - 1) / (count - 1 + K1)


def find_window(
    document: OpenDocument,
    section: Section,
    rising: Sequence[Passage],
    room: int,
) -> tuple[int, int]:
    """Choose the part of a section to give within `room` tokens: from one offset to another.

    That is its beginning, if it holds a passage that is nearly the best of those that rise.
    """
    text, (start, end) = document.text, document.offsets(section)
    last = _fitting_end(text, start, end, room)
    enough = rising[-1].score * _BEGINNING_SHARE
    if any(passage.end <= last and passage.score >= enough for passage in rising):
        return start, last
    first = _lead_in(document, start, rising[-1].start, room)
    last = _fitting_end(text, first, end, room)
    if last == end:
        lines = range(
            bisect_left(document.starts, max(start, end - room * _USUAL_TOKEN)),
            bisect_left(document.starts, first),
        )
        fits = bisect_left(
            lines,
            -room,
            key=lambda line: -token_counter.count(text[document.starts[line] : end]),
        )
        first = document.starts[lines[fits]] if fits < len(lines) else first
    return first, last


def _fitting_end(text: str, start: int, end: int, room: int) -> int:
    """Return where the lines from an offset on end that fit into `room` tokens.

    A line is cut where the lines before it would leave more than half of the room unused.
    """
    window = text[start : min(end, start + room * _LONG_TOKEN)]
    length = token_counter.prefix_length(window, room)
    if start + length == end:
        return end
    lines = window.rfind("\n", 0, length) + 1
    return start + (lines if lines > length // 2 else length)


def _lead_in(document: OpenDocument, start: int, at: int, room: int) -> int:
    """Return where to begin for an offset to be read: a few lines before it, or a few words."""
    text, starts, most = document.text, document.starts, room // _LEAD_SHARE
    line = bisect_right(starts, at) - 1
    for first in starts[max(0, line - _LEAD_LINES) : line + 1]:
        is_near = start <= first and at - first <= most * _LONG_TOKEN
        if is_near and token_counter.count(text[first:at]) <= most:
            return first
    near = max(start, at - most)
    space = _SPACE.search(text, near, at)
    return space.end() if space else near
