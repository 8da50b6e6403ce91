"""A backup put in the place of the store: what is there before is kept, whenever it is killed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM
from rolltop.core.db.rekey import rekey_store
from rolltop.core.db.restore import restore_backup
from rolltop.core.errors import (
    IncompatibleStore,
    InvalidArgument,
    NotFound,
    StoreKeyMismatch,
    Unavailable,
)
from tests.core.db.encrypted import ITERATIONS, KEY, OTHER, bytes_of, opened, plain, url_of
from tests.core.db.test_rekey import holder, passphrase
from tests.forks import Forked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.db.encryption import Encryption

# Restores a backup, killed before or after one of its steps.
DIE: Final = """
import os, pathlib, signal, sys
from rolltop.core.db import restore
from rolltop.core.db.encryption import Encryption
url, backup, passphrase, iterations, step, when = sys.argv[1:]
original = getattr(restore, step)
def die(*arguments):
    if when == "after":
        original(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(restore, step, die)
key = Encryption(passphrase, int(iterations)) if passphrase else None
restore.restore_backup(url, pathlib.Path(backup), key)
"""
STEPS: Final = ("backup_store", "acquire_exclusively", "backup_connection", "fsync_directory")


def emails(file: Path, key: Encryption | None) -> list[str]:
    with opened(file, key) as database:
        return [user.email for user in database.read_sync(SYSTEM, list_users)]


def backed_up(tmp_path: Path, key: Encryption | None) -> tuple[Path, Path]:
    """Return a store of two users and its backup of one."""
    file, backup = tmp_path / "data" / "desk.db", tmp_path / "backup.db"
    with opened(file, key) as database:
        database.write_sync(SYSTEM, add_user, "ada@x")
        database.backup(backup)
        database.write_sync(SYSTEM, add_user, "eve@x")
    return file, backup


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_a_backup_is_restored_and_the_store_before_kept(
    tmp_path: Path, key: Encryption | None
) -> None:
    file, backup = backed_up(tmp_path, key)
    before = backup.read_bytes()
    kept = restore_backup(url_of(file), backup, key)
    assert kept is not None
    assert emails(file, key) == ["ada@x"]
    assert emails(kept, key) == ["ada@x", "eve@x"]
    assert backup.read_bytes() == before
    assert file.stat().st_mode & 0o777 == kept.stat().st_mode & 0o777 == 0o600
    assert not list(file.parent.glob("*.partial"))
    assert (plain(tmp_path) == []) == (key is not None)
    new = tmp_path / "elsewhere" / "desk.db"
    assert restore_backup(url_of(new), backup, key) is None
    assert emails(new, key) == ["ada@x"]


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
@pytest.mark.parametrize("writer", ["killed", "alive"])
def test_the_log_of_a_store_that_was_moved_away_is_not_played_into_the_backup(
    tmp_path: Path, key: Encryption | None, writer: str
) -> None:
    backup = backed_up(tmp_path, key)[1]
    file, moved = tmp_path / "other" / "desk.db", tmp_path / "moved.db"
    with holder(file, key, "die" if writer == "killed" else "wait") as process:
        if writer == "killed":
            assert process.wait() < 0
        else:
            assert process.stdout.readline() == b"open\n"
        file.rename(moved)
        kept = restore_backup(url_of(file), backup, key)
        assert emails(file, key) == ["ada@x"]
    assert kept is not None
    assert emails(file, key) == ["ada@x"]
    kept.rename(tmp_path / "moved.db-wal")
    assert len(emails(moved, key)) == 20


def foreign() -> bytes:
    """Return the database of another program."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE recipes (name)")
        return connection.serialize()


def overwrite(file: Path, content: bytes) -> None:
    """Change the start of a file that stays the same one to those who have it open."""
    with file.open("r+b") as written:
        written.write(content)


