"""Reading a pad within a budget: cut at a cell, at a line, at a character.

The pad's own fields and metadata come with the first answer, by themselves if they leave no room
for a cell. Fields that do not fit are left out and named in `omitted`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from rolltop.core import cursor, pagination
from rolltop.core.db import Tx
from rolltop.core.pagination import Continuation, Page, TextPage, add_continuation
from rolltop.core.text.lines import TextLines
from rolltop.toolsets.scratch.models import MINIMAL_PAD_FIELDS, JsonObject
from rolltop.toolsets.scratch.models.records import Cell, CellSelection, Pad
from rolltop.toolsets.scratch.service import cursors
from rolltop.toolsets.scratch.service.cell_input import invalid_value
from rolltop.toolsets.scratch.service.pads import get_pad, select_cells
from rolltop.toolsets.scratch.store import cell_rows, pad_rows
from rolltop.toolsets.scratch.syntax.validator import VERSION

KIND: Final = "cells"
_CURSOR_KIND: Final = re.compile(rf"{KIND}-[A-Za-z0-9_-]{{4}}")
_MINIMAL_CELL_FIELDS: Final = ("cell_id", "index", "language", "version")
_MARGIN: Final = 1.25  # cells are loaded until their tokens are that much over the budget
_MAX_CHARACTERS_PER_TOKEN: Final = 128
_CONTINUATION_TOKENS: Final = 100
_SLACK_TOKENS: Final = 8  # another order of the arguments may take that many
_MAX_OMITTED_NAMES: Final = 20
_MAX_OMITTED_LENGTH: Final = 50

Lines = tuple[int | None, int | None, int | None]
"""line_start, line_count, char_start."""


@dataclass(frozen=True)
class ReadRequest:
    """A call of scratch_read, checked.

    `cursor_kind` binds cursors to the selection; `arguments` are repeated by the call that
    continues; `max_budget` is the largest budget a caller may name. Budgets are tokens, 0 for none.
    """

    cursor_kind: str
    arguments: JsonObject
    lines: Lines
    position: cursors.CursorPosition | None
    offset: int
    budget: int
    max_budget: int
    with_header: bool
    with_metadata: bool


@dataclass(frozen=True)
class PadView:
    """A pad with the selected cells from `first` on, as many as were loaded."""

    pad: Pad
    metadata: JsonObject | None
    cell_tags: list[str]
    selected: list[Cell]
    first: int
    cells: list[Cell]
    at: datetime

    @property
    def header(self) -> JsonObject:
        """The pad's own fields and metadata, without cells."""
        fields = {**self.pad.data([], self.cell_tags, self.at), **self.pad.labels}
        return fields if self.metadata is None else {**fields, "metadata": self.metadata}

    @property
    def minimal_header(self) -> JsonObject:
        """The fields that every answer has."""
        header = self.pad.data([], self.cell_tags, self.at)
        return {name: header[name] for name in (*MINIMAL_PAD_FIELDS, "cells")}

    @property
    def has_more(self) -> bool:
        """Whether selected cells follow those that were loaded."""
        return self.first + len(self.cells) < len(self.selected)


def read_pad(tx: Tx, scratch_id: str, selection: CellSelection, request: ReadRequest) -> PadView:
    """Read a pad with as many of the selected cells as the budget may hold.

    Raises NotFound, UNAUTHORIZED, INVALID_INDEX.
    """
    pad = get_pad(tx, scratch_id, selection.namespaces)
    outlines = cell_rows.outlines(tx, scratch_id)
    selected = select_cells(outlines, selection)
    first = cursors.resume_index([cell.cell_id for cell in selected], request.position)
    ids: list[str] = []
    tokens = 0
    for cell in selected[first:]:
        if ids and request.budget and tokens > request.budget * _MARGIN:
            break
        ids.append(cell.cell_id)
        tokens += cell.stats.tokens
    metadata = _read_metadata(tx, pad) if request.with_metadata and request.with_header else None
    loaded = cell_rows.get_cells(tx, scratch_id, ids)
    return PadView(pad, metadata, _tags_of(outlines), selected, first, loaded, tx.now)


def read_whole(tx: Tx, pad: Pad, *, with_cells: bool) -> JsonObject:
    """Read all that a pad shows, as of its last write; with its cells, or with none."""
    cells = cell_rows.get_all_cells(tx, pad.scratch_id) if with_cells else []
    tags = _tags_of(cell_rows.outlines(tx, pad.scratch_id))
    view = PadView(pad, _read_metadata(tx, pad), tags, [], 0, cells, pad.updated_at)
    return {**view.header, "cells": [cell.full_data(VERSION) for cell in cells]}


