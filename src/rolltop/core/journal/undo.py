"""Taking back what an operation did to rows: the state before, or nothing and the reason.

What others wrote since stays: a column that they changed as well is merged by line if it is text,
and is a conflict if it is not. Versions and times of change move forward, as with any write.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Double, ForeignKeyConstraint, UniqueConstraint, exc, text, update
from sqlalchemy.schema import sort_tables

from rolltop.core.journal.history import digest_of
from rolltop.core.journal.tables import journaled_tables
from rolltop.core.journal.writer import thing_of
from rolltop.core.text.merge import merge_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import CursorResult, Table

    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.journal.history import Entry
    from rolltop.core.journal.tables import Journaled
    from rolltop.core.journal.writer import Row

Thing = tuple[str, str]
"""A kind and an id."""
Columns = AbstractSet[tuple[str, str, str]]
"""Columns of rows by table, key as JSON, and name."""

CHANGED: Final = "it was changed since"
GONE: Final = "it is gone"
REFERRED: Final = "others refer to it since"
BLOCKED: Final = "what it refers to is gone, or another has its name"
"""The database itself refuses: it may answer nothing more in the transaction."""
_FORGOTTEN: Final = "its text of then is no longer kept"


class UndoConflict(Exception):
    """What was done to a thing cannot be taken back without losing what was done since."""

    def __init__(
        self,
        thing: Thing,
        reason: str,
        *,
        by_others: bool = False,
        reference: tuple[Thing, Columns] | None = None,
    ) -> None:
        """Take the thing and the reason, a clause; `by_others` if it lies in other things.

        `reference` is a thing that refers to it, with the columns that do.
        """
        super().__init__(reason)
        self.thing = thing
        self.reason = reason
        self.by_others = by_others
        self.reference = reference


def take_back(tx: Tx, entries: Sequence[Entry], texts: Mapping[str, str]) -> None:
    """Give the rows that one operation changed the state they had before it.

    `texts` are those that the entries name, by hash. Raises UndoConflict; nothing may be kept then.
    """
    known = journaled_tables()
    steps = [
        _Step(tx, entry.thing, *known[change["table"]], change, texts)
        for entry in entries
        for change in entry.changes
    ]
    steps.reverse()
    order = {
        table: place for place, table in enumerate(sort_tables({step.table for step in steps}))
    }
    steps.sort(key=lambda step: order[step.table])
    gone = _parents_first([step for step in steps if step.after is None])
    new = _parents_first([step for step in steps if step.before is None])
    made = {step.name for step in new}
    for step, act in (
        *((step, step.set_names_aside) for step in steps if step.after),
        *((step, step.put_back) for step in gone),
        *((step, step.restore_columns) for step in steps if step.before and step.after),
        *((step, partial(step.remove, made)) for step in reversed(new)),
    ):
        try:
            act()
        except exc.IntegrityError as refused:
            raise UndoConflict(step.thing, BLOCKED) from refused
    for thing in dict.fromkeys(step.thing for step in steps):
        touch(tx, thing)


def _parents_first(steps: Sequence[_Step]) -> list[_Step]:
    """Return steps about rows of which each follows the one of its table that it refers to."""
    waiting, ordered = defaultdict[tuple[str, str], list[_Step]](list), list[_Step]()
    for step in steps:
        waiting[step.name].append(step)
    for step in steps:
        chain: list[_Step] = []
        name = step.name
        while waiting[name]:
            chain.append(waiting[name].pop(0))
            name = chain[-1].parent
        ordered += reversed(chain)
    return ordered


def take_back_rows(
    _app: AppContext, tx: Tx, entries: Sequence[Entry], texts: Mapping[str, str]
) -> None:
    """Take back what was done to things that are rows and nothing beside. Raises UndoConflict."""
    take_back(tx, entries, texts)


def touch(tx: Tx, thing: Thing) -> None:
    """Move the version of a thing and its time of change forward, if it is there."""
    kind, ref = thing
    for table, journaled in journaled_tables().values():
        if journaled.kind == kind and journaled.version:
            c = table.c
            values = _moved_values(tx, table, journaled)
            values[journaled.version] = c[journaled.version] + 1
            one = (c.user_id == tx.scope.user_id, c[journaled.key] == ref)
            tx.execute(update(table).where(*one).values(values))


def _moved_values(tx: Tx, table: Table, journaled: Journaled) -> dict[str, Any]:
    """Return the present moment for each column with a time of change."""
    return {
        name: tx.now.timestamp() if isinstance(table.c[name].type, Double) else tx.now
        for name in journaled.moving
        if name != journaled.version
    }


class _Step:
    """What is to be done to one row."""

    def __init__(
        self,
        tx: Tx,
        thing: Thing,
        table: Table,
        journaled: Journaled,
        change: Mapping[str, Any],
        texts: Mapping[str, str],
    ) -> None:
        self._tx = tx
        self._rows = _StoredRows(tx, table)
        self._texts = texts
        self.thing = thing
        self.table = table
        self.journaled = journaled
        self.key: Row = change["key"]
        self.before: Row | None = change["before"]
        self.after: Row | None = change["after"]
        self._set_aside: Row = {}

    @property
    def name(self) -> tuple[str, str]:
        """What tells the row from all others."""
        return self.table.name, key_text(self.key)

    @property
    def parent(self) -> tuple[str, str]:
        """The `name` of the row of its own table that this one refers to, if the table has such."""
        row = self.before or self.after or {}
        for constraint in self.table.foreign_key_constraints:
            if constraint.referred_table is self.table:
                named = {one.column.name: row[one.parent.name] for one in constraint.elements}
                return self.table.name, key_text(named)
        return self.table.name, ""

    def set_names_aside(self) -> None:
        """Let other rows have the names that this one is about to lose."""
        assert self.after is not None  # noqa: S101  # the caller's choice
        names = _unique_columns(self.table).intersection(self.after)
        current = self._rows.get(self.key) if names else None
        if current is not None:
            lost = (name for name in names if _is_same(current[name], self.after[name]))
            self._set_aside = {name: current[name] for name in lost}
        if self._set_aside:
            self._rows.update(self.key, dict.fromkeys(self._set_aside, uuid.uuid4().hex))

    def _get_current(self) -> Row | None:
        """Return the row as it was before its names were set aside."""
        current = self._rows.get(self.key)
        return current and current | self._set_aside

    def put_back(self) -> None:
        """Insert a row that the operation deleted."""
        assert self.before is not None  # noqa: S101  # the caller's choice
        if self._rows.get(self.key) is not None:
            raise UndoConflict(self.thing, "there is another in its place")
        row = {name: self._text_of(value) for name, value in self.before.items()}
        self._rows.insert(row)

    def restore_columns(self) -> None:
        """Give the columns that the operation changed their values before it.

        But those of order: whoever has the row knows what else stands in it by now.
        """
        assert self.before is not None  # noqa: S101  # the caller's choice
        assert self.after is not None  # noqa: S101  # the caller's choice
        current = self._get_current()
        if current is None:
            if self.before.keys() <= self.journaled.order:
                return
            raise UndoConflict(self.thing, GONE)
        values: Row = {}
        for name, before in self.before.items():
            if name in self.journaled.moving | self.journaled.order:
                continue
            if _is_same(current[name], self.after[name]):
                values[name] = self._text_of(before)
            elif not _is_same(current[name], before) and name not in self.journaled.computed:
                values[name] = self._merge(self.after[name], current[name], before)
        if values:
            self._rows.update(self.key, values)

    def remove(self, made: set[tuple[str, str]]) -> None:
        """Delete a row that the operation inserted; `made` are all those."""
        assert self.after is not None  # noqa: S101  # the caller's choice
        journaled, current = self.journaled, self._get_current()
        if current is None:
            raise UndoConflict(self.thing, GONE)
        free = journaled.moving | journaled.derived | journaled.order | journaled.computed
        for name, after in self.after.items():
            if name not in free and not _is_same(current[name], after):
                raise UndoConflict(self.thing, CHANGED)
        for constraint, keys in self._rows.referring(current):
            for key in keys:
                if (constraint.table.name, key_text(key)) not in made:
                    reference = self._rows.describe_reference(constraint, key)
                    raise UndoConflict(self.thing, REFERRED, reference=reference)
        self._rows.delete(self.key)

    def _merge(self, after: Any, current: Any, before: Any) -> str:  # noqa: ANN401  # columns' values
        base, theirs = self._text_of(after), self._text_of(before)
        if not all(isinstance(value, str) for value in (base, current, theirs)):
            raise UndoConflict(self.thing, CHANGED)
        merged = merge_texts(base, current, theirs) if "\n" in base + current + theirs else None
        if merged is None:
            raise UndoConflict(self.thing, CHANGED)
        return merged

    def _text_of(self, value: Any) -> Any:  # noqa: ANN401  # a column's value
        return text_of(self.thing, value, self._texts)


def text_of(thing: Thing, value: Any, texts: Mapping[str, str]) -> Any:  # noqa: ANN401  # as above
    """Return a column's value as it was stored. Raises UndoConflict where its text is not kept."""
    digest = digest_of(value)
    if digest is None:
        return value
    if digest not in texts:
        raise UndoConflict(thing, _FORGOTTEN)
    return texts[digest]


