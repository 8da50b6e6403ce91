"""How long the desk's own tools take with 100,000 items, beside a large tree.

`TREE` names the folder that is the server's only root; without it, the library of this Python.
"""

from __future__ import annotations

import os
import sysconfig
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks import stores
from benchmarks.families import until_at_rest
from benchmarks.measure import Table, Times
from benchmarks.wire import ROLLTOP, Wire

if TYPE_CHECKING:
    from collections.abc import Sequence

_TASKS, _NOTES, _PADS, _CELLS = 40_000, 40_000, 1_000, 20
_BATCH: Final = 50
_ROUNDS: Final = 100
_QUERIES: Final = (
    "harbour lamp",
    "how is a path joined",
    "parse the header of a message",
    "retry limit of uploads",
    "thread pool",
)


def tables() -> list[Table]:
    """Return the table of resume and search."""
    tree = Path(os.environ.get("TREE") or sysconfig.get_path("stdlib"))
    with tempfile.TemporaryDirectory() as folder:
        with _serve(folder, tree) as wire:
            _fill(wire)
        with _serve(folder, tree) as wire:
            rows = [_row("first desk_resume of a process", _measure(wire, "desk_resume", [{}]))]
            searches = [{"query": query} for query in _QUERIES] * (_ROUNDS // len(_QUERIES))
            _measure(wire, "desk_search", searches[:10])
            until_at_rest(wire.process.pid)
            resumes: list[dict[str, Any]] = [{}] * _ROUNDS
            rows.append(_row("desk_resume", _measure(wire, "desk_resume", resumes)))
            rows.append(_row("desk_search", _measure(wire, "desk_search", searches)))
    items = _TASKS + _NOTES + _PADS * _CELLS
    files = [entry for entry in tree.rglob("*") if entry.is_file() and not entry.is_symlink()]
    size = sum(entry.stat().st_size for entry in files) / 1e6
    return [
        Table(
            "desk: resume and search with 100,000 items",
            f"{items:,} tasks, notes and cells of one user in SQLite, beside a tree of "
            f"{len(files):,} files and {size:,.0f} MB; over stdio, warm but for the first row.",
            ("call", "p50", "p95", "most"),
            rows,
        )
    ]


def _serve(folder: str, tree: Path) -> Wire:
    wire = Wire(ROLLTOP, tree, HOME=folder)
    wire.initialize()
    return wire


def _fill(wire: Wire) -> None:
    for start in range(0, _TASKS, _BATCH):
        tasks = [{"title": stores.text(start + n)[:80]} for n in range(_BATCH)]
        _call(wire, "add_task", tasks=tasks)
    for number in range(_NOTES):
        _call(wire, "note_save", text=f"# Note {number}\n\n{stores.text(number)}")
    for number in range(_PADS):
        texts = (stores.text(number * _CELLS + n) for n in range(_CELLS))
        cells = [{"language": "txt", "content": text} for text in texts]
        _call(wire, "scratch_create", metadata={"title": f"Pad {number}"}, cells=cells)


def _call(wire: Wire, tool: str, /, **arguments: Any) -> None:
    result = wire.request("tools/call", {"name": tool, "arguments": arguments})
    assert not result.get("isError"), result


def _measure(wire: Wire, tool: str, calls: Sequence[dict[str, Any]]) -> Times:
    seconds: list[float] = []
    for arguments in calls:
        start = perf_counter()
        _call(wire, tool, **arguments)
        seconds.append(perf_counter() - start)
    return Times(tuple(seconds))


def _row(name: str, times: Times) -> tuple[str, ...]:
    return (name, *(f"{times.at(share) * 1000:.0f} ms" for share in (0.5, 0.95, 1.0)))
