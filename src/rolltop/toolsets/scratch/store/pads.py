"""Scratchpads: read, held, written, listed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ColumnElement,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)

from rolltop.core.db import upsert
from rolltop.core.db.prepared import Prepared
from rolltop.core.db.schema import users
from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime
from rolltop.toolsets.scratch.models import NAME_LENGTH, Order
from rolltop.toolsets.scratch.models.records import Pad
from rolltop.toolsets.scratch.store.tables import accesses, cell_tags, pad_tags, pads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rolltop.core.db import Tx

Condition = ColumnElement[bool]

COLUMNS: Final = (
    *(pads.c.scratch_id, pads.c.user_id, pads.c.namespace, pads.c.tags, pads.c.metadata),
    *(pads.c.cell_count, pads.c.created_at, pads.c.updated_at, pads.c.version, pads.c.deleted_at),
)
_LIVING: Final = select(*COLUMNS).where(
    pads.c.user_id == bindparam("owner", type_=Identifier),
    pads.c.scratch_id == bindparam("wanted", type_=Identifier),
    pads.c.deleted_at.is_(None),
)
_ONE: Final = Prepared(_LIVING)
_HELD: Final = Prepared(_LIVING.with_for_update(key_share=True))
_SOME: Final = Prepared(
    select(*COLUMNS).where(
        pads.c.user_id == bindparam("owner", type_=Identifier),
        pads.c.deleted_at.is_(None),
        pads.c.scratch_id.in_(bindparam("wanted", expanding=True, type_=Identifier)),
    )
)
_CELL_TAGS: Final = Prepared(
    select(cell_tags.c.tag)
    .where(
        cell_tags.c.user_id == bindparam("owner", type_=Identifier),
        cell_tags.c.scratch_id == bindparam("wanted", type_=Identifier),
    )
    .distinct()
)
_MINE: Final = (
    pads.c.user_id == bindparam("owner", type_=Identifier),
    pads.c.scratch_id == bindparam("wanted", type_=Identifier),
)


@cache
def _setting(*names: str) -> Prepared:
    """Return what sets these columns of one pad, each by a value named `new_…`."""
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return Prepared(update(pads).where(*_MINE).values(values))


# An index is written for each column that is named, changed or not.
_TOUCH: Final = _setting("version", "updated_at", "cell_count")
_TOUCH_AND_MOVE: Final = _setting("version", "updated_at", "cell_count", "deleted_at")
_UNTITLED: Final = case((pads.c.title_key == "", 1), else_=0)


def lock_tenant(tx: Tx) -> None:
    """Wait until no other transaction makes, removes or moves pads of the caller.

    PostgreSQL locks the owner's row, in the mode that lets other tables refer to it; SQLite has
    one writer anyway.
    """
    mine = select(users.c.id).where(users.c.id == tx.scope.user_id)
    tx.execute(mine.with_for_update(key_share=True))


def get(tx: Tx, scratch_id: str) -> Pad | None:
    """Return the caller's pad; None where it is missing, in the trash or another's."""
    return _one(tx, _ONE, scratch_id)


def hold(tx: Tx, scratch_id: str) -> Pad | None:
    """Return the caller's pad as `get` does, locked until the transaction ends."""
    return _one(tx, _HELD, scratch_id)


def insert_pad(
    tx: Tx,
    scratch_id: str,
    namespace: str,
    metadata: Mapping[str, Any],
    tags: Sequence[str],
    cell_count: int,
) -> Pad:
    """Return a new pad, whose cells are still to be added."""
    owner, key = tx.scope.user_id, title_key(metadata)
    pad = Pad(
        scratch_id,
        owner,
        namespace,
        tuple(tags),
        dict(metadata),
        cell_count,
        created_at=tx.now,
        updated_at=tx.now,
        version=1,
    )
    values = {name: value for name, value in vars(pad).items() if name != "tenant_id"}
    tx.execute(insert(pads).values(user_id=owner, title_key=key, **values))
    _add_tags(tx, pad)
    return pad


