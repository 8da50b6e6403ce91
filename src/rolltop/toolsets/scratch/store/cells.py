"""Cells: their rows, their texts apart, their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Select, bindparam, delete, insert, select, update

from rolltop.core.db.types import Identifier
from rolltop.toolsets.scratch.models import Cell, Draft, Finding, Measured, Place
from rolltop.toolsets.scratch.store.tables import cell_tags, cells, contents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rolltop.core.db import Tx

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
_PLACES: Final = (
    select(cells.c.cell_id, cells.c.position, cells.c.tokens, cells.c.tags)
    .where(*_IN_PAD)
    .order_by(cells.c.position)
)
_OUTLINES: Final = select(*_SHORT).where(*_IN_PAD).order_by(cells.c.position)
_FULL: Final = select(*_SHORT, *_LONG, contents.c.content).where(
    *_IN_PAD, contents.c.user_id == _OWNER, contents.c.cell_id == cells.c.cell_id
)

_WANTED: Final = bindparam("wanted", expanding=True, type_=Identifier)
_SOME_FULL: Final = _FULL.where(cells.c.cell_id.in_(_WANTED))
_SOME_OUTLINES: Final = _OUTLINES.where(cells.c.cell_id.in_(_WANTED))


def places(tx: Tx, scratch_id: str) -> list[Place]:
    """Return where each cell of a pad stands, in order."""
    return [
        Place(row.cell_id, row.position, row.tokens, tuple(row.tags))
        for row in tx.execute(_PLACES, _bound(tx, scratch_id))
    ]


def outlines(tx: Tx, scratch_id: str, limit: int | None = None) -> list[Cell]:
    """Return a pad's cells, without texts, schemas and metadata, in order."""
    statement = _OUTLINES if limit is None else _OUTLINES.limit(limit)
    return _cells(tx, scratch_id, statement)


def outlined(tx: Tx, scratch_id: str, cell_ids: Sequence[str]) -> list[Cell]:
    """Return some of a pad's cells as `outlines` does, in order."""
    return _cells(tx, scratch_id, _SOME_OUTLINES, wanted=list(cell_ids))


def whole(tx: Tx, scratch_id: str, cell_ids: Sequence[str]) -> list[Cell]:
    """Return some of a pad's cells with all they hold, in the order of the ids."""
    found = _cells(tx, scratch_id, _SOME_FULL, wanted=list(cell_ids))
    by_id = {cell.cell_id: cell for cell in found}
    return [by_id[cell_id] for cell_id in cell_ids if cell_id in by_id]


def all_whole(tx: Tx, scratch_id: str) -> list[Cell]:
    """Return all of a pad's cells with all they hold, in order."""
    return sorted(_cells(tx, scratch_id, _FULL), key=lambda cell: cell.index)


def at(tx: Tx, scratch_id: str, position: int) -> Cell | None:
    """Return the cell at a position with all it holds."""
    found = _cells(tx, scratch_id, _FULL.where(cells.c.position == position))
    return found[0] if found else None


def pad_of(tx: Tx, cell_id: str) -> str | None:
    """Return the id of the pad that holds one of the caller's cells, in the trash or not."""
    found = select(cells.c.scratch_id).where(
        cells.c.user_id == tx.scope.user_id, cells.c.cell_id == cell_id
    )
    return tx.execute(found).scalar_one_or_none()


