"""Ranked searches as answers, and the index behind them kept up to date."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

from rolltop.core.budget import Page
from rolltop.core.errors import Invalid, TimedOut
from rolltop.core.roots import Skipped, is_sendable
from rolltop.toolsets.retrieval import rank
from rolltop.toolsets.retrieval.exact import FileGlob, search
from rolltop.toolsets.retrieval.exact.holding import holding
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.service import indexing, meanings
from rolltop.toolsets.retrieval.service.indexing import trees
from rolltop.toolsets.retrieval.service.paging import Pages, compared_before
from rolltop.toolsets.retrieval.service.places import chosen_roots, repo_of
from rolltop.toolsets.retrieval.service.searching import zero
from rolltop.toolsets.retrieval.store import Unusable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.desk import Desk
    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact import Tree
    from rolltop.toolsets.retrieval.models import JsonObject, Order, Place
    from rolltop.toolsets.retrieval.service.answers import Clock
    from rolltop.toolsets.retrieval.service.searching import Asked

_AT_A_TIME: Final = 30.0
"""Seconds that one run cuts files: a worker thread waits for as long, for many files are cut by
processes of their own."""
_LONGEST_CUTTING: Final = 10.0
"""Seconds that one search may read files which the index does not hold."""
_LEAST_TRIGRAM: Final = 3
_SHARE: Final = 0.75
"""Of the time that a call may take, what is left for other things than a near spelling."""

_known: Final[WeakKeyDictionary[Desk, rank.UnitIndexes]] = WeakKeyDictionary()
_lock: Final = Lock()


@dataclass(frozen=True, slots=True)
class Ranked:
    """What is looked for: anything a person types, in the files that a glob lets through."""

    text: str
    file_glob: str | None = None
    order: Order = "rank"


def ranked_page(desk: Desk, clock: Clock, ranked: Ranked, repo: str | None, asked: Asked) -> Page:
    """Return the places that answer best, from the cursor on; at most `rank.MOST` in all.

    Raises:
        RolltopError: CONFIG_INVALID, REPO_INVALID, QUERY_EMPTY, FILE_GLOB_INVALID or
            CURSOR_INVALID.

    """
    until = time.monotonic() + _SHARE * desk.settings["call_timeout"]
    roots, missing = chosen_roots(desk.roots, repo)
    glob = _glob(ranked)
    most_bytes = desk.settings["retrieval.max_file_bytes"]
    looked = [_Looked.at(tree, glob, most_bytes) for tree in trees(desk, roots)]
    meaning = meanings.of_query(desk, ranked.text, roots, compared_before(asked.cursor))
    found = _ranking(desk, ranked.text, looked, meaning)
    compared = meanings.compared(desk, meaning)
    pages = Pages(
        found.places,
        asked.limit,
        [root.name for root in roots],
        (ranked.text, ranked.file_glob),
        by_path=ranked.order == "path",
        compared=compared,
    )
    at = pages.position(asked.cursor)
    wanted = pages.rest(at)
    told = {} if wanted or asked.cursor else _zero(ranked, looked, most_bytes, until)
    mode = "hybrid" if compared else "words"
    unread = found.unread or None
    meta = clock.meta(repo_of(roots), mode=mode, missing=missing, unread=unread, **told)
    return Page(
        [_data(place, found.preview(place)) for place in wanted],
        lambda items: {"result": items, "meta": meta},
        lambda index: pages.cursor(at, index + 1),
        pages.more(at),
        counts_only=True,
    )


def _glob(ranked: Ranked) -> FileGlob | None:
    """Return which files are wanted. Raises QUERY_EMPTY where nothing is, or FILE_GLOB_INVALID."""
    if not ranked.text.strip():
        raise Invalid(
            "query is empty",
            code="QUERY_EMPTY",
            hint="Send a few words, a name, a file name or a question.",
        )
    return None if ranked.file_glob is None else FileGlob(ranked.file_glob)


def update(desk: Desk) -> None:
    """Cut into units what is not in the index as it is, for a few seconds.

    The exact index comes first: it takes a tenth of the time, and both at once take more memory.
    """
    if not desk.settings["retrieval.index"] or not indexing.is_made(desk):
        return
    end = time.monotonic() + _AT_A_TIME
    for tree in trees(desk, desk.roots.named):
        _indexes(desk).update(
            tree.root,
            partial(_entries, tree),
            lambda: desk.stopping or time.monotonic() > end,
        )


def close(desk: Desk) -> None:
    """Let go of the desk's index files."""
    with _lock:
        indexes = _known.pop(desk, None)
    if indexes is not None:
        indexes.close()


