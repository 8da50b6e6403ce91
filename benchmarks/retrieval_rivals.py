"""What ranked search is compared with: BM25 over lines and over files, and grep, then read."""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING, Final

from benchmarks.retrieval_trees import Span
from rolltop.core import token_counter
from rolltop.core.fulltext.analyzer import tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.retrieval_trees import Question, QuestionTree

    Splitter = Callable[[str], list[str]]

_NAIVE: Final = re.compile(r"\w+")
_K1: Final = 1.2
_B: Final = 0.75
_DEEPEST: Final = 20
_MAX_LINES: Final = 200
"""Lines of grep's answer that are looked at."""

_SHORTEST_GREPPED: Final = 3


def naive(text: str) -> list[str]:
    """Return the words of a text in small letters, as simple tools split it."""
    return _NAIVE.findall(text.lower())


SPLITTERS: Final[dict[str, Splitter]] = {"the product's words": tokenize, "naive words": naive}


class PlainRanking:
    """BM25 over parts of a tree's files."""

    def __init__(self, parts: Sequence[tuple[Span, str]], split: Splitter) -> None:
        """Index the parts."""
        self._split: Final = split
        self._spans: Final = [span for span, _ in parts]
        self._postings: Final[dict[str, list[tuple[int, int]]]] = {}
        self._lengths: Final[list[int]] = []
        for number, (_, text) in enumerate(parts):
            found = split(text)
            self._lengths.append(len(found))
            for word, count in Counter(found).items():
                self._postings.setdefault(word, []).append((number, count))
        self._mean: Final = sum(self._lengths) / max(1, len(self._lengths)) or 1.0

    def search(self, text: str) -> list[Span]:
        """Return the best places first."""
        scores: dict[int, float] = {}
        for word in dict.fromkeys(self._split(text)):
            having = self._postings.get(word, [])
            rarity = log(1 + (len(self._spans) - len(having) + 0.5) / (len(having) + 0.5))
            for number, count in having:
                norm = _K1 * (1 - _B + _B * self._lengths[number] / self._mean)
                scores[number] = scores.get(number, 0) + rarity * count / (count + norm)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:_DEEPEST]
        return [self._spans[number] for number in best]


def lines_of(tree: QuestionTree) -> list[tuple[Span, str]]:
    """Return the tree's lines that are not blank."""
    return [
        (Span(path, number, number), line)
        for path, text in tree.files.items()
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip()
    ]


def files_of(tree: QuestionTree) -> list[tuple[Span, str]]:
    """Return the tree's files."""
    return [(Span(path), text) for path, text in tree.files.items()]


class Grep:
    """Somebody who greps for the rarest word of a question and reads the files that have it."""

    def __init__(self, tree: QuestionTree) -> None:
        """Take the tree."""
        self._lowered: Final = {path: text.lower() for path, text in tree.files.items()}
        self._texts: Final = tree.files
        self._costs: Final[dict[str, int]] = {}

    def tokens(self, question: Question) -> int:
        """Return the tokens read until a right file is: words in turn, files in order."""
        right = {span.path for span in question.answers}
        spent = 0
        read: set[str] = set()
        for word in self._rarest_first(question.text):
            having = [path for path, text in self._lowered.items() if word in text]
            spent += self._answer(word, having)
            for path in having:
                if path not in read:
                    spent += self._cost(path)
                    read.add(path)
                if path in right:
                    return spent
        return spent

    def _rarest_first(self, text: str) -> list[str]:
        found = [word for word in dict.fromkeys(naive(text)) if len(word) >= _SHORTEST_GREPPED]
        counts = {word: sum(word in one for one in self._lowered.values()) for word in found}
        return sorted((w for w in found if counts[w]), key=lambda word: (counts[word], word))

    def _answer(self, word: str, having: Sequence[str]) -> int:
        shown: list[str] = []
        for path in having:
            for number, line in enumerate(self._lowered[path].split("\n"), 1):
                if word in line:
                    shown.append(f"{path}:{number}:{line[:400]}")
            if len(shown) >= _MAX_LINES:
                break
        return token_counter.count("\n".join(shown[:_MAX_LINES]))

    def _cost(self, path: str) -> int:
        if path not in self._costs:
            self._costs[path] = token_counter.count(self._texts[path])
        return self._costs[path]
