"""Which sections of a document answer a question: BM25 over sections, titles counted more."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WORD: Final = re.compile(r"\w+")
_FUNCTION_WORDS: Final = (
    "a an and are as at be by can did do does for from how i in is it of on or should that the "
    "this to was we were what when where which who why will with you"
)
_STOP: Final = frozenset(_FUNCTION_WORDS.split())
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_TITLE: Final = 2.0
"""Occurrences a word in the title counts for."""
_MOST_TERMS: Final = 16
_MOST_HITS: Final = 200_000
_PLURAL: Final = 3


@dataclass(frozen=True)
class Span:
    """A section's place in its text: offsets of its whole, and its title."""

    title: str
    start: int
    end: int


def terms_of(query: str) -> list[str]:
    """Return the words of a query to look for, each once, plurals folded."""
    words = _WORD.findall(query.casefold())
    telling = [word for word in words if word not in _STOP] or words
    stems = (w[:-1] if len(w) > _PLURAL and w.endswith("s") else w for w in telling)
    return list(dict.fromkeys(stems))[:_MOST_TERMS]


def places(text: str, terms: Sequence[str]) -> dict[str, list[int]]:
    """Return for each term the offsets at which a word starts with it."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow when lowered; offsets must hold
        lowered = "".join(low if len(low := c.lower()) == 1 else c for c in text)
    return {term: _places(lowered, term) for term in terms}


def scores(spans: Sequence[Span], found: Mapping[str, Sequence[int]]) -> list[float]:
    """Return how well each section answers by the places of the terms; 0 where none occurs.

    BM25 after Robertson and Zaragoza (2009) with k1 = 1.2, b = 0.75.
    """
    if not spans:
        return []
    mean = sum(span.end - span.start for span in spans) / len(spans) or 1.0
    totals = [0.0] * len(spans)
    for term, offsets in found.items():
        counts = [
            bisect_left(offsets, span.end)
            - bisect_left(offsets, span.start)
            + _TITLE * _in_title(term, span.title)
            for span in spans
        ]
        holding = sum(1 for count in counts if count)
        if not holding:
            continue
        rarity = log(1 + (len(spans) - holding + 0.5) / (holding + 0.5))
        for at, count in enumerate(counts):
            length = (spans[at].end - spans[at].start) / mean
            norm = _SATURATION * (1 - _LENGTH + _LENGTH * length)
            totals[at] += rarity * count * (_SATURATION + 1) / (count + norm)
    return totals


def _places(lowered: str, term: str) -> list[int]:
    """Return the offsets at which a word starts with the term."""
    found: list[int] = []
    place = lowered.find(term)
    while place >= 0 and len(found) < _MOST_HITS:
        if place == 0 or not lowered[place - 1].isalnum():
            found.append(place)
        place = lowered.find(term, place + len(term))
    return found


def _in_title(term: str, title: str) -> bool:
    return any(word.startswith(term) for word in _WORD.findall(title.casefold()))
