"""Reading a pad: which cells, how much of them, and where the next part begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.core.text.lines import Lines
from rolltop.toolsets.scratch.service.checks import wrong
from rolltop.toolsets.scratch.service.finding import living, selected
from rolltop.toolsets.scratch.store import cells, names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models import Cell, JsonObject, Pad, Place, SchemaEntry, Wanted

_MARGIN: Final = 1.25
"""Cells are loaded until their own tokens are that much over the budget."""


@dataclass(frozen=True)
class Reading:
    """A pad with the cells of one answer: those from `first` on of the `chosen`, as loaded."""

    pad: Pad
    metadata: JsonObject | None
    cell_tags: list[str]
    chosen: list[Place]
    first: int
    cells: list[Cell]
    at: datetime

    @property
    def more(self) -> bool:
        """Whether wanted cells follow those that were loaded."""
        return self.first + len(self.cells) < len(self.chosen)

    def answer(self, shown: list[JsonObject]) -> JsonObject:
        """Return the answer around some cells."""
        pad = self.pad.shown(shown, self.cell_tags, self.at)
        extra = {} if self.metadata is None else {"metadata": self.metadata}
        return {"ok": True, "scratchpad": {**pad, **self.pad.labels, **extra}}


@dataclass(frozen=True)
class Segment:
    """Part of a cell's content: whole lines asked for, from a character of the first on."""

    text: str
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
    place: tuple[int, str] | None,
    budget: int,
    with_metadata: bool,  # noqa: FBT001  # passed on by position
) -> Reading:
    """Return a pad with wanted cells from a place on, as many as a budget may hold (0: all).

    Raises NotFound, UNAUTHORIZED, INVALID_INDEX.
    """
    pad = living(tx, scratch_id, wanted.namespaces)
    places = cells.places(tx, scratch_id)
    chosen = selected(places, wanted)
    first = 0 if place is None else _resumed(chosen, *place)
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


def batch(
    tx: Tx, scratch_id: str, wanted: Wanted, first: int, size: int
) -> tuple[list[Cell], list[SchemaEntry], bool]:
    """Return wanted cells from the `first` on with up to `size` bytes, schemas, and if more follow.

    Raises NotFound, INVALID_INDEX.
    """
    living(tx, scratch_id)
    chosen = selected(cells.outlines(tx, scratch_id), wanted)[first:]
    ids: list[str] = []
    for cell in chosen:
        size -= cell.measured.bytes
        if ids and size < 0:
            break
        ids.append(cell.cell_id)
    loaded = cells.whole(tx, scratch_id, ids) if ids else []
    return loaded, names.schemas_of(tx, scratch_id), len(ids) < len(chosen)


def segment(content: str, line_start: int, line_count: int | None) -> Segment:
    """Return some lines of a content, all from `line_start` on without a count. Raises Invalid."""
    lines = Lines(content)
    if line_start > max(1, len(lines)):
        raise wrong(
            f"line_start is {line_start}; the cell has {len(lines)} lines",
            "scratch_list_cells shows how many lines each cell has.",
        )
    last = len(lines) if line_count is None else line_start + line_count - 1
    return Segment(lines.between(line_start, last), line_start, line_count)


def _resumed(chosen: Sequence[Place], position: int, cell_id: str) -> int:
    """Return where a cell stands now; what stands in its place where it is gone."""
    for at, place in enumerate(chosen):
        if place.cell_id == cell_id:
            return at
    return min(position, len(chosen))


def _metadata(tx: Tx, pad: Pad) -> JsonObject:
    entries = names.schemas_of(tx, pad.scratch_id)
    kept = {entry.name: entry.shown for entry in entries}
    return {**pad.metadata, "schemas": kept} if kept else pad.metadata
