"""From nothing, from an older schema, from something that is no store of ours."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database, file_lock
from rolltop.core.db.restore import restore_backup
from rolltop.core.errors import IncompatibleStore, Unavailable
from tests.forks import PATIENCE, Forked
from tests.postgresql import SUPERUSER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.databases import MakeDatabase
    from tests.postgresql import PostgreSQLServer

MAKE_NEWER = "UPDATE rolltop_versions SET version_num = 'core_9999' WHERE version_num LIKE 'core_%'"

OPEN_AND_ADD = """
import sys
from rolltop.core.accounts import add_user, ensure_default_user
from rolltop.core.db import SYSTEM, Database, migrator, store
print("ready")
for url in map(str.strip, sys.stdin):
    database = Database(url)
    database.open()
    print(database.write_sync(SYSTEM, ensure_default_user).id)
    database.write_sync(SYSTEM, add_user, sys.argv[1])
    database.close()
"""

ADD_AND_DIE = """
import os, signal, sys
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
Database(sys.argv[1]).write_sync(SYSTEM, add_user, "ada@x")
os.kill(os.getpid(), signal.SIGKILL)
"""


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return every file of the folder, the lock file apart. Nobody has a store open in it."""
    return {
        file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(".lock")
    }


def modes(place: Path) -> str:
    return oct(stat.S_IMODE(place.stat().st_mode))


def refused(database: Database) -> str:
    with pytest.raises(IncompatibleStore) as raised:
        database.open()
    assert "\n" not in raised.value.message + raised.value.hint
    return f"{raised.value.message} {raised.value.hint}"


def open_together(urls: Sequence[str]) -> list[list[str]]:
    """Let four processes open one new store after another; return each one's default users."""
    with ExitStack() as running:
        processes = [
            running.enter_context(Forked(["-c", OPEN_AND_ADD, f"{n}@x"])) for n in range(4)
        ]
        for process in processes:
            assert process.stdout.readline() == b"ready\n"
        for process in processes:
            process.stdin.write("".join(f"{url}\n" for url in urls).encode())
            process.stdin.flush()
        return [process.output().split() for process in processes]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_four_processes_that_open_a_new_store_together_all_get_it(
    kind: str,
    tmp_path: Path,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
) -> None:
    urls = [f"sqlite:///{tmp_path / str(n) / 'desk.db'}" for n in range(6)]
    if kind == "postgresql":
        urls = [postgres_url(), postgres_url()]
    for url, *defaults in zip(urls, *open_together(urls), strict=True):
        assert len(set(defaults)) == 1, "each process found the same default user"
        found = make_database(url).read_sync(SYSTEM, list_users)
        assert [user.email for user in found] == ["0@x", "1@x", "2@x", "3@x", "default@localhost"]


def test_a_store_is_opened_by_one_at_a_time(sqlite_url: str, tmp_path: Path) -> None:
    database = Database(sqlite_url)
    opening = threading.Thread(target=database.open)
    with file_lock.hold_file_lock(tmp_path / "store" / "desk.db.lock", timeout=1.0):
        opening.start()
        opening.join(0.3)
        assert opening.is_alive()
        assert not database.is_open()
    opening.join(PATIENCE)
    assert database.is_open()
    database.close()


def test_what_it_makes_is_for_this_user_alone_whatever_the_umask(
    tmp_path: Path, make_database: MakeDatabase
) -> None:
    tmp_path.chmod(0o755)
    before = os.umask(0)
    try:
        database = make_database(f"sqlite:///{tmp_path / 'a' / 'b' / 'desk.db'}")
        database.write_sync(SYSTEM, add_user, "ada@x")
    finally:
        os.umask(before)
    assert modes(tmp_path) == "0o755"
    assert {modes(tmp_path / "a"), modes(tmp_path / "a" / "b")} == {"0o700"}
    made = sorted((tmp_path / "a" / "b").iterdir())
    assert {file.name for file in made} >= {"desk.db", "desk.db-wal", "desk.db.lock"}
    assert {modes(file) for file in made} == {"0o600"}


