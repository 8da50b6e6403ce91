"""Writes of the tools: to the backend first, and reported once the backend has them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.core.db import Tx
from rolltop.core.errors import Conflict
from rolltop.toolsets.notes.clients.failures import BackendFailed
from rolltop.toolsets.notes.clients.objects import content_of, object_of
from rolltop.toolsets.notes.service import changes
from rolltop.toolsets.notes.service.changes import Backing, New
from rolltop.toolsets.notes.service.remote import applying
from rolltop.toolsets.notes.service.remote.pushing import agree, keep_overwritten
from rolltop.toolsets.notes.service.remote.sending import send
from rolltop.toolsets.notes.store import reading, syncing
from rolltop.toolsets.notes.sync import says_the_same

if TYPE_CHECKING:
    from rolltop.toolsets.notes.clients.backend import RemoteNote
    from rolltop.toolsets.notes.models import Content, Note, Notebook, Source
    from rolltop.toolsets.notes.service.remote.link import Link
    from rolltop.toolsets.notes.service.remote.sending import Sent

_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class Change:
    """What a note is to say: the note as it was when that was decided (None: new), and what.

    `id` is of a new note that was there before.
    """

    note: Note | None
    content: Content
    source: Source = "local"
    id: str | None = None


Decide = Callable[[Tx], Change]
"""Decides in a transaction, on the note as it is there, and writes nothing.

It raises what the tool answers, and runs again when the note turns out to have changed.
"""


async def write(link: Link, note_id: str | None, decide: Decide, *, offline: bool) -> Note:
    """Return the note, as the backend has it now.

    The backend is asked for the note first, so that the decision is about what is there. With
    `offline` a change that cannot be sent is kept here, pending.

    Raises:
        BackendFailed: the backend did not take it, or may have (`may_have_arrived`); then
            the details name the note by its `id`.
        Conflict: the note went on changing at the backend.

    """
    new_id = str(uuid.uuid4())
    try:
        for attempt in range(_ATTEMPTS):
            if note_id is not None:
                await refresh(link, note_id)
            change = await link.write(decide)
            note = change.note
            new_id = change.id or new_id
            if note is not None and note.sync_state == "synced" and note.content == change.content:
                return note
            sent = await send(
                link.backend,
                new_id if note is None else note.id,
                change.content,
                None if note is None else made_from(note),
                None if note is None else note.server_version,
                again=attempt > 0,
            )
            if sent is not None:
                return await link.write(_keep, link.notebook, change, sent)
    except BackendFailed as failure:
        if not offline or failure.code == "BACKEND_REFUSED":
            if failure.may_have_arrived:
                failure.data["details"]["id"] = note_id or new_id
            raise
        return await link.write(_queue, link.notebook, decide, new_id)
    raise _restless()


async def delete(link: Link, note_id: str, decide: Callable[[Tx], Note]) -> tuple[int, int | None]:
    """Return the last versions, here and there, of a note that is deleted for good.

    `decide` returns the note in a transaction, or raises what the tool answers. This is never
    put off: what the backend was not asked to delete would come back.
    """
    for _attempt in range(_ATTEMPTS):
        await refresh(link, note_id)
        note = await link.write(decide)
        if note.server_version is not None and not await _deleted(link, note):
            continue
        version = await link.write(_erase, link.notebook, note)
        if version is not None:
            return version, note.server_version
    raise _restless()


async def refresh(link: Link, note_id: str) -> None:
    """Take what the backend has of one note, if that is not what is known here."""
    known = await link.read(reading.get, link.notebook.account, note_id)
    remote = await link.backend.get(note_id)
    version = None if known is None else known.server_version
    if remote is None:
        if version is not None:
            await link.write(applying.gone, link.notebook, note_id, version)
    elif known is None or not _is_known(known, remote):
        await link.write(applying.tell, link.notebook, remote, version)


def made_from(note: Note) -> dict[str, object] | None:
    """Return the backend's object that a note was made from, as far as it is known."""
    if note.base is not None:
        return dict(note.base)
    return object_of(note.content, None) if note.sync_state == "synced" else None


