"""A copy of a running SQLite store, made by the driver."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from glob import escape
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Final

from rolltop.core.db.file_lock import hold_directory_lock
from rolltop.core.db.sqlite import library
from rolltop.core.errors import InvalidArgument, Unavailable

if TYPE_CHECKING:
    import sqlite3

    from rolltop.core.db.driver import Driver

POSTGRES_MAGIC: Final = b"rolltop PostgreSQL backup 1\n"
"""How a backup of PostgreSQL begins that pg_dump did not make."""
_FORMATS: Final = {
    b"SQLite format 3\0": "SQLite",
    b"PGDMP": "PostgreSQL",
    POSTGRES_MAGIC: "PostgreSQL",
}


def backup_store(driver: Driver, source: Path, target: Path) -> None:
    """Write a consistent copy of `source` to `target` (0600), whole or not at all.

    An existing `target` is replaced; the copy of an encrypted store opens with the same key. Only
    the driver reads the store: opening its file in any other way drops this process's locks on
    it. Raises the driver's errors, OSError and, where the copy cannot be made, Unavailable.
    """
    with closing(driver.connect(source)) as reading:
        backup_connection(driver, reading, target)


def backup_connection(driver: Driver, reading: sqlite3.Connection, target: Path) -> None:
    """Write what a connection of the driver's reads to `target`, as `backup_store` does."""
    with unfinished_file(target) as partial, closing(driver.connect(partial)) as writing:
        try:
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode=DELETE")  # one file, no log beside it
        except library.OperationalError as error:  # of a copy it has no code
            raise Unavailable(
                f"The store cannot be copied to {target}: {error}.",
                hint="See that there is room for it, and that the disks of both are in order.",
            ) from error


@contextmanager
def unfinished_file(target: Path) -> Generator[Path]:
    """Make an empty file (0600) that takes the place of `target` at the end, on the disk by then.

    Nothing is left of it after a failure, and what killed processes left is removed.
    """
    remove_unfinished(target.parent, escape(target.name))
    partial = target.with_name(f"{target.name}.{time_ns()}.partial")
    with hold_directory_lock(target.parent, shared=True):
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            yield partial
            fsync_file(partial)
            partial.replace(target)
            fsync_directory(target.parent)
        finally:
            partial.unlink(missing_ok=True)


def remove_unfinished(folder: Path, name: str) -> None:
    """Delete the copies named like the pattern `name` that killed processes left unfinished.

    While any copy is being made in the folder all are left: a process number says little where
    containers or machines share it.
    """
    with hold_directory_lock(folder, shared=False) as alone:
        for leftover in folder.glob(f"{name}.[0-9]*.partial*") if alone else ():
            with suppress(OSError):  # open elsewhere, on Windows
                leftover.unlink()


def require_format(backup: Path, database: str) -> None:
    """Refuse a backup that another database than this one made. Raises InvalidArgument, OSError."""
    with backup.open("rb") as file:
        start = file.read(max(map(len, _FORMATS)))
    for mark, made_by in _FORMATS.items():
        if start.startswith(mark) and made_by != database:
            raise InvalidArgument(
                f"{backup} is the backup of a {made_by} store; this store is on {database}.",
                hint=f"Restore it to a {made_by} store, `rolltop export DIR` from that, and "
                "`rolltop import DIR` here.",
            )


def fsync_file(file: Path) -> None:
    """Bring a file that no database library has open to the disk."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_directory(folder: Path) -> None:
    """Bring the names of a folder's files to the disk."""
    if sys.platform == "win32":
        return  # folders cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
