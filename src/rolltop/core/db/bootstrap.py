"""From an address to a store whose schema is this program's: made, migrated or refused."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, exc, text

from rolltop.core.db import file_lock, revisions, row_security, schema_script, sqlite
from rolltop.core.db.backup import backup_store, fsync_directory, remove_unfinished
from rolltop.core.db.driver_errors import (
    SQLITE_DAMAGED,
    SQLITE_NOTADB,
    damaged_store_error,
    first_line,
    wrong_key_error,
)
from rolltop.core.db.engine import (
    EngineLimits,
    begin_as,
    create_migration_engine,
    driver_connection,
)
from rolltop.core.db.revisions import MigrationBranch
from rolltop.core.db.sqlite import beside, error_code, real_path
from rolltop.core.db.url import DatabaseUrl
from rolltop.core.errors import IncompatibleStore, InvalidArgument, Unavailable
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    import sqlite3

    from rolltop.core.db import migrator
    from rolltop.core.db.driver import Driver
else:  # Alembic costs a quarter of a second
    migrator = lazy("rolltop.core.db.migrator")

SQLITE_SUFFIXES: Final = ("-wal", "-journal", "-shm")
"""How the names end of what SQLite keeps beside a file."""
OWN_SUFFIXES: Final = (*SQLITE_SUFFIXES, ".partial", ".new")
"""How the names end of what a start deletes beside a store."""

_log: Final = logging.getLogger(__name__)
_LOCK_TIMEOUT: Final = 120.0  # seconds that another process may take to migrate
_CLOSING_SECONDS: Final = 1.0
"""How long a store may be open without a log, which goes first as the last one closes it."""
_CLOSING_PAUSE: Final = 0.02
_ADVISORY_KEY: Final = 0x726F6C6C746F70  # "rolltop": PostgreSQL's locks are named by numbers
_INSUFFICIENT_PRIVILEGE: Final = "42501"
_VERSION_QUERY: Final = f"SELECT version_num FROM {revisions.VERSION_TABLE}"  # noqa: S608  # a constant


def prepare_store(address: DatabaseUrl, limits: EngineLimits, driver: Driver) -> None:
    """Make, migrate or accept the store; processes that come together take turns.

    Raises IncompatibleStore for a newer, foreign or damaged store, which is left untouched, and
    Unavailable while it cannot be reached. Driver errors pass.
    """
    if address.path is None:
        with _map_missing_right(address):
            _prepare_postgresql(address, limits, driver)
        return
    with _map_os_errors():
        make_directory(address.path.parent)
        with file_lock.hold_file_lock(beside(address.path, ".lock"), timeout=_LOCK_TIMEOUT):
            _prepare_sqlite(address, address.path, limits, driver)


def store_exists(path: Path) -> bool:
    """Return whether anything of a SQLite store is there. Raises Unavailable."""
    path = resolve_links(path)
    with _map_os_errors():
        return path.exists() or _nonempty_log(path) is not None


@contextmanager
def _map_os_errors() -> Generator[None]:
    """Raise Unavailable for what the system says of the store's place."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"The store cannot be made or opened: {error.strerror}.",
            hint="Give this user the right to write there, or name another place with "
            "ROLLTOP_DATA_DIR or DATABASE_URL.",
        ) from error


def _prepare_sqlite(address: DatabaseUrl, path: Path, limits: EngineLimits, driver: Driver) -> None:
    known = revisions.branches()
    _remove_leftovers(path)
    _require_log(path)
    new = beside(path, ".new")
    if not path.exists():
        _refuse_orphaned_log(address, path)
        new.touch(mode=0o600)
        # O_EXCL: nobody has the file open, so closing it drops nobody's locks.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        fsync_directory(path.parent)
    stored, journal = inspect_sqlite(address, path, driver)
    _refuse_unknown(address, stored, known)
    if sqlite.journal_mode() != "wal":
        _log.warning("%s can lose commits in WAL mode: rollback journal used", sqlite.description())
    if not stored and not path.stat().st_size and not new.exists():
        raise _empty_store_error(address)
    if stored == revisions.heads(known) and journal == sqlite.journal_mode():
        new.unlink(missing_ok=True)
        return
    if stored and stored != revisions.heads(known):
        backup_store(driver, path, beside(path, f".{'-'.join(sorted(stored))}.bak"))
    engine = create_migration_engine(address, limits, driver)
    with engine.connect() as connection:
        _set_journal_mode(driver_connection(connection), path)
        with connection.begin():
            _upgrade(connection, known, stored)
            if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
                raise damaged_store_error(address, "rows name others that are not there")
    new.unlink(missing_ok=True)


def _remove_leftovers(path: Path) -> None:
    """Delete the copies that a killed migration, restore or other command left unfinished."""
    for ending in ("", *SQLITE_SUFFIXES):
        beside(path, f".partial{ending}").unlink(missing_ok=True)
    remove_unfinished(path.parent, f"{escape(path.name)}.*")


