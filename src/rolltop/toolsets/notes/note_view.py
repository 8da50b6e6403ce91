"""Notes as the tools answer them: whole or in part, as they were, and both sides of a conflict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from rolltop.core import pagination
from rolltop.core.addresses import record_address
from rolltop.core.db import Tx
from rolltop.core.errors import Conflict, InvalidArgument, RolltopError
from rolltop.core.pagination import BudgetTooSmall, Continuation, TextPage, add_continuation
from rolltop.core.settings import Settings
from rolltop.core.text.lines import TextLines
from rolltop.toolsets.notes import edits
from rolltop.toolsets.notes.edits import LineRanges, SaveConflict
from rolltop.toolsets.notes.models import (
    BackendState,
    JsonObject,
    LineRange,
    Note,
    SaveResult,
)
from rolltop.toolsets.notes.store import notebooks

_GET: Final = "note_get"
# Share of the limit that may say how lines moved, if not all of an answer fits.
_MOVED_DIVISOR: Final = 8
_CONTEXT_LINES: Final = 3
# Tokens of each side that are answered however small the limit, if there is room.
_MIN_SIDE_TOKENS: Final = 256
# Tokens that parts of a JSON text may cost together beyond what each costs.
_TOKEN_SLACK: Final = 4
_RANGE_FIELDS: Final = ("txt_partial", "txt_tot_ln", "range_line_start", "range_line_count")
_EMPTY_PART: Final = {"txt_partial": True, "truncated": True}


def read_note(tx: Tx, settings: Settings, note_id: str, version: int | None) -> Note:
    """Read a note, as it is now or in an earlier version. Raises NotFound.

    The versions of a note that was deleted for good can still be read.
    """
    notebook, _account = notebooks.open_notebook(tx, settings)
    note_id = edits.find_id(notebook, note_id)
    note = notebook.get(note_id)
    if note is not None and version in {None, note.local_version}:
        return note
    if version is None:
        raise edits.missing_note_error(notebook, note_id)
    if note is None and not notebook.latest_versions([note_id]):
        raise edits.note_not_found(note_id)
    old = edits.get_old_version(notebook, note_id, version)
    state = note.sync_state if note is not None else "local"
    backend = BackendState(state, old.server_version)
    # An earlier version has no number in the index.
    return Note(0, notebook.account, note_id, old.content, version, old.source, backend)


def note_text(note: Note, lines: LineRange) -> TextPage:
    """Render a note's text, which may be truncated. Raises InvalidArgument for a range."""
    whole = TextLines(note.text)
    start = lines.start or 1
    last = start + lines.count - 1 if lines.count else max(len(whole), start)
    part = whole.between(start, last)
    if lines.skipped and lines.skipped >= len(part):
        raise InvalidArgument(
            f"char_start {lines.skipped} is not within the {len(part)} characters asked for",
            code="INVALID_RANGE",
            hint="Send char_start as next answered it, or leave it out.",
        )
    offset = whole.span(start, start)[0] + lines.skipped
    first_line = whole.line_at(offset) if lines.skipped else start
    fields = _note_fields(note, len(whole))

    def envelope(text: str) -> JsonObject:
        is_whole = lines.skipped == 0 and len(text) == len(whole.text)
        answer: JsonObject = {**fields, "text": text, "txt_partial": not is_whole}
        if lines.start is not None or not is_whole:
            last_line = whole.line_at(offset + len(text) - 1) if text else 0
            count = last_line - whole.line_at(offset) + 1 if text else 0
            answer |= {"range_line_start": first_line, "range_line_count": count}
        return answer

    def resume_at(end: int) -> dict[str, object]:
        line = whole.line_at(offset + end)
        changed: dict[str, object] = {
            "local_version": note.local_version,  # another save may move the lines meanwhile
            "range_line_start": line,
            "char_start": offset + end - whole.span(line, line)[0],
        }
        if lines.count:
            changed["range_line_count"] = last - line + 1
        return changed

    return TextPage(part[lines.skipped :], envelope, resume_at)


