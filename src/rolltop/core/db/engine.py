"""SQLAlchemy engines set up alike: durable commits, bounded statements, bounded waits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import Connection, Engine, NullPool, QueuePool, create_engine, event

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

    from rolltop.core.db.address import Address
    from rolltop.core.db.driver import Driver

_STEPS_BETWEEN_CHECKS: Final = 20_000  # of SQLite's virtual machine: well under a millisecond
_DEADLINE: Final = "rolltop.deadline"


@dataclass(frozen=True)
class Limits:
    """Bounds in seconds, and the greatest number of connections."""

    statement_timeout: float
    lock_timeout: float
    connections: int


@dataclass(frozen=True)
class Engines:
    """One engine for read transactions and one for write transactions."""

    reading: Engine
    writing: Engine

    def dispose(self) -> None:
        """Close every idle connection; SQLite's last one writes the log back into the store."""
        self.reading.dispose()
        self.writing.dispose()


class _Deadline:
    """The moment at which SQLite gives the running statement up."""

    def __init__(self, limit: float) -> None:
        self._limit: Final = limit
        self._end = float("inf")

    def restart(self) -> None:
        self._end = time.monotonic() + self._limit

    def passed(self) -> bool:
        return time.monotonic() > self._end


def connect(address: Address, limits: Limits, driver: Driver) -> Engines:
    """Return engines for a store that has been opened; connections are made when needed."""
    if address.path is not None:
        return Engines(
            _sqlite(address.path, limits, driver, writing=False),
            _sqlite(address.path, limits, driver, writing=True),
        )
    engine = _postgresql(address, limits)
    return Engines(
        engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
        engine,
    )


def migrating(address: Address, limits: Limits, driver: Driver) -> Engine:
    """Return an engine for opening a store: one connection a use, foreign keys not enforced."""
    if address.path is None:
        return _postgresql(address, limits, single=True)
    engine = create_engine(
        "sqlite://",
        module=driver.module,
        creator=partial(driver.connect, address.path, timeout=limits.lock_timeout),
        poolclass=NullPool,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _set_pragmas("synchronous=FULL", "fullfsync=ON"))
    event.listen(engine, "begin", _begin_immediate)
    return engine


def sqlite_driver(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, which runs what has no parameters eight times as fast.

    Raises TypeError on another kind of database.
    """
    if connection.dialect.name != "sqlite":
        raise TypeError("this engine is of another driver")
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def _sqlite(path: Path, limits: Limits, driver: Driver, *, writing: bool) -> Engine:
    engine = create_engine(
        "sqlite://",
        module=driver.module,
        creator=partial(driver.connect, path, timeout=limits.lock_timeout),
        poolclass=QueuePool,
        pool_size=1 if writing else limits.connections,
        max_overflow=0,
        pool_timeout=limits.lock_timeout,
        hide_parameters=True,  # user text stays out of exceptions and logs
    )
    pragmas = ["foreign_keys=ON", "synchronous=FULL", "fullfsync=ON", "trusted_schema=OFF"]
    if not writing:
        pragmas.append("query_only=ON")

    def limit_statements(connection: DBAPIConnection, record: ConnectionPoolEntry, /) -> None:
        deadline = _Deadline(limits.statement_timeout)
        record.info[_DEADLINE] = deadline
        connection.set_progress_handler(deadline.passed, _STEPS_BETWEEN_CHECKS)

    event.listen(engine, "connect", _set_pragmas(*pragmas))
    event.listen(engine, "connect", limit_statements)
    event.listen(engine, "begin", _begin_immediate if writing else _begin)
    event.listen(engine, "before_cursor_execute", _restart_deadline)
    return engine


def _postgresql(address: Address, limits: Limits, *, single: bool = False) -> Engine:
    pool: dict[str, Any] = {"poolclass": NullPool}
    if not single:
        pool = {
            "pool_size": limits.connections,
            "max_overflow": 0,
            "pool_timeout": limits.lock_timeout,
            # A connection that died with the server is replaced before a transaction begins.
            "pool_pre_ping": True,
        }
    engine = create_engine(
        address.url,
        connect_args={
            "connect_timeout": max(2, round(limits.lock_timeout)),
            "application_name": "rolltop",
        },
        isolation_level="READ COMMITTED",
        hide_parameters=True,
        **pool,
    )
    milliseconds = {
        "statement_timeout": round(limits.statement_timeout * 1000),
        "lock_timeout": round(limits.lock_timeout * 1000),
    }
    settings = "; ".join(f"SET {name} = {value}" for name, value in milliseconds.items())

    def bound(connection: DBAPIConnection, _record: ConnectionPoolEntry, /) -> None:
        cursor = connection.cursor()
        cursor.execute(f"{settings}; SET TimeZone = 'UTC'")
        cursor.close()
        connection.commit()

    event.listen(engine, "connect", bound)
    return engine


def _set_pragmas(*pragmas: str) -> Callable[[DBAPIConnection, ConnectionPoolEntry], None]:
    def set_pragmas(connection: DBAPIConnection, _record: ConnectionPoolEntry, /) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return set_pragmas


def _begin(connection: Connection) -> None:
    sqlite_driver(connection).execute("BEGIN")


def _begin_immediate(connection: Connection) -> None:
    sqlite_driver(connection).execute("BEGIN IMMEDIATE")


def _restart_deadline(connection: Connection, *_statement: object) -> None:
    connection.info[_DEADLINE].restart()
