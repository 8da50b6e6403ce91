"""Cost of common calls beside another build, given by the path of its `rolltop` program."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Table, interleaved, load, machine, ratio, time_of
from benchmarks.wire import ROLLTOP, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STARTS = 25
CALLS = 200
READS = 25
PAGES = Path(__file__).parents[1]
"""The documents of this repository, some 50,000 tokens, are the text that is read."""
_WITHOUT_JOURNAL = """
from rolltop.core.journal import writer
writer.append_entries = writer.install_triggers = lambda *_: None
from rolltop.__main__ import main
main()
"""


def compare(other: str) -> Table:
    """Return the table: this build, as it is and without its journal, beside the other.

    A ratio is the median of the ratios pair by pair.
    """
    without = (sys.executable, "-c", _WITHOUT_JOURNAL, "serve")
    commands = (ROLLTOP, without, (other, "serve"))
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        homes = [Path(folder) / str(number) for number in range(len(commands))]
        for home in homes:
            home.mkdir()
            (home / "book.md").write_text(_text(), encoding="utf-8")
        starts = [partial(_start, *pair) for pair in zip(commands, homes, strict=True)]
        rows.append(_row("start until the first tools/list", starts, STARTS))
        with ExitStack() as stack:
            wires = [
                stack.enter_context(_serve(command, home))
                for command, home in zip(commands, homes, strict=True)
            ]
            for wire in wires:
                wire.initialize()
                wire.call("list_tasks")
            for name, call, runs in _CASES:
                rows.append(_row(name, [partial(call, wire) for wire in wires], runs))
        rows.append(
            _row(
                "smart_read in a new server",
                [partial(_first_read, *pair) for pair in zip(commands, homes, strict=True)],
                READS,
            )
        )
    return Table(
        "Beside another build",
        f"In turn, over stdio, each with a store of its own. {load()}",
        ("call", "this build", "without journal", "the other", "ratio", "without journal"),
        rows,
    )


def _text() -> str:
    pages = [*PAGES.glob("*.md"), *PAGES.glob("docs/*.md"), *PAGES.glob("docs/reference/*.md")]
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(pages))


def _serve(command: Sequence[str], home: Path) -> Wire:
    return Wire(command, home, ROLLTOP_READER_ROOTS=str(home))


def _row(name: str, cases: Sequence[Callable[[], float]], runs: int) -> tuple[str, ...]:
    ours, bare, theirs = interleaved(cases, runs)
    ratios = ratio(ours, theirs), ratio(bare, theirs)
    return (f"{name}, {runs} runs", ours.cell(), bare.cell(), theirs.cell(), *ratios)


def _start(command: Sequence[str], home: Path) -> float:
    with _serve(command, home) as wire:
        wire.initialize()
        wire.request("tools/list")
        return time.perf_counter() - wire.started


def _add_task(wire: Wire) -> float:
    return time_of(lambda: wire.call("add_task", title="measured", tags=["bench"]))


def _save_note(wire: Wire) -> float:
    return time_of(lambda: wire.call("note_save", content="# Measured\n\nA note of a line."))


def _append_cell(wire: Wire) -> float:
    cell = {"language": "json", "content": '{"measured": [1, 2, 3]}', "validate": True}
    return time_of(lambda: wire.call("scratch_create", cells=[cell]))


def _smart_read(wire: Wire) -> float:
    answers: list[dict[str, Any]] = []
    seconds = time_of(lambda: answers.append(wire.call("smart_read", path="book.md")))
    assert answers[0]["type"] == "summary", answers[0]
    return seconds


def _first_read(command: Sequence[str], home: Path) -> float:
    with _serve(command, home) as wire:
        wire.initialize()
        return _smart_read(wire)


_CASES = (
    ("add_task", _add_task, CALLS),
    ("note_save", _save_note, CALLS),
    ("scratch_create, one JSON cell", _append_cell, CALLS),
    ("smart_read of 50,000 tokens", _smart_read, READS),
)

if __name__ == "__main__":
    print(compare(sys.argv[1]).markdown())
    print(machine())
