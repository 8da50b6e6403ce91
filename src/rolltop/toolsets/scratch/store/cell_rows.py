"""Cells: their rows, their contents in a table of their own, their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import bindparam, delete, func, insert, select, update

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement
from rolltop.core.db.types import Identifier
from rolltop.toolsets.scratch.models.records import (
    Cell,
    Draft,
    Pad,
    TextStats,
    ValidationSummary,
)
from rolltop.toolsets.scratch.store.tables import (
    cell_tags,
    cells,
    contents,
    failed_index_condition,
    pads,
)

_STATS: Final = ("sha256", "bytes", "characters", "lines", "tokens", "first_line")
_OUTLINE_COLUMNS: Final = (
    *(cells.c.cell_id, cells.c.position, cells.c.language, cells.c.tags),
    *(cells.c.version, cells.c.validate, cells.c.finding),
    *(cells.c[name] for name in _STATS),
)
_LONG_COLUMNS: Final = (cells.c.json_schema, cells.c.metadata)
_OWNER: Final = bindparam("owner", type_=Identifier)
_PAD: Final = bindparam("pad", type_=Identifier)
_IN_PAD: Final = (cells.c.user_id == _OWNER, cells.c.scratch_id == _PAD)
_OUTLINES: Final = CompiledStatement(
    select(*_OUTLINE_COLUMNS).where(*_IN_PAD).order_by(cells.c.position)
)
_COUNT: Final = CompiledStatement(
    select(func.count(), func.coalesce(func.max(cells.c.position) + 1, 0)).where(*_IN_PAD)
)
_PLACES: Final = CompiledStatement(
    select(cells.c.cell_id, cells.c.position).where(*_IN_PAD).order_by(cells.c.position)
)
_FULL: Final = select(*_OUTLINE_COLUMNS, *_LONG_COLUMNS, contents.c.content).where(
    *_IN_PAD, contents.c.user_id == _OWNER, contents.c.cell_id == cells.c.cell_id
)

_CELL_IDS: Final = bindparam("wanted", expanding=True, type_=Identifier)
_ALL_FULL: Final = CompiledStatement(_FULL)
_SOME_FULL: Final = CompiledStatement(_FULL.where(cells.c.cell_id.in_(_CELL_IDS)))
_FULL_AT: Final = CompiledStatement(_FULL.where(cells.c.position == bindparam("wanted")))
_HEADS: Final = CompiledStatement(
    select(cells.c.cell_id, cells.c.scratch_id, cells.c.tags).where(
        cells.c.user_id == _OWNER, cells.c.cell_id.in_(_CELL_IDS)
    )
)
_ADD: Final = CompiledStatement(insert(cells))
_ADD_CONTENT: Final = CompiledStatement(insert(contents))
_ADD_TAGS: Final = CompiledStatement(insert(cell_tags))
_SET: Final = (
    *("language", "validate", "json_schema", "metadata", "tags", "version", "finding"),
    *_STATS,
)
_CELL: Final = bindparam("cell", type_=Identifier)
_PUT: Final = CompiledStatement(
    update(cells)
    .where(cells.c.user_id == _OWNER, cells.c.cell_id == _CELL)
    .values({name: bindparam(f"new_{name}") for name in _SET})
)
_PUT_CONTENT: Final = CompiledStatement(
    update(contents)
    .where(contents.c.user_id == _OWNER, contents.c.cell_id == _CELL)
    .values(content=bindparam("new_content"))
)
_DROP_TAGS: Final = CompiledStatement(
    delete(cell_tags).where(cell_tags.c.user_id == _OWNER, cell_tags.c.cell_id == _CELL)
)
_REMOVE: Final = CompiledStatement(delete(cells).where(*_IN_PAD, cells.c.cell_id == _CELL))
_SHIFT: Final = CompiledStatement(
    update(cells)
    .where(*_IN_PAD, cells.c.position.between(bindparam("low"), bindparam("high")))
    .values(position=cells.c.position + bindparam("step"))
)
_MOVE: Final = CompiledStatement(
    update(cells)
    .where(*_IN_PAD, cells.c.cell_id == _CELL)
    .values(position=bindparam("new_position"))
)


def outlines(tx: Tx, scratch_id: str) -> list[Cell]:
    """List a pad's cells without contents, schemas and metadata, in order."""
    return _cells(tx, scratch_id, _OUTLINES)


def places(tx: Tx, scratch_id: str) -> dict[str, int]:
    """Map a pad's cells to their positions, in order."""
    return dict(_PLACES.rows(tx, _parameters(tx, scratch_id)))


