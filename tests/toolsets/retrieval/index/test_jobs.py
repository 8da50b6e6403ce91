"""Which roots are indexed in the background."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.retrieval import jobs
from rolltop.toolsets.retrieval.index.trigram_index import open_index
from tests.forks import PATIENCE
from tests.toolsets.retrieval.forest import make_forest

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext


def run_jobs(desk: AppContext) -> None:
    async def run() -> None:
        for job in jobs.JOBS:
            await job.run(desk)

    asyncio.run(run())


def is_indexed_after_jobs(desk: AppContext) -> bool:
    run_jobs(desk)
    return desk.service(open_index).is_built


def test_a_root_that_nobody_chose_is_indexed_once_it_is_searched(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    (tmp_path / "code" / "mill.md").write_text("The wheel turns.\n")
    assert not is_indexed_after_jobs(forest.desk)
    forest.ok("repo_list_dir")
    forest.ok("repo_open_file", path="mill.md")
    assert not is_indexed_after_jobs(forest.desk)
    assert forest.ok("repo_search", query="wheel")["result"]
    assert is_indexed_after_jobs(forest.desk)


def test_roots_that_somebody_chose_are_indexed_from_the_start(tmp_path: Path) -> None:
    settings = {"retrieval.roots": {"code": tmp_path / "code"}}
    assert is_indexed_after_jobs(make_forest(tmp_path, "code", settings=settings).desk)


@pytest.mark.parametrize("setting", [True, False])
def test_without_a_root_there_is_nothing_to_do(tmp_path: Path, *, setting: bool) -> None:
    desk = make_forest(tmp_path, settings={"retrieval.index": setting}).desk
    run_jobs(desk)
    assert not (tmp_path / "data").exists()


@pytest.mark.usefixtures("quick")
def test_the_size_and_age_of_indexes_and_what_waits_for_them_are_measured(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    assert jobs.measure_indexes(forest.desk) == {"index_bytes": 0, "index_waiting_files": 0}
    forest.put("code/mill.md", "The wheel turns.\n")
    forest.ok("repo_smart_search", query="wheel")
    assert jobs.measure_indexes(forest.desk)["index_waiting_files"] > 0
    end = time.monotonic() + PATIENCE
    while (measured := jobs.measure_indexes(forest.desk))["index_waiting_files"]:
        assert time.monotonic() < end
        threading.Event().wait(0.01)
        run_jobs(forest.desk)
    assert measured["index_bytes"] > 0
    assert 0 <= measured["index_age_seconds"] <= PATIENCE
    forest.put("code/lock.md", "The gate opens.\n")
    forest.ok("repo_smart_search", query="gate")
    assert jobs.measure_indexes(forest.desk)["index_waiting_files"] > 0
    without = make_forest(tmp_path, "code", settings={"retrieval.index": False})
    assert jobs.measure_indexes(without.desk) == {}
