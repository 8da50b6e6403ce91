"""Background work of retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.lazy import lazy
from rolltop.core.toolset import Job

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.toolsets.retrieval.service import indexing, meanings, ranking
else:
    indexing = lazy("rolltop.toolsets.retrieval.service.indexing")
    meanings = lazy("rolltop.toolsets.retrieval.service.meanings")
    ranking = lazy("rolltop.toolsets.retrieval.service.ranking")

_UPDATE_EVERY: Final = 2.0  # seconds
_FIRST_UPDATE: Final = 0.2
"""Seconds after the start: the handshake is over, and no search was asked for yet."""


async def update(desk: Desk) -> None:
    """Read into the index what it does not hold yet, and what a search found changed."""
    await desk.work(indexing.update, desk)


async def hold_texts(desk: Desk) -> None:
    """Hold in memory the texts that searches looked through."""
    await desk.work(indexing.hold_texts, desk)


async def update_ranking(desk: Desk) -> None:
    """Cut into units what the ranked index does not hold yet, and what a search found changed."""
    await desk.work(ranking.update, desk)


async def make_vectors(desk: Desk) -> None:
    """Embed what searches lacked, and some of what they may find next."""
    if meanings.pending(desk):
        await desk.work(meanings.update, desk)


JOBS: Final = (
    Job("retrieval.index", _UPDATE_EVERY, update, first=_FIRST_UPDATE),
    Job("retrieval.texts", _UPDATE_EVERY, hold_texts),
    Job("retrieval.ranking", _UPDATE_EVERY, update_ranking),
    Job("retrieval.vectors", _UPDATE_EVERY, make_vectors),
)
