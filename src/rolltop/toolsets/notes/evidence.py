"""Notes as evidence of tasks."""

from __future__ import annotations

from rolltop.core.addresses import Address
from rolltop.core.arguments import value_preview
from rolltop.core.context import CallContext
from rolltop.core.db import Tx
from rolltop.core.errors import NotFound
from rolltop.core.evidence import EvidenceText, OutOfSight
from rolltop.core.settings import Settings
from rolltop.toolsets.notes import edits, note_view
from rolltop.toolsets.notes.models import Note
from rolltop.toolsets.notes.store import notebooks


async def resolve_note(call: CallContext, address: Address, *, strictly: bool) -> EvidenceText:  # noqa: ARG001  # any note counts
    """Read a note as it is now.

    Raises NotFound, also in the trash, and OutOfSight for one that this server does not show.
    """
    note = await call.read(_read_note, call.app.settings, address.id)
    if note.content.trash:
        raise edits.note_not_found(note.id)
    return EvidenceText(note.id, note.text.encode("utf-8", "surrogatepass"), has_last_break=True)


def _read_note(tx: Tx, settings: Settings, note_id: str) -> Note:
    try:
        return note_view.read_note(tx, settings, note_id, None)
    except NotFound:
        if not notebooks.exists_elsewhere(tx, note_id):
            raise
    raise OutOfSight(
        f"Note {value_preview(note_id)} is in another account, or a sync has yet to bring it back",
        hint="`rolltop notes status` tells the account; note_manage with action sync syncs it.",
    )
