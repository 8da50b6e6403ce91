"""The checking processes: limits that hold, other checks meanwhile, ends that are clean."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
import pytest

from rolltop.core.errors import Unavailable
from rolltop.core.worker_process import Worker, WorkerProcess
from rolltop.toolsets.scratch.syntax.results import CheckRequest, CheckResult, timeout_result
from rolltop.toolsets.scratch.syntax.validator import Validator
from tests.toolsets.scratch.hostile import SLOW_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HANGS = CheckRequest("json", "[1]", schema=SLOW_SCHEMA)
FINE = CheckRequest("json", '{"a": 1}')
SECONDS = 600.0


def check_now(one: Validator, cells: Sequence[CheckRequest]) -> list[CheckResult]:
    return asyncio.run(one.check(cells))


@pytest.fixture
def validator() -> Iterator[Validator]:
    one = Validator(timeout=SECONDS)
    yield one
    one.close()


@pytest.fixture
def hasty() -> Iterator[Validator]:
    one = Validator(timeout=1.0)
    yield one
    one.close()


def wait_until(condition: Callable[[], object]) -> None:
    """Return once `condition()` holds; fails after a bounded time."""
    until, pause = time.monotonic() + SECONDS, threading.Event()
    while not condition():
        assert time.monotonic() < until
        pause.wait(0.02)


def children() -> set[int]:
    return {one.pid for one in psutil.Process().children()}


def is_running(pid: int) -> bool:
    """Whether the process runs; one that ended and is not waited for yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_results_come_in_order(validator: Validator) -> None:
    cells = [FINE, CheckRequest("py", "x ="), CheckRequest("yaml", "a: [")]
    results = check_now(validator, cells)
    assert [isinstance(one, CheckResult) and one.valid for one in results] == [True, False, False]


def test_the_limit_ends_a_hanging_check_and_the_rest_of_its_call(hasty: Validator) -> None:
    assert check_now(hasty, [FINE, HANGS, FINE])[1:] == [
        timeout_result(1.0),
        timeout_result(1.0),
    ]
    (after,) = check_now(hasty, [FINE])
    assert isinstance(after, CheckResult)


def test_other_checks_are_answered_meanwhile(validator: Validator) -> None:
    answered: list[int] = []

    async def hang() -> None:
        with pytest.raises(Unavailable):
            await validator.check([HANGS])

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(hang)
            while not validator.is_busy():
                await anyio.lowlevel.checkpoint()
            for number in range(5):
                (result,) = await validator.check([FINE])
                assert isinstance(result, CheckResult)
                assert validator.is_busy()
                answered.append(number)
            validator.close()

    anyio.run(main)
    assert len(answered) == 5