def _is_same(current: Any, kept: Any) -> bool:  # noqa: ANN401  # columns' values
    digest = digest_of(kept)
    if digest is None:
        return bool(current == kept)
    return isinstance(current, str) and hashlib.sha256(current.encode()).hexdigest() == digest


def _unique_columns(table: Table) -> set[str]:
    """Return the columns by which no two rows of the same parent may be alike, such as a name."""
    constraints = (one for one in table.constraints if isinstance(one, UniqueConstraint))
    columns = {column for one in constraints for column in one.columns}
    return {one.name for one in columns if not one.primary_key and not one.foreign_keys}


def key_text(key: Mapping[str, Any]) -> str:
    """Return the key of a row as JSON."""
    return json.dumps(key, sort_keys=True)


class _StoredRows:
    """The caller's rows of a table, with their values as the database stores them."""

    def __init__(self, tx: Tx, table: Table) -> None:
        self._tx = tx
        self._table = table
        self._is_sqlite = tx.kind == "sqlite"
        owner = tx.scope.user_id
        self._owner = owner.replace("-", "") if self._is_sqlite else owner

    def get(self, key: Row) -> Row | None:
        """Return a row, held to the transaction's end."""
        names = [column.name for column in self._table.columns]
        pairs = ", ".join(f"'{name}', \"{name}\"" for name in names)
        whole = f"json_object({pairs})" if self._is_sqlite else "to_jsonb(t)"
        lock = "" if self._is_sqlite else " FOR UPDATE"
        found = self._run(f"SELECT {whole} FROM {{table}} t WHERE {{key}}{lock}", key).first()  # noqa: S608  # our names
        if found is None:
            return None
        return json.loads(found[0]) if self._is_sqlite else found[0]

    def insert(self, row: Row) -> None:
        """Insert a row."""
        columns = ", ".join(f'"{name}"' for name in row)
        self._run(f"INSERT INTO {{table}} ({columns}) SELECT {{values}}", {}, row)

    def update(self, key: Row, values: Row) -> None:
        """Set some columns of a row."""
        columns = ", ".join(f'"{name}"' for name in values)
        setting = f"UPDATE {{table}} SET ({columns}) = (SELECT {{values}}) WHERE {{key}}"  # noqa: S608  # our names
        self._run(setting, key, values)

    def delete(self, key: Row) -> None:
        """Delete a row."""
        self._run("DELETE FROM {table} WHERE {key}", key)

    def referring(self, row: Row) -> Iterator[tuple[ForeignKeyConstraint, list[Row]]]:
        """Yield the constraints by which journaled rows refer to a row, with the keys of these."""
        for child, _journaled in journaled_tables().values():
            for constraint in child.foreign_key_constraints:
                if constraint.referred_table is not self._table:
                    continue
                named = {
                    element.parent.name: row[element.column.name] for element in constraint.elements
                }
                yield constraint, _StoredRows(self._tx, child).keys_where(named)

    def describe_reference(
        self, constraint: ForeignKeyConstraint, key: Row
    ) -> tuple[Thing, Columns] | None:
        """Return the thing whose row of this key refers by a constraint, with the columns."""
        child, journaled = journaled_tables()[constraint.table.name]
        row = _StoredRows(self._tx, child).get(key)
        if row is None or journaled.through is not None:
            return None
        names = {(child.name, key_text(key), one.parent.name) for one in constraint.elements}
        return thing_of(child, journaled, row), names

    def keys_where(self, named: Row) -> list[Row]:
        """Return the keys of the rows with these columns."""
        names = [column.name for column in self._table.primary_key]
        shown = ", ".join(
            f'"{name}"' if self._is_sqlite else f'to_jsonb("{name}")' for name in names
        )
        rows = self._run(f"SELECT {shown} FROM {{table}} WHERE {{key}}", named)  # noqa: S608  # our names
        return [dict(zip(names, found, strict=True)) for found in rows]

    def _run(self, statement: str, key: Row, values: Row | None = None) -> CursorResult[Any]:
        """Run a statement on the caller's rows with the columns `key`."""
        owned = {**key, "user_id": self._owner}
        given: dict[str, Any] = {}
        places = {
            side: {name: self._place(side, name, columns, given) for name in columns}
            for side, columns in (("k", owned), ("v", values or {}))
        }
        filled = statement.format(
            table=f'"{self._table.name}"',
            key=" AND ".join(f'"{name}" = {place}' for name, place in places["k"].items()),
            values=", ".join(places["v"].values()),
        )
        return self._tx.execute(text(filled), given)

    def _place(self, side: str, name: str, columns: Row, given: dict[str, Any]) -> str:
        """Return where a column's value stands in a statement, and bind it."""
        if self._is_sqlite:
            given[f"{side}_{name}"] = columns[name]
            return f":{side}_{name}"
        given[side] = json.dumps(columns)
        record = (
            f'jsonb_populate_record(CAST(NULL AS "{self._table.name}"), CAST(:{side} AS jsonb))'
        )
        return f'({record})."{name}"'
