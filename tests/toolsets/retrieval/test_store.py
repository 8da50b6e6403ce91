"""What processes share: work, all of it and each in an order of its own, and index files."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.db import sqlite
from rolltop.toolsets.retrieval.store import Busy, Connection, Damaged, IndexFile, Unusable, scatter
from tests.toolsets.retrieval.meanwhile import locked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AT_ONCE = 6


def index_file(folder: Path, version: int = 1) -> IndexFile:
    return IndexFile(folder, "x", version, "CREATE TABLE t (a); CREATE TABLE u (a)")


def add(index: IndexFile, value: int) -> None:
    with index.write_transaction() as db:
        db.execute("INSERT INTO t VALUES (?)", (value,))


def values(index: IndexFile) -> list[tuple[Any, ...]]:
    with index.read_transaction() as db:
        return list(db.execute("SELECT a FROM t"))


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.unlink()
    file.touch()


def copy(file: Path) -> None:
    shutil.copy(file, file.with_name("other"))
    file.with_name("other").replace(file)


def remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


@pytest.mark.parametrize(("days", "is_there"), [(59, True), (61, False)])
def test_an_index_that_nobody_opened_for_long_is_deleted(
    tmp_path: Path, days: int, *, is_there: bool
) -> None:
    with closing(index_file(tmp_path)) as index:
        add(index, 1)
    old = time.time() - days * 24 * 3600
    [path] = tmp_path.glob("*.db")
    os.utime(path, (old, old))
    with closing(IndexFile(tmp_path, "y", 1, "CREATE TABLE t (a)")) as other:
        assert path.exists() == is_there
        assert not is_there or path.stat().st_mtime < time.time() - 1
        with closing(index_file(tmp_path)) as index:  # which counts as a use
            assert values(index) == [(1,)] * is_there
            assert path.stat().st_mtime > old + 1
            add(index, 2)
        add(other, 3)
    assert len([*tmp_path.glob("*.db")]) == 2


def test_versions_that_run_at_once_each_keep_an_index(tmp_path: Path) -> None:
    with closing(index_file(tmp_path, 2)) as newer, closing(index_file(tmp_path, 1)) as older:
        add(newer, 2)
        add(older, 1)
        for index, version in ((newer, 2), (older, 1)):
            with closing(index_file(tmp_path, version)) as again:
                assert values(index) == values(again) == [(version,)]


def test_one_that_is_deleted_while_it_is_open_is_made_anew(tmp_path: Path) -> None:
    with closing(index_file(tmp_path)) as index:
        add(index, 1)
        [path] = tmp_path.glob("*.db")
        os.utime(path, (0, 0))
        IndexFile(tmp_path, "y", 1, "CREATE TABLE t (a)").close()
        with pytest.raises(Damaged):
            add(index, 2)
    with closing(index_file(tmp_path)) as index:
        assert values(index) == []


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 299, 5_000])
def test_scattered_work_is_all_the_work(count: int) -> None:
    assert sorted(scatter(range(count))) == list(range(count))


@pytest.mark.parametrize("count", [40, 5_000])
def test_two_that_share_work_do_not_begin_alike_for_ever(count: int) -> None:
    orders = {tuple(scatter(range(count))) for _ in range(20)}
    assert len(orders) > 1


@pytest.mark.parametrize("turn", range(40))
def test_all_that_begin_an_index_file_at_the_same_time_have_it(tmp_path: Path, turn: int) -> None:
    together = Barrier(AT_ONCE)

    def begin() -> None:
        together.wait()
        index_file(tmp_path / str(turn)).close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        begun = [threads.submit(begin) for _ in range(AT_ONCE)]
    problems = [one.exception() for one in begun]
    # Busy is not for good: it is asked for again.
    assert [one for one in problems if one is not None and not isinstance(one, Busy)] == []


def test_an_index_file_that_another_writes_to_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_file(tmp_path).close()
    (path,) = tmp_path.glob("*.db")
    monkeypatch.setattr("rolltop.toolsets.retrieval.store.BUSY_SECONDS", 0.01)
    writer = Connection(path)
    with writer.transaction():
        index_file(tmp_path).close()
    writer.close()


def test_an_index_file_that_another_keeps_for_itself_is_to_be_asked_for_again(
    tmp_path: Path,
) -> None:
    index_file(tmp_path).close()
    (path,) = tmp_path.glob("*.db")
    with locked(path), pytest.raises(Busy):
        index_file(tmp_path)
    index_file(tmp_path).close()


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
@pytest.mark.parametrize("act", [remove, empty, copy, remove_folder])
def test_an_index_whose_files_were_replaced_is_begun_anew(
    tmp_path: Path, ending: str, act: Callable[[Path], None]
) -> None:
    """What another process writes to them from then on is not seen here, nor the other way."""
    index = index_file(tmp_path / "index")
    add(index, 1)
    (path,) = (tmp_path / "index").glob("*.db")
    act(path.with_name(path.name + ending))
    with pytest.raises(Damaged):
        add(index, 2)
    with pytest.raises(Damaged):
        values(index)
    index.close()
    anew = index_file(tmp_path / "index")
    assert values(anew) == []
    add(anew, 3)
    assert values(anew) == [(3,)]
    anew.close()


def test_an_index_that_one_process_gave_up_is_given_up_by_all(tmp_path: Path) -> None:
    one, other = index_file(tmp_path), index_file(tmp_path)
    (path,) = tmp_path.glob("*.db")
    path.with_name(path.name + ".damaged").touch()
    for index in (one, other):
        with pytest.raises(Damaged):
            values(index)
        index.close()
    anew = index_file(tmp_path)
    assert values(anew) == []
    anew.close()


def test_a_library_that_can_lose_commits_keeps_an_index_out_of_wal_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_file(tmp_path).close()
    (path,) = tmp_path.glob("*.db")
    monkeypatch.setattr(sqlite.library, "sqlite_version_info", (3, 51, 2))
    index = index_file(tmp_path)
    add(index, 1)
    assert path.read_bytes()[18:20] == b"\x01\x01", "a rollback journal"
    with closing(sqlite.connect(path)) as another:
        another.execute("PRAGMA journal_mode = wal")
        with pytest.raises(Unusable):
            add(index, 2)
    index.close()
