"""Fixtures for both databases: a fresh, opened store for each test.

One PostgreSQL server serves the whole run, also under pytest-xdist: the first worker that needs
it starts it, the controlling process stops it. Each worker has a database of its own, cloned
from a migrated template and emptied before each test. Without PostgreSQL the tests fail.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, event, update

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database, engine
from rolltop.core.db.schema import job_leases
from rolltop.core.principal import Principal
from tests.forks import PATIENCE
from tests.limits import DATABASE
from tests.postgresql import OWNER, SUPERUSER, PostgreSQLServer, new_folder, running

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from rolltop.core.db import Tx
    from rolltop.core.db.engine import EngineLimits
    from rolltop.core.db.url import DatabaseUrl

Kind = Literal["sqlite", "postgresql"]
KINDS: Final[tuple[Kind, ...]] = ("sqlite", "postgresql")

_SHARED: Final = "TESTS_FOLDER"
_TEMPLATE: Final = "rolltop_template"
_numbers: Final = itertools.count(1)


class Clock:
    """A clock that stands still until it is told to advance."""

    def __init__(self) -> None:
        """Start at a moment with microseconds."""
        self.now = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the moment it stands at."""
        return self.now

    def advance(self, **units: float) -> datetime:
        """Move on by a timedelta's units; return the new moment."""
        self.now += timedelta(**units)
        return self.now


def age_leases(tx: Tx, seconds: float) -> None:
    """Let every lease of a job be so much older by the database's clock, which nobody can move."""
    tx.execute(update(job_leases).values(expires_at=job_leases.c.expires_at - seconds))


class MakeDatabase(Protocol):
    """Opens the store at `url`, which is closed when the test ends."""

    def __call__(
        self,
        url: str,
        *,
        statement_timeout: float = DATABASE["statement_timeout"],
        lock_timeout: float = DATABASE["lock_timeout"],
        threads: int = 4,
    ) -> Database: ...


@event.listens_for(Engine, "do_connect")
def _give_time(
    _dialect: object, _record: object, _arguments: object, options: dict[str, Any]
) -> None:
    """Let every connection to PostgreSQL take its time, whatever the limits of the store."""
    if "connect_timeout" in options:
        options["connect_timeout"] = round(PATIENCE)


