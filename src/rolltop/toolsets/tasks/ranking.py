"""Tasks by the words of a question: all texts are read and scored, so nothing has an index."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.argument_names import suggest_name
from rolltop.core.fulltext.analyzer import tokenize
from rolltop.core.fulltext.bm25 import (
    TermStatistics,
    bm25_score,
    is_prefix_term,
    term_lists,
    term_weights,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_TITLE_WEIGHT: Final = 2
"""How often a word of a title counts."""
_WORD: Final = re.compile(r"\w{4,40}")
_MAX_WORDS_ASKED: Final = 8
_MAX_SLIPS: Final = 2
_MAX_SIMILAR_WORDS: Final = 2000


class _TaskMatch(NamedTuple):
    """A task that has words of the question: these alone, and the number of all its words."""

    id: str
    words: str
    length: int


def rank_tasks(
    texts: Iterable[tuple[str, str, str | None]], question: str
) -> tuple[list[str], int]:
    """Return the ids of the tasks that have a word of the question, best first.

    `texts` are ids, titles and descriptions; of equal scores the first of them comes first. The
    number that is returned too is that of all the texts.
    """
    asked = list(term_lists(question))
    terms = {term for some in asked for term in some}
    prefixes = tuple(filter(is_prefix_term, terms))
    matches: list[_TaskMatch] = []
    count = total = 0
    for task_id, title, description in texts:
        words = tokenize(title) * _TITLE_WEIGHT + tokenize(description or "")
        count, total = count + 1, total + len(words)
        shared = [word for word in words if word in terms or word.startswith(prefixes)]
        if shared:
            matches.append(_TaskMatch(task_id, " ".join(shared), len(words)))
    mean_length = total / count if count else 0.0
    for some in asked:  # the telling words first; the others only where nothing has one
        if found := _score(matches, some, count, mean_length):
            return found, count
    return [], count


def suggest_word(texts: Iterable[tuple[str, str, str | None]], question: str) -> str | None:
    """Return the word of the texts that a word of the question is a misspelling of, if any."""
    words: list[str] = _WORD.findall(question.casefold())
    asked = list(dict.fromkeys(words))[:_MAX_WORDS_ASKED]
    similar: dict[str, set[str]] = {word: set() for word in asked}
    for _, title, description in texts:
        words = _WORD.findall(f"{title}\n{description or ''}".casefold())
        for found in set(words):
            for word, candidates in similar.items():
                is_similar = word[0] == found[0] and abs(len(word) - len(found)) <= _MAX_SLIPS
                if is_similar and len(candidates) < _MAX_SIMILAR_WORDS:
                    candidates.add(found)
    suggestions = (suggest_name(word, sorted(similar[word])) for word in asked)
    return next((found for found in suggestions if found), None)


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
