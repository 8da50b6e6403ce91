"""The one SQLite library of the process, for the store and for the indexes of files.

Two SQLite libraries that open one file in a process drop each other's locks, and SQLite 3.7.0 to
3.51.2 can lose a committed transaction in WAL mode (sqlite.org/wal.html, "the WAL-reset bug"). So
the library is one whose version we choose, whatever SQLite the interpreter was linked with.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

try:
    from sqlcipher3 import dbapi2 as library
except ImportError:  # no wheel for this platform
    import sqlite3 as library

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "beside",
    "connect",
    "description",
    "error_code",
    "has_wal_reset_bug",
    "journal_mode",
    "library",
    "real_path",
]

_NAME: Final = library.__name__.partition(".")[0]
_PRIMARY_CODE: Final = 0xFF  # the extended codes keep the kind in the low byte
Mode = Literal["ro", "rw", "memory"]


def has_wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether this version of SQLite can lose a commit when another connection checkpoints."""
    backports = (((3, 44, 6), (3, 45)), ((3, 50, 7), (3, 51)))
    is_backport = any(first <= version < end for first, end in backports)
    return not (is_backport or version >= (3, 51, 3))


def journal_mode() -> Literal["wal", "delete"]:
    """Return the journal mode in which several processes can safely share a file."""
    return "delete" if has_wal_reset_bug(library.sqlite_version_info) else "wal"


def description() -> str:
    """Return the version and library for people, such as "SQLite 3.53.4 (sqlcipher3)"."""
    return f"SQLite {library.sqlite_version} ({_NAME})"


def connect(path: Path, *, mode: Mode = "rw", timeout: float = 5.0) -> sqlite3.Connection:
    """Open an existing file in autocommit mode; a missing file is an error, not a new empty one.

    Mode `memory` opens a new empty database in memory instead, whatever the path.

    `timeout` bounds the wait for locks, in seconds. Raises the library's errors.
    """
    connection = library.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA cipher_log_level = NONE")  # else SQLCipher writes to stderr
    return connection


def error_code(error: BaseException | None) -> int | None:
    """Return the kind of failure by SQLite's own number; None if the error is not SQLite's.

    The drivers' classes are not each other's, but all their errors bear the number.
    """
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE


def beside(path: Path, ending: str) -> Path:
    """Return the place of what belongs to a database file: its name with `ending` after it."""
    return path.with_name(path.name + ending)


def real_path(path: Path) -> Path:
    """Return where links lead to; opening it says what is wrong with links that go in a circle."""
    return Path(os.path.realpath(path))
