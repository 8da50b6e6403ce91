"""Driver errors turned into the coded ones: out of reach, or refused."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import exc

from rolltop.core.db.sqlite import error_code, library
from rolltop.core.db.url import DatabaseUrl
from rolltop.core.errors import (
    DiskError,
    IncompatibleStore,
    RolltopError,
    StoreKeyMismatch,
    Unavailable,
)

SQLITE_NOTADB: Final = library.SQLITE_NOTADB
SQLITE_DAMAGED: Final = {library.SQLITE_CORRUPT, SQLITE_NOTADB}
_NO_UTF8: Final = "Could not decode to UTF-8"
"""What the driver says, without a number, of a text that was not written as it is now."""
_SQLITE_REASONS: Final = {
    library.SQLITE_BUSY: "another process has kept it for too long",
    library.SQLITE_LOCKED: "another process has kept it for too long",
    library.SQLITE_FULL: "the disk is full",
    library.SQLITE_IOERR: "reading or writing its file failed",
    library.SQLITE_CANTOPEN: "its file cannot be opened",
    library.SQLITE_READONLY: "its file cannot be written",
    library.SQLITE_PERM: "its file may not be opened",
    library.SQLITE_PROTOCOL: "its file is locked in a way SQLite does not expect",
    library.SQLITE_INTERRUPT: "a statement passed its time limit",
}

_POSTGRESQL_REASONS: Final = {
    "25006": "the database takes no writes now",
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
_SHM_BYTES: Final = 32 * 1024
_HINT: Final = "Nothing of this call was kept; try again. `rolltop doctor` checks the store."
NOT_KEPT: Final = "Nothing of this call was kept."
_FULL_HINT: Final = "Nothing of this call was kept. Free some space, then try again."


@contextmanager
def map_driver_errors(address: DatabaseUrl) -> Generator[None]:
    """Raise Unavailable or IncompatibleStore for driver errors that mean one of them.

    Integrity errors, wrong statements and every other exception pass unchanged.
    """
    try:
        yield
    except RolltopError:
        raise
    except Exception as error:
        for cause in _cause_chain(error):
            meaning = _map_error(cause, address)
            if meaning is not None:
                raise meaning from error
        raise


def damaged_store_error(address: DatabaseUrl, detail: str) -> IncompatibleStore:
    """Return the refusal of a store that cannot be read as one."""
    return IncompatibleStore(
        f"The store {address.display_name} is damaged or is no Rolltop store: {detail}.",
        hint="It was left untouched. `rolltop restore FILE` puts a backup in its place while no "
        "server runs; DATABASE_URL names another store. One that is encrypted needs "
        "DB_ENCRYPTION_KEY.",
    )


@contextmanager
def watch_disk_errors(opening: Path | None = None) -> Generator[None]:
    """Raise DiskFailed where Unavailable means that the disk failed to read or write.

    While a store is only opened, in the folder `opening`, a disk without room for SQLite's -shm
    file has lost nothing: that is Unavailable.
    """
    try:
        yield
    except Unavailable as failure:
        if any(error_code(cause) == library.SQLITE_IOERR for cause in _cause_chain(failure)):
            if opening is not None and _is_full(opening):
                raise _unavailable_error(_SQLITE_REASONS[library.SQLITE_FULL]) from failure
            raise disk_error() from failure
        raise


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _SHM_BYTES
    except OSError:
        return False


def disk_error(kept: str = NOT_KEPT) -> DiskError:
    """Return the refusal of writes once one failed; `kept` says what became of this call's."""
    return DiskError(
        "The disk failed to keep what was written to the store.",
        hint=f"{kept} Check the disk, then restart every Rolltop server: until then this one "
        "writes nothing.",
    )


def not_encrypted_error(path: Path) -> StoreKeyMismatch:
    """Return the refusal of a plain store where the settings have a key."""
    return StoreKeyMismatch(
        f"DB_ENCRYPTION_KEY is set, and the store {path} is not encrypted.",
        hint="It was left untouched. Stop every Rolltop server and run `rolltop store encrypt`, "
        "or unset DB_ENCRYPTION_KEY.",
    )


def wrong_key_error(address: DatabaseUrl) -> StoreKeyMismatch:
    """Return the refusal of a store that a key does not open."""
    return StoreKeyMismatch(
        f"The store {address.display_name} does not open with DB_ENCRYPTION_KEY: the key is "
        "another, or the file's start is damaged.",
        hint="It was left untouched. Set the key it was encrypted with, and "
        "DB_ENCRYPTION_KDF_ITERATIONS as it was then.",
    )


def _cause_chain(error: BaseException) -> Generator[BaseException]:
    """Return the error and those it followed: rolling back after a full disk fails as well."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__context__


def _map_error(error: BaseException, address: DatabaseUrl) -> RolltopError | None:
    if isinstance(error, exc.TimeoutError):
        return _unavailable_error("every connection is in use")
    of_driver = error.orig if isinstance(error, exc.DBAPIError) else error
    code = error_code(of_driver)
    if code in SQLITE_DAMAGED:
        return damaged_store_error(address, str(of_driver))
    if code is not None:
        reason = _SQLITE_REASONS.get(code)
        return None if reason is None else _unavailable_error(reason)
    if address.path is not None and str(of_driver).startswith(_NO_UTF8):  # with the text itself
        return damaged_store_error(address, "a text in it is not UTF-8")
    if isinstance(error, exc.DBAPIError) and address.path is None:
        return _map_postgresql_error(error)
    return None


def _map_postgresql_error(error: exc.DBAPIError) -> RolltopError | None:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    detail = ""
    reason = _POSTGRESQL_REASONS.get(state) or _POSTGRESQL_CLASSES.get(state[:2])
    connecting = error.statement is None  # psycopg calls a wrong option of the URL a wrong program
    refused = isinstance(error, exc.OperationalError) or (
        connecting and isinstance(error, exc.ProgrammingError)
    )
    if reason is None and not state and refused:
        reason, detail = "there is no connection", first_line(error.orig)
    if reason is None and error.connection_invalidated:
        reason = "the connection was lost"
    return None if reason is None else _unavailable_error(reason, detail)


def first_line(error: BaseException | None) -> str:
    """Return the driver's own first line: host, port and cause, never the password."""
    return (str(error).splitlines() or [""])[0].strip()


def _unavailable_error(reason: str, detail: str = "") -> Unavailable:
    hint = _FULL_HINT if reason.endswith("disk is full") else _HINT
    return Unavailable(f"The store is out of reach: {reason}.", hint=hint, detail=detail)
