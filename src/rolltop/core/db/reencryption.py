"""A store written anew with another key, with its first, or with none, and put in its place.

The store itself is never changed by this: what holds its rows in the new form is a file beside it
until it is whole, checked and on the disk. Killed at any moment, the old or the new one is there.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Final

from rolltop.core.db import file_lock
from rolltop.core.db.address import parse
from rolltop.core.db.copying import flush
from rolltop.core.db.driver import CipherDriver
from rolltop.core.db.encryption import require_possible
from rolltop.core.db.failures import coded, damaged, sqlite_code
from rolltop.core.db.opening import beside, is_there, look_at_sqlite
from rolltop.core.errors import Invalid, NotFound, StoreRefused, Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.db.address import Address
    from rolltop.core.db.encryption import Encryption

_LOCK_TIMEOUT: Final = 10.0  # seconds
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM {}.sqlite_master ORDER BY type, name"
_TABLES: Final = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0"


def reencrypt(url: str, present: Encryption | None, wanted: Encryption | None) -> list[Path]:
    """Make a store that is encrypted as `present` says one as `wanted` says; None is not at all.

    Blocks while it copies. No `Database` of this process may have the store open: its library
    may be another, and neither would see the other's locks. Returns copies of the store that
    earlier migrations have left beside it; they stay as they are.

    Raises:
        ConfigInvalid: a store at this URL cannot be encrypted.
        NotFound: there is none yet.
        StoreKeyRefused: it is not as `present` says.
        Invalid: it is not, but is as `wanted` says already.
        Unavailable: somebody has it open, or its disk fails. The store is as it was.

    """
    address = parse(url)
    require_possible(address)
    if address.path is None or not is_there(address.path):
        raise NotFound(
            f"There is no store {address.shown} yet.",
            hint="The first start makes it, encrypted if DB_ENCRYPTION_KEY is set.",
        )
    path = address.path.resolve()
    try:
        with coded(address), file_lock.exclusive(beside(path, ".lock"), timeout=_LOCK_TIMEOUT):
            source = CipherDriver(present)
            _require_present(address, path, source, CipherDriver(wanted))
            _rewrite(address, path, source, CipherDriver(wanted))
    except OSError as error:
        raise Unavailable(
            f"The store {path} cannot be written anew: {error.strerror}.",
            hint="It is as it was. Twice its size must be free beside it.",
        ) from error
    return sorted(path.parent.glob(f"{path.name}.*.bak*"))  # with their logs


def _require_present(
    address: Address, path: Path, source: CipherDriver, target: CipherDriver
) -> None:
    """Make sure that the store opens; one that only the wanted key opens is done already."""
    try:
        look_at_sqlite(address, path, source)
    except StoreRefused as refusal:
        try:
            look_at_sqlite(address, path, target)
        except StoreRefused:
            raise refusal from None
        how = "encrypted with that key already" if target.encrypts else "not encrypted"
        raise Invalid(f"The store {path} is {how}.", hint="Nothing was done.") from None


def _rewrite(address: Address, path: Path, source: CipherDriver, target: CipherDriver) -> None:
    partial = beside(path, ".partial")
    partial.unlink(missing_ok=True)  # of a run that was killed
    try:
        with closing(source.connect(path, timeout=_LOCK_TIMEOUT)) as held:
            hold(held, path)
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            _export(held, partial, target.key(partial))
            _check(held, address)
            held.execute("DETACH DATABASE copied")
            _check_file(target, partial, address)
            flush(partial)
            if sys.platform == "win32":
                held.close()  # a file that is open cannot be replaced there
            partial.replace(path)
            flush_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def hold(connection: sqlite3.Connection, path: Path) -> None:
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
        if sqlite_code(error) == sqlite3.SQLITE_BUSY:
            raise file_lock.in_use(path) from error
        raise


def _export(connection: sqlite3.Connection, partial: Path, key: str) -> None:
    """Copy everything to the empty file, which nobody needs before it is whole."""
    connection.execute("ATTACH DATABASE ? AS copied KEY ?", (str(partial), key))
    connection.execute("PRAGMA copied.journal_mode=OFF")
    connection.execute("PRAGMA copied.synchronous=OFF")
    connection.execute("SELECT sqlcipher_export('copied')").fetchall()


def _check(connection: sqlite3.Connection, address: Address) -> None:
    """Compare the copy's schema and numbers of rows. Raises StoreRefused."""
    schemas = [connection.execute(_SCHEMA.format(of)).fetchall() for of in ("main", "copied")]
    if schemas[0] != schemas[1]:
        raise damaged(address, "its schema does not survive being copied")
    for (name,) in connection.execute(_TABLES).fetchall():
        quoted = '"' + name.replace('"', '""') + '"'
        there, here = (
            connection.execute(f"SELECT count(*) FROM {of}.{quoted}").fetchone()  # noqa: S608  # a table of the store's own
            for of in ("main", "copied")
        )
        if there != here:
            raise damaged(address, f"rows of {name} cannot be read")


def _check_file(target: CipherDriver, partial: Path, address: Address) -> None:
    """Read the whole of the new file as the next start will. Raises StoreRefused."""
    with closing(target.connect(partial)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        if target.encrypts:
            found += connection.execute("PRAGMA cipher_integrity_check").fetchall()
    if found != [("ok",)]:
        raise damaged(address, "its copy does not hold together")


def flush_folder(folder: Path) -> None:
    """Bring the names of a folder's files to the disk."""
    if sys.platform == "win32":
        return  # folders cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
