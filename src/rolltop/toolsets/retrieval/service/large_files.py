"""Lines of files of which only the beginning is ranked, for queries that nothing else answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from rolltop.core.errors import DeadlineExceeded
from rolltop.toolsets.retrieval.grep.search import MAX_FILE_BYTES, search
from rolltop.toolsets.retrieval.grep.term_finder import escape
from rolltop.toolsets.retrieval.models import Query, RankedResult, SearchRoot
from rolltop.toolsets.retrieval.ranked.rerank import ParsedQuery, Ranking
from rolltop.toolsets.retrieval.service.left_out import select_large
from rolltop.workspace import FileStat, SkippedEntries

# Lines that are compared, the first that have a word of the query, and the best that are listed.
_MAX_COMPARED: Final = 200
_MAX_LISTED: Final = 20


def find_lines(
    tree: SearchRoot, entries: Iterable[FileStat], text: str, deadline: float
) -> Ranking:
    """Find the lines that have most of a query's words in files too large to be ranked whole."""
    large = list(select_large(entries))
    terms = list(ParsedQuery.of(text).spellings.values())
    if not large or not terms:
        return Ranking([])
    words = ["|".join(map(_begin_pattern, spellings)) for spellings in terms]
    query = Query("|".join(words), regex=True, case="ignore")

    def list_large(_skipped: SkippedEntries) -> list[FileStat]:
        return large

    only_large = replace(tree, files=list_large, index=None)
    with suppress(DeadlineExceeded):
        found = search(
            [only_large],
            query,
            limit=_MAX_COMPARED,
            deadline=deadline,
            most_bytes=MAX_FILE_BYTES,
        )
        ways = [re.compile(word, re.IGNORECASE) for word in words]
        scored = [
            (sum(way.search(hit.preview) is not None for way in ways) / len(ways), hit)
            for hit in found.hits
        ]
        scored.sort(key=lambda pair: -pair[0])
        places = [
            RankedResult(
                hit.repo, hit.path, hit.line, hit.line, hit.preview, round(score, 4), ("words",)
            )
            for score, hit in scored[:_MAX_LISTED]
        ]
        shown = frozenset(spelling for spellings in terms for spelling in spellings)
        return Ranking(places, terms=shown, limited=found.more or len(scored) > _MAX_LISTED)
    return Ranking([])


def _begin_pattern(word: str) -> str:
    """Return a pattern of where a word begins: by itself, in a name, or in text without spaces."""
    if not word.isascii():
        return escape(word)
    first, rest = escape(word[0].upper()), escape(word[1:])
    return rf"(?:\b|[_\u0080-\U0010ffff]){escape(word)}|(?-i:[a-z]{first}){rest}"
