"""Background work of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.db import SYSTEM
from rolltop.core.lazy import lazy
from rolltop.core.toolset import Job

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.toolsets.tasks import service
else:
    service = lazy("rolltop.toolsets.tasks.service")

_EVERY: Final = 6 * 3600.0  # seconds


async def purge_trash(desk: Desk) -> None:
    """Delete for good what every user deleted 30 days ago or earlier."""
    await desk.database.write(SYSTEM, service.purge_trash)


JOBS: Final = (Job("tasks.purge_trash", _EVERY, purge_trash),)