def count_places(tx: Tx, scratch_id: str) -> tuple[int, int]:
    """Return how many cells a pad has, and how many places they take: more where there are gaps."""
    ((count, end),) = _COUNT.rows(tx, _parameters(tx, scratch_id))
    return count, end


def get_cells(tx: Tx, scratch_id: str, cell_ids: Sequence[str]) -> list[Cell]:
    """Read some of a pad's cells whole, in the order of the ids."""
    found = _cells(tx, scratch_id, _SOME_FULL, wanted=list(cell_ids)) if cell_ids else []
    by_id = {cell.cell_id: cell for cell in found}
    return [by_id[cell_id] for cell_id in cell_ids if cell_id in by_id]


def get_all_cells(tx: Tx, scratch_id: str) -> list[Cell]:
    """Read all of a pad's cells whole, in order."""
    return sorted(_cells(tx, scratch_id, _ALL_FULL), key=lambda cell: cell.index)


def get_cell_at(tx: Tx, scratch_id: str, position: int) -> Cell | None:
    """Read the cell at a position whole."""
    found = _cells(tx, scratch_id, _FULL_AT, wanted=position)
    return found[0] if found else None


def pads_and_tags(tx: Tx, cell_ids: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Find the pad, in the trash or not, and the tags of the caller's cells, by cell id."""
    wanted = list(cell_ids)
    found = _HEADS.rows(tx, {"owner": tx.scope.user_id, "wanted": wanted}) if wanted else ()
    return {cell_id: (scratch_id, tuple(tags)) for cell_id, scratch_id, tags in found}


def failed_cells(
    tx: Tx, namespaces: Sequence[str] | None, limit: int
) -> list[tuple[str, str, str, ValidationSummary, str]]:
    """List up to `limit` of the caller's cells whose last validation failed, in these namespaces.

    Each is its id, its language, its first line, the validation and its content's hash now.
    """
    shown = (cells.c.cell_id, cells.c.language, cells.c.first_line, cells.c.finding, cells.c.sha256)
    of_pad = (pads.c.user_id == cells.c.user_id) & (pads.c.scratch_id == cells.c.scratch_id)
    found = (
        select(*shown)
        .join_from(cells, pads, of_pad)
        .where(
            *(cells.c.user_id == tx.scope.user_id, failed_index_condition),
            pads.c.deleted_at.is_(None),
        )
    )
    if namespaces is not None:
        found = found.where(pads.c.namespace.in_(namespaces))
    newest_first = found.order_by(pads.c.updated_at.desc(), cells.c.cell_id).limit(limit)
    return [
        (row.cell_id, row.language, row.first_line, ValidationSummary(**row.finding), row.sha256)
        for row in tx.execute(newest_first)
    ]


def ids_between(tx: Tx, low: str, high: str, limit: int) -> list[str]:
    """List up to `limit` ids, in a range, of the caller's cells, of pads in the trash too."""
    found = select(cells.c.cell_id).where(
        cells.c.user_id == tx.scope.user_id, cells.c.cell_id.between(low, high)
    )
    return list(tx.execute(found.order_by(cells.c.cell_id).limit(limit)).scalars())


def insert_cells(tx: Tx, scratch_id: str, first: int, drafts: Mapping[str, Draft]) -> list[Cell]:
    """Insert cells by their ids, from position `first` on."""
    made = [
        _new_cell(draft, cell_id, scratch_id, position)
        for position, (cell_id, draft) in enumerate(drafts.items(), first)
    ]
    insert_stored(tx, made)
    return made


def insert_stored(tx: Tx, made: Sequence[Cell]) -> None:
    """Insert cells as they are, each at its index."""
    owner = tx.scope.user_id
    _ADD.run_each(
        tx,
        [
            {
                "user_id": owner,
                "cell_id": cell.cell_id,
                "scratch_id": cell.scratch_id,
                "position": cell.index,
                **_columns(cell),
            }
            for cell in made
        ],
    )
    texts = [{"user_id": owner, "cell_id": c.cell_id, "content": c.content} for c in made]
    _ADD_CONTENT.run_each(tx, texts)
    _add_tags(tx, made)


def update_cell(tx: Tx, cell: Cell, draft: Draft) -> Cell:
    """Write a draft as the cell's next version.

    Tags and metadata that are None stay; so does a validation, which is stale then: of another
    language or schema it is that of no content.
    """
    finding = draft.finding or cell.finding
    if (
        finding is cell.finding
        and finding
        and ((draft.language, draft.json_schema) != (cell.language, cell.json_schema))
    ):
        finding = replace(finding, sha256="")
    now = replace(
        _new_cell(draft, cell.cell_id, cell.scratch_id, cell.index),
        version=cell.version + 1,
        tags=cell.tags if draft.tags is None else draft.tags,
        metadata=cell.metadata if draft.metadata is None else draft.metadata,
        finding=finding,
    )
    mine = {"owner": tx.scope.user_id, "cell": cell.cell_id}
    values = {f"new_{name}": value for name, value in _columns(now).items()}
    _PUT.run(tx, {**mine, **values})
    if now.stats.sha256 != cell.stats.sha256:
        _PUT_CONTENT.run(tx, {**mine, "new_content": draft.content})
    if now.tags != cell.tags:
        _DROP_TAGS.run(tx, mine)
        _add_tags(tx, [now])
    return now


def move_cell(tx: Tx, cell: Cell, position: int) -> Cell:
    """Move a cell; those between move by one."""
    if position < cell.index:
        _shift(tx, cell, position, cell.index, 1)
    else:
        _shift(tx, cell, cell.index, position, -1)
    mine = {**_parameters(tx, cell.scratch_id), "cell": cell.cell_id}
    _MOVE.run(tx, {**mine, "new_position": position})
    return replace(cell, index=position)


def set_order(tx: Tx, scratch_id: str, order: Iterable[str], places: Mapping[str, int]) -> None:
    """Number a pad's cells from 0 in this order; `places` are their positions of now."""
    for position, cell_id in enumerate(order):
        if places[cell_id] != position:
            mine = {**_parameters(tx, scratch_id), "cell": cell_id}
            _MOVE.run(tx, {**mine, "new_position": position})


def set_stats(tx: Tx, cell: Cell, stats: TextStats) -> None:
    """Store the figures of a cell's content; its version stays."""
    mine = (cells.c.user_id == tx.scope.user_id, cells.c.cell_id == cell.cell_id)
    tx.execute(update(cells).where(*mine).values(**vars(stats)))


def delete_cell(tx: Tx, pad: Pad, cell: Cell) -> None:
    """Delete a cell for good; those after it move up."""
    _REMOVE.run(tx, {**_parameters(tx, cell.scratch_id), "cell": cell.cell_id})
    if cell.index + 1 < pad.cell_count:
        _shift(tx, cell, cell.index + 1, pad.cell_count, -1)


def _shift(tx: Tx, cell: Cell, low: int, high: int, step: int) -> None:
    moved = {"low": low, "high": high, "step": step}
    _SHIFT.run(tx, {**_parameters(tx, cell.scratch_id), **moved})


def _new_cell(draft: Draft, cell_id: str, scratch_id: str, position: int) -> Cell:
    return Cell(
        cell_id,
        scratch_id,
        position,
        draft.language,
        draft.tags or (),
        1,
        draft.stats,
        draft.validate,
        draft.json_schema,
        draft.metadata,
        draft.finding,
        draft.content,
    )


def _columns(cell: Cell) -> dict[str, Any]:
    return {
        "language": cell.language,
        "validate": cell.validate,
        "json_schema": cell.json_schema,
        "metadata": cell.metadata,
        "tags": cell.tags,
        "version": cell.version,
        "finding": cell.finding and vars(cell.finding),
        **vars(cell.stats),
    }


def _add_tags(tx: Tx, made: Sequence[Cell]) -> None:
    rows = [
        {
            "user_id": tx.scope.user_id,
            "scratch_id": cell.scratch_id,
            "cell_id": cell.cell_id,
            "tag": tag,
        }
        for cell in made
        for tag in cell.tags
    ]
    _ADD_TAGS.run_each(tx, rows)


def _parameters(tx: Tx, scratch_id: str) -> dict[str, str]:
    return {"owner": tx.scope.user_id, "pad": scratch_id}


def _cells(tx: Tx, scratch_id: str, statement: CompiledStatement, **bound: object) -> list[Cell]:
    rows = statement.rows(tx, {**_parameters(tx, scratch_id), **bound})
    return [_cell_of_row(scratch_id, *row) for row in rows]


def _cell_of_row(scratch_id: str, *row: Any) -> Cell:  # noqa: ANN401  # columns of several types
    cell_id, position, language, tags, version, validate, finding, *rest = row
    stats, long = rest[: len(_STATS)], rest[len(_STATS) :]
    json_schema, metadata, content = long or (None, None, None)
    return Cell(
        cell_id,
        scratch_id,
        position,
        language,
        tuple(tags),
        version,
        TextStats(*stats),
        validate,
        json_schema,
        metadata,
        ValidationSummary(**finding) if finding else None,
        content,
    )
