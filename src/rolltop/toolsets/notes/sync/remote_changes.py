"""Changes at the backend, applied to the notes here inside one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rolltop.core.errors import RolltopError
from rolltop.toolsets.notes.models import BackendState, Content, NewNote, Note, Version
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync.merge import (
    MergeDecision,
    conflict_copy,
    decide_vanished,
    is_destructive,
    max_destructive_changes,
    reconcile,
)

if TYPE_CHECKING:
    from rolltop.toolsets.notes.clients.backend import RemoteNote


AskedNote = tuple["RemoteNote", "int | None"]
"""A note as the backend has it; if it was asked for it alone, the version known here before."""


class NeedsAccept(RolltopError):
    """The sync would trash or cut more notes than it may without being asked."""

    default_code = "NEEDS_ACCEPT"


@dataclass(frozen=True)
class ApplyResult:
    """The notes changed, and how many were conflicts or trashed or cut."""

    ids: tuple[str, ...] = ()
    conflicts: int = 0
    destructive_changes: int = 0


@dataclass(frozen=True)
class MergeStep:
    """The decision about one note; `note` is None if it is new here."""

    remote: RemoteNote
    note: Note | None
    decision: MergeDecision | None

    @property
    def is_destructive(self) -> bool:
        """Whether a note here goes into the trash or is cut to under a fifth."""
        if self.note is None or self.decision is None:
            return False
        return is_destructive(self.note.content, self.decision.content)


def plan_steps(notebook: Notebook, remotes: Iterable[AskedNote]) -> list[MergeStep]:
    """Decide about notes that are so at the backend, each once.

    Notes that are here already are locked to the end of a transaction that writes.
    """
    newest = {one[0].id: one for one in remotes if one[0].data is not None}
    here = notebook.get_many(list(newest))
    steps: list[MergeStep] = []
    for remote, known in newest.values():
        note = notebook.lock(remote.id) if remote.id in here else None
        decision = None
        if note is not None and not _is_outdated(note, remote, known):
            decision = reconcile(note, remote, notebook.iterate_versions(note.id))
        steps.append(MergeStep(remote, note, decision))
    return steps


def apply_steps(notebook: Notebook, steps: Sequence[MergeStep]) -> ApplyResult:
    """Carry out the decisions."""
    new = [
        NewNote(step.remote.content, step.remote.id, BackendState("synced", step.remote.version))
        for step in steps
        if step.note is None
    ]
    notebook.create(new, source="pull")
    ids = [one.id for one in new if one.id is not None]
    conflicts = 0
    for step in steps:
        if step.note is not None and step.decision is not None:
            ids.append(step.note.id)
            conflicts += step.decision.copy is not None
            apply_decision(notebook, step.note, step.decision)
    return ApplyResult(tuple(ids), conflicts, sum(step.is_destructive for step in steps))


def apply_note(notebook: Notebook, remote: RemoteNote, known: int | None) -> ApplyResult:
    """Apply one note of the backend; `known` is as in `AskedNote`."""
    lock_account(notebook)
    return apply_steps(notebook, plan_steps(notebook, [(remote, known)]))


def apply_within_limit(
    notebook: Notebook, remotes: Iterable[AskedNote], destructive_changes: int, *, accept: bool
) -> ApplyResult:
    """Apply notes of the backend after so many others. Raises NeedsAccept before any change."""
    steps = plan_steps(notebook, remotes)
    destructive_changes += sum(step.is_destructive for step in steps)
    require_safety_limit(notebook, destructive_changes, accept=accept)
    return apply_steps(notebook, steps)


def require_safety_limit(notebook: Notebook, destructive_changes: int, *, accept: bool) -> None:
    """Raise NeedsAccept if a sync would trash or cut more than it may unasked."""
    allowed = max_destructive_changes(notebook.count())
    if destructive_changes > allowed and not accept:
        raise NeedsAccept(
            f"This sync would put {destructive_changes} notes into the trash or cut them to under "
            "a fifth.",
            hint="`rolltop notes sync --dry-run` lists them, `… sync --accept` does it.",
            data={"details": {"notes": destructive_changes, "allowed": allowed}},
        )


def list_vanishing(notebook: Notebook, note_ids: Sequence[str]) -> dict[str, Content]:
    """Map notes that the backend has no more to their contents, if they will be trashed for that.

    Those whose copies were dropped come back into the trash.
    """
    here = notebook.get_many(note_ids)
    found = {
        note_id: note.content
        for note_id, note in here.items()
        if is_destructive(note.content, decide_vanished(note).content)
    }
    for note_id in note_ids:
        last = None if note_id in here else _get_dropped(notebook, note_id)
        if last is not None and not last.content.trash:
            found[note_id] = last.content
    return found


def trash_vanished(notebook: Notebook, note_id: str, known: int | None) -> ApplyResult:
    """Trash a note that the backend has no more, unless that is outdated.

    `known` is the version known here before the backend was asked.
    """
    note = notebook.lock(note_id)
    if note is None or note.server_version is None or note.server_version != known:
        return ApplyResult()
    decision = decide_vanished(note)
    apply_decision(notebook, note, decision)
    taken = is_destructive(note.content, decision.content)
    return ApplyResult((note_id,), destructive_changes=int(taken))


def restore_copy(notebook: Notebook, note_id: str) -> ApplyResult:
    """Bring a note whose copy was dropped back into the trash, unless it is here.

    The backend has it no more: it was deleted there before a reset could notice.
    """
    lock_account(notebook)
    last = _get_dropped(notebook, note_id)
    if last is None:
        return ApplyResult()
    new = NewNote(replace(last.content, trash=True), note_id)
    notebook.create([new], source="pull")
    return ApplyResult((note_id,), destructive_changes=int(not last.content.trash))


def apply_decision(notebook: Notebook, note: Note, decision: MergeDecision) -> Note:
    """Write the note as decided."""
    if decision.copy is not None:
        create_conflict_copy(notebook, note, decision.copy)
    if decision.seen is not None:
        note = notebook.write(note, decision.seen, source="pull")
    if decision.content == note.content:
        return notebook.set_backend_state(note, decision.backend)
    return notebook.write(note, decision.content, source=decision.source, backend=decision.backend)


def create_conflict_copy(notebook: Notebook, note: Note, ours: Content) -> None:
    """Let conflicting content continue as a note of its own, which is still to be sent."""
    copy_id, content = conflict_copy(note.id, ours)
    if notebook.get(copy_id) is None:
        notebook.create([NewNote(content, copy_id, BackendState("pending"))], source="conflict")


def lock_account(notebook: Notebook) -> None:
    """Keep others from creating the same note until the transaction ends."""
    notebooks.get_account(notebook.tx, notebook.account, lock=True)


def _is_outdated(note: Note, remote: RemoteNote, known: int | None) -> bool:
    """Whether another process here knows a newer version than this page of the backend."""
    version = note.server_version
    return version is not None and remote.version < version and known != version


def _get_dropped(notebook: Notebook, note_id: str) -> Version | None:
    """Read the last version of a note whose copy was dropped; None for any other."""
    last = notebook.latest_version(note_id)
    return None if last is None or last.erased_at is not None or notebook.get(note_id) else last
