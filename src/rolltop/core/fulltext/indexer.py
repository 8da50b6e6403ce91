"""Writes of the index, inside the transaction of what they describe.

Statements are built once for each kind of database: SQLAlchemy takes longer to build one
than SQLite takes to run it. Each names the tenant, `:owner`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    and_,
    bindparam,
    delete,
    insert,
    literal,
    select,
    update,
)

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, batches
from rolltop.core.db.types import CodePointString
from rolltop.core.db.upsert import insert as upsert
from rolltop.core.db.url import DatabaseKind
from rolltop.core.fulltext.analyzer import replace_unstorable, tokenize_lines
from rolltop.core.fulltext.documents import Filters, IndexDocument
from rolltop.core.fulltext.filters import OWNER
from rolltop.core.fulltext.tables import (
    WORDS_TABLE,
    owner_of,
    search_filters,
    search_items,
    search_parts,
    search_texts,
    search_words,
    with_tenant_lexeme,
)

ItemKey = tuple[str, str]  # kind, id
FilterRow = tuple[int, str, str]  # item, name, value
StoredParts = dict[tuple[int, str], list[tuple[int, int]]]
"""Number and place of each stored part, by its item and its text's digest; the last ones first."""


def put(
    tx: Tx, documents: Sequence[IndexDocument], *, new: bool = False, same_filters: bool = False
) -> None:
    """Put the documents in place of all the index holds of their things (kind, id).

    Parts whose text was there before keep their vectors, whatever their place; blank ones are not
    kept, so that nothing finds them. A thing's filters are those of its first document. `new` says
    that the index is not expected to hold the things: it is faster then, and right anyway.
    `same_filters` promises that things it holds have these filters, and spares a look.
    """
    parts: dict[ItemKey, list[IndexDocument]] = defaultdict(list)
    for document in documents:
        parts[document.kind, document.id].append(document)
    known, stored = ({}, {}) if new else _read_stored(tx, list(parts))
    added = _add_items(tx, [key for key in parts if key not in known])
    there = [key for key in parts if key not in known and key not in added]
    if there:  # they are not new, or another transaction was faster
        more, more_stored = _read_stored(tx, there)
        known, stored = known | more, stored | more_stored
    items = known | added
    filters = {items[k]: listed[0].filters for k, listed in parts.items()}
    if same_filters:
        filters = {item: filters[item] for item in added.values()}
    _put_filters(tx, filters, () if same_filters else list(known.values()))
    _put_parts(tx, {items[k]: listed for k, listed in parts.items()}, stored)


def drop(tx: Tx, kind: str, ids: Iterable[str]) -> None:
    """Take things out of the index; ids that it does not hold are passed over."""
    for some in batches(_item_ids(tx, kind, ids)):
        if tx.kind == "sqlite":
            _UNINDEX_ITEMS.run(tx, _bind_values(tx, some))
        _delete_items_statement(tx.kind).run(tx, _bind_values(tx, some))


def drop_all(tx: Tx, user_id: str) -> None:
    """Take everything of one tenant out of this index, before the tenant is deleted."""
    if tx.kind == "sqlite":
        _UNINDEX_ALL.run(tx, {"owner": user_id})
    _DELETE_ALL.run(tx, {"owner": user_id})


def update_filters(tx: Tx, kind: str, ids: Iterable[str], filters: Filters) -> None:
    """Put these filters' values in place of the things' own; no text is indexed or embedded anew.

    Filters of other names stay; one with an empty list is taken away.
    """
    items = _item_ids(tx, kind, ids)
    _put_filters(tx, dict.fromkeys(items, filters), items, frozenset(filters))


def _item_ids(tx: Tx, kind: str, ids: Iterable[str]) -> list[int]:
    """Return the numbers of those of the things that the index holds."""
    found: list[int] = []
    for some in batches(list(ids)):
        rows = _ITEM_IDS.rows(tx, {**_bind_values(tx, some), "kind": kind})
        found += [number for (number,) in rows]
    return found


def _read_stored(tx: Tx, keys: Sequence[ItemKey]) -> tuple[dict[ItemKey, int], StoredParts]:
    """Return the numbers of the things there are, and their parts."""
    refs: dict[str, list[str]] = defaultdict(list)
    for kind, ref in keys:
        refs[kind].append(ref)
    items: dict[ItemKey, int] = {}
    parts: StoredParts = defaultdict(list)
    for kind, named in refs.items():
        for some in batches(named):
            statement = _stored_parts_statement(tx.kind)
            rows = statement.rows(tx, {**_bind_values(tx, some), "kind": kind})
            for ref, item, digest, number, part in rows:
                items[kind, ref] = item
                if number is not None:
                    parts[item, digest].append((number, part))
    return items, parts


