"""A copy of a running SQLite store, made by the driver."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from rolltop.core.db.driver import Driver


def copy_store(driver: Driver, source: Path, target: Path) -> None:
    """Write a consistent copy of `source` to `target` (0600), whole or not at all.

    An existing `target` is replaced; the copy of an encrypted store opens with the same key. Only
    the driver reads the store: opening its file in any other way drops this process's locks on
    it. Raises the driver's errors and OSError.
    """
    with closing(driver.connect(source)) as reading:
        copy_to(driver, reading, target)


def copy_to(driver: Driver, reading: sqlite3.Connection, target: Path) -> None:
    """Write what a connection of the driver's reads to `target`, as `copy_store` does."""
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(driver.connect(partial)) as writing:
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode=DELETE")  # one file, no log beside it
        flush(partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def flush(file: Path) -> None:
    """Bring a file that no database library has open to the disk."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