def test_waiting_for_a_turn_counts_as_time(
    hasty: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[CheckRequest] = []
    check = WorkerProcess.call

    def counted(process: WorkerProcess, cell: CheckRequest, *limits: float) -> object:
        started.append(cell)
        return check(process, cell, *limits)

    monkeypatch.setattr(WorkerProcess, "call", counted)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(hasty.check, [HANGS])

    anyio.run(main)
    # Each turn hangs for all of the limit, so whoever had to wait for one is too late.
    assert len(started) < 16


@pytest.mark.parametrize("language", ["go", "sh", "ts"])
def test_programs_that_parse_leave_nothing_in_the_home_directory(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    one = Validator(timeout=SECONDS)
    (result,) = check_now(one, [CheckRequest(language, "(")])
    one.close()
    assert isinstance(result, CheckResult)
    assert not result.valid
    assert list(tmp_path.rglob("*")) == []


def test_more_calls_than_processes_are_all_answered(validator: Validator) -> None:
    results: list[object] = []

    def one() -> None:
        results.extend(check_now(validator, [FINE, FINE]))

    threads = [threading.Thread(target=one) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(results) == 24
    assert all(isinstance(result, CheckResult) for result in results)


def test_a_check_whose_process_dies_is_an_error_and_the_next_works() -> None:
    before, results = children(), list[CheckResult]()
    one = Validator(timeout=SECONDS)
    thread = threading.Thread(target=lambda: results.extend(check_now(one, [HANGS])))
    thread.start()
    wait_until(one.is_busy)
    killed = children() - before
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(is_running(pid) for pid in killed))
    thread.join(SECONDS)
    results += check_now(one, [FINE])
    one.close()
    died, fine = results
    assert isinstance(died, CheckResult)
    assert [fault.code for fault in died.errors] == ["CHECK_FAILED"]
    assert set(died.details) == {"syntax", "schema", "analysis"}
    assert isinstance(fine, CheckResult)
    assert fine.valid


def test_memory_is_bounded() -> None:
    small = Validator(timeout=SECONDS, memory=64 << 20)
    try:
        (result, fine) = check_now(
            small, [CheckRequest("json", "[" + "{}," * 3_000_000 + "{}]"), FINE]
        )
    finally:
        small.close()
    assert isinstance(result, CheckResult)
    assert not result.valid
    assert isinstance(fine, CheckResult)
    assert fine.valid


def test_closing_ends_processes_and_checks_under_way() -> None:
    before, raised = children(), list[Exception]()
    one = Validator(timeout=SECONDS)

    def check() -> None:
        try:
            check_now(one, [HANGS])
        except Unavailable as error:
            raised.append(error)

    thread = threading.Thread(target=check)
    thread.start()
    wait_until(one.is_busy)
    one.close()
    thread.join(SECONDS)
    assert len(raised) == 1
    assert children() <= before
    with pytest.raises(Unavailable):
        check_now(one, [FINE])


def test_a_killed_process_is_replaced(validator: Validator) -> None:
    before = children()
    check_now(validator, [FINE])
    for pid in children() - before:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not is_running(pid))
    (result,) = check_now(validator, [FINE])
    assert isinstance(result, CheckResult)
    assert result.valid


ENDLESS = CheckRequest("js", "const x;\n" * 400_000)
"""A text of so many errors that oxlint takes minutes to write them down."""


def parser() -> psutil.Process | None:
    """The program that a checking process of this one has started."""
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if one.name() == "oxlint":
                return one
    return None


@pytest.mark.parametrize("ends", ["by the limit", "with its checking process", "by closing"])
def test_a_parser_that_runs_as_a_program_ends(ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timers = list[threading.Timer]()
    begin = threading.Timer.start

    def start(timer: threading.Timer) -> None:
        timers.append(timer)
        begin(timer)

    monkeypatch.setattr(threading.Timer, "start", start)
    one, results = Validator(timeout=SECONDS), list[object]()

    def check() -> None:
        with suppress(Unavailable):
            results.extend(check_now(one, [ENDLESS]))

    thread = threading.Thread(target=check)
    thread.start()
    wait_until(parser)
    program = parser()
    assert program is not None
    folder = Path(program.cwd())
    if ends == "with its checking process":
        os.kill(program.ppid(), signal.SIGKILL)
    elif ends == "by closing":
        one.close()
    else:
        timers[-1].function()
    thread.join(SECONDS)
    one.close()
    wait_until(lambda: not is_running(program.pid))
    wait_until(lambda: not folder.exists())
    assert (ends == "by the limit") is (results == [timeout_result(SECONDS)])


OWNER = """
import asyncio, sys, threading
from rolltop.toolsets.scratch.syntax.results import CheckRequest
from rolltop.toolsets.scratch.syntax.validator import Validator
import json, psutil
one = Validator(timeout=600)
asyncio.run(one.check([CheckRequest("json", "1")]))
hanging = CheckRequest("json", "[1]", schema=json.loads(sys.argv[1]))
threading.Thread(target=lambda: asyncio.run(one.check([hanging])), daemon=True).start()
while not one.is_busy():
    pass
asyncio.run(one.check([CheckRequest("json", "1")]))
print(*(child.pid for child in psutil.Process().children()), flush=True)
sys.stdin.read()
"""


def test_no_process_outlives_a_killed_server() -> None:
    command = [sys.executable, "-c", OWNER, json.dumps(SLOW_SCHEMA)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as owner:
        assert owner.stdout is not None
        pids = [int(word) for word in owner.stdout.readline().split()]
        assert len(pids) >= 2
        owner.kill()
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in pids))


def test_a_checking_process_imports_none_of_the_server() -> None:
    package = "rolltop.toolsets.scratch.syntax"
    process = WorkerProcess(Worker("tests.core.test_worker_process:importing", skip_init=package))
    for module in ("checker", "schema", "tree_sitter_check", "yaml_text", "markdown"):
        loaded = process.call(f"{package}.{module}", SECONDS)
        assert f"{package}.{module}" in loaded
        ours = {"rolltop.core.dispatch", "rolltop.core.db", "rolltop.toolsets.scratch.service"}
        assert not {"mcp", "pydantic", "sqlalchemy", "anyio", "asyncio", *ours} & {*loaded}
    process.kill()
