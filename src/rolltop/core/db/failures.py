"""Driver errors turned into the coded ones: out of reach, or refused."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy import exc

from rolltop.core.errors import RolltopError, StoreRefused, Unavailable

if TYPE_CHECKING:
    from collections.abc import Generator

    from rolltop.core.db.address import Address

_SQLITE_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
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
    except (exc.SQLAlchemyError, sqlite3.Error) as error:
        for cause in _causes(error):
            meaning = _meaning(cause, address)
            if meaning is not None:
                raise meaning from error
        raise


def damaged(address: Address, detail: str) -> StoreRefused:
    """Return the refusal of a store that cannot be read as one."""
    return StoreRefused(
        f"The store {address.shown} is damaged or is no Rolltop store: {detail}.",
        hint="It was left untouched. Put a backup in its place while no server runs, or name "
        "another store with DATABASE_URL.",
    )


def _causes(error: BaseException) -> Generator[exc.SQLAlchemyError | sqlite3.Error]:
    """Return the error and those it followed: rolling back after a full disk fails as well."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, exc.SQLAlchemyError | sqlite3.Error):
            yield cause
        cause = cause.__context__


def _meaning(error: exc.SQLAlchemyError | sqlite3.Error, address: Address) -> RolltopError | None:
    if isinstance(error, exc.TimeoutError):
        return _unavailable(address, "every connection is in use")
    if isinstance(error, sqlite3.Error):
        return _sqlite_meaning(error, address)
    if not isinstance(error, exc.DBAPIError):
        return None
    if isinstance(error.orig, sqlite3.Error):
        return _sqlite_meaning(error.orig, address)
    return _postgresql_meaning(error, address)


def _sqlite_meaning(error: sqlite3.Error, address: Address) -> RolltopError | None:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in _SQLITE_DAMAGED:
        return damaged(address, str(error))
    reason = _SQLITE_REASONS.get(code)
    return None if reason is None else _unavailable(address, reason)


def _postgresql_meaning(error: exc.DBAPIError, address: Address) -> RolltopError | None:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    reason = _POSTGRESQL_REASONS.get(state) or _POSTGRESQL_CLASSES.get(state[:2])
    if reason is None and not state and isinstance(error, exc.OperationalError):
        reason = f"there is no connection ({_first_line(error.orig)})"
    if reason is None and error.connection_invalidated:
        reason = "the connection was lost"
    return None if reason is None else _unavailable(address, reason)


def _first_line(error: BaseException | None) -> str:
    """Return the driver's own first line: host, port and cause, never the password."""
    return (str(error).splitlines() or [""])[0].strip()


def _unavailable(address: Address, reason: str) -> Unavailable:
    return Unavailable(f"The store {address.shown} is out of reach: {reason}.", hint=_HINT)
