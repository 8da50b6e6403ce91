"""A backup put in the place of a store, which is kept beside it."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.core.db import file_lock
from rolltop.core.db.backup import (
    backup_connection,
    backup_store,
    fsync_directory,
    require_format,
)
from rolltop.core.db.bootstrap import (
    OWN_SUFFIXES,
    SQLITE_SUFFIXES,
    beside,
    inspect_sqlite,
    make_directory,
    require_known,
    resolve_links,
)
from rolltop.core.db.driver import Driver
from rolltop.core.db.driver_errors import map_driver_errors
from rolltop.core.db.encryption import Encryption, require_encryption_support
from rolltop.core.db.rekey import acquire_exclusively
from rolltop.core.db.sqlite import real_path
from rolltop.core.db.url import DatabaseUrl, parse_url
from rolltop.core.errors import IncompatibleStore, InvalidArgument, NotFound, Unavailable
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from rolltop.core.db import postgres_dump
else:  # the driver comes with the extra
    postgres_dump = lazy("rolltop.core.db.postgres_dump")

_LOCK_TIMEOUT: Final = 10.0  # seconds


def restore_backup(url: str, backup: Path, encryption: Encryption | None) -> Path | None:
    """Make the store at `url` what `backup` holds; return where its content before is kept.

    That is a log alone where the store's own file is gone.

    Blocks while it copies. The backup itself is only read, and opens as the store does, with the
    same key. Killed at any moment, the old store or the new one is there, whole; one that cannot
    be read is kept by its files' names, and may be that already. No `Database` of this process
    may have the store open.

    Raises:
        InvalidArgument: the backup is the store itself, belongs to it or is of another database,
        or PostgreSQL's database holds a store.
        NotFound: there is no such backup.
        IncompatibleStore: the backup is no store, a newer one, or does not open with the key.
        Unavailable: somebody has the store open, or its disk fails. The store is as it was.

    """
    address = parse_url(url)
    if encryption is not None:
        require_encryption_support(address)
    if address.path is None:
        postgres_dump.load_dump(address, backup)
        return None
    path, given = resolve_links(address.path), real_path(backup)
    try:
        if not backup.is_file():
            raise NotFound(f"There is no file {backup}.", hint="Name a file `rolltop backup` made.")
        _require_different_file(backup, path)
        require_format(backup, "SQLite")
        named = replace(address, path=given)
        with map_driver_errors(named):
            require_known(named, given, Driver(encryption))
        make_directory(path.parent)
        with (
            map_driver_errors(address),
            file_lock.hold_file_lock(beside(path, ".lock"), timeout=_LOCK_TIMEOUT),
        ):
            return _replace_with_backup(address, path, given, encryption)
    except OSError as error:
        raise Unavailable(
            f"The store {path} cannot be replaced: {error.strerror}.", hint="It is as it was."
        ) from error


def _require_different_file(backup: Path, path: Path) -> None:
    """Make sure that a backup is not the store at `path`, nor a file that goes with it."""
    if path.exists() and path.samefile(backup):
        raise InvalidArgument(
            f"{backup} is the store itself.", hint="Name a file `rolltop backup` made."
        )
    for own in (beside(path, ending) for ending in OWN_SUFFIXES):
        if own.exists() and own.samefile(backup):
            raise InvalidArgument(
                f"{backup} belongs to the store {path}: it would be deleted.",
                hint="Copy it to another name, and restore the copy.",
            )


def _replace_with_backup(
    address: DatabaseUrl, path: Path, backup: Path, encryption: Encryption | None
) -> Path | None:
    new = beside(path, ".partial")
    kept = beside(path, f".{datetime.now(UTC):%Y%m%dT%H%M%S%f}.bak")
    try:
        backup_store(Driver(encryption), backup, new)
        if not path.exists():
            return _swap_in(path, new, kept)
        try:
            with map_driver_errors(address):
                inspect_sqlite(address, path, Driver(encryption))
                return _replace_exclusively(path, new, kept, Driver(encryption))
        except IncompatibleStore:  # it is damaged, or its key is another: nothing can be copied
            with file_lock.lock_unused_store(path):
                return _swap_in(path, new, kept)
    finally:
        new.unlink(missing_ok=True)


def _replace_exclusively(path: Path, new: Path, kept: Path, driver: Driver) -> Path:
    """Replace a store while nobody else can get at it; return its copy."""
    with closing(driver.connect(path, timeout=_LOCK_TIMEOUT)) as held:
        acquire_exclusively(held, path)
        backup_connection(driver, held, kept)
        if sys.platform == "win32":
            held.close()  # a file that is open cannot be replaced there
        new.replace(path)
        fsync_directory(path.parent)
    return kept


def _swap_in(path: Path, new: Path, kept: Path) -> Path | None:
    """Replace what is left of a store; return what it is called now."""
    left = _move_aside(path, kept)
    new.replace(path)
    fsync_directory(path.parent)
    return left


def _move_aside(path: Path, kept: Path) -> Path | None:
    """Give the files of a store, as many as are there, the name `kept`; return the first's.

    A log that stayed would be played into the new store. The store goes first: its log alone is
    not taken for a store, should this be killed.
    """
    there = [ending for ending in ("", *SQLITE_SUFFIXES) if beside(path, ending).exists()]
    moved = [beside(path, ending).rename(beside(kept, ending)) for ending in there]
    return moved[0] if moved else None
