"""Prints what each part of the product took of its share of the test time.

The foundation, with the toolsets tasks and reader, has 150 seconds and each further toolset 90, on
two cores: a part's share of the run is the sum over its tests, divided by the workers.
Nothing fails here. A part that is over its budget is named, and someone makes its tests cheaper.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.campaign import factor

if TYPE_CHECKING:
    import pytest

FOUNDATION: Final = "foundation"
SECONDS: Final = {FOUNDATION: 150.0}
TOOLSET_SECONDS: Final = 90.0
OF_THE_FOUNDATION: Final = frozenset({"tasks", "reader"})
ELSEWHERE: Final = {
    "tests/core/fulltext/": "scratch",  # the index was made with scratch, its first user
    "tests/simperium/": "notes",
    "tests/cli/test_notes.py": "notes",
}
"""Tests of further toolsets that do not lie in their folders."""


@dataclass
class Share:
    """What a part used."""

    tests: int = 0
    seconds: float = 0.0


SHARES: defaultdict[str, Share] = defaultdict(Share)


def part_of(node_id: str) -> str:
    """The part a test belongs to: a further toolset's name below tests/toolsets, or the rest."""
    for place, part in ELSEWHERE.items():
        if node_id.startswith(place):
            return part
    folders = node_id.partition("::")[0].split("/")
    in_toolset = folders[:2] == ["tests", "toolsets"] and len(folders) > 3
    return folders[2] if in_toolset and folders[2] not in OF_THE_FOUNDATION else FOUNDATION


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up every phase of every test; the controller hears of those in workers too."""
    share = SHARES[part_of(report.nodeid)]
    share.seconds += report.duration
    share.tests += report.when == "call"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each part that ran."""
    if not SHARES:
        return
    workers: int = getattr(terminalreporter.config.option, "numprocesses", None) or 1
    terminalreporter.section(f"test time, shared by {workers}")
    for part, share in sorted(SHARES.items()):
        budget = SECONDS.get(part, TOOLSET_SECONDS)
        seconds = share.seconds / workers
        line = f"{part:<12} {share.tests:>5} tests {seconds:>7.1f} s of {budget:.0f} s"
        over = seconds > budget and factor() <= 1
        terminalreporter.write_line(f"{line}  OVER" if over else line)
