"""A store with a key: nothing of it can be read without, and all else is as without one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, literal, select
from sqlalchemy.exc import IntegrityError
from sqlcipher3 import dbapi2 as sqlcipher

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database, encryption
from rolltop.core.db.driver import Driver
from rolltop.core.db.encryption import Encryption
from rolltop.core.db.schema import users
from rolltop.core.errors import IncompatibleStore, InvalidConfig, StoreKeyMismatch, Unavailable
from rolltop.core.settings import CORE_SETTINGS, Settings
from tests.compat.content import answers
from tests.compat.dump import STORES
from tests.core.db.encrypted import (
    ITERATIONS,
    KEY,
    MARKER,
    OTHER,
    bytes_of,
    fill,
    found,
    opened,
    plain,
    url_of,
)
from tests.forks import Forked

if TYPE_CHECKING:
    from pathlib import Path

ADD_FOR_EVER = """
import itertools, sys
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.db.encryption import Encryption
from rolltop.core.db.schema import users
database = Database(sys.argv[1], encryption=Encryption(sys.argv[2], int(sys.argv[3])))
for number in itertools.count():
    database.write_sync(SYSTEM, add_user, f"{number}@x")
    print(number, flush=True)
"""


KEPT = ("desk.db", "desk.db-wal")  # what is in the -shm follows from the log


def emails(file: Path, key: Encryption | None) -> list[str]:
    with opened(file, key) as database:
        return [user.email for user in database.read_sync(SYSTEM, list_users)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An encrypted store that nobody has open, with one user."""
    file = tmp_path / "data" / "desk.db"
    with opened(file, KEY) as database:
        database.write_sync(SYSTEM, add_user, "ada@x")
    return file


