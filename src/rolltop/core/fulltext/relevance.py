"""The ranking of notes and cells: how well proposed texts answer a query.

A text counts by all of its words (BM25) and by the lines in which most of the query meets: a line
of its own, and two in a row. A dialogue's turn or a list's item is a line; longer ones are cut.
Both databases only propose texts; all kinds are ranked here, alike (docs/decisions/0037).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

from rolltop.core.fulltext.bm25 import K1, B, is_prefix_term
from rolltop.core.fulltext.inflections import inflections
from rolltop.core.fulltext.stemmer import completed_stems, stem

Key = TypeVar("Key")

MAX_RERANKED: Final = 30
"""Proposed texts that are read and ranked."""
MAX_COUNTED: Final = 10_000
"""Texts that are counted to tell how rare a word is."""
MAX_LINE_WORDS: Final = 40
MIN_IDF: Final = 0.3
"""What a word counts that all texts have, beside its inverse document frequency."""
REPORTING_WEIGHT: Final = 0.3
"""What words count that ask who said something: the text itself says it without them."""
_REPORTING: Final = frozenset(map(stem, ("say", "tell", "talk", "mention", "discuss")))


class QueryTerm(NamedTuple):
    """Words any of which will do (one that ends in `*` stands for all it begins), and a weight."""

    forms: tuple[str, ...]
    weight: float


class Relevance(NamedTuple):
    """How well a text answers, 0 to 1, which of its parts does best, whether it has all terms."""

    score: float
    part: int
    has_all: bool


def query_forms(words: Iterable[str]) -> list[QueryTerm]:
    """Return a query's words with their irregular forms, each group once.

    Those of a word that ends in `*` are the stems of what it begins.
    """
    groups = dict.fromkeys(
        (word, *completed_stems(word[:-1])) if word[-1] == "*" else inflections(word)
        for word in words
    )
    return [
        QueryTerm(forms, REPORTING_WEIGHT if _REPORTING.intersection(forms) else 1.0)
        for forms in groups
    ]


@dataclass(slots=True)
class _Hits:
    """How often each term is in a text, and which terms meet in a line or in two, as bits."""

    length: int = 0
    counts: Counter[int] = field(default_factory=Counter[int])
    lines: set[int] = field(default_factory=set[int])
    pairs: set[int] = field(default_factory=set[int])


def rank(
    terms: Sequence[QueryTerm],
    texts: Mapping[Key, Sequence[str]],
    idf: Sequence[float],
    proposed: Collection[Key],
) -> dict[Key, Relevance]:
    """Return how well texts answer; each is given by the words of its parts (`tokenize_lines`).

    `idf` is that of each term; how long a text is, is relative to the `proposed` ones.
    """
    forms = [
        (f" {form.rstrip('*')}" if form[-1] == "*" or is_prefix_term(form) else f" {form} ", at)
        for at, term in enumerate(terms)
        for form in term.forms
    ]
    parts = {key: [_find_terms(text, forms) for text in some] for key, some in texts.items()}
    whole = {key: _join_hits(some) for key, some in parts.items()}
    weights = [(MIN_IDF + one) * term.weight for one, term in zip(idf, terms, strict=True)]
    mean_length = sum(whole[key].length for key in proposed) / max(len(proposed), 1)
    scorer = _Scorer(weights, mean_length)
    found: dict[Key, Relevance] = {}
    for key, some in parts.items():
        best = max(range(len(some)), key=lambda at: scorer.score(some[at])) if len(some) > 1 else 0
        has_all = len(whole[key].counts) == len(terms)
        found[key] = Relevance(scorer.score(whole[key]), best, has_all)
    return found


class _Scorer:
    """Scores texts, given what each term weighs and how long a text is in the mean."""

    def __init__(self, weights: Sequence[float], mean_length: float) -> None:
        self._weights: Final = weights
        self._mean_length: Final = mean_length
        self._sums: Final[dict[int, float]] = {0: 0.0}

    def score(self, hits: _Hits) -> float:
        """Return how well a text answers: 1 if every word were in one line and without end."""
        if not hits.counts:
            return 0.0
        norm = K1 * (1 - B + B * hits.length / self._mean_length) if self._mean_length else K1
        whole = sum(
            self._weights[term] * found / (found + norm) for term, found in hits.counts.items()
        )
        one = max(map(self._sum, hits.lines))
        two = max(map(self._sum, hits.pairs), default=0.0)
        most = sum(self._weights) * (K1 + 1 + 2)
        return ((K1 + 1) * whole + one + max(one, two)) / most

    def _sum(self, bits: int) -> float:
        """Add up the weights of the terms that are set."""
        known = self._sums.get(bits)
        if known is None:
            known = sum(w for at, w in enumerate(self._weights) if bits >> at & 1)
            self._sums[bits] = known
        return known


def _find_terms(text: str, forms: Sequence[tuple[str, int]]) -> _Hits:
    """Return where terms are in a text; each form stands between spaces, a prefix after one."""
    length = text.count(" ") + text.count("\n") + 1
    text = f" {text} ".replace("\n", " \n ")
    places: list[tuple[int, int]] = []
    for form, term in forms:
        at = text.find(form)
        while at >= 0:
            places.append((at, term))
            at = text.find(form, at + len(form) - 1)
    hits = _Hits(length)
    if not places:
        return hits
    hits.counts.update(term for _at, term in places)
    line = words = before = 0
    bits: dict[tuple[int, int], int] = {}
    for at, term in sorted(places):
        if (last := text.rfind("\n", before, at)) >= 0:
            line += text.count("\n", before, at)
            words, before = 0, last + 1
        words += text.count(" ", before, at)
        before = at
        place = (line, words // MAX_LINE_WORDS)
        bits[place] = bits.get(place, 0) | 1 << term
    hits.lines.update(bits.values())
    for (line, window), found in bits.items():
        for following in ((line, window + 1), (line + 1, 0)):
            if following in bits:
                hits.pairs.add(found | bits[following])
    return hits


def _join_hits(parts: Sequence[_Hits]) -> _Hits:
    if len(parts) == 1:
        return parts[0]
    whole = _Hits(sum(hits.length for hits in parts))
    for hits in filter(attrgetter("counts"), parts):
        whole.counts.update(hits.counts)
        whole.lines |= hits.lines
        whole.pairs |= hits.pairs
    return whole
