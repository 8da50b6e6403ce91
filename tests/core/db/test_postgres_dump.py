"""Backups of a PostgreSQL store by PostgreSQL's own programs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from rolltop.core import accounts
from rolltop.core.db import SYSTEM
from rolltop.core.db.restore import restore_backup
from rolltop.core.errors import InvalidArgument, NotFound, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.db import Database
    from tests.databases import MakeDatabase
    from tests.postgresql import PostgreSQLServer


@pytest.fixture
def database(
    postgresql_server: PostgreSQLServer,
    migrated_url: str,
    make_database: MakeDatabase,
    monkeypatch: pytest.MonkeyPatch,
) -> Database:
    """A store with one user, where PostgreSQL's programs are at hand."""
    path = f"{postgresql_server.programs}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    made = make_database(migrated_url)
    made.write_sync(SYSTEM, accounts.add_user, "ann@example.org")
    return made


def emails(database: Database) -> list[str]:
    """Return the addresses of the store's users."""
    return [user.email for user in database.read_sync(SYSTEM, accounts.list_users)]


def test_a_store_comes_back_in_another_database(
    database: Database,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
    tmp_path: Path,
) -> None:
    target = tmp_path / "desk.dump"
    database.backup(target)
    assert target.stat().st_mode & 0o777 == 0o600
    database.write_sync(SYSTEM, accounts.add_user, "later@example.org")
    url = postgres_url()
    assert restore_backup(url, target, None) is None
    restored = make_database(url)
    assert emails(restored) == ["ann@example.org"]
    restored.write_sync(SYSTEM, accounts.add_user, "new@example.org")
    with pytest.raises(InvalidArgument, match="holds a store"):
        restore_backup(url, target, None)
    assert emails(restored) == ["ann@example.org", "new@example.org"]
    assert sorted(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("password", ["se/cr/et", "50%off", "p+%2B?=&#"])
def test_a_password_that_the_server_connects_with_makes_backups_too(
    database: Database,
    migrated_url: str,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
    tmp_path: Path,
    password: str,
) -> None:
    def login(url: str) -> str:
        return url.replace("@", f":{password}@", 1)

    target = tmp_path / "desk.dump"
    make_database(login(migrated_url)).backup(target)
    url = postgres_url()
    restore_backup(login(url), target, None)
    assert emails(make_database(url)) == emails(database)


def test_no_password_is_among_the_arguments_or_in_the_log(
    database: Database, migrated_url: str, make_database: MakeDatabase, tmp_path: Path
) -> None:
    tmp_path.joinpath("pg_dump").write_text('#!/bin/sh\necho "$@" >&2\nexit 1\n')
    tmp_path.joinpath("pg_dump").chmod(0o755)
    assert database.exists()
    store = make_database(migrated_url.replace("@", ":wal/r%us@", 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        with pytest.raises(Unavailable, match="--dbname=") as raised:
            store.backup(tmp_path / "desk.dump")
    assert "wal" not in raised.value.message
    assert "r%us" not in raised.value.message


def test_programs_older_than_the_server_are_not_needed(
    database: Database,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    old = tmp_path / "bin" / "pg_dump"
    old.parent.mkdir()
    old.write_text(
        '#!/bin/sh\n[ "$1" != --version ] || exec echo "pg_dump (PostgreSQL) 9.6.24 (Debian 9)"\n'
        "echo aborting because of server version mismatch >&2\nexit 1\n"
    )
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}{os.pathsep}{os.environ['PATH']}")
    target = tmp_path / "desk.dump"
    database.backup(target)
    url = postgres_url()
    restore_backup(url, target, None)
    assert emails(make_database(url)) == ["ann@example.org"]
    old.write_text("#!/bin/sh\necho pg_dump 999\nexit $(($# > 1))\n")
    with pytest.raises(Unavailable, match="pg_dump failed"):
        database.backup(tmp_path / "another.dump")
    assert sorted(tmp_path.iterdir()) == [old.parent, target]


def test_a_backup_takes_the_place_of_no_file(database: Database, tmp_path: Path) -> None:
    target = tmp_path / "desk.dump"
    target.write_text("mine")
    with pytest.raises(InvalidArgument):
        database.backup(target)
    assert target.read_text() == "mine"


def test_a_backup_removes_what_a_killed_one_left(database: Database, tmp_path: Path) -> None:
    for left in ("desk.dump.partial", "desk.dump.77.partial", "other.dump.77.partial"):
        (tmp_path / left).write_text("plain text of tasks")
    database.backup(tmp_path / "desk.dump")
    there = {file.name for file in tmp_path.iterdir()}
    assert there == {"desk.dump", "desk.dump.partial", "other.dump.77.partial"}


def test_what_holds_no_store_is_not_restored(
    database: Database,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
    tmp_path: Path,
) -> None:
    database.backup(tmp_path / "desk.dump")
    url = postgres_url()
    with pytest.raises(NotFound):
        restore_backup(url, tmp_path / "gone", None)
    damaged = tmp_path / "damaged"
    damaged.write_bytes((tmp_path / "desk.dump").read_bytes()[:-20_000])
    for bad in (tmp_path / "text", damaged):
        bad.touch()
        with pytest.raises(Unavailable, match="pg_restore failed"):
            restore_backup(url, bad, None)
    assert emails(make_database(url)) == []