def test_the_log_is_in_wal_mode_and_commits_are_flushed(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(sqlite_url)
    pragmas = ("journal_mode", "synchronous", "foreign_keys", "query_only")
    read = database.read_sync(
        SYSTEM,
        lambda tx: [tx.connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas],
    )
    written = database.write_sync(
        SYSTEM,
        lambda tx: [tx.connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas],
    )
    assert read == ["wal", 2, 1, 1]
    assert written == ["wal", 2, 1, 0]


@pytest.mark.parametrize(
    "content",
    [b"x" * 5000, b"just a note\n", b"SQLite format 3\0" + b"\xff" * 8000],
    ids=["noise", "short text", "broken header"],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "desk.db"
    file.write_bytes(content)
    said = refused(Database(f"sqlite:///{file}"))
    assert str(file) in said
    assert "`rolltop restore FILE` puts a backup in its place" in said
    assert bytes_of(tmp_path) == {"desk.db": content}


def test_a_damaged_store_is_refused_and_left_alone(sqlite_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    whole = (folder / "desk.db").read_bytes()
    (folder / "desk.db").write_bytes(whole[: len(whole) // 2])
    before = bytes_of(folder)
    database = Database(sqlite_url)
    assert str(folder / "desk.db") in refused(database)
    with pytest.raises(IncompatibleStore):
        database.read_sync(SYSTEM, list_users)
    assert bytes_of(folder) == before


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path, journal: str) -> None:
    file = tmp_path / "desk.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute("CREATE TABLE recipes (name)")
    before = bytes_of(tmp_path)
    assert "another program" in refused(Database(f"sqlite:///{file}"))
    assert bytes_of(tmp_path) == before


def test_a_newer_store_is_refused_and_left_alone(sqlite_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with closing(sqlite3.connect(folder / "desk.db")) as connection, connection:
        connection.execute(MAKE_NEWER)
    before = bytes_of(folder)
    said = refused(Database(sqlite_url))
    assert str(folder / "desk.db") in said
    assert "newer" in said
    assert "core_9999" in said
    assert bytes_of(folder) == before


def test_a_store_that_a_newer_program_migrates_is_let_alone_from_then_on(
    sqlite_url: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    database = make_database(sqlite_url)
    database.open()
    with closing(sqlite3.connect(tmp_path / "store" / "desk.db")) as connection, connection:
        connection.execute("VACUUM")
        connection.execute("CREATE INDEX of_mine ON users (created_at)")
        assert database.write_sync(SYSTEM, add_user, "kept@x").email == "kept@x"
        connection.execute("ALTER TABLE users ADD COLUMN colour TEXT")
        connection.execute(MAKE_NEWER)
    for ask in (
        lambda: database.write_sync(SYSTEM, add_user, "refused@x"),
        lambda: database.read_sync(SYSTEM, list_users),
        database.require_writable,
        lambda: asyncio.run(database.ping()),
    ):
        with pytest.raises(IncompatibleStore, match="migrated the store"):
            ask()


def test_a_newer_store_that_crashed_keeps_its_log(sqlite_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    source = (
        "import os, sys\n"
        "from sqlcipher3 import dbapi2 as sqlite3\n"
        "connection = sqlite3.connect(sys.argv[1])\n"
        f"connection.execute({MAKE_NEWER!r})\n"
        "connection.commit()\n"
        "os._exit(0)\n"
    )
    Forked(["-c", source, str(folder / "desk.db")]).output()
    before = {name: file for name, file in bytes_of(folder).items() if not name.endswith("-shm")}
    assert before["desk.db-wal"]
    assert "newer" in refused(Database(sqlite_url))
    after = bytes_of(folder)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_log_without_its_store_is_refused_and_left_alone(
    sqlite_url: str, tmp_path: Path, make_database: MakeDatabase, left: str
) -> None:
    folder = tmp_path / "store"
    with Forked(["-c", ADD_AND_DIE, sqlite_url]) as process:
        assert process.wait() < 0
    whole = (folder / "desk.db").read_bytes()
    (folder / "desk.db").unlink()
    if left == "an empty file":
        (folder / "desk.db").touch()
    before = bytes_of(folder)
    assert before["desk.db-wal"]
    said = refused(Database(sqlite_url))
    assert str(folder / "desk.db-wal") in said
    assert bytes_of(folder) == before
    (folder / "desk.db").write_bytes(whole)
    users = make_database(sqlite_url).read_sync(SYSTEM, list_users)
    assert [user.email for user in users] == ["ada@x"]


def test_a_newer_postgresql_store_is_refused(
    postgres_url: Callable[[], str], make_database: MakeDatabase
) -> None:
    url = postgres_url()
    make_database(url).close()
    with psycopg.connect(url) as connection:
        connection.execute(MAKE_NEWER)
    assert "core_9999" in refused(Database(url))


def test_another_programs_postgresql_database_is_refused(postgres_url: Callable[[], str]) -> None:
    url = postgres_url()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE users (name text)")
    assert "another program" in refused(Database(url))


def test_a_role_without_a_right_on_the_schema_is_told_which(
    postgres_url: Callable[[], str], postgresql_server: PostgreSQLServer
) -> None:
    url = postgres_url()
    name = url.partition("@/")[2].partition("?")[0]
    database = Database(url)
    with psycopg.connect(postgresql_server.url(name, SUPERUSER)) as connection:
        connection.execute("ALTER SCHEMA public OWNER TO postgres")
    with pytest.raises(Unavailable, match="its role lacks a right") as raised:
        database.open()
    assert "permission denied for schema public" in raised.value.full_message
    assert "GRANT CREATE" in raised.value.hint
    with psycopg.connect(postgresql_server.url(name, SUPERUSER)) as connection:
        connection.execute("GRANT CREATE ON SCHEMA public TO rolltop")
    database.open()
    database.close()


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    database = Database(f"sqlite:///{tmp_path / 'file' / 'desk.db'}")
    for _ in range(2):
        with pytest.raises(Unavailable, match="cannot be made or opened"):
            database.open()


def test_a_refused_store_is_refused_to_each_transaction(tmp_path: Path) -> None:
    (tmp_path / "desk.db").write_bytes(b"x" * 5000)
    database = Database(f"sqlite:///{tmp_path / 'desk.db'}")
    with pytest.raises(IncompatibleStore):
        database.read_sync(SYSTEM, list_users)
    with pytest.raises(IncompatibleStore):
        database.write_sync(SYSTEM, add_user, "ada@x")
    assert not database.is_open()
    database.close()


def test_two_objects_of_one_process_open_one_new_store(
    empty_url: str, make_database: MakeDatabase
) -> None:
    first, second = Database(empty_url), Database(empty_url)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(Database.open, (first, second)))
    for database in (first, second):
        database.write_sync(SYSTEM, add_user, f"{id(database)}@x")
        database.close()
    assert len(make_database(empty_url).read_sync(SYSTEM, list_users)) == 2


def test_a_link_to_the_store_is_the_same_store(
    sqlite_url: str, tmp_path: Path, make_database: MakeDatabase
) -> None:
    make_database(sqlite_url).write_sync(SYSTEM, add_user, "ada@x")
    (tmp_path / "link.db").symlink_to(tmp_path / "store" / "desk.db")
    linked = make_database(f"sqlite:///{tmp_path / 'link.db'}")
    assert [user.email for user in linked.read_sync(SYSTEM, list_users)] == ["ada@x"]
    assert sorted(place.name for place in tmp_path.iterdir()) == ["link.db", "store"]


def test_no_store_is_begun_behind_a_link_to_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "mnt").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "mnt" / "desk")
    database = Database(f"sqlite:///{tmp_path / 'data' / 'desk.db'}")
    with pytest.raises(Unavailable, match="is a link into"):
        database.open()
    (tmp_path / "desk.db").symlink_to(tmp_path / "mnt" / "desk" / "desk.db")
    with pytest.raises(Unavailable, match="is a link into"):
        Database(f"sqlite:///{tmp_path / 'desk.db'}").open()
    with pytest.raises(Unavailable, match="is a link into"):
        database.exists()
    with pytest.raises(Unavailable, match="is a link into"):
        restore_backup(f"sqlite:///{tmp_path / 'desk.db'}", tmp_path / "backup.db", None)
    assert list((tmp_path / "mnt").iterdir()) == []
    (tmp_path / "mnt" / "desk").mkdir()
    database.open()
    database.close()


def test_a_link_to_itself_is_no_store(tmp_path: Path) -> None:
    link = tmp_path / "desk.db"
    link.symlink_to(link.name)
    database = Database(f"sqlite:///{link}")
    assert not database.exists()
    with pytest.raises(Unavailable, match="cannot be made or opened"):
        database.open()


def test_an_empty_file_is_no_new_store(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    file.touch()
    said = refused(Database(f"sqlite:///{file}"))
    assert f"{file} is empty" in said
    assert "`rolltop restore FILE`" in said
    assert "delete the file" in said
    assert bytes_of(tmp_path) == {"desk.db": b""}


def test_a_start_killed_before_it_wrote_anything_is_done_again(
    tmp_path: Path, make_database: MakeDatabase
) -> None:
    file = tmp_path / "desk.db"
    file.touch()
    file.with_name("desk.db.new").touch()
    assert make_database(f"sqlite:///{file}").read_sync(SYSTEM, list_users) == []
    assert not file.with_name("desk.db.new").exists()


def test_unfinished_copies_are_removed(sqlite_url: str, make_database: MakeDatabase) -> None:
    folder = Database(sqlite_url).path.parent  # pyright: ignore[reportOptionalMemberAccess]
    left = ["desk.db.partial", "desk.db.partial-journal", "desk.db.core_0001.bak.77.partial"]
    left += ["desk.db.old.77.partial", "desk.db.old.77.partial-journal"]
    for name in (*left, "desk.db.mine", "desk.db.partial-2026", "other.db.partial"):
        (folder / name).write_text("plain text of tasks")
    make_database(sqlite_url).close()
    there = {file.name for file in folder.iterdir()}
    assert not there & set(left)
    assert {"desk.db.mine", "desk.db.partial-2026", "other.db.partial"} <= there
