"""Notes as evidence of tasks."""

from __future__ import annotations

from rolltop.core.addresses import Address
from rolltop.core.context import CallContext
from rolltop.core.evidence import EvidenceText
from rolltop.toolsets.notes import edits, note_view


async def resolve_note(call: CallContext, address: Address, *, strictly: bool) -> EvidenceText:  # noqa: ARG001  # any note counts
    """Read a note as it is now. Raises NotFound, also in the trash."""
    note = await call.read(note_view.read_note, call.app.settings, address.id, None)
    if note.content.trash:
        raise edits.note_not_found(note.id)
    return EvidenceText(note.id, note.text.encode("utf-8", "surrogatepass"), has_last_break=True)
