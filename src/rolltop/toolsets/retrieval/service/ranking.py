"""The answers of repo_smart_search, and the jobs that update its index and vectors."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from threading import Lock
from typing import Final, NamedTuple
from uuid import uuid4

from rolltop.core import cursor as cursors
from rolltop.core import embedding, logging
from rolltop.core.addresses import file_address
from rolltop.core.context import AppContext, CallContext
from rolltop.core.embedding import Embedder, Matrix
from rolltop.core.errors import DeadlineExceeded, InvalidArgument
from rolltop.core.fulltext.documents import FoundText, TextQuery
from rolltop.core.pagination import Page
from rolltop.core.times import moment_of
from rolltop.toolsets.retrieval.grep.ripgrep import find_matching_files
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.grep.suggestion import find_suggestion
from rolltop.toolsets.retrieval.grep.term_finder import find_term_files
from rolltop.toolsets.retrieval.index.chunk_indexes import ChunkIndexes, index_name
from rolltop.toolsets.retrieval.index.file_text import MAX_BYTES, split_documents
from rolltop.toolsets.retrieval.index.trigram_index import open_index, search_roots
from rolltop.toolsets.retrieval.index.vector_builder import VectorBuilder
from rolltop.toolsets.retrieval.index.vectors import Vectors
from rolltop.toolsets.retrieval.models import (
    JsonObject,
    Order,
    Query,
    RankedResult,
    SearchRoot,
    TermFiles,
)
from rolltop.toolsets.retrieval.ranked import MAX_RESULTS, Meaning, RankedTree, Ranking
from rolltop.toolsets.retrieval.ranked import search as search_ranked
from rolltop.toolsets.retrieval.service.exact_search import empty_meta
from rolltop.toolsets.retrieval.service.large_files import find_lines
from rolltop.toolsets.retrieval.service.left_out import LeftOut
from rolltop.toolsets.retrieval.service.root_lookup import (
    CallTimer,
    repo_label,
    resolve_glob,
    roots_for_glob,
    select_roots,
)
from rolltop.toolsets.retrieval.store import Stamp, Unusable
from rolltop.workspace import FileStat, Root, SkippedEntries, is_utf8_path
from rolltop.workspace.globs import FileGlob, globs_by_root

# Seconds of one indexing run, during which it occupies a worker thread.
_UPDATE_BUDGET_SECONDS: Final = 30.0
# Seconds that one search may read unindexed files.
READ_TIMEOUT: Final = 10.0
_MIN_TRIGRAM_LENGTH: Final = 3
_WORD: Final = re.compile(r"\w+")
_WORD_CHECK_SECONDS: Final = 1.0
# Words of a query without results for which a suggestion is searched, longest first.
_MAX_WORDS: Final = 4
# Share of the call's timeout before a suggestion is searched.
_SHARE: Final = 0.75
# Code points of the titles around a result; the nearest ones stay.
_MAX_TITLES: Final = 200
FOLDER: Final = "ranked-index"
# Seconds of one embedding run, during which it occupies a worker thread.
_VECTOR_BUDGET_SECONDS: Final = 3.0
# Code points of a query that are embedded, since the search waits for it.
_MAX_QUERY_LENGTH: Final = 300


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A free-text query of the files that a glob selects."""

    text: str
    file_glob: str | None = None
    order: Order = "rank"


def ranked_page(
    call: CallContext, timer: CallTimer, query: RankedQuery, repo: str | None, limit: int
) -> Page:
    """Find the best results from the cursor on; at most `MAX_RESULTS` in all.

    Raises RolltopError: CONFIG_INVALID, REPO_INVALID, QUERY_EMPTY, FILE_GLOB_INVALID or
    INVALID_CURSOR.
    """
    app = call.app
    until = time.monotonic() + _SHARE * app.settings["call_timeout"]
    roots, missing = select_roots(app.roots, repo)
    _check_query(query)
    query = replace(query, file_glob=resolve_glob(app.roots, roots, query.file_glob))
    roots = roots_for_glob(roots, query.file_glob)
    globs = globs_by_root(query.file_glob, [root.name for root in roots])
    most_bytes = app.settings["retrieval.max_file_bytes"]
    looked = _nest(
        [
            _SelectedRoot.from_tree(tree, globs[tree.root.name], most_bytes)
            for tree in search_roots(app, roots)
        ]
    )
    found, wanted, mode, has_more, cursor_after = _find_page(call, query, looked, limit, until)
    left_out = _left_out(app, looked, is_empty=not found.places)
    details: JsonObject = {"skipped": {"too_large": left_out.partly} if left_out.partly else None}
    if not wanted and not call.cursor:
        details |= _empty_meta(app, query, looked, most_bytes, until)
    hints = filter(None, [details.get("hint"), left_out.hint(app, is_empty=not found.places)])
    details["hint"] = " ".join(hints) or None
    details |= {"unread": found.unread or None, "indexing": _indexing(app, found, looked)}
    meta = timer.meta(repo_label(roots), mode=mode, missing=missing, **details)
    is_limited = found.limited and not has_more

    def envelope(items: list[JsonObject]) -> JsonObject:
        limited = {"limited": True} if is_limited and len(items) == len(wanted) else {}
        return {"result": items, "meta": {**meta, **limited}}

    return Page(
        [_result_data(place, found.preview(place)) for place in wanted],
        envelope,
        cursor_after,
        has_more,
        counts_only=True,
    )


