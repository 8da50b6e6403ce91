"""The store's files removed or replaced under a running server: nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Final, Self

import pytest
from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.accounts import list_users
from rolltop.core.db import SYSTEM, Database
from tests.core.db.encrypted import url_of
from tests.forks import Forked

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

WRITES: Final = 50

SERVER: Final = """
import sys
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import RolltopError
database = Database(sys.argv[1], lock_timeout=5.0)
for email in map(str.strip, sys.stdin):
    try:
        if email == "close":
            break
        database.write_sync(SYSTEM, add_user, email)
        print("kept", flush=True)
    except RolltopError as error:
        print(error.message, error.hint, flush=True)
database.close()
"""


class Server:
    """A process that has the store open and writes one row for each line."""

    def __init__(self, file: Path) -> None:
        self._process = Forked(["-c", SERVER, url_of(file)])
        self.kept: set[str] = set()
        self.said = ""

    def __enter__(self) -> Self:
        self._process.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.__exit__(kind, error, trace)

    def add(self, email: str) -> None:
        self._process.stdin.write(f"{email}\n".encode())
        self._process.stdin.flush()
        said = self._process.stdout.readline().decode().strip()
        if said == "kept":
            self.kept.add(email)
        else:
            self.said = said

    def close(self) -> None:
        self._process.stdin.write(b"close\n")
        self._process.stdin.flush()
        assert self._process.wait() == 0


def tamper(file: Path, how: str) -> None:
    """Do to a file what a clean-up, a sync tool or a copy does."""
    other = file.with_name("other")
    if how == "unlinked":
        file.unlink()
        return
    if how == "replaced by a copy":
        shutil.copy(file, other)
    else:
        other.touch(mode=0o600)
    other.replace(file)


def emails(file: Path) -> set[str]:
    database = Database(url_of(file))
    try:
        return {user.email for user in database.read_sync(SYSTEM, list_users)}
    finally:
        database.close()


def require_whole(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("closed_first", ["first", "second"])
@pytest.mark.parametrize("how", ["unlinked", "replaced by a copy", "replaced by an empty file"])
@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_two_servers_lose_nothing_when_a_side_file_is_taken_away(
    tmp_path: Path, ending: str, how: str, closed_first: str
) -> None:
    file = tmp_path / "desk.db"
    with Server(file) as first, Server(file) as second:
        for number in range(WRITES):
            first.add(f"before{number}@x")
        assert len(first.kept) == WRITES
        tamper(file.with_name(file.name + ending), how)
        for number in range(WRITES):
            second.add(f"second{number}@x")
            first.add(f"first{number}@x")
        assert len(first.kept) == WRITES, "the server whose file it was refuses"
        assert f"desk.db{ending} was removed or replaced" in first.said
        assert "Nothing of this call was kept. Restart every Rolltop server" in first.said
        if ending == "-wal" and how != "replaced by a copy":
            assert second.kept == set(), "the log is nowhere but in the first server"
            assert "Stop every Rolltop server" in second.said
        else:
            assert len(second.kept) == WRITES
        servers = [first, second] if closed_first == "first" else [second, first]
        for server in servers:
            server.close()
    assert emails(file) == first.kept | second.kept
    require_whole(file)


@pytest.mark.parametrize("how", ["a hard link", "another name since"])
def test_a_store_that_others_have_open_by_another_name_is_not_opened(
    tmp_path: Path, how: str
) -> None:
    file, other = tmp_path / "desk.db", tmp_path / "other" / "desk.db"
    other.parent.mkdir()
    with Server(file) as first, Server(other) as second:
        first.add("before@x")
        if how == "a hard link":
            other.hardlink_to(file)
        else:
            file.rename(other)
        second.add("second@x")
        first.add("first@x")
        assert second.kept == set()
        assert "by another name" in second.said
        first.close()
        second.add("after@x")
        second.close()
    if how == "a hard link":
        assert emails(file) == {"before@x", "first@x", "after@x"}
        require_whole(file)
    else:
        assert first.kept == {"before@x"}
        assert emails(other) >= second.kept


def test_a_folder_moved_away_keeps_what_it_held(tmp_path: Path) -> None:
    file = tmp_path / "data" / "desk.db"
    with Server(file) as first, Server(file) as second:
        first.add("before@x")
        file.parent.rename(tmp_path / "moved")
        second.add("second@x")
        first.add("first@x")
        assert "desk.db was removed or replaced" in first.said
        first.close()
        second.add("after@x")
        second.close()
    assert emails(tmp_path / "moved" / "desk.db") == {"before@x"}
    assert emails(file) == {"second@x", "after@x"}


def test_a_log_emptied_in_place_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    with Server(file) as server:
        server.add("before@x")
        with (tmp_path / "desk.db-wal").open("r+b") as log:
            log.truncate()
        server.add("lost@x")
        assert "desk.db-wal was removed or replaced" in server.said
        server.close()


@pytest.mark.parametrize("cut", [1, 8192, 12288])
def test_a_log_cut_in_place_is_not_written_back(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "desk.db"
    log = tmp_path / "desk.db-wal"
    with Server(file) as server:
        server.add("before@x")
        os.truncate(log, log.stat().st_size - cut)
        server.add("lost@x")
        assert "desk.db-wal was removed or replaced" in server.said
        server.close()
    assert emails(file) == set()
    require_whole(file)


def test_a_start_after_a_kill_goes_on_without_the_removed_log(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    assert emails(file) == set()
    with Forked(["-c", SERVER, url_of(file)]) as process:
        process.stdin.write(b"lost@x\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"kept\n"
        process.kill()
        process.wait()
    (tmp_path / "desk.db-wal").unlink()
    with Server(file) as server:
        server.add("after@x")
        server.close()
    assert emails(file) == {"after@x"}


def test_checkpoints_of_other_programs_are_no_reason_to_refuse(tmp_path: Path) -> None:
    file = tmp_path / "desk.db"
    with Server(file) as server:
        server.add("before@x")
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        server.add("after@x")
        server.close()
    assert emails(file) == {"before@x", "after@x"}
