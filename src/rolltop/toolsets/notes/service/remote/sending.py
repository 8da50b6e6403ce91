"""One note to the backend, once: whatever gets lost on the way, nothing is written twice."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.notes.clients.backend import Written
from rolltop.toolsets.notes.clients.failures import BackendFailed
from rolltop.toolsets.notes.clients.objects import content_of, object_of
from rolltop.toolsets.notes.sync import includes, says_the_same

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rolltop.toolsets.notes.clients.backend import Backend, RemoteNote
    from rolltop.toolsets.notes.models import Content

_CHANGES: Final = uuid.UUID("b0b1a3a4-6a4e-4c0f-8f39-0f2f8a6f5d11")


@dataclass(frozen=True)
class Sent:
    """A note as the backend has it after a write.

    `between` is what another had written there meanwhile, which the backend merged with ours.
    """

    note: RemoteNote
    between: RemoteNote | None = None


class Changed(NamedTuple):
    """What is to be said, and what it was made from."""

    content: Content
    base: Content | None


async def send(  # what is sent, and what it was made from
    backend: Backend,
    note_id: str,
    content: Content,
    base: Mapping[str, Any] | None,
    version: int | None,
    *,
    again: bool = False,
) -> Sent | None:
    """Return what the backend has now; None where the note must be read anew first.

    The id of the change follows from what is sent and what it was made from: after a crash the
    same change has the same id. `again` asks for a new one. Raises BackendFailed.
    """
    data = object_of(content, base)
    change_id = str(uuid.uuid4()) if again else change_id_of(note_id, version, data)
    try:
        written = await backend.put(note_id, data, version, change_id)
    except BackendFailed as failure:
        if not failure.may_have_arrived:
            raise
        change = Changed(content, None if base is None else content_of(base))
        written = await _looked_up(backend, note_id, change, version, failure)
        if written is None:
            written = await backend.put(note_id, data, version, change_id)
    if written.outcome == "gone":
        whole = object_of(content, None)
        written = await backend.put(note_id, whole, None, str(uuid.uuid4()))
    if written.outcome in {"unchanged", "duplicate"}:
        present = await backend.get(note_id)
        change = Changed(content, None if base is None else content_of(base))
        if present is None or not _holds(present, change):
            return None
        return Sent(present, await _between(backend, present, version))
    if written.note is None:
        return None
    return Sent(written.note, await _between(backend, written.note, version))


def change_id_of(note_id: str, version: int | None, data: Mapping[str, Any]) -> str:
    """Return the id of one change of one version of one note."""
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return str(uuid.uuid5(_CHANGES, f"{note_id}\n{version}\n{digest}"))


async def _looked_up(
    backend: Backend, note_id: str, change: Changed, version: int | None, lost: BackendFailed
) -> Written | None:
    """Return what became of a write whose answer got lost; None where it never arrived."""
    try:
        present = await backend.get(note_id)
    except BackendFailed:
        raise lost from None
    if present is not None and _holds(present, change):
        return Written("stored", present)
    if (None if present is None else present.version) == version:
        return None
    return Written("stale")


async def _between(backend: Backend, note: RemoteNote, version: int | None) -> RemoteNote | None:
    """Return the version before ours where it is not the one ours was made from."""
    if version is None or note.version <= version + 1:
        return None
    try:
        return await backend.get(note.id, note.version - 1)
    except BackendFailed:
        return None  # the write is done; that it cannot be shown must not undo it


def _holds(present: RemoteNote, change: Changed) -> bool:
    """Whether the backend has a change, alone or merged with what others changed."""
    theirs = content_of(present.data or {})
    if says_the_same(theirs, change.content):
        return True
    return change.base is not None and includes(change.base, change.content, theirs)
