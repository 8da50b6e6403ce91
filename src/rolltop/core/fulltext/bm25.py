"""What a query looks for: its words with their weight, and the rows worth looking at.

Ranking every row with a common word would cost time that grows with the store. So the rows are
proposed by an expression that a bounded number of rows meet: those with a rare word or with two
of the common ones. The proposed rows are then ranked by all words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from math import log, prod
from typing import Final

from rolltop.core.fulltext.analyzer import tokenize, uses_pairs
from rolltop.core.fulltext.stemmer import stem

MAX_TERMS: Final = 32
MAX_QUERY_WORDS: Final = 1000
MAX_PROPOSED_ROWS: Final = 2000
"""Rows an expression may propose to be ranked."""

_MAX_COMBINED_TERMS: Final = 6  # common words of which any two are enough: 15 pairs

K1: Final = 1.2
B: Final = 0.75

_FUNCTION_WORDS: Final = (
    "a am an and are as at be been being by can could did do does for from had has have he her "
    "hers him his how i if in into is it its me my not of on or our shall she should so than that "
    "the their them then there these they this those to us was we were what when where which who "
    "whom whose why will with would you your"
)
_STOP_WORDS: Final = frozenset(_FUNCTION_WORDS.split()) | frozenset(
    map(stem, _FUNCTION_WORDS.split())
)

_NUMBER: Final = re.compile(r"(?<![0-9A-Za-z_.])[vV]?([0-9]+(?:[.:/-][0-9][0-9A-Za-z_]*){1,7})")
MAX_NUMBERS: Final = 4
"""Numbers of several parts in a query that are looked for whole: counting rows of words is slow."""

Clause = tuple[str, ...]
"""Words a row must all have."""

Expression = tuple[Clause, ...]
"""Clauses of which a row must meet one."""


@dataclass(frozen=True)
class TermStatistics:
    """What is known of a tenant's words: parts, their mean length, parts with each word."""

    parts: int
    mean_length: float
    occurrences: Mapping[str, int]

    def idf(self, *forms: str) -> float:
        """Return how much a term tells: its inverse document frequency, never below 0."""
        having = min(sum(self.occurrences.get(form, 0) for form in forms), self.parts)
        return log(1 + (self.parts - having + 0.5) / (having + 0.5))

    def estimate_matches(self, expression: Expression, most: int) -> int:
        """Return about how many parts meet the expression, no more than `most`.

        As if words came together by chance.
        """
        shares = (
            prod(min(1.0, self.occurrences.get(term, 0) / max(self.parts, 1)) for term in clause)
            for clause in expression
        )
        return min(most, round(self.parts * sum(shares)))


def query_terms(query: str) -> list[str]:
    """Return the words of a query to look for, each once; function words if there are no others."""
    return next(term_lists(query), list[str]())


def term_lists(query: str) -> Iterator[list[str]]:
    """Yield the words to look for, then those to look for where nothing has any before.

    The telling words come first, a bounded number at a time, and function words at the end.
    """
    words = tokenize(drop_version_signs(query))
    ends = {word[-1] for word in words if len(word) > 1}
    found = list(dict.fromkeys([*words, *joined_numbers(query)]))[:MAX_QUERY_WORDS]
    # The last character of a run of pairs is in the pair before it.
    found = [word for word in found if not (is_prefix_term(word) and word in ends)]
    for some in (
        [word for word in found if word not in _STOP_WORDS],
        [word for word in found if word in _STOP_WORDS],
    ):
        for at in range(0, len(some), MAX_TERMS):
            yield some[at : at + MAX_TERMS]


def joined_numbers(query: str) -> dict[str, str]:
    """Return the numbers of several parts in a query, as it spells them, by their terms.

    Of a version, an address or a date the parts alone tell little: 5.7.0 is not 7.5.0. So their
    words in a row, with a space between two, are one more term.
    """
    numbers = dict.fromkeys(found[1] for found in _NUMBER.finditer(query))
    return {" ".join(tokenize(number)): number for number in islice(numbers, MAX_NUMBERS)}


def drop_version_signs(query: str) -> str:
    """Return a query with 5.7.0 for v5.7.0: its words are among those of both."""
    return _NUMBER.sub(r"\1", query)


def is_function_word(word: str) -> bool:
    """Whether a word (as `words` gives it) tells nothing about what a text is about."""
    return word in _STOP_WORDS


def is_prefix_term(term: str) -> bool:
    """Whether a term is one character of a script of pairs: it then stands for all it begins."""
    return len(term) == 1 and uses_pairs(term)


def _expressions(occurrences: Mapping[str, int]) -> Iterator[Expression]:
    """Return expressions for the terms that occur, from the one that proposes most rows down."""
    terms = sorted((t for t, n in occurrences.items() if n), key=lambda t: (occurrences[t], t))
    rare: list[str] = []
    total = 0
    for term in terms:
        total += occurrences[term]
        if total > MAX_PROPOSED_ROWS:
            break
        rare.append(term)
    common = terms[len(rare) :]
    alone: Expression = tuple((term,) for term in rare)
    yield tuple((term,) for term in terms)
    if len(common) > 1:
        if len(common) <= _MAX_COMBINED_TERMS:
            yield (*alone, *combinations(common, 2))
        yield (*alone, tuple(common))
    if alone and common:
        yield alone
    if len(terms) > 1:
        yield (tuple(terms),)


def choose_expression(
    occurrences: Mapping[str, int], count: Callable[[Expression, int], int]
) -> tuple[Expression, Expression, bool]:
    """Return the expression to propose rows by, the widest one, and whether the first is cut.

    `count(expression, most)` says how many rows meet one, counting no further than `most`.
    """
    most = MAX_PROPOSED_ROWS
    offered = list(_expressions(occurrences))
    widest = offered[0]
    if sum(occurrences.values()) <= most:
        return widest, widest, False
    for expression in offered:
        if _min_matches(expression, occurrences) <= most and count(expression, most + 1) <= most:
            return expression, widest, False
    return offered[-1], widest, True


def _min_matches(expression: Expression, occurrences: Mapping[str, int]) -> int:
    """Return a number of rows that surely meet the expression."""
    return max((occurrences[c[0]] for c in expression if len(c) == 1), default=0)


TermWeights = tuple[tuple[str, float], ...]
"""Terms with the spaces that delimit them in a text with two between words, and their IDF."""


def term_weights(terms: Iterable[str], statistics: TermStatistics) -> TermWeights:
    """Return the terms as `bm25_score` takes them."""
    return tuple(
        (
            f" {term}" if is_prefix_term(term) else f" {term.replace(' ', '  ')} ",
            statistics.idf(term),
        )
        for term in terms
    )


def bm25_score(split: str, length: int, weighted: TermWeights, mean_length: float) -> float:
    """Return how well a part answers, 0 to 1: BM25 as a share of the most it could be.

    `split` is the part's words with a space between two. BM25 after Robertson and Zaragoza
    (2009) with k1 = 1.2 and b = 0.75; a part that had every word of the query without end would
    reach 1.
    """
    padded = f" {split.replace(chr(10), ' ').replace(' ', '  ')} "
    norm = K1 * (1 - B + B * length / mean_length) if mean_length else K1
    total = most = 0.0
    for word, weight in weighted:
        found = padded.count(word)
        if found:
            total += weight * found * (K1 + 1) / (found + norm)
        most += weight
    return total / (most * (K1 + 1)) if most else 0.0
