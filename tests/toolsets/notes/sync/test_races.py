"""Several desks on one store and one account at once, each with its own connection."""

from __future__ import annotations

import asyncio
import threading
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Conflict
from rolltop.toolsets.notes.clients.http import Bounds, Exchange
from rolltop.toolsets.notes.clients.simperium import Credentials, Places, Simplenote
from rolltop.toolsets.notes.models import Content
from rolltop.toolsets.notes.service.remote import cycle, writing
from rolltop.toolsets.notes.service.remote.link import Link
from rolltop.toolsets.notes.service.remote.writing import Change
from rolltop.toolsets.notes.store import reading
from tests.simperium import API_KEY, APP_ID
from tests.toolsets.notes.sync.device import EMAIL, INTERVAL, PASSWORD, Device

if TYPE_CHECKING:
    from rolltop.core.db import Database, Tx
    from tests.databases import MakeDatabase
    from tests.simperium import Simperium
    from tests.simperium.http import Served

DESKS: Final = 3
WORDS: Final = 5
PATIENCE: Final = 60.0


async def work(link: Link, words: list[str]) -> list[str]:
    """Append each word to one note and to a new one, syncing in between; return the outcomes."""
    outcomes: list[str] = []

    def append(word: str) -> writing.Decide:
        def decide(tx: Tx) -> Change:
            note = reading.hold(tx, link.notebook.account, "shared")
            assert note is not None
            return Change(note, replace(note.content, text=f"{note.text}{word}\n"))

        return decide

    for word in words:
        while True:
            try:
                await writing.write(link, "shared", append(word), offline=False)
                break
            except Conflict:
                continue
        await writing.write(
            link, None, lambda _tx, word=word: Change(None, Content(word)), offline=False
        )
        outcomes.append((await cycle.sync(link, INTERVAL)).status)
    return outcomes


def one_desk(device: Device, database: Database, url: str, number: int, said: list[str]) -> None:
    """Work as one desk and keep what its syncs answered."""

    async def run() -> None:
        exchange = Exchange(Bounds())
        places = Places(f"{url}/1", f"{url}/1", "", APP_ID, API_KEY)
        backend = Simplenote(places, Credentials(EMAIL, "", PASSWORD), exchange, f"desk-{number}")
        link = Link(database, device.scope, device.notebook, backend, str(uuid.uuid4()))
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
