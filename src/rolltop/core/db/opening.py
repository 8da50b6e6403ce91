"""From an address to a store whose schema is this program's: made, migrated or refused."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from rolltop.core.db import file_lock, script, versions
from rolltop.core.db.copying import copy_store
from rolltop.core.db.engine import migrating, sqlite_driver
from rolltop.core.db.failures import SQLITE_DAMAGED, SQLITE_NOTADB, damaged, sqlite_code, wrong_key
from rolltop.core.errors import StoreRefused, Unavailable
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator
    from pathlib import Path

    from sqlalchemy import Connection

    from rolltop.core.db import migrate
    from rolltop.core.db.address import Address
    from rolltop.core.db.driver import Driver
    from rolltop.core.db.engine import Limits
    from rolltop.core.db.versions import Branch
else:  # Alembic costs a quarter of a second
    migrate = lazy("rolltop.core.db.migrate")

SQLITE_ENDINGS: Final = ("-wal", "-journal", "-shm")
"""How the names end of what SQLite keeps beside a file."""

_OPENING_TIMEOUT: Final = 120.0  # seconds that another process may take to migrate
_ADVISORY_KEY: Final = 0x726F6C6C746F70  # "rolltop": PostgreSQL's locks are named by numbers
_VERSION_QUERY: Final = f"SELECT version_num FROM {versions.VERSION_TABLE}"  # noqa: S608  # a constant


def prepare(address: Address, limits: Limits, driver: Driver) -> None:
    """Make, migrate or accept the store; processes that come together take turns.

    Raises StoreRefused for a newer, foreign or damaged store, which is left untouched, and
    Unavailable while it cannot be reached. Driver errors pass.
    """
    if address.path is None:
        _prepare_postgresql(address, limits, driver)
        return
    with _reached():
        make_folder(address.path.parent)
        with file_lock.exclusive(beside(address.path, ".lock"), timeout=_OPENING_TIMEOUT):
            _prepare_sqlite(address, address.path, limits, driver)


def is_there(path: Path) -> bool:
    """Return whether anything of a SQLite store is there. Raises Unavailable."""
    with _reached():
        path = path.resolve()
        return path.exists() or _filled_log(path) is not None


@contextmanager
def _reached() -> Generator[None]:
    """Raise Unavailable for what the system says of the store's place."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"The store cannot be made or opened: {error.strerror}.",
            hint="Give this user the right to write there, or name another place with "
            "ROLLTOP_DATA_DIR or DATABASE_URL.",
        ) from error


def _prepare_sqlite(address: Address, path: Path, limits: Limits, driver: Driver) -> None:
    known = versions.branches()
    if not path.exists():
        _refuse_log_alone(address, path)
        # O_EXCL: nobody has the file open, so closing it drops nobody's locks.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    stored, is_wal = look_at_sqlite(address, path, driver)
    _refuse_unknown(address, stored, known)
    if stored == versions.heads(known) and is_wal:
        return
    if stored and stored != versions.heads(known):
        copy_store(driver, path, beside(path, f".{'-'.join(sorted(stored))}.bak"))
    engine = migrating(address, limits, driver)
    with engine.connect() as connection:
        sqlite_driver(connection).execute("PRAGMA journal_mode=WAL")
        with connection.begin():
            _upgrade(connection, known, stored)
            if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
                raise damaged(address, "rows name others that are not there")


