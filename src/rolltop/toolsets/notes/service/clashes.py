"""Conflicts of saves as they are answered: both sides, as far as the budget goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rolltop.core import budget
from rolltop.core.budget import Text, TooSmall
from rolltop.core.errors import Conflict
from rolltop.toolsets.notes.service import reading
from rolltop.toolsets.notes.service.reading import Range, Shown

if TYPE_CHECKING:
    from rolltop.toolsets.notes.models import JsonObject, Note
    from rolltop.toolsets.notes.service.checks import Clash

_CONTEXT: Final = 3
"""Lines that are shown before and after those at stake."""
_AROUND: Final = 180
"""Tokens that an error takes besides its details."""
_PLACE: Final = ("txt_partial", "txt_tot_ln", "range_line_start", "range_line_count")


def told(clash: Clash, limit: int, reader: str) -> Conflict:
    """Return the conflict with both sides in its details, in about `limit` tokens (0: no bound).

    `current_text` is the whole note where that fits, for a patch in an eighth of the limit; else
    the lines at stake, or the note's beginning with the call of the tool `reader` that goes on.
    """
    share = limit // 8
    is_long = not budget.within(clash.yours, share)
    yours = budget.shorten({**clash.yours}, share) if is_long else clash.yours
    details: JsonObject = {**clash.data["details"], **(yours or {})}
    room = max(1, limit - _AROUND - budget.count(details)) if limit else 0
    current = _current(clash, room, share, reader)
    hint = clash.hint
    if current.get("txt_partial"):
        hint = (
            "details.current_text is only a part of the note: note_get reads the rest. Bring both "
            f"sides together, then save with local_version {clash.note.local_version}."
        )
    return Conflict(
        clash.message, code=clash.code, hint=hint, data={"details": {**details, **current}}
    )


def _current(clash: Clash, room: int, share: int, reader: str) -> JsonObject:
    """Return what is told of the note's text, within `room` tokens (0: no bound)."""
    if clash.lines is None or budget.within(clash.note.text, min(room, share)):
        return _fitted(clash.note, Range(), room, reader)
    total = reading.text(Shown.of(clash.note), Range()).envelope("")["txt_tot_ln"]
    first = max(1, min(clash.lines[0], total) - _CONTEXT)
    last = min(total, clash.lines[1] + _CONTEXT)
    return _fitted(clash.note, Range(first, max(1, last - first + 1)), room, reader)


def _fitted(note: Note, lines: Range, room: int, reader: str) -> JsonObject:
    shown = reading.text(Shown.of(note), lines)

    def envelope(part: str) -> JsonObject:
        told = shown.envelope(part)
        place = {name: told[name] for name in _PLACE if name in told and told["txt_partial"]}
        return {"current_text": part, **place}

    def finish(part: JsonObject, changed: dict[str, Any], _cursor: str | None) -> JsonObject:
        onward = {"tool": reader, "arguments": {"id": note.id, **changed}}
        return {**part, "truncated": True, "next": onward}

    try:
        return budget.fit(Text(shown.text, envelope, shown.resume_at), room, finish)
    except TooSmall:  # the hint names the call that reads it
        return {"txt_partial": True}
