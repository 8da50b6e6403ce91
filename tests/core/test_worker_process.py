"""Worker processes: they answer within their limits, and are never left behind."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolltop.core import worker_process
from rolltop.core.errors import ShuttingDown, Unavailable
from rolltop.core.worker_process import (
    Worker,
    WorkerDied,
    WorkerPool,
    WorkerProcess,
    WorkerTimeout,
)
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = "tests.core.test_worker_process"
TOP = Path(__file__).parents[2]
_PARENT = f"""
import threading
from rolltop.core.worker_process import Worker, WorkerProcess
workers = [WorkerProcess(Worker(f"{HERE}:{{name}}")) for name in ("pid", "spinning", "matching")]
for worker in workers[1:]:
    threading.Thread(target=worker.call, args=("for ever", 1e6)).start()
workers[0].call("now", 1e6)
print(*(worker.pid for worker in workers), flush=True)
"""


def adding(start: int) -> Callable[[int], int]:
    """Return a function that adds up what it is given."""
    total = start

    def add(number: int) -> int:
        nonlocal total
        total += number
        return total

    return add


def spinning() -> Callable[[object], object]:
    """Return a function that never returns."""

    def spin(_request: object) -> object:
        while True:
            pass

    return spin


def matching() -> Callable[[object], object]:
    """Return a function that never returns and keeps the interpreter's lock."""
    return lambda _request: re.match(r"(?:a+)+b", "a" * 60)


def allocating() -> Callable[[int], int]:
    """Return a function that takes memory."""
    return lambda size: len(bytearray(size))


def talking() -> Callable[[int], bytes]:
    """Return a function whose answers are as large as it is told."""
    return bytes


def importing() -> Callable[[str], list[str]]:
    """Return what imports a module, and tells all that are loaded then."""

    def load(module: str) -> list[str]:
        import_module(module)
        return list(sys.modules)

    return load


def pid() -> Callable[[object], object]:
    """Return what tells which process it is, or never returns."""
    return lambda request: spinning()(request) if request == "spin" else os.getpid()


def limits() -> Callable[[object], tuple[int, str]]:
    """Return what tells how large a core file may be, and where temporary files go."""
    core = resource.RLIMIT_CORE
    return lambda _request: (resource.getrlimit(core)[0], os.environ.get("TMPDIR", ""))


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    """A pool of two that keeps one of them."""
    made = WorkerPool(Worker(f"{HERE}:pid"), max_workers=2)
    yield made
    made.close()


def alone(factory: Callable[..., object], *arguments: object, memory: int = 1 << 30) -> WorkerPool:
    return WorkerPool(Worker(f"{HERE}:{factory.__name__}", arguments, memory=memory))


def test_a_worker_keeps_what_it_learnt() -> None:
    workers = alone(adding, 40)
    assert [workers.call(1, PATIENCE), workers.call(1, PATIENCE)] == [41, 42]
    workers.close()


@pytest.mark.parametrize("factory", [spinning, matching])
def test_a_worker_past_its_deadline_is_killed(factory: Callable[[], object]) -> None:
    workers = alone(factory)
    with pytest.raises(WorkerTimeout):
        workers.call("for ever", 0.5)
    workers.close()


@pytest.mark.parametrize("factory", [spinning, matching])
def test_a_worker_past_its_processor_time_is_killed(factory: Callable[[], object]) -> None:
    workers = alone(factory)
    with pytest.raises(WorkerDied) as died:
        workers.call("for ever", PATIENCE, 0.1)
    assert not isinstance(died.value, WorkerTimeout)
    assert not died.value.at_start
    workers.close()


def test_processor_time_is_counted_for_each_request(pool: WorkerPool) -> None:
    first = pool.call("", PATIENCE, 0.1)
    assert pool.call("", PATIENCE, 0.1) == first
    with pytest.raises(WorkerDied):
        pool.call("spin", PATIENCE, 0.1)
    assert pool.call("", PATIENCE) != first


def test_a_worker_that_takes_more_memory_than_it_may_ends() -> None:
    workers = alone(allocating, memory=512 << 20)
    assert workers.call(1 << 20, PATIENCE) == 1 << 20
    with pytest.raises(WorkerDied):
        workers.call(1 << 30, PATIENCE)
    assert workers.call(1 << 20, PATIENCE) == 1 << 20
    workers.close()


def test_an_answer_larger_than_it_may_be_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = alone(talking)
    monkeypatch.setattr(worker_process, "MAX_ANSWER_BYTES", 1_000)
    assert workers.call(900, PATIENCE) == bytes(900)
    with pytest.raises(WorkerDied):
        workers.call(1_000, PATIENCE)
    workers.close()


