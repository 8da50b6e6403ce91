"""A store written anew with another key, with its first, or with none, and put in its place.

The store itself is never changed by this: what holds its rows in the new form is a file beside it
until it is whole, checked and on the disk. Killed at any moment, the old or the new one is there.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.core.db import file_lock
from rolltop.core.db.backup import fsync_directory, fsync_file
from rolltop.core.db.bootstrap import inspect_sqlite, store_exists
from rolltop.core.db.driver import Driver
from rolltop.core.db.driver_errors import damaged_store_error, map_driver_errors
from rolltop.core.db.encryption import Encryption, require_encryption_support
from rolltop.core.db.sqlite import beside, error_code, library, real_path
from rolltop.core.db.url import DatabaseUrl, parse_url
from rolltop.core.errors import IncompatibleStore, InvalidArgument, NotFound, Unavailable

if TYPE_CHECKING:
    import sqlite3


_LOCK_TIMEOUT: Final = 10.0  # seconds
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM {}.sqlite_master ORDER BY type, name"
_TABLES: Final = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0"


def rekey_store(url: str, present: Encryption | None, wanted: Encryption | None) -> list[Path]:
    """Make a store that is encrypted as `present` says one as `wanted` says; None is not at all.

    Blocks while it copies. No `Database` of this process may have the store open. Returns copies
    of the store that earlier migrations have left beside it; they stay as they are.

    Raises:
        InvalidConfig: a store at this URL cannot be encrypted.
        NotFound: there is none yet.
        StoreKeyMismatch: it is not as `present` says.
        InvalidArgument: it is not, but is as `wanted` says already.
        Unavailable: somebody has it open, or its disk fails. The store is as it was.

    """
    address = parse_url(url)
    require_encryption_support(address)
    if address.path is None or not store_exists(address.path):
        raise NotFound(
            f"There is no store {address.display_name} yet.",
            hint="The first start makes it, encrypted if DB_ENCRYPTION_KEY is set.",
        )
    path = real_path(address.path)
    try:
        with (
            map_driver_errors(address),
            file_lock.hold_file_lock(beside(path, ".lock"), timeout=_LOCK_TIMEOUT),
        ):
            source = Driver(present)
            _require_readable(address, path, source, Driver(wanted))
            _rewrite(address, path, source, Driver(wanted))
    except OSError as error:
        raise Unavailable(
            f"The store {path} cannot be written anew: {error.strerror}.",
            hint="It is as it was. Twice its size must be free beside it.",
        ) from error
    return sorted(path.parent.glob(f"{path.name}.*.bak*"))  # with their logs


def _require_readable(address: DatabaseUrl, path: Path, source: Driver, target: Driver) -> None:
    """Make sure that the store opens; one that only the wanted key opens is done already."""
    try:
        inspect_sqlite(address, path, source)
    except IncompatibleStore as refusal:
        try:
            inspect_sqlite(address, path, target)
        except IncompatibleStore:
            raise refusal from None
        how = "encrypted with that key already" if target.encrypts else "not encrypted"
        raise InvalidArgument(f"The store {path} is {how}.", hint="Nothing was done.") from None


def _rewrite(address: DatabaseUrl, path: Path, source: Driver, target: Driver) -> None:
    partial = beside(path, ".partial")
    partial.unlink(missing_ok=True)  # of a run that was killed
    try:
        with closing(source.connect(path, timeout=_LOCK_TIMEOUT)) as held:
            acquire_exclusively(held, path)
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            _export(held, partial, target.key(partial))
            _verify_copy(held, address)
            held.execute("DETACH DATABASE copied")
            _verify_file(target, partial, address)
            fsync_file(partial)
            if sys.platform == "win32":
                held.close()  # a file that is open cannot be replaced there
            partial.replace(path)
            fsync_directory(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def acquire_exclusively(connection: sqlite3.Connection, path: Path) -> None:
    """Let nobody else into the store and leave no log beside it: the new file would take it.

    The log cannot be given up while another connection is open, idle ones of a server included.
    """
    try:
        for statement in (
            "PRAGMA fullfsync=ON",
            "PRAGMA journal_mode=DELETE",
            "PRAGMA locking_mode=EXCLUSIVE",
            "BEGIN EXCLUSIVE",
            "COMMIT",
        ):
            connection.execute(statement)
    except Exception as error:
        if error_code(error) == library.SQLITE_BUSY:
            raise file_lock.store_in_use_error(path) from error
        raise


def _export(connection: sqlite3.Connection, partial: Path, key: str) -> None:
    """Copy everything to the empty file, which nobody needs before it is whole."""
    connection.execute("ATTACH DATABASE ? AS copied KEY ?", (str(partial), key))
    connection.execute("PRAGMA copied.journal_mode=OFF")
    connection.execute("PRAGMA copied.synchronous=OFF")
    connection.execute("SELECT sqlcipher_export('copied')").fetchall()


def _verify_copy(connection: sqlite3.Connection, address: DatabaseUrl) -> None:
    """Compare the copy's schema and numbers of rows. Raises IncompatibleStore."""
    schemas = [connection.execute(_SCHEMA.format(of)).fetchall() for of in ("main", "copied")]
    if schemas[0] != schemas[1]:
        raise damaged_store_error(address, "its schema does not survive being copied")
    for (name,) in connection.execute(_TABLES).fetchall():
        quoted = '"' + name.replace('"', '""') + '"'
        there, here = (
            connection.execute(f"SELECT count(*) FROM {of}.{quoted}").fetchone()  # noqa: S608  # a table of the store's own
            for of in ("main", "copied")
        )
        if there != here:
            raise damaged_store_error(address, f"rows of {name} cannot be read")


def _verify_file(target: Driver, partial: Path, address: DatabaseUrl) -> None:
    """Read the whole of the new file as the next start will. Raises IncompatibleStore."""
    with closing(target.connect(partial)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        if target.encrypts:
            found += connection.execute("PRAGMA cipher_integrity_check").fetchall()
    if found != [("ok",)]:
        raise damaged_store_error(address, "its copy does not hold together")
