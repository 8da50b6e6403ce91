"""The whole list compared with what is here: what was deleted for good elsewhere, or missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.toolsets.notes.clients.failures import BackendFailed
from rolltop.toolsets.notes.service import changes
from rolltop.toolsets.notes.service.changes import Backing
from rolltop.toolsets.notes.service.remote import applying
from rolltop.toolsets.notes.service.remote.applying import Applied, Told
from rolltop.toolsets.notes.service.remote.link import change_account
from rolltop.toolsets.notes.service.remote.pulling import (
    keep_lease,
    require_within,
    take_checked,
)
from rolltop.toolsets.notes.store import reading, versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.core.call import Report
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.clients.backend import RemoteNote
    from rolltop.toolsets.notes.models import Account, Notebook
    from rolltop.toolsets.notes.service.remote.link import Link, Record, Tally

PAGE: Final = 1000


async def compare(link: Link, tally: Tally, report: Report, *, accept: bool) -> Tally:
    """Return the tally after the list at the backend was compared with the notes here.

    A list may be wrong: a note counts as deleted only when the backend, asked for it alone, does
    not have it. Raises NeedsAccept, LeaseLost and BackendFailed.
    """
    known = await link.read(_known, link.notebook)
    there = await _listed(link)
    if there is None:
        return tally
    missing = [note_id for note_id in known if note_id not in there]
    await link.read(_require_few, link.notebook, missing, accept=accept)
    dropped = await link.read(versions.dropped, link.notebook.account)
    missing += [note_id for note_id in dropped if note_id not in there]
    other = [note_id for note_id, version in there.items() if known.get(note_id) != version]
    for done, note_id in enumerate([*missing, *other]):
        try:
            remote = await link.backend.get(note_id)
        except BackendFailed as failure:
            if failure.data["subcategory"] != "unknown":
                raise
            continue  # a note of a form this program doesn't know
        came = await link.write(_take, link, note_id, remote, known.get(note_id), accept=accept)
        tally = tally.plus(pulled=came.changed, conflicts=came.conflicts)
        link.tell(came.ids)
        report(done + 1, len(missing) + len(other), "notes compared")
    await link.write(_compared, link)
    return tally


async def deleted_elsewhere(link: Link) -> list[str]:
    """Return the ids of notes here that the backend, asked for each alone, does not have."""
    known = await link.read(_known, link.notebook)
    there = await _listed(link)
    missing = [] if there is None else [note_id for note_id in known if note_id not in there]
    return [note_id for note_id in missing if await link.backend.get(note_id) is None]


async def _listed(link: Link) -> dict[str, int] | None:
    """Return the version of every note at the backend; None if the list broke off."""
    there: dict[str, int] = {}
    mark = None
    while True:
        page = await link.backend.index(limit=PAGE, mark=mark, since=None, data=False)
        if page is None:
            return None
        there |= {remote.id: remote.version for remote in page.notes}
        mark = page.mark
        if mark is None:
            return there


def _known(tx: Tx, notebook: Notebook) -> dict[str, int]:
    versions = reading.server_versions(tx, notebook.account)
    return {note_id: version for note_id, version in versions.items() if version is not None}


def _require_few(tx: Tx, notebook: Notebook, missing: list[str], *, accept: bool) -> None:
    here = reading.some(tx, notebook.account, missing)
    harm = sum(not note.content.trash for note in here.values())
    require_within(tx, notebook, harm, accept=accept)


def _take(
    tx: Tx,
    link: Link,
    note_id: str,
    remote: RemoteNote | None,
    known: int | None,
    *,
    accept: bool,
) -> Applied:
    """Return what came of one note that the list told something new about."""
    _change(tx, link, {})
    if remote is None:
        if known is None:
            is_trashed = applying.bring_back(tx, link.notebook, note_id)
        else:
            is_trashed = applying.gone(tx, link.notebook, note_id, known)
        return Applied((note_id,) if is_trashed else ())
    behind = {note_id: known} if known is not None and remote.version < known else {}
    return take_checked(tx, link, Told((remote,), behind), 0, accept=accept)


def _compared(tx: Tx, link: Link) -> None:
    """Note when it was; what the backend refused is tried again, for it may take it by now."""
    _change(tx, link, {"compared_at": tx.now.timestamp()})
    for refused in reading.in_state(tx, link.notebook.account, ["conflict"], PAGE):
        note = reading.hold(tx, link.notebook.account, refused.id)
        if note is not None and note.sync_state == "conflict":
            changes.mark(tx, note, Backing("pending", note.server_version, note.base))


def _change(tx: Tx, link: Link, values: Mapping[str, float]) -> None:
    def change(account: Account, record: Record) -> tuple[Account, Record]:
        kept = keep_lease(tx, account, record, link.holder)
        return account, kept.with_(values)

    change_account(tx, link.notebook.account, change)