async def _deleted(link: Link, note: Note) -> bool:
    """Whether the note is deleted at the backend now; False where it has changed there."""
    change_id = str(uuid.uuid4())
    try:
        written = await link.backend.delete(note.id, note.server_version, change_id)
    except BackendFailed as failure:
        if not failure.may_have_arrived or await _is_there(link, note.id, failure):
            raise
        return True
    return written.outcome in {"stored", "gone", "duplicate", "unchanged"}


async def _is_there(link: Link, note_id: str, lost: BackendFailed) -> bool:
    try:
        return await link.backend.get(note_id) is not None
    except BackendFailed:
        raise lost from None


def _is_known(note: Note, remote: RemoteNote) -> bool:
    if note.server_version != remote.version:
        return False
    theirs = content_of(remote.data or {})
    if note.base is not None:
        return says_the_same(content_of(note.base), theirs)
    return says_the_same(note.content, theirs)


def _keep(tx: Tx, notebook: Notebook, change: Change, sent: Sent) -> Note:
    """Return the note with the backend's answer, in the store.

    What was sent becomes a version, whatever another process did to the note meanwhile.
    """
    syncing.hold(tx, notebook.account)  # so that nobody makes the same note now
    theirs = content_of(sent.note.data or {})
    present = reading.hold(tx, notebook.account, sent.note.id)
    if present is None:
        new = New(theirs, sent.note.id, Backing("synced", sent.note.version))
        return changes.create_all(tx, notebook, [new], source=change.source)[0]
    if change.note is not None:
        keep_overwritten(tx, notebook, change.note, change.content, made_from(change.note), sent)
    if _is_behind(present, change, sent):
        said = present
        if present.content != change.content:
            said = changes.change(tx, notebook, present, change.content, source=change.source)
        return agree(tx, notebook, said, sent)
    said = changes.change(tx, notebook, present, change.content, source=change.source)
    back = changes.change(tx, notebook, said, present.content, source=present.source)
    applying.tell(tx, notebook, sent.note, None)
    return reading.get(tx, notebook.account, sent.note.id) or back


def _is_behind(present: Note, change: Change, sent: Sent) -> bool:
    """Whether the backend's answer is what the note is to say now."""
    if change.note is not None and present.local_version == change.note.local_version:
        return True
    return present.sync_state == "synced" and (present.server_version or 0) <= sent.note.version


def _queue(tx: Tx, notebook: Notebook, decide: Decide, new_id: str) -> Note:
    """Return the note with a change that is still to be sent.

    A new note gets the id it was sent with: it may have arrived, and come here since.
    """
    change = decide(tx)
    if change.note is None:
        syncing.hold(tx, notebook.account)  # so that nobody makes the same note now
        present = reading.hold(tx, notebook.account, new_id)
        if present is not None:
            return present
        new = New(change.content, change.id or new_id, Backing("pending"))
        return changes.create_all(tx, notebook, [new], source=change.source)[0]
    note = reading.hold(tx, notebook.account, change.note.id)
    if note is None or note.local_version != change.note.local_version:
        raise _restless()
    if note.content == change.content:
        return note
    backing = Backing("pending", note.server_version, made_from(note))
    return changes.change(tx, notebook, note, change.content, source=change.source, backing=backing)


def _erase(tx: Tx, notebook: Notebook, note: Note) -> int | None:
    present = reading.hold(tx, notebook.account, note.id)
    if present is None:
        return note.local_version
    if present.local_version != note.local_version:
        return None
    return changes.erase(tx, notebook, present)


def _restless() -> Conflict:
    return Conflict(
        "The note is being changed elsewhere at this moment.",
        code="VERSION_CONFLICT",
        hint="Read the note again, then repeat the change on what it says now.",
    )