def test_no_file_of_an_encrypted_store_holds_plain_text(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with opened(folder / "desk.db", KEY) as database:
        fill(database)
        database.backup(folder / "copy.db")
        assert {"desk.db", "desk.db-wal", "desk.db-shm", "copy.db"} <= set(bytes_of(folder))
        assert plain(folder) == [], "while it is open"
        assert found(database) == [1, 1, 1]
    assert plain(folder) == []
    with opened(folder / "copy.db", KEY) as copy:
        assert found(copy) == [1, 1, 1]


def test_the_search_for_plain_text_finds_it_where_it_is(tmp_path: Path) -> None:
    with opened(tmp_path / "data" / "desk.db", None) as database:
        fill(database)
        assert {"desk.db", "desk.db-wal"} <= set(plain(tmp_path / "data"))


def test_the_copy_before_a_migration_is_encrypted_too(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "desk.db").touch()
    with closing(Driver(KEY).connect(folder / "desk.db")) as older:
        older.executescript((STORES / "0.1.0" / "sqlite.sql").read_text("utf-8"))
    with opened(folder / "desk.db", KEY) as database:
        said = answers(database, {"scratch_search", "list_tasks"})
    assert len(said["scratch_search"]["hits"]) == 1
    (copy,) = folder.glob("*.bak")
    assert plain(folder) == []
    with closing(Driver(KEY).connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (4,)


@pytest.mark.parametrize(
    "key",
    [OTHER, Encryption(KEY.passphrase, ITERATIONS + 1), Encryption(KEY.passphrase + " ", 10_000)],
    ids=["another", "other iterations", "a space more"],
)
def test_another_key_is_refused_and_no_byte_changes(store: Path, key: Encryption) -> None:
    before = bytes_of(store.parent)
    database = Database(url_of(store), encryption=key)
    with pytest.raises(StoreKeyMismatch, match="does not open with DB_ENCRYPTION_KEY") as refusal:
        database.open()
    assert "DB_ENCRYPTION_KDF_ITERATIONS" in refusal.value.hint
    with pytest.raises(StoreKeyMismatch):
        database.open()
    database.close()
    assert bytes_of(store.parent) == before
    assert emails(store, KEY) == ["ada@x"]


def test_another_key_leaves_what_a_crash_left(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    with Forked(["-c", ADD_FOR_EVER, url_of(file), KEY.passphrase, str(ITERATIONS)]) as writer:
        said = [writer.stdout.readline() for _ in range(3)]
        writer.kill()
        writer.wait()
    before = bytes_of(tmp_path)
    assert before["desk.db-wal"]
    for key in (OTHER, None):
        with pytest.raises(IncompatibleStore), opened(file, key):
            pass
        now = bytes_of(tmp_path)
        assert [now[name] for name in KEPT] == [before[name] for name in KEPT]
    assert len(emails(file, KEY)) >= len(said)


def test_without_its_key_an_encrypted_store_is_refused_and_the_key_named(store: Path) -> None:
    before = bytes_of(store.parent)
    with pytest.raises(IncompatibleStore) as refusal, opened(store, None):
        pass
    assert "DB_ENCRYPTION_KEY" in refusal.value.hint
    assert bytes_of(store.parent) == before


def test_a_plain_store_is_not_opened_with_a_key(tmp_path: Path) -> None:
    file = tmp_path / "data" / "desk.db"
    with opened(file, None) as database:
        database.write_sync(SYSTEM, add_user, "ada@x")
    before = bytes_of(file.parent)
    with pytest.raises(StoreKeyMismatch, match="is not encrypted") as refusal, opened(file, KEY):
        pass
    assert "`rolltop store encrypt`" in refusal.value.hint
    assert bytes_of(file.parent) == before
    assert emails(file, None) == ["ada@x"]


@pytest.mark.parametrize("at", [4, 16, 900], ids=["salt", "page", "end of the first page"])
def test_a_damaged_start_is_refused_and_left_alone(store: Path, at: int) -> None:
    content = bytearray(store.read_bytes())
    content[at] ^= 1
    store.write_bytes(content)
    with pytest.raises(StoreKeyMismatch, match="damaged"), opened(store, KEY):
        pass
    assert store.read_bytes() == content


def test_damage_further_on_is_told_as_such(store: Path) -> None:
    content = bytearray(store.read_bytes())
    for page in range(1, len(content) // 4096):
        content[page * 4096 + 7] ^= 1
    store.write_bytes(content)
    with pytest.raises(IncompatibleStore, match="is damaged"):
        emails(store, KEY)


def test_other_programs_of_sqlcipher_open_it_by_the_passphrase(store: Path) -> None:
    with closing(sqlcipher.connect(str(store))) as witness:
        quoted = KEY.passphrase.replace("'", "''")
        witness.execute(f"PRAGMA key = '{quoted}'")
        witness.execute(f"PRAGMA kdf_iter = {ITERATIONS}")
        assert witness.execute("SELECT email FROM users").fetchall() == [("ada@x",)]


def test_two_stores_of_one_passphrase_have_different_keys(tmp_path: Path) -> None:
    starts: set[bytes] = set()
    for name in ("one.db", "two.db"):
        with opened(tmp_path / name, KEY):
            pass
        starts.add((tmp_path / name).read_bytes()[:64])
    assert len(starts) == 2


def test_only_one_library_opens_a_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("another SQLite would drop this process's locks")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    plain_store = store.parent / "plain.db"
    for file, key in ((store, KEY), (plain_store, None)):
        with opened(file, key) as database:
            fill(database)
            assert found(database) == [1, 1, 1]
            database.backup(file.with_suffix(".copy"))


def test_errors_mean_what_they_mean_without_a_key(store: Path) -> None:
    with (
        opened(store, KEY) as database,
        closing(Driver(KEY).connect(store)) as other,
    ):
        database.write_sync(SYSTEM, add_user, "eve@x")
        other.execute("BEGIN IMMEDIATE")
        waiting = Database(url_of(store), encryption=KEY, lock_timeout=0.1)
        with pytest.raises(Unavailable, match="another process has kept it"):
            waiting.write_sync(SYSTEM, add_user, "bob@x")
        waiting.close()
        other.execute("ROLLBACK")
        eve = select(literal("another"), users.c.email, users.c.created_at)
        again = insert(users).from_select(["id", "email", "created_at"], eve)
        with pytest.raises(IntegrityError):
            database.write_sync(SYSTEM, lambda tx: tx.execute(again).rowcount)


def test_a_key_without_the_extra_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(encryption, "find_spec", nothing)
    with pytest.raises(InvalidConfig, match="sqlcipher3") as refusal:
        Database(url_of(tmp_path / "desk.db"), encryption=KEY)
    assert "pip install sqlcipher3" in refusal.value.hint


def test_a_key_with_postgresql_stops_the_start() -> None:
    with pytest.raises(InvalidConfig, match="PostgreSQL") as refusal:
        Database("postgresql://ada:secret@localhost/desk", encryption=KEY)
    assert "secret" not in refusal.value.message + refusal.value.hint


def test_no_description_of_an_object_holds_the_passphrase(store: Path) -> None:
    driver = Driver(KEY)
    with closing(driver.connect(store)):
        shown = f"{KEY!r} {KEY} {driver!r} {Database(url_of(store), encryption=KEY)!r}"
    assert "phrase" not in shown


def test_a_setting_without_a_value_is_no_key() -> None:
    settings = Settings.defaults(CORE_SETTINGS)
    assert encryption.encryption_from_settings(settings) is None
    given: dict[str, Any] = {"db_encryption_key": MARKER}
    assert encryption.encryption_from_settings(settings.replace(given)) == Encryption(
        MARKER, 310_000
    )


def test_temporary_tables_are_kept_in_memory(store: Path) -> None:
    with closing(Driver(KEY).connect(store)) as connection:
        options = {name for (name,) in connection.execute("PRAGMA compile_options")}
        assert connection.execute("PRAGMA temp_store").fetchone() == (0,), "as it was built"
    assert options & {"TEMP_STORE=2", "TEMP_STORE=3"}
