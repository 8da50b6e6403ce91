"""What changed at the backend comes here, page by page; each page is one transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import RolltopError
from rolltop.toolsets.notes.clients.failures import BodyTooLong
from rolltop.toolsets.notes.service.remote import applying
from rolltop.toolsets.notes.service.remote.applying import Told
from rolltop.toolsets.notes.service.remote.link import LEASE, Record, change_account
from rolltop.toolsets.notes.store import accounts, reading
from rolltop.toolsets.notes.sync import allowance

if TYPE_CHECKING:
    from rolltop.core.call import Report
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.clients.backend import IndexPage, RemoteNote
    from rolltop.toolsets.notes.models import Account, Notebook
    from rolltop.toolsets.notes.service.remote.link import Link, Tally

FULL_PAGE: Final = 100
DELTA_PAGE: Final = 500


class NeedsAccept(RolltopError):
    """The sync would trash or cut more notes than it may without being asked."""

    default_code = "NEEDS_ACCEPT"


class LeaseLost(RolltopError):
    """Another process has taken the sync over."""

    default_code = "LEASE_LOST"


@dataclass(frozen=True)
class Pull:
    """How far a pull has come: of which list, which part is next, what it did so far."""

    since: str | None
    mark: str | None = None
    current: str | None = None
    harm: int = 0

    @property
    def size(self) -> int:
        """How many notes a page holds."""
        return FULL_PAGE if self.since is None else DELTA_PAGE


async def pull(link: Link, tally: Tally, report: Report, *, accept: bool) -> Tally:
    """Return the tally with what was pulled. The cursor moves once the last page is in.

    Raises:
        NeedsAccept: a page would trash or cut too much; it was not taken.
        LeaseLost: another process syncs this account now.

    """
    at = await link.read(_where, link.notebook)
    size = at.size
    while True:
        try:
            page = await link.backend.index(limit=size, mark=at.mark, since=at.since, data=True)
        except BodyTooLong:
            if size == 1:
                raise
            size = max(1, size // 8)
            continue
        if page is None:  # the cursor is of a list that the backend has no more: read it all
            at = Pull(None)
            size = at.size
            continue
        told = await confirmed(link, page.notes)
        done, at = await link.write(_take_page, link, at, page, told, accept=accept)
        tally = tally.plus(pulled=done.changed, conflicts=done.conflicts)
        link.tell(done.ids)
        report(tally.pulled, None, "notes from Simplenote")
        if page.mark is None:
            return tally


async def confirmed(link: Link, remotes: tuple[RemoteNote, ...]) -> Told:
    """Return the notes, those that are behind what is known asked for again.

    A page may be older than a write of another process that came between, so only what the
    backend says on its own counts.
    """
    notes: list[RemoteNote] = []
    behind: dict[str, int] = {}
    known = await link.read(_known, link.notebook, [remote.id for remote in remotes])
    for remote in remotes:
        version = known.get(remote.id)
        if version is None or remote.version >= version:
            notes.append(remote)
            continue
        present = await link.backend.get(remote.id)
        if present is not None:
            notes.append(present)
            behind[remote.id] = version
    return Told(tuple(notes), behind)


def require_within(tx: Tx, notebook: Notebook, harm: int, *, accept: bool) -> None:
    """Raise NeedsAccept where a sync has trashed or cut more than it may unasked."""
    allowed = allowance(reading.count(tx, notebook.account))
    if harm > allowed and not accept:
        raise NeedsAccept(
            f"This sync would put {harm} notes into the trash or cut them to under a fifth.",
            hint="`rolltop notes sync --dry-run` lists them, `… sync --accept` does it.",
            data={"details": {"notes": harm, "allowed": allowed}},
        )


def keep_lease(tx: Tx, account: Account, record: Record, holder: str) -> Record:
    """Return the record with the lease prolonged. Raises LeaseLost where it is another's."""
    if record.holder != holder:
        raise LeaseLost(f"Another process syncs {account.username} now.", hint="Nothing to do.")
    return replace(record, until=tx.now.timestamp() + LEASE)


def _where(tx: Tx, notebook: Notebook) -> Pull:
    """Return where to go on: in a pull that was broken off, else from the cursor."""
    account = accounts.get(tx, notebook.account)
    if account is None:
        return Pull(None)
    record = Record.of(account)
    if record.is_pulling:
        return Pull(record.since, record.mark, record.current, record.harm)
    return Pull(account.cursor)


def _known(tx: Tx, notebook: Notebook, ids: list[str]) -> dict[str, int | None]:
    here = reading.some(tx, notebook.account, ids)
    return {note_id: note.server_version for note_id, note in here.items()}


def _take_page(
    tx: Tx, link: Link, at: Pull, page: IndexPage, told: Told, *, accept: bool
) -> tuple[applying.Applied, Pull]:
    """Return what came of a page, and where to go on; both are one transaction."""
    reached = Pull(at.since, page.mark, at.current or page.current, at.harm)
    done = applying.Applied()

    def change(account: Account, record: Record) -> tuple[Account, Record]:
        nonlocal reached, done
        record = keep_lease(tx, account, record, link.holder)
        done = take_checked(tx, link, told, at.harm, accept=accept)
        reached = replace(reached, harm=at.harm + done.harm)
        if page.mark is not None:
            return account, replace(
                record,
                is_pulling=True,
                since=reached.since,
                mark=reached.mark,
                current=reached.current,
                harm=reached.harm,
                unreadable=page.unreadable,
            )
        compared = record.compared_at
        if at.since is None:  # nothing can have gone from a list that is read for the first time
            compared = tx.now.timestamp() if _is_first(account, record) else None
        ended = replace(
            record,
            is_pulling=False,
            since=None,
            mark=None,
            current=None,
            harm=reached.harm,
            compared_at=compared,
        )
        return replace(account, cursor=reached.current), ended

    change_account(tx, link.notebook.account, change)
    return done, reached


def take_checked(tx: Tx, link: Link, told: Told, harm: int, *, accept: bool) -> applying.Applied:
    """Return what came of notes from the backend. Raises NeedsAccept before anything is done."""
    planned = applying.steps(tx, link.notebook, told)
    require_within(tx, link.notebook, harm + sum(step.harm for step in planned), accept=accept)
    return applying.take(tx, link.notebook, planned)


def _is_first(account: Account, record: Record) -> bool:
    return account.cursor is None and record.compared_at is None and account.last_sync_at is None
