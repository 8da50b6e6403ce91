"""A million lines: searches drawn from them, and ten of them read from one large file."""

from __future__ import annotations

import random
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.families import memory, processor_time, until_at_rest
from benchmarks.measure import Table, Times, load, megabytes, time_of
from benchmarks.source_trees import first_lines, large_tree, names_in
from benchmarks.wire import ROLLTOP, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINES: Final = 1_000_000
_SEED: Final = 20261122
_DRAWN: Final = 100
_SNIPPETS: Final = 200
_SIZES: Final = (10_000, 1_000_000, 4_000_000)
_P95: Final = 0.95


def tables() -> Iterator[Table]:
    """Yield the tables of a million lines, as they are made."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield _snippets(folder / "long")
        yield _million(large_tree() or Path(sys.prefix), folder / "million")


def _million(tree: Path, folder: Path) -> Table:
    """Search a million lines for names drawn from them."""
    lines = first_lines(tree, folder / "files", _LINES)
    drawn = random.Random(_SEED)  # noqa: S311  # the same queries each time
    counts = names_in(lines)
    distinct = sorted(counts)
    groups = {
        "names drawn from all there are": drawn.sample(distinct, _DRAWN),
        "names drawn as often as they occur": drawn.choices(
            distinct, [counts[name] for name in distinct], k=_DRAWN
        ),
        "the same, letters swapped": [
            name[1] + name[0] + name[2:] for name in drawn.sample(distinct, _DRAWN)
        ],
    }
    rows: list[tuple[str, ...]] = []
    for label, noted in (("looking", "false"), ("by notes", "true")):
        with _served(lines, folder, ROLLTOP_RETRIEVAL_WATCH=noted) as wire:
            until_at_rest(wire.process.pid)
            for name, queries in groups.items():
                rows.append((label, name, *_percentiles(wire, queries)))
    return Table(
        "retrieval: a million lines",
        f"The first {_LINES:,} lines of the large tree; {_DRAWN} queries of each kind over stdio, "
        f"warm, 200 lines each at most. {load()}",
        ("", "query", "median", "95th percentile", "promise", "processor time, mean"),
        rows,
    )


def _percentiles(wire: Wire, queries: list[str]) -> tuple[str, ...]:
    wire.call("repo_search", query=queries[0])
    before = processor_time(wire.process.pid)
    times = Times(tuple(time_of(partial(wire.call, "repo_search", query=q)) for q in queries))
    spent = (processor_time(wire.process.pid) - before) / len(queries)
    return (
        f"{times.median * 1e3:.1f} ms", f"{times.at(_P95) * 1e3:.1f} ms", "≤ 50 ms",
        f"{spent * 1e3:.1f} ms",
    )  # fmt: skip


def _snippets(folder: Path) -> Table:
    """Read ten lines of a file, wherever they are, from files of several sizes."""
    rows: list[tuple[str, ...]] = []
    for count in _SIZES:
        files = folder / f"{count}"
        files.mkdir(parents=True)
        with (files / "long.txt").open("w", encoding="utf-8") as file:
            file.writelines(f"line {n}: the quick brown fox jumps\n" for n in range(1, count + 1))
        # Without the index, so that the memory told is that of reading.
        with _served(files, files / "server", ROLLTOP_RETRIEVAL_INDEX="false") as wire:
            rows.append((f"{count:,}", *_snippet_row(wire, count)))
    return Table(
        "retrieval: ten lines of a long file",
        f"repo_get_snippet at {_SNIPPETS} places drawn, over stdio, no index. {load()}",
        ("lines of the file", "first call", "then", "95th percentile", "memory grew", "promise"),
        rows,
    )


def _snippet_row(wire: Wire, count: int) -> tuple[str, ...]:
    def read(start: int) -> None:
        answer = wire.call(
            "repo_get_snippet", path="long.txt", start_line=start, end_line=start + 9
        )
        assert answer["result"]["text"].startswith(f"line {start}: "), answer

    wire.call("repo_list_dir", repo="code")
    until_at_rest(wire.process.pid, still=2)
    before = memory(wire.process.pid)
    drawn = random.Random(_SEED)  # noqa: S311  # the same places each time
    first = time_of(partial(read, 1))
    starts = [drawn.randrange(1, count - 9) for _ in range(_SNIPPETS)]
    times = Times(tuple(time_of(partial(read, start)) for start in starts))
    grown = memory(wire.process.pid) - before
    return (
        f"{first * 1e3:.0f} ms", times.cell(), f"{times.at(_P95) * 1e3:.2f} ms",
        megabytes(grown), "≤ 10 ms",
    )  # fmt: skip


def _served(tree: Path, folder: Path, **settings: str) -> Wire:
    folder.mkdir(exist_ok=True)
    wire = Wire(
        ROLLTOP,
        folder,
        CODE_ROOT=str(tree),
        ROLLTOP_DATA_DIR=str(folder / "data"),
        ROLLTOP_TOOLSETS="retrieval",
        **settings,
    )
    wire.initialize()
    return wire
