"""Background work of scratch."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rolltop.core import logs
from rolltop.core.db import SYSTEM
from rolltop.core.lazy import lazy
from rolltop.core.scope import Scope
from rolltop.core.toolset import Job

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.core.settings import Settings
    from rolltop.toolsets.scratch.service import accesses, capacity, checking, embedding, pads
else:
    accesses = lazy("rolltop.toolsets.scratch.service.accesses")
    capacity = lazy("rolltop.toolsets.scratch.service.capacity")
    checking = lazy("rolltop.toolsets.scratch.service.checking")
    embedding = lazy("rolltop.toolsets.scratch.service.embedding")
    pads = lazy("rolltop.toolsets.scratch.service.pads")

_PURGE_EVERY: Final = 6 * 3600.0  # seconds
_ACCESSES_EVERY: Final = 5.0
_EMBED_EVERY: Final = 2.0
_INDEX_EVERY: Final = 10.0


async def purge_trash(desk: Desk) -> None:
    """Delete for good what went into any user's trash 30 days ago or earlier."""
    await desk.database.write(SYSTEM, pads.purge_trash)


async def note_accesses(desk: Desk) -> None:
    """Write down when pads were read since the last time."""
    await accesses.write_down(desk)


async def sweep(desk: Desk) -> None:
    """Put pads that were idle for too long into the trash, where that is the policy."""
    if desk.settings["scratch.eviction_policy"] != "preempt":
        return
    age = timedelta(seconds=desk.settings["scratch.preempt_age"])
    owners = await desk.database.read(SYSTEM, pads.idle_owners, age)
    for user_id in owners:
        reads = accesses.unwritten(desk, user_id)
        gone = await desk.database.write(Scope.of(user_id), capacity.sweep, age, reads)
        if gone:
            logs.event("scratchpads evicted", policy="preempt", user=user_id, count=len(gone))


async def embed(desk: Desk) -> None:
    """Make the vectors that are missing, of what changed or of all after a change of model."""
    await embedding.embed_pending(desk)


async def index_vectors(desk: Desk) -> None:
    """Index what large users' vectors lack, where the store makes indexes of them."""
    await embedding.index_vectors(desk)


def close(desk: Desk) -> None:
    """End the checking processes, and write down which pads were read last."""
    # Of a module that was never loaded, there is nothing to end.
    if checking.__name__ in sys.modules:
        checking.close()
    if accesses.__name__ in sys.modules:
        accesses.write_down_now(desk)


def _sweep_every(settings: Settings) -> float:
    return settings["scratch.preempt_interval"]


JOBS: Final = (
    Job("scratch.purge_trash", _PURGE_EVERY, purge_trash),
    Job("scratch.note_accesses", _ACCESSES_EVERY, note_accesses),
    Job("scratch.sweep", _sweep_every, sweep),
    Job("scratch.embed", _EMBED_EVERY, embed),
    Job("scratch.index_vectors", _INDEX_EVERY, index_vectors),
)
