"""One sync from its beginning to its end: pull, rebase, then push."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import logs
from rolltop.core.call import silent
from rolltop.core.errors import RolltopError
from rolltop.toolsets.notes.service.remote.comparing import compare
from rolltop.toolsets.notes.service.remote.link import LEASE, Record, Tally, change_account
from rolltop.toolsets.notes.service.remote.pulling import LeaseLost, NeedsAccept, pull
from rolltop.toolsets.notes.service.remote.pushing import push
from rolltop.toolsets.notes.store import accounts
from rolltop.toolsets.notes.sync import pause_after

if TYPE_CHECKING:
    from rolltop.core.call import Report
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Account
    from rolltop.toolsets.notes.service.remote.link import Link

COMPARE_EVERY: Final = 86_400.0


@dataclass(frozen=True)
class Synced:
    """What a sync did; `status` is idle, syncing (by another process), error or needs_accept."""

    tally: Tally
    status: str
    error: RolltopError | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The outcome as the tools answer it."""
        done = self.tally
        return {
            "pulled": done.pulled,
            "pushed": done.pushed,
            "conflicts": done.conflicts,
            "status": self.status,
        }


async def sync(
    link: Link, interval: float, *, accept: bool = False, report: Report = silent
) -> Synced:
    """Return what one sync did. At most one runs for an account, whatever the processes.

    `interval` is in seconds, for when the next one is due. What fails is in the outcome and in
    the account's record: a cursor moves, and a note changes its state, only with what was done.
    """
    if not await link.write(begin, link):
        return Synced(Tally(), "syncing")
    started = time.monotonic()
    tally, failure = Tally(), None
    try:
        await link.backend.authenticate()
        tally = await pull(link, tally, report, accept=accept)
        if await link.read(_is_comparison_due, link.notebook.account):
            tally = await compare(link, tally, report, accept=accept)
        tally = await push(link, tally, report)
    except LeaseLost:
        return Synced(tally, "syncing")
    except RolltopError as error:
        failure = error
    except BaseException:
        await link.write(_end, link, None, None, interval)
        raise
    spent = (time.monotonic() - started) * 1000.0
    account = await link.write(_end, link, failure, spent, interval)
    code = None if failure is None else failure.code
    logs.event(
        "notes synced",
        status=account.status,
        code=code,
        user=link.scope.user_id,
        pulled=tally.pulled,
        pushed=tally.pushed,
        conflicts=tally.conflicts,
    )
    return Synced(tally, account.status, failure)


def begin(tx: Tx, link: Link) -> bool:
    """Take the lease; False where another has it."""
    taken = False

    def change(account: Account, record: Record) -> tuple[Account, Record]:
        nonlocal taken
        now = tx.now.timestamp()
        if record.is_held(now) and record.holder != link.holder:
            return account, record
        taken = True
        held = replace(record, holder=link.holder, until=now + LEASE)
        return replace(account, status="syncing"), held

    change_account(tx, link.notebook.account, change)
    return taken


def _end(
    tx: Tx, link: Link, failure: RolltopError | None, spent: float | None, interval: float
) -> Account:
    """Give the lease back and keep how it went; `spent` (ms) is None for one broken off."""

    def change(account: Account, record: Record) -> tuple[Account, Record]:
        if record.holder != link.holder:
            return account, record
        now = tx.now.timestamp()
        free = replace(record, holder="", until=0.0)
        if spent is None:
            return replace(account, status="idle"), free
        count = 0 if failure is None else account.error_count + 1
        ended = replace(
            free,
            error=None if failure is None else failure.code,
            next_at=now + pause_after(count, interval),
            harm=0 if failure is None else free.harm,
        )
        if failure is None:
            kept = replace(account, status="idle", last_sync_at=now, sync_duration_ms=spent)
            return replace(kept, error_count=0), ended
        status = "needs_accept" if isinstance(failure, NeedsAccept) else "error"
        return replace(account, status=status, error_count=count), ended

    return change_account(tx, link.notebook.account, change)


def _is_comparison_due(tx: Tx, key: str) -> bool:
    account = accounts.get(tx, key)
    at = None if account is None else Record.of(account).compared_at
    now = tx.now.timestamp()
    return at is None or not at <= now < at + COMPARE_EVERY
