"""What one call costs besides its work, beside an empty server on the same SDK."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import Table, interleaved, ratio, time_of
from benchmarks.wire import EMPTY, ROLLTOP, Wire

CALLS = 1000


def tables() -> list[Table]:
    """Return the round-trip table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Wire(ROLLTOP, Path(folder)) as rolltop,
        Wire(EMPTY, Path(folder)) as empty,
    ):
        rolltop.initialize()
        empty.initialize()
        rolltop.call("list_tasks")
        ours, counting, theirs, pings, empty_pings = interleaved(
            [
                lambda: time_of(lambda: rolltop.call("list_tasks")),
                lambda: time_of(lambda: rolltop.call("estimate_tokens", text="")),
                lambda: time_of(lambda: empty.call("nothing")),
                lambda: time_of(lambda: rolltop.request("ping")),
                lambda: time_of(lambda: empty.request("ping")),
            ],
            CALLS,
        )
    rows = [
        ("ping", pings.cell(), empty_pings.cell(), ratio(pings, empty_pings)),
        ("estimate_tokens of nothing", counting.cell(), theirs.cell(), ratio(counting, theirs)),
        ("list_tasks of an empty list", ours.cell(), theirs.cell(), ratio(ours, theirs)),
    ]
    return [
        Table(
            "Round trip",
            f"{CALLS} calls each in turn over stdio, one in flight, 2025-11-25; the empty server's "
            "one tool does nothing and answers `{}`.",
            ("call", "Rolltop", "empty server", "ratio"),
            rows,
        )
    ]