def touch(tx: Tx, pad: Pad, *, cells: int = 0, deleted: bool = False) -> Pad:
    """Return a held pad, written to: its next version, with `cells` more cells."""
    values: dict[str, Any] = {
        "version": pad.version + 1,
        "updated_at": tx.now,
        "cell_count": pad.cell_count + cells,
    }
    statement = _TOUCH
    if deleted or pad.deleted_at is not None:
        values["deleted_at"], statement = tx.now if deleted else None, _TOUCH_AND_MOVE
    mine = {"owner": tx.scope.user_id, "wanted": pad.scratch_id}
    statement.run(tx, {**mine, **{f"new_{name}": value for name, value in values.items()}})
    return replace(pad, **values)


def put_fields(tx: Tx, pad: Pad, changed: Pad) -> Pad:
    """Return a held pad at its next version, with the other one's namespace, metadata and tags."""
    tags_change = changed.tags != pad.tags
    values: dict[str, Any] = {
        "version": pad.version + 1,
        "updated_at": tx.now,
        "metadata": changed.metadata,
        "title_key": title_key(changed.metadata),
        **({"namespace": changed.namespace} if changed.namespace != pad.namespace else {}),
        **({"tags": changed.tags} if tags_change else {}),
    }
    mine = {"owner": tx.scope.user_id, "wanted": pad.scratch_id}
    setting = {f"new_{name}": value for name, value in values.items()}
    _setting(*values).run(tx, {**mine, **setting})
    if tags_change:
        tx.execute(
            delete(pad_tags).where(
                pad_tags.c.user_id == tx.scope.user_id, pad_tags.c.scratch_id == pad.scratch_id
            )
        )
        _add_tags(tx, changed)
    return replace(changed, version=pad.version + 1, updated_at=tx.now)


def cell_tags_of(tx: Tx, scratch_id: str) -> list[str]:
    """Return the tags of a pad's cells, each once, by code point."""
    found = _CELL_TAGS.rows(tx, {"owner": tx.scope.user_id, "wanted": scratch_id})
    return sorted(tag for (tag,) in found)


def page(
    tx: Tx,
    namespaces: Sequence[str],
    tags: Sequence[str],
    order: Order,
    after: Sequence[Any] | None,
    limit: int,
    beyond: tuple[str, int] | None = None,
) -> list[Pad]:
    """Return up to `limit` of the caller's pads after a place in the order.

    Or, with `beyond`, without one pad after so many others.
    """
    statement = select(*COLUMNS).where(*live(tx), *_narrowed(tx, namespaces, tags))
    if order == "title":
        key: tuple[Any, ...] = (_UNTITLED, pads.c.title_key, pads.c.scratch_id)
        ordered = statement.order_by(*key)
    else:
        moved = pads.c.updated_at if order == "recent" else pads.c.created_at
        key = (moved, pads.c.scratch_id)
        ordered = statement.order_by(moved.desc(), pads.c.scratch_id.desc())
    if after is not None:
        place = tuple_(*(literal(value, type_) for value, type_ in _typed(order, after)))
        ahead = tuple_(*key) > place if order == "title" else tuple_(*key) < place
        ordered = ordered.where(ahead)
    if beyond is not None:
        ordered = ordered.where(pads.c.scratch_id != beyond[0]).offset(beyond[1])
    return [pad_of(*row) for row in tx.execute(ordered.limit(limit))]


def title_place(tx: Tx, scratch_id: str) -> list[Any] | None:
    """Return where a pad stands, or stood before it came into the trash, among titles.

    That is: untitled last, folded title, id. None for a pad that is in neither.
    """
    found = select(pads.c.title_key).where(
        pads.c.user_id == tx.scope.user_id, pads.c.scratch_id == scratch_id
    )
    key = tx.execute(found).scalar_one_or_none()
    return None if key is None else [int(not key), key, scratch_id]


def title_key(metadata: Mapping[str, Any]) -> str:
    """Return what a title is ordered by: folded, and short enough for an index."""
    return str(metadata.get("title", "")).casefold()[:NAME_LENGTH]


def newest(tx: Tx, limit: int) -> list[Pad]:
    """Return the caller's pads that were written last."""
    return page(tx, (), (), "recent", None, limit)


