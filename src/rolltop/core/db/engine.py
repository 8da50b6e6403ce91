"""SQLAlchemy engines set up alike (durable commits, bounded waits), and compiled statements.

SQLAlchemy takes 40 µs to run a statement that it has compiled, SQLite's driver 5. What most calls
run is therefore compiled once by SQLAlchemy, with its types, and run by the driver itself: the same
text, values, events and errors. PostgreSQL runs it through SQLAlchemy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast
from uuid import UUID

from sqlalchemy import Connection, Dialect, Engine, NullPool, QueuePool, create_engine, event, exc

from rolltop.core.db.database import Tx
from rolltop.core.db.sqlite import description, journal_mode, library
from rolltop.core.db.url import DatabaseUrl
from rolltop.core.errors import Unavailable

if TYPE_CHECKING:
    import sqlite3

    import psycopg
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
    from sqlalchemy.sql.selectable import ExecutableReturnsRows

    from rolltop.core.db.driver import Driver

    Row = tuple[Any, ...]
    Values = Mapping[str, Any]
    Convert = Callable[[Any], Any]

T = TypeVar("T")

SETTING: Final = "rolltop.tenant"
"""Where a transaction on PostgreSQL says whose it is."""
EVERY_TENANT: Final = "*"
"""What it says there if it sees all rows."""
MAX_VALUES: Final = 400
"""Values bound in one statement."""
_STEPS_BETWEEN_CHECKS: Final = 20_000  # of SQLite's virtual machine: well under a millisecond
_DEADLINE_KEY: Final = "rolltop.deadline"
_LIMITS_KEY: Final = "rolltop.limits"
_ALONE_KEY: Final = "rolltop.alone"
_UNBOUND: Final = object()


def batches(values: Sequence[T], size: int = MAX_VALUES) -> Iterator[Sequence[T]]:
    """Yield the values in their order, at most `size` at a time."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


@dataclass(frozen=True)
class EngineLimits:
    """Bounds in seconds, and the greatest number of connections."""

    statement_timeout: float
    lock_timeout: float
    connections: int


@dataclass(frozen=True)
class Engines:
    """One engine for read transactions and one for write transactions."""

    read: Engine
    write: Engine

    def dispose(self) -> None:
        """Close idle connections now and others when they are given back.

        SQLite's last one writes the log back into the store.
        """
        for engine in (self.read, self.write):
            event.listen(engine.pool, "checkin", _close_connection)
            engine.dispose()


class _StatementDeadline:
    """The moment at which SQLite gives the running statement up."""

    def __init__(self, limit: float) -> None:
        self._limit: Final = limit
        self._end = float("inf")

    def restart(self) -> None:
        self._end = time.monotonic() + self._limit

    def has_passed(self) -> bool:
        return time.monotonic() > self._end


def create_engines(
    address: DatabaseUrl,
    limits: EngineLimits,
    driver: Driver,
    prepare_write: Callable[[Connection], None],
) -> Engines:
    """Return engines for a store that has been opened; connections are made when needed.

    `prepare_write` is called with a connection of SQLite's before each of its write transactions.
    """
    if address.path is not None:
        return Engines(
            _sqlite_engine(address.path, limits, driver),
            _sqlite_engine(address.path, limits, driver, prepare_write),
        )
    engine = _postgresql_engine(address, limits)
    return Engines(
        engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
        engine,
    )


def create_migration_engine(address: DatabaseUrl, limits: EngineLimits, driver: Driver) -> Engine:
    """Return an engine for opening a store: one connection a use, foreign keys not enforced."""
    if address.path is None:
        return _postgresql_engine(address, limits, single=True)
    engine = create_engine(
        "sqlite://",
        module=library,
        creator=partial(driver.connect, address.path, timeout=limits.lock_timeout),
        poolclass=NullPool,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _set_pragmas("synchronous=FULL", "fullfsync=ON"))
    event.listen(engine, "begin", _begin_immediate)
    return engine


