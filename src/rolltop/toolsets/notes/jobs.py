"""Background work of notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.context import AppContext
from rolltop.core.expiry import FIRST_PURGE_DELAY, PURGE_INTERVAL, purge_expired
from rolltop.core.tools import Job
from rolltop.toolsets.notes.models import ERASED_RETENTION_SECONDS

if TYPE_CHECKING:
    from rolltop.toolsets.notes.sync.service import SyncService

_SYNC_CHECK_INTERVAL: Final = 10.0  # seconds
_FIRST_SYNC_DELAY: Final = 1.0
_SYNC_SERVICE: Final = "rolltop.toolsets.notes.sync.service:SyncService"


async def purge_history(app: AppContext) -> None:
    """Delete the versions of notes that any user erased 30 days ago or earlier."""
    from rolltop.toolsets.notes.store import notebooks  # noqa: PLC0415  # loads SQLAlchemy

    await purge_expired(
        app, "versions of deleted notes", notebooks.purge_history, ERASED_RETENTION_SECONDS
    )


async def sync(app: AppContext) -> None:
    """Sync the accounts that are due: all at the start, each some time after its last end."""
    service: SyncService = app.load_service(_SYNC_SERVICE)
    await service.sync_due_accounts()


JOBS: Final = (
    Job("notes.purge_history", PURGE_INTERVAL, purge_history, FIRST_PURGE_DELAY),
    Job("notes.sync", _SYNC_CHECK_INTERVAL, sync, _FIRST_SYNC_DELAY),
)
