"""Reading a pad: which cells, how much of them, and where the next part begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.core.text.lines import Lines
from rolltop.toolsets.scratch.service.checks import wrong
from rolltop.toolsets.scratch.service.finding import living, selected
from rolltop.toolsets.scratch.service.places import resumed
from rolltop.toolsets.scratch.store import cells, names

if TYPE_CHECKING:
    from datetime import datetime

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models import JsonObject, records
    from rolltop.toolsets.scratch.models.records import Cell, Pad, SchemaEntry, Wanted
    from rolltop.toolsets.scratch.service.places import Place

_MARGIN: Final = 1.25
"""Cells are loaded until their own tokens are that much over the budget."""


@dataclass(frozen=True)
class Reading:
    """A pad with the cells of one answer: those from `first` on of the `chosen`, as loaded.

    `head` stands in for the pad's own fields where these are too long for the budget, and
    `is_cut` then; or where an earlier answer has given them. `mark` ends the kind of its cursors.
    """

    pad: Pad
    metadata: JsonObject | None
    cell_tags: list[str]
    chosen: list[records.Place]
    first: int
    cells: list[Cell]
    at: datetime
    head: JsonObject | None = None
    is_cut: bool = False
    mark: str = ""

    @property
    def whole_head(self) -> JsonObject:
        """The pad's own fields, without metadata and cells."""
        return {**self.pad.shown([], self.cell_tags, self.at), **self.pad.labels}

    @property
    def more(self) -> bool:
        """Whether wanted cells follow those that were loaded."""
        return self.first + len(self.cells) < len(self.chosen)

    def answer(self, shown: list[JsonObject]) -> JsonObject:
        """Return the answer around some cells."""
        pad = {**(self.head or self.whole_head), "cells": shown}
        extra = {} if self.metadata is None else {"metadata": self.metadata}
        cut = {"truncated": True} if self.is_cut else {}
        return {"ok": True, "scratchpad": {**pad, **extra}, **cut}


@dataclass(frozen=True)
class Segment:
    """Part of a cell's content: whole lines asked for, which begin at the character `start`."""

    text: str
    start: int
    line: int
    lines: int | None

    def next_at(self, end: int, skipped: int) -> JsonObject:
        """Return the arguments that go on after `end` characters of what was answered.

        `skipped` characters of the segment came before the answer.
        """
        passed = self.text[: skipped + end]
        done = passed.count("\n")
        rest: JsonObject = {"line_start": self.line + done}
        if self.lines is not None:
            rest["line_count"] = self.lines - done
        return {**rest, "char_start": len(passed) - (passed.rfind("\n") + 1)}


def read(  # what the tool takes
    tx: Tx,
    scratch_id: str,
    wanted: Wanted,
    place: Place | None,
    budget: int,
    *,
    with_metadata: bool,
) -> Reading:
    """Return a pad with wanted cells from a place on, as many as a budget may hold (0: all).

    Raises NotFound, UNAUTHORIZED, INVALID_INDEX.
    """
    pad = living(tx, scratch_id, wanted.namespaces)
    places = cells.places(tx, scratch_id)
    chosen = selected(places, wanted)
    first = resumed([one.cell_id for one in chosen], place)
    ids: list[str] = []
    cost = 0
    for one in chosen[first:]:
        if ids and budget and cost > budget * _MARGIN:
            break
        ids.append(one.cell_id)
        cost += one.tokens
    metadata = _metadata(tx, pad) if with_metadata else None
    tags = sorted({tag for one in places for tag in one.tags})
    if ids == [one.cell_id for one in places]:
        loaded = cells.all_whole(tx, scratch_id)
    else:
        loaded = cells.whole(tx, scratch_id, ids) if ids else []
    return Reading(pad, metadata, tags, chosen, first, loaded, tx.now)


@dataclass(frozen=True)
class Batch:
    """Wanted cells from the position `first` on, their pad's schemas, and where others follow."""

    first: int
    cells: list[Cell]
    schemas: list[SchemaEntry]
    following: Place | None


def batch(tx: Tx, scratch_id: str, wanted: Wanted, place: Place | None, size: int) -> Batch:
    """Return wanted cells from a place on, up to `size` bytes. Raises NotFound, INVALID_INDEX."""
    living(tx, scratch_id)
    chosen = selected(cells.outlines(tx, scratch_id), wanted)
    whole = [cell.cell_id for cell in chosen]
    first = resumed(whole, place)
    ids: list[str] = []
    for cell in chosen[first:]:
        size -= cell.measured.bytes
        if ids and size < 0:
            break
        ids.append(cell.cell_id)
    loaded = cells.whole(tx, scratch_id, ids) if ids else []
    end = first + len(ids)
    following = (end, whole[end]) if end < len(whole) else None
    return Batch(first, loaded, names.schemas_of(tx, scratch_id), following)


def segment(content: str, line_start: int, line_count: int | None) -> Segment:
    """Return some lines of a content, all from `line_start` on without a count. Raises Invalid."""
    lines = Lines(content)
    if line_start > max(1, len(lines)):
        raise wrong(
            f"line_start is {line_start}; the cell has {len(lines)} lines",
            "scratch_list_cells shows how many lines each cell has.",
        )
    last = len(lines) if line_count is None else line_start + line_count - 1
    start, end = lines.span(line_start, last)
    return Segment(content[start:end], start, line_start, line_count)


def _metadata(tx: Tx, pad: Pad) -> JsonObject:
    entries = names.schemas_of(tx, pad.scratch_id)
    kept = {entry.name: entry.shown for entry in entries}
    return {**pad.metadata, "schemas": kept} if kept else pad.metadata
