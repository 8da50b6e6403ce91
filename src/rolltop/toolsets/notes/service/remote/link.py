"""What work with one account's backend runs on, and the account's own record of it."""

from __future__ import annotations

import functools
import os
import socket
import sys
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from rolltop.toolsets.notes.models import Account, Notebook
from rolltop.toolsets.notes.store import accounts, syncing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rolltop.core.db import Database, Tx
    from rolltop.core.scope import Scope
    from rolltop.toolsets.notes.clients.backend import Backend

P = ParamSpec("P")
T = TypeVar("T")

LEASE: Final = 120.0
"""Seconds for which a sync under way keeps others away without a sign of life."""


@functools.cache
def this_process() -> str:
    """Return what this process is called as a holder of leases: no other ever is."""
    return f"{uuid.uuid4()} {os.getpid()} {socket.gethostname()}"


@dataclass(frozen=True)
class Link:
    """One account of one user, with its notes and its backend.

    `holder` names this sync; `on_change(note_id)` hears of each note that a sync changed here.
    """

    database: Database
    scope: Scope
    notebook: Notebook
    backend: Backend
    holder: str = ""
    on_change: Callable[[str], None] | None = None

    def tell(self, note_ids: Iterable[str]) -> None:
        """Let those who listen know that notes have changed."""
        if self.on_change is not None:
            for note_id in note_ids:
                self.on_change(note_id)

    async def read(
        self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return `function(tx, …)` of one read transaction."""
        return await self.database.read(self.scope, function, *args, **kwargs)

    async def write(
        self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return `function(tx, …)` of one write transaction, once it is on disk."""
        return await self.database.write(self.scope, function, *args, **kwargs)


@dataclass(frozen=True)
class Record:
    """What the sync keeps of an account between its steps, as JSON beside the account.

    `holder` and `until` are the lease; `since`, `mark`, `current` and `harm` where a pull under
    way has come to and what it trashed or cut so far. `error` is the code of the last failure,
    `compared_at` when the whole list was last compared, `next_at` when the next sync is due.
    """

    holder: str = ""
    until: float = 0.0
    is_pulling: bool = False
    since: str | None = None
    mark: str | None = None
    current: str | None = None
    harm: int = 0
    compared_at: float | None = None
    next_at: float | None = None
    error: str | None = None
    unreadable: int = 0

    @classmethod
    def of(cls, account: Account) -> Record:
        """Return the record of an account; what an older program kept besides is passed over."""
        known = {
            name: account.state[name] for name in cls.__dataclass_fields__ if name in account.state
        }
        return cls(**known)

    def with_(self, values: Mapping[str, Any]) -> Record:
        """Return the record with some values replaced."""
        return replace(self, **values)

    def is_held(self, now: float) -> bool:
        """Whether a sync has the lease.

        One from a clock that ran ahead counts as ended, and so does one that was killed here.
        """
        return bool(self.holder) and now < self.until <= now + LEASE and not _is_gone(self.holder)


@dataclass(frozen=True)
class Tally:
    """What a sync did, by kind."""

    pulled: int = 0
    pushed: int = 0
    conflicts: int = 0
    refused: int = 0

    def plus(self, **more: int) -> Tally:
        """Return the tally with more of some kinds."""
        return replace(self, **{name: getattr(self, name) + count for name, count in more.items()})


def change_account(
    tx: Tx,
    key: str,
    change: Callable[[Account, Record], tuple[Account, Record]],
) -> Account:
    """Return the account after a change of it and its record, kept. It must exist."""
    account = syncing.hold(tx, key)
    if account is None:
        account = Account(key)
    changed, record = change(account, Record.of(account))
    kept = replace(changed, state=_json(record))
    accounts.put(tx, kept)
    return kept


def _is_gone(holder: str) -> bool:
    """Whether a holder was a process of this machine that has ended; False where nobody knows.

    Where two machines have one name this may be wrong: then both sync, which loses nothing.
    """
    _name, _, place = holder.partition(" ")
    number, _, host = place.partition(" ")
    if not number or host != socket.gethostname():
        return False
    if sys.platform == "win32":  # where os.kill(…, 0) kills
        return False
    if int(number) == os.getpid():  # another had our number before us, as in a container
        return holder != this_process()
    try:
        os.kill(int(number), 0)
    except OSError as failure:
        return isinstance(failure, ProcessLookupError)
    return False


def _json(record: Record) -> dict[str, Any]:
    blank = Record()
    return {
        name: value
        for name in record.__dataclass_fields__
        if (value := getattr(record, name)) != getattr(blank, name)
    }
