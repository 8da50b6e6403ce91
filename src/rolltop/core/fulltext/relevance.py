"""The ranking of notes and cells: how well proposed texts answer a query.

A text counts by all of its words (BM25) and by the lines in which most of the query meets: a line
of its own, and two in a row. A dialogue's turn or a list's item is a line; longer ones are cut.
How rare a word is, and how long a text is, is relative to the proposed texts alone, so that both
databases and all kinds of texts are ranked alike (docs/decisions/0037).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from rolltop.core.fulltext.bm25 import K1, B, is_prefix_term
from rolltop.core.fulltext.inflections import inflections
from rolltop.core.fulltext.stemmer import stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

Key = TypeVar("Key")

MAX_RERANKED: Final = 40
"""Proposed texts that are read and ranked."""
MAX_COUNTED: Final = 1000
"""Texts that are counted to tell how rare a word is."""
MAX_LINE_WORDS: Final = 40
MIN_IDF: Final = 0.3
"""What a word counts that all the proposed texts have, beside its inverse document frequency."""
WHOLE_WEIGHT: Final = 0.7
"""What all of the text's words count beside the best line, and the best two in a row."""
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
    """Return a query's words with their irregular forms, each group once."""
    groups = dict.fromkeys(inflections(word) for word in words)
    return [
        QueryTerm(forms, REPORTING_WEIGHT if _REPORTING.intersection(forms) else 1.0)
        for forms in groups
    ]


@dataclass(slots=True)
class _Hits:
    """Where terms are in a text: how often each, and which of them in each line, as bits."""

    counts: Counter[int] = field(default_factory=Counter[int])
    length: int = 0
    lines: list[int] = field(default_factory=list[int])


def rank(
    terms: Sequence[QueryTerm],
    texts: Mapping[Key, Sequence[str]],
    proposed: Collection[Key],
    total: int,
) -> dict[Key, Relevance]:
    """Return how well texts answer; each is given by the words of its parts (`tokenize_lines`).

    `proposed` are those that the words proposed, which words are rare among; where they are all
    that have a word of the query, among the `total` texts that there are.
    """
    find = _TermFinder(terms).find
    parts = {key: list(map(find, some)) for key, some in texts.items()}
    whole = {key: _join_hits(some) for key, some in parts.items()}
    base = [whole[key] for key in proposed]
    having = Counter(term for hits in base for term in hits.counts)
    among = len(base) if len(base) >= MAX_RERANKED else max(len(base), total)
    weights = [
        sqrt(MIN_IDF + log(1 + (among - having[at] + 0.5) / (having[at] + 0.5))) * term.weight
        for at, term in enumerate(terms)
    ]
    scorer = _Scorer(weights, sum(hits.length for hits in base) / len(base) if base else 0.0)
    found: dict[Key, Relevance] = {}
    for key, some in parts.items():
        best = max(range(len(some)), key=lambda at: scorer.score(some[at]), default=0)
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
        norm = K1 * (1 - B + B * hits.length / self._mean_length)
        whole = sum(
            self._weights[term] * found / (found + norm) for term, found in hits.counts.items()
        )
        one = max(map(self._sum, hits.lines))
        two = max((self._sum(a | b) for a, b in pairwise(hits.lines)), default=one)
        most = sum(self._weights) * (2 + WHOLE_WEIGHT * (K1 + 1))
        return (WHOLE_WEIGHT * (K1 + 1) * whole + one + max(one, two)) / most

    def _sum(self, bits: int) -> float:
        """Add up the weights of the terms that are set."""
        known = self._sums.get(bits)
        if known is None:
            known = sum(w for at, w in enumerate(self._weights) if bits >> at & 1)
            self._sums[bits] = known
        return known


class _TermFinder:
    """Finds terms in the words of texts."""

    def __init__(self, terms: Sequence[QueryTerm]) -> None:
        forms = [(form, at) for at, term in enumerate(terms) for form in term.forms]
        self._prefixes: Final = [
            (form.rstrip("*"), at) for form, at in forms if form[-1] == "*" or is_prefix_term(form)
        ]
        self._terms: Final = dict(forms)

    def find(self, text: str) -> _Hits:
        """Return where the terms are in a text."""
        if self._prefixes:
            self._complete(text)
        hits = _Hits()
        for line in text.split("\n"):
            words = line.split()
            hits.length += len(words)
            for start in range(0, len(words), MAX_LINE_WORDS):
                some = words[start : start + MAX_LINE_WORDS]
                found = [at for at in map(self._terms.get, some) if at is not None]
                hits.counts.update(found)
                hits.lines.append(sum(1 << at for at in set(found)))
        return hits

    def _complete(self, text: str) -> None:
        """Take the words of a text that begin as a prefix does for it."""
        for word in set(text.split()) - self._terms.keys():
            for beginning, at in self._prefixes:
                if word.startswith(beginning):
                    self._terms[word] = at


def _join_hits(parts: Sequence[_Hits]) -> _Hits:
    if len(parts) == 1:
        return parts[0]
    whole = _Hits()
    for hits in parts:
        whole.counts.update(hits.counts)
        whole.length += hits.length
        whole.lines += hits.lines
    return whole