def find_texts(call: CallContext, query: TextQuery) -> tuple[list[FoundText], LeftOut]:
    """Find the places in files that answer a search best, for the desk's own search.

    Raises RolltopError: CONFIG_INVALID.
    """
    app = call.app
    until = time.monotonic() + _SHARE * app.settings["call_timeout"]
    roots, _missing = select_roots(app.roots, None)
    since = query.since.timestamp() * 1e9 if query.since else -math.inf
    most_bytes = app.settings["retrieval.max_file_bytes"]
    looked = _nest(
        [
            replace(_SelectedRoot.from_tree(tree, None, most_bytes), since=since)
            for tree in search_roots(app, roots)
        ]
    )
    meaning = embed_query(app, query.words, roots, None)
    found = _ranking(app, query.words, looked, meaning, until)
    record_comparison(app, meaning)
    changed = {
        (one.tree.root.name, entry.relative): entry.mtime_ns
        for one in looked
        for entry in one.entries
    }
    texts = [
        FoundText(
            "file",
            file_address(place.repo, place.path, (place.line, place.end_line)),
            place.titles or place.path.rpartition("/")[2],
            place.own,
            moment_of(changed[place.repo, place.path] / 1e9),
            first_line=place.line,
            by_meaning="meaning" in place.why,
        )
        for place in found.places[: query.limit]
    ]
    left_out = _left_out(app, looked, is_empty=not texts)
    return texts, left_out._replace(unread=found.unread, limited=found.limited)


class _FoundPage(NamedTuple):
    """A ranking, the part of it that a page shows, and how others follow."""

    ranking: Ranking
    places: Sequence[RankedResult]
    mode: str
    has_more: bool
    cursor_after: Callable[[int], str]


def _find_page(
    call: CallContext,
    query: RankedQuery,
    looked: Sequence[_SelectedRoot],
    limit: int,
    until: float,
) -> _FoundPage:
    """Search, and go on at the result that the cursor names.

    The cursor carries the results compared, since more may have vectors later. By path, each
    `limit` results of the ranking are rearranged. Raises InvalidArgument: INVALID_CURSOR.
    """
    names = [one.tree.root.name for one in looked]
    by_path = query.order == "path"
    kind = cursors.filtered_kind("ranked", query.text, query.file_glob, names, by_path and limit)
    named = cursors.decode_place(kind, call.cursor)
    before = named[-1] if call.cursor else None
    meaning = embed_query(call.app, query.text, [one.tree.root for one in looked], before)
    found = _ranking(call.app, query.text, looked, meaning, until)
    compared = record_comparison(call.app, meaning)
    if before and not compared:
        raise cursors.invalid_cursor("INVALID_CURSOR")  # what it goes on with cannot be had again
    places = _arrange_by_path(found.places, names, limit) if by_path else found.places
    keys = [f"{place.repo}/{place.path}:{place.line}" for place in places]
    start = cursors.find_place(keys, named)
    end = start + limit - (start % limit if by_path else 0)
    # As the index grows, more files are ranked: what comes next is then no more than a number.
    known = [] if found.unread or found.lacking else keys

    def cursor_after(index: int) -> str:
        return cursors.encode_place(kind, known, start + index + 1, compared)

    mode = "hybrid" if compared else "words"
    return _FoundPage(found, places[start:end], mode, end < len(places), cursor_after)


def _arrange_by_path(
    places: Sequence[RankedResult], names: Sequence[str], limit: int
) -> list[RankedResult]:
    """Sort each `limit` results by the roots' order, path and line."""
    return [
        place
        for first in range(0, len(places), limit)
        for place in sorted(
            places[first : first + limit],
            key=lambda place: (names.index(place.repo), place.path.split("/"), place.line),
        )
    ]


