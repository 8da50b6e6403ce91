"""What note_manage does to one note: trash, deletion, history, restoration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rolltop.core import cursor as cursors
from rolltop.core.budget import Page
from rolltop.core.errors import Conflict, Invalid
from rolltop.toolsets.notes.models import CURSOR, Note, Notebook, Saved, Version, VersionHead
from rolltop.toolsets.notes.service import changes, checks, notebooks, saving
from rolltop.toolsets.notes.service.reading import missing
from rolltop.toolsets.notes.service.saving import Plan
from rolltop.toolsets.notes.store import reading, versions

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.models import JsonObject

_PAGE = 1000


def plan_trash(
    tx: Tx, notebook: Notebook, note_id: str, local_version: int, *, trash: bool
) -> Plan:
    """Return the plan that puts a note into the trash or takes it out."""
    note = _held(tx, notebook, note_id, local_version)
    return Plan(note, replace(note.content, trash=trash))


def erasable(tx: Tx, notebook: Notebook, note_id: str, local_version: int) -> Note:
    """Return a note that may be deleted for good: it is in the trash."""
    note = _held(tx, notebook, note_id, local_version)
    if not note.content.trash:
        raise Invalid(
            "delete_permanently works on notes in the trash",
            hint="Call note_manage with action trash first; nothing was deleted.",
        )
    return note


def erase(tx: Tx, notebook: Notebook, note_id: str, local_version: int) -> int:
    """Return the last version of a note, which is deleted for good now."""
    return changes.erase(tx, notebook, erasable(tx, notebook, note_id, local_version))


def restore(tx: Tx, notebook: Notebook, note_id: str, version: int, local_version: int) -> Saved:
    """Return a note that says again what an earlier version of it said."""
    planned = plan_restore(tx, notebook, note_id, version, local_version)
    return saving.keep(tx, notebook, planned, source="restore")


def plan_restore(
    tx: Tx, notebook: Notebook, note_id: str, version: int, local_version: int
) -> Plan:
    """Return the plan that brings back text and tags of an earlier version.

    A note that was deleted for good comes back, outside the trash.

    Raises:
        NotFound: there is no such note, or the version is not kept.
        Conflict: the note is not at `local_version`.

    """
    note = reading.hold(tx, notebook.account, checks.identifier(note_id))
    if note is None:
        kept = _gone_version(tx, notebook, note_id, version, local_version)
        content = replace(kept.content, trash=False, modified=tx.now.timestamp())
        return Plan(None, content, note_id)
    checks.require_version(note, local_version)
    if version == note.local_version:
        return Plan(note, note.content)
    kept = _kept(tx, notebook, note_id, version)
    now = note.content
    content = replace(now, text=kept.content.text, tags=kept.content.tags)
    if content != now:
        content = replace(content, modified=tx.now.timestamp())
    return Plan(note, content)


def history(tx: Tx, settings: Settings, note_id: str, cursor: str | None) -> Page:
    """Return the versions of a note that are kept, newest first. Raises NotFound."""
    notebook, _account = notebooks.current(tx, settings)
    note = reading.get(tx, notebook.account, checks.identifier(note_id))
    found = versions.heads(tx, notebook.account, note_id)
    if note is not None:
        found.insert(0, _head(note))
    if not found:
        raise checks.missing(note_id)
    kind = cursors.narrowed(CURSOR, note_id)
    if cursor is not None:
        last = _place(kind, cursor)
        found = [head for head in found if head.local_version < last]
    shown = found[:_PAGE]

    def envelope(items: list[JsonObject]) -> JsonObject:
        return {"versions": items}

    def cursor_after(index: int) -> str:
        return cursors.encode(kind, [shown[index].local_version])

    return Page([head.data for head in shown], envelope, cursor_after, len(found) > len(shown))


def _held(tx: Tx, notebook: Notebook, note_id: str, local_version: int) -> Note:
    note = reading.hold(tx, notebook.account, checks.identifier(note_id))
    if note is None:
        raise missing(tx, notebook, note_id)
    checks.require_version(note, local_version)
    return note


def _kept(tx: Tx, notebook: Notebook, note_id: str, version: int) -> Version:
    kept = None
    if 1 <= version < checks.MOST_VERSIONS:
        kept = versions.get(tx, notebook.account, note_id, version)
    if kept is None:
        raise checks.version_gone(note_id, version)
    return kept


def _gone_version(
    tx: Tx, notebook: Notebook, note_id: str, version: int, local_version: int
) -> Version:
    """Return a version of a note that was deleted for good."""
    last = versions.latest(tx, notebook.account, [note_id]).get(note_id)
    if last is None:
        raise checks.missing(note_id)
    if last != local_version:
        raise Conflict(
            f"local_version is {local_version}; the note was deleted at local_version {last}",
            code="VERSION_CONFLICT",
            hint=f"Call again with local_version {last}.",
            data={"details": {"id": note_id, "current_local_version": last}},
        )
    return _kept(tx, notebook, note_id, version)


def _head(note: Note) -> VersionHead:
    return VersionHead(
        note.local_version,
        note.server_version,
        note.content.modified,
        len(note.text.encode()),
        note.source,
    )


def _place(kind: str, text: str) -> int:
    values: list[Any] = cursors.decode(kind, text, code="INVALID_ARGUMENT")
    if len(values) != 1 or type(values[0]) is not int:
        raise cursors.refused("INVALID_ARGUMENT")
    return values[0]
