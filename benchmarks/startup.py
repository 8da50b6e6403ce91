"""How soon the server answers, beside an empty server on the same SDK."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Table, Times, interleaved, ratio, time_of
from benchmarks.wire import EMPTY, ROLLTOP, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RUNS = 15
HOW = (
    f"{RUNS} runs each, in turn, bytecode compiled, an empty home; from spawning the process. "
    "The empty server is the SDK's low-level `Server` on the SDK's own stdio with one tool. "
    "A ratio is the median of the ratios pair by pair, with its quartiles."
)


def tables() -> list[Table]:
    """Return the start-up tables."""
    with tempfile.TemporaryDirectory() as folder:
        return [_answers(Path(folder)), _first_calls(Path(folder)), _help(Path(folder))]


def _answers(folder: Path) -> Table:
    rows: list[tuple[str, ...]] = []
    for name, promised, requests in (
        ("first answer (initialize)", 1.3, ()),
        ("first answer (server/discover)", 1.3, None),
        ("first tools/list", 1.4, ("tools/list",)),
    ):
        ours, empty = interleaved(
            [partial(_start, command, folder, requests) for command in (ROLLTOP, EMPTY)], RUNS
        )
        rows.append((name, ours.cell(), empty.cell(), ratio(ours, empty), f"≤ {promised} ×"))
    return Table("Start-up", HOW, ("until", "Rolltop", "empty server", "ratio", "promise"), rows)


def _start(command: Sequence[str], folder: Path, requests: Sequence[str] | None) -> float:
    """Return the seconds from spawning until the last of the requests is answered."""
    with Wire(command, folder) as wire:
        if requests is None:
            wire.request("server/discover", {"_meta": _META})
        else:
            wire.initialize()
            for method in requests:
                wire.request(method)
        return time.perf_counter() - wire.started


_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


def _first_calls(folder: Path) -> Table:
    cases: list[tuple[str, Callable[[], float], str]] = [
        ("list_tasks at once, new store", partial(_call, folder, 0.0, fresh=True), "≤ 300 ms"),
        ("list_tasks at once, store exists", partial(_call, folder, 0.0), "≤ 300 ms"),
        ("list_tasks after 1 s", partial(_call, folder, 1.0), "no wait"),
        ("the second list_tasks", partial(_call, folder, 1.0, warm=True), ""),
    ]
    measured = interleaved([case[1] for case in cases], 5)
    rows = [
        (name, times.cell(), promised)
        for (name, _, promised), times in zip(cases, measured, strict=True)
    ]
    return Table(
        "First call",
        "Over stdio, 5 runs each in turn, the call alone; the handshake is done before.",
        ("call", "time", "promise"),
        rows,
    )


def _call(folder: Path, wait: float, *, fresh: bool = False, warm: bool = False) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as new:
        data = new if fresh else str(folder / "data")
        with Wire(ROLLTOP, folder, ROLLTOP_DATA_DIR=data) as wire:
            wire.initialize()
            time.sleep(wait)
            if warm:
                wire.call("list_tasks")
            return time_of(lambda: wire.call("list_tasks"))


def _help(folder: Path) -> Table:
    def run(*command: str) -> float:
        return time_of(lambda: subprocess.run(command, check=True, capture_output=True, cwd=folder))

    cases = {
        "rolltop --version": partial(run, ROLLTOP[0], "--version"),
        "rolltop --help": partial(run, ROLLTOP[0], "--help"),
        "python -c pass": partial(run, sys.executable, "-c", "pass"),
    }
    measured: list[Times] = interleaved(list(cases.values()), RUNS)
    rows = [(name, times.cell()) for name, times in zip(cases, measured, strict=True)]
    return Table(
        "Command line", f"{RUNS} runs each in turn; promise ≤ 150 ms.", ("command", "time"), rows
    )