def _check_query(query: RankedQuery) -> None:
    if not query.text.strip():
        raise InvalidArgument(
            "query is empty",
            code="QUERY_EMPTY",
            hint="Send a few words, a name, a file name or a question.",
        )


def update_index(app: AppContext) -> None:
    """Index new and changed files for the time of one run.

    The trigram index comes first: it takes a tenth of the time, and both at once take more memory.
    """
    if not app.settings["retrieval.index"] or not app.service(open_index).is_built:
        return
    end = time.monotonic() + _UPDATE_BUDGET_SECONDS
    for tree in search_roots(app, app.roots.named):
        app.service(open_chunk_indexes).update(
            tree.root,
            partial(_entries, tree),
            lambda: app.is_stopping or time.monotonic() > end,
        )


@dataclass(frozen=True, slots=True)
class _SelectedRoot:
    """A root during the call, and the files that the query selects."""

    tree: SearchRoot
    entries: Sequence[FileStat]
    glob: FileGlob | None
    most_bytes: int
    since: float = -math.inf
    """Nanoseconds since 1970 after which a file was changed; 1970 itself is a time of files."""
    inner: Sequence[tuple[str, _SelectedRoot]] = ()
    """The other roots inside this one, each with the start of its files' paths here."""

    @classmethod
    def from_tree(cls, tree: SearchRoot, glob: FileGlob | None, most_bytes: int) -> _SelectedRoot:
        return cls(tree, _entries(tree), glob, most_bytes)

    def is_selected(self, entry: FileStat) -> bool:
        fits = entry.size <= self.most_bytes and entry.mtime_ns > self.since
        chosen = fits and is_utf8_path(entry.relative) and self.admits(entry)
        return chosen and not self._is_of_inner(entry)

    def _is_of_inner(self, entry: FileStat) -> bool:
        """Report whether a file is selected in a root inside this one: it takes one place."""
        return any(
            entry.relative.startswith(start)
            and inner.is_selected(entry._replace(relative=entry.relative.removeprefix(start)))
            for start, inner in self.inner
        )

    def admits(self, entry: FileStat) -> bool:
        """Report whether the glob selects a file."""
        return self.glob is None or self.glob.matches(entry.relative)

    def files_containing(
        self, deadline: float, text: str, entries: Sequence[FileStat]
    ) -> set[FileStat]:
        """Find the files that contain a text, prefiltered by trigrams."""
        entries = self._prefilter([text], entries)
        query = Query(text, case="ignore")
        return find_matching_files(self.tree.root, query, entries, deadline) if entries else set()

    def find_term_files(
        self,
        last: float,
        texts: Mapping[str, Sequence[str]],
        entries: Sequence[FileStat],
        deadline: float,
    ) -> TermFiles:
        """Find the files that contain each of the terms (see `term_finder`)."""
        narrowed = self._prefilter(list(chain(*texts.values())), entries)
        return find_term_files(self.tree.root, texts, narrowed, len(entries), deadline, last)

    def _prefilter(self, texts: Collection[str], entries: Sequence[FileStat]) -> Sequence[FileStat]:
        """Drop the files that contain none of the texts according to the trigram index."""
        index = self.tree.index
        if index is None or min(map(len, texts)) < _MIN_TRIGRAM_LENGTH:
            return entries
        candidates: set[FileStat] = set()
        for text in texts:
            proposed = index.candidates(Query(text, case="ignore"))
            if proposed is None:
                return entries
            candidates.update(proposed)
        return [entry for entry in entries if entry in candidates]


def _nest(looked: Sequence[_SelectedRoot]) -> list[_SelectedRoot]:
    """Tell the roots which others lie inside them."""
    paths = [one.tree.root.path for one in looked]
    return [
        replace(
            one,
            inner=[
                (f"{inside.relative_to(path).as_posix()}/", other)
                for inside, other in zip(paths, looked, strict=True)
                if path in inside.parents
            ],
        )
        for path, one in zip(paths, looked, strict=True)
    ]


def _ranking(
    app: AppContext,
    text: str,
    looked: Sequence[_SelectedRoot],
    meaning: Meaning | None,
    until: float,
) -> Ranking:
    """Rank; where that finds nothing, look for lines of files too large to be ranked whole."""
    ranked = _rank_chunks(app, text, looked, meaning, until)
    if ranked.places:
        return ranked
    found = [
        find_lines(one.tree, filter(one.is_selected, one.entries), text, until) for one in looked
    ]
    places = sorted(chain(*(each.places for each in found)), key=lambda place: -place.score)
    return ranked._replace(
        places=places,
        terms=ranked.terms.union(*(each.terms for each in found)),
        limited=any(each.limited for each in found),
    )