def by_ids(tx: Tx, scratch_ids: Iterable[str]) -> dict[str, Pad]:
    """Return those of the pads that live, by id."""
    wanted = list(scratch_ids)
    found = _SOME.rows(tx, {"owner": tx.scope.user_id, "wanted": wanted}) if wanted else ()
    return {row[0]: pad_of(*row) for row in found}


def count(tx: Tx) -> int:
    """Return how many pads the caller has outside the trash."""
    return tx.execute(select(func.count()).select_from(pads).where(*live(tx))).scalar_one()


def tags_in_use(tx: Tx, namespaces: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the tags of the caller's pads and those of their cells, by code point."""
    owned: list[list[str]] = []
    for side in (pad_tags, cell_tags):
        mine = select(pads.c.scratch_id).where(*live(tx), *_narrowed(tx, namespaces, ()))
        found = select(side.c.tag).where(
            side.c.user_id == tx.scope.user_id, side.c.scratch_id.in_(mine)
        )
        owned.append(sorted(tx.execute(found.distinct()).scalars()))
    return owned[0], owned[1]


def note_accesses(tx: Tx, moments: Mapping[str, datetime]) -> None:
    """Keep when pads of the caller were last read; pads that are gone are passed over."""
    there = set(by_ids(tx, moments)) if moments else set[str]()
    rows = [
        {"user_id": tx.scope.user_id, "scratch_id": pad, "accessed_at": moments[pad]}
        for pad in sorted(there)
    ]
    if rows:
        statement = upsert.insert(tx.kind, accesses)
        tx.execute(
            statement.on_conflict_do_update(
                index_elements=["user_id", "scratch_id"],
                set_={"accessed_at": statement.excluded.accessed_at},
                where=accesses.c.accessed_at < statement.excluded.accessed_at,
            ),
            rows,
        )


def live(tx: Tx) -> tuple[Condition, ...]:
    """Return what makes a pad visible: it is the caller's, and outside the trash."""
    return (pads.c.user_id == tx.scope.user_id, pads.c.deleted_at.is_(None))


def pad_of(  # noqa: PLR0913, PLR0917  # the columns of COLUMNS
    scratch_id: str,
    user_id: str,
    namespace: str,
    tags: list[str],
    metadata: dict[str, Any],
    cell_count: int,
    created_at: datetime,
    updated_at: datetime,
    version: int,
    deleted_at: datetime | None,
) -> Pad:
    """Return the pad of a row of COLUMNS."""
    return Pad(
        scratch_id,
        user_id,
        namespace,
        tuple(tags),
        metadata,
        cell_count,
        created_at,
        updated_at,
        version,
        deleted_at,
    )


def _narrowed(tx: Tx, namespaces: Sequence[str], tags: Sequence[str]) -> Iterable[Condition]:
    if namespaces:
        yield pads.c.namespace.in_(list(namespaces))
    if tags:
        own = select(pad_tags.c.scratch_id).where(
            pad_tags.c.user_id == tx.scope.user_id, pad_tags.c.tag.in_(list(tags))
        )
        of_cells = select(cell_tags.c.scratch_id).where(
            cell_tags.c.user_id == tx.scope.user_id, cell_tags.c.tag.in_(list(tags))
        )
        yield pads.c.scratch_id.in_(own) | pads.c.scratch_id.in_(of_cells)


def _typed(order: Order, after: Sequence[Any]) -> list[tuple[Any, Any]]:
    if order == "title":
        types: list[Any] = [None, CodePointString(NAME_LENGTH), Identifier]
    else:
        types = [UTCDateTime, Identifier]
    return list(zip(after, types, strict=True))


def _one(tx: Tx, statement: Prepared, scratch_id: str) -> Pad | None:
    row = statement.first(tx, {"owner": tx.scope.user_id, "wanted": scratch_id})
    return None if row is None else pad_of(*row)


def _add_tags(tx: Tx, pad: Pad) -> None:
    owned = {"user_id": tx.scope.user_id, "scratch_id": pad.scratch_id}
    if pad.tags:
        tx.execute(insert(pad_tags), [{**owned, "tag": tag} for tag in pad.tags])
