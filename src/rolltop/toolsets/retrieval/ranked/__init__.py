"""Ranked search: the functions, classes, sections and paragraphs that answer a query best."""

from __future__ import annotations

from rolltop.toolsets.retrieval.ranked.candidates import RankedTree
from rolltop.toolsets.retrieval.ranked.rerank import MAX_RESULTS, Meaning, Ranking, search

__all__ = ["MAX_RESULTS", "Meaning", "RankedTree", "Ranking", "search"]
