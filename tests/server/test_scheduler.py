"""When background work is run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from rolltop.core.expiry import MAX_PURGED_ROWS
from rolltop.core.tools import Job
from rolltop.server.app import run_periodically
from tests.desks import make_desk
from tests.server.processes import PATIENCE, StdioServer
from tests.toolsets.notes.caller import Caller as Notes
from tests.toolsets.scratch.caller import Caller as Pads
from tests.toolsets.tasks.caller import Caller as Tasks

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal

NEVER = 1e6


@pytest.mark.parametrize(
    ("first", "every", "runs"), [(0.0, NEVER, 1), (None, 0.0, 3), (0.0, 0.0, 3)]
)
def test_a_job_runs_first_when_it_says_and_then_every_so_often(
    database: Database, first: float | None, every: float, runs: int
) -> None:
    done = asyncio.Semaphore(0)

    async def run(_: AppContext) -> None:
        done.release()
        raise ValueError  # and goes on all the same

    async def watched() -> None:
        job = asyncio.create_task(
            run_periodically(make_desk(database), Job("job", every, run, first))
        )
        for _ in range(runs):
            await asyncio.wait_for(done.acquire(), PATIENCE)
        job.cancel()
        with suppress(asyncio.CancelledError):
            await job

    asyncio.run(watched())


def fill_trash(desk: AppContext, me: Principal, count: int) -> None:
    """Delete that many tasks and pads, and a note for good, by their tools."""
    tasks, pads, notes = Tasks(desk, me), Pads(desk, me), Notes(desk, me)
    for _ in range(count):
        tasks.ok("delete_task", task_id=tasks.add("old"))
        pads.ok("scratch_delete", scratch_id=pads.pad("old"))
    note = notes.note("old", trash=True)
    notes.manage("delete_permanently", id=note, local_version=1)


def rows_in_trash(tx: Tx) -> int:
    queries = (
        "SELECT count(*) FROM tasks WHERE deleted_at IS NOT NULL",
        "SELECT count(*) FROM scratch_pads WHERE deleted_at IS NOT NULL",
        "SELECT count(*) FROM note_versions WHERE gone_at IS NOT NULL",
    )
    return sum(tx.execute(text(query)).scalar_one() for query in queries)


def test_a_server_that_lives_for_a_moment_deletes_what_expired(
    database: Database, database_url: str, me: Principal, tmp_path: Path
) -> None:
    """The clock of these deletions stands in January 2026, more than 30 days ago."""
    fill_trash(make_desk(database), me, MAX_PURGED_ROWS + 1)
    with (
        StdioServer(tmp_path, database_url=database_url) as one,
        StdioServer(tmp_path, database_url=database_url) as other,
    ):
        for server in (one, other):
            server.initialize()
            assert not server.call("add_task", title="new").get("isError")
        end = monotonic() + PATIENCE
        while database.read_sync(me, rows_in_trash) and monotonic() < end:
            one.request("ping")
        for server in (one, other):
            server.stdin.close()
            server.ends()
    seen = "\n".join(one.stderr.rest() + other.stderr.rest())
    assert "job failed" not in seen
    assert database.read_sync(me, rows_in_trash) == 0
