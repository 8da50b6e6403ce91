"""How well a unit answers: BM25F over its fields, and what stands close together or is meant."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.search.terms import is_beginning
from rolltop.toolsets.retrieval.rank.named import ends_in
from rolltop.toolsets.retrieval.rank.pieces import path_words
from rolltop.toolsets.retrieval.rank.words import fields_of, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.toolsets.retrieval.rank.units import Unit
    from rolltop.toolsets.retrieval.rank.words import Fields, Sought


class Weights(NamedTuple):
    """What the fields and signs count for; chosen by the evaluation's sets for tuning."""

    name: float = 12.0
    path: float = 2.5
    body: float = 0.7
    length: float = 0.7
    saturation: float = 2.0
    near: float = 0.2
    phrase: float = 0.15
    named: float = 0.3
    file: float = 1.0
    file_mates: float = 0.4


CHOSEN: Final = Weights()

AHEAD: Final = 3.0
"""More than what a unit of a file that is not named can count for, its file's others included."""

_LENGTHS: Final = (3, 10, 150)
"""Words that a field of a middling unit has: fixed, so that no other file weighs in."""

_NEAR: Final = 4
"""Words apart at which two of a query's words still stand together."""


@dataclass(frozen=True)
class Statistics:
    """How many units there are, and how many have each word."""

    units: int
    occurrences: Mapping[str, int]

    def rarity(self, term: str) -> float:
        """Return how much a word tells: its inverse document frequency, above 0."""
        having = min(self.occurrences.get(term, 0), self.units)
        return log(1 + (self.units - having + 0.5) / (having + 0.5))

    def at_least(self, counts: Mapping[str, int]) -> Statistics:
        """Return the same where units known to have some words are no fewer than these."""
        known = {term: max(count, self.occurrences.get(term, 0)) for term, count in counts.items()}
        return Statistics(self.units, {**self.occurrences, **known})


class Weighed(NamedTuple):
    """A unit's score, 0 where nothing of the query is in it, and what matched."""

    score: float
    why: tuple[str, ...]


class Scale:
    """A query and what its words tell, to weigh units by."""

    def __init__(self, sought: Sought, statistics: Statistics, weights: Weights = CHOSEN) -> None:
        """Take what is looked for and how rare its words are."""
        self._sought: Final = sought
        self._weights: Final = weights
        self._rarity: Final = {term: statistics.rarity(term) for term in sought.terms}
        self._most: Final = sum(self._rarity.values()) or 1.0
        self._pairs: Final = list(pairwise(sought.terms))

    def weigh(self, path: str, unit: Unit, own: str, *, is_first: bool) -> Weighed:
        """Return how well a unit answers; 1 would be every word of the query without end.

        `own` is its own text, and `is_first` says that none of its file comes before it.
        """
        fields = fields_of(path, unit, own)
        counts = [_counts(field, self._sought.terms) for field in fields]
        lengths = [field.count(" ") + 1 for field in fields]
        score = self._words(counts, lengths) / self._most
        signs = self._signs(path, unit, own, fields, is_first=is_first)
        names, around, words = counts
        # What stands around a unit is the path and the names of what it lies in.
        paths = _counts(path_words(path), self._sought.terms) if any(around.values()) else around
        why = [
            kind
            for kind, found in (
                ("words", any(words.values()) or signs.phrase > 0),
                ("name", any(names.values()) or around != paths or signs.named > 0),
                ("path", any(paths.values()) or signs.file > 0),
            )
            if found
        ]
        if not why:
            return Weighed(0.0, ())
        return Weighed(round(score + sum(signs), 6), tuple(why))

    def _words(self, counts: Sequence[Mapping[str, int]], lengths: Sequence[int]) -> float:
        """Return BM25F (Robertson and Zaragoza 2009) over the words of the query."""
        weights = self._weights
        shares = [
            weight / (1 - weights.length + weights.length * length / middling)
            for weight, length, middling in zip(weights[:3], lengths, _LENGTHS, strict=True)
        ]
        total = 0.0
        for term, rarity in self._rarity.items():
            often = sum(share * count[term] for share, count in zip(shares, counts, strict=True))
            total += rarity * often / (weights.saturation + often)
        return total

    def _signs(self, path: str, unit: Unit, own: str, fields: Fields, *, is_first: bool) -> _Signs:
        sought, weights = self._sought, self._weights
        phrase = weights.phrase if _holds(sought.phrase, own) else 0.0
        name = plain(unit.name)
        within = plain(unit.scope.rpartition(" ")[2])
        meant_name = next((one for one in (within + name, name) if one in sought.names), "")
        named = weights.named * len(meant_name) / sought.length
        lowered = path.lower()
        meant = any(ends_in(lowered, one) for one in sought.files)
        file = weights.file * (1.0 if is_first else 0.4) if meant else 0.0
        return _Signs(self._nearness(fields), phrase, named, file)

    def _nearness(self, fields: Fields) -> float:
        """Return what it counts for that words next to each other in the query are so here."""
        if not self._pairs:
            return 0.0
        wanted = self._rarity
        places: dict[str, list[int]] = {}
        for at, word in enumerate(f"{fields.name} {fields.body}".split()):
            if word in wanted:
                places.setdefault(word, []).append(at)
        total = most = 0.0
        for first, second in self._pairs:
            worth = min(wanted[first], wanted[second])
            most += worth
            if first in places and second in places and _meet(places[first], places[second]):
                total += worth
        return self._weights.near * total / most if most else 0.0


class _Signs(NamedTuple):
    near: float
    phrase: float
    named: float
    file: float


def _counts(field: str, terms: Sequence[str]) -> dict[str, int]:
    padded = f" {field.replace(' ', '  ')} "
    return {term: padded.count(f" {term}" if is_beginning(term) else f" {term} ") for term in terms}


def _meet(first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether two ascending lists have places at most a few words apart."""
    a = b = 0
    while a < len(first) and b < len(second):
        if abs(first[a] - second[b]) <= _NEAR:
            return True
        if first[a] < second[b]:
            a += 1
        else:
            b += 1
    return False


def _holds(phrase: str, own: str) -> bool:
    return bool(phrase) and phrase in own.lower()
