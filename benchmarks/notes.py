"""Notes over stdio among 10,000 and 100,000 others, and their sync."""

from __future__ import annotations

import os
import random
import tempfile
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks import notes_sync
from benchmarks.measure import Table, Times, time_of
from benchmarks.wire import EMPTY, ROLLTOP, Wire
from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.principal import Principal
from rolltop.toolsets.notes.models import Content, NewNote
from rolltop.toolsets.notes.store.notebooks import Notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

RUNS: Final = 100
SIZES: Final = tuple(map(int, os.environ.get("BENCH_NOTES", "10000,100000").split(",")))
LINES, WORDS = 16, 8
_SYLLABLES: Final = (
    *("ka", "to", "mi", "ren", "sol", "bar", "din", "fu", "gel"),
    *("hop", "lam", "nor", "pes", "qui", "rau", "sten", "tal", "vor"),
)
_TAGS: Final = ("work", "home", "idea", "todo", "later")


class Words:
    """Made-up words, drawn as often as a language draws its own: the n-th by 1/(n + 10)."""

    def __init__(self) -> None:
        """Make the same words in every run."""
        self._random = random.Random(5)  # noqa: S311  # no secret
        self.listed = [
            "".join(self._random.choices(_SYLLABLES, k=self._random.choice((2, 3, 3, 4))))
            for _ in range(20_000)
        ]
        self._weights = list(accumulate(1 / (n + 10) for n in range(len(self.listed))))

    def note(self) -> Content:
        """Return a note of 16 lines."""
        drawn = self._random.choices(self.listed, cum_weights=self._weights, k=LINES * WORDS)
        lines = [" ".join(drawn[at : at + WORDS]) for at in range(0, len(drawn), WORDS)]
        moment = 1.6e9 + self._random.random() * 1e8
        tags = tuple(self._random.sample(_TAGS, 2))
        return Content("\n".join(lines), tags, modified=moment, created=1.6e9)


PROMISED: Final = {
    "list": ("≤ 10 ms", "", "49 ms"),
    "list, limit 100": ("≤ 10 ms", "", ""),
    "search: a rare word": ("≤ 10 ms", "≤ 25 ms", ""),
    "search: two words": ("≤ 10 ms", "≤ 25 ms", ""),
    "search: a word of a tenth": ("≤ 10 ms", "≤ 25 ms", ""),
    "search: a word of half": ("≤ 10 ms", "≤ 25 ms", ""),
    "search: a phrase": ("≤ 10 ms", "≤ 25 ms", ""),
    "search: a word and a tag": ("≤ 10 ms", "≤ 25 ms", ""),
    "all searches": ("≤ 10 ms", "≤ 25 ms", "31 to 40 ms"),
    "tag filter": ("≤ 10 ms", "", "23 ms"),
    "page 400 by number": ("", "", "282 ms"),
    "page 1 to 400 by cursor": ("≤ 10 ms", "", ""),
    "get": ("≤ 1 ms above nothing", "", ""),
}
"""Of 10,000 and of 100,000 notes, and the predecessor's figure of 10,000."""


def tables() -> list[Table]:
    """Return the tables of the toolset notes."""
    with tempfile.TemporaryDirectory() as folder, Wire(EMPTY, Path(folder)) as empty:
        empty.initialize()
        nothing = Times(tuple(time_of(lambda: empty.call("nothing")) for _ in range(RUNS)))
    measured: list[dict[str, Times]] = []
    for size in SIZES:
        with _filled(size) as wire:
            measured.append({**_each_call(wire), "a tool that does nothing": nothing})
    rows = [_row(name, [times[name] for times in measured]) for name in measured[0]]
    how = (
        f"{RUNS} calls each over stdio on SQLite; notes of {LINES} lines with words as often as "
        "in a language; writes are synced to disk. The empty server answers the tool that does "
        "nothing. The predecessor's figures are the published ones, of 10,000 notes."
    )
    sizes = [header for size in SIZES for header in (f"of {size:,}", "promise")]
    calls = Table("notes: each call", how, ("call", *sizes, "predecessor"), rows)
    return [calls, *notes_sync.tables()]


def _row(name: str, times: list[Times]) -> tuple[str, ...]:
    *promises, predecessor = PROMISED.get(name, ("",) * (len(SIZES) + 1))
    cells = zip(times, promises, strict=False)
    return (name, *(text for each, said in cells for text in (each.cell(), said)), predecessor)


@contextmanager
def _filled(size: int) -> Generator[Wire]:
    """Start a server on a store with so many notes."""
    words = Words()
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'desk.db'}")
        database.open()
        owner = Principal.for_user(database.write_sync(SYSTEM, ensure_default_user).id)

        def fill(tx: Tx) -> None:
            made = [NewNote(words.note()) for _ in range(500)]
            Notebook(tx).create(made, source="import")

        for _ in range(0, size, 500):
            database.write_sync(owner, fill)
        database.close()
        with Wire(ROLLTOP, Path(folder), ROLLTOP_DATA_DIR=folder) as wire:
            wire.initialize()
            yield wire


def _each_call(wire: Wire) -> dict[str, Times]:
    words = Words().listed
    ids = [item["id"] for item in wire.call("note_list", limit=100)["items"]]
    calls: dict[str, Callable[[int], dict[str, Any]]] = {
        "list": lambda _: {},
        "list, limit 100": lambda _: {"limit": 100},
        "search: a rare word": lambda n: {"q": words[5000 + 7 * n]},
        "search: two words": lambda n: {"q": f"{words[100 + n]} {words[300 + n]}"},
        "search: a word of a tenth": lambda n: {"q": words[100 + n]},
        "search: a word of half": lambda n: {"q": words[n % 10]},
        "search: a phrase": lambda n: {"q": f'"{words[n]} {words[n + 1]}"'},
        "search: a word and a tag": lambda n: {"q": f"tag:work {words[300 + n]}"},
        "tag filter": lambda n: {"tags": [_TAGS[n % len(_TAGS)]]},
        "page 400 by number": lambda _: {"page": 400},
    }
    measured = {name: _timed(wire, "note_list", make) for name, make in calls.items()}
    searches = [times for name, times in measured.items() if name.startswith("search")]
    measured["all searches"] = Times(tuple(each for times in searches for each in times.seconds))
    measured["page 1 to 400 by cursor"] = _pages(wire)
    measured["get"] = _timed(wire, "note_get", lambda n: {"id": ids[n % len(ids)]})
    measured["save by patch"] = _timed(wire, "note_save", lambda n: _patch(ids[n % len(ids)]))
    measured["save a new note"] = _timed(wire, "note_save", lambda n: {"text": words[n] * 20})
    return measured


def _patch(note: str) -> dict[str, Any]:
    patch = [{"op": "mod", "ln": 3, "val": "another line"}]
    return {"id": note, "local_version": 1, "text_patch": patch}


def _timed(wire: Wire, tool: str, make: Callable[[int], dict[str, Any]]) -> Times:
    seconds = [time_of(lambda n=n: wire.call(tool, **make(n))) for n in range(RUNS)]
    return Times(tuple(seconds))


def _pages(wire: Wire) -> Times:
    seconds: list[float] = []
    arguments: dict[str, Any] = {}
    for _ in range(400):
        started = perf_counter()
        answer = wire.call("note_list", **arguments)
        seconds.append(perf_counter() - started)
        arguments = answer["next"]["arguments"]
    return Times(tuple(seconds))
