"""Times and their spread, ratios of interleaved pairs, and tables."""

from __future__ import annotations

import os
import platform
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True)
class Times:
    """Measured durations of one thing, in seconds."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle duration, in seconds."""
        return statistics.median(self.seconds)

    def at(self, fraction: float) -> float:
        """Return the duration that this fraction of the runs did not pass, in seconds."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]

    def cell(self, *, unit: str = "ms") -> str:
        """Return the median with the least and the greatest, as a table cell."""
        factor = {"s": 1.0, "ms": 1e3, "µs": 1e6}[unit]
        low, middle, high = (
            v * factor for v in (min(self.seconds), self.median, max(self.seconds))
        )
        return f"{_short(middle)} {unit} ({_short(low)} to {_short(high)})"


@dataclass(frozen=True)
class Table:
    """One table of the report, with what was done to get it."""

    title: str
    how: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def markdown(self) -> str:
        """Return the section of the page."""
        lines = [f"## {self.title}", "", self.how, "", _row(self.headers)]
        lines.append(_row(["---"] * len(self.headers)))
        lines += [_row(row) for row in self.rows]
        return "\n".join(lines) + "\n"


def time_of(function: Callable[[], object]) -> float:
    """Return how long one run of the function takes, in seconds."""
    started = perf_counter()
    function()
    return perf_counter() - started


def repeated(function: Callable[[], object], runs: int, *, warm: int = 1) -> Times:
    """Return the times of `runs` runs after `warm` that do not count."""
    for _ in range(warm):
        function()
    return Times(tuple(time_of(function) for _ in range(runs)))


def interleaved(functions: Sequence[Callable[[], float]], runs: int) -> list[Times]:
    """Return the times each function answers, run in turn so that drift meets all alike."""
    measured: list[list[float]] = [[] for _ in functions]
    for turn in range(runs + 1):
        for index, function in enumerate(functions):
            seconds = function()
            if turn:  # the first turn warms the caches
                measured[index].append(seconds)
    return [Times(tuple(seconds)) for seconds in measured]


def ratio(ours: Times, theirs: Times) -> str:
    """Return the median of the ratios pair by pair, with its quartiles."""
    ratios = Times(tuple(a / b for a, b in zip(ours.seconds, theirs.seconds, strict=True)))
    return f"{ratios.median:.2f} × ({ratios.at(0.25):.2f} to {ratios.at(0.75):.2f})"


def machine() -> str:
    """Return the machine and the versions the figures belong to."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in information.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def load() -> str:
    """Return a sentence on how busy the machine has been: above one a core, times are not ours."""
    minutes = os.getloadavg()[2]
    return f"Load of the machine meanwhile: {minutes:.1f}."


def megabytes(count: int) -> str:
    """Return bytes as megabytes of 10^6."""
    return f"{count / 1e6:.0f} MB"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"  # noqa: PLR2004  # digits shown


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