def driver_connection(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, which runs what has no parameters eight times as fast.

    Raises TypeError on another kind of database.
    """
    if connection.dialect.name != "sqlite":
        raise TypeError("this engine is of another driver")
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def begin_as(connection: Connection, tenant: str | None) -> None:
    """Begin the connection's transaction as a tenant's or, for None, the system's.

    It takes no way there and back of its own: the driver sends BEGIN alone otherwise. Raises
    ValueError for what is no tenant's id.
    """
    named = EVERY_TENANT if tenant is None else UUID(tenant)
    local = f"SET LOCAL {SETTING} = '{named}'; {connection.info[_LIMITS_KEY]}"
    driver = cast("psycopg.Connection", connection.connection.driver_connection)
    begin = "BEGIN READ ONLY" if driver.read_only else "BEGIN"
    if driver.isolation_level is not None:
        begin += f" ISOLATION LEVEL {driver.isolation_level.name.replace('_', ' ')}"
    with suppress(connection.dialect.loaded_dbapi.OperationalError):
        if not driver.pgconn.exec_(f"{begin}; {local}".encode()).error_message:
            return
    connection.exec_driver_sql(local)  # fails as any statement does, where the connection is lost


def require_second_copy(connection: Connection) -> None:
    """Raise Unavailable where PostgreSQL calls committed what it could not replicate.

    It waits for a synchronous standby without end. Whoever cancels that gets a warning alone.
    """
    if connection.info.pop(_ALONE_KEY, False):
        raise Unavailable("PostgreSQL's wait for a second copy of what was written was canceled.")


def _sqlite_engine(
    path: Path,
    limits: EngineLimits,
    driver: Driver,
    prepare_write: Callable[[Connection], None] | None = None,
) -> Engine:
    writing = prepare_write is not None
    engine = create_engine(
        "sqlite://",
        module=library,
        creator=partial(driver.connect, path, timeout=limits.lock_timeout),
        poolclass=QueuePool,
        pool_size=1 if writing else limits.connections,
        max_overflow=0,
        pool_timeout=limits.lock_timeout,
        hide_parameters=True,  # user text stays out of exceptions and logs
    )
    pragmas = ["foreign_keys=ON", "synchronous=FULL", "fullfsync=ON", "trusted_schema=OFF"]
    pragmas.append("temp_store=MEMORY" if writing else "query_only=ON")

    def limit_statements(connection: DBAPIConnection, record: ConnectionPoolEntry, /) -> None:
        deadline = _StatementDeadline(limits.statement_timeout)
        record.info[_DEADLINE_KEY] = deadline
        connection.set_progress_handler(deadline.has_passed, _STEPS_BETWEEN_CHECKS)

    event.listen(engine, "connect", _set_pragmas(*pragmas))
    event.listen(engine, "connect", limit_statements)
    if prepare_write is not None:
        event.listen(engine, "begin", prepare_write)
    event.listen(engine, "begin", _begin_immediate if writing else _begin)
    if writing and journal_mode() != "wal":
        event.listen(engine, "begin", _refuse_wal)
    event.listen(engine, "before_cursor_execute", _restart_deadline)
    return engine


def _postgresql_engine(
    address: DatabaseUrl, limits: EngineLimits, *, single: bool = False
) -> Engine:
    pool: dict[str, Any] = {"poolclass": NullPool}
    if not single:
        pool = {
            "pool_size": limits.connections,
            "max_overflow": 0,
            "pool_timeout": limits.lock_timeout,
        }
    connect_args: dict[str, Any] = {
        "connect_timeout": max(2, round(limits.lock_timeout)),
        "application_name": "rolltop",
        # One that is cut without a word, by a firewall say, is found while it is idle.
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        # And as long after a statement was sent: the system goes on sending for 15 minutes.
        "tcp_user_timeout": 60_000,
    }
    if address.is_pooled:
        connect_args["prepare_threshold"] = None
    engine = create_engine(
        address.url,
        connect_args=connect_args,
        isolation_level="READ COMMITTED",
        hide_parameters=True,
        **pool,
    )
    milliseconds = {
        "statement_timeout": round(limits.statement_timeout * 1000),
        "lock_timeout": round(limits.lock_timeout * 1000),
    }
    # Of each transaction: what is set for a session would be somebody else's behind a pooler.
    local = "; ".join(f"SET LOCAL {name} = {value}" for name, value in milliseconds.items())

    def set_up(connection: DBAPIConnection, record: ConnectionPoolEntry, /) -> None:
        record.info[_LIMITS_KEY] = local
        driver = cast("psycopg.Connection", connection)
        driver.add_notice_handler(partial(_note_lone_commit, record.info))
        cursor = connection.cursor()
        cursor.execute("SET TimeZone = 'UTC'")  # which poolers know, and keep for a client
        cursor.close()
        connection.commit()

    event.listen(engine, "connect", set_up)
    event.listen(engine, "checkout", partial(_require_alive, engine.dialect.loaded_dbapi))
    return engine


def _require_alive(
    driver: Any,  # noqa: ANN401  # the driver's module
    connection: DBAPIConnection,
    _record: ConnectionPoolEntry,
    _proxy: PoolProxiedConnection,
    /,
) -> None:
    """Have a connection that the server has closed replaced, before a transaction begins.

    The socket is asked, and not the server, whose answer would cost as much as a small statement.
    """
    link = cast("psycopg.Connection", connection).pgconn
    try:
        link.consume_input()  # what the server said, if it closed it on purpose
        link.consume_input()
    except driver.OperationalError as error:
        raise exc.DisconnectionError from error


def _note_lone_commit(info: dict[Any, Any], notice: psycopg.errors.Diagnostic) -> None:
    """Remember that a commit's wait for its standby was canceled; its text is in any language."""
    if notice.source_function == "SyncRepWaitForLSN":
        info[_ALONE_KEY] = True


def _set_pragmas(*pragmas: str) -> Callable[[DBAPIConnection, ConnectionPoolEntry], None]:
    def set_pragmas(connection: DBAPIConnection, _record: ConnectionPoolEntry, /) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return set_pragmas


def _close_connection(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
    record.invalidate()


def _begin(connection: Connection) -> None:
    driver_connection(connection).execute("BEGIN")


def _begin_immediate(connection: Connection) -> None:
    driver_connection(connection).execute("BEGIN IMMEDIATE")


def _refuse_wal(connection: Connection) -> None:
    """Refuse to write once another process has switched the store to WAL mode."""
    ((mode,),) = driver_connection(connection).execute("PRAGMA journal_mode").fetchall()
    if mode == "wal":
        raise Unavailable(
            "Another process has switched the store to WAL mode, in which this process's "
            f"{description()} can lose commits.",
            hint="Nothing of this call was kept. Install sqlcipher3 for this Python, or stop the "
            "other server and restart this one.",
        )


def _restart_deadline(connection: Connection, *_statement: object) -> None:
    connection.info[_DEADLINE_KEY].restart()


class _ParameterSlot(NamedTuple):
    """Where one place of a statement gets its value: by name, maybe from a list, or `fixed`."""

    name: str
    position: int | None
    fixed: object
    convert: Convert | None


@dataclass(frozen=True, slots=True)
class _DriverStatement:
    """A statement as the driver takes it."""

    text: str
    slots: tuple[_ParameterSlot, ...]
    readers: tuple[tuple[int, Convert], ...]

    def bind(self, values: Values) -> Row:
        """Return the values in the order of the places. Raises KeyError where one is missing."""
        made: list[object] = []
        for name, place, fixed, convert in self.slots:
            if fixed is not _UNBOUND and name not in values:
                made.append(fixed)
                continue
            given = values[name]
            if place is not None:
                given = given[min(place, len(given) - 1)]
            made.append(given if convert is None else convert(given))
        return tuple(made)

    def convert_rows(self, rows: list[Row]) -> list[Row]:
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


class CompiledStatement:
    """A statement for many runs. A list bound to an expanding parameter may not be empty."""

    def __init__(self, statement: ExecutableReturnsRows) -> None:
        """Hold the statement; it is compiled when it first runs."""
        self.statement: Final = statement
        self._variants: Final[dict[tuple[tuple[str, int], ...], _DriverStatement]] = {}
        self._without_lists: Final[dict[tuple[str, ...], _DriverStatement]] = {}

    def rows(self, tx: Tx, values: Values) -> Sequence[Row]:
        """Return all rows that the statement answers, as tuples."""
        if tx.kind != "sqlite":
            return tx.execute(self.statement, values).all()
        compiled = self._variant_for(tx, values)
        cursor = _execute(tx.connection, compiled.text, compiled.bind(values))
        return compiled.convert_rows(cursor.fetchall())

    def first(self, tx: Tx, values: Values) -> Row | None:
        """Return the first row, or None."""
        rows = self.rows(tx, values)
        return rows[0] if rows else None

    def rows_for_each(self, tx: Tx, several: Sequence[Values]) -> Sequence[Row]:
        """Return the rows of one run for each of the values, which have the same names."""
        if tx.kind != "sqlite":
            return tx.execute(self.statement, several).all() if several else []
        return [row for values in several for row in self.rows(tx, values)]

    def run(self, tx: Tx, values: Values) -> int:
        """Run the statement; return how many rows it changed."""
        if tx.kind != "sqlite":
            return tx.execute(self.statement, values).rowcount
        compiled = self._variant_for(tx, values)
        return _execute(tx.connection, compiled.text, compiled.bind(values)).rowcount

    def run_each(self, tx: Tx, several: Sequence[Values]) -> None:
        """Run the statement once for each of the values, which have the same names."""
        if tx.kind != "sqlite":
            if several:
                tx.execute(self.statement, several)
            return
        if several:
            compiled = self._variant_for(tx, several[0])
            rows = [compiled.bind(values) for values in several]
            _execute(tx.connection, compiled.text, rows, several=True)

    def _variant_for(self, tx: Tx, values: Values) -> _DriverStatement:
        """Return the statement compiled for these names, and for lists about as long as these."""
        names = tuple(values)
        known = self._without_lists.get(names)
        if known is not None:
            return known
        key = tuple([(name, _list_capacity(value)) for name, value in values.items()])
        known = self._variants.get(key)
        if known is None:
            known = self._variants[key] = _compile_statement(
                self.statement, tx.connection.dialect, values
            )
            if all(slot.position is None for slot in known.slots):
                self._without_lists[names] = known
        return known


def _list_capacity(value: object) -> int:
    """Return the places for a list: a power of two, so that there are few statements; else 0."""
    if not isinstance(value, list):
        return 0
    return 1 << (len(cast("list[object]", value)) - 1).bit_length()


def _compile_statement(
    statement: ExecutableReturnsRows, dialect: Dialect, values: Values
) -> _DriverStatement:
    made = statement.compile(dialect=dialect, column_keys=list(values))
    if made.insert_prefetch or made.update_prefetch:
        raise TypeError("a prepared statement makes no values of its own")
    known = {bind.key: bind for bind in made.binds.values()}
    sample = {
        name: [None] * _list_capacity(values[name])
        if bind.expanding
        else values.get(name, bind.value)
        for name, bind in known.items()
    }
    expanded = made.construct_expanded_state(sample)
    places = {part: (part, None) for part in expanded.positiontup or ()}
    for name, parts in expanded.parameter_expansion.items():
        places |= {part: (name, at) for at, part in enumerate(parts)}
    slots: list[_ParameterSlot] = []
    for part in expanded.positiontup or ():
        name, index = places[part]
        bind = made.binds[name]
        convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
        fixed = _UNBOUND if bind.required or bind.expanding else bind.effective_value
        if fixed is not _UNBOUND and convert is not None:
            fixed = convert(fixed)
        slots.append(_ParameterSlot(bind.key, index, fixed, convert))
    return _DriverStatement(
        expanded.statement, tuple(slots), _result_converters(statement, dialect)
    )


def _result_converters(
    statement: ExecutableReturnsRows, dialect: Dialect
) -> tuple[tuple[int, Convert], ...]:
    """Return the converters of the columns that need one."""
    found = (
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in statement.exported_columns
    )
    return tuple((at, reader) for at, reader in enumerate(found) if reader is not None)


def _execute(
    connection: Connection, text: str, values: Row | list[Row], *, several: bool = False
) -> sqlite3.Cursor:
    """Return the cursor after the statement ran, with `several` once for each of the rows."""
    cursor = driver_connection(connection).cursor()
    for listener in cast("Any", connection).dispatch.before_cursor_execute:
        listener(connection, cursor, text, values, None, several)
    try:
        return cursor.executemany(text, values) if several else cursor.execute(text, values)
    except connection.dialect.loaded_dbapi.Error as error:
        of_driver = connection.dialect.loaded_dbapi.Error
        raise exc.DBAPIError.instance(text, None, error, of_driver, hide_parameters=True) from error
