"""Background work of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.context import AppContext
from rolltop.core.expiry import FIRST_PURGE_DELAY, PURGE_INTERVAL, purge_expired
from rolltop.core.tools import Job
from rolltop.toolsets.tasks.models import SERVICE

if TYPE_CHECKING:
    from rolltop.toolsets.tasks.service import TaskService

_CHECK_INTERVAL: Final = 60.0


async def purge_trash(app: AppContext) -> None:
    """Delete for good what every user deleted 30 days ago or earlier."""
    from rolltop.toolsets.tasks import store  # noqa: PLC0415  # loads SQLAlchemy

    await purge_expired(app, "tasks in the trash", store.purge_trash)


async def reopen_changed(app: AppContext) -> None:
    """Reopen the tasks that ask for it, whose evidence changed."""
    service: TaskService = app.load_service(SERVICE)
    await service.reopen_changed(app)


JOBS: Final = (
    Job("tasks.purge_trash", PURGE_INTERVAL, purge_trash, FIRST_PURGE_DELAY),
    Job("tasks.reopen_changed", _CHECK_INTERVAL, reopen_changed, FIRST_PURGE_DELAY),
)