def _empty_store_error(address: DatabaseUrl) -> IncompatibleStore:
    """Return the refusal of a file without content, which no start of ours leaves."""
    return IncompatibleStore(
        f"The store {address.display_name} is empty: it has lost its content, or was "
        "never a store.",
        hint="`rolltop restore FILE` puts a backup in its place; delete the file to begin a new "
        "store.",
    )


def _set_journal_mode(connection: sqlite3.Connection, path: Path) -> None:
    try:
        connection.execute(f"PRAGMA journal_mode={sqlite.journal_mode()}")
    except Exception as error:
        if error_code(error) == sqlite.library.SQLITE_BUSY:
            raise file_lock.store_in_use_error(path) from error
        raise


def inspect_sqlite(address: DatabaseUrl, path: Path, driver: Driver) -> tuple[frozenset[str], str]:
    """Return the stored revisions and the journal mode; change no byte.

    A log with content (after a crash, or of a running process) would be written back when the
    last connection closes; a read-only connection cannot do that. Without one, an ordinary
    connection is used, because it alone removes the empty log it makes.
    """
    if not path.exists() or not path.stat().st_size:
        _refuse_orphaned_log(address, path)
    mode = "ro" if _nonempty_log(path) else "rw"
    try:
        with closing(driver.connect(path, mode=mode)) as connection:
            connection.execute("PRAGMA query_only=ON")
            stored = _stored_revisions(address, connection)
            (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
            return stored, journal
    except Exception as error:
        code = error_code(error)
        if driver.encrypts and code == SQLITE_NOTADB:
            raise wrong_key_error(address) from error
        if code in SQLITE_DAMAGED:
            raise damaged_store_error(address, str(error)) from error
        raise


def _require_log(path: Path) -> None:
    """Refuse to make another log for a store than the one that others have open.

    Theirs was removed, or they opened the store by another name: a hard link, a mount of the file
    alone. SQLite makes the log before the -shm file and deletes it after. Raises Unavailable while
    another process has the store open: only that one can still write back what its log holds.
    """
    log, index = beside(path, "-wal"), beside(path, "-shm")
    end, pause = time.monotonic() + _CLOSING_SECONDS, threading.Event()
    while path.exists() and not log.exists():
        # Asked for again: whoever closes the store now deletes both.
        is_lost = index.exists() and not log.exists() and index.exists()
        if not is_lost and sqlite.journal_mode() != "wal":
            return  # nobody has a log
        try:
            with file_lock.lock_unused_store(path):
                if is_lost:
                    _log.warning("%s was removed while it was open: commits may be lost", log)
                return
        except Unavailable:
            if is_lost or time.monotonic() > end:
                raise log_in_use_error(path) from None
        except PermissionError:
            return  # nothing is written without that
        pause.wait(_CLOSING_PAUSE)


def log_in_use_error(path: Path) -> Unavailable:
    """Return the refusal to open a store whose log is not the one that others have open."""
    return Unavailable(
        f"Another process has the store open with another log: {beside(path, '-wal')} was removed "
        "or replaced, or that process opened the store by another name, such as a hard link.",
        hint="Stop every Rolltop server, which writes back what its log holds, and start again.",
    )


def _nonempty_log(path: Path) -> Path | None:
    """Return the place of a store's log if it holds anything."""
    log = beside(path, "-wal")
    try:
        return log if log.stat().st_size else None
    except (FileNotFoundError, NotADirectoryError):  # or it went just now, as somebody closed it
        return None


def _refuse_orphaned_log(address: DatabaseUrl, path: Path) -> None:
    """Keep SQLite from deleting the log of a file that is empty or new: it holds what was kept."""
    log = _nonempty_log(path)
    if log is not None:
        raise damaged_store_error(address, f"it is empty or gone, and its log {log} is not")


def _stored_revisions(address: DatabaseUrl, connection: sqlite3.Connection) -> frozenset[str]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if revisions.VERSION_TABLE in tables:
        return frozenset(name for (name,) in connection.execute(_VERSION_QUERY))
    if tables:
        raise damaged_store_error(address, "it holds tables of another program")
    return frozenset()


@contextmanager
def _map_missing_right(address: DatabaseUrl) -> Generator[None]:
    """Raise Unavailable where the role may not make or read the tables, until it may."""
    try:
        yield
    except exc.ProgrammingError as error:
        if getattr(error.orig, "sqlstate", "") != _INSUFFICIENT_PRIVILEGE:
            raise
        raise Unavailable(
            "The store cannot be opened: its role lacks a right.",
            hint="Let its role own the database, or GRANT CREATE ON SCHEMA public to it.",
            detail=f"{address.display_name}: {first_line(error.orig)}",
        ) from error


def _prepare_postgresql(address: DatabaseUrl, limits: EngineLimits, driver: Driver) -> None:
    known = revisions.branches()
    engine = create_migration_engine(address, limits, driver)
    with engine.begin() as connection:
        begin_as(connection, None)
        stored = _inspect_postgresql(address, connection)
        _refuse_unknown(address, stored, known)
        if stored == revisions.heads(known):
            return
    with engine.begin() as connection:
        begin_as(connection, None)
        stored = _inspect_alone(address, connection)
        _refuse_unknown(address, stored, known)
        _upgrade(connection, known, stored)
        row_security.protect_tables(connection)


def make_postgresql(
    address: DatabaseUrl, connection: Connection, backup: DatabaseUrl, wanted: frozenset[str]
) -> None:
    """Make the tables of the revisions `wanted`, which a backup names, in the open transaction.

    They have no policies yet. Raises InvalidArgument where the database holds a store,
    IncompatibleStore for a newer backup, and Unavailable where the role may not make tables.
    """
    known = revisions.branches()
    _refuse_unknown(backup, wanted, known)
    with _map_missing_right(address):
        if _inspect_alone(address, connection):
            raise store_there_error(address)
        _upgrade(connection, known, frozenset(), wanted)


def store_there_error(address: DatabaseUrl) -> InvalidArgument:
    """Return the refusal to restore into a database that is not empty."""
    return InvalidArgument(
        f"{address.display_name} holds a store already.",
        hint="Make another database (createdb NAME), restore into that, and name it in"
        " database_url.",
    )


def stored_versions(connection: Connection) -> frozenset[str]:
    """Return the revisions of the store that a connection of PostgreSQL's sees."""
    return frozenset(connection.execute(text(_VERSION_QUERY)).scalars())


def _inspect_alone(address: DatabaseUrl, connection: Connection) -> frozenset[str]:
    """Return the stored revisions, which nobody else changes until the transaction ends."""
    connection.execute(text(f"SET LOCAL lock_timeout = {round(_LOCK_TIMEOUT * 1000)}"))
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
    return _inspect_postgresql(address, connection)


def _inspect_postgresql(address: DatabaseUrl, connection: Connection) -> frozenset[str]:
    """Return the stored revisions of the schema that comes first in the search path."""
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise IncompatibleStore(
            f"The database {address.display_name} has the encoding {encoding}.",
            hint="Create it with ENCODING 'UTF8' and name that one with DATABASE_URL.",
        )
    found = connection.execute(
        text("SELECT to_regclass(:versions) IS NOT NULL, to_regclass('users') IS NOT NULL"),
        {"versions": revisions.VERSION_TABLE},
    ).one()
    has_versions, has_users = found
    if has_versions:
        return stored_versions(connection)
    if has_users:
        raise damaged_store_error(address, "it holds tables of another program")
    return frozenset()


def require_known(address: DatabaseUrl, path: Path, driver: Driver) -> None:
    """Make sure that the file is a store of this program or of an earlier one.

    Raises IncompatibleStore.
    """
    stored, _journal = inspect_sqlite(address, path, driver)
    if not stored:
        raise damaged_store_error(address, "it is empty")
    _refuse_unknown(address, stored, revisions.branches())


def _refuse_unknown(
    address: DatabaseUrl, stored: frozenset[str], known: tuple[MigrationBranch, ...]
) -> None:
    newer = revisions.unknown_revisions(stored, known)
    if newer:
        raise IncompatibleStore(
            f"The store {address.display_name} was written by a newer Rolltop "
            f"(it holds {', '.join(sorted(newer))}).",
            hint="It was left untouched. Update Rolltop, or name another store with DATABASE_URL.",
        )


def _upgrade(
    connection: Connection,
    known: tuple[MigrationBranch, ...],
    stored: frozenset[str],
    wanted: frozenset[str] | None = None,
) -> None:
    """Bring every branch to its head, core's first: a new one by a script, then by revisions.

    Where revisions are wanted, to those: branches of which there is none are left out.
    """
    for branch in known:
        is_new = not stored & branch.revisions
        targets = {branch.head} if wanted is None else wanted & branch.revisions
        for revision in sorted(targets - stored):
            made = schema_script.create_branch(connection, branch, revision) if is_new else None
            if made != revision:
                migrator.upgrade(connection, known, branch, revision)


def resolve_links(path: Path) -> Path:
    """Return where the links on the way to a store lead.

    Raises Unavailable where an unmounted disk may have the store: no new one is begun there.
    """
    for link in (path, *path.parents):
        target = real_path(link)
        folder = target.parent if link == path else target
        try:
            is_lost = target != link and link.is_symlink() and not folder.exists()
        except OSError:  # opening it says what is wrong
            break
        if is_lost:
            raise Unavailable(
                f"{link}, where the store lies, is a link into {folder}, which is not there.",
                hint="Mount its disk. If a new store shall begin there, make the folder.",
            )
    return real_path(path)


def make_directory(folder: Path) -> None:
    """Make the folder and its missing parents, for this user alone; leave others' modes."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
