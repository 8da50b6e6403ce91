"""A reader of files, one kind of which hangs in C code and one ends the process.

By itself, as the processes that read have little time, and most of it would go into imports.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rolltop.toolsets.retrieval.index import chunk_index_builder
from rolltop.toolsets.retrieval.index.chunk_index import index_file

if TYPE_CHECKING:
    from rolltop.documents.outline import Outline
    from rolltop.toolsets.retrieval.index.chunk_index import IndexedFile
    from rolltop.toolsets.retrieval.store import Stamp

TEXT = "def quagga():\n    return 'hostile {}'\n"


def reader(top: str, folder: str, name: str) -> object:
    """Make the reader of files of a process of its own."""

    def parse(path: str, stamp: Stamp, text: str, *outline: Outline) -> IndexedFile:
        if "hostile hang" in text:
            re.match(r"(?:a+)+b", "a" * 60)
        if "hostile crash" in text:
            os.abort()
        return index_file(path, stamp, text, *outline)

    chunk_index_builder.index_file = parse  # pyright: ignore[reportPrivateImportUsage]
    return chunk_index_builder.reader(top, folder, name)
