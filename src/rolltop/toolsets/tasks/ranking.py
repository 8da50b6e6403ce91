"""Tasks by the words of a question: without an index, texts that may have one are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from rolltop.core.fulltext.analyzer import split_names, tokenize
from rolltop.core.fulltext.bm25 import (
    TermStatistics,
    bm25_score,
    is_prefix_term,
    term_lists,
    term_weights,
)
from rolltop.core.fulltext.inflections import inflections
from rolltop.core.fulltext.query_syntax import find_phrases, split_prose

_TITLE_WEIGHT: Final = 2
"""How often a word of a title counts."""
_OTHER: Final = "-"

TaskText = tuple[str, str, str | None]
"""A task's id, title and description."""


class _TaskMatch(NamedTuple):
    """A task that has words of the question: these and `_OTHER`, and how long all its text is."""

    id: str
    words: str
    length: int


def rank_tasks(
    measure_texts: Callable[[], tuple[int, int, int]],
    read_texts: Callable[[Sequence[str] | None], Iterable[TaskText]],
    question: str,
) -> tuple[list[str], int]:
    """Return the ids of the tasks that have a word of the question, best first.

    They have its phrases and nothing that it leaves out; if it says nothing else, all such tasks.

    `measure_texts` tells the number of all texts, which is returned too, and the characters of
    all titles and descriptions; `read_texts` reads ids, titles and descriptions of those that may
    have one of some parts of words, or all. Of equal scores the first of them comes first.
    """
    count, titles, descriptions = measure_texts()
    parts = [part.as_word if part.key else part for part in split_prose(question)[1]]
    phrases = find_phrases(parts)
    plain = [part.typed for part in parts if not part.is_excluded]
    if phrases.excluded and not plain:
        texts = ((task_id, f"{title}\n{text or ''}") for task_id, title, text in read_texts(None))
        return [task_id for task_id, text in texts if phrases.admits(text)], count
    asked = question.strip().casefold()

    def admits(title: str, description: str) -> bool:
        # A title that is asked for as a whole may have a NOT or an option of its own.
        return (
            not phrases.filters
            or asked in title.casefold()
            or phrases.admits(f"{title}\n{description}")
        )

    # To count words, all texts would have to be split into them.
    mean_length = (titles * _TITLE_WEIGHT + descriptions) / max(count, 1)
    # Function words are looked for only where nothing has another word.
    for words in term_lists(" ".join(plain)):
        terms = list(dict.fromkeys(form for word in words for form in inflections(word)))
        matches = _find_matches(read_texts, terms, admits)
        if found := _score(matches, terms, count, mean_length):
            return found, count
    return [], count


class _AskedWords(dict[str, list[str]]):
    """The words of names that are asked for, by the names.

    Where the words of a number have to stand in a row, others are `_OTHER`.
    """

    def __init__(self, terms: Sequence[str]) -> None:
        super().__init__()
        self.others: Final = [_OTHER] if any(" " in term for term in terms) else []
        terms = list(dict.fromkeys(" ".join(terms).split()))
        self._terms: Final = frozenset(terms)
        self._prefixes: Final = tuple(filter(is_prefix_term, terms))
        # A stem has the letters that its word begins with, save the last one: `happi` of `happy`.
        self.parts: Final = [term[: max(2, len(term) - 1)] for term in terms if term.isascii()]
        """One of these is in each name in ASCII that has such a word, but for case and `_`."""

    def __missing__(self, name: str) -> list[str]:
        plain = name.lower().replace("_", "")
        may_have = not name.isascii() or any(part in plain for part in self.parts)
        words = tokenize(name) if may_have else ()
        found: list[str] = []
        for one in words:
            is_asked = one in self._terms or one.startswith(self._prefixes)
            found += [one] if is_asked else self.others
        self[name] = found or self.others
        return self[name]

    def find(self, text: str) -> list[str]:
        return list(chain.from_iterable(map(self.__getitem__, split_names(text))))


def _find_matches(
    read_texts: Callable[[Sequence[str]], Iterable[TaskText]],
    terms: list[str],
    admits: Callable[[str, str], bool],
) -> list[_TaskMatch]:
    asked = _AskedWords(terms)
    matches: list[_TaskMatch] = []
    for task_id, title, description in read_texts(asked.parts):
        words = (asked.find(title) + asked.others) * _TITLE_WEIGHT + asked.find(description or "")
        if {*words} - {_OTHER} and admits(title, description or ""):
            length = len(title) * _TITLE_WEIGHT + len(description or "")
            matches.append(_TaskMatch(task_id, " ".join(words), length))
    return matches


def _score(
    matches: list[_TaskMatch], terms: list[str], count: int, mean_length: float
) -> list[str]:
    occurrences: Counter[str] = Counter()
    for match in matches:
        padded = f" {match.words} "
        occurrences.update(
            term
            for term in terms
            if (f" {term}" if is_prefix_term(term) else f" {term} ") in padded
        )
    weights = term_weights(terms, TermStatistics(count, mean_length, occurrences))
    scored = [
        (bm25_score(match.words, match.length, weights, mean_length), match.id) for match in matches
    ]
    scored.sort(key=lambda pair: -pair[0])
    return [task_id for score, task_id in scored if score > 0]
