"""What the backend tells, put into the store: one note, inside one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.notes.clients.objects import content_of
from rolltop.toolsets.notes.service import changes
from rolltop.toolsets.notes.service.changes import Backing, New
from rolltop.toolsets.notes.store import reading, syncing, versions
from rolltop.toolsets.notes.sync import (
    Past,
    conflict_copy,
    is_harm,
    reconcile,
    says_the_same,
    vanished,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.clients.backend import RemoteNote
    from rolltop.toolsets.notes.models import Content, Note, Notebook
    from rolltop.toolsets.notes.sync import Verdict

_LOOKED_BACK: Final = 50
"""Versions of a note among which a change of its own is recognised."""
_UNSENT: Final = frozenset({"local", "merge", "restore", "import", "conflict"})


@dataclass(frozen=True)
class Applied:
    """What came of telling the store: the notes changed, clashes, notes trashed or cut."""

    ids: tuple[str, ...] = ()
    conflicts: int = 0
    harm: int = 0

    @property
    def changed(self) -> int:
        """How many notes changed."""
        return len(self.ids)


@dataclass(frozen=True)
class Told:
    """Notes as the backend has them.

    `behind` names those that are at an earlier version there than here, with the version that was
    known here before the backend was asked for each of them alone.
    """

    notes: tuple[RemoteNote, ...]
    behind: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Step:
    """What is to become of one note; `note` is None for one that is new here."""

    remote: RemoteNote
    note: Note | None
    verdict: Verdict | None

    @property
    def harm(self) -> int:
        """1 where a note here goes into the trash or is cut to under a fifth."""
        if self.note is None or self.verdict is None:
            return 0
        return int(is_harm(self.note.content, self.verdict.content))


def steps(tx: Tx, notebook: Notebook, told: Told) -> list[Step]:
    """Return what is to become of notes that are so at the backend, each once.

    Notes that are here already are locked to the end of a transaction that writes.
    """
    newest = {remote.id: remote for remote in told.notes if remote.data is not None}
    here = reading.some(tx, notebook.account, list(newest))
    return [
        _step(tx, remote, reading.hold(tx, notebook.account, remote.id), told.behind)
        if remote.id in here
        else Step(remote, None, None)
        for remote in newest.values()
    ]


def take(tx: Tx, notebook: Notebook, planned: Sequence[Step]) -> Applied:
    """Return what came of the steps, carried out."""
    new = [step.remote for step in planned if step.note is None]
    changes.create_all(
        tx,
        notebook,
        [
            New(content_of(remote.data or {}), remote.id, Backing("synced", remote.version))
            for remote in new
        ],
        source="pull",
    )
    ids, conflicts, harm = [remote.id for remote in new], 0, 0
    for step in planned:
        if step.note is None or step.verdict is None:
            continue
        harm += step.harm
        ids.append(step.note.id)
        conflicts += step.verdict.copy is not None
        carry_out(tx, notebook, step.note, step.verdict)
    return Applied(tuple(ids), conflicts, harm)


def tell(tx: Tx, notebook: Notebook, remote: RemoteNote, known: int | None) -> Applied:
    """Return what came of one note that is so at the backend.

    `known` is the version known here before the backend was asked.
    """
    syncing.hold(tx, notebook.account)  # so that nobody makes the same note now
    behind = {remote.id: known} if known is not None and remote.version < known else {}
    return take(tx, notebook, steps(tx, notebook, Told((remote,), behind)))


def gone(tx: Tx, notebook: Notebook, note_id: str, known: int | None) -> bool:
    """Return whether a note was here that the backend has no more; it goes into the trash.

    `known` is the version known here before the backend was asked.
    """
    note = reading.hold(tx, notebook.account, note_id)
    if note is None or note.server_version is None or note.server_version != known:
        return False
    carry_out(tx, notebook, note, vanished(note))
    return True


def bring_back(tx: Tx, notebook: Notebook, note_id: str) -> bool:
    """Return whether a note whose copy was dropped is here again, in the trash.

    The backend has it no more: it was deleted there before a reset could notice.
    """
    syncing.hold(tx, notebook.account)  # so that nobody makes the same note now
    last = versions.latest(tx, notebook.account, [note_id]).get(note_id)
    kept = None if last is None else versions.get(tx, notebook.account, note_id, last)
    if kept is None or kept.gone_at is not None or reading.get(tx, notebook.account, note_id):
        return False
    content = replace(kept.content, trash=True)
    changes.create_all(tx, notebook, [New(content, note_id)], source="pull")
    return True


def carry_out(tx: Tx, notebook: Notebook, note: Note, verdict: Verdict) -> Note:
    """Return the note as the verdict wants it."""
    if verdict.copy is not None:
        keep_copy(tx, notebook, note, verdict.copy)
    backing = Backing(verdict.sync_state, verdict.server_version, verdict.base)
    if verdict.seen is not None:
        note = changes.change(tx, notebook, note, verdict.seen, source="pull")
    if verdict.content == note.content:
        return changes.mark(tx, note, backing)
    return changes.change(
        tx, notebook, note, verdict.content, source=verdict.source, backing=backing
    )


def past_of(tx: Tx, note: Note) -> Past:
    """Return what a note's earlier versions tell; they are read when that is asked."""

    def was_unsent(content: Content) -> bool:
        return _was_unsent(tx, note, content)

    def was_here(content: Content) -> bool:
        return _was_here(tx, note, content)

    return Past(was_unsent, was_here)


def _step(tx: Tx, remote: RemoteNote, note: Note | None, behind: Mapping[str, int]) -> Step:
    if note is None or remote.data is None:
        return Step(remote, note, None)
    known = note.server_version
    if known is not None and remote.version < known and behind.get(note.id) != known:
        return Step(remote, note, None)  # late news: somebody here knows better by now
    verdict = reconcile(note, remote.version, remote.data, past_of(tx, note))
    return Step(remote, note, verdict)


def _was_unsent(tx: Tx, note: Note, content: Content) -> bool:
    """Whether the note said this here since it was last as the backend has it."""
    base = None if note.base is None else content_of(note.base)
    if note.source not in _UNSENT:
        return False
    for head in versions.heads(tx, note.account, note.id)[:_LOOKED_BACK]:
        if head.source not in _UNSENT:
            return False
        version = versions.get(tx, note.account, note.id, head.local_version)
        if version is None or (base is not None and says_the_same(version.content, base)):
            return False
        if says_the_same(version.content, content):
            return True
    return False


def _was_here(tx: Tx, note: Note, content: Content) -> bool:
    """Whether a version of the note said this."""
    for head in versions.heads(tx, note.account, note.id)[:_LOOKED_BACK]:
        version = versions.get(tx, note.account, note.id, head.local_version)
        if version is not None and says_the_same(version.content, content):
            return True
    return False


def keep_copy(tx: Tx, notebook: Notebook, note: Note, ours: Content) -> None:
    """Let what clashed go on as a note of its own, which is still to be sent."""
    copy_id, content = conflict_copy(note.id, ours)
    if reading.get(tx, notebook.account, copy_id) is None:
        new = New(content, copy_id, Backing("pending"))
        changes.create_all(tx, notebook, [new], source="conflict")