def _rank_chunks(
    app: AppContext,
    text: str,
    looked: Sequence[_SelectedRoot],
    meaning: Meaning | None,
    until: float,
) -> Ranking:
    """Rank; if an index on disk fails, rank without it."""
    deadline = time.monotonic() + min(READ_TIMEOUT, app.settings["call_timeout"] / 2)
    indexes = app.service(open_chunk_indexes)
    for kept in (app.settings["retrieval.index"], False):
        files = [indexes.file(one.tree.root) if kept else None for one in looked]
        made = [
            RankedTree(
                app.roots,
                indexes.state(one.tree.root),
                file,
                one.entries,
                one.is_selected,
                partial(one.files_containing, deadline),
                partial(one.find_term_files, until),
                app.settings["retrieval.index"],
            )
            for one, file in zip(looked, files, strict=True)
        ]
        try:
            return search_ranked(made, text, limit=MAX_RESULTS, deadline=deadline, meaning=meaning)
        except Unusable as problem:
            for one, file in zip(looked, files, strict=True):
                if file is not None:
                    indexes.fail(one.tree.root, file, problem)
    return Ranking([])


def _indexing(
    app: AppContext, found: Ranking, looked: Sequence[_SelectedRoot]
) -> JsonObject | None:
    """Report the index's progress, None if the answer does not depend on it or it makes none."""
    indexes = app.service(open_chunk_indexes)
    is_given_up = any(indexes.is_given_up(one.tree.root) for one in looked)
    if not found.lacking or not app.settings["retrieval.index"] or is_given_up:
        return None
    total = sum(1 for one in looked for entry in one.entries if one.is_selected(entry))
    return {"done": total - found.lacking, "total": total}


def _left_out(app: AppContext, looked: Sequence[_SelectedRoot], *, is_empty: bool) -> LeftOut:
    """Count what was left out; documents only where nothing was found."""
    left_out = LeftOut()
    for one in looked:
        selected = [entry for entry in one.entries if one.is_selected(entry)]
        textless = _count_textless(app, one.tree.root, selected) if is_empty else 0
        left_out = left_out.add(one.tree, selected, textless)
    return left_out


def _count_textless(app: AppContext, root: Root, entries: Sequence[FileStat]) -> int:
    """Count the documents that no search looks into: without text, or all if no index is kept."""
    _, documents = split_documents(entries)
    if not documents or not app.settings["retrieval.index"]:
        return len(documents)
    index = app.service(open_chunk_indexes).file(root)
    textless = set[tuple[str, Stamp]]()
    with suppress(Unusable):
        textless = index.documents_without_text() if index else textless
    return sum((entry.relative, entry[1:5]) in textless for entry in documents)


def _entries(tree: SearchRoot) -> Sequence[FileStat]:
    """List the selected files; the catalog's own list if there is one."""
    entries = tree.files(SkippedEntries())
    return entries if isinstance(entries, list) else list(entries)


def open_chunk_indexes(app: AppContext) -> ChunkIndexes:
    """Create the process's chunk indexes of its roots."""
    return ChunkIndexes(app.roots, app.settings["data_dir"] / FOLDER)


def _empty_meta(
    app: AppContext,
    ranked: RankedQuery,
    looked: Sequence[_SelectedRoot],
    most_bytes: int,
    deadline: float,
) -> JsonObject:
    """Describe an empty result in the terms of exact search.

    Covers what a search for an absent text reads; a file of which only the beginning is ranked
    counts as too large. `nearest` is what this search would find. Empty on a timeout.
    """
    searched = [one.tree for one in looked]
    query = Query(ranked.text, file_glob=ranked.file_glob)
    try:
        found = search(
            searched,
            replace(query, text=uuid4().hex),
            limit=1,
            deadline=deadline,
            most_bytes=min(most_bytes, MAX_BYTES),
        )
    except DeadlineExceeded:
        return {}
    details = empty_meta(found, searched, query, most_bytes)
    if not _finds(app, details["nearest"], looked, deadline):
        details["nearest"] = None
    words = sorted(set(_WORD.findall(ranked.text)), key=lambda word: (-len(word), word))
    end = time.monotonic() + _WORD_CHECK_SECONDS
    for word in words[:_MAX_WORDS]:
        if details["nearest"] or len(words) == 1:
            break
        one = replace(query, text=word)
        near = find_suggestion(searched, one, found.bytes, end, max_bytes=most_bytes)
        details["nearest"] = near if _finds(app, near, looked, deadline) else None
    return details


