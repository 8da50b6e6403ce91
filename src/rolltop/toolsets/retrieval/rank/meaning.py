"""The first places of a search once more, by what they mean as well as by their words.

Nothing is embedded here. Units that have no vector yet keep their places, and are noted so that
they will have one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.rank.vectors import cosines, embedded, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rolltop.core.embed import Matrix
    from rolltop.toolsets.retrieval.models import Place
    from rolltop.toolsets.retrieval.rank.vectors import Vectors

HEAD: Final = 20
"""Places that are ordered anew."""

_AMONG_FILES: Final = 0.3
"""What a cosine counts for beside the score by words, to order units of different files."""

_IN_A_FILE: Final = 1.2
"""The same for units of one file: words tell files apart well, and their parts less so.

Both were chosen on the evaluation's sets for tuning.
"""

_FEWEST: Final = 2
"""Places with vectors from which on there is something to compare."""

WHY: Final = "meaning"


class Meaning:
    """A query's meaning for one search, and after it what was compared and what could not be.

    `only` is a set of the first places, a bit for each: a search that goes on compares what it
    compared before, whatever has been embedded since. None compares all that have vectors.
    """

    def __init__(
        self,
        version: str,
        vector: Callable[[], Matrix | None],
        kept: Mapping[str, Vectors],
        only: int | None = None,
    ) -> None:
        """Take the model's version, what waits for the query's vector, and each root's vectors."""
        self._version: Final = version
        self._vector: Final = vector
        self._kept: Final = kept
        self._only: Final = only
        self.compared = 0
        """The places that were compared, a bit for each."""
        self.used: Final[dict[str, list[bytes]]] = {}
        """By their roots' names the keys of the vectors that were there."""
        self.lacking: Final[dict[str, list[str]]] = {}
        """By their roots' names the texts that have no vector, best first."""

    def reordered(self, places: Sequence[Place], texts: Sequence[str]) -> list[Place]:
        """Return the places in the order of words and meaning; `texts` are those of the units.

        The scores stay where they are. A place that comes to stand higher has `meaning` as one
        more reason.
        """
        head = places[:HEAD]
        order = _order(head, self._near(head, texts[:HEAD]))
        found = [
            replace(place, score=head[now].score, why=(*place.why, WHY) if at > now else place.why)
            for now, at in enumerate(order)
            for place in (head[at],)
        ]
        return [*found, *places[HEAD:]]

    def _near(self, places: Sequence[Place], owns: Sequence[str]) -> dict[int, float]:
        """Return how near places are to the query, where they are asked for and have vectors."""
        texts = [embedded(own) for own in owns]
        keys = [key_of(self._version, text) for text in texts]
        of_roots: dict[str, list[int]] = {}
        for at, place in enumerate(places):
            of_roots.setdefault(place.repo, []).append(at)
        kept: dict[int, bytes] = {}
        for name, members in of_roots.items():
            found = self._kept[name].of(keys[at] for at in members)
            self.used[name] = list(found)
            self.lacking[name] = [texts[at] for at in members if keys[at] not in found]
            kept |= {at: found[keys[at]] for at in members if keys[at] in found}
        if self._only is not None:
            kept = {at: one for at, one in kept.items() if self._only >> at & 1}
        vector = self._vector() if len(kept) >= _FEWEST else None
        if vector is None:
            return {}
        self.compared = sum(1 << at for at in kept)
        return dict(zip(kept, cosines(vector, list(kept.values())), strict=True))


def _order(places: Sequence[Place], near: Mapping[int, float]) -> list[int]:
    """Return the numbers of the places in their new order: those that are not near anything stay.

    What is near changes places with its like: first among all, then within each file.
    """
    order = list(range(len(places)))

    def arrange(ranks: Sequence[int], weight: float) -> None:
        """Give some ranks to those that have them, best first."""
        members = [order[rank] for rank in ranks]
        members.sort(key=lambda at: (-(places[at].score + weight * near[at]), at))
        for rank, at in zip(ranks, members, strict=True):
            order[rank] = at

    arrange(sorted(near), _AMONG_FILES)
    of_files: dict[tuple[str, str], list[int]] = {}
    for rank in sorted(near):
        place = places[order[rank]]
        of_files.setdefault((place.repo, place.path), []).append(rank)
    for ranks in of_files.values():
        arrange(ranks, _IN_A_FILE)
    return order