def _note_fields(note: Note, lines: int) -> JsonObject:
    """Fields of an answer, in order; `text` and `txt_partial` are placeholders."""
    fields: dict[str, Any] = {
        "id": note.id,
        "uri": record_address("note", note.id),
        "local_version": note.local_version,
    }
    if note.server_version is not None:
        fields["server_version"] = note.server_version
    content = note.content
    return {
        **fields,
        "text": "",
        "tags": list(content.tags),
        "modified_at": int(content.modified // 1),
        "created_at": int(content.created // 1),
        "trash": content.trash,
        "txt_partial": False,
        "txt_tot_ln": lines,
        "sha256": hashlib.sha256(content.text.encode()).hexdigest(),
        "sync_state": note.sync_state,
    }


def save_response(saved: SaveResult, limit: int) -> JsonObject:
    """Render a note that was written within `limit` tokens, with the call that continues.

    What was written is always answered, never refused.
    """
    page = note_text(saved.note, LineRange())
    arguments = {"id": saved.note.id}

    def finish(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
        return add_continuation(part, Continuation(_GET, {**arguments, **changed}, cursor))

    def with_moved(share: int) -> TextPage:
        moved = _moved_lines(saved, share)
        return TextPage(page.text, lambda text: {**page.envelope(text), **moved}, page.resume_at)

    if fitting := pagination.serialize_whole(with_moved(0), limit, finish):
        return fitting[0]
    for share in (limit // _MOVED_DIVISOR, 1):
        with suppress(InvalidArgument):  # the fields around the text exceed the limit
            return pagination.truncate_part(with_moved(share), limit, finish)
    shortest = finish(with_moved(1).envelope(""), page.resume_at(0), None)
    return pagination.truncate_object(shortest, limit, is_committed=True)


def _moved_lines(saved: SaveResult, share: int) -> JsonObject:
    """Say how lines of a patch moved, in `share` tokens (0: no limit)."""
    if saved.moved is None:
        return {}
    lines = [{"ln": ln, "now": now} for ln, now in saved.moved]
    count = pagination.count_fitting(len(lines), share, lambda n: lines[:n])
    left_out = {"moved_left_out": len(lines) - count} if count < len(lines) else {}
    return {"rebased": True, "moved": lines[:count], **left_out}


def build_conflict(
    conflict: SaveConflict, limit: int, reader: str, shape: Callable[[RolltopError], JsonObject]
) -> Conflict:
    """Put both sides into a conflict's details, within `limit` tokens (0: no limit).

    `current_text` is the whole note if that fits, for a patch in an eighth of the limit; else the
    conflicting lines, with those of other ranges in `current_further`, or the note's beginning
    with the call of the tool `reader` that continues. `shape` renders an error.
    """

    def error(yours: Mapping[str, Any], current: JsonObject) -> Conflict:
        details = {**conflict.data["details"], **yours, **current}
        hint = _hint(conflict, yours, current)
        return Conflict(conflict.message, code=conflict.code, hint=hint, data={"details": details})

    def room(yours: Mapping[str, Any], current: JsonObject) -> int:
        used = pagination.count_tokens(shape(error(yours, current))) + _TOKEN_SLACK
        return max(1, limit - used) if limit else 0

    text, share = conflict.note.content.text, limit // 8
    side = max(share, _MIN_SIDE_TOKENS)
    if conflict.lines is None or pagination.fits_budget(text, limit and side):
        whole = error(conflict.yours, {"current_text": text})
        if pagination.fits_budget(shape(whole), limit):
            return whole
    current: JsonObject = {}
    for least in (_your_side(conflict.yours, share), _your_side(conflict.yours, 1)):
        current = _current_side(conflict, room(least, _EMPTY_PART), share, reader)
        if current.get("current_text") or not current.get("txt_partial"):
            break
    # A caller has what it sent, so its own side gets what is left.
    return error(_your_side(conflict.yours, min(room({}, current), side)), current)


def _hint(conflict: SaveConflict, yours: Mapping[str, Any], current: JsonObject) -> str:
    """Say what to do, and which side is answered only in part."""
    onward = f"then save with local_version {conflict.note.local_version}."
    is_cut = yours != conflict.yours
    if not current.get("txt_partial"):
        if not is_cut:
            return conflict.hint
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


def _your_side(yours: Mapping[str, Any], room: int) -> JsonObject:
    """Truncate the arguments of a save to `room` tokens (0: no limit).

    Of a patch the first operations are kept, the others counted.
    """
    if pagination.fits_budget({**yours}, room):
        return {**yours}
    rest = {name: value for name, value in yours.items() if name != "your_patch"}
    patch = yours.get("your_patch")
    rest = _truncate_texts(rest, room // 2 if patch else room)
    if not patch:
        return rest

    def first(count: int) -> JsonObject:
        left_out = len(patch) - count
        counted = {"your_patch_left_out": left_out} if left_out else {}
        return {**rest, "your_patch": patch[:count], **counted}

    count = pagination.count_fitting(len(patch), room, first)
    return first(count) if count else pagination.truncate_texts(first(1), room) or first(0)


def _truncate_texts(fields: JsonObject, room: int) -> JsonObject:
    if (truncated := pagination.truncate_texts(fields, room)) is not None:
        return truncated
    shortest = pagination.truncate_object(fields, 1, is_committed=True)
    return {name: value for name, value in shortest.items() if name != "truncated"}


def _current_side(conflict: SaveConflict, room: int, share: int, reader: str) -> JsonObject:
    """Render the note's text within `room` tokens (0: no limit)."""
    note = conflict.note
    if conflict.lines is None or pagination.fits_budget(note.content.text, min(room, share)):
        return _fit_text(note, LineRange(), room, reader)
    lines = TextLines(note.content.text)
    ranges = _add_context(conflict.lines, len(lines))
    if len(ranges) > 1:
        hunks = partial(_render_hunks, note, lines, ranges, reader)
        if count := pagination.count_fitting(len(ranges), room, hunks):
            return hunks(count)
    start = ranges[0][0]
    return _fit_text(note, LineRange(start, ranges[-1][1] - start + 1), room, reader)


def _add_context(ranges: LineRanges, total: int) -> list[tuple[int, int]]:
    """Extend ranges by the lines around them and join those that nearly meet."""
    joined: list[tuple[int, int]] = []
    for begin, end in ranges:
        first = max(1, min(begin, total) - _CONTEXT_LINES)
        last = max(first, min(total, end + _CONTEXT_LINES))
        if joined and first <= joined[-1][1] + _CONTEXT_LINES:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _render_hunks(
    note: Note, lines: TextLines, ranges: list[tuple[int, int]], reader: str, count: int
) -> JsonObject:
    """Render the first ranges of a note's lines, and the call that continues with the next."""

    def hunk(first: int, last: int) -> JsonObject:
        text = lines.between(first, last)
        return {"range_line_start": first, "range_line_count": last - first + 1, "text": text}

    first, *others = [hunk(*one) for one in ranges[:count]]
    further = {"current_further": others} if others else {}
    text = {"current_text": first.pop("text")}
    part = {**text, "txt_partial": True, "txt_tot_ln": len(lines), **first, **further}
    if count == len(ranges):
        return part
    start, end = ranges[count][0], ranges[-1][1]
    arguments = {
        "id": note.id,
        "local_version": note.local_version,
        "range_line_start": start,
        "range_line_count": end - start + 1,
    }
    return {**part, "truncated": True, "next": {"tool": reader, "arguments": arguments}}


def _fit_text(note: Note, lines: LineRange, room: int, reader: str) -> JsonObject:
    page = note_text(note, lines)

    def envelope(part: str) -> JsonObject:
        fields = page.envelope(part)
        kept = _RANGE_FIELDS if fields["txt_partial"] else ()
        return {"current_text": part, **{name: fields[name] for name in kept if name in fields}}

    def next_call(changed: dict[str, Any]) -> JsonObject:
        return {"tool": reader, "arguments": {"id": note.id, **changed}}

    def finish(part: JsonObject, changed: dict[str, Any], _cursor: str | None) -> JsonObject:
        return {**part, "truncated": True, "next": next_call(changed)}

    try:
        return pagination.truncate(TextPage(page.text, envelope, page.resume_at), room, finish)
    except BudgetTooSmall:
        bare = {"current_text": "", **_EMPTY_PART, "next": next_call({})}
        return bare if pagination.fits_budget(bare, room) else {**_EMPTY_PART}
