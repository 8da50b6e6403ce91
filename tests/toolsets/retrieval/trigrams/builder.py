"""A process that keeps an index up to date until it is killed: `builder KEPT FOLDER`."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from rolltop.core.roots import settling
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.trigrams import building, index
from rolltop.toolsets.retrieval.trigrams.building import Reader
from tests.toolsets.retrieval.trigrams.indexed import Indexed

if TYPE_CHECKING:
    from rolltop.core.roots import Roots


def quick_reader(roots: Roots, folder: Path) -> Reader:
    """Return what reads files into the index, 40 ms after they changed."""
    settling.SETTLED_NS = 40_000_000  # pyright: ignore[reportConstantRedefinition,reportAttributeAccessIssue]
    return Reader(roots, folder)


def main() -> None:
    """Index the folder in small steps, over and over, and print a line for each."""
    settling.SETTLED_NS = 40_000_000  # pyright: ignore[reportConstantRedefinition,reportAttributeAccessIssue]
    building._WRITTEN_FILES = 2  # noqa: SLF001  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
    index._BATCH_FILES = 5  # noqa: SLF001  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
    made = Indexed(Path(sys.argv[1]), Path(sys.argv[2]))
    while True:
        made.proposed(Query("anything at all"))
        made.indexes.update(lambda: False)
        sys.stdout.write(f"{made.indexes.waiting()}\n")
        sys.stdout.flush()
        threading.Event().wait(0.005)


if __name__ == "__main__":
    main()
