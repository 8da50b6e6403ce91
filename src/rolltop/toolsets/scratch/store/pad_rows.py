"""Scratchpads, the trash, their namespaces and schemas, and when they were read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Executable,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)

from rolltop.core.db import Tx, upsert
from rolltop.core.db.engine import CompiledStatement
from rolltop.core.db.tag_spellings import find_spellings
from rolltop.core.db.types import Identifier, id_range
from rolltop.core.db.url import DatabaseKind
from rolltop.core.expiry import MAX_PURGED_ROWS
from rolltop.toolsets.scratch.models import MAX_NAME_LENGTH, TRASH_RETENTION, PadOrder
from rolltop.toolsets.scratch.models.records import Pad, SchemaEntry
from rolltop.toolsets.scratch.store.tables import (
    accesses,
    cell_tags,
    namespaces,
    pad_tags,
    pads,
    schemas,
)

Condition = ColumnElement[bool]
_COLUMNS: Final = (
    *(pads.c.scratch_id, pads.c.user_id, pads.c.namespace, pads.c.tags, pads.c.metadata),
    *(pads.c.cell_count, pads.c.created_at, pads.c.updated_at, pads.c.version, pads.c.deleted_at),
)
_OWNER: Final = bindparam("owner", type_=Identifier)
_PAD: Final = bindparam("pad", type_=Identifier)
_ONE: Final = (pads.c.user_id == _OWNER, pads.c.scratch_id == _PAD)
_VISIBLE: Final = select(*_COLUMNS).where(*_ONE, pads.c.deleted_at.is_(None))
_GET: Final = CompiledStatement(_VISIBLE)
_LOCK: Final = CompiledStatement(_VISIBLE.with_for_update(key_share=True))
_LOCK_WITH_TRASH: Final = CompiledStatement(
    select(*_COLUMNS).where(*_ONE).with_for_update(key_share=True)
)
_COUNT: Final = CompiledStatement(
    select(func.count().label("count"))
    .select_from(pads)
    .where(pads.c.user_id == _OWNER, pads.c.deleted_at.is_(None))
)
_INSERT: Final = CompiledStatement(insert(pads))
_INSERT_TAGS: Final = CompiledStatement(insert(pad_tags))
_SCHEMAS: Final = select(
    schemas.c.id, schemas.c.name, schemas.c.description, schemas.c.schema
).where(schemas.c.user_id == _OWNER, schemas.c.scratch_id == _PAD)
_UNTITLED_LAST: Final = case((pads.c.title_key == "", 1), else_=0)


@cache
def _update_statement(*names: str) -> CompiledStatement:
    """Build the update of these columns of one pad, each to a parameter named `new_…`.

    An index is written for each column that is named, changed or not.
    """
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return CompiledStatement(update(pads).where(*_ONE).values(values))


@cache
def _put_namespace_statement(kind: DatabaseKind) -> CompiledStatement:
    added = upsert.insert(kind, namespaces).on_conflict_do_nothing()
    return CompiledStatement(added.returning(namespaces.c.namespace))


def get_pad(tx: Tx, scratch_id: str, *, lock: bool = False) -> Pad | None:
    """Read the caller's pad; None if it is missing, in the trash or another's."""
    row = (_LOCK if lock else _GET).first(tx, {"owner": tx.scope.user_id, "pad": scratch_id})
    return None if row is None else _pad_of_row(*row)


def get_pads(tx: Tx, scratch_ids: Iterable[str], *, trashed: bool = False) -> dict[str, Pad]:
    """Read the caller's pads outside the trash, or in it, by id."""
    place = _restorable(tx) if trashed else _visible(tx)
    found = select(*_COLUMNS).where(*place, pads.c.scratch_id.in_(list(scratch_ids)))
    return {pad.scratch_id: pad for pad in _pads(tx, found)}


