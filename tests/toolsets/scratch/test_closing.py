"""What the toolset ends and keeps when the process ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from rolltop.core.worker_process import WorkerPool
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from tests.desks import call_tool, make_desk
from tests.forks import PATIENCE
from tests.toolsets.scratch.caller import Caller, cell
from tests.toolsets.scratch.hostile import SLOW_SCHEMA

if TYPE_CHECKING:
    import pytest

    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock, MakeDatabase


def test_a_read_before_the_end_counts_for_eviction_afterwards(
    make_database: MakeDatabase, database_url: str, me: Principal, clock: Clock
) -> None:
    limited = {"scratch.max_scratchpads": 2}
    first_run = Caller(make_desk(make_database(database_url), settings=limited), me)
    first = first_run.pad()
    clock.advance(seconds=1)
    second = first_run.pad()
    clock.advance(seconds=1)
    first_run.read(first)
    first_run.desk.close()
    next_run = Caller(make_desk(make_database(database_url), settings=limited), me)
    assert next_run.ok("scratch_create")["evicted_scratchpads"] == [second]


def test_a_check_under_way_is_ended_with_the_process(
    database: Database, me: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(database, settings={"scratch.validation_timeout": 29})
    pad = Caller(desk, me).pad()
    sent = cell("1", "json", validate=True, json_schema=SLOW_SCHEMA)
    under_way = threading.Event()
    send = WorkerPool.call

    def check(pool: WorkerPool, asked: object, *limits: float) -> object:
        under_way.set()
        return send(pool, asked, *limits)

    monkeypatch.setattr(WorkerPool, "call", check)
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(call_tool, desk, me, "scratch_append_cell", scratch_id=pad, cell=sent)
        assert under_way.wait(PATIENCE)
        desk.service(ScratchService).close()
        assert call.result(PATIENCE).code == "UNAVAILABLE"
    assert Caller(desk, me).read(pad)["cells"] == []
