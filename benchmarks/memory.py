"""Resident memory of the server: at rest, and after work, beside an empty server."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.measure import Table, megabytes
from benchmarks.wire import EMPTY, ROLLTOP, Wire


def tables() -> list[Table]:
    """Return the memory table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "The quick brown fox jumps over the lazy dog.\n" * 1_100_000
        (folder / "large.txt").write_text(text, encoding="utf-8")
        with Wire(EMPTY, folder) as wire:
            wire.initialize()
            rows = [("empty server, after the handshake", megabytes(wire.resident()))]
        with Wire(ROLLTOP, folder, DOCS_ROOT=str(folder)) as wire:
            wire.initialize()
            rows.append(("after the handshake", megabytes(wire.resident())))
            time.sleep(2)
            rows.append(("2 s later, everything loaded", megabytes(wire.resident())))
            for n in range(2000):
                wire.call("add_task", title=f"task {n}")
            rows.append(("after 2,000 add_task", megabytes(wire.resident())))
            wire.call("smart_read", file_path="large.txt")
            size = megabytes(len(text))
            rows.append((f"after smart_read of a {size} file", megabytes(wire.resident())))
    return [Table("Memory", "Resident, one process over stdio.", ("when", "memory"), rows)]