def _finds(
    app: AppContext, text: str | None, looked: Sequence[_SelectedRoot], until: float
) -> bool:
    """Report whether a ranked search for a text finds anything: in documents it does not."""
    return text is not None and bool(_ranking(app, text, looked, None, until).places)


def _result_data(place: RankedResult, preview: str) -> JsonObject:
    titles = place.titles
    if len(titles) > _MAX_TITLES:
        titles = f"…{titles[1 - _MAX_TITLES :]}"
    more = {"in": titles, "also": list(place.also)}
    return {
        "repo": place.repo,
        "path": place.path,
        "uri": file_address(place.repo, place.path, (place.line, place.end_line)),
        "line": place.line,
        "end_line": place.end_line,
        **{name: value for name, value in more.items() if value},
        "preview": preview,
        "score": place.score,
        "why": list(place.why),
    }


class RootVectors:
    """The vectors of the roots, and their builder once a search has loaded a model."""

    def __init__(self, app: AppContext) -> None:
        folder = app.settings["data_dir"] / FOLDER
        self._roots: Final = app.roots
        self._lock: Final = Lock()
        self.builder: VectorBuilder | None = None
        self.by_root: Final = {
            root.name: Vectors(folder, index_name("vectors", root)) for root in app.roots.named
        }

    def begin(self, embedder: Embedder) -> None:
        """Start making vectors with a model; the first one stays."""
        with self._lock:
            if self.builder is None:
                self.builder = VectorBuilder(self._roots, embedder.version)

    def close(self) -> None:
        """Stop making vectors and close their files."""
        if self.builder is not None:
            self.builder.close()
        for vectors in self.by_root.values():
            vectors.close()


def embed_query(
    app: AppContext, text: str, roots: Sequence[Root], before: int | None
) -> Meaning | None:
    """Prepare the query's comparison by embeddings; None if searches use words only.

    `before` are the results compared by the search that is continued (see `Meaning`).
    """
    if not (app.settings["retrieval.semantic_search"] and app.settings["retrieval.index"]):
        return None
    # A search that goes on waits for the model that compared its first places.
    embedder = embedding.try_load_embedder() if before else embedding.embedder_if_loaded()
    if embedder is None or before == 0:
        return None
    vectors = app.service(RootVectors)
    vectors.begin(embedder)
    vector = partial(_query_vector, embedder, text[:_MAX_QUERY_LENGTH])
    asked = {root.name: vectors.by_root[root.name] for root in roots}
    return Meaning(embedder.version, vector, asked, before)


def record_comparison(app: AppContext, meaning: Meaning | None) -> int:
    """Record used and missing vectors; return the results that were compared."""
    builder = app.service(RootVectors).builder
    if meaning is None or builder is None:
        return 0
    for root, lacking in meaning.lacking.items():
        builder.note(root, meaning.used[root], lacking)
    return meaning.compared


def has_pending(app: AppContext) -> bool:
    """Report whether there are vectors to make; not before the first search."""
    builder = app.service(RootVectors).builder
    return builder is not None and any(builder.pending(root.name) for root in app.roots.named)


def update_vectors(app: AppContext) -> None:
    """Make vectors for the time of one run."""
    vectors = app.service(RootVectors)
    builder = vectors.builder
    if builder is None:
        return
    end = time.monotonic() + _VECTOR_BUDGET_SECONDS
    roots = [root for root in app.roots.named if builder.pending(root.name)]
    for tree in search_roots(app, roots):
        builder.run(
            tree.root,
            vectors.by_root[tree.root.name],
            partial(_text_files, tree),
            lambda: app.is_stopping or time.monotonic() > end,
        )


def _query_vector(embedder: Embedder, text: str) -> Matrix | None:
    """Embed a query; None on failure."""
    try:
        return embedder.embed([text])[0]
    except Exception as failure:  # noqa: BLE001  # words alone can answer
        logging.fault(failure, message="a query could not be embedded")
        return None


def _text_files(tree: SearchRoot) -> list[FileStat]:
    return [
        entry
        for entry in tree.files(SkippedEntries())
        if entry.size <= MAX_BYTES
        and (tree.index is None or tree.index.is_text(entry) is not False)
    ]
