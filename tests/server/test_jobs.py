"""When background work is run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from rolltop.core.toolset import Job
from rolltop.server.jobs import repeated
from tests.desks import make_desk
from tests.server.processes import PATIENCE

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.desk import Desk

NEVER = 1e6


@pytest.mark.parametrize(
    ("first", "every", "runs"), [(0.0, NEVER, 1), (None, 0.0, 3), (0.0, 0.0, 3)]
)
def test_a_job_runs_first_when_it_says_and_then_every_so_often(
    database: Database, first: float | None, every: float, runs: int
) -> None:
    done = asyncio.Semaphore(0)

    async def run(_: Desk) -> None:
        done.release()
        raise ValueError  # and goes on all the same

    async def watched() -> None:
        job = asyncio.create_task(repeated(make_desk(database), Job("job", every, run, first)))
        for _ in range(runs):
            await asyncio.wait_for(done.acquire(), PATIENCE)
        job.cancel()
        with suppress(asyncio.CancelledError):
            await job

    asyncio.run(watched())