def _add_items(tx: Tx, keys: Sequence[ItemKey]) -> dict[ItemKey, int]:
    """Return the numbers of the things that got one now: not of those that had one."""
    owner = tx.scope.tenant_id
    rows = [{"user_id": owner, "kind": kind, "ref": ref} for kind, ref in keys]
    made = _add_items_statement(tx.kind).rows_for_each(tx, rows)
    return {(kind, ref): number for number, kind, ref in made}


def _put_filters(
    tx: Tx,
    filters: Mapping[int, Filters],
    known: Sequence[int],
    names: frozenset[str] | None = None,
) -> None:
    """Put filters in place of the items' own, of these names only where names are given.

    `known` are the items that may have some.
    """
    wanted = {
        (item, name, replace_unstorable(value))
        for item, named in filters.items()
        for name, values in named.items()
        for value in ([values] if isinstance(values, str) else values)
    }
    stored: set[FilterRow] = set()
    for some in batches(known):
        statement = _stored_filters_statement(tx.kind)
        rows = statement.rows(tx, _bind_values(tx, some))
        stored |= {
            (item, name, value) for item, name, value in rows if names is None or name in names
        }
    owner = tx.scope.tenant_id
    gone = [
        {"owner": owner, "gone_item": item, "gone_name": name, "gone_value": value}
        for item, name, value in sorted(stored - wanted)
    ]
    new = [
        {"user_id": owner, "item_id": item, "name": name, "value": value}
        for item, name, value in sorted(wanted - stored)
    ]
    _delete_filters_statement(tx.kind).run_each(tx, gone)
    _ADD_FILTERS.run_each(tx, new)


def _put_parts(tx: Tx, parts: Mapping[int, Sequence[IndexDocument]], stored: StoredParts) -> None:
    """Keep the rows whose text is still a part, write the others anew, delete the rest."""
    new: list[dict[str, Any]] = []
    moved: list[dict[str, Any]] = []
    for item, documents in parts.items():
        for document in documents:
            text = replace_unstorable(document.text)
            if not text.strip():
                continue  # to a model it means a little of everything
            digest = hashlib.sha256(text.encode()).hexdigest()[:32]
            same = stored.get((item, digest))
            if same:
                number, part = same.pop()
                if part != document.part:
                    moved.append({"moved": number, "moved_part": document.part})
            else:
                new.append(_part_row(tx, item, document, text, digest))
    gone = [number for same in stored.values() for number, _part in same]
    for some in batches(gone):
        if tx.kind == "sqlite":
            _UNINDEX_PARTS.run(tx, _bind_values(tx, some))
        _delete_parts_statement(tx.kind).run(tx, _bind_values(tx, some))
    owner = {"owner": tx.scope.tenant_id}
    _move_parts_statement(tx.kind).run_each(tx, [{**owner, **row} for row in moved])
    if new:
        _add_parts(tx, new)


def _add_parts(tx: Tx, rows: list[dict[str, Any]]) -> None:
    """Add parts with their texts, and on SQLite the words to its index."""
    places = {(row["item_id"], row["part"]): row for row in rows}
    columns = [{name: row[name] for name in _PART_COLUMNS} for row in rows]
    made = _ADD_PARTS.rows_for_each(tx, columns)
    owner = tx.scope.tenant_id
    texts: list[dict[str, Any]] = []
    for number, item, part in made:
        row = places[item, part]
        texts.append({"id": number, "user_id": owner, "text": row["text"], "words": row["words"]})
    _ADD_TEXTS.run_each(tx, texts)
    if tx.kind == "sqlite":
        words = [{"rowid": text["id"], "words": text["words"]} for text in texts]
        _ADD_WORDS.run_each(tx, words)


def _part_row(tx: Tx, item: int, document: IndexDocument, text: str, digest: str) -> dict[str, Any]:
    split = tokenize_lines(text)
    return {
        "user_id": tx.scope.tenant_id,
        "item_id": item,
        "kind": document.kind,
        "part": document.part,
        "digest": digest,
        "length": len(split.split()),
        "text": text,
        "words": with_tenant_lexeme(tx, split),
    }


def _bind_values(tx: Tx, some: Sequence[object]) -> dict[str, Any]:
    return {"owner": tx.scope.tenant_id, "some": list(some)}


_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)

