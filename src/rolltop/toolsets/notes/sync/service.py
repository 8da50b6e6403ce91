"""Syncs of accounts from beginning to end: when they are due, connected to what, how they went."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from rolltop.core import leases, logging
from rolltop.core.accounts import ensure_default_user
from rolltop.core.addresses import full_address
from rolltop.core.context import AppContext, ProgressCallback, ignore_progress
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.dispatch import internal_error
from rolltop.core.errors import RolltopError
from rolltop.core.leases import JobLease, LeaseLost, process_holder
from rolltop.core.principal import Principal
from rolltop.core.settings import Settings
from rolltop.toolsets.notes.clients import simperium
from rolltop.toolsets.notes.clients.backend import BackendError, CredentialsRejected
from rolltop.toolsets.notes.clients.http_client import HttpClient, RequestLimits
from rolltop.toolsets.notes.clients.simperium import (
    Credentials,
    SimplenoteBackend,
    SimplenoteEndpoints,
)
from rolltop.toolsets.notes.clients.token_store import TokenStore
from rolltop.toolsets.notes.models import (
    CONFLICT_TAG,
    LOCAL_ACCOUNT,
    Account,
)
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync import push
from rolltop.toolsets.notes.sync.connection import (
    AccountConnection,
    SyncRecord,
    acquire_lease,
    read_record,
    save_record,
    sync_principal,
)
from rolltop.toolsets.notes.sync.pull import compare_all, pull_changes
from rolltop.toolsets.notes.sync.remote_changes import ApplyResult, NeedsAccept

_COMPARISON_INTERVAL_SECONDS: Final = 86_400.0
_MAX_RETRY_SECONDS: Final = 1800.0


@dataclass
class SyncCounts:
    """How many notes a sync pulled, pushed, and so on."""

    pulled: int = 0
    pushed: int = 0
    conflicts: int = 0
    refused: int = 0

    def add(self, result: ApplyResult) -> None:
        """Count what was pulled."""
        self.pulled += len(result.ids)
        self.conflicts += result.conflicts


@dataclass(frozen=True)
class SyncOutcome:
    """What a sync did; `status` is idle, syncing (elsewhere), error or needs_accept."""

    counts: SyncCounts
    status: str
    error: RolltopError | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The outcome as the tools answer it."""
        return {
            "pulled": self.counts.pulled,
            "pushed": self.counts.pushed,
            "conflicts": self.counts.conflicts,
            "status": self.status,
        }


@dataclass(frozen=True)
class SyncStatus:
    """Counts of notes, and the account with the record of its last sync."""

    account: Account
    record: SyncRecord
    notes: int
    pending: int
    refused: int
    copies: int
    local: int


async def run_sync(
    connection: AccountConnection,
    interval: float,
    *,
    accept: bool = False,
    report: ProgressCallback = ignore_progress,
) -> SyncOutcome:
    """Sync once. At most one sync runs for an account, whatever the processes.

    `interval` is the seconds until the next one is due. A failure is in the outcome and in the
    account's record: a cursor moves, and a note changes its state, only with what was done.
    """
    connection, counts, failure = connection.for_sync(), SyncCounts(), None
    lease = await connection.write(acquire_lease, connection.holder)
    if lease is None:
        return SyncOutcome(counts, "syncing")
    connection = replace(connection, lease=lease)
    started = time.monotonic()
    try:
        await connection.backend.authenticate()
        await pull_changes(connection, counts, report, accept=accept)
        if await connection.read(_is_comparison_due):
            try:
                await compare_all(connection, counts, report, accept=accept)
            except BackendError as error:
                if error.is_overall:
                    raise
                failure = error  # maybe for one note: what waits here is sent all the same
        await push.push_changes(connection, counts, report)
    except LeaseLost:
        return SyncOutcome(counts, "syncing")
    except RolltopError as error:
        failure = error
    except Exception as error:  # noqa: BLE001  # this account waits, and the others' syncs go on
        failure = internal_error(error)
    except BaseException:
        await connection.write(_abandon_lease, lease)
        raise
    duration_ms = (time.monotonic() - started) * 1000.0
    account = await connection.write(_release_lease, lease, failure, duration_ms, interval)
    logging.event(
        "notes synced",
        status=account.status,
        code=None if failure is None else failure.code,
        user=connection.principal.user_id,
        pulled=counts.pulled,
        pushed=counts.pushed,
        conflicts=counts.conflicts,
    )
    return SyncOutcome(counts, account.status, failure)


