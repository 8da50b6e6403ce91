"""Ranked search: whole functions, classes, sections and paragraphs that answer a query best."""

from __future__ import annotations

from rolltop.toolsets.retrieval.rank.indexes import UnitIndexes, kept_name
from rolltop.toolsets.retrieval.rank.making import Making
from rolltop.toolsets.retrieval.rank.meaning import Meaning
from rolltop.toolsets.retrieval.rank.reading import LARGEST
from rolltop.toolsets.retrieval.rank.searching import MOST, Ranking, search
from rolltop.toolsets.retrieval.rank.trees import Tree
from rolltop.toolsets.retrieval.rank.vectors import Vectors

__all__ = [
    "LARGEST",
    "MOST",
    "Making",
    "Meaning",
    "Ranking",
    "Tree",
    "UnitIndexes",
    "Vectors",
    "kept_name",
    "search",
]
