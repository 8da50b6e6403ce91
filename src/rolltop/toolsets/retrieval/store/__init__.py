"""What is kept of files, on disk and in memory, and what a process knows of it."""

from __future__ import annotations

from typing import Final

from rolltop.toolsets.retrieval.store.files import (
    Busy,
    Connection,
    Damaged,
    Growth,
    IndexFile,
    NotUnderstood,
    Unusable,
    Value,
    batches,
    kept_path,
    path_of,
    scattered,
)
from rolltop.toolsets.retrieval.store.held import GONE, Held, Row, Stamp
from rolltop.toolsets.retrieval.store.packs import (
    OPEN_FILES,
    Pack,
    Packs,
    can_pack,
    packable,
    packed,
)

__all__ = [
    "GONE",
    "OPEN_FILES",
    "PACKAGE",
    "Busy",
    "Connection",
    "Damaged",
    "Growth",
    "Held",
    "IndexFile",
    "NotUnderstood",
    "Pack",
    "Packs",
    "Row",
    "Stamp",
    "Unusable",
    "Value",
    "batches",
    "can_pack",
    "kept_path",
    "packable",
    "packed",
    "path_of",
    "scattered",
]

PACKAGE: Final = __name__.rpartition(".")[0]
"""The toolset's, which children that fill indexes do without: tools, settings, their schemas."""
