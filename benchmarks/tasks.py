"""Each task tool over stdio, and pages of a list of 20,000 tasks at every depth."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import Table, Times, time_of
from benchmarks.wire import ROLLTOP, Wire

RUNS = 200
MANY = 20_000


def tables() -> list[Table]:
    """Return the tables of the toolset tasks."""
    with tempfile.TemporaryDirectory() as folder, Wire(ROLLTOP, Path(folder)) as wire:
        wire.initialize()
        wire.call("list_tasks")
        few = _each_tool(wire)
        for n in range(MANY):
            wire.call("add_task", title=f"task {n}", priority=n % 5)
        many = _each_tool(wire)
        pages = _pages(wire)
    rows = [
        (name, few[name].cell(), many[name].cell(), f"{many[name].median / few[name].median:.2f} ×")
        for name in few
    ]
    return [
        Table(
            "tasks: each tool",
            f"{RUNS} calls each over stdio on SQLite; every write is synced before its answer.",
            ("tool", "among some hundred tasks", f"of {MANY:,}", "ratio of medians"),
            rows,
        ),
        Table(
            "tasks: pages",
            f"list_tasks with limit 100 through {MANY:,} tasks, by the cursor; medians.",
            ("pages", "time"),
            pages,
        ),
    ]


def _each_tool(wire: Wire) -> dict[str, Times]:
    """Return the times of every tool's calls, each set on tasks of its own."""
    measured: dict[str, list[float]] = {}

    def timed(tool: str, **arguments: Any) -> dict[str, Any]:
        answers: list[dict[str, Any]] = []
        seconds = time_of(lambda: answers.append(wire.call(tool, **arguments)))
        measured.setdefault(tool, []).append(seconds)
        return answers[0]

    for n in range(RUNS):
        task = timed("add_task", title=f"measured {n}", priority=0, tags=["bench"])["data"]
        timed("update_task", task_id=task["task_id"], title=f"changed {n}")
        timed("next_task")
        claimed = timed("claim_task", task_id=task["task_id"])["data"]
        timed("complete_task", task_id=task["task_id"], token=claimed["claim"]["token"])
        timed("reopen_task", task_id=task["task_id"])
        timed("delete_task", task_id=task["task_id"])
        timed("restore_task", task_id=task["task_id"])
        timed("list_tasks")
        timed("list_tasks", tag="bench")
    return {tool: Times(tuple(seconds)) for tool, seconds in measured.items()}


def _pages(wire: Wire) -> list[tuple[str, ...]]:
    seconds: list[float] = []
    arguments: dict[str, Any] = {"limit": 100}
    while True:
        answers: list[dict[str, Any]] = []
        seconds.append(
            time_of(lambda: answers.append(wire.call("list_tasks", **arguments)))  # noqa: B023
        )
        if "next" not in answers[0]:
            break
        arguments = answers[0]["next"]["arguments"]
    tenth = len(seconds) // 10
    return [
        (f"{start + 1} to {start + tenth}", Times(tuple(seconds[start : start + tenth])).cell())
        for start in (0, tenth * 5, tenth * 9)
    ]