def heads(tx: Tx, cell_ids: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the pad and the tags of cells of the caller, by cell."""
    found = select(cells.c.cell_id, cells.c.scratch_id, cells.c.tags).where(
        cells.c.user_id == tx.scope.user_id, cells.c.cell_id.in_(list(cell_ids))
    )
    return {row.cell_id: (row.scratch_id, tuple(row.tags)) for row in tx.execute(found)}


def taken(tx: Tx, cell_ids: Iterable[str]) -> set[str]:
    """Return those of the ids that cells of the caller have, in the trash or not."""
    found = select(cells.c.cell_id).where(
        cells.c.user_id == tx.scope.user_id, cells.c.cell_id.in_(list(cell_ids))
    )
    return set(tx.execute(found).scalars())


def add(tx: Tx, scratch_id: str, first: int, drafts: Mapping[str, Draft]) -> None:
    """Add cells by their ids, in order, from position `first` on."""
    owner = tx.scope.user_id
    rows = [
        {
            "user_id": owner,
            "cell_id": cell_id,
            "scratch_id": scratch_id,
            "position": position,
            "version": 1,
            "metadata": draft.metadata,
            "tags": list(draft.tags or ()),
            **_columns(draft),
        }
        for position, (cell_id, draft) in enumerate(drafts.items(), first)
    ]
    texts = [
        {"user_id": owner, "cell_id": cell_id, "content": draft.content}
        for cell_id, draft in drafts.items()
    ]
    tx.execute(insert(cells), rows)
    tx.execute(insert(contents), texts)
    _add_tags(tx, scratch_id, {cell_id: draft.tags or () for cell_id, draft in drafts.items()})


def put(tx: Tx, cell: Cell, draft: Draft) -> None:
    """Put a draft in a cell's place: its next version. None of tags or metadata stays."""
    mine = (cells.c.user_id == tx.scope.user_id, cells.c.cell_id == cell.cell_id)
    values: dict[str, Any] = {"version": cell.version + 1, **_columns(draft)}
    if draft.finding is None:
        del values["finding"]  # the last one stays, and is stale
    if draft.metadata is not None:
        values["metadata"] = draft.metadata
    if draft.tags is not None:
        values["tags"] = list(draft.tags)
    tx.execute(update(cells).where(*mine).values(values))
    if draft.measured.sha256 != cell.measured.sha256:
        tx.execute(
            update(contents)
            .where(contents.c.user_id == tx.scope.user_id, contents.c.cell_id == cell.cell_id)
            .values(content=draft.content)
        )
    if draft.tags is not None and draft.tags != cell.tags:
        tx.execute(
            delete(cell_tags).where(
                cell_tags.c.user_id == tx.scope.user_id, cell_tags.c.cell_id == cell.cell_id
            )
        )
        _add_tags(tx, cell.scratch_id, {cell.cell_id: draft.tags})


def move(tx: Tx, cell: Cell, position: int) -> None:
    """Move a cell to another position; those between move by one."""
    step = 1 if position < cell.index else -1
    low, high = sorted((position, cell.index))
    mine = (cells.c.user_id == tx.scope.user_id, cells.c.scratch_id == cell.scratch_id)
    tx.execute(
        update(cells)
        .where(*mine, cells.c.position.between(low, high))
        .values(position=cells.c.position + step)
    )
    tx.execute(
        update(cells).where(*mine, cells.c.cell_id == cell.cell_id).values(position=position)
    )


def remove(tx: Tx, cell: Cell) -> None:
    """Delete a cell for good; those after it move up."""
    mine = (cells.c.user_id == tx.scope.user_id, cells.c.scratch_id == cell.scratch_id)
    tx.execute(delete(cells).where(*mine, cells.c.cell_id == cell.cell_id))
    tx.execute(
        update(cells)
        .where(*mine, cells.c.position > cell.index)
        .values(position=cells.c.position - 1)
    )


def _columns(draft: Draft) -> dict[str, Any]:
    """Return what a draft always sets."""
    measures = {name: getattr(draft.measured, name) for name in _MEASURES}
    return {
        "language": draft.language,
        "validate": draft.validate,
        "json_schema": draft.json_schema,
        "finding": draft.finding and vars(draft.finding),
        **measures,
    }


def _add_tags(tx: Tx, scratch_id: str, tags: Mapping[str, Sequence[str]]) -> None:
    owned = {"user_id": tx.scope.user_id, "scratch_id": scratch_id}
    rows = [
        {**owned, "cell_id": cell_id, "tag": tag} for cell_id, own in tags.items() for tag in own
    ]
    if rows:
        tx.execute(insert(cell_tags), rows)


def _bound(tx: Tx, scratch_id: str) -> dict[str, str]:
    return {"owner": tx.scope.user_id, "pad": scratch_id}


def _cells(tx: Tx, scratch_id: str, statement: Select[Any], **bound: object) -> list[Cell]:
    rows = tx.execute(statement, {**_bound(tx, scratch_id), **bound})
    return [_cell(scratch_id, *row) for row in rows]


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
