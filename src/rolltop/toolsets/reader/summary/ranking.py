"""The order in which sentences are worth giving: near the centre, far from each other.

The centroid score is that of Radev, Jing, Styś and Tam (2004), "Centroid-based summarization
of multiple documents"; the choice among near sentences is maximal marginal relevance, after
Carbonell and Goldstein (1998).
"""

from __future__ import annotations

from heapq import heappop, heapreplace
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
        near = (
            nearness * min(1.0, len(own) / _ENOUGH_WORDS)
            for nearness, own in zip(self.weights.nearness, words, strict=True)
        )
        self._order = sorted(enumerate(near), key=lambda pair: -pair[1])

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
        """Yield the best of the `pool` sentences nearest to the centre, one after another.

        A sentence's worth only falls as more are given. So the order is kept in a heap, and one
        is compared with what was given since it was last looked at only when it comes to the top.
        """
        scored = sorted(
            ((score * self._bonus(self._sentences[at]), at) for at, score in self._order[:pool]),
            key=lambda pair: (-pair[0], pair[1]),
        )
        scale = (scored[0][0] if scored else 1.0) or 1.0
        worth = [_RELEVANCE * score / scale for score, _ in scored]
        heap = [(-value, place) for place, value in enumerate(worth)]
        vectors: dict[int, Vector] = {}
        alike = [0.0] * len(heap)
        compared = [0] * len(heap)
        given: list[Vector] = []
        while heap:
            place = heap[0][1]
            at = scored[place][1]
            vector = vectors.get(place) or self.weights.vector(self._words[at])
            if compared[place] == len(given):
                heappop(heap)
                given.append(vector)
                yield self._sentences[at]
                continue
            likeness = (similarity(vector, other) for other in given[compared[place] :])
            alike[place] = max(alike[place], *likeness)
            if alike[place] >= _TOO_ALIKE:
                heappop(heap)
                continue
            vectors[place], compared[place] = vector, len(given)
            heapreplace(heap, ((1 - _RELEVANCE) * alike[place] - worth[place], place))
