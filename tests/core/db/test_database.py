"""Transactions: whole or not at all, one snapshot, bounded, fair, safe to cancel."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.db.schema import access_tokens, users
from rolltop.core.errors import InvalidArgument, Unavailable, UserDeleted
from rolltop.core.principal import Principal
from tests.forks import PATIENCE, Forked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.databases import Clock, MakeDatabase

# Makes a backup, and waits for a line before the copy gets its name.
WAITING_BACKUP = """
import pathlib, sys
from rolltop.core.db import Database, backup
original = backup.fsync_file
def wait(file):
    print("written", flush=True)
    sys.stdin.readline()
    original(file)
backup.fsync_file = wait
Database(sys.argv[1]).backup(pathlib.Path(sys.argv[2]))
"""


def emails(tx: Tx) -> list[str]:
    return [user.email for user in list_users(tx)]


def test_importing_the_package_and_making_an_object_load_no_database_library() -> None:
    source = (
        "import sys\n"
        "from rolltop.core.db import Database\n"
        "Database('sqlite:////nowhere/desk.db')\n"
        "heavy = ('sqlalchemy', 'sqlcipher3', 'sqlite3', 'psycopg', 'alembic')\n"
        "print([m for m in heavy if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "[]"


def test_a_write_is_there_for_every_later_reader(
    database: Database, database_url: str, make_database: MakeDatabase
) -> None:
    other = make_database(database_url)
    user = asyncio.run(database.write(SYSTEM, add_user, "ada@example.org"))
    assert user.created_at == datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
    assert other.read_sync(SYSTEM, list_users) == [user]
    assert asyncio.run(other.read(SYSTEM, list_users)) == [user]


def test_a_write_that_raises_leaves_nothing(database: Database) -> None:
    def add_and_fail(tx: Tx) -> None:
        add_user(tx, "ada@example.org")
        raise LookupError("halfway")

    with pytest.raises(LookupError, match="halfway"):
        asyncio.run(database.write(SYSTEM, add_and_fail))
    with pytest.raises(LookupError, match="halfway"):
        database.write_sync(SYSTEM, add_and_fail)
    assert database.read_sync(SYSTEM, emails) == []


def test_reading_transactions_cannot_write(database: Database) -> None:
    with pytest.raises((Unavailable, DBAPIError)):
        database.read_sync(SYSTEM, add_user, "ada@example.org")
    assert database.read_sync(SYSTEM, emails) == []


def test_a_reader_sees_one_state_while_others_write(database: Database) -> None:
    def read_around_a_write(tx: Tx) -> tuple[list[str], list[str]]:
        before = emails(tx)
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(database.write_sync, SYSTEM, add_user, "new@example.org").result()
        return before, emails(tx)

    database.write_sync(SYSTEM, add_user, "old@example.org")
    before, after = database.read_sync(SYSTEM, read_around_a_write)
    assert before == after == ["old@example.org"]
    assert database.read_sync(SYSTEM, emails) == ["new@example.org", "old@example.org"]


def test_integrity_errors_pass_as_they_are(database: Database) -> None:
    def add_twice(tx: Tx) -> None:
        values = {"email": "ada@example.org", "created_at": tx.now}
        tx.execute(users.insert(), {"id": "5b1d7b32-6ef1-4be2-8b92-3b6a5a0f0001", **values})
        tx.execute(users.insert(), {"id": "5b1d7b32-6ef1-4be2-8b92-3b6a5a0f0002", **values})

    with pytest.raises(IntegrityError) as raised:
        database.write_sync(SYSTEM, add_twice)
    assert "ada@example.org" not in str(raised.value).partition("DETAIL")[0]
    assert database.read_sync(SYSTEM, emails) == []


def test_a_write_for_a_user_who_is_gone_says_so(database: Database) -> None:
    def add_tokens(tx: Tx, count: int) -> None:
        owner = tx.scope.user_id
        values = {"name": "t", "token_hash": owner, "read_only": False, "created_at": tx.now}
        for _ in range(count):
            new = {"id": str(uuid.uuid4()), "user_id": owner, **values}
            tx.execute(access_tokens.insert(), new)

    there, gone = database.write_sync(SYSTEM, add_user, "ada@example.org").id, str(uuid.uuid4())
    with pytest.raises(UserDeleted):
        database.write_sync(Principal.for_user(gone), add_tokens, 1)
    with pytest.raises(IntegrityError):  # a fault of who wrote the statement
        database.write_sync(Principal.for_user(there), add_tokens, 2)


def test_an_error_never_shows_the_values_of_a_statement(database: Database) -> None:
    def broken(tx: Tx) -> None:
        tx.execute(select(func.no_such_function("a secret")))

    with pytest.raises(DBAPIError) as raised:
        database.read_sync(SYSTEM, broken)
    assert "a secret" not in str(raised.value)


def test_many_writers_of_one_process_all_get_their_turn(database: Database) -> None:
    def increment(tx: Tx) -> None:
        count = tx.execute(select(func.count()).select_from(users)).scalar_one()
        add_user(tx, f"user{count:03}@example.org")

    async def race() -> None:
        await asyncio.gather(*(database.write(SYSTEM, add_user, f"{n}@x") for n in range(40)))

    asyncio.run(race())
    threads = [
        threading.Thread(target=database.write_sync, args=(SYSTEM, add_user, f"{n}@y"))
        for n in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    database.write_sync(SYSTEM, increment)
    assert len(database.read_sync(SYSTEM, emails)) == 51


class Gate:
    """A write that says when it runs and goes on when it is told to."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.go_on = threading.Event()

    def add(self, tx: Tx, email: str) -> None:
        add_user(tx, email)
        self.running.set()
        assert self.go_on.wait(PATIENCE)


