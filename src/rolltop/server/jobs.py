"""Background work that toolsets declare, run while the server is up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from rolltop.core import logs
from rolltop.core.errors import RolltopError

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.core.toolset import Job


async def repeated(desk: Desk, job: Job) -> NoReturn:
    """Run the job every so often until cancelled; a failed run is logged and tried again."""
    every = job.every(desk.settings) if callable(job.every) else job.every
    await asyncio.sleep(every if job.first is None else job.first)
    while True:
        try:
            await job.run(desk)
        except RolltopError as failure:
            logs.event("job failed", level="warn", job=job.name, code=failure.code)
        except Exception as failure:  # noqa: BLE001  # the next run may succeed
            logs.fault(failure, message=f"job {job.name} failed")
        await asyncio.sleep(every)
