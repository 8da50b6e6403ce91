"""A device: one user's notes in a store, linked to the test server, that may crash anywhere."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.errors import Conflict
from rolltop.core.principal import Principal
from rolltop.toolsets.notes.clients.http_client import HttpClient, RequestLimits
from rolltop.toolsets.notes.clients.simperium import (
    Credentials,
    SimplenoteBackend,
    SimplenoteEndpoints,
)
from rolltop.toolsets.notes.edits import Edit
from rolltop.toolsets.notes.models import Account, Content
from rolltop.toolsets.notes.store import notebooks, tables
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync import push, service
from rolltop.toolsets.notes.sync.connection import AccountConnection, revoke_lease
from tests.databases import age_leases
from tests.simperium import API_KEY, APP_ID, FaultPlan
from tests.simperium.transport import InProcess

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from rolltop.core.db import Database, Tx
    from rolltop.toolsets.notes.models import Note
    from rolltop.toolsets.notes.sync.service import SyncOutcome
    from tests.simperium import Simperium
    from tests.simperium.faults import Kind

EMAIL: Final = "ada@example.org"
PASSWORD: Final = "correct horse"  # noqa: S105  # of nobody
INTERVAL: Final = 300.0
PLACES: Final = SimplenoteEndpoints(
    "http://127.0.0.1:9/1", "http://127.0.0.1:9/1", "http://127.0.0.1:9/account", APP_ID, API_KEY
)


def before_the_next_write(
    simperium: Simperium, act: Callable[[], object], *, method: str = "POST"
) -> None:
    """Do something at the moment before the server answers the next write of a note."""
    answer = simperium.answer

    def answering(request: Any) -> Any:
        if request.method == method and "/i/" in request.target:
            simperium.answer = answer  # pyright: ignore[reportAttributeAccessIssue]  # once
            act()
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # until then


def lose_the_next_write(simperium: Simperium, looks: Kind, *, how: Kind = "lost") -> None:
    """Let the next write arrive and its answer get lost; looks at the note then fail like that."""

    def fail() -> None:
        simperium.faults.add(how, "post")
        simperium.faults.add(looks, "get", times=4)

    before_the_next_write(simperium, fail)


class Crash(BaseException):
    """The process has ended here: nothing after this happens."""


class Fuse:
    """Counts steps and crashes at one of them; after that at every one."""

    def __init__(self) -> None:
        self.left: int | None = None

    def step(self) -> None:
        """Be one step further, or crash."""
        if self.left is None:
            return
        if self.left <= 0:
            raise Crash
        self.left -= 1


class CrashingTransport(InProcess):
    """The test server, behind a process that may crash before a request or before its answer."""

    def __init__(self, simperium: Simperium, fuse: Fuse) -> None:
        super().__init__(simperium)
        self._fuse = fuse

    async def handle_async_request(self, request: Any) -> Any:
        self._fuse.step()
        response = await super().handle_async_request(request)
        self._fuse.step()
        return response


class CrashingDatabase:
    """The store, in a process that may crash before a transaction or after its commit."""

    def __init__(self, database: Database, fuse: Fuse) -> None:
        self._database = database
        self._fuse = fuse

    async def read(self, *arguments: Any, **named: Any) -> Any:
        self._fuse.step()
        return await self._database.read(*arguments, **named)

    async def write(self, *arguments: Any, **named: Any) -> Any:
        self._fuse.step()
        done = await self._database.write(*arguments, **named)
        self._fuse.step()
        return done


async def at_once(_seconds: float) -> None:
    """Wait for nothing."""


class Device:
    """One device of the account."""

    def __init__(
        self, database: Database, simperium: Simperium, runner: asyncio.Runner, *, history: int = 0
    ) -> None:
        address = f"{uuid.uuid4()}@example.org"
        self.scope = Principal.for_user(database.write_sync(SYSTEM, add_user, address).id)
        self.key = notebooks.account_key(EMAIL)
        self.history_limit = history
        self.database = database
        self.fuse = Fuse()
        self.bounds = RequestLimits()
        self._simperium = simperium
        self._runner = runner
        database.write_sync(self.scope, notebooks.upsert_account, Account(self.key, username=EMAIL))

    def link(self) -> AccountConnection:
        """Return a new process's link to the server."""
        exchange = HttpClient(
            self.bounds, transport=CrashingTransport(self._simperium, self.fuse), pause=at_once
        )
        backend = SimplenoteBackend(
            PLACES, Credentials(EMAIL, password=PASSWORD), exchange, "device"
        )
        database: Any = CrashingDatabase(self.database, self.fuse)
        return AccountConnection(
            database, self.scope, self.key, self.history_limit, backend, str(uuid.uuid4())
        )

    def run(self, work: Callable[[AccountConnection], Coroutine[Any, Any, Any]]) -> Any:
        """Return what `work(link)` returns in a new process."""
        return self._runner.run(work(self.link()))

    def sync(self, *, accept: bool = False) -> SyncOutcome:
        """Return the outcome of one sync."""
        return self.run(lambda link: service.run_sync(link, INTERVAL, accept=accept))

    def save(
        self,
        note_id: str | None,
        edit: Callable[[Content], Content],
        *,
        offline: bool = False,
    ) -> Note:
        """Return the note after a write as the tools make it."""

        def decide(notebook: Notebook) -> Edit:
            if note_id is None:
                return Edit(None, edit(Content("", created=1.0)))
            note = notebook.get(note_id)
            assert note is not None
            now = notebook.tx.now.timestamp()
            return Edit(note, replace(edit(note.content), modified=now))

        return self.run(lambda link: push.write_note(link, note_id, decide, offline=offline)).note

    def queue(self, note_id: str, edit: Callable[[Content], Content]) -> Note:
        """Return the note after a change that waits to be sent."""
        faults, self._simperium.faults = self._simperium.faults, FaultPlan()
        self._simperium.faults.add("unreachable", times=9)
        note = self.save(note_id, edit, offline=True)
        self._simperium.faults = faults
        return note

    def delete(self, note_id: str, *, version: int | None = None) -> tuple[int, int | None]:
        """Delete a note for good, only at one version where one is given."""

        def decide(notebook: Notebook) -> Note:
            note = notebook.get(note_id)
            assert note is not None
            if version is not None and note.local_version != version:
                raise Conflict("it has changed")
            return note

        return self.run(lambda link: push.delete_note(link, note_id, decide))

    def notes(self) -> dict[str, Note]:
        """Return the notes as they are here, by id."""
        found = self.database.read_sync(
            self.scope, lambda tx: Notebook(tx, self.key).read_after("", 10_000)
        )
        return {note.id: note for note in found}

    def history(self, note_id: str) -> list[str]:
        """Return the texts of a note's earlier versions, newest first."""
        return [content.text for content in self._versions(note_id)]

    def every_version(self) -> set[str]:
        """Return the texts of all earlier versions of all notes that were ever here."""
        columns = tables.note_versions.c
        wanted = select(columns.content).where(
            columns.user_id == self.scope.user_id, columns.account == self.key
        )
        return self.database.read_sync(self.scope, lambda tx: set(tx.execute(wanted).scalars()))

    def forget(self) -> None:
        """Drop all copies and the cursor, as reset_cache does."""

        def reset(tx: Tx) -> None:
            Notebook(tx, self.key).drop_copies()
            revoke_lease(tx, self.key)
            account = notebooks.get_account(tx, self.key)
            assert account is not None
            notebooks.upsert_account(tx, replace(account, cursor=None, state={}))

        self.database.write_sync(self.scope, reset)

    def let_leases_age(self, seconds: float) -> None:
        """Let so much time pass for the leases, which the database's own clock measures."""
        self.database.write_sync(SYSTEM, age_leases, seconds)

    def account(self) -> Account:
        """Return the account's row."""
        found = self.database.read_sync(self.scope, notebooks.get_account, self.key)
        assert found is not None
        return found

    def _versions(self, note_id: str) -> list[Content]:
        def read(tx: Tx) -> list[Content]:
            notebook = Notebook(tx, self.key)
            heads = notebook.list_versions(note_id)
            rows = [notebook.get_version(note_id, head.local_version) for head in heads]
            return [row.content for row in rows if row is not None]

        return self.database.read_sync(self.scope, read)
