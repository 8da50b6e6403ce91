"""What a transaction changes goes into the journal: the last thing it does before the commit.

Triggers write every change of a journaled table's row, cascades included, to `journal_pending`. On
SQLite both belong to one connection and lie in memory; PostgreSQL's are made by the migrations
(`journal_rows`), and the table is not logged. A row is a JSON object of its columns as the database
stores them, so that what is kept here can be put back byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import uuid
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Table, select, text

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, driver_connection
from rolltop.core.db.schema import metadata
from rolltop.core.db.types import Identifier, canonical_id
from rolltop.core.db.upsert import insert
from rolltop.core.journal.tables import (
    KEPT,
    Journaled,
    journal,
    journal_contents,
    journal_counters,
    journaled_tables,
)

MAX_INLINE_LENGTH: Final = 200
"""Code points of a text that stands in its entry; a longer one lies among the contents, once."""

Row = dict[str, Any]
PendingRow = tuple[Any, ...]
"""The name of a table, and a row before and after as JSON or None."""
_INSTALLED: Final = "rolltop.journaled"
_CREATE_PENDING: Final = (
    "CREATE TEMP TABLE IF NOT EXISTS journal_pending "
    "(number INTEGER PRIMARY KEY, table_name TEXT, before TEXT, after TEXT)"
)
_TAKE_POSTGRESQL: Final = text(
    "DELETE FROM journal_pending WHERE xid = pg_current_xact_id()::text::bigint "
    "RETURNING number, table_name, before, after"
)
_ZLIB_LEVEL: Final = 1
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_INSERT_ENTRY: Final = CompiledStatement(journal.insert())
_INSERT_AT_ONCE: Final = text(
    """
WITH counted AS (
    INSERT INTO journal_counters AS counter (user_id, sequence) VALUES (:user_id, :added)
    ON CONFLICT (user_id) DO UPDATE SET sequence = counter.sequence + excluded.sequence
    RETURNING counter.sequence - :added AS last
), kept AS (
    INSERT INTO journal_contents AS content (user_id, sha256, used_at, size, data)
    SELECT CAST(:user_id AS uuid), sha256, :at, size, decode(data, 'base64')
    FROM json_to_recordset(:contents) AS given (sha256 text, size int, data text)
    ON CONFLICT (user_id, sha256) DO UPDATE SET used_at = excluded.used_at
    WHERE excluded.used_at > content.used_at
)
INSERT INTO journal (user_id, sequence, operation, at, actor_id, client, project, tool,
    kind, ref, version_before, version_after, changes)
SELECT CAST(:user_id AS uuid), last + sequence, CAST(:operation AS uuid), :at,
    CAST(:actor_id AS uuid), :client, :project, :tool,
    kind, ref, version_before, version_after, changes
FROM counted, json_to_recordset(:entries) AS given (sequence int, kind text, ref text,
    version_before int, version_after int, changes text)
