"""Ranked search: whole functions, classes, sections and paragraphs that answer a query best."""

from __future__ import annotations

from rolltop.toolsets.retrieval.rank.indexes import UnitIndexes
from rolltop.toolsets.retrieval.rank.reading import LARGEST
from rolltop.toolsets.retrieval.rank.searching import MOST, Tree, search

__all__ = ["LARGEST", "MOST", "Tree", "UnitIndexes", "search"]
