"""Background work of notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.db import SYSTEM
from rolltop.core.lazy import lazy
from rolltop.core.toolset import Job
from rolltop.toolsets.notes.models import GONE_KEEPS

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.toolsets.notes.service import changes
    from rolltop.toolsets.notes.service.remote import schedule
else:
    changes = lazy("rolltop.toolsets.notes.service.changes")
    schedule = lazy("rolltop.toolsets.notes.service.remote.schedule")

_PURGE_EVERY: Final = 6 * 3600.0  # seconds
_SYNC_LOOKS_EVERY: Final = 1.0


async def purge_history(desk: Desk) -> None:
    """Forget the versions of notes that any user deleted for good 30 days ago or earlier."""
    await desk.database.write(SYSTEM, changes.purge, GONE_KEEPS)


async def sync(desk: Desk) -> None:
    """Sync the accounts that are due: all at the start, each some time after its last end."""
    await schedule.sync_due(desk)


JOBS: Final = (
    Job("notes.purge_history", _PURGE_EVERY, purge_history),
    Job("notes.sync", _SYNC_LOOKS_EVERY, sync),
)
