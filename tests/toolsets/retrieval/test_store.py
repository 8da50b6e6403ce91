"""What processes share: work, all of it and each in an order of its own, and index files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.retrieval.store import Busy, IndexFile, scattered
from rolltop.toolsets.retrieval.store.files import Connection
from tests.toolsets.retrieval.meanwhile import locked

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE = 6


def index_file(folder: Path) -> IndexFile:
    return IndexFile(folder, "x", 1, "CREATE TABLE t (a)")


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 299, 5_000])
def test_scattered_work_is_all_the_work(count: int) -> None:
    assert sorted(scattered(range(count))) == list(range(count))


@pytest.mark.parametrize("count", [40, 5_000])
def test_two_that_share_work_do_not_begin_alike_for_ever(count: int) -> None:
    orders = {tuple(scattered(range(count))) for _ in range(20)}
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
    monkeypatch.setattr("rolltop.toolsets.retrieval.store.files._BUSY_MS", 10)
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