"""
)
"""What three statements do on SQLite, where each does not cost a way there and back."""


@dataclass(frozen=True, slots=True)
class _RowChange:
    """One row before and after a transaction; None where it was not there."""

    table: Table
    journaled: Journaled
    before: Row | None
    after: Row | None

    @property
    def row(self) -> Row:
        """The row as it is, or as it last was."""
        row = self.before if self.after is None else self.after
        assert row is not None  # noqa: S101  # a change is of a row
        return row


@dataclass(slots=True)
class _Thing:
    """What a transaction did to one thing."""

    kind: str
    ref: str
    changes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    version_before: int | None = None
    version_after: int | None = None


def append_entries(tx: Tx) -> None:
    """Write an entry for each thing that the transaction has changed, numbered in its tenant.

    The row of the tenant's last number is locked last and until the commit, so that numbers follow
    the order of commits without a gap. What the system does (`SYSTEM`: users, tokens, emptying the
    trash) leaves no entries.
    """
    pending = _take_pending(tx)
    if not pending or not tx.scope.user_id:
        return
    changes = _find_changes(pending)
    by_owner: dict[str, list[_RowChange]] = {}
    for change in changes:
        by_owner.setdefault(change.row["user_id"], []).append(change)
    for stored_id, owned in by_owner.items():
        owner, contents = canonical_id(stored_id), dict[str, str]()
        things = _group_by_thing(tx, owner, owned, contents)
        if things:
            _insert_entries(tx, owner, things, contents)


def _group_by_thing(
    tx: Tx, owner: str, changes: Sequence[_RowChange], contents: dict[str, str]
) -> list[_Thing]:
    finder, things = _ThingFinder(tx, owner, changes), dict[tuple[str, str], _Thing]()
    versions: list[tuple[tuple[str, str], _RowChange]] = []
    for change in changes:
        entry = _describe(change, contents)
        key = finder.find(change, [] if entry is None else entry["after"] or ())
        if change.journaled.version and key[0] == change.journaled.kind:
            versions.append((key, change))
        if entry is not None:
            things.setdefault(key, _Thing(*key)).changes.append(entry)
    for key, change in versions:
        if key in things:
            name = change.journaled.version
            things[key].version_before = None if change.before is None else change.before[name]
            things[key].version_after = None if change.after is None else change.after[name]
    for kind, joined in {(c.journaled.kind, c.journaled.joins) for c in changes}:
        other = next((thing for thing in things.values() if thing.kind == joined), None)
        if other is not None:
            for key in [key for key in things if key[0] == kind]:
                other.changes += things.pop(key).changes
    return list(things.values())


class _ThingFinder:
    """Finds the thing a row belongs to."""

    def __init__(self, tx: Tx, owner: str, changes: Iterable[_RowChange]) -> None:
        self._tx, self._owner = tx, owner
        self._ids = {
            (change.table.name, change.row[_only_key(change)]): change.row["id"]
            for change in changes
            if "id" in change.table.columns and len(change.table.primary_key.columns) == 1
        }

    def find(self, change: _RowChange, changed: Iterable[str]) -> tuple[str, str]:
        """Return the kind and the id of a row's thing, of which some columns were changed."""
        journaled, row = change.journaled, change.row
        moved = set(changed)
        if (
            journaled.owner
            and change.before
            and change.after
            and moved
            and moved <= journaled.order
        ):
            kind, name = journaled.owner
            return kind, canonical_id(row[name])
        if (through := journaled.through) is not None:
            key = row[journaled.key]
            known = self._ids.get((through.name, key))
            if known is None:
                is_one = (through.c.user_id == self._owner, through.c[journaled.key] == key)
                known = self._tx.execute(select(through.c.id).where(*is_one)).scalar_one()
            return journaled.kind, known
        return thing_of(change.table, journaled, row)


