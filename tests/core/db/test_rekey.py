"""A store encrypted, given another key or decrypted: all of it is kept, whenever it is killed."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.db.driver import Driver
from rolltop.core.db.rekey import rekey_store
from rolltop.core.errors import (
    IncompatibleStore,
    InvalidArgument,
    InvalidConfig,
    NotFound,
    StoreKeyMismatch,
    Unavailable,
)
from tests.core.db.encrypted import (
    ITERATIONS,
    KEY,
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

    from rolltop.core.db.encryption import Encryption

# Opens a store, adds what is acknowledged, and waits, or dies with all of it in the log.
KEEP_OPEN: Final = """
import os, signal, sys
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.db.encryption import Encryption
url, passphrase, iterations, how = sys.argv[1:]
key = Encryption(passphrase, int(iterations)) if passphrase else None
database = Database(url, encryption=key)
for number in range(20):
    database.write_sync(SYSTEM, add_user, f"{number}@x")
if how == "die":
    os.kill(os.getpid(), signal.SIGKILL)
print("open", flush=True)
sys.stdin.readline()
database.close()
"""

# Writes the store anew, killed before or after one of its steps.
DIE: Final = """
import os, pathlib, signal, sys
from rolltop.core.db import rekey
from rolltop.core.db.encryption import Encryption
url, present, wanted, iterations, step, when = sys.argv[1:]
owner, name = (pathlib.Path, "replace") if step == "replace" else (rekey, step)
original = getattr(owner, name)
def die(*arguments):
    if when == "after":
        original(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, die)
