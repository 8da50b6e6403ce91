"""A persistent index of trigrams, which proposes the files that may match a query."""

from __future__ import annotations

from rolltop.toolsets.retrieval.trigrams.indexes import Indexes, Look

__all__ = ["Indexes", "Look"]
