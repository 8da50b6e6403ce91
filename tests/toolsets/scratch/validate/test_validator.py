"""The checking processes: limits that hold, other checks meanwhile, ends that are clean."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
import pytest

from rolltop.core.errors import Unavailable
from rolltop.toolsets.scratch.validate import Cell, Checked, Timeout, Validator
from rolltop.toolsets.scratch.validate.process import CheckingProcess
from tests.toolsets.scratch.hostile import SLOW_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HANGS = Cell("json", "[1]", schema=SLOW_SCHEMA)
FINE = Cell("json", '{"a": 1}')
SECONDS = 20.0


@pytest.fixture
def validator() -> Iterator[Validator]:
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
    cells = [FINE, Cell("py", "x ="), Cell("yaml", "a: [")]
    results = validator.check_now(cells)
    assert [isinstance(one, Checked) and one.valid for one in results] == [True, False, False]


def test_the_limit_ends_a_hanging_check_and_the_rest_of_its_call(validator: Validator) -> None:
    assert validator.check_now([FINE, HANGS, FINE])[1:] == [Timeout(1.0), Timeout(1.0)]
    (after,) = validator.check_now([FINE])
    assert isinstance(after, Checked)


def test_other_checks_are_answered_meanwhile(validator: Validator) -> None:
    answered: list[int] = []

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(validator.check, [HANGS])
            while not validator.is_busy():
                await anyio.lowlevel.checkpoint()
            for number in range(5):
                (result,) = await validator.check([FINE])
                assert isinstance(result, Checked)
                assert validator.is_busy()
                answered.append(number)

    anyio.run(main)
    assert len(answered) == 5


def test_waiting_for_a_turn_counts_as_time(
    validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Cell] = []
    check = CheckingProcess.check

    def counted(process: CheckingProcess, cell: Cell, until: float) -> Checked:
        started.append(cell)
        return check(process, cell, until)

    monkeypatch.setattr(CheckingProcess, "check", counted)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(validator.check, [HANGS])

    anyio.run(main)
    # Each turn hangs for all of the limit, so whoever had to wait for one is too late.
    assert len(started) < 16


def test_more_calls_than_processes_are_all_answered(validator: Validator) -> None:
    results: list[object] = []

    def one() -> None:
        results.extend(validator.check_now([FINE, FINE]))

    threads = [threading.Thread(target=one) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(results) == 24
    assert all(isinstance(result, Checked) for result in results)


def test_a_check_whose_process_dies_is_an_error_and_the_next_works() -> None:
    before, results = children(), list[Checked | Timeout]()
    one = Validator(timeout=SECONDS)
    thread = threading.Thread(target=lambda: results.extend(one.check_now([HANGS])))
    thread.start()
    wait_until(one.is_busy)
    killed = children() - before
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(is_running(pid) for pid in killed))
    thread.join(SECONDS)
    results += one.check_now([FINE])
    one.close()
    died, fine = results
    assert isinstance(died, Checked)
    assert [fault.code for fault in died.errors] == ["CHECK_FAILED"]
    assert set(died.details) == {"syntax", "schema", "analysis"}
    assert isinstance(fine, Checked)
    assert fine.valid


def test_memory_is_bounded() -> None:
    small = Validator(timeout=SECONDS, memory=64 << 20)
    try:
        (result, fine) = small.check_now([Cell("json", "[" + "{}," * 3_000_000 + "{}]"), FINE])
    finally:
        small.close()
    assert isinstance(result, Checked)
    assert not result.valid
    assert isinstance(fine, Checked)
    assert fine.valid


def test_closing_ends_processes_and_checks_under_way() -> None:
    before, raised = children(), list[Exception]()
    one = Validator(timeout=SECONDS)

    def check() -> None:
        try:
            one.check_now([HANGS])
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
        one.check_now([FINE])


def test_a_killed_process_is_replaced(validator: Validator) -> None:
    before = children()
    validator.check_now([FINE])
    for pid in children() - before:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not is_running(pid))
    (result,) = validator.check_now([FINE])
    assert isinstance(result, Checked)
    assert result.valid


OWNER = """
import sys, threading
from rolltop.toolsets.scratch.validate import Cell, Validator
import json, psutil
one = Validator(timeout=2.0)
one.check_now([Cell("json", "1")])
hanging = Cell("json", "[1]", schema=json.loads(sys.argv[1]))
threading.Thread(target=one.check_now, args=([hanging],), daemon=True).start()
while not one.is_busy():
    pass
one.check_now([Cell("json", "1")])
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
    script = (
        "import sys, types, pathlib; package = types.ModuleType('checks');"
        "package.__path__ = [sys.argv[1]]; sys.modules['checks'] = package;"
        "import checks.worker, checks.schema, checks.grammar, checks.yaml_text, checks.markdown;"
        "print(*sorted(sys.modules))"
    )
    folder = Path(inspect.getfile(Validator)).parent
    said = subprocess.run(
        [sys.executable, "-c", script, folder], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in said.stdout.split()}
    assert not loaded & {"rolltop", "mcp", "pydantic", "sqlalchemy", "anyio", "asyncio"}
