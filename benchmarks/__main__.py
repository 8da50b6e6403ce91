"""Run every benchmark, or those named, and write their part of docs/benchmarks.md."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Table, machine

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTS = (
    "startup",
    "roundtrip",
    "tasks",
    "scratch",
    "validation",
    "notes",
    "notes_quality",
    "counting",
    "reading",
    "plans",
    "hostile",
    "retrieval",
    "retrieval_reads",
    "memory",
    "encryption",
    "search_quality",
    "desk_search",
    "desk_size",
    "page",
    "retrieval_quality",
)
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Tables come from `python -m benchmarks NAME`; `make bench` makes all of them anew. Every comparison
is made in one run, side by side. Times are medians with the least and the greatest. Below each
table stands the machine it was made on.
"""


def main(names: list[str]) -> int:
    """Print the tables of the named parts, all without names, and write them into the page."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        return 2
    if not names:
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in names or PARTS:
        tables: Iterable[Table] = import_module(f"benchmarks.{name}").tables()
        for table in tables:
            # After each, so that a long run that is ended leaves what it has measured.
            publish(table)
    return 0


def publish(table: Table) -> None:
    """Print a table and write it into the page, in place of the one of its title."""
    head, *found = f"\n{PAGE.read_text(encoding='utf-8')}".split("\n## ")
    sections = {section.partition("\n")[0]: f"## {section.rstrip()}\n" for section in found}
    sections[table.title] = f"{table.markdown()}\nMachine: {machine()}.\n"
    print(sections[table.title], flush=True)
    PAGE.write_text("\n".join([f"{head.strip()}\n", *sections.values()]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