keys = [Encryption(one, int(iterations)) if one else None for one in (present, wanted)]
rekey.rekey_store(url, *keys)
"""
STEPS: Final = (
    "acquire_exclusively",
    "_export",
    "_verify_file",
    "fsync_file",
    "replace",
    "fsync_directory",
)
KEYS: Final = {"none": None, "key": KEY, "other": OTHER}


def add_users(tx: Tx, count: int) -> None:
    for number in range(count):
        add_user(tx, f"{number}@x")


def dump(file: Path, key: Encryption | None) -> dict[str, list[Any]]:
    """Every row of every table with its number, and the schema."""
    with closing(Driver(key).connect(file)) as connection:
        schema = connection.execute("SELECT * FROM sqlite_master ORDER BY name").fetchall()
        tables = [row[1] for row in schema if row[0] == "table" and row[3]]
        made = {"": [(row[0], row[1], row[4]) for row in schema]}
        for name in tables:
            without = "WITHOUT ROWID" in next(r[4] for r in schema if r[1] == name).upper()
            number = "" if without else "rowid, "
            rows = connection.execute(f'SELECT {number}* FROM "{name}"')  # noqa: S608  # a table's name
            made[name] = sorted(rows.fetchall(), key=repr)
        return made


def passphrase(key: Encryption | None) -> str:
    return key.passphrase if key else ""


def holder(file: Path, key: Encryption | None, how: str) -> Forked:
    return Forked(["-c", KEEP_OPEN, url_of(file), passphrase(key), str(ITERATIONS), how])


def users(file: Path, key: Encryption | None) -> int:
    with opened(file, key) as database:
        return len(database.read_sync(SYSTEM, list_users))


@pytest.mark.parametrize(
    ("present", "wanted"),
    [("none", "key"), ("key", "other"), ("key", "none")],
    ids=["encrypt", "rekey", "decrypt"],
)
def test_a_store_written_anew_is_the_same_but_for_its_key(
    tmp_path: Path, present: str, wanted: str
) -> None:
    file = tmp_path / "data" / "desk.db"
    before, after = KEYS[present], KEYS[wanted]
    with opened(file, before) as database:
        fill(database)
        database.write_sync(SYSTEM, add_users, 300)  # some pages full
    was = dump(file, before)
    assert rekey_store(url_of(file), before, after) == []
    assert dump(file, after) == was
    assert {file.name for file in file.parent.iterdir()} == {"desk.db", "desk.db.lock"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert (plain(file.parent) == []) == (after is not None)
    with opened(file, after) as database:
        assert found(database) == [1, 1, 1]
        fill(database)
        assert found(database) == [2, 2, 2]
    for key in KEYS.values():
        if key is not after:
            with pytest.raises(IncompatibleStore), opened(file, key):
                pass


@pytest.mark.parametrize(
    ("when", "present", "wanted"), [("before", "none", "key"), ("after", "key", "other")]
)
def test_killed_at_any_step_it_leaves_the_old_store_or_the_new_one(
    tmp_path: Path, when: str, present: str, wanted: str
) -> None:
    before, after = KEYS[present], KEYS[wanted]
    for step in STEPS:
        file = tmp_path / step / "desk.db"
        with holder(file, before, "die") as process:
            assert process.wait() < 0
        assert (file.parent / "desk.db-wal").stat().st_size, "what a crash leaves"
        order = [passphrase(before), passphrase(after), str(ITERATIONS), step, when]
        with Forked(["-c", DIE, url_of(file), *order]) as process:
            assert process.wait() < 0, process.stderr.read()
        is_new = (step, when) == ("replace", "after") or step == "fsync_directory"
        with pytest.raises(IncompatibleStore), opened(file, before if is_new else after):
            pass
        assert users(file, after if is_new else before) == 20
        if not is_new:
            rekey_store(url_of(file), before, after)
            assert users(file, after) == 20
        assert not list(file.parent.glob("*.partial"))


def test_a_store_that_somebody_has_open_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    with holder(file, None, "wait") as process:
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(Unavailable, match="Another process") as refusal:
            rekey_store(url_of(file), None, KEY)
        assert "Stop every Rolltop server" in refusal.value.hint
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.wait() == 0
    assert users(file, None) == 20
    rekey_store(url_of(file), None, KEY)
    assert users(file, KEY) == 20


def test_what_cannot_be_done_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    url = url_of(file)
    with pytest.raises(NotFound, match="no store"):
        rekey_store(url, None, KEY)
    with opened(file, KEY):
        pass
    before = bytes_of(tmp_path)
    with pytest.raises(InvalidArgument, match="encrypted with that key already"):
        rekey_store(url, None, KEY)
    with pytest.raises(InvalidArgument, match="encrypted with that key already"):
        rekey_store(url, OTHER, KEY)
    with pytest.raises(StoreKeyMismatch, match="does not open"):
        rekey_store(url, OTHER, None)
    with pytest.raises(IncompatibleStore):
        rekey_store(url, None, OTHER)
    with pytest.raises(InvalidConfig, match="PostgreSQL"):
        rekey_store("postgresql://localhost/desk", None, KEY)
    assert bytes_of(tmp_path) == before
    rekey_store(url, KEY, None)
    with pytest.raises(InvalidArgument, match="is not encrypted"):
        rekey_store(url, KEY, None)


def test_a_disk_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    with opened(file, None) as database:
        fill(database)
    (tmp_path / "desk.db.partial").mkdir()  # so that the new file cannot be made
    was = dump(file, None)
    with pytest.raises(Unavailable, match="cannot be written anew"):
        rekey_store(url_of(file), None, KEY)
    assert dump(file, None) == was


def test_earlier_copies_are_named(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    with opened(file, None) as database:
        database.backup(tmp_path / "desk.db.core_0001.bak")
    assert rekey_store(url_of(file), None, KEY) == [tmp_path / "desk.db.core_0001.bak"]


def test_rows_that_cannot_be_read_stop_it(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    with opened(file, KEY) as database:
        fill(database)
    content = bytearray(file.read_bytes())
    for page in range(len(content) // 4096 // 2, len(content) // 4096):
        content[page * 4096 + 7] ^= 1
    file.write_bytes(content)
    with pytest.raises(IncompatibleStore, match="damaged"):
        rekey_store(url_of(file), KEY, OTHER)
    assert file.read_bytes() == content
    assert not list(tmp_path.glob("*.partial"))
