"""The hot scratch tools over stdio among few and many pads, beside a tool that does nothing.

`BENCH_PADS` names another number of pads than 10,000.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import stores
from benchmarks.measure import Table, interleaved, ratio, time_of
from benchmarks.wire import EMPTY, ROLLTOP, Wire
from rolltop.core.embedding import get_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rolltop.toolsets.scratch.models.inputs import CellInput

RUNS = 200
FEW = 100
MANY = int(os.environ.get("BENCH_PADS", "10000"))
CELLS = 20
LONG = 1000
LARGE = 5 << 20
QUERIES = 60
STARTS = 7
_LOADED = 1.5  # seconds after which a server has loaded what calls need
_SETTINGS = {
    "ROLLTOP_SCRATCH_MAX_SCRATCHPADS": "0",
    "ROLLTOP_SCRATCH_MAX_CELLS_PER_PAD": "0",
    "ROLLTOP_MAX_RESULT_TOKENS": "0",
}


def tables() -> list[Table]:
    """Return the tables of the toolset scratch."""
    with tempfile.TemporaryDirectory() as name:
        few, many = Path(name) / "few", Path(name) / "many"
        for data, pads in ((few, FEW), (many, MANY)):
            data.mkdir()
            stores.fill(data, pads, CELLS)
        tools = _each_tool(few, many)
        rows = [*_large(many), *_starts(few, many)]
        return [
            tools,
            _searches(many),
            Table(
                "scratch: large",
                "One pad or start each.",
                ("what", "time", "promise or ratio"),
                rows,
            ),
        ]


def _server(data: Path, **more: str) -> Wire:
    """Return a server of the store in a data directory, which has loaded what calls need."""
    environment = {"ROLLTOP_SCRATCH_SEMANTIC_SEARCH": "off", **_SETTINGS, **more}
    wire = Wire(ROLLTOP, data, ROLLTOP_DATA_DIR=str(data), **environment)
    wire.initialize()
    time.sleep(_LOADED)
    return wire


def _done(wire: Wire, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = wire.call(tool, **arguments)
    assert answer["ok"], answer
    return answer


def _each_tool(few: Path, many: Path) -> Table:
    with ExitStack() as stack:
        empty = stack.enter_context(Wire(EMPTY, few))
        empty.initialize()
        servers = [_Pad(stack.enter_context(_server(data))) for data in (few, many)]
        rows: list[tuple[str, ...]] = []
        for tool in ("read", "list_cells", "append", "replace", "one_row"):
            nothing, small, large = interleaved(
                [
                    partial(time_of, partial(empty.call, "nothing")),
                    *(getattr(pad, tool) for pad in servers),
                ],
                RUNS,
            )
            cells = (small.cell(), large.cell(), nothing.cell())
            ratios = (ratio(large, nothing), "≤ 3 ×", ratio(large, small), "≤ 1.3 ×")
            rows.append((tool, *cells, *ratios))
    return Table(
        "scratch: each tool",
        f"{RUNS} calls each in turn over stdio on SQLite, to pads of {CELLS} cells; every write is "
        "synced before its answer. A ratio is the median of the ratios call by call, with its "
        "quartiles; no-op is the round trip of an empty server's tool that does nothing, and the "
        "last row a call that writes one row of three columns: the floor of any write.",
        (
            *("tool", f"{FEW} pads", f"{MANY:,} pads", "no-op"),
            *("to the no-op", "promise", f"to {FEW} pads", "promise"),
        ),
        rows,
    )


class _Pad:
    """A pad of a server, and calls to it that leave it as it was; each answers its seconds."""

    def __init__(self, wire: Wire, cells: int = CELLS) -> None:
        self._wire = wire
        made = _done(wire, "scratch_create", cells=stores.cells(0, cells))["scratchpad"]
        self._named = {"scratch_id": made["scratch_id"]}
        self._last: str = _done(wire, "scratch_list_cells", **self._named)["cells"][-1]["cell_id"]
        self._turn = 0

    def read(self) -> float:
        return time_of(partial(_done, self._wire, "scratch_read", **self._named))

    def list_cells(self) -> float:
        return time_of(partial(_done, self._wire, "scratch_list_cells", **self._named))

    def append(self) -> float:
        cell = self._cell()
        started = time.perf_counter()
        added = _done(self._wire, "scratch_append_cell", **self._named, cell=cell)
        seconds = time.perf_counter() - started
        _done(self._wire, "scratch_delete_cell", **self._named, cell_id=added["cell_id"])
        return seconds

    def replace(self) -> float:
        arguments = {**self._named, "cell_id": self._last, "cell": self._cell()}
        return time_of(partial(_done, self._wire, "scratch_replace_cell", **arguments))

    def one_row(self) -> float:
        name = f"n{self._cell()['content'][:40]}{self._turn}"
        create = {"action": "create", "namespace": name}
        seconds = time_of(partial(_done, self._wire, "scratch_namespace", **create))
        _done(self._wire, "scratch_namespace", action="delete", namespace=name)
        return seconds

    def _cell(self) -> CellInput:
        self._turn += 1
        return stores.cells(1_000_000 + self._turn, 1)[0]


def _searches(many: Path) -> Table:
    model = get_embedder()
    assert model is not None, "the extra `semantic` is not installed"
    stores.give_vectors(many, model.version, model.dims)
    with _server(many, ROLLTOP_SCRATCH_SEMANTIC_SEARCH="on") as wire, Wire(EMPTY, many) as empty:
        empty.initialize()
        modes: dict[str, Callable[[], object]] = {
            mode: partial(_search, wire, mode, count(2_000_000))
            for mode in ("meaning", "words", "hybrid")
        }
        first = time_of(modes["meaning"])
        calls = [*modes.values(), partial(empty.call, "nothing")]
        *times, nothing = interleaved([partial(time_of, call) for call in calls], QUERIES)
    rows = [
        (mode, found.cell(), f"{found.at(0.95) * 1e3:.3g} ms", ratio(found, nothing), "≤ 25 ms")
        for mode, found in zip(modes, times, strict=True)
    ]
    rows.append(("meaning, the first after a start", f"{first:.2f} s", "", "", ""))
    rows.append(("no-op", nothing.cell(), f"{nothing.at(0.95) * 1e3:.3g} ms", "", ""))
    return Table(
        "scratch: search",
        f"{QUERIES} queries of three words each in turn over stdio among {MANY * CELLS:,} cells "
        f"(of {stores.WORDS} words out of 20,000, spread by Zipf's law), limit 10. The vectors are "
        f"made up, the query's is the model's ({model.dims} numbers). The no-op is an empty "
        "server's tool in the same run, and shows how quiet the machine was.",
        ("mode", "time", "95 of 100 within", "to the no-op", "promise of the median"),
        rows,
    )


def _search(wire: Wire, mode: str, numbers: Iterator[int]) -> None:
    query = " ".join(stores.some_words(next(numbers), 3))
    answer = _done(wire, "scratch_search", query=query, mode=mode)
    assert answer["mode"] == mode, answer["mode"]


def _large(many: Path) -> list[tuple[str, ...]]:
    line = "a line of text that is neither short nor long, for a large cell\n"
    cell = {"language": "txt", "content": (line * (LARGE // len(line) + 1))[:LARGE]}
    with _server(many) as wire:
        pad = _done(wire, "scratch_create")["scratchpad"]["scratch_id"]
        append = time_of(lambda: _done(wire, "scratch_append_cell", scratch_id=pad, cell=cell))
        read = time_of(lambda: _done(wire, "scratch_read", scratch_id=pad))
        whole = _done(wire, "scratch_read", scratch_id=pad)["scratchpad"]["cells"][0]["content"]
        assert whole == cell["content"]
        short, long = interleaved([_Pad(wire).append, _Pad(wire, LONG).append], 50)
    return [
        ("append a cell of 5 MiB", f"{append:.2f} s", "≤ 1 s"),
        ("read it back whole", f"{read:.2f} s", ""),
        (f"append to a pad of {CELLS} cells", short.cell(), ""),
        (f"append to a pad of {LONG:,} cells", long.cell(), f"{ratio(long, short)}"),
    ]


def _starts(few: Path, many: Path) -> list[tuple[str, ...]]:
    small, large = interleaved([partial(_start, few), partial(_start, many)], STARTS)
    return [
        (f"first answer after a start, {FEW} pads", small.cell(), ""),
        (f"first answer after a start, {MANY:,} pads", large.cell(), f"{ratio(large, small)}"),
    ]


def _start(data: Path) -> float:
    """Return the seconds from spawning a server until it has listed the newest pads."""
    with Wire(ROLLTOP, data, ROLLTOP_DATA_DIR=str(data), **_SETTINGS) as wire:
        wire.initialize()
        _done(wire, "scratch_list", limit=1)
        return time.perf_counter() - wire.started