def read_status(tx: Tx, settings: Settings) -> SyncStatus:
    """Read how the caller's notes and their sync are doing."""
    notebook, account = notebooks.open_notebook(tx, settings)
    account = account or Account(LOCAL_ACCOUNT, status="local")
    return SyncStatus(
        account=account,
        record=SyncRecord.from_account(account),
        notes=notebook.count(),
        pending=notebook.count("pending"),
        refused=notebook.count("conflict"),
        copies=notebook.count_tagged(CONFLICT_TAG),
        local=Notebook(tx).count(),
    )


@dataclass(frozen=True)
class LoginResult:
    """Where the token is stored, in words, and how many local notes the account adopted."""

    token_location: str
    adopted: int


class SyncService:
    """Connects accounts to their backend; one for each context."""

    def __init__(self, app: AppContext) -> None:
        self._app: Final = app
        self._tokens: Final[dict[str, str]] = {}
        self._tokens_lock: Final = threading.Lock()
        self._under_way: Final[set[tuple[str, str]]] = set()  # users' accounts
        self._has_synced = False

    @asynccontextmanager
    async def connect(
        self, principal: Principal, account: Account
    ) -> AsyncGenerator[AccountConnection]:
        """Open a connection; the first request without a token raises CredentialsRejected."""
        app, settings = self._app, self._app.settings
        if await app.database.read(principal, notebooks.get_account, account.account) is None:
            await app.database.write(principal, notebooks.ensure_account, account)
        name = _token_name(principal.user_id, account.account)
        credentials = await asyncio.to_thread(self._credentials, name, account)

        def notify(note_id: str) -> None:
            app.notify_changed(principal, full_address("note", note_id))

        async with self._http_client() as client:
            backend = SimplenoteBackend(
                SimplenoteEndpoints.from_settings(settings),
                credentials,
                client,
                f"rolltop-{process_holder()[:8]}",
                partial(self._cache_token, name),
            )
            try:
                yield AccountConnection(
                    app.database,
                    principal,
                    account.account,
                    settings["notes.history"],
                    backend,
                    process_holder(),
                    notify,
                )
            except CredentialsRejected:
                self._forget_tokens()
                raise

    async def run(
        self,
        connection: AccountConnection,
        *,
        accept: bool = False,
        report: ProgressCallback = ignore_progress,
    ) -> SyncOutcome:
        """Sync once, as `run_sync` does; the next one is due as the settings say."""
        account = (connection.principal.user_id, connection.account)
        if account in self._under_way:  # its lease keeps other processes away, not this one
            return SyncOutcome(SyncCounts(), "syncing")
        self._under_way.add(account)
        try:
            return await run_sync(connection, self._interval, accept=accept, report=report)
        finally:
            self._under_way.remove(account)

    async def request_code(self, email: str) -> None:
        """Let Simplenote mail a code. Raises CredentialsRejected and BackendError."""
        endpoints = SimplenoteEndpoints.from_settings(self._app.settings)
        async with self._http_client() as client:
            await simperium.request_code(endpoints, email, client)

    async def log_in(
        self, principal: Principal, email: str, code: str, *, with_local: bool
    ) -> LoginResult:
        """Exchange a mailed code for a token and make the account the one the caller works with.

        The token is stored first: an account without one could do nothing. Raises
        CredentialsRejected and BackendError.
        """
        settings = self._app.settings
        endpoints = SimplenoteEndpoints.from_settings(settings)
        async with self._http_client() as client:
            token = await simperium.exchange_code(endpoints, email, code, client)
        name = _token_name(principal.user_id, notebooks.account_key(email))
        location = await asyncio.to_thread(TokenStore(settings["data_dir"]).save, name, token)
        self._forget_tokens()
        adopted = await self._app.database.write(
            principal, notebooks.activate_account, email, with_local=with_local
        )
        return LoginResult(location, adopted)

    async def sync_due_accounts(self) -> None:
        """Sync every account that is due, one after another; all of them the first time."""
        app, settings = self._app, self._app.settings
        at_start, self._has_synced = not self._has_synced, True
        if at_start and settings["notes.simplenote.username"] and not settings["user"]:
            await app.database.write(SYSTEM, ensure_default_user)  # the account is theirs
        for user_id in await app.database.read(SYSTEM, notebooks.list_users, settings):
            principal = sync_principal(user_id)
            account = await app.database.read(
                principal, _find_due_account, settings, self._interval, at_start=at_start
            )
            if account is None:
                continue
            async with self.connect(principal, account) as connection:
                outcome = await self.run(connection)
            if outcome.error is not None:
                app.count("sync_errors", outcome.error.code)
            if isinstance(outcome.error, CredentialsRejected):
                self._forget_tokens()

    @property
    def _interval(self) -> float:
        return float(self._app.settings["notes.sync_interval"])

    @asynccontextmanager
    async def _http_client(self) -> AsyncGenerator[HttpClient]:
        timeout = float(self._app.settings["notes.api_timeout"])
        client = HttpClient(RequestLimits(timeout=timeout))
        try:
            yield client
        finally:
            await client.close()

    def _credentials(self, name: str, account: Account) -> Credentials:
        """Read the account's credentials from the settings, else the token of a login."""
        settings = self._app.settings
        username: str = settings["notes.simplenote.username"]
        with self._tokens_lock:
            token = self._tokens.get(name, "")
        if username and notebooks.account_key(username) == account.account:
            token = token or settings["notes.simplenote.token"]
            return Credentials(username, token, settings["notes.simplenote.password"])
        if not token:
            token = TokenStore(settings["data_dir"]).get(name) or ""
            self._cache_token(name, token)
        return Credentials(account.username or "", token)

    def _cache_token(self, name: str, token: str) -> None:
        with self._tokens_lock:
            self._tokens[name] = token

    def _forget_tokens(self) -> None:
        """Read tokens anew, from where they are stored or for a password, when next needed."""
        with self._tokens_lock:
            self._tokens.clear()


