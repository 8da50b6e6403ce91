"""What a key costs: the same calls on a plain store and on its encrypted copy, in turn.

A key costs processor time and nothing else, so that is what is measured: the commits to the disk
are the same, and other programs do not meddle with it.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks import stores
from benchmarks.families import processor_time, until_at_rest
from benchmarks.measure import Table, Times, interleaved, megabytes, ratio, time_of
from benchmarks.notes import Words
from benchmarks.wire import ROLLTOP, Wire
from rolltop.core.db.encryption import Encryption
from rolltop.core.db.rekey import rekey_store
from rolltop.core.settings.core import STORE_NAME
from rolltop.toolsets.notes.models import NewNote
from rolltop.toolsets.notes.store.notebooks import Notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Tx

BATCHES: Final = 5
BATCH: Final = 50
STARTS: Final = 5
NOTES: Final = 1_000
PADS: Final = 500
KEY: Final = Encryption("a passphrase for the benchmark", 310_000)


def tables() -> list[Table]:
    """Return the table of the encrypted store."""
    with tempfile.TemporaryDirectory() as folder:
        plain, encrypted = Path(folder) / "plain", Path(folder) / "encrypted"
        _fill(plain)
        shutil.copytree(plain, encrypted)
        url = f"sqlite:///{encrypted / STORE_NAME}"
        took = time_of(lambda: rekey_store(url, None, KEY))
        sizes = [(place / STORE_NAME).stat().st_size for place in (plain, encrypted)]
        rows = [
            *_calls(plain, encrypted),
            *_starts(plain, encrypted),
            ("the file", *map(megabytes, sizes), f"{sizes[1] / sizes[0]:.2f} ×"),
            ("`rolltop store encrypt`", "", f"{sizes[0] / took / 1e6:.0f} MB/s", ""),
        ]
    how = (
        f"Processor time of the server over stdio: {BATCHES} times {BATCH} calls each, in turn, on "
        f"SQLite with {NOTES:,} notes of 16 lines and {PADS:,} pads of 5 cells; {STARTS} starts "
        f"each. The key is made by {KEY.iterations:,} rounds. A ratio is the median of the ratios "
        "pair by pair, with its quartiles."
    )
    return [Table("Encryption", how, ("call", "plain", "encrypted", "ratio"), rows)]


def _fill(data: Path) -> None:
    data.mkdir()
    stores.fill(data, PADS, 5)
    words = Words()
    database, owner = stores.opened(data)

    def notes(tx: Tx) -> None:
        made = [NewNote(words.note()) for _ in range(500)]
        Notebook(tx).create(made, source="import")

    for _ in range(0, NOTES, 500):
        database.write_sync(owner, notes)
    database.close()


def _wire(data: Path) -> Wire:
    key = {"DB_ENCRYPTION_KEY": KEY.passphrase} if data.name == "encrypted" else {}
    # Embedding goes on for minutes, and is the same work in both.
    return Wire(
        ROLLTOP,
        data,
        ROLLTOP_DATA_DIR=str(data),
        ROLLTOP_SCRATCH_SEMANTIC_SEARCH="off",
        **key,
    )


def _calls(plain: Path, encrypted: Path) -> list[tuple[str, ...]]:
    words = Words().listed
    rows: list[tuple[str, ...]] = []
    with _wire(plain) as first, _wire(encrypted) as second:
        for wire in (first, second):
            wire.initialize()
            wire.call("list_tasks")
            until_at_rest(wire.process.pid, still=2.0, most=60.0)
        for name, tool, make in _kinds(first, words):
            pair = [
                partial(_timed, wire, tool, make, itertools.count()) for wire in (first, second)
            ]
            ours, theirs = interleaved(pair, BATCHES)
            rows.append((name, ours.cell(), theirs.cell(), ratio(theirs, ours)))
    return rows


def _kinds(wire: Wire, words: list[str]) -> list[tuple[str, str, Callable[[int], dict[str, Any]]]]:
    """Return calls by their names; what is in one store is in the other under the same id."""
    notes = [item["id"] for item in wire.call("note_list", limit=100)["items"]]
    pads = [pad["scratch_id"] for pad in wire.call("scratch_list", limit=20)["scratchpads"]]
    return [
        (
            "append a cell",
            "scratch_append_cell",
            lambda n: {"scratch_id": pads[0], "cell": _cell(n)},
        ),
        ("save a new note", "note_save", lambda n: {"text": f"{words[n]} " * 60}),
        ("get a note", "note_get", lambda n: {"id": notes[n % 100]}),
        ("read a pad", "scratch_read", lambda n: {"scratch_id": pads[n % 20]}),
        ("list notes", "note_list", lambda _: {}),
        ("search notes", "note_list", lambda n: {"q": f"{words[100 + n]} {words[300 + n]}"}),
        (
            "search cells by words",
            "scratch_search",
            lambda n: {"query": " ".join(stores.some_words(n, 2)), "mode": "words"},
        ),
    ]


def _cell(number: int) -> dict[str, str]:
    return {"language": "txt", "content": stores.text(number)}


def _timed(
    wire: Wire, tool: str, make: Callable[[int], dict[str, Any]], numbers: itertools.count[int]
) -> float:
    """Return the processor time of one call, of a batch of them."""
    before = processor_time(wire.process.pid)
    for number in itertools.islice(numbers, BATCH):
        answer = wire.call(tool, **make(number))
        assert "error" not in answer, answer
    return (processor_time(wire.process.pid) - before) / BATCH


def _starts(plain: Path, encrypted: Path) -> list[tuple[str, ...]]:
    measured: list[Times] = []
    for until in (False, True):
        measured += interleaved(
            [partial(_start, data, called=until) for data in (plain, encrypted)], STARTS
        )
    names = ("a start until the first answer", "a start until a first call is answered")
    return [
        (name, ours.cell(), theirs.cell(), ratio(theirs, ours))
        for name, ours, theirs in zip(names, measured[::2], measured[1::2], strict=True)
    ]


def _start(data: Path, *, called: bool) -> float:
    with _wire(data) as wire:
        wire.initialize()
        if called:
            wire.call("list_tasks")
        return processor_time(wire.process.pid)
