"""A store that is open: engines, and one transaction around one function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from sqlalchemy import Connection, exc, select

from rolltop.core.db import revisions
from rolltop.core.db.backup import backup_store, fsync_directory
from rolltop.core.db.bootstrap import (
    OWN_SUFFIXES,
    SQLITE_SUFFIXES,
    log_in_use_error,
    prepare_store,
    resolve_links,
)
from rolltop.core.db.database import Tx
from rolltop.core.db.driver import Driver
from rolltop.core.db.driver_errors import (
    NOT_KEPT,
    damaged_store_error,
    disk_error,
    map_driver_errors,
    watch_disk_errors,
)
from rolltop.core.db.encryption import Encryption
from rolltop.core.db.engine import (
    EngineLimits,
    begin_as,
    create_engines,
    driver_connection,
    require_second_copy,
)
from rolltop.core.db.open_files import OpenFiles
from rolltop.core.db.schema import users
from rolltop.core.db.sqlite import beside
from rolltop.core.db.url import DatabaseUrl
from rolltop.core.errors import (
    DiskError,
    IncompatibleStore,
    InvalidArgument,
    Unavailable,
    UserDeleted,
)
from rolltop.core.journal import writer as journal_writer
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from rolltop.core.db import postgres_dump
else:  # the driver comes with the extra
    postgres_dump = lazy("rolltop.core.db.postgres_dump")

T = TypeVar("T")
_IN_DOUBT: Final = "This call may have been kept: read what it was to change before trying again."


class OpenStore:
    """The engines of a store whose schema is this program's."""

    def __init__(
        self, address: DatabaseUrl, limits: EngineLimits, encryption: Encryption | None
    ) -> None:
        """Open the store at `address`; blocks. Raises IncompatibleStore and Unavailable."""
        if address.path is not None:
            address = replace(address, path=resolve_links(address.path))
        self._address: Final = address
        self._limits: Final = limits
        self._driver: Final = Driver(encryption)
        with watch_disk_errors(address.path.parent if address.path else None):
            with map_driver_errors(address):
                prepare_store(address, limits, self._driver)
            self._files: Final = self._open_files()
        self._engines: Final = create_engines(
            address, limits, self._driver, journal_writer.install_triggers
        )
        self._revisions: Final = revisions.heads(revisions.branches())
        self._schema_version = 0
        """SQLite's own count of changes of the schema, as of the last look at the revisions."""
        self._is_disk_failed = False

    def read(self, function: Callable[[Connection], T], tenant: str | None) -> T:
        """Return `function(connection)` of one transaction that sees one state of the store.

        On PostgreSQL it sees the rows of one tenant or, for None, of all. Raises IncompatibleStore
        once another program has migrated the store.
        """
        self._require_own_files()
        with map_driver_errors(self._address), self._engines.read.begin() as connection:
            self._begin(connection, tenant)
            return function(connection)

    def write(self, function: Callable[[Connection], T], tenant: str | None, owner: str = "") -> T:
        """Return `function(connection)` once its transaction is on disk; none of it on failure.

        What fails since the user `owner`, whose rows it writes, is gone, raises UserDeleted.
        A database that is lost while it commits may have kept all of it: the error says so. Once a
        disk has failed to keep a write, raises DiskFailed whatever is written.
        """
        if self._is_disk_failed:
            raise disk_error()
        self._require_own_files()
        committing = False
        try:
            with (
                watch_disk_errors(),
                map_driver_errors(self._address),
                self._engines.write.connect() as connection,
            ):
                with connection.begin():
                    self._begin(connection, tenant)
                    result = function(connection)
                    self._require_own_files()
                    committing = self._address.path is None
                require_second_copy(connection)
            self._require_own_files(_IN_DOUBT)
        except DiskError as failure:
            self._is_disk_failed = True
            raise disk_error(_IN_DOUBT) from failure
        except Unavailable as failure:
            if committing:
                raise Unavailable(
                    failure.message, hint=_IN_DOUBT, detail=failure.detail
                ) from failure
            raise
        except exc.IntegrityError as failure:
            if owner and not self.read(lambda connection: _is_user(connection, owner), None):
                raise UserDeleted from failure
            raise
        return result

    def append_entries(self, tx: Tx) -> None:
        """Write what a transaction has changed into the journal, as the last thing it does."""
        journal_writer.append_entries(tx)

    def require_reachable(self) -> None:
        """Raise Unavailable when a statement cannot be answered, or no write is taken any more."""
        if self._is_disk_failed:
            raise disk_error()
        stored = "SELECT 1 FROM rolltop_versions"
        self.read(lambda connection: connection.exec_driver_sql(stored), None)

    def require_writable(self) -> None:
        """Raise Unavailable when a write, which changes nothing, is not taken."""
        unchanged = "UPDATE rolltop_versions SET version_num = version_num WHERE 1 = 0"
        self.write(lambda connection: connection.exec_driver_sql(unchanged), None)

    def backup(self, target: Path) -> None:
        """Write a consistent copy to `target`, a free name.

        The copy of an encrypted store is encrypted with the same key. Raises InvalidArgument,
        Unavailable and, rather than copy a damaged SQLite store, IncompatibleStore.
        """
        source = self._address.path
        try:
            _require_free(target)
            if source is None:
                postgres_dump.dump_store(self._address, target, partial(self.read, tenant=None))
                return
            with map_driver_errors(self._address):
                self._require_undamaged(source)
                backup_store(self._driver, source, target)
        except OSError as error:
            raise Unavailable(
                f"{target} cannot be written: {error.strerror}.", hint="Name another place."
            ) from error

    def _require_undamaged(self, path: Path) -> None:
        with closing(self._driver.connect(path)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged_store_error(self._address, " ".join(found.split()))

    def dispose(self) -> None:
        """Close every idle connection; SQLite's last one writes the log back into the store."""
        if self._files:
            self._files.allow_checkpoint()
        self._engines.dispose()
        if self._files:
            self._files.close()

    def _begin(self, connection: Connection, tenant: str | None) -> None:
        if self._address.path is None:
            begin_as(connection, tenant)
        else:
            self._require_own_schema(connection)

    def _require_own_schema(self, connection: Connection) -> None:
        """Refuse to go on once a newer program has migrated the store. Costs 5 µs."""
        driver = driver_connection(connection)
        ((version,),) = driver.execute("PRAGMA schema_version").fetchall()
        if version == self._schema_version:
            return
        stored = driver.execute("SELECT version_num FROM rolltop_versions")
        if frozenset(name for (name,) in stored) != self._revisions:
            raise IncompatibleStore(
                f"Another Rolltop has migrated the store {self._address.display_name} since this "
                "one opened it.",
                hint=f"{NOT_KEPT} Restart every server of this store, all of one version.",
            )
        self._schema_version = version

    def _open_files(self) -> OpenFiles | None:
        if self._address.path is None:
            return None
        with map_driver_errors(self._address):
            files = OpenFiles(self._address.path, self._driver)
            if files.find_lost_file():
                files.close()
                raise log_in_use_error(self._address.path)
            try:  # SQLite syncs the log's name as well, and takes no notice if that fails
                fsync_directory(self._address.path.parent)
            except OSError as error:
                files.close()
                raise disk_error() from error
            return files

    def _require_own_files(self, kept: str = NOT_KEPT) -> None:
        """Refuse to go on when the store, its log or its locks were removed or replaced.

        What is written would be lost, and what is read be out of date.
        """
        lost = self._files.find_lost_file() if self._files else ""
        if lost:
            raise Unavailable(
                f"The store's file {lost} was removed or replaced while it was open.",
                hint=f"{kept} Restart every Rolltop server, to open what lies at the store's "
                "place now, if anything.",
            )


def _require_free(target: Path) -> None:
    """Make sure that a store can lie at `target`, with a log of its own. Raises InvalidArgument."""
    for ending in OWN_SUFFIXES:
        owner = target.parent / target.name.removesuffix(ending)
        if owner.name != target.name and owner.is_file():
            raise InvalidArgument(
                f"{target} belongs to {owner}: it would be deleted when that is used.",
                hint="Name another file.",
            )
    for ending in ("", *SQLITE_SUFFIXES):
        taken = beside(target, ending) if ending else target  # `/` is there, and has no name
        if taken.exists():
            raise InvalidArgument(f"{taken} exists already.", hint="Name another file.")


def _is_user(connection: Connection, owner: str) -> bool:
    return connection.execute(select(users.c.id).where(users.c.id == owner)).first() is not None
