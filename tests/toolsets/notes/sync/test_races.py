"""Several desks on one store and one account at once, each with its own connection."""

from __future__ import annotations

import asyncio
import threading
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Conflict
from rolltop.toolsets.notes.clients.http_client import HttpClient, RequestLimits
from rolltop.toolsets.notes.clients.simperium import (
    Credentials,
    SimplenoteBackend,
    SimplenoteEndpoints,
)
from rolltop.toolsets.notes.edits import Edit
from rolltop.toolsets.notes.models import Content
from rolltop.toolsets.notes.sync import push, service
from rolltop.toolsets.notes.sync.connection import AccountConnection
from tests.forks import PATIENCE
from tests.simperium import API_KEY, APP_ID
from tests.toolsets.notes.sync.device import EMAIL, INTERVAL, PASSWORD, Device

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database
    from rolltop.toolsets.notes.store.notebooks import Notebook
    from tests.databases import MakeDatabase
    from tests.simperium import Simperium
    from tests.simperium.http import Served

DESKS: Final = 3
WORDS: Final = 5


async def work(link: AccountConnection, words: list[str]) -> list[str]:
    """Append each word to one note and to a new one, syncing in between; return the outcomes."""
    outcomes: list[str] = []

    def append(word: str) -> Callable[[Notebook], Edit]:
        def decide(notebook: Notebook) -> Edit:
            note = notebook.lock("shared")
            assert note is not None
            return Edit(note, replace(note.content, text=f"{note.text}{word}\n"))

        return decide

    for word in words:
        while True:
            try:
                await push.write_note(link, "shared", append(word), offline=False)
                break
            except Conflict:
                continue
        await push.write_note(
            link, None, lambda _notebook, word=word: Edit(None, Content(word)), offline=False
        )
        outcomes.append((await service.run_sync(link, INTERVAL)).status)
    return outcomes


def one_desk(device: Device, database: Database, url: str, number: int, said: list[str]) -> None:
    """Work as one desk and keep what its syncs answered."""

    async def run() -> None:
        exchange = HttpClient(RequestLimits())
        places = SimplenoteEndpoints(f"{url}/1", f"{url}/1", "", APP_ID, API_KEY)
        backend = SimplenoteBackend(
            places, Credentials(EMAIL, "", PASSWORD), exchange, f"desk-{number}"
        )
        link = AccountConnection(database, device.scope, device.key, 0, backend, str(uuid.uuid4()))
        said.extend(await work(link, [f"word-{number}-{n}" for n in range(WORDS)]))
        await exchange.close()

    asyncio.run(run())


def test_desks_that_write_and_sync_at_once_lose_no_word_and_double_none(
    device: Device,
    database_url: str,
    make_database: MakeDatabase,
    served: Served,
    simperium: Simperium,
) -> None:
    server = simperium.notes(EMAIL)
    server.post("shared", {"content": "", "tags": []}, None, None)
    device.sync()
    said: list[str] = []
    desks = [
        threading.Thread(
            target=one_desk,
            args=(device, make_database(database_url), served.url, number, said),
            daemon=True,
        )
        for number in range(DESKS)
    ]
    for desk in desks:
        desk.start()
    for desk in desks:
        desk.join(PATIENCE)
    assert len(said) == DESKS * WORDS
    assert set(said) <= {"idle", "syncing"}
    device.sync()
    words = sorted(f"word-{desk}-{n}" for desk in range(DESKS) for n in range(WORDS))
    live = server.live()
    shared = live.pop("shared")["content"]
    assert sorted(shared.split()) == words
    assert sorted(data["content"] for data in live.values()) == words
    notes = device.notes()
    assert notes.pop("shared").text == shared
    assert {note.id: note.text for note in notes.values()} == {
        note_id: data["content"] for note_id, data in live.items()
    }
    assert {note.sync_state for note in notes.values()} == {"synced"}
