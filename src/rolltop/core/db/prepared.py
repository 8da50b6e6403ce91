"""Statements that are put together once, and on SQLite handed straight to its driver.

SQLAlchemy takes 40 µs to run a statement that it has compiled, SQLite's driver 5. So what runs in
most calls is compiled here once by SQLAlchemy, with its types, and run by the driver: the same
text, the same values, the same events and errors. Other databases run it through SQLAlchemy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from sqlalchemy import exc

from rolltop.core.db.engine import sqlite_driver

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Dialect
    from sqlalchemy.sql.selectable import ExecutableReturnsRows

    from rolltop.core.db.transaction import Tx

    Row = tuple[Any, ...]
    Values = Mapping[str, Any]
    Convert = Callable[[Any], Any]

_MISSING: Final = object()


class _Slot(NamedTuple):
    """Where one place of a statement gets its value: by name, maybe from a list, or `fixed`."""

    name: str
    place: int | None
    fixed: object
    convert: Convert | None


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement as the driver takes it."""

    text: str
    slots: tuple[_Slot, ...]
    readers: tuple[tuple[int, Convert], ...]

    def bound(self, values: Values) -> Row:
        """Return the values in the order of the places. Raises KeyError where one is missing."""
        made: list[object] = []
        for name, place, fixed, convert in self.slots:
            if fixed is not _MISSING and name not in values:
                made.append(fixed)
                continue
            given = values[name]
            if place is not None:
                given = given[min(place, len(given) - 1)]
            made.append(given if convert is None else convert(given))
        return tuple(made)

    def read(self, rows: list[Row]) -> list[Row]:
        """Return the rows with values as Python has them."""
        if not self.readers:
            return rows
        made: list[Row] = []
        for row in rows:
            cells = list(row)
            for at, reader in self.readers:
                cells[at] = reader(cells[at])
            made.append(tuple(cells))
        return made


class Prepared:
    """A statement for many runs. A list bound to an expanding parameter may not be empty."""

    def __init__(self, statement: ExecutableReturnsRows) -> None:
        """Hold the statement; it is compiled when it first runs."""
        self.statement: Final = statement
        self._compiled: Final[dict[tuple[tuple[str, int], ...], _Compiled]] = {}
        self._without_lists: Final[dict[tuple[str, ...], _Compiled]] = {}

    def rows(self, tx: Tx, values: Values) -> Sequence[Row]:
        """Return all rows that the statement answers, as tuples."""
        if tx.kind != "sqlite":
            return tx.execute(self.statement, values).all()
        compiled = self._for(tx, values)
        cursor = _sent(tx.connection, compiled.text, compiled.bound(values))
        return compiled.read(cursor.fetchall())

    def first(self, tx: Tx, values: Values) -> Row | None:
        """Return the first row, None where there is none."""
        rows = self.rows(tx, values)
        return rows[0] if rows else None

    def rows_of_each(self, tx: Tx, several: Sequence[Values]) -> Sequence[Row]:
        """Return the rows of one run for each of the values, which have the same names."""
        if tx.kind != "sqlite":
            return tx.execute(self.statement, several).all() if several else []
        return [row for values in several for row in self.rows(tx, values)]

    def run(self, tx: Tx, values: Values) -> int:
        """Run the statement; return how many rows it changed."""
        if tx.kind != "sqlite":
            return tx.execute(self.statement, values).rowcount
        compiled = self._for(tx, values)
        return _sent(tx.connection, compiled.text, compiled.bound(values)).rowcount

    def run_each(self, tx: Tx, several: Sequence[Values]) -> None:
        """Run the statement once for each of the values, which have the same names."""
        if tx.kind != "sqlite":
            if several:
                tx.execute(self.statement, several)
            return
        if several:
            compiled = self._for(tx, several[0])
            rows = [compiled.bound(values) for values in several]
            _sent(tx.connection, compiled.text, rows, several=True)

    def _for(self, tx: Tx, values: Values) -> _Compiled:
        """Return the statement compiled for these names, and for lists about as long as these."""
        names = tuple(values)
        known = self._without_lists.get(names)
        if known is not None:
            return known
        key = tuple([(name, _room(value)) for name, value in values.items()])
        known = self._compiled.get(key)
        if known is None:
            known = self._compiled[key] = _compiled(self.statement, tx.connection.dialect, values)
            if all(slot.place is None for slot in known.slots):
                self._without_lists[names] = known
        return known


def _room(value: object) -> int:
    """Return the places for a list: a power of two, so that there are few statements; else 0."""
    if not isinstance(value, list):
        return 0
    return 1 << (len(cast("list[object]", value)) - 1).bit_length()


def _compiled(statement: ExecutableReturnsRows, dialect: Dialect, values: Values) -> _Compiled:
    made = statement.compile(dialect=dialect, column_keys=list(values))
    if made.insert_prefetch or made.update_prefetch:
        raise TypeError("a prepared statement makes no values of its own")
    known = {bind.key: bind for bind in made.binds.values()}
    sample = {
        name: [None] * _room(values[name]) if bind.expanding else values.get(name, bind.value)
        for name, bind in known.items()
    }
    expanded = made.construct_expanded_state(sample)
    places = {part: (part, None) for part in expanded.positiontup or ()}
    for name, parts in expanded.parameter_expansion.items():
        places |= {part: (name, at) for at, part in enumerate(parts)}
    slots: list[_Slot] = []
    for part in expanded.positiontup or ():
        name, index = places[part]
        bind = made.binds[name]
        convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
        fixed = _MISSING if bind.required or bind.expanding else bind.effective_value
        if fixed is not _MISSING and convert is not None:
            fixed = convert(fixed)
        slots.append(_Slot(bind.key, index, fixed, convert))
    return _Compiled(expanded.statement, tuple(slots), _readers(statement, dialect))


def _readers(statement: ExecutableReturnsRows, dialect: Dialect) -> tuple[tuple[int, Convert], ...]:
    """Return what makes Python's values of those columns that need it."""
    found = (
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in statement.exported_columns
    )
    return tuple((at, reader) for at, reader in enumerate(found) if reader is not None)


def _sent(
    connection: Connection, text: str, values: Row | list[Row], *, several: bool = False
) -> sqlite3.Cursor:
    """Return the cursor after the statement ran, with `several` once for each of the rows."""
    cursor = sqlite_driver(connection).cursor()
    for listener in cast("Any", connection).dispatch.before_cursor_execute:
        listener(connection, cursor, text, values, None, several)
    try:
        return cursor.executemany(text, values) if several else cursor.execute(text, values)
    except connection.dialect.loaded_dbapi.Error as error:
        of_driver = connection.dialect.loaded_dbapi.Error
        raise exc.DBAPIError.instance(text, None, error, of_driver, hide_parameters=True) from error
