"""What may happen to the cells of a pad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.scratch import index
from rolltop.toolsets.scratch.models.records import Draft
from rolltop.toolsets.scratch.service import drafts as checked
from rolltop.toolsets.scratch.service.checks import wrong
from rolltop.toolsets.scratch.service.edits import edited
from rolltop.toolsets.scratch.service.finding import (
    held,
    held_cell,
    living,
    require_version,
    selected,
    wrong_index,
)
from rolltop.toolsets.scratch.service.pads import new_cells, written
from rolltop.toolsets.scratch.store import cells, pads

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.records import Cell, Edit, Limits, Pad, Wanted, Written


def append(
    tx: Tx, scratch_id: str, draft: Draft, if_version: int | None, limits: Limits
) -> Written:
    """Return the pad with one more cell at its end.

    Raises:
        NotFound: the pad is not there.
        Conflict: it is not at `if_version`.
        Invalid: the cell's id is taken, or there is no room.

    """
    pad = held(tx, scratch_id, if_version)
    checked.require_room(pad.cell_count + 1, limits)
    by_id = new_cells(tx, [draft])
    (cell,) = cells.add(tx, scratch_id, pad.cell_count, by_id)
    pad = pads.touch(tx, pad, cells=1)
    index.put_cells(tx, pad, [cell], new=True)
    return written(tx, pad, [cell])


def replace_cell(  # what the tool takes
    tx: Tx,
    scratch_id: str,
    cell_id: str | None,
    position: int | None,
    draft: Draft,
    new_position: int | None,
    if_version: int | None,
) -> Written:
    """Return the pad with the draft in a cell's place; tags and metadata left out stay.

    Raises NotFound, Conflict, and Invalid for an index or an id that does not fit.
    """
    pad = held(tx, scratch_id)
    cell = held_cell(tx, scratch_id, cell_id, position)
    if draft.cell_id not in {None, cell.cell_id}:
        raise wrong(
            f"cell.cell_id is {draft.cell_id}, but the cell replaced is {cell.cell_id}",
            "Leave cell.cell_id out: a cell keeps its id.",
        )
    require_version("cell", cell.version, if_version)
    if new_position is not None and not 0 <= new_position < pad.cell_count:
        raise wrong_index(new_position, pad.cell_count)
    now = cells.put(tx, cell, draft)
    if new_position is not None and new_position != cell.index:
        now = cells.move(tx, now, new_position)
    return _indexed(tx, pads.touch(tx, pad), cell, now)


def cell_of(tx: Tx, scratch_id: str, cell_id: str, if_version: int | None) -> Cell:
    """Return one cell with all it holds. Raises NotFound, or Conflict for another version."""
    living(tx, scratch_id)
    cell = held_cell(tx, scratch_id, cell_id, None)
    require_version("cell", cell.version, if_version)
    return cell


def edited_draft(cell: Cell, edits: Sequence[Edit], limits: Limits) -> Draft:
    """Return what becomes of a cell by edits of its content. Raises Invalid."""
    content = edited(cell.content or "", edits)
    return Draft(
        language=cell.language,
        content=content,
        measured=checked.measured(content, limits),
        validate=cell.validate,
        json_schema=cell.json_schema,
    )


def put_edited(tx: Tx, scratch_id: str, cell_id: str, draft: Draft, version: int) -> Written | None:
    """Return the pad with the edited cell; None where the cell is not at that version any more."""
    pad = held(tx, scratch_id)
    cell = held_cell(tx, scratch_id, cell_id, None)
    if cell.version != version:
        return None
    return _put(tx, pad, cell, draft)


def edit_now(  # what the tool takes
    tx: Tx,
    scratch_id: str,
    cell_id: str,
    edits: Sequence[Edit],
    if_version: int | None,
    limits: Limits,
) -> Written:
    """Return the pad with a cell edited inside this transaction: nobody can be faster."""
    pad = held(tx, scratch_id)
    cell = held_cell(tx, scratch_id, cell_id, None)
    require_version("cell", cell.version, if_version)
    return _put(tx, pad, cell, edited_draft(cell, edits, limits))


def delete_cell(tx: Tx, scratch_id: str, cell_id: str, if_version: int | None) -> Written:
    """Return the pad without the cell; the cells after it move up. Raises NotFound, Conflict."""
    pad = held(tx, scratch_id)
    cell = held_cell(tx, scratch_id, cell_id, None)
    require_version("cell", cell.version, if_version)
    index.drop_cells(tx, [cell_id])
    cells.remove(tx, pad, cell)
    return written(tx, pads.touch(tx, pad, cells=-1), ())


def list_cells(tx: Tx, scratch_id: str, wanted: Wanted) -> tuple[Pad, datetime, list[Cell]]:
    """Return a pad, the moment, and the cells a caller wants, without content.

    Raises NotFound.
    """
    pad = living(tx, scratch_id)
    return pad, tx.now, selected(cells.outlines(tx, scratch_id), wanted)


def _put(tx: Tx, pad: Pad, cell: Cell, draft: Draft) -> Written:
    return _indexed(tx, pads.touch(tx, pad), cell, cells.put(tx, cell, draft))


def _indexed(tx: Tx, pad: Pad, before: Cell, now: Cell) -> Written:
    """Return the pad after a cell of it was written, which can be found from now on."""
    if now.content != before.content or now.tags != before.tags:
        index.put_cells(tx, pad, [now], same_tags=now.tags == before.tags)
    return written(tx, pad, [now])
