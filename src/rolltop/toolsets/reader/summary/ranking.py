"""The order in which sentences are worth giving: near the centre, far from each other.

The centroid score is that of Radev, Jing, Styś and Tam (2004), "Centroid-based summarization
of multiple documents"; the choice among near sentences is maximal marginal relevance, after
Carbonell and Goldstein (1998).
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.reader.summary.words import Vector, Weights, similarity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rolltop.toolsets.reader.summary.sentences import Sentence

_RELEVANCE: Final = 0.7
"""How much nearness to the centre counts against likeness to what is already given."""
_ENOUGH_WORDS: Final = 8
_TOO_ALIKE: Final = 0.8


class Ranking:
    """The sentences of a document with their words, and the order to give them in."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        words: Sequence[Sequence[str]],
        bonus: Callable[[Sentence], float],
    ) -> None:
        """Score every sentence; `bonus` is a factor from 1 to about 1.3."""
        self.weights = Weights(words)
        self._sentences = sentences
        self._words = words
        self._bonus = bonus
        self._chosen: dict[int, tuple[list[Sentence], Iterator[Sentence]]] = {}
        self._choosing = Lock()
        near = map(self._nearness, words)
        self._order = sorted(zip(near, range(len(words)), strict=True), key=lambda p: (-p[0], p[1]))

    def best(self, pool: int) -> Iterator[Sentence]:
        """Yield sentences, the best next one first, chosen among the `pool` nearest.

        What was chosen once is kept: a second call goes through it again without choosing.
        """
        if pool not in self._chosen:
            self._chosen[pool] = ([], self._choose(pool))
        known, choosing = self._chosen[pool]
        at = 0
        while True:
            with self._choosing:
                if at == len(known):
                    following = next(choosing, None)
                    if following is None:
                        return
                    known.append(following)
            yield known[at]
            at += 1

    def _choose(self, pool: int) -> Iterator[Sentence]:
        candidates = sorted(
            ((score * self._bonus(self._sentences[at]), at) for score, at in self._order[:pool]),
            key=lambda pair: (-pair[0], pair[1]),
        )
        left = {at: score for score, at in candidates}
        vectors: dict[int, Vector] = {at: self.weights.vector(self._words[at]) for at in left}
        alike = dict.fromkeys(left, 0.0)
        scale = max(left.values(), default=1.0) or 1.0
        while left:
            chosen = max(
                left,
                key=lambda at: _RELEVANCE * left[at] / scale - (1 - _RELEVANCE) * alike[at],
            )
            del left[chosen]
            if alike[chosen] < _TOO_ALIKE:
                yield self._sentences[chosen]
                vector = vectors[chosen]
                for at in left:
                    alike[at] = max(alike[at], similarity(vector, vectors[at]))

    def _nearness(self, words: Sequence[str]) -> float:
        near = self.weights.nearness(words)
        return near * min(1.0, len(words) / _ENOUGH_WORDS)