def titles(tx: Tx, scratch_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Map the caller's pads, in the trash too, to their titles and namespaces."""
    found = select(pads.c.scratch_id, pads.c.metadata, pads.c.namespace).where(
        pads.c.user_id == tx.scope.user_id, pads.c.scratch_id.in_(scratch_ids)
    )
    return {
        row.scratch_id: (str(row.metadata.get("title") or ""), row.namespace)
        for row in tx.execute(found)
    }


def ids_starting(tx: Tx, digits: str, limit: int, *, trashed: bool) -> list[str]:
    """List up to `limit` ids of the caller's pads that start so, in the trash or outside."""
    found = select(pads.c.scratch_id).where(
        *(_restorable(tx) if trashed else _visible(tx)),
        pads.c.scratch_id.between(*id_range(digits)),
    )
    return list(tx.execute(found.order_by(pads.c.scratch_id).limit(limit)).scalars())


def insert_pad(
    tx: Tx,
    scratch_id: str,
    namespace: str,
    metadata: Mapping[str, Any],
    tags: Sequence[str],
    cell_count: int,
) -> Pad:
    """Insert a pad; its cells are inserted separately."""
    pad = Pad(
        scratch_id,
        tx.scope.user_id,
        namespace,
        tuple(tags),
        dict(metadata),
        cell_count,
        created_at=tx.now,
        updated_at=tx.now,
        version=1,
    )
    insert_stored(tx, pad)
    return pad


def insert_stored(tx: Tx, pad: Pad) -> None:
    """Insert a pad as it is."""
    values = {name: value for name, value in vars(pad).items() if name != "tenant_id"}
    values |= {"user_id": tx.scope.user_id, "title_key": title_key(pad.metadata)}
    _INSERT.run(tx, values)
    _insert_tags(tx, pad)


def all_pads(tx: Tx, after: str | None, limit: int) -> list[Pad]:
    """List up to `limit` of the caller's pads with greater ids, those in the trash too."""
    mine = select(*_COLUMNS).where(pads.c.user_id == tx.scope.user_id)
    if after is not None:
        mine = mine.where(pads.c.scratch_id > after)
    return _pads(tx, mine.order_by(pads.c.scratch_id).limit(limit))


def touch_pad(tx: Tx, pad: Pad, *, cells: int = 0, deleted: bool = False) -> Pad:
    """Write the next version of a locked pad, with `cells` more cells; in or out of the trash."""
    values: dict[str, Any] = {"version": pad.version + 1, "updated_at": tx.now}
    values["cell_count"] = pad.cell_count + cells
    if deleted or pad.deleted_at is not None:
        # Not before its last change, even if the clock has been put back: the trash ends by it.
        values["deleted_at"] = max(tx.now, pad.updated_at) if deleted else None
    _update(tx, pad, values)
    return replace(pad, **values)


def update_pad(tx: Tx, pad: Pad, changed: Pad) -> Pad:
    """Write the next version of a locked pad with another namespace, metadata or tags."""
    tags_change = changed.tags != pad.tags
    values: dict[str, Any] = {
        "version": pad.version + 1,
        "updated_at": tx.now,
        "metadata": changed.metadata,
        "title_key": title_key(changed.metadata),
        **({"namespace": changed.namespace} if changed.namespace != pad.namespace else {}),
        **({"tags": changed.tags} if tags_change else {}),
    }
    _update(tx, pad, values)
    if tags_change:
        mine = (pad_tags.c.user_id == tx.scope.user_id, pad_tags.c.scratch_id == pad.scratch_id)
        tx.execute(delete(pad_tags).where(*mine))
        _insert_tags(tx, changed)
    return replace(changed, version=pad.version + 1, updated_at=tx.now)


def ids_in_order(
    tx: Tx, namespace_filter: Sequence[str], tag_filter: Sequence[str], order: PadOrder
) -> list[str]:
    """List the ids of the caller's pads, in order."""
    key: tuple[ColumnElement[Any], ...] = (_UNTITLED_LAST, pads.c.title_key, pads.c.scratch_id)
    if order != "title":
        moment = pads.c.updated_at if order == "recent" else pads.c.created_at
        key = (moment.desc(), pads.c.scratch_id.desc())
    found = select(pads.c.scratch_id).where(
        *_visible(tx), *_filter_conditions(tx, namespace_filter, tag_filter)
    )
    return list(tx.execute(found.order_by(*key)).scalars())


def count_selected(tx: Tx, namespace_filter: Sequence[str], tag_filter: Sequence[str]) -> int:
    """Count the caller's pads that the filters select."""
    wanted = (*_visible(tx), *_filter_conditions(tx, namespace_filter, tag_filter))
    counted = select(func.count().label("count")).select_from(pads).where(*wanted)
    return int(tx.execute(counted).scalar_one())


def title_key(metadata: Mapping[str, Any]) -> str:
    """Fold a title for sorting, short enough for an index."""
    return str(metadata.get("title", "")).casefold()[:MAX_NAME_LENGTH]


def count_pads(tx: Tx) -> int:
    """Count the caller's pads outside the trash."""
    return int(_COUNT.rows(tx, {"owner": tx.scope.user_id})[0][0])


def tags_in_use(tx: Tx, namespace_filter: Sequence[str]) -> tuple[list[str], list[str]]:
    """List the tags of the caller's pads and those of their cells, by code point."""
    mine = select(pads.c.scratch_id).where(
        *_visible(tx), *_filter_conditions(tx, namespace_filter, ())
    )
    found = [
        select(side.c.tag).where(side.c.user_id == tx.scope.user_id, side.c.scratch_id.in_(mine))
        for side in (pad_tags, cell_tags)
    ]
    of_pads, of_cells = (sorted(tx.execute(one.distinct()).scalars()) for one in found)
    return of_pads, of_cells


def find_tag_spellings(tx: Tx, tags: Sequence[str]) -> list[str]:
    """Return all spellings of tags that the caller's pads and cells have, and the tags given."""
    found = (
        find_spellings(tx, tx.scope.user_id, side.c.tag, tags).values()
        for side in (pad_tags, cell_tags)
    )
    return sorted({one for some in found for spellings in some for one in spellings})


def update_access_times(tx: Tx, moments: Mapping[str, datetime]) -> None:
    """Write when pads of the caller were last read; pads that are gone are skipped."""
    rows = [
        {"user_id": tx.scope.user_id, "scratch_id": pad, "accessed_at": moments[pad]}
        for pad in sorted(get_pads(tx, moments))
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


# The trash.


def get_including_trash(tx: Tx, scratch_id: str) -> Pad | None:
    """Read and lock the caller's pad of that id, in the trash or not; None if the id is free."""
    row = _LOCK_WITH_TRASH.first(tx, {"owner": tx.scope.user_id, "pad": scratch_id})
    return None if row is None else _pad_of_row(*row)


def has_pads(tx: Tx, namespace: str) -> bool:
    """Whether a pad of the caller is in a namespace, in the trash or not."""
    mine = (pads.c.user_id == tx.scope.user_id, pads.c.namespace == namespace)
    return tx.execute(select(pads.c.scratch_id).where(*mine).limit(1)).first() is not None


def set_cell_count(tx: Tx, pad: Pad, count: int) -> Pad:
    """Say how many cells a pad has; its version stays."""
    _update(tx, pad, {"cell_count": count})
    return replace(pad, cell_count=count)


def get_trashed(tx: Tx, scratch_id: str, *, lock: bool = False) -> Pad | None:
    """Read the caller's pad in the trash; None if it can't be restored."""
    found = select(*_COLUMNS).where(*_restorable(tx), pads.c.scratch_id == scratch_id)
    return next(iter(_pads(tx, found.with_for_update(key_share=True) if lock else found)), None)


def trashed_ids(tx: Tx) -> list[str]:
    """List the ids of the caller's pads that can be restored, last deleted first."""
    newest = (pads.c.deleted_at.desc(), pads.c.scratch_id.desc())
    found = select(pads.c.scratch_id).where(*_restorable(tx)).order_by(*newest)
    return list(tx.execute(found).scalars())


def least_recently_used(tx: Tx, limit: int, before: datetime | None = None) -> list[Pad]:
    """List the caller's pads by last access, oldest first; only those older than `before`."""
    read = (accesses.c.user_id == tx.scope.user_id) & (accesses.c.scratch_id == pads.c.scratch_id)
    later = accesses.c.accessed_at > pads.c.updated_at
    last = case((later, accesses.c.accessed_at), else_=pads.c.updated_at)
    statement = select(*_COLUMNS).select_from(pads.outerjoin(accesses, read)).where(*_visible(tx))
    if before is not None:
        statement = statement.where(last < before)
    return _pads(tx, statement.order_by(last, pads.c.created_at, pads.c.scratch_id).limit(limit))


def idle_owners(tx: Tx, age: timedelta) -> list[str]:
    """List the users, of all, who have pads that were not written for that long."""
    idle = (pads.c.deleted_at.is_(None), pads.c.updated_at < tx.now - age)
    found = select(pads.c.user_id).where(*idle)
    return sorted(tx.execute(found.distinct()).scalars())


def count_pads_and_cells(tx: Tx) -> dict[str, int]:
    """Count the pads of all users, without the trash, and their cells."""
    cells = func.coalesce(func.sum(pads.c.cell_count), 0)
    counts = select(func.count().label("pads"), cells.label("cells"))
    held = tx.execute(counts.where(pads.c.deleted_at.is_(None))).mappings().one()
    return {"scratchpads": int(held["pads"]), "cells": int(held["cells"])}


def delete_pad(tx: Tx, scratch_id: str) -> None:
    """Delete one of the caller's pads for good."""
    mine = (pads.c.user_id == tx.scope.user_id, pads.c.scratch_id == scratch_id)
    tx.execute(delete(pads).where(*mine))


def purge_trash(tx: Tx) -> int:
    """Delete some of what has been in any user's trash for 30 days; return how many."""
    key = (pads.c.user_id, pads.c.scratch_id)
    expired = select(*key).where(pads.c.deleted_at <= tx.now - TRASH_RETENTION)
    some = expired.limit(MAX_PURGED_ROWS).with_for_update(skip_locked=True)
    return tx.execute(delete(pads).where(tuple_(*key).in_(some))).rowcount


# Namespaces of a tenant.


def register_namespace(tx: Tx, namespace: str) -> bool:
    """Register a namespace; return False if it was registered.

    One that a connection of the project of its name registers is the project's. What was there
    before stays everybody's: its pads would vanish from their view.
    """
    return put_namespace(tx, namespace, tx.now, is_project=namespace == tx.scope.project)


def put_namespace(tx: Tx, namespace: str, created_at: datetime, *, is_project: bool) -> bool:
    """Register a namespace as it is; return False if it was registered."""
    entry = {
        "user_id": tx.scope.user_id,
        "namespace": namespace,
        "created_at": created_at,
        "is_project": is_project,
    }
    return _put_namespace_statement(tx.kind).first(tx, entry) is not None


def namespaces_in_view(tx: Tx, *own: str) -> tuple[list[str], int]:
    """List the namespaces that belong to no project, with `own`; and count the others."""
    found = select(namespaces.c.namespace, namespaces.c.is_project).where(
        namespaces.c.user_id == tx.scope.user_id
    )
    others = [row for row in tx.execute(found) if row.namespace not in own]
    shared = [row.namespace for row in others if not row.is_project]
    return [*own, *shared], len(others) - len(shared)


def unregister_namespace(tx: Tx, namespace: str) -> bool:
    """Delete a namespace's entry; return False if there was none."""
    gone = delete(namespaces).where(
        namespaces.c.user_id == tx.scope.user_id, namespaces.c.namespace == namespace
    )
    return tx.execute(gone.returning(namespaces.c.namespace)).first() is not None


def is_registered(tx: Tx, namespace: str) -> bool:
    """Whether a namespace has an entry."""
    found = select(namespaces.c.namespace).where(
        namespaces.c.user_id == tx.scope.user_id, namespaces.c.namespace == namespace
    )
    return tx.execute(found).first() is not None


def list_namespaces(tx: Tx) -> list[dict[str, Any]]:
    """List namespaces with their number of pads and their age, oldest first."""
    used = (
        select(func.count())
        .select_from(pads)
        .where(*_visible(tx), pads.c.namespace == namespaces.c.namespace)
        .correlate(namespaces)
        .scalar_subquery()
    )
    found = (
        select(namespaces.c.namespace, used.label("scratchpad_count"), namespaces.c.created_at)
        .where(namespaces.c.user_id == tx.scope.user_id)
        .order_by(namespaces.c.created_at, namespaces.c.namespace)
    )
    return [dict(row) for row in tx.execute(found).mappings()]


def all_namespaces(tx: Tx) -> list[tuple[str, datetime, bool]]:
    """List the caller's namespaces with their age and whether a project owns them, by name."""
    columns = (namespaces.c.namespace, namespaces.c.created_at, namespaces.c.is_project)
    mine = select(*columns).where(namespaces.c.user_id == tx.scope.user_id)
    return [tuple(row) for row in tx.execute(mine.order_by(namespaces.c.namespace))]


def pads_in(tx: Tx, namespace: str) -> list[Pad]:
    """List and lock the caller's pads in a namespace, by id."""
    found = select(*_COLUMNS).where(*_visible(tx), pads.c.namespace == namespace)
    return _pads(tx, found.order_by(pads.c.scratch_id).with_for_update(key_share=True))


def rename_namespace(tx: Tx, old: str, new: str) -> None:
    """Rename a namespace's entry, and move its pads, those in the trash too.

    It is the project's if a connection of the project of its new name renames it, as one that it
    registers is.
    """
    entry = delete(namespaces).where(
        namespaces.c.user_id == tx.scope.user_id, namespaces.c.namespace == old
    )
    created_at = tx.execute(entry.returning(namespaces.c.created_at)).scalar_one()
    put_namespace(tx, new, created_at, is_project=new == tx.scope.project)
    mine = (pads.c.user_id == tx.scope.user_id, pads.c.namespace == old)
    written: dict[str, Any] = {"updated_at": tx.now, "version": pads.c.version + 1}
    tx.execute(update(pads).where(*mine, pads.c.deleted_at.is_(None)).values(**written))
    tx.execute(update(pads).where(*mine).values(namespace=new))


# JSON Schemas of a pad.


def schemas_of(tx: Tx, scratch_id: str) -> list[SchemaEntry]:
    """List a pad's schemas, by description, then by name."""
    found = tx.execute(_SCHEMAS, {"owner": tx.scope.user_id, "pad": scratch_id})
    entries = [SchemaEntry(*row) for row in found]
    return sorted(entries, key=lambda entry: (entry.description, entry.name))


def put_schemas(tx: Tx, scratch_id: str, entries: Sequence[SchemaEntry]) -> None:
    """Insert entries, or replace those with the same ids."""
    owned = {"user_id": tx.scope.user_id, "scratch_id": scratch_id}
    if entries:
        delete_schemas(tx, scratch_id, [entry.id for entry in entries])
        tx.execute(insert(schemas), [{**owned, **vars(entry)} for entry in entries])


def delete_schemas(tx: Tx, scratch_id: str, ids: Sequence[str]) -> None:
    """Delete schemas of a pad."""
    mine = (schemas.c.user_id == tx.scope.user_id, schemas.c.scratch_id == scratch_id)
    tx.execute(delete(schemas).where(*mine, schemas.c.id.in_(ids)))


def _visible(tx: Tx) -> tuple[Condition, ...]:
    return (pads.c.user_id == tx.scope.user_id, pads.c.deleted_at.is_(None))


def _restorable(tx: Tx) -> tuple[Condition, ...]:
    return (pads.c.user_id == tx.scope.user_id, pads.c.deleted_at > tx.now - TRASH_RETENTION)


def _filter_conditions(
    tx: Tx, namespace_filter: Sequence[str], tag_filter: Sequence[str]
) -> Iterable[Condition]:
    if namespace_filter:
        yield pads.c.namespace.in_(list(namespace_filter))
    if tag_filter:
        spellings = find_tag_spellings(tx, tag_filter)
        own, of_cells = (
            select(side.c.scratch_id).where(
                side.c.user_id == tx.scope.user_id, side.c.tag.in_(spellings)
            )
            for side in (pad_tags, cell_tags)
        )
        yield pads.c.scratch_id.in_(own) | pads.c.scratch_id.in_(of_cells)


def _pads(tx: Tx, statement: Executable) -> list[Pad]:
    return [_pad_of_row(*row) for row in tx.execute(statement)]


def _pad_of_row(scratch_id: str, user_id: str, namespace: str, tags: list[str], *rest: Any) -> Pad:  # noqa: ANN401  # the other columns
    return Pad(scratch_id, user_id, namespace, tuple(tags), *rest)


def _update(tx: Tx, pad: Pad, values: Mapping[str, Any]) -> None:
    mine = {"owner": tx.scope.user_id, "pad": pad.scratch_id}
    new = {f"new_{name}": value for name, value in values.items()}
    _update_statement(*values).run(tx, {**mine, **new})


def _insert_tags(tx: Tx, pad: Pad) -> None:
    owned = {"user_id": tx.scope.user_id, "scratch_id": pad.scratch_id}
    _INSERT_TAGS.run_each(tx, [{**owned, "tag": tag} for tag in pad.tags])