@dataclass(frozen=True, slots=True)
class _Looked:
    """A root as it is at the time of the call, and which of its files are wanted."""

    tree: Tree
    entries: Sequence[Entry]
    glob: FileGlob | None
    most_bytes: int

    @classmethod
    def at(cls, tree: Tree, glob: FileGlob | None, most_bytes: int) -> _Looked:
        return cls(tree, _entries(tree), glob, most_bytes)

    def chooses(self, entry: Entry) -> bool:
        fits = entry.size <= self.most_bytes
        return fits and is_sendable(entry.relative) and self.admits(entry)

    def admits(self, entry: Entry) -> bool:
        """Return whether a file is one of those asked for."""
        return self.glob is None or self.glob.chooses(entry.relative)

    def holding(self, deadline: float, text: str, entries: Sequence[Entry]) -> set[Entry]:
        """Return which of the files hold a text: the trigrams narrow what is looked at."""
        index, query = self.tree.index, Query(text, case="ignore")
        if index is not None and len(text) >= _LEAST_TRIGRAM:
            candidates = index.candidates(query)
            if candidates is not None:
                wanted = set(entries)
                entries = [entry for entry in candidates if entry in wanted]
        return holding(self.tree.root, query, entries, deadline) if entries else set()


def _ranking(
    desk: Desk, text: str, looked: Sequence[_Looked], meaning: rank.Meaning | None
) -> rank.Ranking:
    """Return the best places; without what is kept on disk where that fails."""
    deadline = time.monotonic() + min(_LONGEST_CUTTING, desk.settings["call_timeout"] / 2)
    indexes = _indexes(desk)
    for kept in (desk.settings["retrieval.index"], False):
        files = [indexes.file(one.tree.root) if kept else None for one in looked]
        made = [
            rank.Tree(
                desk.roots,
                indexes.units(one.tree.root),
                file,
                one.entries,
                one.chooses,
                partial(one.holding, deadline),
            )
            for one, file in zip(looked, files, strict=True)
        ]
        try:
            return rank.search(made, text, limit=rank.MOST, deadline=deadline, meaning=meaning)
        except Unusable as problem:
            for one, file in zip(looked, files, strict=True):
                if file is not None:
                    indexes.failed(one.tree.root, file, problem)
    return rank.Ranking([])


def _entries(tree: Tree) -> Sequence[Entry]:
    """Return the chosen files: the very list that the catalogue keeps, where there is one."""
    entries = tree.files(Skipped())
    return entries if isinstance(entries, list) else list(entries)


def _indexes(desk: Desk) -> rank.UnitIndexes:
    with _lock:
        if desk not in _known:
            _known[desk] = rank.UnitIndexes(desk.roots, desk.settings["data_dir"] / meanings.FOLDER)
        return _known[desk]


def _zero(
    ranked: Ranked, looked: Sequence[_Looked], most_bytes: int, deadline: float
) -> JsonObject:
    """Return what is said where nothing was found, as exact search says it.

    It is what a search for a text that is nowhere goes over. A file of which only the beginning is
    ranked counts as too large. Nothing is said where that takes too long: no place is known to be
    there all the same.
    """
    searched = [one.tree for one in looked]
    query = Query(ranked.text, file_glob=ranked.file_glob)
    try:
        found = search(
            searched,
            replace(query, text=uuid4().hex),
            limit=1,
            deadline=deadline,
            most_bytes=min(most_bytes, rank.LARGEST),
        )
    except TimedOut:
        return {}
    told = zero(found, searched, query, most_bytes)
    if told["nearest"] == ranked.text.strip():  # it stands where texts are not ranked
        told["nearest"] = None
    return told


def _data(place: Place, preview: str) -> JsonObject:
    return {
        "repo": place.repo,
        "path": place.path,
        "line": place.line,
        "end_line": place.end_line,
        "preview": preview,
        "score": place.score,
        "why": list(place.why),
    }
