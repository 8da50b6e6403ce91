"""Each hot scratch tool over stdio, among few and many pads, beside a tool that does nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import Table, Times, time_of
from benchmarks.wire import EMPTY, ROLLTOP, Wire

RUNS = 200
FEW = 100
MANY = int(os.environ.get("BENCH_PADS", "10000"))
CELLS = 20
LARGE = 5 << 20
LONG = 1000
NO_LIMITS = {
    "ROLLTOP_SCRATCH_MAX_SCRATCHPADS": "0",
    "ROLLTOP_SCRATCH_MAX_CELLS_PER_PAD": "0",
    "ROLLTOP_SCRATCH_SEMANTIC_SEARCH": "off",
    "ROLLTOP_MAX_RESULT_TOKENS": "0",
}


def tables() -> list[Table]:
    """Return the tables of the toolset scratch."""
    with tempfile.TemporaryDirectory() as first, Wire(EMPTY, Path(first)) as empty:
        empty.initialize()
        nothing = Times(tuple(time_of(lambda: empty.call("nothing")) for _ in range(RUNS)))
    with (
        tempfile.TemporaryDirectory() as folder,
        Wire(ROLLTOP, Path(folder), **NO_LIMITS) as wire,
    ):
        wire.initialize()
        _fill(wire, FEW)
        few = _each_tool(wire)
        _fill(wire, MANY - FEW)
        many = _each_tool(wire)
        large = _large(wire)
    rows = [
        (
            name,
            few[name].cell(),
            many[name].cell(),
            f"{many[name].median / few[name].median:.2f} ×",
            f"{many[name].median / nothing.median:.2f} ×",
        )
        for name in few
    ]
    how = f"{RUNS} calls each over stdio on SQLite; pads of {CELLS} cells; writes are synced."
    headers = ("tool", f"{FEW} pads", f"{MANY:,} pads", "ratio", "to a no-op tool's round trip")
    return [
        Table("scratch: each tool", how, headers, [*rows, ("no-op", nothing.cell(), "", "", "")]),
        Table("scratch: large", "One call each.", ("what", "time"), large),
    ]


def _text(n: int) -> str:
    return f"Note {n}: harbour {n % 97} kept its light in the storm of {1700 + n % 300}.\n" * 3


def _fill(wire: Wire, pads: int) -> None:
    for n in range(pads):
        cells = [{"language": "txt", "content": _text(n * CELLS + m)} for m in range(CELLS)]
        wire.call("scratch_create", metadata={"title": f"pad {n}"}, cells=cells)


def _each_tool(wire: Wire) -> dict[str, Times]:
    measured: dict[str, list[float]] = {}

    def timed(label: str, tool: str, **arguments: Any) -> dict[str, Any]:
        answers: list[dict[str, Any]] = []
        seconds = time_of(lambda: answers.append(wire.call(tool, **arguments)))
        measured.setdefault(label, []).append(seconds)
        return answers[0]

    cells = [{"language": "txt", "content": _text(m)} for m in range(CELLS)]
    pad = wire.call("scratch_create", cells=cells)["scratchpad"]["scratch_id"]
    for n in range(RUNS):
        cell = {"language": "txt", "content": _text(n)}
        timed("read", "scratch_read", scratch_id=pad)
        timed("list_cells", "scratch_list_cells", scratch_id=pad)
        added = timed("append", "scratch_append_cell", scratch_id=pad, cell=cell)["cell_id"]
        timed("replace", "scratch_replace_cell", scratch_id=pad, cell_id=added, cell=cell)
        wire.call("scratch_delete_cell", scratch_id=pad, cell_id=added)
        timed("search", "scratch_search", query=f"harbour {n} storm", mode="words")
        timed("list", "scratch_list")
    return {label: Times(tuple(seconds)) for label, seconds in measured.items()}


def _large(wire: Wire) -> list[tuple[str, ...]]:
    pad = wire.call("scratch_create")["scratchpad"]["scratch_id"]
    line = "a line of text that is neither short nor long, for a large cell\n"
    cell = {"language": "txt", "content": (line * (LARGE // len(line) + 1))[:LARGE]}
    append = time_of(lambda: wire.call("scratch_append_cell", scratch_id=pad, cell=cell))
    read = time_of(lambda: wire.call("scratch_read", scratch_id=pad))
    cells = [{"language": "txt", "content": "x"}] * LONG
    long = wire.call("scratch_create", cells=cells)["scratchpad"]["scratch_id"]
    small = {"language": "txt", "content": "x"}
    appends = [
        time_of(lambda: wire.call("scratch_append_cell", scratch_id=long, cell=small))
        for _ in range(20)
    ]
    return [
        ("append a cell of 5 MiB", f"{append:.2f} s"),
        ("read it back whole", f"{read:.2f} s"),
        (f"append to a pad of {LONG:,} cells", Times(tuple(appends)).cell()),
    ]
