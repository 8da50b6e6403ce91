"""A process that keeps an index up to date until it is killed: `builder KEPT FOLDER`."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from rolltop.toolsets.retrieval.index import trigram_build, trigram_index
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace import file_stat
from tests.toolsets.retrieval.index.indexed import Indexed

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.index.trigram_file import FileEntry
    from rolltop.workspace import FileStat, Root, Roots


def quick_reader(roots: Roots, folder: Path) -> object:
    """Return what reads files into the index, 40 ms after they changed."""
    file_stat.RACY_NS = 40_000_000  # pyright: ignore[reportConstantRedefinition,reportAttributeAccessIssue]
    return trigram_build.reader(roots, folder)


def hostile_reader(roots: Roots, folder: Path) -> object:
    """Return what reads files so, one kind of which hangs in C code and one ends the process."""
    read = trigram_build.read

    def parse(roots: Roots, root: Root, entry: FileStat) -> FileEntry | bool:
        found = read(roots, root, entry)
        text = "" if isinstance(found, bool) else found.text
        if "hostilehang" in text:
            re.match(r"(?:a+)+b", "a" * 60)
        if "hostilecrash" in text:
            os.abort()
        return found

    trigram_build.read = parse  # pyright: ignore[reportPrivateImportUsage]
    return quick_reader(roots, folder)


def main() -> None:
    """Index the folder in small steps, over and over, and print a line for each."""
    file_stat.RACY_NS = 40_000_000  # pyright: ignore[reportConstantRedefinition,reportAttributeAccessIssue]
    trigram_build._WRITTEN_FILES = 2  # noqa: SLF001  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
    trigram_index._BATCH_FILES = 5  # noqa: SLF001  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
    trigram_index.MIN_FILES = 1  # pyright: ignore[reportConstantRedefinition,reportAttributeAccessIssue]
    made = Indexed(Path(sys.argv[1]), Path(sys.argv[2]))
    while True:
        made.proposed(Query("anything at all"))
        made.indexes.update(lambda: False)
        sys.stdout.write(f"{made.indexes.waiting}\n")
        sys.stdout.flush()
        threading.Event().wait(0.005)


if __name__ == "__main__":
    main()
