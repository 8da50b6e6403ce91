"""A persistent index of trigrams, which proposes the files that may match a query."""

from __future__ import annotations

from rolltop.toolsets.retrieval.trigrams.indexes import Indexes, Look
from rolltop.toolsets.retrieval.trigrams.reading import Unsettled, read_settled

__all__ = ["Indexes", "Look", "Unsettled", "read_settled"]
