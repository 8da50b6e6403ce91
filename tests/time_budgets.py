"""Prints what each part of the product took of its share of the test time.

The foundation has 150 seconds and each toolset 90: sums over the tests, which two workers share.
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


@dataclass
class Share:
    """What a part used."""

    tests: int = 0
    seconds: float = 0.0


SHARES: defaultdict[str, Share] = defaultdict(Share)


def part_of(node_id: str) -> str:
    """The part a test belongs to: the toolset's name below tests/toolsets, else the foundation."""
    folders = node_id.partition("::")[0].split("/")
    if folders[:2] == ["tests", "toolsets"] and len(folders) > 3:
        return folders[2]
    return FOUNDATION


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up every phase of every test; the controller hears of those in workers too."""
    share = SHARES[part_of(report.nodeid)]
    share.seconds += report.duration
    share.tests += report.when == "call"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each part that ran."""
    if not SHARES:
        return
    terminalreporter.section("test time")
    for part, share in sorted(SHARES.items()):
        budget = SECONDS.get(part, TOOLSET_SECONDS)
        line = f"{part:<12} {share.tests:>5} tests {share.seconds:>7.1f} s of {budget:.0f} s"
        over = share.seconds > budget and factor() <= 1
        terminalreporter.write_line(f"{line}  OVER" if over else line)
