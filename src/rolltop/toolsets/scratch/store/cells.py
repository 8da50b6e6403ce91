"""Cells: their rows, their texts apart, their order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, delete, insert, select, update

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import Identifier
from rolltop.toolsets.scratch.models.records import Cell, Finding, Measured, Place
from rolltop.toolsets.scratch.store.tables import cell_tags, cells, contents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.records import Draft, Pad

_MEASURES: Final = ("sha256", "bytes", "characters", "lines", "tokens", "first_line")
_SHORT: Final = (
    *(cells.c.cell_id, cells.c.position, cells.c.language, cells.c.tags),
    *(cells.c.version, cells.c.validate, cells.c.finding),
    *(cells.c[name] for name in _MEASURES),
)
_LONG: Final = (cells.c.json_schema, cells.c.metadata)
_OWNER: Final = bindparam("owner", type_=Identifier)
_PAD: Final = bindparam("pad", type_=Identifier)
_IN_PAD: Final = (cells.c.user_id == _OWNER, cells.c.scratch_id == _PAD)
_PLACE: Final = (
    *(cells.c.cell_id, cells.c.position, cells.c.language),
    *(cells.c.version, cells.c.tokens, cells.c.tags),
)
_IN_ORDER: Final = select(*_PLACE).where(*_IN_PAD).order_by(cells.c.position)
_PLACES: Final = Prepared(_IN_ORDER)
_FIRST_PLACES: Final = Prepared(_IN_ORDER.where(cells.c.position < bindparam("end")))
_OUTLINES: Final = Prepared(select(*_SHORT).where(*_IN_PAD).order_by(cells.c.position))
_FULL: Final = select(*_SHORT, *_LONG, contents.c.content).where(
    *_IN_PAD, contents.c.user_id == _OWNER, contents.c.cell_id == cells.c.cell_id
)

_WANTED: Final = bindparam("wanted", expanding=True, type_=Identifier)
_ALL_FULL: Final = Prepared(_FULL)
_SOME_FULL: Final = Prepared(_FULL.where(cells.c.cell_id.in_(_WANTED)))
_ONE_FULL: Final = Prepared(_FULL.where(cells.c.cell_id == bindparam("wanted", type_=Identifier)))
_FULL_AT: Final = Prepared(_FULL.where(cells.c.position == bindparam("wanted")))
_HEADS: Final = Prepared(
    select(cells.c.cell_id, cells.c.scratch_id, cells.c.tags).where(
        cells.c.user_id == _OWNER, cells.c.cell_id.in_(_WANTED)
    )
)
_ADD: Final = Prepared(insert(cells))
_ADD_CONTENT: Final = Prepared(insert(contents))
_ADD_TAGS: Final = Prepared(insert(cell_tags))
_SET: Final = (
    *("language", "validate", "json_schema", "metadata", "tags", "version", "finding"),
    *_MEASURES,
)
_CELL: Final = bindparam("cell", type_=Identifier)
_PUT: Final = Prepared(
    update(cells)
    .where(cells.c.user_id == _OWNER, cells.c.cell_id == _CELL)
    .values({name: bindparam(f"new_{name}") for name in _SET})
)
_PUT_CONTENT: Final = Prepared(
    update(contents)
    .where(contents.c.user_id == _OWNER, contents.c.cell_id == _CELL)
    .values(content=bindparam("new_content"))
)
_DROP_TAGS: Final = Prepared(
    delete(cell_tags).where(cell_tags.c.user_id == _OWNER, cell_tags.c.cell_id == _CELL)
)
_REMOVE: Final = Prepared(delete(cells).where(*_IN_PAD, cells.c.cell_id == _CELL))
_SHIFT: Final = Prepared(
    update(cells)
    .where(*_IN_PAD, cells.c.position.between(bindparam("low"), bindparam("high")))
    .values(position=cells.c.position + bindparam("step"))
)
_MOVE: Final = Prepared(
    update(cells)
    .where(*_IN_PAD, cells.c.cell_id == _CELL)
    .values(position=bindparam("new_position"))
)


def places(tx: Tx, scratch_id: str) -> list[Place]:
    """Return where each cell of a pad stands, in order."""
    return [_place(*row) for row in _PLACES.rows(tx, _bound(tx, scratch_id))]


def first_places(tx: Tx, scratch_id: str, count: int) -> list[Place]:
    """Return where the first cells of a pad stand, in order."""
    rows = _FIRST_PLACES.rows(tx, {**_bound(tx, scratch_id), "end": count})
    return [_place(*row) for row in rows]


def outlines(tx: Tx, scratch_id: str) -> list[Cell]:
    """Return a pad's cells, without texts, schemas and metadata, in order."""
    return _cells(tx, scratch_id, _OUTLINES)


