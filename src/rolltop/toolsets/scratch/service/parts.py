"""A reading as an answer that can be cut: at a cell, at a line, at a character."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rolltop.core import budget
from rolltop.core.budget import Continuation, Page, Text
from rolltop.toolsets.scratch.models import continued
from rolltop.toolsets.scratch.service import heads, places
from rolltop.toolsets.scratch.service.checks import wrong
from rolltop.toolsets.scratch.service.reading import segment
from rolltop.toolsets.scratch.validate import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.toolsets.scratch.models import JsonObject
    from rolltop.toolsets.scratch.models.records import Cell
    from rolltop.toolsets.scratch.service.reading import Reading

CURSOR: Final = "cells"
_FIELDS: Final = "fields"
_CONTENT: Final = "content"
"""The cursors of a cell whose fields come before its content, and of that content."""
_BEGIN: Final = re.compile(r"[a-z]+(-[A-Za-z0-9_-]{4})\.")  # a kind and a mark
_CHARACTERS_PER_TOKEN: Final = 128  # of the vocabulary's longest token
_ONWARD: Final = 100  # tokens that the call takes that goes on in a cell by its lines
_SLACK: Final = 8  # tokens that another order of the arguments may take

Lines = tuple[int | None, int | None, int | None]
"""line_start, line_count, char_start."""


class Limits(NamedTuple):
    """The budget of a call, and the largest that one may name, in tokens (0: none)."""

    now: int
    most: int


class Start(NamedTuple):
    """Where a read goes on: position and begin of a cell's id, a character of its content.

    Of a `kind` where the cell's other fields come before its content, the first of these.
    """

    kind: str
    position: int
    cell_id: str
    offset: int

    @property
    def place(self) -> places.Place:
        """Which cell."""
        return self.position, self.cell_id


FIRST: Final = Start(CURSOR, 0, "", 0)
"""The first cell wanted, without what would come before it."""


def start(mark: str, text: str | None) -> Start | None:
    """Return where a read goes on.

    Raises Invalid for a text that is no cursor of a read with that mark.
    """
    if text is None:
        return None
    kind = next((one for one in (_FIELDS, _CONTENT) if text.startswith(one + mark)), CURSOR)
    position, one, (offset,) = places.read(kind + mark, text, 1)
    return Start(kind, position, one, offset)


def check(text: str | None) -> None:
    """Raise Invalid for a text that is no cursor of any read."""
    if text is not None:
        begun = _BEGIN.match(text)
        mark = begun.group(1) if begun else ""
        if heads.place(mark, text) is None:
            start(mark, text)


def answer(
    reading: Reading,
    lines: Lines,
    start: Start | None,
    part: int | None,
    limits: Limits,
    sent: JsonObject,
) -> Page | Text | JsonObject:
    """Return the reading as what core cuts to the budget. Raises Invalid.

    It goes on at the `part` of own fields and metadata, or at the `start` among the cells. `sent`
    are the arguments of the call, which the one that goes on repeats.
    """
    limit = limits.now
    if any(value is not None for value in lines):
        return _named_lines(reading, lines, limits)
    if start is None and part is None:
        return _begin(reading, limit, sent)
    reading = heads.going_on(reading)
    if part is not None:
        return heads.parts_page(reading, part, limit, _first_cell(reading))
    return _go_on(reading, start, limit, sent)


def _begin(reading: Reading, limit: int, sent: JsonObject) -> Page | Text:
    """Return cells with own fields and metadata, or these first where they are too long."""
    shown = [cell.full(VERSION) for cell in reading.cells]
    if _is_all(reading, shown, limit) or (shown and _fits(reading, shown[0], limit, sent)):
        return _page(reading, shown)
    first = heads.begun(reading, limit)
    if first is None and shown and not _fits_begun(reading, shown[0], limit):
        first = 0
    if first is not None:
        rest = reading if first else heads.going_on(reading)
        return heads.parts_page(rest, first, limit, _first_cell(reading))
    return _part_of_first(reading, 0, limit) if shown else _page(reading, shown)


def _fits_begun(reading: Reading, cell: JsonObject, limit: int) -> bool:
    """Whether the first cell's other fields fit beside those of the pad."""
    frame = heads.frame(cell)
    begun = reading.answer([{**frame, "content": ""}])
    return heads.fits_frame(frame, limit) or budget.within(begun, limit * 3 // 4)


def _go_on(reading: Reading, start: Start | None, limit: int, sent: JsonObject) -> Page | Text:
    """Return the cells that follow an answer."""
    shown = [cell.full(VERSION) for cell in reading.cells]
    if start and not (shown and shown[0]["cell_id"].startswith(start.cell_id)):
        start = None  # another cell stands in its place
    if start and start.kind != CURSOR:
        return _apart(reading, start)
    offset = start.offset if start else 0
    if offset:
        shown[0] = _from(reading.cells[0], offset)
    if _is_all(reading, shown, limit) or (shown and _fits(reading, shown[0], limit, sent)):
        return _page(reading, shown)
    return _part_of_first(reading, offset, limit)


def _named_lines(reading: Reading, lines: Lines, limits: Limits) -> Text:
    """Return lines asked for by their numbers. Raises Invalid.

    Where what stands around them is cut, the last answer goes on with the call that gets it whole.
    """
    if len(reading.chosen) != 1:
        raise wrong(
            "line_start, line_count and char_start read one cell; "
            f"{len(reading.chosen)} are asked for",
            "Name the cell in cell_ids.",
        )
    limit = limits.now
    cell = reading.cells[0].full(VERSION)
    whole = _lines(reading, lines, heads.frame(cell))
    if whole.size <= limit * _CHARACTERS_PER_TOKEN and budget.within(
        whole.render(whole.size), limit
    ):
        return whole
    short, frame = heads.shortened(reading, limit), heads.shortened_frame(cell, limit)
    if not short.is_cut and frame == heads.frame(cell):
        return _lines(short, lines, frame)
    around = _around(reading, lines, limits.most)
    begun = _lines(short, lines, frame)
    if not budget.within(begun.render(min(1, begun.size)), max(1, limit - _ONWARD)):
        short, frame = heads.least(reading), heads.least_frame(cell)
    return _lines(replace(short, is_cut=True), lines, frame, around)


def _around(reading: Reading, lines: Lines, most: int) -> JsonObject | None:
    """Return the changed arguments of the call for all that stands around some lines, without them.

    None where no answer (of at most `most` tokens, 0: no bound) holds that.
    """
    cell = reading.cells[0]
    first, count, _skipped = lines
    end = len(segment(cell.content or "", first or 1, count).text)
    bare = _lines(reading, (first, count, end), heads.frame(cell.full(VERSION)))
    needed = max(budget.count(bare.render(0)), budget.MINIMUM)
    if most and needed > most:
        return None
    return {"line_start": first or 1, "char_start": end, "max_tokens": needed}


def _part_of_first(reading: Reading, offset: int, limit: int) -> Page | Text:
    """Return what fits of the first cell, which does not fit whole."""
    cell = reading.cells[0].full(VERSION)
    frame = heads.frame(cell)
    begun = reading.answer([{**frame, "content": ""}])
    fits = heads.fits_frame(frame, limit) and budget.within(begun, max(0, limit - _ONWARD))
    if not fits and not offset:
        return _apart(reading, Start(_FIELDS, reading.first, cell["cell_id"], 0))
    bare = replace(reading, head=None, metadata=None)
    if len(reading.chosen) == 1 and heads.has_room(bare, limit):
        return _lines(reading, (1, None, offset), frame)
    return _part(reading, offset, frame if fits else heads.least_frame(cell))


def _apart(reading: Reading, start: Start) -> Page | Text:
    """Return the fields of the first cell, or its content without them."""
    cell = reading.cells[0].full(VERSION)
    if start.kind == _CONTENT:
        return _part(reading, start.offset, heads.least_frame(cell), _CONTENT)

    def cursor_at(field: int | None) -> str:
        kind = _CONTENT if field is None else _FIELDS
        return _cursor(reading, reading.first, field or 0, kind)

    return heads.frame_page(reading, cell, start.offset, cursor_at)


def _is_all(reading: Reading, shown: list[JsonObject], limit: int) -> bool:
    """Whether everything asked for is there and fits."""
    return not reading.more and budget.within(reading.answer(shown), limit)


def _first_cell(reading: Reading) -> Callable[[], str] | None:
    """Return what makes the cursor of the first cell wanted, None where there is none."""
    if not reading.chosen:
        return None
    return lambda: _cursor(reading, 0)


def _fits(reading: Reading, cell: JsonObject, limit: int, sent: JsonObject) -> bool:
    """Whether a cell fits whole, with the call that goes on after it."""
    if not limit:
        return True
    if len(cell["content"]) > limit * _CHARACTERS_PER_TOKEN:
        return False
    following = _cursor_after(reading, 0)
    arguments = {**sent, "max_tokens": limit, "cursor": following}
    onward = Continuation("scratch_read", arguments, following)
    return budget.within(continued(reading.answer([cell]), onward), max(1, limit - _SLACK))


def _page(reading: Reading, shown: list[JsonObject]) -> Page:
    return Page(shown, reading.answer, lambda at: _cursor_after(reading, at), reading.more)


def _cursor_after(reading: Reading, at: int) -> str:
    """Return the cursor that goes on after the cell `at` of those that were loaded."""
    return _cursor(reading, min(reading.first + at + 1, len(reading.chosen) - 1))


def _part(reading: Reading, offset: int, frame: JsonObject, kind: str = CURSOR) -> Text:
    """Return the first cell of several, from a character on; the next call goes on in it."""
    content = reading.cells[0].content or ""
    following = reading.first + 1

    def resume_at(end: int) -> dict[str, object]:
        if offset + end >= len(content) and following < len(reading.chosen):
            return {"cursor": _cursor(reading, following)}
        return {"cursor": _cursor(reading, reading.first, offset + end, kind)}

    def envelope(part: str) -> JsonObject:
        return reading.answer([_shown(frame, part, content, offset)])

    return Text(content[offset:], envelope, resume_at, following < len(reading.chosen))


def _lines(
    reading: Reading, lines: Lines, frame: JsonObject, around: JsonObject | None = None
) -> Text:
    """Return lines of the one cell that is read; `around` are the arguments that follow them."""
    cell = reading.cells[0]
    content = cell.content or ""
    part = segment(content, lines[0] or 1, lines[1])
    skipped = lines[2] or 0
    if skipped > len(part.text):
        raise wrong(
            f"char_start is {skipped}; these lines have {len(part.text)} characters",
            "It is counted from the start of line_start.",
        )
    at = part.start + skipped

    def resume_at(end: int) -> dict[str, object]:
        if around and skipped + end == len(part.text):
            return around
        following = part.next_at(end, skipped)
        return {"cell_ids": [cell.cell_id], "include_metadata": False, **following}

    def envelope(text: str) -> JsonObject:
        return reading.answer([_shown(frame, text, content, at)])

    return Text(part.text[skipped:], envelope, resume_at, more=around is not None)


def _from(cell: Cell, offset: int) -> JsonObject:
    content = cell.content or ""
    return _shown(cell.full(VERSION), content[offset:], content, offset)


def _shown(frame: JsonObject, part: str, content: str, offset: int) -> JsonObject:
    """Return a cell with part of its content, and the line at which that begins."""
    shown: dict[str, Any] = {**frame, "content": part}
    if part != content:
        shown["line_start"] = content.count("\n", 0, offset) + 1
    return shown


def _cursor(reading: Reading, position: int, offset: int = 0, kind: str = CURSOR) -> str:
    cell_id = reading.chosen[position].cell_id
    return places.written(kind + reading.mark, position, cell_id, offset)
