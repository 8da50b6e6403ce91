"""The one way in which notes change: note, earlier version, tags and words in one transaction.

Tools, sync, import and restore all write through here. Each change of what a note says is a new
version, numbered on from the last, and what was there before is kept. Nothing here decides
whether a change may be made.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.toolsets.notes.models import Content, Note, Notebook, Source, SyncState
from rolltop.toolsets.notes.store import reading, versions, writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.db import Tx

_AT_ONCE: Final = 100


@dataclass(frozen=True)
class Backing:
    """What is known of a note at its backend; see `Note` for the fields."""

    sync_state: SyncState = "local"
    server_version: int | None = None
    base: Mapping[str, Any] | None = None


UNKNOWN: Final = Backing()


@dataclass(frozen=True)
class New:
    """A note that is to be made; without an id it gets one."""

    content: Content
    id: str | None = None
    backing: Backing = UNKNOWN


def create(
    tx: Tx, notebook: Notebook, content: Content, *, source: Source, backing: Backing = UNKNOWN
) -> Note:
    """Return a new note with an id of ours."""
    (note,) = create_all(tx, notebook, [New(content, backing=backing)], source=source)
    return note


def create_all(tx: Tx, notebook: Notebook, made: Sequence[New], *, source: Source) -> list[Note]:
    """Return new notes, in their order. Ids that are given must not be taken.

    A note whose id was there before goes on after the last version that is known of it.
    """
    kept: list[Note] = []
    for start in range(0, len(made), _AT_ONCE):
        batch = made[start : start + _AT_ONCE]
        named = [new.id for new in batch if new.id is not None]
        last = versions.latest(tx, notebook.account, named) if named else {}
        for note_id in last:
            versions.mark_gone(tx, notebook.account, note_id, None)
        drafts = [
            Note(
                number=0,
                account=notebook.account,
                id=new.id or str(uuid.uuid4()),
                content=new.content,
                local_version=last.get(new.id or "", 0) + 1,
                server_version=new.backing.server_version,
                sync_state=new.backing.sync_state,
                source=source,
                base=new.backing.base,
            )
            for new in batch
        ]
        kept += writing.add(tx, drafts)
    return kept


def change(
    tx: Tx,
    notebook: Notebook,
    note: Note,
    content: Content,
    *,
    source: Source,
    backing: Backing | None = None,
) -> Note:
    """Return the note, saying `content` now, as its next version.

    `note` must be as the store has it: read by `reading.hold` in the same transaction. Without
    `backing` what is known of the backend stays.
    """
    known = backing or Backing(note.sync_state, note.server_version, note.base)
    changed = replace(
        note,
        content=content,
        local_version=note.local_version + 1,
        source=source,
        sync_state=known.sync_state,
        server_version=known.server_version,
        base=known.base,
    )
    versions.add(tx, [note])
    if notebook.history:
        versions.trim(tx, notebook.account, note.id, notebook.history - 1)
    writing.put(tx, changed, note)
    return changed


def mark(tx: Tx, note: Note, backing: Backing) -> Note:
    """Return the note with what is known of its backend now; text and version stay."""
    marked = replace(
        note,
        sync_state=backing.sync_state,
        server_version=backing.server_version,
        base=backing.base,
    )
    writing.put(tx, marked, note)
    return marked


def erase(tx: Tx, notebook: Notebook, note: Note) -> int:
    """Delete a note for good; return its last version.

    What it said is kept in its history for 30 days, as all its versions are.
    """
    versions.add(tx, [note])
    versions.mark_gone(tx, notebook.account, note.id, tx.now.timestamp())
    writing.remove(tx, notebook.account, [note.number])
    return note.local_version


def forget_all(tx: Tx, notebook: Notebook) -> int:
    """Drop the copies of an account's notes; return how many. Their versions are kept.

    A note that the backend does not have is no copy, and stays.
    """
    last, gone = "", 0
    while batch := reading.after(tx, notebook.account, last, _AT_ONCE):
        copies = [note for note in batch if note.server_version is not None]
        versions.add(tx, copies)
        writing.remove(tx, notebook.account, [note.number for note in copies])
        last, gone = batch[-1].id, gone + len(copies)
    return gone


def purge(tx: Tx, keeps: float) -> int:
    """Forget what was deleted for good more than `keeps` seconds ago; return how many versions."""
    return versions.purge(tx, tx.now.timestamp() - keeps)
