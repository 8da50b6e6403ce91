"""Driver errors turned into the coded ones: out of reach, or refused."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy import exc

from rolltop.core.errors import RolltopError, StoreKeyRefused, StoreRefused, Unavailable

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from rolltop.core.db.address import Address

SQLITE_NOTADB: Final = sqlite3.SQLITE_NOTADB
SQLITE_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, SQLITE_NOTADB}
_SQLITE_REASONS: Final = {
    sqlite3.SQLITE_BUSY: "another process has kept it for too long",
    sqlite3.SQLITE_LOCKED: "another process has kept it for too long",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "reading or writing its file failed",
    sqlite3.SQLITE_CANTOPEN: "its file cannot be opened",
    sqlite3.SQLITE_READONLY: "its file cannot be written",
    sqlite3.SQLITE_PERM: "its file may not be opened",
    sqlite3.SQLITE_PROTOCOL: "its file is locked in a way SQLite does not expect",
    sqlite3.SQLITE_INTERRUPT: "a statement passed its time limit",
}
_PRIMARY_CODE: Final = 0xFF  # SQLite's extended codes keep the kind in the low byte

_POSTGRESQL_REASONS: Final = {
    "57014": "a statement passed its time limit",
    "55P03": "another transaction has kept a row for too long",
    "40001": "another transaction was in the way",
    "40P01": "another transaction was in the way",
    "53100": "the server's disk is full",
    "53300": "the server has no connection left",
}
_POSTGRESQL_CLASSES: Final = {
    "08": "the connection was lost",
    "53": "the server is short of resources",
    "57": "the server is stopping or starting",
    "58": "the server met a system error",
}
_HINT: Final = "Nothing of this call was kept; try again. `rolltop doctor` checks the store."


@contextmanager
def coded(address: Address) -> Generator[None]:
    """Raise Unavailable or StoreRefused for driver errors that mean one of them.

    Integrity errors, wrong statements and every other exception pass unchanged.
    """
    try:
        yield
    except RolltopError:
        raise
    except Exception as error:
        for cause in _causes(error):
            meaning = _meaning(cause, address)
            if meaning is not None:
                raise meaning from error
        raise


def damaged(address: Address, detail: str) -> StoreRefused:
    """Return the refusal of a store that cannot be read as one."""
    return StoreRefused(
        f"The store {address.shown} is damaged or is no Rolltop store: {detail}.",
        hint="It was left untouched. `rolltop restore FILE` puts a backup in its place while no "
        "server runs; DATABASE_URL names another store. One that is encrypted needs "
        "DB_ENCRYPTION_KEY.",
    )


def not_encrypted(path: Path) -> StoreKeyRefused:
    """Return the refusal of a plain store where the settings have a key."""
    return StoreKeyRefused(
        f"DB_ENCRYPTION_KEY is set, and the store {path} is not encrypted.",
        hint="It was left untouched. Stop every Rolltop server and run `rolltop store encrypt`, "
        "or unset DB_ENCRYPTION_KEY.",
    )


def wrong_key(address: Address) -> StoreKeyRefused:
    """Return the refusal of a store that a key does not open."""
    return StoreKeyRefused(
        f"The store {address.shown} does not open with DB_ENCRYPTION_KEY: the key is another, "
        "or the file's start is damaged.",
        hint="It was left untouched. Set the key it was encrypted with, and "
        "DB_ENCRYPTION_KDF_ITERATIONS as it was then.",
    )


def sqlite_code(error: BaseException | None) -> int | None:
    """Return the kind of failure by SQLite's own number; None if the error is not SQLite's.

    The drivers' classes are not each other's, but all their errors bear the number.
    """
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE


def _causes(error: BaseException) -> Generator[BaseException]:
    """Return the error and those it followed: rolling back after a full disk fails as well."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__context__


def _meaning(error: BaseException, address: Address) -> RolltopError | None:
    if isinstance(error, exc.TimeoutError):
        return _unavailable("every connection is in use")
    of_driver = error.orig if isinstance(error, exc.DBAPIError) else error
    code = sqlite_code(of_driver)
    if code is not None:
        return _sqlite_meaning(code, str(of_driver), address)
    if isinstance(error, exc.DBAPIError) and address.path is None:
        return _postgresql_meaning(error)
    return None


def _sqlite_meaning(code: int, said: str, address: Address) -> RolltopError | None:
    if code in SQLITE_DAMAGED:
        return damaged(address, said)
    reason = _SQLITE_REASONS.get(code)
    return None if reason is None else _unavailable(reason)


def _postgresql_meaning(error: exc.DBAPIError) -> RolltopError | None:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    reason = _POSTGRESQL_REASONS.get(state) or _POSTGRESQL_CLASSES.get(state[:2])
    connecting = error.statement is None  # psycopg calls a wrong option of the URL a wrong program
    refused = isinstance(error, exc.OperationalError) or (
        connecting and isinstance(error, exc.ProgrammingError)
    )
    if reason is None and not state and refused:
        reason = f"there is no connection ({_first_line(error.orig)})"
    if reason is None and error.connection_invalidated:
        reason = "the connection was lost"
    return None if reason is None else _unavailable(reason)


def _first_line(error: BaseException | None) -> str:
    """Return the driver's own first line: host, port and cause, never the password."""
    return (str(error).splitlines() or [""])[0].strip()


def _unavailable(reason: str) -> Unavailable:
    return Unavailable(f"The store is out of reach: {reason}.", hint=_HINT)
