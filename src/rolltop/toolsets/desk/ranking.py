"""One order of texts of several kinds, from the orders that the kinds' own searches give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Final
from urllib.parse import unquote

from rolltop.core.addresses import SCHEME
from rolltop.core.fulltext import relevance
from rolltop.core.fulltext.analyzer import tokenize_lines
from rolltop.core.fulltext.bm25 import TermStatistics, query_terms
from rolltop.core.fulltext.documents import FoundText
from rolltop.core.fulltext.relevance import Relevance

MAX_SCORED_LENGTH: Final = 20_000
"""Code points of a text that are scored."""


@dataclass(frozen=True, slots=True)
class RankedText:
    """A text with its score, which is comparable between kinds: 0 to 1."""

    found: FoundText
    score: float
    has_all: bool
    superseded_by: str = ""


def rank_texts(query: str, kinds: Iterable[Sequence[FoundText]]) -> list[RankedText]:
    """Return texts of several kinds in one order; each kind's own order stays.

    The kind's own search has seen more than the words: what it puts below another text has no
    higher score than that one. Texts without a word of the query, which others have, are left out.
    """
    lists = list(kinds)
    scored = iter(score_texts(query, [found for some in lists for found in some]))
    ranked = [_keep_order([(found, next(scored)) for found in some]) for some in lists]
    merged = list(merge(*ranked, key=lambda one: -one.score))
    return [one for one in merged if one.score] or merged


def rank_below(count: int, above: Mapping[int, Iterable[int]]) -> list[int]:
    """Return the places of texts in an order in which each follows those that are `above` it.

    Others stay as they are; of texts that stand above each other the lowest comes first.
    """
    below = defaultdict[int, set[int]](set)
    for place, others in above.items():
        for other in others:
            below[other].add(place)
    upwards: list[int] = []
    seen = set[int]()
    for lowest in reversed(range(count)):
        waiting = [lowest]
        while waiting:
            place = waiting.pop()
            if place < 0:  # all that follow it are there
                upwards.append(~place)
            elif place not in seen:
                seen.add(place)
                waiting += [~place, *sorted(below[place])]
    return upwards[::-1]


def _keep_order(scored: Sequence[tuple[FoundText, Relevance]]) -> list[RankedText]:
    """Return the texts of one kind in their order, with scores that fall."""
    ranked: list[RankedText] = []
    score = max((own.score for _found, own in scored), default=0.0)
    for found, own in scored:
        if own.score:
            score = min(score, own.score)
        # What was found by its meaning, or beyond what is scored, counts as what is above it.
        may_answer = own.score or found.by_meaning or len(found.text) > MAX_SCORED_LENGTH
        ranked.append(RankedText(found, score if may_answer else 0.0, own.has_all))
    return sorted(ranked, key=lambda one: not one.score)


def score_texts(query: str, found: Sequence[FoundText]) -> list[Relevance]:
    """Return how well texts answer by their words, alike for all kinds."""
    terms = relevance.query_forms(query_terms(query))
    texts = {at: [split_words(one)] for at, one in enumerate(found)}
    idf = candidate_idf(terms, [words for (words,) in texts.values()])
    ranked = relevance.rank(terms, texts, idf, texts)
    return [ranked[at] for at in texts]


def candidate_idf(terms: Sequence[relevance.QueryTerm], texts: Sequence[str]) -> list[float]:
    """Return how much each term tells among the texts that were found."""
    padded = [f" {text} ".replace("\n", " ") for text in texts]
    counts = {
        form: sum(f" {form} " in text for text in padded) for term in terms for form in term.forms
    }
    statistics = TermStatistics(len(texts), 0.0, counts)
    return [statistics.idf(*term.forms) for term in terms]


def split_words(found: FoundText) -> str:
    """Return the words of a text that are scored, with those of its title and of a file's path."""
    if found.words:
        return found.words
    return tokenize_lines(whole_text(found, MAX_SCORED_LENGTH))


def whole_text(found: FoundText, length: int | None = None) -> str:
    """Return a text, or so much of it, below its title and a file's path."""
    path = unquote(found.uri.partition("#")[0].removeprefix(SCHEME)) if not found.ref else ""
    return f"{path} {found.title}\n{found.text[:length]}"
