"""Writes of the index, inside the transaction of what they describe.

Statements are made once for each kind of database: SQLAlchemy takes longer to put one together
than SQLite takes to run it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from rolltop.core.lazy import lazy
from rolltop.core.search import statements
from rolltop.core.search.batches import batches
from rolltop.core.search.documents import storable
from rolltop.core.search.words import joined_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rolltop.core.db import Tx
    from rolltop.core.search import tsearch
    from rolltop.core.search.documents import Document, Filters
else:  # only PostgreSQL needs it
    tsearch = lazy("rolltop.core.search.tsearch")

Key = tuple[str, str]  # kind, id
Filter = tuple[int, str, str]  # item, name, value
Stored = dict[tuple[int, str], list[tuple[int, int]]]
"""Number and place of each stored part, by its item and its text's digest; the last ones first."""


def put(tx: Tx, documents: Sequence[Document], *, new: bool, same_filters: bool) -> None:
    """Put all parts of the documents' things in place of what the index holds of them."""
    parts: dict[Key, list[Document]] = defaultdict(list)
    for document in documents:
        parts[document.kind, document.id].append(document)
    known, stored = ({}, {}) if new else _stored(tx, list(parts))
    added = _add_items(tx, [key for key in parts if key not in known])
    there = [key for key in parts if key not in known and key not in added]
    if there:  # they are not new, or another transaction was faster
        more, more_stored = _stored(tx, there)
        known, stored = known | more, stored | more_stored
    items = known | added
    filters = {items[k]: listed[0].filters for k, listed in parts.items()}
    if same_filters:
        filters = {item: filters[item] for item in added.values()}
    _put_filters(tx, filters, () if same_filters else list(known.values()))
    _put_parts(tx, {items[k]: listed for k, listed in parts.items()}, stored)


def drop(tx: Tx, kind: str, ids: Iterable[str]) -> None:
    """Take things out of the index; ids it does not hold are passed over."""
    for some in batches(_numbers(tx, kind, ids)):
        one = len(some) == 1
        if tx.kind == "sqlite":
            statements.unindex_items(one=one).run(tx, _bound(tx, some))
        statements.delete_items(tx.kind, one=one).run(tx, _bound(tx, some))


def drop_all(tx: Tx, user_id: str) -> None:
    """Take everything of one tenant out of the index."""
    if tx.kind == "sqlite":
        statements.UNINDEX_ALL.run(tx, {"owner": user_id})
    statements.DELETE_ALL.run(tx, {"owner": user_id})


def update_filters(tx: Tx, kind: str, ids: Iterable[str], filters: Filters) -> None:
    """Put these names' values in place of the things' own; other names keep theirs."""
    items = _numbers(tx, kind, ids)
    _put_filters(tx, dict.fromkeys(items, filters), items, frozenset(filters))


def _numbers(tx: Tx, kind: str, ids: Iterable[str]) -> list[int]:
    """Return the numbers of those of the things that the index holds."""
    found: list[int] = []
    for some in batches(list(ids)):
        statement = statements.items(one=len(some) == 1)
        found += [number for (number,) in statement.rows(tx, {**_bound(tx, some), "kind": kind})]
    return found


def _stored(tx: Tx, keys: Sequence[Key]) -> tuple[dict[Key, int], Stored]:
    """Return the numbers of the things there are, and their parts."""
    refs: dict[str, list[str]] = defaultdict(list)
    for kind, ref in keys:
        refs[kind].append(ref)
    items: dict[Key, int] = {}
    parts: Stored = defaultdict(list)
    for kind, named in refs.items():
        for some in batches(named):
            statement = statements.stored_parts(tx.kind, one=len(some) == 1)
            rows = statement.rows(tx, {**_bound(tx, some), "kind": kind})
            for ref, item, digest, number, part in rows:
                items[kind, ref] = item
                if number is not None:
                    parts[item, digest].append((number, part))
    return items, parts


def _add_items(tx: Tx, keys: Sequence[Key]) -> dict[Key, int]:
    """Return the numbers of the things that got one now: not of those that had one."""
    owner = tx.scope.tenant_id
    rows = [{"user_id": owner, "kind": kind, "ref": ref} for kind, ref in keys]
    made = statements.add_items(tx.kind).rows_of_each(tx, rows)
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
        (item, name, storable(value))
        for item, named in filters.items()
        for name, values in named.items()
        for value in ([values] if isinstance(values, str) else values)
    }
    stored: set[Filter] = set()
    for some in batches(known):
        statement = statements.stored_filters(tx.kind, one=len(some) == 1)
        rows = statement.rows(tx, _bound(tx, some))
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
    statements.delete_filters(tx.kind).run_each(tx, gone)
    statements.ADD_FILTERS.run_each(tx, new)


def _put_parts(tx: Tx, parts: Mapping[int, Sequence[Document]], stored: Stored) -> None:
    """Keep the rows whose text is still a part, write the others anew, delete the rest."""
    new: list[dict[str, Any]] = []
    moved: list[dict[str, Any]] = []
    for item, documents in parts.items():
        for document in documents:
            text = storable(document.text)
            if not text.strip():
                continue  # to a model it means a little of everything
            digest = hashlib.sha256(text.encode()).hexdigest()[:32]
            same = stored.get((item, digest))
            if same:
                number, part = same.pop()
                if part != document.part:
                    moved.append({"moved": number, "moved_part": document.part})
            else:
                new.append(_row(tx, item, document, text, digest))
    gone = [number for same in stored.values() for number, _part in same]
    for some in batches(gone):
        one = len(some) == 1
        if tx.kind == "sqlite":
            statements.unindex_parts(one=one).run(tx, _bound(tx, some))
        statements.delete_parts(tx.kind, one=one).run(tx, _bound(tx, some))
    owner = {"owner": tx.scope.tenant_id}
    statements.move_parts(tx.kind).run_each(tx, [{**owner, **row} for row in moved])
    if new:
        _add_parts(tx, new)


def _add_parts(tx: Tx, rows: list[dict[str, Any]]) -> None:
    """Add parts with their texts, and on SQLite the words to its index."""
    places = {(row["item_id"], row["part"]): row for row in rows}
    columns = [{name: row[name] for name in statements.PART_COLUMNS} for row in rows]
    made = statements.ADD_PARTS.rows_of_each(tx, columns)
    owner = tx.scope.tenant_id
    texts: list[dict[str, Any]] = []
    for number, item, part in made:
        row = places[item, part]
        texts.append({"id": number, "user_id": owner, "text": row["text"], "words": row["words"]})
    statements.ADD_TEXTS.run_each(tx, texts)
    if tx.kind == "sqlite":
        words = [{"rowid": text["id"], "words": text["words"]} for text in texts]
        statements.ADD_WORDS.run_each(tx, words)


def _row(tx: Tx, item: int, document: Document, text: str, digest: str) -> dict[str, Any]:
    split = joined_words(text)
    kept = split if tx.kind == "sqlite" else f"{split} {tsearch.mark(tx.scope.tenant_id)}"
    return {
        "user_id": tx.scope.tenant_id,
        "item_id": item,
        "kind": document.kind,
        "part": document.part,
        "digest": digest,
        "length": split.count(" ") + 1 if split else 0,
        "text": text,
        "words": kept,
    }


def _bound(tx: Tx, some: Sequence[object]) -> dict[str, Any]:
    owner = tx.scope.tenant_id
    if len(some) == 1:
        return {"owner": owner, "it": some[0]}
    return {"owner": owner, "some": list(some)}
