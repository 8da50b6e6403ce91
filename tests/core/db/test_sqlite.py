"""The SQLite library in use: its version, and what happens where only an affected one is found."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database, sqlite
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.databases import MakeDatabase

WITHOUT_SQLCIPHER = """
import sqlite3, sys
sys.modules["sqlcipher3"] = None
sqlite3.sqlite_version_info = (3, 51, 2)
sqlite3.sqlite_version = "3.51.2"
"""
ADD = f"""{WITHOUT_SQLCIPHER}
import logging
logging.basicConfig(format="%(message)s")
from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import Unavailable
database = Database(sys.argv[1], lock_timeout=0.2)
try:
    for email in sys.argv[2:]:
        database.write_sync(SYSTEM, add_user, email)
        print(*(user.email for user in database.read_sync(SYSTEM, list_users)), flush=True)
        sys.stdin.readline()
except Unavailable as refusal:
    print(refusal.message, refusal.hint)
database.close()
"""
DOCTOR = f"""{WITHOUT_SQLCIPHER}
from rolltop.cli import main
main(["doctor", "--set", f"data_dir={{sys.argv[1]}}"])
"""


def emails(database: Database) -> list[str]:
    return [user.email for user in database.read_sync(SYSTEM, list_users)]


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        input="\n" * 9,
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 4), False),
    ],
)
def test_versions_with_the_wal_reset_bug_are_known(
    version: tuple[int, ...], *, affected: bool
) -> None:
    assert sqlite.has_wal_reset_bug(version) is affected


def test_the_library_in_use_is_not_affected() -> None:
    assert not sqlite.has_wal_reset_bug(sqlite.library.sqlite_version_info)
    assert sqlite.description().endswith("(sqlcipher3)")


def test_an_affected_library_keeps_the_store_out_of_wal_mode(
    sqlite_url: str, tmp_path: Path, make_database: MakeDatabase
) -> None:
    """The store was in WAL mode before, and is again for the next good library."""
    folder = tmp_path / "store"
    first = run(ADD, sqlite_url, "ada@x", "bob@x")
    assert first.stdout.splitlines() == ["ada@x", "ada@x bob@x"]
    assert "3.51.2 (sqlite3) can lose commits in WAL mode" in first.stderr
    header = (folder / "desk.db").read_bytes()[18:20]
    assert header == b"\x01\x01", "rollback journal (sqlite.org/fileformat2.html)"
    doctor = run(DOCTOR, str(folder))
    assert "SQLite 3.51.2 (sqlite3), journal mode delete" in doctor.stdout
    assert emails(make_database(sqlite_url)) == ["ada@x", "bob@x"]


def test_an_affected_library_writes_nothing_while_another_process_uses_wal_mode(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    database = make_database(sqlite_url)
    database.write_sync(SYSTEM, add_user, "ada@x")
    refused = run(ADD, sqlite_url, "bob@x")
    assert "has the store" in refused.stdout
    assert emails(database) == ["ada@x"]


def test_an_affected_library_stops_writing_when_another_switches_to_wal_mode(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ADD, sqlite_url, "ada@x", "bob@x"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ada@x\n"
        database = make_database(sqlite_url)
        assert emails(database) == ["ada@x"]
        said, _ = other.communicate("\n", timeout=PATIENCE)
    assert "switched the store to WAL mode" in said
    assert emails(database) == ["ada@x"]
