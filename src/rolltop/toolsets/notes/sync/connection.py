"""A connection of one account to its backend, and the record of its sync with the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from rolltop.core import leases
from rolltop.core.db import Database, Tx
from rolltop.core.leases import JobLease, LeaseLost
from rolltop.core.principal import Principal
from rolltop.toolsets.notes.models import Account
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.store.notebooks import Notebook

if TYPE_CHECKING:
    from rolltop.toolsets.notes.clients.backend import Backend

P = ParamSpec("P")
T = TypeVar("T")

_MAX_UNREAD: Final = 10_000


@dataclass(frozen=True)
class AccountConnection:
    """One account of one user, with its notes and its backend.

    `on_change(note_id)` is called for each note that a sync changed. `holder` names this process in
    the lease, which a sync under way has.
    """

    database: Database
    principal: Principal
    account: str
    history: int
    backend: Backend
    holder: str = ""
    on_change: Callable[[str], None] | None = None
    lease: JobLease | None = None

    def for_sync(self) -> AccountConnection:
        """Return the connection for what comes from the backend, whatever call made it come.

        The caller did not write it, and does not take it back.
        """
        return replace(self, principal=sync_principal(self.principal.user_id))

    async def read(
        self, function: Callable[Concatenate[Notebook, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(notebook, …)` in one read transaction."""
        return await self.database.read(
            self.principal, lambda tx: function(self._open(tx), *args, **kwargs)
        )

    async def write(
        self, function: Callable[Concatenate[Notebook, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(notebook, …)` in one write transaction; return once it is on disk."""
        return await self.database.write(
            self.principal, lambda tx: function(self._open(tx), *args, **kwargs)
        )

    def _open(self, tx: Tx) -> Notebook:
        return Notebook(tx, self.account, self.history)

    def notify_changes(self, note_ids: Iterable[str]) -> None:
        """Tell those who listen that notes have changed."""
        if self.on_change is not None:
            for note_id in note_ids:
                self.on_change(note_id)


@dataclass(frozen=True)
class SyncRecord:
    """What the sync stores of an account between its steps, as the JSON of `Account.state`.

    `since`, `mark` and `current` are the position of a pull under way, `destructive_changes` the
    notes trashed or cut since the last sync that did not fail. `error` is the code of the last
    failure, `compared_at` the last full comparison, `next_at` when the next sync is due. `unread`
    are the ids of notes that are too large there, or of an unknown form: they are left alone.
    """

    is_pulling: bool = False
    since: str | None = None
    mark: str | None = None
    current: str | None = None
    destructive_changes: int = 0
    compared_at: float | None = None
    next_at: float | None = None
    error: str | None = None
    unread: list[str] = field(default_factory=list[str])

    @classmethod
    def from_account(cls, account: Account) -> SyncRecord:
        """Read the record of an account; unknown keys of another program version are ignored."""
        known = {
            one.name: account.state[one.name] for one in fields(cls) if one.name in account.state
        }
        return cls(**known)

    def with_unread(self, added: Iterable[str], removed: Iterable[str]) -> SyncRecord:
        """Return the record with notes added to those that are not read, and others removed."""
        unread = set(self.unread).difference(removed).union(added)
        return replace(self, unread=sorted(unread)[:_MAX_UNREAD])

    def with_destructive(self, count: int, *, accept: bool) -> SyncRecord:
        """Return the record with more destructive changes; accepted ones do not count."""
        total = 0 if accept else self.destructive_changes + count
        return replace(self, destructive_changes=total)


def sync_principal(user_id: str) -> Principal:
    """Return the principal under which the journal keeps what came from a backend."""
    return Principal.for_user(user_id, actor="sync")


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


def acquire_lease(notebook: Notebook, holder: str) -> JobLease | None:
    """Take the lease of the account's sync; None if another process has it."""
    lease = leases.acquire(notebook.tx, _lease_name(notebook.account), holder)
    if lease is not None:
        account, record = read_record(notebook, lock=True)
        save_record(notebook, replace(account, status="syncing"), record)
    return lease


def revoke_lease(tx: Tx, account: str) -> None:
    """Let a sync of the account that is under way write nothing more."""
    leases.revoke(tx, _lease_name(account))


def renew_lease(notebook: Notebook, lease: JobLease | None) -> tuple[Account, SyncRecord]:
    """Prolong the lease; return the account and its record, locked. Raises LeaseLost."""
    if lease is None:
        raise LeaseLost(f"No sync of {notebook.account} is under way.", hint="Nothing to do.")
    leases.renew(notebook.tx, lease)
    return read_record(notebook, lock=True)


def _lease_name(account: str) -> str:
    return f"notes.sync {account}"
