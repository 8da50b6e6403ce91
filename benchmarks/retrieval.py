"""Exact search against ripgrep in the same run: cold, warm, after edits; what the index costs.

Searches go to a real server over stdio, so every time holds the way there and back; ripgrep's holds
its start. Three servers look at one tree, and they and ripgrep are asked in turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from benchmarks.families import memory, processor_time, until_at_rest
from benchmarks.measure import Table, Times, interleaved, load, megabytes, time_of
from benchmarks.source_trees import large_tree, python_library
from benchmarks.wire import ROLLTOP, Wire
from rolltop.toolsets.retrieval.grep.ripgrep import ripgrep_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUNS: Final = 5
_LARGE_RUNS: Final = 3
LIMIT: Final = 200
EXACT: Final = (sys.executable, str(Path(__file__).with_name("exact_server.py")), "serve")
_STRICT: Final[dict[str, str]] = {}
_COLD: Final = {"ROLLTOP_RETRIEVAL_INDEX": "false"}
_WAITED: Final = (0.0, 1.0, 3.0)
"""Seconds from a server's start to its first search."""


@dataclass(frozen=True)
class Asked:
    """A query as the tool takes it."""

    label: str
    query: str
    regex: bool = False
    case: str = "sensitive"


_KERNEL: Final = (
    Asked("rare", "mutex_lock_killable_nested"),
    Asked("in 0.2 % of the files", "devm_clk_get_optional"),
    Asked("common", "mutex_lock"),
    Asked("in most files", "Copyright"),
    Asked("absent", "zzqqxxzz"),
    Asked("too short to index", "q;"),
    Asked("case ignored", "MUTEX_lock_KILL", case="ignore"),
    Asked("expression", r"\w+_probe_one\(", regex=True),
    Asked("expression in many files", r"static int \w+_init\(", regex=True),
    Asked("expression with ends", r"^\s+return -ENOTSUPP;$", regex=True),
    Asked("expression without a text", "[a-z]{40}", regex=True),
    Asked("a hash", r"\b[0-9a-f]{40}\b", regex=True),
    Asked("a date", r"\d{4}-\d{2}-\d{2}", regex=True),
)
_PYTHON: Final = (
    Asked("rare", "class JSONDecoder"),
    Asked("common", "import os"),
    Asked("absent", "zzqqxxzz"),
    Asked("case ignored", "jsondecodeerror", case="ignore"),
    Asked("expression", r"def \w+_nested\(", regex=True),
    Asked("expression in many files", r"def \w+\(self", regex=True),
    Asked("expression without a text", r"\b[a-z]{25}\b", regex=True),
    Asked("a hash", r"\b[0-9a-f]{40}\b", regex=True),
    Asked("a date", r"\d{4}-\d{2}-\d{2}", regex=True),
)
_TYPED: Final = tuple(
    Asked(text, text, regex=text not in {"==", "->", "if not", "TODO", "q;", "()()", "Error("})
    for text in (
        "==", "->", "if not", "TODO", "q;", "()()", "Error(",
        "TODO|FIXME", "import (os|sys)", r"^\s*#\s*include", "return (None|NULL|0)", r"print\w*\(",
        r"\b(get|set)_\w+\(", r"def \w+\(", r"class \w+\(.*Error\)", r"struct \w+ \{",
        r"static (int|void) \w+_init\(", r"except \w+ as e:", r"for \w+ in range\(",
        r"\d+\.\d+\.\d+", r"\d{2}:\d{2}", r"\d\d/\d\d/\d{2,4}", "0x[0-9a-fA-F]{6,}",
        r"https?://\S+", r"\w+@\w+\.\w+", "[A-Z_]{5,} = ", r'"\w+":', r"err(or)?s?\b", r"__\w+__",
        r"\bif\b.*\bor\b.*\bnot\b", r"\b\w{1,2} = \[\]", "x+y+z", r"\s+$", "^$", r"^\s{40,}\w",
        r"[^\x00-\x7f]", r"(?i)deprecated", r"v\d+\.\d+", r"\$\{\w+\}", r"open\(.*,\s*[\"']r",
    )
)  # fmt: skip
"""What people and agents type, most of it short, common, or of no text that an index knows."""


