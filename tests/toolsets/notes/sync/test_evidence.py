"""Notes of an account as evidence of tasks, while a server does not have them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.tasks import jobs
from tests.desks import answer_of, call_tool, make_desk
from tests.toolsets.notes.sync.conftest import settings_of
from tests.toolsets.notes.sync.device import EMAIL

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.simperium.http import Served


@pytest.mark.parametrize("way", ["reset", "no account in the settings"])
def test_what_notes_prove_is_left_alone_while_this_server_does_not_have_them(
    database: Database, default: Principal, served: Served, way: str
) -> None:
    server = served.simperium.notes(EMAIL)
    server.post("n", {"content": "all tests pass"}, None, None)
    connected = make_desk(database, settings=settings_of(served))
    call = partial(answer_of, connected, default)
    call("note_manage", action="sync")
    given: dict[str, Any] = {"title": "proved", "evidence": ["rolltop://note/n"]}
    done = call("add_task", **given, reopen_on_change=True)["data"]["task_id"]
    waits = call("add_task", **given, requires_evidence=True)["data"]["task_id"]
    call("complete_task", task_id=done)
    desk = connected if way == "reset" else make_desk(database)
    if way == "reset":
        call("note_manage", action="reset_cache")
    asyncio.run(jobs.reopen_changed(desk))
    listed = {one["task_id"]: one for one in answer_of(desk, default, "list_tasks")["data"]}
    assert listed[done]["status"] == "completed"
    assert not any("evidence" in one for one in listed.values())
    refused = call_tool(desk, default, "complete_task", task_id=waits).structured["error"]
    assert "Evidence 1 cannot be looked at here" in refused
    call("note_manage", action="sync")
    assert call("complete_task", task_id=waits)["data"]["status"] == "completed"
    server.post("n", {"content": "a test fails"}, None, None)
    call("note_manage", action="sync")
    asyncio.run(jobs.reopen_changed(connected))
    assert call("get_task", task_id=done)["data"]["status"] == "pending"
