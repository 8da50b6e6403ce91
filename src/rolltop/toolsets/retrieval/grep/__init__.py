"""Exact search: the lines that ripgrep matches, in a fixed order, read from the files."""

from __future__ import annotations

from rolltop.toolsets.retrieval.grep.ripgrep import find_matching_files
from rolltop.toolsets.retrieval.grep.search import MAX_FILE_BYTES, search
from rolltop.toolsets.retrieval.grep.suggestion import find_suggestion
from rolltop.toolsets.retrieval.grep.term_finder import find_term_files
from rolltop.toolsets.retrieval.grep.verifier import ELLIPSIS
from rolltop.toolsets.retrieval.models import Index, SearchRoot

__all__ = [
    "ELLIPSIS",
    "MAX_FILE_BYTES",
    "Index",
    "SearchRoot",
    "find_matching_files",
    "find_suggestion",
    "find_term_files",
    "search",
]