def test_a_worker_leaves_no_core_file_and_its_folder_goes_with_it() -> None:
    process = WorkerProcess(Worker(f"{HERE}:limits", has_folder=True))
    core, folder = process.call("", PATIENCE)
    assert core == 0
    assert Path(folder).is_dir()
    process.kill()
    assert not Path(folder).exists()


def test_a_worker_outlives_the_thread_that_started_it(pool: WorkerPool) -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(pool.call("", PATIENCE)))
    thread.start()
    thread.join()
    assert found == [pool.call("", PATIENCE)]


def test_a_worker_that_was_killed_is_noticed_and_replaced(pool: WorkerPool) -> None:
    first = pool.call("", PATIENCE)

    def kill_once_busy() -> None:
        wait_until(pool.is_busy)
        os.kill(first, signal.SIGKILL)

    killing = threading.Thread(target=kill_once_busy)
    killing.start()
    with pytest.raises(WorkerDied):
        pool.call("spin", PATIENCE)
    killing.join()
    second = pool.call("", PATIENCE)
    os.kill(second, signal.SIGKILL)
    wait_until(lambda: not is_running(second))
    assert pool.call("", PATIENCE) not in {first, second}


def test_a_worker_that_cannot_begin_is_noticed() -> None:
    workers = WorkerPool(Worker(f"{HERE}:nothing_of_that_name"))
    with pytest.raises(WorkerDied) as died:
        workers.call("", PATIENCE)
    assert died.value.at_start
    workers.close()


def test_a_process_that_the_system_has_not_got_is_unavailable(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(subprocess, "Popen", fail)
    with pytest.raises(Unavailable):
        pool.call("", PATIENCE)


def test_a_pool_that_is_stopped_says_so_and_starts_again(pool: WorkerPool) -> None:
    raised: list[Exception] = []

    def spin() -> None:
        try:
            pool.call("spin", PATIENCE)
        except ShuttingDown as error:
            raised.append(error)

    threads = [threading.Thread(target=spin) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(pool.is_busy)
    while any(thread.is_alive() for thread in threads):
        pool.stop()
        threads[-1].join(0.01)
    assert len(raised) == 2
    assert pool.call("", PATIENCE)
    pool.close()
    with pytest.raises(ShuttingDown):
        pool.call("", PATIENCE)


def test_waiting_for_a_free_worker_counts_as_time() -> None:
    workers, ended = alone(spinning), list[type[Exception]]()

    def spin() -> None:
        try:
            workers.call("for ever", PATIENCE, 1.0)
        except WorkerDied as died:
            ended.append(type(died))

    thread = threading.Thread(target=spin)
    thread.start()
    wait_until(workers.is_busy)
    with pytest.raises(WorkerTimeout):
        workers.call("", 0.01)
    thread.join()
    assert ended == [WorkerDied]
    workers.close()


def test_a_worker_that_has_nothing_to_do_ends() -> None:
    pool = WorkerPool(Worker(f"{HERE}:pid"), idle_seconds=0.05)
    first = pool.call("", PATIENCE)
    wait_until(lambda: not Path(f"/proc/{first}").exists())
    assert pool.call("", PATIENCE) != first
    pool.close()


@pytest.mark.parametrize(
    "module", ["index.trigram_build", "index.chunk_index_builder", "index.vector_builder"]
)
def test_a_worker_does_without_what_a_package_imports_for_others(module: str) -> None:
    process = WorkerProcess(Worker(f"{HERE}:importing", skip_init="rolltop.toolsets.retrieval"))
    loaded = process.call(f"rolltop.toolsets.retrieval.{module}", PATIENCE)
    assert f"rolltop.toolsets.retrieval.{module}" in loaded
    assert not {"pydantic", "rolltop.toolsets.notes", "rolltop.toolsets.retrieval.tools"} & {
        *loaded
    }
    process.kill()


def test_workers_end_with_a_process_that_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        stdout=subprocess.PIPE,
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": f"{TOP / 'src'}:{TOP}"},
    )
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 3
    assert all(map(is_running, workers))
    parent.kill()
    parent.communicate()
    wait_until(lambda: not any(map(is_running, workers)))


def wait_until(condition: Callable[[], object]) -> None:
    """Return once `condition()` holds; fails after a bounded time."""
    end, pause = time.monotonic() + PATIENCE, threading.Event()
    while not condition():
        assert time.monotonic() < end
        pause.wait(0.01)


def is_running(number: int) -> bool:
    """Whether the process runs; one that ended and is not waited for yet does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
