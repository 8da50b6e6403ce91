"""A device: one user's notes in a store, linked to the test server, that may crash anywhere."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.errors import Conflict
from rolltop.core.scope import Scope
from rolltop.toolsets.notes.clients.http import Bounds, Exchange
from rolltop.toolsets.notes.clients.simperium import Credentials, Places, Simplenote
from rolltop.toolsets.notes.models import Account, Content, Notebook
from rolltop.toolsets.notes.service import changes, notebooks
from rolltop.toolsets.notes.service.remote import cycle, writing
from rolltop.toolsets.notes.service.remote.link import Link
from rolltop.toolsets.notes.service.remote.writing import Change
from rolltop.toolsets.notes.store import accounts, reading, tables, versions
from tests.simperium import API_KEY, APP_ID, FaultPlan
from tests.simperium.transport import InProcess

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from rolltop.core.db import Database, Tx
    from rolltop.toolsets.notes.models import Note
    from rolltop.toolsets.notes.service.remote.cycle import Synced
    from tests.simperium import Simperium
    from tests.simperium.faults import Kind

EMAIL: Final = "ada@example.org"
PASSWORD: Final = "correct horse"  # noqa: S105  # of nobody
INTERVAL: Final = 300.0
PLACES: Final = Places(
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


def lose_the_next_write(simperium: Simperium, looks: Kind) -> None:
    """Let the next write arrive and its answer get lost; looks at the note then fail like that."""

    def fail() -> None:
        simperium.faults.add("lost", "post")
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
        self.scope = Scope.of(database.write_now(SYSTEM, add_user, address).id)
        self.notebook = Notebook(notebooks.key_of(EMAIL), history)
        self.database = database
        self.fuse = Fuse()
        self.bounds = Bounds()
        self._simperium = simperium
        self._runner = runner
        database.write_now(self.scope, accounts.put, Account(self.notebook.account, username=EMAIL))

    def link(self) -> Link:
        """Return a new process's link to the server."""
        exchange = Exchange(
            self.bounds, transport=CrashingTransport(self._simperium, self.fuse), pause=at_once
        )
        backend = Simplenote(PLACES, Credentials(EMAIL, password=PASSWORD), exchange, "device")
        database: Any = CrashingDatabase(self.database, self.fuse)
        return Link(database, self.scope, self.notebook, backend, str(uuid.uuid4()))

    def run(self, work: Callable[[Link], Coroutine[Any, Any, Any]]) -> Any:
        """Return what `work(link)` returns in a new process."""
        return self._runner.run(work(self.link()))

    def sync(self, *, accept: bool = False) -> Synced:
        """Return the outcome of one sync."""
        return self.run(lambda link: cycle.sync(link, INTERVAL, accept=accept))

    def save(
        self,
        note_id: str | None,
        edit: Callable[[Content], Content],
        *,
        offline: bool = False,
    ) -> Note:
        """Return the note after a write as the tools make it."""

        def decide(tx: Tx) -> Change:
            if note_id is None:
                return Change(None, edit(Content("", created=1.0)))
            note = reading.get(tx, self.notebook.account, note_id)
            assert note is not None
            return Change(note, replace(edit(note.content), modified=tx.now.timestamp()))

        return self.run(lambda link: writing.write(link, note_id, decide, offline=offline))

    def queue(self, note_id: str, edit: Callable[[Content], Content]) -> Note:
        """Return the note after a change that waits to be sent."""
        faults, self._simperium.faults = self._simperium.faults, FaultPlan()
        self._simperium.faults.add("unreachable", times=9)
        note = self.save(note_id, edit, offline=True)
        self._simperium.faults = faults
        return note

    def delete(self, note_id: str, *, version: int | None = None) -> tuple[int, int | None]:
        """Delete a note for good, only at one version where one is given."""

        def decide(tx: Tx) -> Note:
            note = reading.get(tx, self.notebook.account, note_id)
            assert note is not None
            if version is not None and note.local_version != version:
                raise Conflict("it has changed")
            return note

        return self.run(lambda link: writing.delete(link, note_id, decide))

    def notes(self) -> dict[str, Note]:
        """Return the notes as they are here, by id."""
        found = self.database.read_now(self.scope, reading.after, self.notebook.account, "", 10_000)
        return {note.id: note for note in found}

    def history(self, note_id: str) -> list[str]:
        """Return the texts of a note's earlier versions, newest first."""
        return [content.text for content in self._versions(note_id)]

    def every_version(self) -> set[str]:
        """Return the texts of all earlier versions of all notes that were ever here."""
        columns = tables.note_versions.c
        wanted = select(columns.content).where(
            columns.user_id == self.scope.user_id, columns.account == self.notebook.account
        )
        return self.database.read_now(self.scope, lambda tx: set(tx.execute(wanted).scalars()))

    def forget(self) -> None:
        """Drop all copies and the cursor, as reset_cache does."""

        def reset(tx: Tx) -> None:
            changes.forget_all(tx, self.notebook)
            account = accounts.get(tx, self.notebook.account)
            assert account is not None
            accounts.put(tx, replace(account, cursor=None, state={}))

        self.database.write_now(self.scope, reset)

    def account(self) -> Account:
        """Return the account's row."""
        found = self.database.read_now(self.scope, accounts.get, self.notebook.account)
        assert found is not None
        return found

    def _versions(self, note_id: str) -> list[Content]:
        def read(tx: Tx) -> list[Content]:
            heads = versions.heads(tx, self.notebook.account, note_id)
            rows = [
                versions.get(tx, self.notebook.account, note_id, head.local_version)
                for head in heads
            ]
            return [row.content for row in rows if row is not None]

        return self.database.read_now(self.scope, read)
