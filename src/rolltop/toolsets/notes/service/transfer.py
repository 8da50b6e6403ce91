"""Notes out of the store and into it, batch by batch; what is there is never lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.notes.formats import Portable
from rolltop.toolsets.notes.service import changes, notebooks
from rolltop.toolsets.notes.store import reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.models import Note, Notebook

BATCH: Final = 100


@dataclass(frozen=True)
class Tally:
    """What became of notes that were brought: each is counted once.

    `older` were changed here after the file was, and stay as they are.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    older: int = 0

    def plus(self, other: Tally) -> Tally:
        """Return both together."""
        names = self.__dataclass_fields__
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in names})


def batch_after(tx: Tx, settings: Settings, last_id: str) -> list[Portable]:
    """Return up to 100 of the caller's notes whose ids follow that one, by id."""
    notebook, _account = notebooks.current(tx, settings)
    found = reading.after(tx, notebook.account, last_id, BATCH)
    return [Portable(note.content, note.id) for note in found]


def bring(tx: Tx, settings: Settings, brought: Sequence[Portable]) -> Tally:
    """Return what became of a batch of notes.

    A note whose id is here already becomes what the file says where that is newer; its version
    before is kept. Where an account is connected, what is new is marked to be sent, and what is
    here already stays.
    """
    notebook, account = notebooks.current(tx, settings)
    batch = {note.id: note for note in brought if note.id is not None}
    here = reading.some(tx, notebook.account, list(batch))
    state = "local" if account is None else "pending"
    new = [
        changes.New(note.content, note.id, changes.Backing(state))
        for note in brought
        if note.id not in here and (note.id is None or batch[note.id] is note)
    ]
    changes.create_all(tx, notebook, new, source="import")
    tally = Tally(added=len(new))
    for note_id, note in here.items():
        tally = tally.plus(_met(tx, notebook, note, batch[note_id], may_change=account is None))
    return tally


def _met(tx: Tx, notebook: Notebook, note: Note, brought: Portable, *, may_change: bool) -> Tally:
    """Return what became of a note that is here already."""
    if replace(brought.content, extra={}) == replace(note.content, extra={}):
        return Tally(unchanged=1)
    if not may_change or brought.content.modified < note.content.modified:
        return Tally(older=1)
    changes.change(tx, notebook, note, brought.content, source="import")
    return Tally(changed=1)