_PART_COLUMNS: Final = ("user_id", "item_id", "kind", "part", "digest", "length")

_OF_KIND: Final = (
    search_items.c.user_id == OWNER,
    search_items.c.kind == bindparam("kind", type_=CodePointString()),
)
_ADD_FILTERS: Final = CompiledStatement(insert(search_filters))
_ADD_PARTS: Final = CompiledStatement(
    insert(search_parts).returning(search_parts.c.id, search_parts.c.item_id, search_parts.c.part)
)
_ADD_TEXTS: Final = CompiledStatement(insert(search_texts))
_ADD_WORDS: Final = CompiledStatement(insert(search_words))
_DELETE_ALL: Final = CompiledStatement(delete(search_items).where(search_items.c.user_id == OWNER))


def _unindex_statement(*conditions: ColumnElement[bool]) -> CompiledStatement:
    """Take words of parts that are about to go out of SQLite's index."""
    gone = (
        select(literal("delete"), search_texts.c.id, search_texts.c.words)
        .join(search_parts, search_parts.c.id == search_texts.c.id)
        .where(*conditions)
    )
    return CompiledStatement(
        insert(search_words).from_select([WORDS_TABLE, "rowid", "words"], gone)
    )


_OWN_PARTS: Final = (
    owner_of("sqlite", search_parts) == OWNER,
    owner_of("sqlite", search_texts) == OWNER,
)
_UNINDEX_ALL: Final = _unindex_statement(
    search_parts.c.user_id == OWNER, owner_of("sqlite", search_texts) == OWNER
)
_ITEM_IDS: Final = CompiledStatement(
    select(search_items.c.id).where(*_OF_KIND, search_items.c.ref.in_(_SOME))
)
_UNINDEX_ITEMS: Final = _unindex_statement(*_OWN_PARTS, search_parts.c.item_id.in_(_SOME))
_UNINDEX_PARTS: Final = _unindex_statement(*_OWN_PARTS, search_parts.c.id.in_(_SOME))


@cache
def _add_items_statement(kind: DatabaseKind) -> CompiledStatement:
    """Give things numbers, and answers those it gave: others have theirs."""
    added = upsert(kind, search_items).on_conflict_do_nothing()
    return CompiledStatement(
        added.returning(search_items.c.id, search_items.c.kind, search_items.c.ref)
    )


@cache
def _delete_items_statement(kind: DatabaseKind) -> CompiledStatement:
    """Delete things, with all that belongs to them."""
    return CompiledStatement(
        delete(search_items).where(
            owner_of(kind, search_items) == OWNER, search_items.c.id.in_(_SOME)
        )
    )


@cache
def _stored_filters_statement(kind: DatabaseKind) -> CompiledStatement:
    f = search_filters.c
    return CompiledStatement(
        select(f.item_id, f.name, f.value).where(
            owner_of(kind, search_filters) == OWNER, f.item_id.in_(_SOME)
        )
    )


@cache
def _delete_filters_statement(kind: DatabaseKind) -> CompiledStatement:
    f = search_filters.c
    return CompiledStatement(
        delete(search_filters).where(
            owner_of(kind, search_filters) == OWNER,
            f.item_id == bindparam("gone_item"),
            f.name == bindparam("gone_name"),
            f.value == bindparam("gone_value"),
        )
    )


@cache
def _stored_parts_statement(kind: DatabaseKind) -> CompiledStatement:
    """Read the numbers of things and their parts, without texts, the last first."""
    c = search_parts.c
    return CompiledStatement(
        select(search_items.c.ref, search_items.c.id, c.digest, c.id.label("part_id"), c.part)
        .select_from(search_items)
        .outerjoin(
            search_parts,
            and_(c.item_id == search_items.c.id, owner_of(kind, search_parts) == OWNER),
        )
        .where(*_OF_KIND, search_items.c.ref.in_(_SOME))
        .order_by(c.part.desc(), c.id.desc())
    )


@cache
def _delete_parts_statement(kind: DatabaseKind) -> CompiledStatement:
    """Delete parts, with their texts and vectors."""
    return CompiledStatement(
        delete(search_parts).where(
            owner_of(kind, search_parts) == OWNER, search_parts.c.id.in_(_SOME)
        )
    )


@cache
def _move_parts_statement(kind: DatabaseKind) -> CompiledStatement:
    return CompiledStatement(
        update(search_parts)
        .where(owner_of(kind, search_parts) == OWNER, search_parts.c.id == bindparam("moved"))
        .values(part=bindparam("moved_part"))
    )