def tables() -> Iterator[Table]:
    """Yield the tables of exact search, as they are made."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = python_library(folder)
        with Bench(library, folder / "library") as small:
            yield small.index_table("CPython's library")
            yield small.searches("CPython's library", _PYTHON)
            yield small.typed("CPython's library")
            yield small.starts("CPython's library", _PYTHON[0])
        tree = large_tree() or Path(sys.prefix)
        with Bench(tree, folder / "large", EXACT, _LARGE_RUNS) as large:
            yield large.index_table("a large tree")
            yield large.searches("a large tree", _KERNEL)
            yield large.typed("a large tree")
            yield large.starts("a large tree", _KERNEL[0])
            yield large.edits()


class Bench:
    """One tree with its servers: as it comes, with the kernel's notes, and without an index."""

    def __init__(
        self, tree: Path, folder: Path, command: tuple[str, ...] = ROLLTOP, runs: int = RUNS
    ) -> None:
        """Take the tree, a folder for the servers' data, and how they are started."""
        self.tree: Final = tree
        self._folder: Final = folder
        self._command: Final = command
        self._runs: Final = runs
        folder.mkdir()
        self.strict: Final = self._served(_STRICT)
        self._built: Final = until_at_rest(self.strict.process.pid)
        self.cold: Final = self._served(_COLD)
        for wire in (self.strict, self.cold):
            wire.call("repo_search", query="some text that is nowhere")
            until_at_rest(wire.process.pid, still=3)

    def __enter__(self) -> Self:
        """Return it, its index complete."""
        return self

    def __exit__(self, *failed: object) -> None:
        """End the servers."""
        for wire in (self.strict, self.cold):
            wire.__exit__(*failed)

    def _served(self, settings: dict[str, str]) -> Wire:
        places = {"CODE_ROOT": str(self.tree), "ROLLTOP_DATA_DIR": str(self._folder / "data")}
        wire = Wire(self._command, self._folder, ROLLTOP_TOOLSETS="retrieval", **places, **settings)
        wire.initialize()
        return wire

    def index_table(self, title: str) -> Table:
        """Say what the index took, and what it holds."""
        files, size = _extent(self.strict)
        places = (self._folder / "data" / name for name in ("code-index", "ranked-index"))
        kept = {
            place.name: sum(file.stat().st_size for file in place.iterdir())
            for place in places
            if place.is_dir()
        }
        total, built = sum(kept.values()), self._built
        shares = ", ".join(f"{name} {count / size:.1%}" for name, count in kept.items())
        return Table(
            f"retrieval: the index of {title}",
            f"{files:,} text files, {megabytes(size)}. {' and '.join(kept)}, made from nothing by "
            "one server from its start to its rest: as it comes for the small tree, without the "
            f"job that makes the ranked index for the large one. {load()}",
            ("", "figure", "promise"),
            [
                ("time", f"{built.wall:.0f} s, {built.cpu:.0f} s of processor time", ""),
                ("time per GB", f"{built.wall / size * 1e9:.0f} s", "≤ 60 s"),
                ("processor time per GB", f"{built.cpu / size * 1e9:.0f} s", ""),
                ("size on disk", f"{total / size:.1%} of the text ({shares})", "≤ 20 %"),
                ("memory while it is made", megabytes(built.peak), ""),
                ("memory afterwards", megabytes(memory(self.strict.process.pid)), "≤ 300 MB"),
            ],
        )

    def searches(self, title: str, queries: tuple[Asked, ...]) -> Table:
        """Compare searches with ripgrep."""
        rows = [(asked.label, *self._row(asked)) for asked in queries]
        rows.append(
            ("memory of the server", "", "", "", megabytes(self._memory(self.strict))),
        )  # fmt: skip
        return Table(
            f"retrieval: exact search of {title}",
            f"The first {LIMIT} lines of each query; ripgrep prints all, to nowhere. {self._runs} "
            "runs in turn; × says how many times ripgrep's time or speed. Cold: no index and no "
            "list of files. Warm: as it comes, each file's state looked at. The figure after the "
            "comma is processor time, of ours as a multiple of ripgrep's: what else runs on the "
            f"machine does not change it. {load()}",
            ("query", "lines", "ripgrep", "cold, its time", "warm, its speed"),
            rows,
        )

    def typed(self, title: str) -> Table:
        """Compare many queries with ripgrep, warm."""
        for _ in range(2):  # texts are held in memory once a search has looked through many files
            _search(self.strict, _TYPED[-1])
            until_at_rest(self.strict.process.pid, still=3)
        speeds: list[tuple[float, Asked]] = []
        for asked in _TYPED:
            rg, warm = interleaved(
                [
                    partial(time_of, partial(_ripgrep, self.tree, asked)),
                    partial(time_of, partial(_search, self.strict, asked)),
                ],
                self._runs,
            )
            speeds.append((rg.median / warm.median, asked))
        speeds.sort(key=itemgetter(0))
        only = [speed for speed, _ in speeds]
        slower = ", ".join(
            f"`{asked.query}` {_speed(speed)}" for speed, asked in speeds if speed < 1
        )
        return Table(
            f"retrieval: what people type, in {title}",
            f"{len(_TYPED)} queries, most of them short, common or without a text to be found by, "
            f"warm, as in the table above; ripgrep's time is 1. {load()}",
            ("", "× ripgrep's speed"),
            [
                ("least", _speed(only[0])),
                ("a tenth is below", _speed(only[len(only) // 10])),
                ("median", _speed(statistics.median(only))),
                ("greatest", _speed(only[-1])),
                ("slower than ripgrep", slower.replace("|", "\\|") or "none"),
                ("memory of the server", megabytes(memory(self.strict.process.pid))),
            ],
        )

    def _memory(self, wire: Wire) -> int:
        return memory(wire.process.pid)

    def _row(self, asked: Asked) -> tuple[str, ...]:
        lines = _ripgrep(self.tree, asked).count(b"\n")
        for wire in (self.strict, self.cold):
            answered = _search(wire, asked)
            count = len(answered["result"])
            assert count == min(lines, LIMIT) or answered["meta"]["truncated"], (asked, count)
        costs = [
            Cost(partial(_ripgrep, self.tree, asked), _children_time),
            *(
                Cost(partial(_search, wire, asked), partial(processor_time, wire.process.pid))
                for wire in (self.cold, self.strict)
            ),
        ]
        rg, cold, warm = interleaved(costs, self._runs)
        spent, *shares = (cost.spent / (self._runs + 1) for cost in costs)
        cpu = [f"{share / spent:.2f}" for share in shares]
        return (
            f"{lines:,}",
            f"{rg.cell()}, {spent * 1e3:.0f} ms",
            f"{cold.median / rg.median:.2f} ×, {cpu[0]} ×",
            f"{_speed(rg.median / warm.median)} ({warm.cell()}), {cpu[1]} ×",
        )

    def starts(self, title: str, asked: Asked) -> Table:
        """Ask servers that were just started, with the index that is there."""
        costs = [partial(self._first, asked, waited) for waited in _WAITED]
        rg, *firsts = interleaved(
            [partial(time_of, partial(_ripgrep, self.tree, asked)), *costs], self._runs
        )
        return Table(
            f"retrieval: the first search after a start, of {title}",
            f"A server is started with the index that is there, and asked for a text that is "
            f"{asked.label} once the handshake is over, or some seconds later, as agents mostly "
            f"do. ripgrep in the same run: {rg.cell()}. {load()}",
            ("seconds after the handshake", "first search", "ripgrep's time"),
            [
                (f"{waited:.0f}", first.cell(), f"{first.median / rg.median:.2f} ×")
                for waited, first in zip(_WAITED, firsts, strict=True)
            ],
        )

    def _first(self, asked: Asked, waited: float) -> float:
        with self._served(_STRICT) as wire:
            time.sleep(waited)  # what passes meanwhile is what is measured
            return time_of(partial(_search, wire, asked))

    def edits(self) -> Table:
        """Edit files, find what was written at once, and see what reading them in costs."""
        self.cold.__exit__()
        rows: list[tuple[str, ...]] = []
        for count in (1, 100, 1_000):
            with Edited(self.tree, count) as edited:
                rows.append((f"{edited.count:,}", *self._after_edits(self.strict, edited)))
        return Table(
            "retrieval: after edits of the large tree",
            "A line with a new text is appended to files, and the text is searched at once, "
            "before the edits are in the index. The cost is the server's processor time until it "
            "rests.",
            ("edited files", "first search", "a search of a rare text then", "reading them in"),
            rows,
        )

    def _after_edits(self, wire: Wire, edited: Edited) -> tuple[str, ...]:
        pids = (self.strict.process.pid,)
        asked = Asked("new", edited.text)
        before = sum(map(processor_time, pids))
        first = time_of(lambda: self._found_all(wire, asked, edited.count))
        rare = Times(tuple(time_of(partial(_search, wire, _KERNEL[0])) for _ in range(self._runs)))
        for pid in pids:
            until_at_rest(pid)
        spent = sum(map(processor_time, pids)) - before
        return f"{first * 1e3:.0f} ms", rare.cell(), f"{spent:.2f} s"

    def _found_all(self, wire: Wire, asked: Asked, count: int) -> None:
        answer = _search(wire, asked, limit=1_000, max_tokens=20_000)
        found = len(answer["result"])
        assert found == count or answer["meta"]["truncated"], (found, count)


class Cost:
    """Something to be timed, and the processor time all its runs took."""

    def __init__(self, act: Callable[[], object], taken: Callable[[], float]) -> None:
        """Take what to do, and what tells the processor time taken so far."""
        self.spent = 0.0
        self._act: Final = act
        self._taken: Final = taken

    def __call__(self) -> float:
        """Do it once; return how long it took."""
        before = self._taken()
        elapsed = time_of(self._act)
        self.spent += self._taken() - before
        return elapsed


class Edited:
    """Files of a tree with one line more, until it ends."""

    def __init__(self, tree: Path, count: int) -> None:
        """Choose files all over the tree."""
        files = list(_small_files(tree))
        self._sizes: Final = dict(files[:: max(1, len(files) // count)][:count])
        self.count: Final = len(self._sizes)
        self.text: Final = f"appended_{count}_lines"

    def __enter__(self) -> Self:
        """Write the line."""
        for path in self._sizes:
            with path.open("ab") as file:
                file.write(f"// {self.text}\n".encode())
        return self

    def __exit__(self, *_: object) -> None:
        """Take it away again."""
        for path, size in self._sizes.items():
            with path.open("r+b") as file:
                file.truncate(size)


def _small_files(tree: Path) -> Iterator[tuple[Path, int]]:
    for path in sorted(tree.rglob("*.[ch]")):
        size = path.lstat().st_size
        if not path.is_symlink() and size < 1 << 16:
            yield path, size


def _speed(times: float) -> str:
    """Return how many times as fast, exactly enough to tell 0.96 from 1."""
    return f"{times:.1f} ×" if times >= 10 else f"{times:.2f} ×"  # noqa: PLR2004  # digits shown


def _search(wire: Wire, asked: Asked, **more: Any) -> dict[str, Any]:
    answer = wire.call(
        "repo_search",
        **{"query": asked.query, "regex": asked.regex, "case": asked.case, "limit": LIMIT, **more},
    )
    assert "result" in answer, answer
    return answer


def _children_time() -> float:
    """Return the processor time of the processes this one has started and awaited."""
    times = os.times()
    return times.children_user + times.children_system


def _extent(wire: Wire) -> tuple[int, int]:
    """Return how many text files the server searches, and their bytes."""
    searched = wire.call("repo_search", query="some text that is nowhere")["meta"]["searched"]
    return searched["files"], searched["bytes"]


def _ripgrep(tree: Path, asked: Asked) -> bytes:
    flags = [] if asked.regex else ["--fixed-strings"]
    flags += ["--ignore-case"] if asked.case == "ignore" else []
    command = [ripgrep_path(), "--no-config", "--no-require-git", "--line-number", *flags]
    done = subprocess.run([*command, "-e", asked.query, tree], capture_output=True, check=False)
    return done.stdout