def cursor_kind(pad_id: str, selection: CellSelection) -> str:
    """Return the kind of the cursors that go on reading these cells of a pad."""
    return cursor.filtered_kind(KIND, pad_id, selection.cell_ids, selection.indices, selection.tags)


def cursor_at(pad_id: str, cell_id: str) -> str:
    """Encode the cursor with which reading a pad begins at a cell; at the first if it is gone."""
    position = cursors.position_at([cell_id], 0)
    return cursors.encode(cursor_kind(pad_id, CellSelection()), position, 0)


def check_cursor(text: str) -> None:
    """Raise InvalidArgument for a text that is no cursor of any read."""
    kind = text.partition(".")[0]
    if not _CURSOR_KIND.fullmatch(kind):
        raise cursor.invalid_cursor("VALIDATION_ERROR")
    cursors.decode(kind, text, 1)


class ReadAnswer:
    """The answer to one read: the pad's header, and its cells with their fields that fit."""

    def __init__(self, view: PadView, request: ReadRequest) -> None:
        self.view = view
        self.request = request
        self.budget = request.budget
        self.header = view.header if request.with_header else view.minimal_header
        self.is_cut = False
        self.cells = [cell.full_data(VERSION) for cell in view.cells]
        same_cell = (
            request.position
            and self.cells
            and cursors.is_at(request.position, self.cells[0]["cell_id"])
        )
        self.offset = request.offset if same_cell else 0

    def build(self) -> Page | TextPage:
        """Build the answer. Raises InvalidArgument for lines that are not there."""
        if any(value is not None for value in self.request.lines):
            return self._read_lines()
        if self.offset:
            self.cells[0] = self._part_of(self.cells[0], self.offset)
        if not self.view.has_more and pagination.fits_budget(self._answer(self.cells), self.budget):
            return self._page(self.cells)
        header_leaves_half = pagination.fits_budget(self._answer([]), self.budget // 2)
        self._reduce_cells()
        if header_leaves_half or not self.request.with_header:
            if not self.cells or self._fits_with_continuation(self.cells[0]):
                return self._page(self.cells)
            if not self.request.with_header or self._has_room_for_text():
                return self._first_cell_part()
        return self._header_page()

    def _header_page(self) -> Page:
        """Build an answer without cells; these follow, if there are any."""
        whole, follows = self.header, bool(self.view.selected)
        onward: JsonObject = {}
        if follows:
            arguments = {**self.request.arguments, "cursor": self._cursor(0)}
            call = {**arguments, "max_tokens": self.budget}
            onward = add_continuation({}, Continuation("scratch_read", call, arguments["cursor"]))
        used = pagination.count_tokens(onward) if follows else _CONTINUATION_TOKENS
        room = self.budget - used
        while True:
            self.header, self.is_cut = whole, False
            self._reduce_header(room)
            # Fields that fit one by one may take a few tokens more side by side.
            over = pagination.count_tokens({**self._answer([]), **onward}) - self.budget
            if over <= 0 or room <= 0:
                break
            room -= over
        return Page([], self._answer, lambda _at: self._cursor(0), has_more=follows)

    def _read_lines(self) -> TextPage:
        if len(self.view.selected) != 1:
            raise invalid_value(
                "line_start, line_count and char_start read one cell; "
                f"{len(self.view.selected)} are asked for",
                "Name the cell in cell_ids.",
            )
        whole = self._lines_page(self.request.lines)
        size = whole.size <= self.budget * _MAX_CHARACTERS_PER_TOKEN
        if not self.budget or (
            size and pagination.fits_budget(whole.render(whole.size), self.budget)
        ):
            return whole
        if not pagination.fits_budget(self._answer([]), self.budget // 3):
            self._reduce_header(self.budget // 3)
        self._reduce_cells()
        self._leave_room_for_text()
        return self._lines_page(self.request.lines)

    def _first_cell_part(self) -> TextPage:
        """Build an answer with part of the first cell, which does not fit whole."""
        self._leave_room_for_text()
        if len(self.view.selected) == 1 and self._has_room_for_header():
            return self._lines_page((1, None, self.offset))
        content, offset = self.view.cells[0].content or "", self.offset
        following = self.view.first + 1
        has_more = following < len(self.view.selected)

        def resume_at(end: int) -> dict[str, object]:
            if offset + end >= len(content) and has_more:
                return {"cursor": self._cursor(following)}
            return {"cursor": self._cursor(self.view.first, offset + end)}

        return TextPage(content[offset:], self._text_envelope(offset), resume_at, has_more)

    def _lines_page(self, lines: Lines) -> TextPage:
        """Build an answer with lines of the one cell that is read."""
        cell = self.view.cells[0]
        first, count, skipped = lines[0] or 1, lines[1], lines[2] or 0
        text, start = _select_lines(cell.content or "", first, count)
        if skipped > len(text):
            raise invalid_value(
                f"char_start is {skipped}; these lines have {len(text)} characters",
                "It is counted from the start of line_start.",
            )

        def resume_at(end: int) -> dict[str, object]:
            passed = text[: skipped + end]
            done = passed.count("\n")
            rest = {} if count is None else {"line_count": count - done}
            return {
                "cell_ids": [cell.cell_id],
                "include_metadata": False,
                "line_start": first + done,
                **rest,
                "char_start": len(passed) - (passed.rfind("\n") + 1),
            }

        return TextPage(text[skipped:], self._text_envelope(start + skipped), resume_at)

    def _text_envelope(self, offset: int) -> Callable[[str], JsonObject]:
        cell = self.cells[0]

        def envelope(text: str) -> JsonObject:
            return self._answer([self._part_of(cell, offset, text)])

        return envelope

    def _part_of(self, cell: JsonObject, offset: int, text: str | None = None) -> JsonObject:
        """Give the first cell part of its content, and the line at which that begins."""
        content = self.view.cells[0].content or ""
        part = content[offset:] if text is None else text
        if part == content:
            return {**cell, "content": part}
        return {**cell, "content": part, "line_start": content.count("\n", 0, offset) + 1}

    def _has_room_for_header(self) -> bool:
        """Whether a call that continues by lines has room for the pad's own fields again."""
        own = {k: value for k, value in self.view.header.items() if k != "metadata"}
        return pagination.fits_budget(own, self.budget // 2)

    def _has_room_for_text(self) -> bool:
        begun = self._answer([{**self.cells[0], "content": ""}])
        return pagination.fits_budget(begun, max(1, self.budget - _CONTINUATION_TOKENS))

    def _leave_room_for_text(self) -> None:
        """Drop every field that can be dropped if the rest leaves no room for any text."""
        if not self._has_room_for_text():
            self.is_cut |= self.request.with_header
            self.header = self.view.minimal_header
            self.cells[0] = {name: self.cells[0][name] for name in _MINIMAL_CELL_FIELDS}

    def _reduce_header(self, room: int) -> None:
        """Keep the own fields and metadata that fit into so many tokens."""
        fields: JsonObject = dict(self.header)
        metadata: JsonObject = fields.pop("metadata", {})
        required = (*MINIMAL_PAD_FIELDS, "cells")
        room -= _name_tokens("metadata") if metadata else 0
        kept, omitted = _select_fields(fields, required, room)
        self.is_cut |= kept.keys() != fields.keys()
        room -= pagination.count_tokens({**kept, "omitted": omitted})
        found, left_out = _select_fields(metadata, (), room)
        self.is_cut |= found.keys() != metadata.keys()
        if found.keys() == metadata.keys() or (found and 0 < len(left_out) <= _MAX_OMITTED_NAMES):
            kept |= {"metadata": found} if "metadata" in self.header else {}
            omitted += [f"metadata.{key}"[:_MAX_OMITTED_LENGTH] for key in left_out]
        elif room >= 0:
            omitted.append("metadata")
        self.header = {**kept, "omitted": omitted} if omitted else kept

    def _reduce_cells(self) -> None:
        """Keep the fields of each cell that fit into a quarter of the budget beside its content."""
        for at, cell in enumerate(self.cells):
            fields = {name: value for name, value in cell.items() if name != "content"}
            if pagination.fits_budget(fields, self.budget // 4):
                continue
            kept, omitted = _select_fields(fields, _MINIMAL_CELL_FIELDS, self.budget // 4)
            named = {"omitted": omitted} if omitted else {}
            self.is_cut |= kept.keys() != fields.keys()
            self.cells[at] = {**kept, **named, "content": cell["content"]}

    def _fits_with_continuation(self, cell: JsonObject) -> bool:
        """Whether a cell fits whole, with the call that continues after it."""
        if not self.budget:
            return True
        if len(cell["content"]) > self.budget * _MAX_CHARACTERS_PER_TOKEN:
            return False
        following = self._cursor_after(0)
        arguments = {**self.request.arguments, "max_tokens": self.budget, "cursor": following}
        onward = Continuation("scratch_read", arguments, following)
        whole = add_continuation(self._answer([cell]), onward)
        return pagination.fits_budget(whole, max(1, self.budget - _SLACK_TOKENS))

    def _page(self, cells: list[JsonObject]) -> Page:
        return Page(cells, self._answer, self._cursor_after, self.view.has_more)

    def _answer(self, cells: Sequence[JsonObject]) -> JsonObject:
        answer: JsonObject = {"ok": True, "scratchpad": {**self.header, "cells": list(cells)}}
        if not self.is_cut:
            return answer
        return {**answer, "truncated": True, **self._larger_call}

    @cached_property
    def _larger_call(self) -> JsonObject:
        """Return as `next` the same call with a budget that holds every field, if one may be."""
        cells = [cell.full_data(VERSION) for cell in self.view.cells]
        fields = [{**cell, "content": ""} for cell in cells]
        header = self.view.header if self.request.with_header else {}
        tokens = sum(cell.stats.tokens for cell in self.view.cells)
        needed = int((pagination.count_tokens([header, fields]) + tokens) * _MARGIN)
        needed += _CONTINUATION_TOKENS
        most = self.request.max_budget
        if needed <= self.budget or (most and needed > most):
            return {}
        arguments = {**self.request.arguments, "max_tokens": needed}
        return {"next": {"tool": "scratch_read", "arguments": arguments}}

    def _cursor_after(self, at: int) -> str:
        """Encode the cursor that continues after the cell `at` of those that were loaded."""
        return self._cursor(min(self.view.first + at + 1, len(self.view.selected) - 1))

    def _cursor(self, position: int, offset: int = 0) -> str:
        ids = [cell.cell_id for cell in self.view.selected]
        if offset:
            ids[:position] = [""] * position  # the rest of a cell is wherever that is
        at = cursors.position_at(ids, position)
        return cursors.encode(self.request.cursor_kind, at, offset)


def _select_fields(
    fields: JsonObject, required: Sequence[str], room: int
) -> tuple[JsonObject, list[str]]:
    """Select the fields that fit into so many tokens, and the names of the others.

    There are no names if not even these fit.
    """
    kept = {name: fields[name] for name in required}
    names = {name: _name_tokens(name) for name in fields if name not in kept}
    reserved = sum(sorted(names.values())[-_MAX_OMITTED_NAMES:])
    room -= pagination.count_tokens({**kept, "omitted": []}) + reserved
    omitted: list[str] = []
    names_fit = room >= 0
    for name, name_tokens in names.items():
        field = {name: fields[name]}
        if room + name_tokens > 0 and pagination.fits_budget(field, room + name_tokens):
            kept |= field
            room += name_tokens - pagination.count_tokens(field)
        else:
            omitted.append(name)
    return kept, omitted if names_fit else []


def _name_tokens(name: str) -> int:
    """Count the tokens of a name in `omitted`, with its comma."""
    return pagination.count_tokens(f"metadata.{name}"[:_MAX_OMITTED_LENGTH]) + 1


def _select_lines(content: str, line_start: int, line_count: int | None) -> tuple[str, int]:
    """Select lines of a content, and the character at which they start."""
    lines = TextLines(content)
    if line_start > max(1, len(lines)):
        raise invalid_value(
            f"line_start is {line_start}; the cell has {len(lines)} lines",
            "scratch_list_cells shows how many lines each cell has.",
        )
    last = len(lines) if line_count is None else line_start + line_count - 1
    start, end = lines.span(line_start, last)
    return content[start:end], start


def _tags_of(cells: Sequence[Cell]) -> list[str]:
    return sorted({tag for cell in cells for tag in cell.tags})


def _read_metadata(tx: Tx, pad: Pad) -> JsonObject:
    entries = {entry.name: vars(entry) for entry in pad_rows.schemas_of(tx, pad.scratch_id)}
    return {**pad.metadata, "schemas": entries} if entries else pad.metadata