def look_at_sqlite(address: Address, path: Path, driver: Driver) -> tuple[frozenset[str], bool]:
    """Return the stored revisions and whether the log is in WAL mode; change no byte.

    A log with content (after a crash, or of a running process) would be written back when the
    last connection closes; a read-only connection cannot do that. Without one, an ordinary
    connection is used, because it alone removes the empty log it makes.
    """
    if not path.exists() or not path.stat().st_size:
        _refuse_log_alone(address, path)
    mode = "ro" if _filled_log(path) else "rw"
    try:
        with closing(driver.connect(path, mode=mode)) as connection:
            connection.execute("PRAGMA query_only=ON")
            stored = _stored(address, connection)
            (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
            return stored, journal == "wal"
    except Exception as error:
        code = sqlite_code(error)
        if driver.encrypts and code == SQLITE_NOTADB:
            raise wrong_key(address) from error
        if code in SQLITE_DAMAGED:
            raise damaged(address, str(error)) from error
        raise


def _filled_log(path: Path) -> Path | None:
    """Return the place of a store's log if it holds anything."""
    log = beside(path, "-wal")
    return log if log.exists() and log.stat().st_size else None


def _refuse_log_alone(address: Address, path: Path) -> None:
    """Keep SQLite from deleting the log of a file that is empty or new: it holds what was kept."""
    log = _filled_log(path)
    if log is not None:
        raise damaged(address, f"it is empty or gone, and its log {log} is not")


def _stored(address: Address, connection: sqlite3.Connection) -> frozenset[str]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if versions.VERSION_TABLE in tables:
        return frozenset(name for (name,) in connection.execute(_VERSION_QUERY))
    if tables:
        raise damaged(address, "it holds tables of another program")
    return frozenset()


def _prepare_postgresql(address: Address, limits: Limits, driver: Driver) -> None:
    known = versions.branches()
    engine = migrating(address, limits, driver)
    with engine.begin() as connection:
        stored = _look_at_postgresql(address, connection)
        _refuse_unknown(address, stored, known)
        if stored == versions.heads(known):
            return
    with engine.begin() as connection:
        connection.execute(text(f"SET LOCAL lock_timeout = {round(_OPENING_TIMEOUT * 1000)}"))
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
        stored = _look_at_postgresql(address, connection)
        _refuse_unknown(address, stored, known)
        _upgrade(connection, known, stored)


def _look_at_postgresql(address: Address, connection: Connection) -> frozenset[str]:
    """Return the stored revisions of the schema that comes first in the search path."""
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise StoreRefused(
            f"The database {address.shown} has the encoding {encoding}.",
            hint="Create it with ENCODING 'UTF8' and name that one with DATABASE_URL.",
        )
    found = connection.execute(
        text("SELECT to_regclass(:versions) IS NOT NULL, to_regclass('users') IS NOT NULL"),
        {"versions": versions.VERSION_TABLE},
    ).one()
    has_versions, has_users = found
    if has_versions:
        return frozenset(connection.execute(text(_VERSION_QUERY)).scalars())
    if has_users:
        raise damaged(address, "it holds tables of another program")
    return frozenset()


def require_known(address: Address, path: Path, driver: Driver) -> None:
    """Make sure that the file is a store of this program or of an earlier one.

    Raises StoreRefused.
    """
    stored, _is_wal = look_at_sqlite(address, path, driver)
    if not stored:
        raise damaged(address, "it is empty")
    _refuse_unknown(address, stored, versions.branches())


def _refuse_unknown(address: Address, stored: frozenset[str], known: tuple[Branch, ...]) -> None:
    newer = versions.unknown(stored, known)
    if newer:
        raise StoreRefused(
            f"The store {address.shown} was written by a newer Rolltop "
            f"(it holds {', '.join(sorted(newer))}).",
            hint="It was left untouched. Update Rolltop, or name another store with DATABASE_URL.",
        )


def _upgrade(connection: Connection, known: tuple[Branch, ...], stored: frozenset[str]) -> None:
    """Bring every branch to its head, core's first: a new one by its script, else by revisions."""
    for branch in known:
        is_new = not stored & branch.revisions
        is_there = branch.head in stored or (is_new and script.make(connection, branch))
        if not is_there:
            migrate.upgrade(connection, known, branch)


def make_folder(folder: Path) -> None:
    """Make the folder and its missing parents, for this user alone; leave others' modes."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)


def beside(path: Path, ending: str) -> Path:
    """Return the place of what belongs to a store: its name with `ending` after it."""
    return path.with_name(path.name + ending)
