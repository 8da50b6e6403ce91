"""A copy of a running SQLite store, made by the driver."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def copy_store(source: Path, target: Path) -> None:
    """Write a consistent copy of `source` to `target` (0600), whole or not at all.

    An existing `target` is replaced. Only the driver reads the store: opening its file in any
    other way drops this process's locks on it. Raises sqlite3.Error and OSError.
    """
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with (
            closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as reading,
            closing(sqlite3.connect(partial)) as writing,
        ):
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode=DELETE")  # one file, no log beside it
        _flush(partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _flush(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
