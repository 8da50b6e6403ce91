"""What becomes of a note here when the backend tells what it has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rolltop.toolsets.notes.clients.objects import content_of
from rolltop.toolsets.notes.models import Content
from rolltop.toolsets.notes.sync.contents import says_the_same, together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rolltop.toolsets.notes.models import Note, Source, SyncState


@dataclass(frozen=True)
class Past:
    """What is known of a note's earlier versions here.

    `was_unsent(content)`: it said this since it was last as the backend has it.
    `was_here(content)`: it ever said this, as far back as versions are kept.
    """

    was_unsent: Callable[[Content], bool]
    was_here: Callable[[Content], bool]


@dataclass(frozen=True)
class Verdict:
    """What the note says from now on, and what is known of it at the backend.

    `seen`: what the backend says becomes a version of the note before that, since the note then
    says something else. `copy`: what the note said goes on as a note of its own.
    """

    content: Content
    sync_state: SyncState
    server_version: int | None
    base: Mapping[str, Any] | None = None
    source: Source = "pull"
    seen: Content | None = None
    copy: Content | None = None


def reconcile(note: Note, version: int, data: Mapping[str, Any], past: Past) -> Verdict | None:
    """Return what becomes of a note that is `data` at the backend; None: it stays as it is.

    A version before the one that was known means that the backend itself went back, as one
    restored from a backup does. What is here is sent again if it was made from what is there;
    if not, as where a known version says something else now, both are kept.
    """
    theirs = content_of(data)
    if says_the_same(note.content, theirs):
        return _in_step(note, version, theirs)
    if note.sync_state != "synced":
        return _rebased(note, version, data, theirs, past)
    if note.server_version is None or version > note.server_version:
        return Verdict(theirs, "synced", version)
    if version < note.server_version and past.was_here(theirs):
        return Verdict(note.content, "pending", version, data)
    return _both(note.content, version, theirs)


def vanished(note: Note) -> Verdict:
    """Return what becomes of a note that is not at the backend any more.

    What was changed here is sent again as a new note; else the note goes into the trash.
    """
    if note.sync_state in {"pending", "conflict"}:
        return Verdict(note.content, "pending", None)
    return Verdict(replace(note.content, trash=True), "local", None)


def _in_step(note: Note, version: int, theirs: Content) -> Verdict | None:
    is_known = note.sync_state == "synced" and note.server_version == version
    if is_known and note.content == theirs:
        return None
    return Verdict(theirs, "synced", version)


def _rebased(
    note: Note, version: int, data: Mapping[str, Any], theirs: Content, past: Past
) -> Verdict | None:
    """Return what becomes of a note with changes that the backend does not have."""
    ours = note.content
    base = None if note.base is None else content_of(note.base)
    is_refused = note.sync_state == "conflict"
    if (base is not None and says_the_same(base, theirs)) or past.was_unsent(theirs):
        if note.server_version == version and note.base == data:
            return None
        return Verdict(ours, "conflict" if is_refused else "pending", version, data)
    if base is None and ours.text == theirs.text:
        # What went into the trash because it was gone there was put there by nobody.
        base = Content(ours.text, trash=ours.trash if note.sync_state == "local" else theirs.trash)
    merged = None if base is None else together(base, ours, theirs)
    if merged is None:
        return _both(ours, version, theirs)
    if says_the_same(merged, theirs):
        return Verdict(theirs, "synced", version)
    return Verdict(merged, "pending", version, data, source="merge", seen=theirs)


def _both(ours: Content, version: int, theirs: Content) -> Verdict:
    """Return that the note is what the backend says, and ours goes on as a copy."""
    copy = ours if ours.text.strip() and ours.text != theirs.text else None
    return Verdict(theirs, "synced", version, copy=copy)
