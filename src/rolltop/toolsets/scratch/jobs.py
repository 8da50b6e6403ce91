"""Background jobs of scratch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from rolltop.core.context import AppContext
from rolltop.core.expiry import FIRST_PURGE_DELAY, PURGE_INTERVAL, purge_expired
from rolltop.core.tools import Job
from rolltop.toolsets.scratch.models import SERVICE

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService

_ACCESS_WRITE_INTERVAL: Final = 5.0  # seconds
_EMBED_INTERVAL: Final = 2.0


def _service(app: AppContext) -> ScratchService:
    return app.load_service(SERVICE)


async def purge_trash(app: AppContext) -> None:
    """Delete what went into any user's trash 30 days ago or earlier."""
    from rolltop.toolsets.scratch.store import pad_rows  # noqa: PLC0415  # loads SQLAlchemy

    await purge_expired(app, "pads in the trash", pad_rows.purge_trash)


async def write_access_times(app: AppContext) -> None:
    """Store when pads were read since the last time."""
    await _service(app).write_access_times()


async def evict_idle_pads(app: AppContext) -> None:
    """Evict pads that were idle for too long, under the policy preempt."""
    if app.settings["scratch.eviction_policy"] == "preempt":
        await _service(app).evict_idle_pads()


async def embed(app: AppContext) -> None:
    """Compute the vectors that are missing."""
    await _service(app).search_index.embed_pending()


def close(app: AppContext) -> None:
    """Close the service if it was ever loaded."""
    if SERVICE.partition(":")[0] in sys.modules:
        _service(app).close()


JOBS: Final = (
    Job("scratch.purge_trash", PURGE_INTERVAL, purge_trash, FIRST_PURGE_DELAY),
    Job("scratch.note_accesses", _ACCESS_WRITE_INTERVAL, write_access_times),
    Job("scratch.sweep", lambda settings: settings["scratch.preempt_interval"], evict_idle_pads),
    Job("scratch.embed", _EMBED_INTERVAL, embed),
)
