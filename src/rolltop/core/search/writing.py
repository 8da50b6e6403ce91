"""Writes of the index, inside the transaction of what they describe."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import and_, bindparam, delete, insert, literal, select, update

from rolltop.core.db.upsert import insert as upsert
from rolltop.core.search.documents import storable
from rolltop.core.search.tables import (
    WORDS_TABLE,
    fetched,
    owner_of,
    search_filters,
    search_items,
    search_parts,
    search_texts,
    search_words,
)
from rolltop.core.search.words import joined_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement

    from rolltop.core.db import Tx
    from rolltop.core.search.documents import Document, Filters

T = TypeVar("T")
Key = tuple[str, str]  # kind, id

_AT_ONCE: Final = 400  # values bound in one statement


def put(tx: Tx, documents: Sequence[Document]) -> None:
    """Put all parts of the documents' things in place of what the index holds of them."""
    parts: dict[Key, list[Document]] = defaultdict(list)
    for document in documents:
        parts[document.kind, document.id].append(document)
    items = _made_items(tx, list(parts))
    _put_filters(tx, {items[key]: listed[0].filters for key, listed in parts.items()})
    _put_parts(tx, {items[key]: listed for key, listed in parts.items()})


def drop(tx: Tx, kind: str, ids: Iterable[str]) -> None:
    """Take things out of the index; ids it does not hold are passed over."""
    items = list(_items(tx, [(kind, ref) for ref in ids]).values())
    for some in _batches(items):
        _unindex(tx, search_parts.c.item_id.in_(some))
        tx.execute(
            delete(search_items).where(
                owner_of(tx, search_items) == tx.scope.tenant_id, search_items.c.id.in_(some)
            )
        )


def drop_all(tx: Tx, user_id: str) -> None:
    """Take everything of one tenant out of the index."""
    _unindex(tx, search_parts.c.user_id == user_id, user_id)
    tx.execute(delete(search_items).where(search_items.c.user_id == user_id))


def update_filters(tx: Tx, kind: str, ids: Iterable[str], filters: Filters) -> None:
    """Put these names' values in place of the things' own; other names keep theirs."""
    items = _items(tx, [(kind, ref) for ref in ids])
    _put_filters(tx, dict.fromkeys(items.values(), filters), names=list(filters))


def _items(tx: Tx, keys: Sequence[Key]) -> dict[Key, int]:
    refs: dict[str, list[str]] = defaultdict(list)
    for kind, ref in keys:
        refs[kind].append(ref)
    found: dict[Key, int] = {}
    c = search_items.c
    for kind, named in refs.items():
        for some in _batches(named):
            rows = fetched(
                tx,
                select(c.ref, c.id).where(
                    c.user_id == tx.scope.tenant_id, c.kind == kind, c.ref.in_(some)
                ),
            )
            found |= {(kind, ref): number for ref, number in rows}
    return found


def _made_items(tx: Tx, keys: Sequence[Key]) -> dict[Key, int]:
    """Return the numbers of the things, giving one to each that has none."""
    found = _items(tx, keys)
    new = [key for key in keys if key not in found]
    if not new:
        return found
    statement = upsert(tx.kind, search_items).on_conflict_do_nothing()
    owner = tx.scope.tenant_id
    tx.execute(statement, [{"user_id": owner, "kind": kind, "ref": ref} for kind, ref in new])
    return found | _items(tx, new)


def _put_filters(
    tx: Tx, filters: Mapping[int, Filters], names: Sequence[str] | None = None
) -> None:
    """Put filters in place of the items' own, of these names only where names are given."""
    wanted = {
        (item, name, storable(value))
        for item, named in filters.items()
        for name, values in named.items()
        for value in ([values] if isinstance(values, str) else values)
    }
    stored: set[tuple[int, str, str]] = set()
    for some in _batches(list(filters)):
        statement = select(
            search_filters.c.item_id, search_filters.c.name, search_filters.c.value
        ).where(
            owner_of(tx, search_filters) == tx.scope.tenant_id, search_filters.c.item_id.in_(some)
        )
        if names is not None:
            statement = statement.where(search_filters.c.name.in_(names))
        stored |= {(item, name, value) for item, name, value in fetched(tx, statement)}
    columns = ("item_id", "name", "value")
    gone = [dict(zip(columns, row, strict=True)) for row in sorted(stored - wanted)]
    new = [dict(zip(columns, row, strict=True)) for row in sorted(wanted - stored)]
    if gone:
        matches = [search_filters.c[name] == bindparam(f"gone_{name}") for name in columns]
        statement = delete(search_filters).where(
            owner_of(tx, search_filters) == tx.scope.tenant_id, *matches
        )
        tx.execute(statement, [{f"gone_{name}": row[name] for name in columns} for row in gone])
    if new:
        tx.execute(insert(search_filters), [{**row, "user_id": tx.scope.tenant_id} for row in new])


