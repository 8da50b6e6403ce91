"""The desk's end: every toolset is told, whatever another one does, and the store is closed."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rolltop.core.errors import Unavailable
from tests.core.example_toolset import EXAMPLE
from tests.desks import make_desk
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from tests.databases import MakeDatabase


def test_a_toolset_that_cannot_end_keeps_neither_the_others_nor_the_store_open(
    make_database: MakeDatabase, sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[AppContext] = []

    def broken(desk: AppContext) -> None:
        told.append(desk)
        raise RuntimeError("swordfish")

    toolsets = [
        replace(EXAMPLE, close=broken, tools=EXAMPLE.tools[:1]),
        replace(EXAMPLE, close=told.append, tools=EXAMPLE.tools[1:2]),
    ]
    desk = make_desk(make_database(sqlite_url), toolsets=toolsets)
    caplog.set_level(logging.ERROR, logger="rolltop")
    desk.close()
    assert told == [desk, desk]
    assert "closing example failed" in caplog.text
    with pytest.raises(Unavailable, match="closed"):
        desk.database.open()


def test_a_desk_that_nobody_holds_leaves_no_threads(
    make_database: MakeDatabase, sqlite_url: str
) -> None:
    desk = make_desk(make_database(sqlite_url))
    thread = asyncio.run(desk.run_in_thread(threading.current_thread))
    assert thread.is_alive()
    del desk
    gc.collect()
    thread.join(PATIENCE)
    assert not thread.is_alive()
