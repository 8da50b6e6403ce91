"""A store that is locked, full, gone, slow or restarting: coded errors, and nothing half done."""

from __future__ import annotations

import asyncio
import errno
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import text, update
from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.db.schema import users
from rolltop.core.errors import IncompatibleStore, Unavailable
from tests.forks import Forked
from tests.postgresql import SUPERUSER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.databases import MakeDatabase
    from tests.postgresql import PostgreSQLServer

LONG = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000)"
    " SELECT max(i) FROM n",
    "postgresql": "SELECT pg_sleep(30)",
}


def emails(tx: Tx) -> list[str]:
    return [user.email for user in list_users(tx)]


def take_long(tx: Tx) -> object:
    return tx.execute(text(LONG[tx.kind])).scalar()


def add_and_take_long(tx: Tx) -> None:
    add_user(tx, "lost@x")
    take_long(tx)


def hold_lock(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def test_a_store_kept_by_another_for_too_long_is_unavailable(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(sqlite_url, lock_timeout=0.2)
    assert database.path is not None
    database.write_sync(SYSTEM, add_user, "before@x")
    with closing(hold_lock(database.path)) as other:
        with pytest.raises(Unavailable, match="another process"):
            asyncio.run(database.write(SYSTEM, add_user, "during@x"))
        assert database.read_sync(SYSTEM, emails) == ["before@x"], "readers don't wait"
        other.execute("ROLLBACK")
    database.write_sync(SYSTEM, add_user, "after@x")
    assert database.read_sync(SYSTEM, emails) == ["after@x", "before@x"]


def test_a_write_owns_the_store_from_its_first_read(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    """Otherwise two that read and then write could only be told apart by failing one."""
    database, other = make_database(sqlite_url), make_database(sqlite_url, lock_timeout=0.1)

    def read_then_write(tx: Tx) -> None:
        before = len(emails(tx))
        with pytest.raises(Unavailable, match="another process"):
            other.write_sync(SYSTEM, add_user, "between@x")
        add_user(tx, f"{before + 1}@x")

    database.write_sync(SYSTEM, read_then_write)
    other.write_sync(SYSTEM, read_then_write_alone)
    assert database.read_sync(SYSTEM, emails) == ["1@x", "2@x"]


def read_then_write_alone(tx: Tx) -> None:
    add_user(tx, f"{len(emails(tx)) + 1}@x")


def test_a_row_kept_by_another_for_too_long_is_unavailable(
    postgresql_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(postgresql_url, lock_timeout=0.2)
    database.write_sync(SYSTEM, add_user, "ada@x")
    rename = update(users).values(email="eve@x")
    with psycopg.connect(postgresql_url) as other:
        other.execute("SELECT * FROM users FOR UPDATE")
        with pytest.raises(Unavailable, match="too long"):
            database.write_sync(SYSTEM, lambda tx: tx.execute(rename).rowcount)
    assert database.read_sync(SYSTEM, emails) == ["ada@x"]
    assert database.write_sync(SYSTEM, lambda tx: tx.execute(rename).rowcount) == 1


def test_a_connection_that_the_server_closed_is_replaced(
    postgresql_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(postgresql_url)
    for act in (database.read_sync, database.write_sync):
        own = act(SYSTEM, lambda tx: tx.execute(text("SELECT pg_backend_pid()")).scalar_one())
        with psycopg.connect(postgresql_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 600000)", [own])
        assert act(SYSTEM, emails) == []


END_AT_COMMIT = """
CREATE FUNCTION end_at_commit() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(30); RETURN NULL; END$$;
CREATE CONSTRAINT TRIGGER end_at_commit AFTER INSERT ON users DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION end_at_commit()
"""


def test_a_store_lost_while_it_commits_does_not_say_that_nothing_was_kept(
    postgres_url: Callable[[], str], make_database: MakeDatabase
) -> None:
    url = postgres_url()
    database = make_database(url)

    def lose_before_the_commit(tx: Tx) -> None:
        own = tx.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 600000)", [own])
        add_user(tx, "ada@x")

    with pytest.raises(Unavailable) as lost:
        database.write_sync(SYSTEM, lose_before_the_commit)
    assert "Nothing of this call was kept" in lost.value.hint
    with psycopg.connect(url) as connection:
        connection.execute(END_AT_COMMIT)
    with pytest.raises(Unavailable) as lost:
        database.write_sync(SYSTEM, add_user, "ada@x")
    assert "may have been kept" in lost.value.hint
    assert database.read_sync(SYSTEM, emails) == []


def test_a_statement_over_its_limit_ends_and_keeps_nothing(
    database_url: str, make_database: MakeDatabase
) -> None:
    patient = make_database(database_url)
    # Opened by the first of these, which may already be over its limit on a slow machine.
    database = Database(database_url, statement_timeout=0.2)
    with pytest.raises(Unavailable, match="time limit"):
        asyncio.run(database.read(SYSTEM, take_long))
    with pytest.raises(Unavailable, match="time limit"):
        asyncio.run(database.write(SYSTEM, add_and_take_long))
    database.close()
    patient.write_sync(SYSTEM, add_user, "after@x")
    assert patient.read_sync(SYSTEM, emails) == ["after@x"]


def add_plainly(tx: Tx, email: str) -> None:
    tx.connection.exec_driver_sql("PRAGMA max_page_count = 40")
    add_user(tx, email)


def add_in_a_savepoint(tx: Tx, email: str) -> None:
    tx.connection.exec_driver_sql("PRAGMA max_page_count = 40")
    with tx.connection.begin_nested():
        tx.execute(users.insert().values(id=str(uuid.uuid4()), email=email, created_at=tx.now))


@pytest.mark.parametrize("add", [add_plainly, add_in_a_savepoint])
def test_a_full_store_keeps_what_it_has(
    add: Callable[[Tx, str], None], sqlite_url: str, make_database: MakeDatabase
) -> None:
    """A full disk can end the whole transaction: then there is no savepoint to go back to."""
    database = make_database(sqlite_url)
    kept: list[str] = []

    def fill_up() -> None:
        while len(kept) < 5000:
            email = f"{len(kept):0200}@x"
            database.write_sync(SYSTEM, add, email)
            kept.append(email)

    with pytest.raises(Unavailable, match="disk is full"):
        fill_up()
    assert kept
    assert database.read_sync(SYSTEM, emails) == sorted(kept)
    assert database.path is not None
    with closing(sqlite3.connect(database.path)) as other:
        assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


FILL_UP = """
import resource, sys
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import Unavailable
database = Database(sys.argv[1])
database.open()
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
for number in range(5000):
    try:
        database.write_sync(SYSTEM, add_user, f"{number:0200}@x")
    except Unavailable:
        print("unavailable")
        break
    print("kept")
"""


def test_a_file_that_may_not_grow_loses_nothing_acknowledged(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    printed = Forked(["-c", FILL_UP, sqlite_url]).output()
    *acknowledged, last = printed.splitlines()
    assert last == "unavailable"
    assert acknowledged
    assert set(acknowledged) == {"kept"}
    database = make_database(sqlite_url)
    assert len(database.read_sync(SYSTEM, emails)) == len(acknowledged)
    database.write_sync(SYSTEM, add_user, "after@x")


OPEN_ON_A_FULL_DISK = """
import resource, shutil, sys
from collections import namedtuple
from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import Unavailable
database = Database(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, -1))
shutil.disk_usage = lambda _folder: namedtuple("Usage", "free")(0)
for ask in (database.read_sync, database.write_sync):
    try:
        ask(SYSTEM, list_users)
        print("opened")
    except Unavailable as failure:
        print(type(failure).__name__, failure.message, failure.hint)
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
database.write_sync(SYSTEM, add_user, "kept@x")
print(*(user.email for user in database.read_sync(SYSTEM, list_users)))
"""


def test_a_store_without_room_for_its_locks_opens_once_there_is_some(sqlite_url: str) -> None:
    *refused, read = Forked(["-c", OPEN_ON_A_FULL_DISK, sqlite_url]).output().splitlines()
    for said in refused:
        assert said.startswith("Unavailable The store is out of reach: the disk is full.")
        assert "Free some space, then try again" in said
    assert len(refused) == 2
    assert read == "kept@x"


FAIL_ONCE = """
import resource, sys
from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import Unavailable
database = Database(sys.argv[1])
database.write_sync(SYSTEM, add_user, "kept@x")
for limit, email in ((8192, "lost@x"), (-1, "refused@x")):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
    try:
        database.write_sync(SYSTEM, add_user, email)
        print("kept")
    except Unavailable as failure:
        print(failure.message, failure.hint)
print(*(user.email for user in database.read_sync(SYSTEM, list_users)))
"""


def test_after_a_write_that_the_disk_refused_nothing_is_acknowledged(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    """The system may tell only once that it has dropped what was written."""
    failed, refused, read = Forked(["-c", FAIL_ONCE, sqlite_url]).output().splitlines()
    assert "failed to keep what was written" in failed
    assert "This call may have been kept" in failed
    assert "Nothing of this call was kept" in refused
    assert "restart every Rolltop server" in refused
    assert read == "kept@x"
    database = make_database(sqlite_url)
    database.write_sync(SYSTEM, add_user, "after@x")
    assert {"after@x", "kept@x"} <= set(database.read_sync(SYSTEM, emails))


BACK_UP_WITHOUT_ROOM = """
import pathlib, resource, sys
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import Unavailable
database = Database(sys.argv[1])
database.write_sync(SYSTEM, add_user, "kept@x")
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, -1))
try:
    database.backup(pathlib.Path(sys.argv[2]))
except Unavailable as failure:
    print(failure.message, failure.hint)
"""


def test_a_backup_that_has_no_room_names_the_copy(sqlite_url: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    said = Forked(["-c", BACK_UP_WITHOUT_ROOM, sqlite_url, str(copy)]).output()
    assert said.startswith(f"The store cannot be copied to {copy}: ")
    assert "room" in said
    assert not list(tmp_path.glob("copy.db*"))


def test_a_store_whose_name_the_disk_did_not_keep_is_not_opened(
    sqlite_url: str, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself takes no notice: with the name of its log, commits would be lost."""
    make_database(sqlite_url).open()

    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    database = Database(sqlite_url)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(Unavailable, match="failed to keep"):
            database.write_sync(SYSTEM, add_user, "lost@x")
    with pytest.raises(Unavailable, match="failed to keep") as refused:
        database.write_sync(SYSTEM, add_user, "lost@x")
    assert "restart every Rolltop server" in (refused.value.hint or "")
    database = make_database(sqlite_url)
    assert database.read_sync(SYSTEM, emails) == []


def test_a_store_damaged_while_open_is_refused(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(sqlite_url)
    for number in range(50):
        database.write_sync(SYSTEM, add_user, f"{number:0200}@x")
    database.close()
    database = make_database(sqlite_url)
    assert database.path is not None
    size = database.path.stat().st_size
    with database.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(IncompatibleStore, match=r"desk\.db is damaged"):
        database.read_sync(SYSTEM, emails)


def test_a_store_replaced_while_open_is_neither_read_nor_written_any_more(
    sqlite_url: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    database = make_database(sqlite_url)
    database.write_sync(SYSTEM, add_user, "kept@x")
    assert database.path is not None
    database.backup(tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(database.path)
    with pytest.raises(Unavailable, match="replaced"):
        database.write_sync(SYSTEM, add_user, "lost@x")
    with pytest.raises(Unavailable, match="replaced"):
        database.read_sync(SYSTEM, emails)
    database.path.unlink()
    with pytest.raises(Unavailable, match="replaced"):
        asyncio.run(database.ping())


@pytest.mark.parametrize("kind", ["file", "loop"])
def test_a_store_whose_folder_is_something_else_by_now_is_out_of_reach(
    make_database: MakeDatabase, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    database = make_database(f"sqlite:///{folder / 'desk.db'}")
    database.write_sync(SYSTEM, add_user, "kept@x")
    folder.rename(tmp_path / "moved")
    if kind == "file":
        folder.touch()
    else:
        folder.symlink_to(folder)
    with pytest.raises(Unavailable, match="replaced"):
        database.read_sync(SYSTEM, emails)
    with pytest.raises(Unavailable, match="replaced"):
        database.write_sync(SYSTEM, add_user, "lost@x")


def test_a_server_that_restarts_is_found_again(
    own_postgresql_server: PostgreSQLServer, make_database: MakeDatabase
) -> None:
    server = own_postgresql_server
    database = make_database(server.url("postgres"))
    database.write_sync(SYSTEM, add_user, "before@x")
    server.stop()
    server.start()
    assert asyncio.run(database.read(SYSTEM, emails)) == ["before@x"], "the very next call works"
    server.stop()
    for _ in range(2):
        with pytest.raises(Unavailable, match="out of reach"):
            asyncio.run(database.ping())
        with pytest.raises(Unavailable, match="out of reach"):
            asyncio.run(database.write(SYSTEM, add_user, "during@x"))
    server.start()
    asyncio.run(database.ping())
    asyncio.run(database.write(SYSTEM, add_user, "after@x"))
    assert database.read_sync(SYSTEM, emails) == ["after@x", "before@x"]


def test_a_server_that_dies_during_a_write_keeps_none_of_it(
    own_postgresql_server: PostgreSQLServer, make_database: MakeDatabase
) -> None:
    server = own_postgresql_server
    database = make_database(server.url("postgres"))

    def add_and_stop(tx: Tx) -> None:
        add_user(tx, "lost@x")
        server.stop()
        add_user(tx, "never@x")

    with pytest.raises(Unavailable):
        asyncio.run(database.write(SYSTEM, add_and_stop))
    server.start()
    assert asyncio.run(database.read(SYSTEM, emails)) == []


def test_a_server_that_is_not_there_yet_is_found_when_it_is(
    own_postgresql_server: PostgreSQLServer,
) -> None:
    server = own_postgresql_server
    server.stop()
    database = Database(server.url("postgres"))
    with pytest.raises(Unavailable, match="out of reach") as raised:
        database.read_sync(SYSTEM, emails)
    assert raised.value.hint
    server.start()
    assert database.read_sync(SYSTEM, emails) == []
    database.close()


def test_a_write_whose_second_copy_was_given_up_is_not_called_kept(
    own_postgresql_server: PostgreSQLServer, make_database: MakeDatabase
) -> None:
    server = own_postgresql_server
    database = make_database(server.url("postgres"))
    server.stop()
    server.start(synchronous_standby_names="nobody", lc_messages="C")
    give_up = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with (
        psycopg.connect(server.url("postgres", SUPERUSER), autocommit=True) as operator,
        ThreadPoolExecutor(1) as threads,
    ):
        writing = threads.submit(database.write_sync, SYSTEM, add_user, "ann@x")
        while not operator.execute(give_up).fetchall():
            assert not writing.done()
        with pytest.raises(Unavailable, match="second copy") as raised:
            writing.result()
    assert "may have been kept" in raised.value.hint
    server.stop()
    server.start()
    database.write_sync(SYSTEM, add_user, "ben@x")
    assert database.read_sync(SYSTEM, emails) == ["ann@x", "ben@x"]


def test_what_is_sent_to_a_server_that_is_gone_is_given_up_within_a_minute(
    migrated_url: str, make_database: MakeDatabase
) -> None:
    def given(tx: Tx) -> dict[str, str]:
        driver = tx.connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        return driver.info.get_parameters()

    # By the operating system, which goes on sending for a quarter of an hour otherwise.
    parameters = make_database(migrated_url).read_sync(SYSTEM, given)
    silent = [int(parameters[f"keepalives_{name}"]) for name in ("idle", "interval", "count")]
    assert silent[0] + silent[1] * silent[2] <= 60
    assert parameters["tcp_user_timeout"] == "60000"


def test_an_option_that_postgresql_does_not_know_is_named() -> None:
    database = Database("postgresql://ada:secret@127.0.0.1:1/desk?ssl_mode=require")
    with pytest.raises(Unavailable) as raised:
        database.open()
    assert "ssl_mode" in raised.value.full_message
    assert "secret" not in raised.value.full_message
