"""The reader over stdio: the first time, again, and on a file of 50 MB; how much it saves."""

from __future__ import annotations

import sysconfig
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Table, Times, megabytes, time_of
from benchmarks.wire import ROLLTOP, Wire
from rolltop.core import token_counter

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNS = 15
LARGE = 50_000_000
DOCUMENTS = 150
_PLENTY = 10_000


def tables() -> list[Table]:
    """Return the tables of the toolset reader."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        documents = list(_long_documents())
        return [_speed(folder), _reduction(folder, documents)]


def document(number: int, wanted: int) -> str:
    """Return a Markdown document of about that many tokens, different for each number."""
    paragraph = (
        "Survey {n} of station {s} found that the tide rose {n} hours before the bell, and the "
        "keeper of lamp {s} wrote that no ship had passed since the equinox. We conclude that "
        "the ledger of year {y} is wrong by {n} entries.\n\n"
    )
    lines: list[str] = [f"# Survey report {number}\n\n"]
    size = 0
    chapter = 0
    while size < wanted:
        chapter += 1
        lines.append(f"## {chapter} Station {chapter}\n\n")
        for n in range(12):
            text = paragraph.format(n=n + number, s=chapter, y=1800 + n)
            lines.append(text)
            size += 58
    return "".join(lines)


def _speed(folder: Path) -> Table:
    first: dict[str, list[float]] = {}
    with Wire(ROLLTOP, folder, DOCS_ROOT=str(folder)) as wire:
        wire.initialize()
        wire.call("estimate_tokens", text="warm")
        wire.call("list_sections", file_path=_written(folder, -1))
        for run in range(RUNS):
            path = _written(folder, run)
            calls: list[tuple[str, str, dict[str, Any]]] = [
                ("smart_read, first time", "smart_read", {"file_path": path}),
                ("smart_read, again", "smart_read", {"file_path": path}),
                ("list_sections, cached", "list_sections", {"file_path": path}),
                (
                    "read_section, cached",
                    "read_section",
                    {"file_path": path, "section_heading": "7"},
                ),
            ]
            for label, tool, arguments in calls:
                call = partial(wire.call, tool, **arguments)
                first.setdefault(label, []).append(time_of(call))
    rows = [
        (label, Times(tuple(seconds)).cell(), "≤ 50 ms" if "first" in label else "≤ 5 ms")
        for label, seconds in first.items()
    ]
    return Table(
        "reader: a document of 50,000 tokens",
        f"{RUNS} documents, one after another, over stdio; the process is warm, the files are new.",
        ("call", "time", "promise"),
        [*rows, *_large(folder)],
    )


def _written(folder: Path, number: int) -> str:
    path = folder / f"report{number}.md"
    path.write_text(document(number, 50_000), encoding="utf-8")
    return path.name


def _large(folder: Path) -> Iterator[tuple[str, ...]]:
    line = "The keeper counted {n} ships and wrote the number down in the ledger.\n"
    text = "".join(line.format(n=n) for n in range(LARGE // 70))
    (folder / "large.txt").write_text(text, encoding="utf-8")
    with Wire(ROLLTOP, folder, DOCS_ROOT=str(folder)) as wire:
        wire.initialize()
        wire.call("estimate_tokens", text="warm")
        before = wire.resident()
        seconds = time_of(lambda: wire.call("smart_read", file_path="large.txt"))
        peak = _peak(wire) - before
    size = f"smart_read of a {megabytes(len(text))} text"
    yield size, f"{seconds:.2f} s", "≤ 2 s"
    yield f"{size}, memory", f"{peak / len(text):.1f} × the file", "≤ 4 ×"


def _peak(wire: Wire) -> int:
    status = Path(f"/proc/{wire.process.pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _long_documents() -> Iterator[Path]:
    """Find real documents and sources of more than 10,000 tokens among the installed files."""
    found = 0
    folder = Path(sysconfig.get_path("stdlib"))
    suffixes = {".md", ".rst", ".txt", ".py", ".html", ".json"}
    for path in sorted(folder.rglob("*")):
        if found == DOCUMENTS:
            return
        if path.suffix in suffixes and path.is_file() and path.stat().st_size > 2 * _PLENTY:
            text = path.read_text(encoding="utf-8", errors="replace")
            if token_counter.count(text) > _PLENTY:
                found += 1
                yield path


def _reduction(folder: Path, documents: list[Path]) -> Table:
    kept: list[float] = []
    with Wire(ROLLTOP, folder, DOCS_ROOT=str(Path(sysconfig.get_path("stdlib")))) as wire:
        wire.initialize()
        for path in documents:
            answer = wire.call("smart_read", file_path=str(path))
            if answer.get("type") == "summary":
                kept.append(answer["summary_tokens"] / answer["original_tokens"])
    saved = Times(tuple(1 - share for share in kept))
    rows = [
        ("documents over 10,000 tokens", str(len(documents)), ""),
        ("answered by a summary", str(len(kept)), ""),
        ("least reduction", f"{min(saved.seconds):.2%}", "> 90 %"),
        ("median reduction", f"{saved.median:.1%}", ""),
    ]
    return Table(
        "reader: reduction at the default bound",
        "Sources and documents of the Python installation, whole answers counted.",
        ("", "figure", "promise"),
        rows,
    )