def pytest_configure(config: pytest.Config) -> None:
    """Make the run's folder, which workers find in their environment."""
    if not hasattr(config, "workerinput"):
        folder = new_folder()
        _remove_abandoned(folder.parent)
        (folder / "pid").write_text(str(os.getpid()))
        os.environ[_SHARED] = str(folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the run's server and remove its folder."""
    if not hasattr(config, "workerinput"):
        _remove(Path(os.environ.pop(_SHARED)))


@pytest.fixture
def clock() -> Clock:
    """Return a clock that stands still."""
    return Clock()


@pytest.fixture(scope="session")
def postgresql_server() -> PostgreSQLServer:
    """Return the run's server, started by whoever comes first."""
    folder = Path(os.environ[_SHARED])
    server = PostgreSQLServer(folder / "postgresql")
    with _alone(folder / "lock"):
        if not server.folder.exists():
            server.folder.mkdir()
            server.create()
            server.start()
            _create_database(server, _TEMPLATE)
            _open_and_close(server.url(_TEMPLATE))
    return server


@pytest.fixture
def own_postgresql_server() -> Iterator[PostgreSQLServer]:
    """Return a running server that the test may stop and start."""
    folder = Path(os.environ[_SHARED]) / f"own-{os.getpid()}-{next(_numbers)}"
    folder.mkdir()
    with running(folder) as server:
        yield server


@pytest.fixture
def postgres_url(postgresql_server: PostgreSQLServer) -> Iterator[Callable[[], str]]:
    """Return a factory of URLs of new, empty databases, which don't hold a schema yet."""
    made: list[str] = []

    def make() -> str:
        made.append(f"empty_{os.getpid()}_{next(_numbers)}")
        _create_database(postgresql_server, made[-1])
        return postgresql_server.url(made[-1])

    yield make
    for name in made:
        _drop_database(postgresql_server, name)


@pytest.fixture
def migrated_url(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    """Return the URL of a new PostgreSQL store, empty, of which the test may change everything."""
    name = f"migrated_{os.getpid()}_{next(_numbers)}"
    _clone_template(postgresql_server, name)
    yield postgresql_server.url(name)
    _drop_database(postgresql_server, name)


@pytest.fixture(scope="session")
def _worker_url(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    """Return the URL of this worker's own migrated database."""
    name = f"worker_{os.getpid()}"
    _clone_template(postgresql_server, name)
    with pytest.MonkeyPatch.context() as patch, _connections_kept(patch, name):
        yield postgresql_server.url(name)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a migrated, empty SQLite store that nobody has open."""
    file = tmp_path_factory.mktemp("template") / "desk.db"
    _open_and_close(f"sqlite:///{file}")
    return file


@pytest.fixture
def sqlite_url(sqlite_template: Path) -> Iterator[str]:
    """Return the URL of a fresh SQLite store in a folder of its own."""
    folder = Path(os.environ[_SHARED]) / f"store-{os.getpid()}-{next(_numbers)}"
    folder.mkdir(mode=0o700)
    shutil.copy(sqlite_template, folder / "desk.db")
    yield f"sqlite:///{folder / 'desk.db'}"
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def _emptying(
    _worker_url: str, postgresql_server: PostgreSQLServer
) -> Iterator[psycopg.Connection]:
    """Return a connection that empties this worker's store, made once: each is a process."""
    url = postgresql_server.url(f"worker_{os.getpid()}", SUPERUSER)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def postgresql_url(_worker_url: str, _emptying: psycopg.Connection) -> str:
    """Return the URL of this worker's PostgreSQL store, emptied."""
    _empty(_emptying)
    return _worker_url


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a fresh store, once for each kind of database."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def empty_url(database_url: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a store that nobody has opened yet, once for each kind of database."""
    if database_url.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'new' / 'desk.db'}"
    make: Callable[[], str] = request.getfixturevalue("postgres_url")
    return make()


@pytest.fixture
def make_database(clock: Clock) -> Iterator[MakeDatabase]:
    """Return a factory of opened stores."""
    made: list[Database] = []

    def make(
        url: str,
        *,
        statement_timeout: float = DATABASE["statement_timeout"],
        lock_timeout: float = DATABASE["lock_timeout"],
        threads: int = 4,
    ) -> Database:
        database = Database(
            url,
            statement_timeout=statement_timeout,
            lock_timeout=lock_timeout,
            threads=threads,
            clock=clock,
        )
        made.append(database)
        database.open()
        return database

    yield make
    for database in made:
        database.close()


@pytest.fixture
def database(database_url: str, make_database: MakeDatabase) -> Database:
    """Return a fresh, opened store, once for each kind of database."""
    return make_database(database_url)


@pytest.fixture
def me(database: Database) -> Principal:
    """Return the scope of one user of `database`."""
    return Principal.for_user(database.write_sync(SYSTEM, add_user, "me@example.org").id)


@pytest.fixture
def them(database: Database) -> Principal:
    """Return the scope of another user of `database`."""
    return Principal.for_user(database.write_sync(SYSTEM, add_user, "them@example.org").id)


def connect_as_system(url: str) -> psycopg.Connection:
    """Connect to a PostgreSQL store by the driver alone, as one who sees the rows of all."""
    return psycopg.connect(url, options="-c rolltop.tenant=*")


@contextmanager
def _connections_kept(patch: pytest.MonkeyPatch, database: str) -> Generator[None]:
    """Let a store's connections outlive it and serve the next one that is opened there.

    A connection is a process of the server's; making two takes half of what a small test does.
    """
    make: Callable[..., Engine] = vars(engine)["_postgresql_engine"]
    dispose = engine.Engines.dispose
    kept: dict[EngineLimits, Engine] = {}

    def find(address: DatabaseUrl, limits: EngineLimits, *, single: bool = False) -> Engine:
        if f"/{database}?" not in address.url:
            return make(address, limits, single=single)
        if limits not in kept:
            kept[limits] = make(address, limits)
        return kept[limits]

    def dispose_others(engines: engine.Engines) -> None:
        if engines.write not in kept.values():
            dispose(engines)

    patch.setattr(engine, "_postgresql_engine", find)
    patch.setattr(engine.Engines, "dispose", dispose_others)
    yield
    for one in kept.values():
        one.dispose()


def _empty(connection: psycopg.Connection) -> None:
    """Delete every row of a PostgreSQL store, its schema's versions apart."""
    tables = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        " AND tablename <> 'rolltop_versions'"
    ).fetchall()
    # What is sent together is one transaction and one way there and back.
    in_any_order = sql.SQL("SET LOCAL session_replication_role = replica")
    deleting = [sql.SQL("DELETE FROM {}").format(sql.Identifier(name)) for (name,) in tables]
    connection.execute(sql.SQL("; ").join([in_any_order, *deleting]))


def _create_database(server: PostgreSQLServer, name: str, template: str = "template1") -> None:
    statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY FILE_COPY").format(
        sql.Identifier(name), sql.Identifier(OWNER), sql.Identifier(template)
    )
    with psycopg.connect(server.url("postgres", SUPERUSER), autocommit=True) as connection:
        connection.execute(statement)


def _clone_template(server: PostgreSQLServer, name: str) -> None:
    with _alone(Path(os.environ[_SHARED]) / "lock"):  # a template may have one user at a time
        _create_database(server, name, template=_TEMPLATE)


def _drop_database(server: PostgreSQLServer, name: str) -> None:
    statement = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
    with psycopg.connect(server.url("postgres", SUPERUSER), autocommit=True) as connection:
        connection.execute(statement)


def _open_and_close(url: str) -> None:
    database = Database(url)
    database.open()
    database.close()


@contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Hold a lock between the run's workers."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_abandoned(place: Path) -> None:
    """Remove what earlier runs that were killed have left."""
    for folder in place.glob("rolltop-tests-*"):
        with suppress(FileNotFoundError, PermissionError, ValueError):
            if not _is_alive(int((folder / "pid").read_text())):
                _remove(folder)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove(folder: Path) -> None:
    for process_file in folder.glob("*/data/postmaster.pid"):
        with suppress(RuntimeError):  # it was killed, or another run stops it
            PostgreSQLServer(process_file.parents[1]).stop()
    shutil.rmtree(folder, ignore_errors=True)