def _retry_delay(failures: int, interval: float) -> float:
    """Seconds until the next sync after so many failures in a row."""
    if failures == 0:
        return interval
    return max(interval, min(interval * 2.0 ** min(failures, 16), _MAX_RETRY_SECONDS))


def _is_due(account: Account, now: float, interval: float) -> bool:
    """Whether the next sync is due; a time too far off was written by a clock that ran ahead."""
    at = SyncRecord.from_account(account).next_at
    return at is None or not now < at <= now + max(interval, _MAX_RETRY_SECONDS)


def _abandon_lease(notebook: Notebook, lease: JobLease) -> None:
    if leases.release(notebook.tx, lease):
        account, record = read_record(notebook, lock=True)
        save_record(notebook, replace(account, status="idle"), record)


def _release_lease(
    notebook: Notebook,
    lease: JobLease,
    failure: RolltopError | None,
    duration_ms: float,
    interval: float,
) -> Account:
    """Give the lease back and record how the sync went."""
    is_ours = leases.release(notebook.tx, lease)
    account, record = read_record(notebook, lock=True)
    if not is_ours:
        return account
    now = notebook.tx.now.timestamp()
    failures = 0 if failure is None else account.error_count + 1
    next_at = now + _retry_delay(failures, interval)
    code = None if failure is None else failure.code
    record = replace(record, error=code, next_at=next_at)
    if failure is None:
        account = replace(account, status="idle", last_sync_at=now, sync_duration_ms=duration_ms)
        record = replace(record, destructive_changes=0)
    else:
        status = "needs_accept" if isinstance(failure, NeedsAccept) else "error"
        account = replace(account, status=status)
    return save_record(notebook, replace(account, error_count=failures), record)


def _is_comparison_due(notebook: Notebook) -> bool:
    at = read_record(notebook)[1].compared_at
    now = notebook.tx.now.timestamp()
    return at is None or not at <= now < at + _COMPARISON_INTERVAL_SECONDS


def delete_tokens(settings: Settings, owner_id: str, accounts: Iterable[str]) -> None:
    """Delete the tokens of logins to the accounts. Raises Unavailable: some may be left."""
    names = {_token_name(owner_id, account) for account in accounts}
    TokenStore(settings["data_dir"]).delete(names)


def _token_name(owner_id: str, account: str) -> str:
    return f"{owner_id}/{account}"


def _find_due_account(
    tx: Tx, settings: Settings, interval: float, *, at_start: bool
) -> Account | None:
    _notebook, account = notebooks.open_notebook(tx, settings)
    if account is None or at_start:
        return account
    return account if _is_due(account, tx.now.timestamp(), interval) else None
