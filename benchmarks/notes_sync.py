"""A full sync, a delta and writes, against the Simperium test server in a process of its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Table, Times
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.principal import Principal
from rolltop.toolsets.notes.clients.http_client import HttpClient, RequestLimits
from rolltop.toolsets.notes.clients.simperium import (
    Credentials,
    SimplenoteBackend,
    SimplenoteEndpoints,
)
from rolltop.toolsets.notes.edits import Edit
from rolltop.toolsets.notes.models import Account, Content
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.sync import push, service
from rolltop.toolsets.notes.sync.connection import AccountConnection
from tests.simperium import API_KEY, APP_ID, Simperium
from tests.simperium.http import Served

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from rolltop.toolsets.notes.store.notebooks import Notebook

NOTES = int(os.environ.get("BENCH_SYNCED_NOTES", "10000"))
CHANGED = 500
WRITES = 50
LINES = 16
EMAIL, PASSWORD = "ada@example.org", "none"
INTERVAL = 300.0


def tables() -> list[Table]:
    """Return the table of the sync."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,))
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            rows = asyncio.run(_measured(ours, Path(folder)))
    finally:
        ours.send("end")
        server.join()
    how = (
        f"{NOTES:,} notes of {LINES} lines at a Simperium server on this machine, in a process of "
        "its own; the store is SQLite."
    )
    headers = ("work", "time", "requests", "promise")
    return [Table("notes: sync", how, headers, rows)]


def serve(pipe: Connection) -> None:
    """Serve notes until told to end; answer how many requests there were."""
    simperium = Simperium()
    simperium.add_user(EMAIL, PASSWORD)
    bucket = simperium.notes(EMAIL)
    for number in range(NOTES):
        bucket.post(f"note-{number}", _note(number), None, None)
    with Served(simperium) as served:
        pipe.send(served.url)
        while (asked := pipe.recv()) != "end":
            if asked == "change":
                for number in range(CHANGED):
                    bucket.post(f"note-{number}", _note(number + NOTES), None, None)
            pipe.send(simperium.served.total())


async def _measured(pipe: Connection, folder: Path) -> list[tuple[str, ...]]:
    url = pipe.recv()
    database = Database(f"sqlite:///{folder / 'desk.db'}")
    database.open()
    scope = Principal.for_user(database.write_sync(SYSTEM, add_user, EMAIL).id)
    key = notebooks.account_key(EMAIL)
    database.write_sync(scope, notebooks.upsert_account, Account(key, username=EMAIL))
    exchange = HttpClient(RequestLimits())
    places = SimplenoteEndpoints(f"{url}/1", f"{url}/1", "", APP_ID, API_KEY)
    backend = SimplenoteBackend(places, Credentials(EMAIL, "", PASSWORD), exchange, "bench")
    link = AccountConnection(database, scope, key, 100, backend, "bench")
    rows: list[tuple[str, ...]] = []
    for name, told, promise in (
        (f"full sync of {NOTES:,} notes", "count", "≤ 10 s, ≤ 110 requests"),
        (f"sync of {CHANGED} changed notes", "change", ""),
        ("sync of nothing", "count", ""),
    ):
        before = _asked(pipe, told)
        seconds = await _timed(service.run_sync(link, INTERVAL))
        rows.append((name, f"{seconds:.2f} s", str(_asked(pipe, "count") - before), promise))
    before = _asked(pipe, "count")
    times = [await _timed(_write(link, number)) for number in range(WRITES)]
    requests = (_asked(pipe, "count") - before) / WRITES
    rows.append(("a new note, written through", Times(tuple(times)).cell(), f"{requests:g}", ""))
    await exchange.close()
    database.close()
    return rows


async def _timed(work: Any) -> float:
    loop = asyncio.get_running_loop()
    started = loop.time()
    await work
    return loop.time() - started


async def _write(link: AccountConnection, number: int) -> None:
    def plan(_notebook: Notebook) -> Edit:
        return Edit(None, Content(_note(number)["content"]))

    await push.write_note(link, None, plan, offline=False)


def _asked(pipe: Connection, told: str) -> int:
    pipe.send(told)
    return pipe.recv()


def _note(number: int) -> dict[str, Any]:
    chosen = random.Random(number)  # noqa: S311  # the same notes in every run
    lines = [" ".join(f"word{chosen.randrange(5000)}" for _ in range(8)) for _ in range(LINES)]
    return {
        "content": "\n".join(lines),
        "tags": [f"tag{number % 9}"],
        "systemTags": [],
        "deleted": False,
        "creationDate": 1.0 * number,
        "modificationDate": 1.0 * number,
    }
