"""Exact search over trees: what ripgrep would find, in a fixed order, of the files as they are."""

from __future__ import annotations

from rolltop.toolsets.retrieval.exact.globs import FileGlob
from rolltop.toolsets.retrieval.exact.nearest import nearest
from rolltop.toolsets.retrieval.exact.search import MOST_BYTES, search
from rolltop.toolsets.retrieval.exact.trees import Index, Tree

__all__ = ["MOST_BYTES", "FileGlob", "Index", "Tree", "nearest", "search"]
