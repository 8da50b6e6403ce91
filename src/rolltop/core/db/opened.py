"""A store that is open: engines, and one transaction around one function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from sqlalchemy import exc, select

from rolltop.core.db.copying import copy_store
from rolltop.core.db.driver import chosen
from rolltop.core.db.engine import Limits, connect, migrating
from rolltop.core.db.failures import coded
from rolltop.core.db.opening import SQLITE_ENDINGS, beside, prepare
from rolltop.core.db.schema import users
from rolltop.core.errors import Invalid, Unavailable, UserGone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from rolltop.core.db.address import Address
    from rolltop.core.db.encryption import Encryption

T = TypeVar("T")
_IN_DOUBT: Final = "This call may have been kept: read what it was to change before trying again."


class OpenedStore:
    """The engines of a store whose schema is this program's."""

    def __init__(self, address: Address, limits: Limits, encryption: Encryption | None) -> None:
        """Open the store at `address`; blocks. Raises StoreRefused and Unavailable."""
        if address.path is not None:
            address = replace(address, path=address.path.resolve())
        self._address: Final = address
        self._limits: Final = limits
        self._driver: Final = chosen(encryption)
        with coded(address):
            prepare(address, limits, self._driver)
        self._engines: Final = connect(address, limits, self._driver)
        self._identity: Final = _identity(address.path)

    def read(self, function: Callable[[Connection], T]) -> T:
        """Return `function(connection)` of one transaction that sees one state of the store."""
        self._require_own_file()
        with coded(self._address), self._engines.reading.begin() as connection:
            return function(connection)

    def write(self, function: Callable[[Connection], T], owner: str = "") -> T:
        """Return `function(connection)` once its transaction is on disk; none of it on failure.

        What fails since the user `owner`, whose rows it writes, is gone, raises UserGone.
        A PostgreSQL that is lost while it commits may have kept all of it: the error says so.
        """
        committing = False
        try:
            with coded(self._address), self._engines.writing.begin() as connection:
                result = function(connection)
                self._require_own_file()
                committing = self._address.path is None
        except Unavailable as failure:
            if committing:
                raise Unavailable(failure.message, hint=_IN_DOUBT) from failure
            raise
        except exc.IntegrityError as failure:
            if owner and not self.read(lambda connection: _is_user(connection, owner)):
                raise UserGone from failure
            raise
        return result

    def maintain(self, function: Callable[[Connection], T]) -> T:
        """Return `function(connection)`, outside transactions and without a limit of time."""
        engine = migrating(self._address, self._limits, self._driver)
        alone = engine.execution_options(isolation_level="AUTOCOMMIT")
        with coded(self._address), alone.connect() as connection:
            connection.exec_driver_sql("SET statement_timeout = 0")
            return function(connection)

    def require_reachable(self) -> None:
        """Raise Unavailable when a statement cannot be answered."""
        self.read(lambda connection: connection.exec_driver_sql("SELECT 1 FROM rolltop_versions"))

    def require_writable(self) -> None:
        """Raise Unavailable when a write, which changes nothing, is not taken."""
        unchanged = "UPDATE rolltop_versions SET version_num = version_num WHERE 1 = 0"
        self.write(lambda connection: connection.exec_driver_sql(unchanged))

    def backup(self, target: Path) -> None:
        """Write a consistent copy to `target`, a free name. Raises Invalid, Unavailable.

        The copy of an encrypted store is encrypted with the same key.
        """
        source = self._address.path
        if source is None:
            raise Invalid(
                "A PostgreSQL store is backed up by its own tools.",
                hint="Use pg_dump.",
            )
        try:
            _require_free(target)
            with coded(self._address):
                copy_store(self._driver, source, target)
        except OSError as error:
            raise Unavailable(
                f"{target} cannot be written: {error.strerror}.", hint="Name another place."
            ) from error

    def dispose(self) -> None:
        """Close every idle connection."""
        self._engines.dispose()

    def _require_own_file(self) -> None:
        """Refuse to go on when the file was deleted or replaced.

        What is written to it would be lost, and what is read from it be out of date.
        """
        if self._address.path is not None and _identity(self._address.path) != self._identity:
            raise Unavailable(
                "The store was removed or replaced while it was open.",
                hint="Nothing of this call was kept. Restart Rolltop to open the file that lies "
                "at the store's place now, if any.",
            )


def _require_free(target: Path) -> None:
    """Make sure that a store can lie at `target`, with a log of its own. Raises Invalid."""
    for ending in ("", *SQLITE_ENDINGS):
        taken = beside(target, ending) if ending else target  # `/` is there, and has no name
        if taken.exists():
            raise Invalid(f"{taken} exists already.", hint="Name another file.")
    for ending in (*SQLITE_ENDINGS, ".partial"):
        owner = target.parent / target.name.removesuffix(ending)
        if owner.is_file():
            raise Invalid(
                f"{target} belongs to {owner}: it would be deleted when that is used.",
                hint="Name another file.",
            )


def _is_user(connection: Connection, owner: str) -> bool:
    return connection.execute(select(users.c.id).where(users.c.id == owner)).first() is not None


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Return what tells one file from another; None when there is none. Opens nothing."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