def thing_of(table: Table, journaled: Journaled, row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind and the id of the thing that a row, as stored, names in its key's column."""
    key = row[journaled.key]
    is_identifier = isinstance(table.c[journaled.key].type, Identifier)
    return journaled.kind, canonical_id(key) if is_identifier else key


def _only_key(change: _RowChange) -> str:
    (column,) = change.table.primary_key.columns
    return column.name


def _describe(change: _RowChange, contents: dict[str, str]) -> dict[str, Any] | None:
    """Return what is kept of a row's change: all of a row that came or went, else what differs."""
    before, after, journaled = change.before, change.after, change.journaled
    if before is not None and after is not None:
        differ = {
            name
            for name, value in before.items()
            if after[name] != value and name not in journaled.derived
        }
        if differ <= journaled.moving | journaled.computed:
            return None
        before = {name: before[name] for name in before if name in differ}
        after = {name: after[name] for name in after if name in differ}
    return {
        "table": change.table.name,
        "key": {column.name: change.row[column.name] for column in change.table.primary_key},
        "before": _move_texts(before, contents),
        "after": _move_texts(after, contents),
    }


def _move_texts(row: Row | None, contents: dict[str, str]) -> Row | None:
    """Move the long texts of a row to the contents; leave their hashes."""
    if row is None:
        return None
    kept: Row = {}
    for name, value in row.items():
        if isinstance(value, str) and len(value) > MAX_INLINE_LENGTH:
            digest = hashlib.sha256(value.encode()).hexdigest()
            contents[digest] = value
            kept[name] = {"sha256": digest}
        else:
            kept[name] = value
    return kept


def _insert_entries(
    tx: Tx, owner: str, things: Sequence[_Thing], contents: Mapping[str, str]
) -> None:
    scope = tx.scope
    shared = {
        "user_id": owner,
        "operation": scope.operation or str(uuid.uuid4()),
        "at": tx.now,
        "actor_id": scope.actor_id,
        "client": scope.label,
        "project": scope.project,
        "tool": scope.tool,
    }
    entries = [
        {
            "sequence": number,
            "kind": thing.kind,
            "ref": thing.ref,
            "version_before": thing.version_before,
            "version_after": thing.version_after,
            "changes": _encode(thing.changes),
        }
        for number, thing in enumerate(things, 1)
    ]
    kept = [_compress(digest, content) for digest, content in sorted(contents.items())]
    if tx.kind == "postgresql":
        data = [{**one, "data": b64encode(one["data"]).decode()} for one in kept]
        lists = {"entries": _encode(entries), "contents": _encode(data)}
        tx.execute(_INSERT_AT_ONCE, {**shared, **lists, "added": len(entries)})
        return
    _keep_content().run_each(tx, [{**one, "user_id": owner, "used_at": tx.now} for one in kept])
    ((last,),) = _count().rows(tx, {"user_id": owner, "sequence": len(entries)})
    first = last - len(entries)
    _INSERT_ENTRY.run_each(
        tx, [{**shared, **one, "sequence": first + one["sequence"]} for one in entries]
    )


@cache
def _keep_content() -> CompiledStatement:
    content = insert("sqlite", journal_contents)
    return CompiledStatement(
        content.on_conflict_do_update(
            index_elements=["user_id", "sha256"],
            set_={"used_at": content.excluded.used_at},
            where=content.excluded.used_at > journal_contents.c.used_at,
        )
    )


@cache
def _count() -> CompiledStatement:
    counter = insert("sqlite", journal_counters)
    total = journal_counters.c.sequence + counter.excluded.sequence
    return CompiledStatement(
        counter.on_conflict_do_update(
            index_elements=["user_id"], set_={"sequence": total}
        ).returning(journal_counters.c.sequence)
    )


def _compress(digest: str, content: str) -> dict[str, Any]:
    raw = content.encode()
    data = min(raw, zlib.compress(raw, _ZLIB_LEVEL), key=len)
    return {"sha256": digest, "size": len(raw), "data": data}


def _find_changes(pending: Iterable[PendingRow]) -> list[_RowChange]:
    """Return what the transaction changed, row by row: from the first state to the last."""
    found: dict[tuple[str, str], _RowChange] = {}
    known: Mapping[str, tuple[Table, Journaled]] = metadata.info.get(KEPT, {})
    for name, *states in pending:
        before, after = (state and json.loads(state) for state in states)
        row = after if before is None else before
        if row is None or name not in known:
            continue  # a toolset that this process never called: its rows go with their user
        table, journaled = known[name]
        key = name, json.dumps([row[column.name] for column in table.primary_key])
        first = found[key].before if key in found else before
        found[key] = _RowChange(table, journaled, first, after)
    return [change for change in found.values() if change.before != change.after]


def _take_pending(tx: Tx) -> list[PendingRow]:
    """Return what the triggers noted since the transaction began or this was last called."""
    if tx.kind != "sqlite":
        return [row[1:] for row in sorted(tx.execute(_TAKE_POSTGRESQL).all())]
    if not tx.connection.info.get(_INSTALLED):
        return []
    driver = driver_connection(tx.connection)
    rows: list[PendingRow] = driver.execute(
        "SELECT table_name, before, after FROM temp.journal_pending ORDER BY number"
    ).fetchall()
    if rows:
        driver.execute("DELETE FROM temp.journal_pending")
    return rows


def install_triggers(connection: Connection) -> None:
    """Have a connection of SQLite's capture the tables imported by now; outside transactions."""
    installed = connection.info.get(_INSTALLED, 0)
    if installed == len(metadata.info.get(KEPT, ())):
        return
    driver, tables = driver_connection(connection), [*journaled_tables().values()]
    driver.execute(_CREATE_PENDING)
    for table, journaled in tables[installed:]:
        for statement in _trigger_statements(table, journaled):
            driver.execute(statement)
    connection.info[_INSTALLED] = len(tables)


def _trigger_statements(table: Table, journaled: Journaled) -> Iterator[str]:
    """Yield what makes a table's three triggers on SQLite, for one connection."""
    names = [column.name for column in table.columns]
    old, new = (
        "json_object({})".format(", ".join(f"'{name}', {side}.\"{name}\"" for name in names))
        for side in ("OLD", "NEW")
    )
    kept = ", ".join(f'"{name}"' for name in names if name not in journaled.derived)
    for event, before, after in (
        ("INSERT", "NULL", new),
        (f"UPDATE OF {kept}", old, new),
        ("DELETE", old, "NULL"),
    ):
        name = f"journal_{table.name}_{event[:6].lower()}"
        values = f"VALUES ('{table.name}', {before}, {after})"
        insert = f"INSERT INTO journal_pending (table_name, before, after) {values}"
        trigger = f"{name} AFTER {event} ON main.{table.name}"
        yield f"CREATE TEMP TRIGGER IF NOT EXISTS {trigger} BEGIN {insert}; END"