def whole(tx: Tx, scratch_id: str, cell_ids: Sequence[str]) -> list[Cell]:
    """Return some of a pad's cells with all they hold, in the order of the ids."""
    if len(cell_ids) == 1:
        return _cells(tx, scratch_id, _ONE_FULL, wanted=cell_ids[0])
    found = _cells(tx, scratch_id, _SOME_FULL, wanted=list(cell_ids)) if cell_ids else []
    by_id = {cell.cell_id: cell for cell in found}
    return [by_id[cell_id] for cell_id in cell_ids if cell_id in by_id]


def all_whole(tx: Tx, scratch_id: str) -> list[Cell]:
    """Return all of a pad's cells with all they hold, in order."""
    return sorted(_cells(tx, scratch_id, _ALL_FULL), key=lambda cell: cell.index)


def at(tx: Tx, scratch_id: str, position: int) -> Cell | None:
    """Return the cell at a position with all it holds."""
    found = _cells(tx, scratch_id, _FULL_AT, wanted=position)
    return found[0] if found else None


def pad_of(tx: Tx, cell_id: str) -> str | None:
    """Return the id of the pad that holds one of the caller's cells, in the trash or not."""
    found = select(cells.c.scratch_id).where(
        cells.c.user_id == tx.scope.user_id, cells.c.cell_id == cell_id
    )
    return tx.execute(found).scalar_one_or_none()


