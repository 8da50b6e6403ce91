"""Processes that work for this one: they answer, and are never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from rolltop.core.children import Child, Ended

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = "tests.core.test_children"
TOP = Path(__file__).parents[2]
_PARENT = f"""
from rolltop.core.children import Child
children = [Child("{HERE}:adding", 1), Child("{HERE}:spinning")]
children[1].send("for ever")
print(*(child.pid for child in children), flush=True)
children[1].receive()
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


def test_a_child_keeps_what_it_learnt_and_answers_in_order() -> None:
    child = Child(f"{HERE}:adding", 40)
    child.send(1)
    child.send(1)
    assert [child.receive(), child.receive()] == [41, 42]
    child.kill()


def importing() -> Callable[[str], list[str]]:
    """Return what imports a module, and tells all that are loaded then."""

    def load(module: str) -> list[str]:
        import_module(module)
        return list(sys.modules)

    return load


@pytest.mark.parametrize("module", ["trigrams.building", "rank.building", "rank.making"])
def test_a_child_does_without_what_a_package_imports_for_others(module: str) -> None:
    child = Child(f"{HERE}:importing", passing="rolltop.toolsets.retrieval")
    child.send(f"rolltop.toolsets.retrieval.{module}")
    loaded = cast("list[str]", child.receive())
    assert f"rolltop.toolsets.retrieval.{module}" in loaded
    assert not {"pydantic", "rolltop.toolsets.notes", "rolltop.toolsets.retrieval.tools"} & {
        *loaded
    }
    child.kill()


def test_a_child_that_was_killed_is_noticed() -> None:
    child = Child(f"{HERE}:spinning")
    child.send("for ever")
    threading.Timer(0.01, os.kill, (child.pid, signal.SIGKILL)).start()
    with pytest.raises(Ended):
        child.receive()
    child.kill()
    with pytest.raises(Ended):
        child.send("again")


def test_a_child_that_cannot_begin_is_noticed() -> None:
    child = Child(f"{HERE}:nothing_of_that_name")
    with pytest.raises(Ended):
        child.receive()


def test_children_end_with_a_process_that_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        stdout=subprocess.PIPE,
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": f"{TOP / 'src'}:{TOP}"},
    )
    assert parent.stdout is not None
    children = [int(pid) for pid in parent.stdout.readline().split()]
    assert all(map(_runs, children))
    parent.kill()
    parent.communicate()
    end = time.monotonic() + 20
    while any(map(_runs, children)):
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