def _put_parts(tx: Tx, parts: Mapping[int, Sequence[Document]]) -> None:
    """Keep the rows whose text is still a part, write the others anew, delete the rest."""
    stored = _stored_parts(tx, list(parts))
    new: list[dict[str, Any]] = []
    moved: list[dict[str, int]] = []
    for item, documents in parts.items():
        for document in documents:
            text = storable(document.text)
            digest = hashlib.sha256(text.encode()).hexdigest()[:32]
            same = stored[item, digest]
            if same:
                number, part = same.pop()
                if part != document.part:
                    moved.append({"moved_id": number, "moved_part": document.part})
            else:
                new.append(_row(tx, item, document, text, digest))
    gone = [number for same in stored.values() for number, _part in same]
    for some in _batches(gone):
        _unindex(tx, search_parts.c.id.in_(some))
        tx.execute(
            delete(search_parts).where(
                owner_of(tx, search_parts) == tx.scope.tenant_id, search_parts.c.id.in_(some)
            )
        )
    if moved:
        statement = update(search_parts).where(
            owner_of(tx, search_parts) == tx.scope.tenant_id,
            search_parts.c.id == bindparam("moved_id"),
        )
        tx.execute(statement.values(part=bindparam("moved_part")), moved)
    if new:
        _add_parts(tx, new)


def _add_parts(tx: Tx, rows: list[dict[str, Any]]) -> None:
    """Add parts with their texts, and on SQLite the words to its index."""
    places = {(row["item_id"], row["part"]): row for row in rows}
    tx.execute(insert(search_parts), rows)
    c = search_parts.c
    texts: list[dict[str, Any]] = []
    for some in _batches(list({row["item_id"] for row in rows})):
        found = fetched(
            tx,
            select(c.id, c.item_id, c.part)
            .select_from(search_parts)
            .outerjoin(
                search_texts,
                and_(
                    search_texts.c.id == c.id,
                    owner_of(tx, search_texts) == tx.scope.tenant_id,
                ),
            )
            .where(
                owner_of(tx, search_parts) == tx.scope.tenant_id,
                c.item_id.in_(some),
                search_texts.c.id.is_(None),
            ),
        )
        texts += [{**places[item, part], "id": number} for number, item, part in found]
    tx.execute(insert(search_texts), texts)
    if tx.kind == "sqlite":
        words = [{"rowid": text["id"], "words": text["words"]} for text in texts]
        tx.execute(insert(search_words), words)


def _unindex(tx: Tx, condition: ColumnElement[bool], owner: str | None = None) -> None:
    """Take the words of parts that are about to go out of SQLite's index."""
    if tx.kind != "sqlite":
        return
    owner = owner or tx.scope.tenant_id
    gone = (
        select(literal("delete"), search_texts.c.id, search_texts.c.words)
        .join(search_parts, search_parts.c.id == search_texts.c.id)
        .where(owner_of(tx, search_parts) == owner, owner_of(tx, search_texts) == owner, condition)
    )
    tx.execute(insert(search_words).from_select([WORDS_TABLE, "rowid", "words"], gone))


def _stored_parts(
    tx: Tx, items: Sequence[int]
) -> defaultdict[tuple[int, str], list[tuple[int, int]]]:
    """Return (id, part) of each stored part by its item and its text's digest."""
    stored: defaultdict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    c = search_parts.c
    for some in _batches(items):
        rows = fetched(
            tx,
            select(c.item_id, c.digest, c.id, c.part)
            .where(owner_of(tx, search_parts) == tx.scope.tenant_id, c.item_id.in_(some))
            .order_by(c.part.desc(), c.id.desc()),
        )
        for item, digest, number, part in rows:
            stored[item, digest].append((number, part))
    return stored


def _row(tx: Tx, item: int, document: Document, text: str, digest: str) -> dict[str, Any]:
    split = joined_words(text)
    return {
        "user_id": tx.scope.tenant_id,
        "item_id": item,
        "kind": document.kind,
        "part": document.part,
        "digest": digest,
        "length": split.count(" ") + 1 if split else 0,
        "text": text,
        "words": split,
    }


def _batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