def heads(tx: Tx, cell_ids: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the pad and the tags of cells of the caller, by cell."""
    wanted = list(cell_ids)
    found = _HEADS.rows(tx, {"owner": tx.scope.user_id, "wanted": wanted}) if wanted else ()
    return {cell_id: (scratch_id, tuple(tags)) for cell_id, scratch_id, tags in found}


def taken(tx: Tx, cell_ids: Iterable[str]) -> set[str]:
    """Return those of the ids that cells of the caller have, in the trash or not."""
    found = select(cells.c.cell_id).where(
        cells.c.user_id == tx.scope.user_id, cells.c.cell_id.in_(list(cell_ids))
    )
    return set(tx.execute(found).scalars())


def add(tx: Tx, scratch_id: str, first: int, drafts: Mapping[str, Draft]) -> list[Cell]:
    """Return the cells made of drafts, by their ids, in order, from position `first` on."""
    made = [
        _made(draft, cell_id, scratch_id, position)
        for position, (cell_id, draft) in enumerate(drafts.items(), first)
    ]
    owner = tx.scope.user_id
    _ADD.run_each(
        tx,
        [
            {
                "user_id": owner,
                "cell_id": cell.cell_id,
                "scratch_id": scratch_id,
                "position": cell.index,
                **_columns(cell),
            }
            for cell in made
        ],
    )
    texts = [{"user_id": owner, "cell_id": c.cell_id, "content": c.content} for c in made]
    _ADD_CONTENT.run_each(tx, texts)
    _add_tags(tx, made)
    return made


def put(tx: Tx, cell: Cell, draft: Draft) -> Cell:
    """Return the cell with a draft in its place: its next version.

    None of tags or metadata stays; so does a finding, which is stale then.
    """
    now = replace(
        _made(draft, cell.cell_id, cell.scratch_id, cell.index),
        version=cell.version + 1,
        tags=cell.tags if draft.tags is None else draft.tags,
        metadata=cell.metadata if draft.metadata is None else draft.metadata,
        finding=draft.finding or cell.finding,
    )
    mine = {"owner": tx.scope.user_id, "cell": cell.cell_id}
    values = {f"new_{name}": value for name, value in _columns(now).items()}
    _PUT.run(tx, {**mine, **values})
    if now.measured.sha256 != cell.measured.sha256:
        _PUT_CONTENT.run(tx, {**mine, "new_content": draft.content})
    if now.tags != cell.tags:
        _DROP_TAGS.run(tx, mine)
        _add_tags(tx, [now])
    return now


def move(tx: Tx, cell: Cell, position: int) -> Cell:
    """Return the cell at another position; those between move by one."""
    if position < cell.index:
        _shift(tx, cell, position, cell.index, 1)
    else:
        _shift(tx, cell, cell.index, position, -1)
    mine = {**_bound(tx, cell.scratch_id), "cell": cell.cell_id}
    _MOVE.run(tx, {**mine, "new_position": position})
    return replace(cell, index=position)


def remove(tx: Tx, pad: Pad, cell: Cell) -> None:
    """Delete a cell for good; those after it move up."""
    _REMOVE.run(tx, {**_bound(tx, cell.scratch_id), "cell": cell.cell_id})
    if cell.index + 1 < pad.cell_count:
        _shift(tx, cell, cell.index + 1, pad.cell_count, -1)


def _shift(tx: Tx, cell: Cell, low: int, high: int, step: int) -> None:
    moved = {"low": low, "high": high, "step": step}
    _SHIFT.run(tx, {**_bound(tx, cell.scratch_id), **moved})


def _made(draft: Draft, cell_id: str, scratch_id: str, position: int) -> Cell:
    """Return the first version of the cell that a draft becomes."""
    return Cell(
        cell_id,
        scratch_id,
        position,
        draft.language,
        draft.tags or (),
        1,
        draft.measured,
        draft.validate,
        draft.json_schema,
        draft.metadata,
        draft.finding,
        draft.content,
    )


def _columns(cell: Cell) -> dict[str, Any]:
    """Return what may change of a cell."""
    measured = cell.measured
    return {
        "language": cell.language,
        "validate": cell.validate,
        "json_schema": cell.json_schema,
        "metadata": cell.metadata,
        "tags": cell.tags,
        "version": cell.version,
        "finding": cell.finding and vars(cell.finding),
        "sha256": measured.sha256,
        "bytes": measured.bytes,
        "characters": measured.characters,
        "lines": measured.lines,
        "tokens": measured.tokens,
        "first_line": measured.first_line,
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


def _bound(tx: Tx, scratch_id: str) -> dict[str, str]:
    return {"owner": tx.scope.user_id, "pad": scratch_id}


def _cells(tx: Tx, scratch_id: str, statement: Prepared, **bound: object) -> list[Cell]:
    rows = statement.rows(tx, {**_bound(tx, scratch_id), **bound})
    return [_cell(scratch_id, *row) for row in rows]


def _place(  # the columns of _PLACE
    cell_id: str, position: int, language: str, version: int, tokens: int, tags: list[str]
) -> Place:
    return Place(cell_id, position, language, version, tokens, tuple(tags))


def _cell(  # noqa: PLR0913, PLR0917  # the columns of _SHORT, then those of _FULL
    scratch_id: str,
    cell_id: str,
    position: int,
    language: str,
    tags: list[str],
    version: int,
    validate: bool,  # noqa: FBT001  # a column
    finding: dict[str, Any] | None,
    sha256: str,
    size: int,
    characters: int,
    lines: int,
    tokens: int,
    first_line: str,
    *long: Any,  # noqa: ANN401  # as above
) -> Cell:
    json_schema, metadata, content = long or (None, None, None)
    return Cell(
        cell_id,
        scratch_id,
        position,
        language,
        tuple(tags),
        version,
        Measured(sha256, size, characters, lines, tokens, first_line),
        validate,
        json_schema,
        metadata,
        Finding(**finding) if finding else None,
        content,
    )
