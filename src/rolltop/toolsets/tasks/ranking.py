"""Tasks by the words of a question: without an index, all texts are read and few are scored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from rolltop.core.fulltext.analyzer import tokenize
from rolltop.core.fulltext.bm25 import (
    TermStatistics,
    bm25_score,
    is_prefix_term,
    term_lists,
    term_weights,
)
from rolltop.core.fulltext.inflections import inflections

_TITLE_WEIGHT: Final = 2
"""How often a word of a title counts."""


class _TaskMatch(NamedTuple):
    """A task that has words of the question: these alone, and how long all its text is."""

    id: str
    words: str
    length: int


def rank_tasks(
    read_texts: Callable[[], Iterable[tuple[str, str, str | None]]], question: str
) -> tuple[list[str], int]:
    """Return the ids of the tasks that have a word of the question, best first.

    `read_texts` reads ids, titles and descriptions; of equal scores the first of them comes first.
    The number that is returned too is that of all the texts.
    """
    count = 0
    # Function words are looked for only where nothing has another word.
    for words in [*term_lists(question)] or [list[str]()]:
        terms = list(dict.fromkeys(form for word in words for form in inflections(word)))
        matches, count, mean_length = _find_matches(read_texts(), terms)
        if found := _score(matches, terms, count, mean_length):
            return found, count
    return [], count


def _find_matches(
    texts: Iterable[tuple[str, str, str | None]], terms: list[str]
) -> tuple[list[_TaskMatch], int, float]:
    """Return the tasks that have one of the terms, the number of all and their mean length.

    Lengths are in characters: to count words, all texts would have to be split into them.
    """
    asked, may_match = frozenset(terms), _matcher(terms)
    prefixes = tuple(filter(is_prefix_term, terms))
    matches: list[_TaskMatch] = []
    count = total = 0
    for task_id, title, description in texts:
        length = len(title) * _TITLE_WEIGHT + len(description or "")
        count, total = count + 1, total + length
        if not may_match(title if description is None else f"{title}\n{description}"):
            continue
        words = tokenize(title) * _TITLE_WEIGHT + tokenize(description or "")
        shared = [word for word in words if word in asked or word.startswith(prefixes)]
        if shared:
            matches.append(_TaskMatch(task_id, " ".join(shared), length))
    return matches, count, total / count if count else 0.0


def _matcher(terms: Iterable[str]) -> Callable[[str], bool]:
    """Return a check of whether a text may have one of the terms; one beyond ASCII always may.

    A stem has the letters that its word begins with, save the last one (`happi` of `happy`), and a
    word begins with a capital, where letters become digits, or behind what is no letter:
    `maxRetries`, `utf8`, `max_retries`.
    """
    starts = [term[: max(2, len(term) - 1)] for term in terms if term.isascii()]
    words = "|".join("_*".join(start) for start in starts)
    begins = re.compile(f"(?:(?<![A-Za-z])|(?=[A-Z])|(?<=[A-Za-z])(?=[0-9]))(?i:{words})").search

    def may_match(text: str) -> bool:
        if not text.isascii():
            return True
        plain = text.lower().replace("_", "")  # looking for texts in it is ten times as fast
        return any(start in plain for start in starts) and begins(text) is not None

    return may_match


def _score(
    matches: list[_TaskMatch], terms: list[str], count: int, mean_length: float
) -> list[str]:
    occurrences: Counter[str] = Counter()
    for match in matches:
        having = set(match.words.split())
        occurrences.update(
            term
            for term in terms
            if term in having
            or (is_prefix_term(term) and any(word.startswith(term) for word in having))
        )
    weights = term_weights(terms, TermStatistics(count, mean_length, occurrences))
    scored = [
        (bm25_score(match.words, match.length, weights, mean_length), match.id) for match in matches
    ]
    scored.sort(key=lambda pair: -pair[0])
    return [task_id for score, task_id in scored if score > 0]
