"""Conflicts of saves as they are answered: both sides, as far as the budget goes."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import budget
from rolltop.core.budget import Text, TooSmall
from rolltop.core.errors import Conflict
from rolltop.core.text.lines import Lines
from rolltop.toolsets.notes.service import reading
from rolltop.toolsets.notes.service.reading import Range, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rolltop.core.errors import RolltopError
    from rolltop.toolsets.notes.models import JsonObject, Note
    from rolltop.toolsets.notes.service.checks import Clash, Stretches

_CONTEXT: Final = 3
"""Lines that are shown before and after those at stake."""
_SMALL: Final = 256
"""Tokens of each side that are told however small the limit, where there is room."""
_SLACK: Final = 4
"""Tokens that parts of a JSON text may take together beyond what each takes."""
_PLACE: Final = ("txt_partial", "txt_tot_ln", "range_line_start", "range_line_count")
_NOTHING: Final = {"txt_partial": True, "truncated": True}


def told(
    clash: Clash, limit: int, reader: str, shape: Callable[[RolltopError], JsonObject]
) -> Conflict:
    """Return the conflict with both sides in its details, within `limit` tokens (0: no bound).

    `current_text` is the whole note where that fits, for a patch in an eighth of the limit; else
    the lines at stake, `current_further` more of them from other places, or the note's beginning
    with the call of the tool `reader` that goes on. `shape` makes the answer of an error.
    """

    def error(yours: Mapping[str, Any], current: JsonObject) -> Conflict:
        details = {**clash.data["details"], **yours, **current}
        hint = _hint(clash, yours, current)
        return Conflict(clash.message, code=clash.code, hint=hint, data={"details": details})

    def room(yours: Mapping[str, Any], current: JsonObject) -> int:
        taken = budget.count(shape(error(yours, current))) + _SLACK
        return max(1, limit - taken) if limit else 0

    share = limit // 8
    if clash.lines is None or budget.within(clash.note.text, limit and max(share, _SMALL)):
        whole = error(clash.yours, {"current_text": clash.note.text})
        if budget.within(shape(whole), limit):
            return whole
    least = _yours(clash.yours, share)
    current = _current(clash, room(least, _NOTHING), share, reader)
    if current.get("txt_partial") and not current.get("current_text"):
        current = _current(clash, room(_yours(clash.yours, 1), _NOTHING), share, reader)
    yours = min(room({}, current), max(share, _SMALL))  # a caller has what it sent
    return error(_yours(clash.yours, yours), current)


def _hint(clash: Clash, yours: Mapping[str, Any], current: JsonObject) -> str:
    """Return what to do, and of which side only a part is told."""
    onward = f"then save with local_version {clash.note.local_version}."
    is_cut = yours != clash.yours
    if not current.get("txt_partial"):
        if not is_cut:
            return clash.hint
        return f"details holds the note and a part of what you sent: bring both together, {onward}"
    if not current.get("current_text"):
        part = "There is no room for the note here: note_get reads it."
    elif "current_further" in current:
        part = (
            "details.current_text and current_further are only parts of the note: note_get reads "
            "the rest."
        )
    else:
        part = "details.current_text is only a part of the note: note_get reads the rest."
    of_yours = " So is what it repeats of yours." if is_cut else ""
    return f"{part}{of_yours} Bring both sides together, {onward}"


def _yours(yours: Mapping[str, Any], room: int) -> JsonObject:
    """Return what is told of a refused save in `room` tokens (0: no bound).

    Texts are cut; of a patch the first operations are told, and how many are left out.
    """
    if budget.within({**yours}, room):
        return {**yours}
    rest = {name: value for name, value in yours.items() if name != "your_patch"}
    patch = yours.get("your_patch")
    if not patch:
        return budget.shorten(rest, room) or _marks(rest)
    rest = budget.shorten(rest, room // 2) or _marks(rest)

    def first(count: int) -> JsonObject:
        left_out = len(patch) - count
        counted = {"your_patch_left_out": left_out} if left_out else {}
        return {**rest, "your_patch": patch[:count], **counted}

    most = range(1, min(len(patch), room) + 1)  # none takes less than a token
    count = bisect_right(most, 0, key=lambda n: not budget.within(first(n), room))
    return first(count) if count else budget.shorten(first(1), room) or first(0)


def _marks(rest: JsonObject) -> JsonObject:
    """Return the fields of a save with no more than the marks of a cut."""
    shortest = budget.fit_object(rest, 1, was_kept=True)
    return {name: shortest[name] for name in rest}


def _current(clash: Clash, room: int, share: int, reader: str) -> JsonObject:
    """Return what is told of the note's text, within `room` tokens (0: no bound)."""
    if clash.lines is None or budget.within(clash.note.text, min(room, share)):
        return _fitted(clash.note, Range(), room, reader)
    lines = Lines(clash.note.text)
    places = _around(clash.lines, len(lines))
    if len(places) > 1:
        shown = _Places(clash.note, lines, places, reader)
        if count := shown.fitting(room):
            return shown.first(count)
    start = places[0][0]
    return _fitted(clash.note, Range(start, places[-1][1] - start + 1), room, reader)


def _around(stretches: Stretches, total: int) -> list[tuple[int, int]]:
    """Return stretches with the lines around them, those that nearly meet as one."""
    places: list[tuple[int, int]] = []
    for begin, end in stretches:
        first = max(1, min(begin, total) - _CONTEXT)
        last = max(first, min(total, end + _CONTEXT))
        if places and first <= places[-1][1] + _CONTEXT:
            places[-1] = (places[-1][0], max(places[-1][1], last))
        else:
            places.append((first, last))
    return places


class _Places:
    """Places of a note, of which as many are shown whole as there is room for."""

    def __init__(
        self, note: Note, lines: Lines, places: list[tuple[int, int]], reader: str
    ) -> None:
        """Keep what they are cut from."""
        self._note = note
        self._lines = lines
        self._places = places
        self._reader = reader

    def fitting(self, room: int) -> int:
        """Return how many fit in `room` tokens (0: no bound)."""
        high = 1
        while high < len(self._places) and budget.within(self.first(high), room):
            high *= 2  # all of them may be much longer than the room
        some = range(1, min(high, len(self._places)) + 1)
        return bisect_right(some, 0, key=lambda n: not budget.within(self.first(n), room))

    def first(self, count: int) -> JsonObject:
        """Return the first places, and the call that goes on from the next to the last."""
        (first, *others) = [self._part(*place) for place in self._places[:count]]
        told = {"current_text": first.pop("text")}
        further = {"current_further": others} if others else {}
        partial = {"txt_partial": True, "txt_tot_ln": len(self._lines), **first}
        if count == len(self._places):
            return {**told, **partial, **further}
        start, end = self._places[count][0], self._places[-1][1]
        arguments = {
            "id": self._note.id,
            "local_version": self._note.local_version,
            "range_line_start": start,
            "range_line_count": end - start + 1,
        }
        onward = {"tool": self._reader, "arguments": arguments}
        return {**told, **partial, **further, "truncated": True, "next": onward}

    def _part(self, first: int, last: int) -> JsonObject:
        text = self._lines.between(first, last)
        return {"range_line_start": first, "range_line_count": last - first + 1, "text": text}


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
    except TooSmall:
        onward = {"tool": reader, "arguments": {"id": note.id}}
        bare = {"current_text": "", **_NOTHING, "next": onward}
        return bare if budget.within(bare, room) else {**_NOTHING}  # the hint names the call
