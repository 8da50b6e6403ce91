"""Notes as evidence of tasks."""

from __future__ import annotations

from rolltop.core.addresses import Address
from rolltop.core.context import CallContext
from rolltop.core.evidence import hash_lines
from rolltop.toolsets.notes import edits, note_view


async def resolve_note(call: CallContext, address: Address, *, strictly: bool) -> tuple[str, str]:  # noqa: ARG001  # any note counts
    """Return a note's id and the hash of its text or lines. Raises NotFound, also in the trash."""
    note = await call.read(note_view.read_note, call.app.settings, address.id, None)
    if note.content.trash:
        raise edits.note_not_found(note.id)
    return note.id, hash_lines(note.text, address.lines)
