"""A reading as an answer that can be cut: at a cell, at a line, at a character."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
_CHARACTERS_PER_TOKEN: Final = 128  # of the vocabulary's longest token
_SLACK: Final = 8  # tokens that another order of the arguments may take

Lines = tuple[int | None, int | None, int | None]
"""line_start, line_count, char_start."""


def place(mark: str, text: str | None) -> tuple[int, str, int] | None:
    """Return where a read goes on: position and begin of a cell's id, a character of its content.

    Raises Invalid for a text that is no cursor of a read with that mark.
    """
    if text is None:
        return None
    position, one, (offset,) = places.read(CURSOR + mark, text, 1)
    return position, one, offset


def answer(
    reading: Reading,
    lines: Lines,
    start: tuple[int, str, int] | None,
    part: int | None,
    limit: int,
    sent: JsonObject,
) -> Page | Text | JsonObject:
    """Return the reading as what core cuts to the budget. Raises Invalid.

    It goes on at the `part` of the metadata, or at the `start` among the cells. `sent` are the
    arguments of the call, which the one that goes on repeats.
    """
    if any(value is not None for value in lines):
        if len(reading.chosen) != 1:
            raise wrong(
                "line_start, line_count and char_start read one cell; "
                f"{len(reading.chosen)} are asked for",
                "Name the cell in cell_ids.",
            )
        return _lines(heads.shortened(reading, limit), lines, limit)
    if start is not None or part is not None:
        reading = heads.going_on(reading)
    shown = [cell.full(VERSION) for cell in reading.cells]
    offset = start[2] if start and shown and shown[0]["cell_id"].startswith(start[1]) else 0
    if offset:
        shown[0] = _from(reading.cells[0], offset)
    if part is not None or not heads.has_room(reading, limit):
        if part is None and _is_all(reading, shown, limit):
            return _page(reading, shown)
        reading = heads.fitted(reading, limit)
        if reading.metadata and (part is not None or not heads.has_room(reading, limit)):
            return heads.metadata_page(reading, part or 0, _first_cell(reading))
    if not reading.cells:
        return reading.answer([])
    if _fits(reading, shown[0], limit, sent):
        return _page(reading, shown)
    alone = len(reading.chosen) == 1
    return _lines(reading, (1, None, offset), limit) if alone else _part(reading, offset, limit)


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


def _part(reading: Reading, offset: int, limit: int) -> Text:
    """Return the first cell of several, from a character on; the next call goes on in it."""
    cell = reading.cells[0]
    frame = heads.fitted_frame(cell.full(VERSION), limit)
    content = cell.content or ""
    following = reading.first + 1

    def resume_at(end: int) -> dict[str, object]:
        if offset + end >= len(content) and following < len(reading.chosen):
            return {"cursor": _cursor(reading, following)}
        return {"cursor": _cursor(reading, reading.first, offset + end)}

    def envelope(part: str) -> JsonObject:
        return reading.answer([_shown(frame, part, content, offset)])

    return Text(content[offset:], envelope, resume_at, following < len(reading.chosen))


def _lines(reading: Reading, lines: Lines, limit: int) -> Text:
    """Return lines of the one cell that is read."""
    cell = reading.cells[0]
    frame = heads.fitted_frame(cell.full(VERSION), limit)
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
        following = part.next_at(end, skipped)
        return {"cell_ids": [cell.cell_id], "include_metadata": False, **following}

    def envelope(text: str) -> JsonObject:
        return reading.answer([_shown(frame, text, content, at)])

    return Text(part.text[skipped:], envelope, resume_at)


def _from(cell: Cell, offset: int) -> JsonObject:
    content = cell.content or ""
    return _shown(cell.full(VERSION), content[offset:], content, offset)


def _shown(frame: JsonObject, part: str, content: str, offset: int) -> JsonObject:
    """Return a cell with part of its content, and the line at which that begins."""
    shown: dict[str, Any] = {**frame, "content": part}
    if part != content:
        shown["line_start"] = content.count("\n", 0, offset) + 1
    return shown


def _cursor(reading: Reading, position: int, offset: int = 0) -> str:
    cell_id = reading.chosen[position].cell_id
    return places.written(CURSOR + reading.mark, position, cell_id, offset)
