"""What changed here goes to the backend, each note on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.notes.clients.failures import BackendFailed
from rolltop.toolsets.notes.clients.objects import content_of, object_of
from rolltop.toolsets.notes.service import changes
from rolltop.toolsets.notes.service.changes import Backing
from rolltop.toolsets.notes.service.remote import applying
from rolltop.toolsets.notes.service.remote.applying import Applied
from rolltop.toolsets.notes.service.remote.link import change_account
from rolltop.toolsets.notes.service.remote.pulling import keep_lease
from rolltop.toolsets.notes.service.remote.sending import send
from rolltop.toolsets.notes.store import reading
from rolltop.toolsets.notes.sync import overwrites, reconcile, says_the_same

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rolltop.core.call import Report
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.clients.backend import RemoteNote
    from rolltop.toolsets.notes.models import Account, Content, Note, Notebook
    from rolltop.toolsets.notes.service.remote.link import Link, Record, Tally
    from rolltop.toolsets.notes.service.remote.sending import Sent

_AT_ONCE: Final = 50
_ATTEMPTS: Final = 3


async def push(link: Link, tally: Tally, report: Report) -> Tally:
    """Return the tally with what was sent. One note that is refused keeps no other back.

    Raises:
        BackendFailed: the backend is out of reach, or takes no more for now.
        LeaseLost: another process syncs this account now.

    """
    tried: set[str] = set()
    while True:
        pending = await link.read(_pending, link.notebook, len(tried) + _AT_ONCE)
        waiting = [note for note in pending if note.id not in tried]
        if not waiting:
            return tally
        for note in waiting:
            tried.add(note.id)
            tally = await _push_one(link, note, tally)
            report(tally.pushed, None, "notes to Simplenote")


async def _push_one(link: Link, note: Note, tally: Tally) -> Tally:
    """Return the tally after one note was sent, or was found to be refused or in step."""
    for attempt in range(_ATTEMPTS):
        try:
            sent = await send(
                link.backend,
                note.id,
                note.content,
                note.base,
                note.server_version,
                again=attempt > 0,
            )
        except BackendFailed as failure:
            if failure.code != "BACKEND_REFUSED":
                raise
            await link.write(_refuse, link, note)
            return tally.plus(refused=1)
        if sent is not None:
            came = await link.write(_settle, link, note, sent)
            link.tell(came.ids)
            return tally.plus(pushed=1, conflicts=came.conflicts)
        came, present = await reread(link, note)
        tally = tally.plus(conflicts=came.conflicts)
        if present is None or present.sync_state != "pending":
            return tally
        note = present
    return tally


async def reread(link: Link, note: Note) -> tuple[Applied, Note | None]:
    """Return what came of reading a note anew at the backend, and the note as it is then."""
    remote = await link.backend.get(note.id)
    return await link.write(_reread, link.notebook, note, remote)


def settled(tx: Tx, notebook: Notebook, note: Note, sent: Sent) -> Applied:
    """Return what came of the backend's answer to `note`, as it was when it was sent.

    The answer is the truth. What was changed here since then is kept, as a change of what was
    sent.
    """
    remote = sent.note
    present = reading.hold(tx, notebook.account, note.id)
    if present is None:
        return Applied()
    known = present.server_version
    if known is not None and known > remote.version and known != note.server_version:
        return Applied()  # another process here knows better by now
    kept = keep_overwritten(tx, notebook, note, note.content, note.base, sent)
    if present.local_version == note.local_version:
        agree(tx, notebook, present, sent)
        return Applied((note.id,), kept)
    rebased = replace(
        present,
        sync_state="pending",
        server_version=note.server_version,
        base=object_of(note.content, note.base),
    )
    verdict = reconcile(rebased, remote.version, remote.data or {}, applying.past_of(tx, rebased))
    if verdict is None:
        return Applied((), kept)
    applying.carry_out(tx, notebook, present, verdict)
    return Applied((note.id,), kept + int(verdict.copy is not None))


def keep_overwritten(
    tx: Tx,
    notebook: Notebook,
    note: Note,
    ours: Content,
    base: Mapping[str, Any] | None,
    sent: Sent,
) -> int:
    """Keep as a note of its own what another wrote and the backend's merge left out.

    Returns how many such notes there are, 0 or 1.
    """
    if sent.between is None or base is None:
        return 0
    theirs = content_of(sent.between.data or {})
    merged = content_of(sent.note.data or {})
    if says_the_same(theirs, ours) or not overwrites(content_of(base), theirs, merged):
        return 0
    applying.keep_copy(tx, notebook, note, theirs)
    return 1


def agree(tx: Tx, notebook: Notebook, note: Note, sent: Sent) -> Note:
    """Return the note, which says what was sent, as the backend has it now."""
    theirs = content_of(sent.note.data or {})
    backing = Backing("synced", sent.note.version)
    if theirs == note.content:
        return changes.mark(tx, note, backing)
    between = None if sent.between is None else content_of(sent.between.data or {})
    if between is not None and not says_the_same(between, note.content):
        note = changes.change(tx, notebook, note, between, source="pull")
    return changes.change(tx, notebook, note, theirs, source="push", backing=backing)


def _pending(tx: Tx, notebook: Notebook, limit: int) -> list[Note]:
    return reading.in_state(tx, notebook.account, ["pending"], limit)


def _settle(tx: Tx, link: Link, note: Note, sent: Sent) -> Applied:
    _prolong(tx, link)
    return settled(tx, link.notebook, note, sent)


def _refuse(tx: Tx, link: Link, sent: Note) -> None:
    """Let a note that the backend does not take wait until it is changed, or lists are compared."""
    _prolong(tx, link)
    present = reading.hold(tx, link.notebook.account, sent.id)
    if present is not None and present.local_version == sent.local_version:
        changes.mark(tx, present, Backing("conflict", present.server_version, present.base))


def _reread(
    tx: Tx, notebook: Notebook, note: Note, remote: RemoteNote | None
) -> tuple[Applied, Note | None]:
    if remote is None:
        applying.gone(tx, notebook, note.id, note.server_version)
        came = Applied()
    else:
        came = applying.tell(tx, notebook, remote, note.server_version)
    return came, reading.get(tx, notebook.account, note.id)


def _prolong(tx: Tx, link: Link) -> None:
    def change(account: Account, record: Record) -> tuple[Account, Record]:
        return account, keep_lease(tx, account, record, link.holder)

    change_account(tx, link.notebook.account, change)
