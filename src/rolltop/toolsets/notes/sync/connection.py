"""A connection of one account to its backend, and the record of its sync with the lease."""

from __future__ import annotations

import functools
import os
import socket
import sys
import uuid
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from rolltop.core.db import Database, Tx
from rolltop.core.errors import RolltopError
from rolltop.core.principal import Principal
from rolltop.toolsets.notes.models import Account
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.store.notebooks import Notebook

if TYPE_CHECKING:
    from rolltop.toolsets.notes.clients.backend import Backend

P = ParamSpec("P")
T = TypeVar("T")

# A sync under way keeps others away for so many seconds after its last sign of life.
LEASE_SECONDS: Final = 120.0


class LeaseLost(RolltopError):
    """Another process has taken the sync over."""

    default_code = "LEASE_LOST"


@dataclass(frozen=True)
class AccountConnection:
    """One account of one user, with its notes and its backend.

    `holder` names this process in the lease; `on_change(note_id)` is called for each note that a
    sync changed.
    """

    database: Database
    principal: Principal
    account: str
    history: int
    backend: Backend
    holder: str = ""
    on_change: Callable[[str], None] | None = None

    def for_sync(self) -> AccountConnection:
        """Return the connection for what comes from the backend, whatever call made it come.

        The caller did not write it, and does not take it back.
        """
        return replace(self, principal=sync_principal(self.principal.user_id))

    async def read(
        self, function: Callable[Concatenate[Notebook, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(notebook, …)` in one read transaction."""

        def run(tx: Tx) -> T:
            return function(Notebook(tx, self.account, self.history), *args, **kwargs)

        return await self.database.read(self.principal, run)

    async def write(
        self, function: Callable[Concatenate[Notebook, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(notebook, …)` in one write transaction; return once it is on disk."""

        def run(tx: Tx) -> T:
            return function(Notebook(tx, self.account, self.history), *args, **kwargs)

        return await self.database.write(self.principal, run)

    def notify_changes(self, note_ids: Iterable[str]) -> None:
        """Tell those who listen that notes have changed."""
        if self.on_change is not None:
            for note_id in note_ids:
                self.on_change(note_id)


@dataclass(frozen=True)
class SyncRecord:
    """What the sync stores of an account between its steps, as the JSON of `Account.state`.

    `holder` and `until` are the lease; `since`, `mark` and `current` the position of a pull under
    way, `destructive_changes` the notes it trashed or cut so far. `error` is the code of the last
    failure, `compared_at` the last full comparison, `next_at` when the next sync is due.
    """

    holder: str = ""
    until: float = 0.0
    is_pulling: bool = False
    since: str | None = None
    mark: str | None = None
    current: str | None = None
    destructive_changes: int = 0
    compared_at: float | None = None
    next_at: float | None = None
    error: str | None = None
    unreadable: int = 0

    @classmethod
    def from_account(cls, account: Account) -> SyncRecord:
        """Read the record of an account; unknown keys of another program version are ignored."""
        known = {
            one.name: account.state[one.name] for one in fields(cls) if one.name in account.state
        }
        return cls(**known)

    def is_leased(self, now: float) -> bool:
        """Whether a sync holds the lease.

        One from a clock that ran ahead has ended, and so has one of a process that was killed.
        """
        in_time = bool(self.holder) and now < self.until <= now + LEASE_SECONDS
        return in_time and not _has_exited(self.holder)


def sync_principal(user_id: str) -> Principal:
    """Return the principal under which the journal keeps what came from a backend."""
    return Principal.for_user(user_id, actor="sync")


@functools.cache
def process_holder() -> str:
    """Name this process as a holder of leases, unlike any other."""
    return f"{uuid.uuid4()} {os.getpid()} {socket.gethostname()}"


def read_record(notebook: Notebook, *, lock: bool = False) -> tuple[Account, SyncRecord]:
    """Read the account and its record; with `lock`, locked to the transaction's end."""
    account = notebooks.get_account(notebook.tx, notebook.account, lock=lock)
    account = account or Account(notebook.account)
    return account, SyncRecord.from_account(account)


def save_record(notebook: Notebook, account: Account, record: SyncRecord) -> Account:
    """Store an account with its record, without values that are the defaults."""
    default = asdict(SyncRecord())
    state = {name: value for name, value in asdict(record).items() if value != default[name]}
    account = replace(account, state=state)
    notebooks.upsert_account(notebook.tx, account)
    return account


def acquire_lease(notebook: Notebook, holder: str) -> bool:
    """Take the lease; False if another sync holds it."""
    account, record = read_record(notebook, lock=True)
    now = notebook.tx.now.timestamp()
    if record.is_leased(now) and record.holder != holder:
        return False
    record = replace(record, holder=holder, until=now + LEASE_SECONDS)
    save_record(notebook, replace(account, status="syncing"), record)
    return True


def renew_lease(notebook: Notebook, holder: str) -> tuple[Account, SyncRecord]:
    """Prolong the lease; return the account and its record, locked. Raises LeaseLost."""
    account, record = read_record(notebook, lock=True)
    if record.holder != holder:
        raise LeaseLost(f"Another process syncs {account.username} now.", hint="Nothing to do.")
    record = replace(record, until=notebook.tx.now.timestamp() + LEASE_SECONDS)
    return save_record(notebook, account, record), record


def _has_exited(holder: str) -> bool:
    """Whether a holder was a process of this machine that has ended; False if nobody knows.

    If two machines share a name this may be wrong: then both sync, which loses nothing.
    """
    _name, _, rest = holder.partition(" ")
    number, _, host = rest.partition(" ")
    if not number or host != socket.gethostname():
        return False
    if sys.platform == "win32":  # where os.kill(…, 0) kills
        return False
    if int(number) == os.getpid():  # another had our number before us, as in a container
        return holder != process_holder()
    try:
        os.kill(int(number), 0)
    except OSError as failure:
        return isinstance(failure, ProcessLookupError)
    return False