async def until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, PATIENCE)


def test_a_write_cancelled_while_it_runs_is_kept_whole_and_frees_the_store(
    database_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(database_url)
    gate = Gate()

    async def cancel_running() -> None:
        running = asyncio.create_task(database.write(SYSTEM, gate.add, "first@x"))
        await until(gate.running)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        waiting = asyncio.create_task(database.write(SYSTEM, add_user, "second@x"))
        await asyncio.sleep(0)
        try:
            assert "first@x" not in await database.read(SYSTEM, emails)
        finally:
            gate.go_on.set()
        await asyncio.wait_for(waiting, PATIENCE)

    asyncio.run(cancel_running())
    database.close()  # waits for the write whose caller left
    assert make_database(database_url).read_sync(SYSTEM, emails) == ["first@x", "second@x"]


def test_a_write_cancelled_while_it_waits_writes_nothing_and_blocks_nobody(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(sqlite_url)
    gate = Gate()

    async def cancel_waiting() -> None:
        running = asyncio.create_task(database.write(SYSTEM, gate.add, "first@x"))
        await until(gate.running)
        others = [
            asyncio.create_task(database.write(SYSTEM, Tx.execute, users.delete()))
            for _ in range(5)
        ]
        await asyncio.sleep(0)
        for other in others:
            other.cancel()
        last = asyncio.create_task(database.write(SYSTEM, add_user, "last@x"))
        await asyncio.gather(*others, return_exceptions=True)
        gate.go_on.set()
        await asyncio.wait_for(asyncio.gather(running, last), PATIENCE)

    asyncio.run(cancel_waiting())
    assert database.read_sync(SYSTEM, emails) == ["first@x", "last@x"]


def test_a_write_cancelled_before_a_thread_takes_it_never_runs(
    database_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(database_url, threads=1)
    running, go_on = threading.Event(), threading.Event()

    def hold_the_only_thread(_tx: Tx) -> None:
        running.set()
        assert go_on.wait(PATIENCE)

    async def cancel_queued() -> None:
        reader = asyncio.create_task(database.read(SYSTEM, hold_the_only_thread))
        await until(running)
        queued = asyncio.create_task(database.write(SYSTEM, add_user, "never@x"))
        await asyncio.sleep(0)
        queued.cancel()
        await asyncio.gather(queued, return_exceptions=True)
        go_on.set()
        await reader
        await asyncio.wait_for(database.write(SYSTEM, add_user, "later@x"), PATIENCE)

    asyncio.run(cancel_queued())
    assert database.read_sync(SYSTEM, emails) == ["later@x"]


def test_readers_go_on_while_writers_wait(sqlite_url: str, make_database: MakeDatabase) -> None:
    database = make_database(sqlite_url, threads=2)
    gate = Gate()

    async def read_during_writes() -> None:
        running = asyncio.create_task(database.write(SYSTEM, gate.add, "first@x"))
        await until(gate.running)
        waiting = [
            asyncio.create_task(database.write(SYSTEM, add_user, f"{n}@x")) for n in range(8)
        ]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(database.read(SYSTEM, emails), PATIENCE) == []
        gate.go_on.set()
        await asyncio.gather(running, *waiting)

    asyncio.run(read_during_writes())
    assert len(database.read_sync(SYSTEM, emails)) == 9


def test_writers_get_their_turn_in_the_order_they_asked(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(sqlite_url)
    gate = Gate()
    order: list[int] = []

    def note(_tx: Tx, number: int) -> None:
        order.append(number)

    async def queue_up() -> None:
        running = asyncio.create_task(database.write(SYSTEM, gate.add, "first@x"))
        await until(gate.running)
        waiting: list[asyncio.Task[None]] = []
        for number in range(20):
            waiting.append(asyncio.create_task(database.write(SYSTEM, note, number)))
            await asyncio.sleep(0)
        gate.go_on.set()
        await asyncio.wait_for(asyncio.gather(running, *waiting), PATIENCE)

    asyncio.run(queue_up())
    assert order == list(range(20))


def test_a_writer_of_this_process_waits_only_so_long(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(sqlite_url, lock_timeout=0.1)
    gate = Gate()

    async def wait_too_long() -> None:
        running = asyncio.create_task(database.write(SYSTEM, gate.add, "first@x"))
        await until(gate.running)
        with pytest.raises(Unavailable, match=r"more than 0\.1 s"):
            await database.write(SYSTEM, add_user, "second@x")
        with pytest.raises(Unavailable, match=r"more than 0\.1 s"):
            await asyncio.to_thread(database.write_sync, SYSTEM, add_user, "third@x")
        gate.go_on.set()
        await running

    asyncio.run(wait_too_long())
    asyncio.run(database.write(SYSTEM, add_user, "fourth@x"))
    assert database.read_sync(SYSTEM, emails) == ["first@x", "fourth@x"]


def test_a_writer_whose_thread_begins_late_waits_for_nobody_and_is_not_refused(
    sqlite_url: str, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = threading.Thread.run

    def begin_late(thread: threading.Thread) -> None:
        threading.Event().wait(0.2)
        run(thread)

    for number, write in enumerate(("write", "write_sync")):
        database = make_database(sqlite_url, lock_timeout=0.01)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "run", begin_late)
            if write == "write":
                asyncio.run(database.write(SYSTEM, add_user, f"{number}@x"))
            else:
                database.write_sync(SYSTEM, add_user, f"{number}@x")
        assert f"{number}@x" in database.read_sync(SYSTEM, emails)


def test_a_closed_store_takes_no_more_and_keeps_what_it_took(
    database: Database, database_url: str, make_database: MakeDatabase
) -> None:
    gate = Gate()

    async def close_during_a_write() -> None:
        running = asyncio.create_task(database.write(SYSTEM, gate.add, "first@x"))
        await until(gate.running)
        closing = asyncio.create_task(asyncio.to_thread(database.close))
        gate.go_on.set()
        await asyncio.gather(running, closing)
        with pytest.raises(Unavailable, match="closed"):
            await database.read(SYSTEM, emails)
        with pytest.raises(Unavailable, match="closed"):
            await database.write(SYSTEM, add_user, "late@x")

    asyncio.run(close_during_a_write())
    with pytest.raises(Unavailable, match="closed"):
        database.write_sync(SYSTEM, add_user, "late@x")
    assert make_database(database_url).read_sync(SYSTEM, emails) == ["first@x"]


def test_a_backup_is_a_store_of_its_own_while_others_write(
    sqlite_url: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    database = make_database(sqlite_url)
    database.write_sync(SYSTEM, add_user, "before@x")
    gate = Gate()
    with ThreadPoolExecutor(1) as elsewhere:
        writing = elsewhere.submit(database.write_sync, SYSTEM, gate.add, "during@x")
        assert gate.running.wait(PATIENCE)
        database.backup(tmp_path / "copy.db")
        gate.go_on.set()
        writing.result()
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "store"]
    copy = make_database(f"sqlite:///{tmp_path / 'copy.db'}")
    assert copy.read_sync(SYSTEM, emails) == ["before@x"]
    assert database.read_sync(SYSTEM, emails) == ["before@x", "during@x"]


def test_a_backup_replaces_nothing(
    sqlite_url: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    database = make_database(sqlite_url)
    (tmp_path / "there").write_text("precious")
    with pytest.raises(InvalidArgument, match="exists already"):
        database.backup(tmp_path / "there")
    with pytest.raises(Unavailable, match="cannot be written"):
        database.backup(tmp_path / "no folder" / "copy.db")
    assert (tmp_path / "there").read_text() == "precious"


def test_a_backup_removes_what_killed_ones_left_and_nothing_of_a_running_one(
    sqlite_url: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    database, copy = make_database(sqlite_url), tmp_path / "copy.db"
    database.write_sync(SYSTEM, add_user, "ada@x")
    (tmp_path / "copy.db.mine.partial").write_text("precious")
    program = ["-c", WAITING_BACKUP, sqlite_url, str(copy)]
    with Forked(program) as running:
        assert running.stdout.readline() == b"written\n"
        database.backup(copy)
        running.communicate(b"go on\n")
        assert running.returncode == 0
    assert make_database(f"sqlite:///{copy}").read_sync(SYSTEM, emails) == ["ada@x"]
    copy = tmp_path / "other.db"
    with Forked([*program[:-1], str(copy)]) as killed:
        assert killed.stdout.readline() == b"written\n"
    assert len(list(tmp_path.glob("other.db.*.partial"))) == 1
    database.backup(copy)
    assert not list(tmp_path.glob("other.db.*"))
    assert (tmp_path / "copy.db.mine.partial").read_text() == "precious"


def test_a_stuck_transaction_does_not_keep_the_process(sqlite_url: str) -> None:
    source = (
        "import asyncio, sys, threading\n"
        "from rolltop.core.db import SYSTEM, Database\n"
        "database = Database(sys.argv[1])\n"
        "async def main():\n"
        "    stuck = threading.Event()\n"
        "    def hang(tx): stuck.set(); threading.Event().wait()\n"
        "    task = asyncio.create_task(database.write(SYSTEM, hang))\n"
        "    await asyncio.to_thread(stuck.wait)\n"
        "    task.cancel()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", source, sqlite_url], check=True, timeout=PATIENCE)
    assert done.returncode == 0


def test_transactions_open_the_store_themselves_and_read_the_clock_once(
    empty_url: str, clock: Clock
) -> None:
    database = Database(empty_url, clock=clock)
    assert not database.is_open()

    def two_moments(tx: Tx) -> tuple[datetime, datetime]:
        first = tx.now
        clock.advance(hours=1)
        return first, tx.now

    first, second = asyncio.run(database.write(SYSTEM, two_moments))
    assert database.is_open()
    assert first == second
    asyncio.run(database.ping())
    database.close()


@pytest.mark.parametrize("kind", ["sqlite_url", "migrated_url"])
def test_a_connection_that_is_given_back_after_the_end_is_closed(
    request: pytest.FixtureRequest, make_database: MakeDatabase, kind: str
) -> None:
    database = make_database(request.getfixturevalue(kind))
    held, given_back = threading.Event(), threading.Event()
    connections: list[Any] = []

    def hold(tx: Tx) -> None:
        connections.append(tx.connection.connection.driver_connection)
        held.set()
        given_back.wait(PATIENCE)

    thread = threading.Thread(target=database.read_sync, args=(SYSTEM, hold))
    thread.start()
    assert held.wait(PATIENCE)
    database.close(timeout=0)
    given_back.set()
    thread.join(PATIENCE)
    (connection,) = connections
    with pytest.raises(Exception, match="closed"):
        connection.execute("SELECT 1")