DAMAGES: Final[dict[str, Callable[[Path], object]]] = {
    "noise": lambda file: file.write_bytes(b"\xa5\x3c" * 50_000),
    "text": lambda file: file.write_bytes(b"a note\n"),
    "half": lambda file: os.truncate(file, 20_000),
    "start": lambda file: overwrite(file, b"\0\0\0\0"),
    "middle": lambda file: overwrite(file, file.read_bytes()[:4096] + b"\xff" * 8192),
    "foreign": lambda file: file.write_bytes(foreign()),
}


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_an_empty_store_is_replaced_and_its_log_kept(
    tmp_path: Path, key: Encryption | None
) -> None:
    backup = backed_up(tmp_path, key)[1]
    file = tmp_path / "used" / "desk.db"
    with holder(file, key, "die") as process:
        assert process.wait() < 0
    whole = file.read_bytes()
    os.truncate(file, 0)
    kept = restore_backup(url_of(file), backup, key)
    assert kept is not None
    assert emails(file, key) == ["ada@x"]
    kept.write_bytes(whole)
    assert len(emails(kept, key)) == 20


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_replaced_and_kept(
    tmp_path: Path, damage: str, key: Encryption | None
) -> None:
    file, backup = backed_up(tmp_path, key)
    DAMAGES[damage](file)
    before = file.read_bytes()
    kept = restore_backup(url_of(file), backup, key)
    assert kept is not None
    assert kept.read_bytes() == before
    assert emails(file, key) == ["ada@x"]
    assert not list(file.parent.glob("*.partial"))


@pytest.mark.parametrize("how", ["die", "wait"])
@pytest.mark.parametrize("other", [None, OTHER], ids=["plain", "another key"])
def test_a_store_that_the_key_does_not_open_is_replaced_and_kept_once_nobody_uses_it(
    tmp_path: Path, other: Encryption | None, how: str
) -> None:
    backup = backed_up(tmp_path, KEY)[1]
    file = tmp_path / "used" / "desk.db"
    with holder(file, other, how) as process:
        if how == "wait":
            assert process.stdout.readline() == b"open\n"
            with pytest.raises(Unavailable, match="Another process"):
                restore_backup(url_of(file), backup, KEY)
            process.communicate(b"\n")
        assert process.wait() is not None
    kept = restore_backup(url_of(file), backup, KEY)
    assert kept is not None
    assert emails(file, KEY) == ["ada@x"]
    assert rekey_store(url_of(file), KEY, OTHER) == sorted(file.parent.glob("*.bak*"))
    assert len(emails(kept, other)) == 20


@pytest.mark.parametrize(("when", "key"), [("before", None), ("after", KEY)])
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(
    tmp_path: Path, when: str, key: Encryption | None
) -> None:
    backup = backed_up(tmp_path, key)[1]
    for step in STEPS:
        file = tmp_path / step / "desk.db"
        with holder(file, key, "die") as process:
            assert process.wait() < 0
        order = [str(backup), passphrase(key), str(ITERATIONS), step, when]
        with Forked(["-c", DIE, url_of(file), *order]) as process:
            assert process.wait() < 0, process.stderr.read()
        is_new = step == "fsync_directory"
        assert len(emails(file, key)) == (1 if is_new else 20)
        restore_backup(url_of(file), backup, key)
        assert emails(file, key) == ["ada@x"]
        assert not list(file.parent.glob("*.partial"))


def test_what_cannot_be_restored_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    file, backup = backed_up(tmp_path, KEY)
    noise, empty = tmp_path / "noise.db", tmp_path / "empty.db"
    noise.write_bytes(b"no database " * 1000)
    empty.touch()
    before = bytes_of(tmp_path)
    url = url_of(file)
    for given, key, error, said in (
        (tmp_path / "none.db", KEY, NotFound, "no file"),
        (file, KEY, InvalidArgument, "the store itself"),
        (noise, KEY, StoreKeyMismatch, "noise.db does not open"),
        (noise, None, IncompatibleStore, "noise.db is damaged"),
        (empty, None, IncompatibleStore, "it is empty"),
        (backup, OTHER, StoreKeyMismatch, "backup.db does not open"),
        (backup, None, IncompatibleStore, "backup.db is damaged"),
    ):
        with pytest.raises(error, match=said):
            restore_backup(url, given, key)
        assert bytes_of(tmp_path) == before


def test_nothing_is_restored_while_somebody_has_the_store_open(tmp_path: Path) -> None:
    backup = backed_up(tmp_path, None)[1]
    file = tmp_path / "used" / "desk.db"
    with holder(file, None, "wait") as process:
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(Unavailable, match="Another process"):
            restore_backup(url_of(file), backup, None)
    assert len(emails(file, None)) == 20
