"""Search over pads and cells: by words, by meaning, or both; and the vectors that needs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from weakref import finalize

from rolltop.core import embedding, leases, logging
from rolltop.core.addresses import record_address
from rolltop.core.context import AppContext, CallContext
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.embedding import Embedder, Matrix
from rolltop.core.errors import RolltopError, Unavailable
from rolltop.core.fulltext import hybrid_query, suggestions
from rolltop.core.fulltext.documents import NO_EMBEDDING, FoundText, IndexHit, TextQuery
from rolltop.core.journal import history
from rolltop.core.lazy_imports import lazy
from rolltop.core.leases import JobLease
from rolltop.core.principal import Principal
from rolltop.core.tags import has_all_tags
from rolltop.core.thread_pool import ThreadPool
from rolltop.toolsets.scratch.models import MAX_SNIPPET_LENGTH, JsonObject, SearchMode
from rolltop.toolsets.scratch.models.records import CellSelection, Pad
from rolltop.toolsets.scratch.service.cell_input import invalid_value
from rolltop.toolsets.scratch.service.cursors import CursorPosition, resume_index
from rolltop.toolsets.scratch.service.pads import CELL_KIND, KINDS, PAD_KIND
from rolltop.toolsets.scratch.store import cell_rows, pad_rows

if TYPE_CHECKING:
    from rolltop.core.fulltext import vector_store
    from rolltop.core.fulltext.documents import PendingText
else:  # numpy comes with the extra
    vector_store = lazy("rolltop.core.fulltext.vector_store")

_BATCH_SIZE: Final = 8
_BUSY_PAUSE: Final = 3
"""How many times as long as its vectors took a batch is followed by rest, while calls come in."""
_MAX_PAUSE: Final = 5.0
_EMBED_LEASE: Final = "scratch.embed"
_NO_MODEL: Final = ""  # a version that no vector has: every text is pending for it
_SCORE_DIGITS: Final = 4
_KIND_OF: Final = {"pad": PAD_KIND, "cell": CELL_KIND}
"""The index's kind for kinds of addresses."""
_FURTHER: Final = 8
"""How many times as many hits are asked for where too few have all tags and were changed since."""
_MAX_LOOKED_AT: Final = 1_000
"""Hits after which no more are asked for."""


@dataclass(frozen=True)
class HitPage:
    """Up to `limit` hits from a position on, of those that are found `window` at first.

    More are looked for where the page needs them, and follow the first ones, whatever their rank.
    """

    limit: int
    window: int
    position: CursorPosition | None = None


@dataclass(frozen=True)
class PadSearchResult:
    """Hits, best first; what ran; texts without vector; the embedder that took part, or "none".

    `ranked` are the ids of all hits up to these and the next one. Of no hits it is said in
    `nothing` what was searched, and the nearest spelling.
    """

    hits: list[JsonObject]
    ranked: list[str]
    has_more: bool
    mode: SearchMode
    pending: int
    embedder: str = NO_EMBEDDING
    nothing: JsonObject = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class QueryEmbedding:
    """A query's vector by the model `version`, which may still be computed."""

    version: str
    vector: Future[Matrix]


class PadSearch:
    """Search of one process: its embedding model, loaded off the path of any call."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._model: Embedder | None = None
        self._is_loading = False
        self._query_pool = ThreadPool(2, "rolltop-query")
        finalize(self, self._query_pool.release).atexit = False
        self._warming: set[tuple[str, str]] = set()  # users and versions of vectors

    async def search(
        self,
        call: CallContext,
        query: str,
        selection: CellSelection,
        page: HitPage,
        mode: SearchMode,
    ) -> PadSearchResult:
        """Search. Raises InvalidArgument for a blank query, CONFIG_ERROR for `meaning`."""
        if not query.strip():
            raise invalid_value("query is blank", "Send some words of what you look for.")
        meaning = await self._embed_query(call, query, mode)
        found = await call.read(find_hits, query, selection, page, mode, meaning)
        if mode == "hybrid" and meaning is not None and found.mode == "words":
            self._warm_vectors(call.principal, meaning.version)
        if not found.ranked:
            found = replace(found, nothing=await call.read(_explain_nothing, query, selection))
        if meaning and any(hit["embedding_version"] != NO_EMBEDDING for hit in found.hits):
            return replace(found, embedder=meaning.version)
        # Where no vector is there yet, it went by words.
        return replace(found, mode="words") if mode == "hybrid" else found

    async def find_texts(
        self, call: CallContext, query: TextQuery, selection: CellSelection
    ) -> list[FoundText]:
        """Return pads and cells, best first, as hybrid search ranks them."""
        meaning = await self._embed_query(call, query.words, "hybrid")
        return await call.read(_find_texts, query, selection, meaning)

    async def _embed_query(
        self, call: CallContext, query: str, mode: SearchMode
    ) -> QueryEmbedding | None:
        """Begin to embed a query, while its words are looked up; None without a model."""
        model = await self._model_for(call, mode)
        if model is None:
            return None
        vector = self._query_pool.submit(lambda: model.embed([query])[0])
        return QueryEmbedding(model.version, vector)

    async def embed_pending(self) -> None:
        """Compute the vectors that are missing; load the model only if there is a text."""
        app = self._app
        if not self.is_available:
            return
        if not await app.database.read(SYSTEM, vector_store.pending_texts, _NO_MODEL, 1):
            return
        model = await app.run_in_thread(self.load_model)
        lease: JobLease | None = None
        try:
            while model is not None and not app.is_stopping:
                texts = await app.database.read(
                    SYSTEM, vector_store.pending_texts, model.version, _BATCH_SIZE
                )
                if not texts:
                    break
                if lease is None:
                    lease = await app.database.write(SYSTEM, leases.acquire, _EMBED_LEASE)
                    if lease is None:
                        return  # another process embeds them
                    continue  # which may have done so since they were read
                started = time.monotonic()
                vectors = await app.run_in_thread(model.embed, [one.text for one in texts])
                took = time.monotonic() - started
                await app.database.write(
                    SYSTEM, _store_vectors, lease, model.version, texts, vectors
                )
                if app.turns.is_active_since(started):  # others would lack a processor
                    await asyncio.sleep(min(took * _BUSY_PAUSE, _MAX_PAUSE))
        finally:
            if lease is not None:  # where this process fails, another may not
                with suppress(RolltopError):
                    await app.database.write(SYSTEM, leases.release, lease)

    @property
    def is_available(self) -> bool:
        """Whether search by meaning is on and the model's packages are installed."""
        return self._app.settings["scratch.semantic_search"] and not embedding.missing_packages()

    def load_model(self) -> Embedder | None:
        """Load the model, if it is not loaded; None if there is none. Blocks."""
        if self._model is None and self.is_available:
            self._model = embedding.try_load_embedder()
        return self._model if self.is_available else None

    async def _model_for(self, call: CallContext, mode: SearchMode) -> Embedder | None:
        """Find the model for a query; hybrid does not wait until it is loaded."""
        if mode == "words" or (mode == "hybrid" and not self.is_available):
            return None
        if mode == "hybrid":
            if self._model is None and not self._is_loading:
                self._is_loading = True
                threading.Thread(
                    target=self._prepare,
                    args=(call.principal,),
                    name="rolltop-embedder",
                    daemon=True,
                ).start()
            return self._model
        loaded = await call.run_in_thread(self.load_model)
        if loaded is not None:
            return loaded
        message = f"Search by meaning needs the extra {embedding.EXTRA}"
        hint = f"Search with mode words, or install rolltop[{embedding.EXTRA}]."
        if not call.app.settings["scratch.semantic_search"]:
            message = "Search by meaning is off: scratch.semantic_search"
            hint = "Search with mode words, or turn the setting on."
        raise RolltopError(message, code="CONFIG_ERROR", hint=hint)

    def _prepare(self, principal: Principal) -> None:
        """Load the model, and read the vectors that the caller's next search needs."""
        model = self.load_model()
        if model is not None:
            self._warm_vectors(principal, model.version)

    def _warm_vectors(self, principal: Principal, version: str) -> None:
        """Begin to read the caller's vectors; searches go by words meanwhile."""
        key = (principal.tenant_id, version)

        def finish(reading: Future[None]) -> None:
            self._warming.discard(key)
            if (failure := reading.exception()) is not None:
                logging.fault(failure, message="vectors not read")

        if key in self._warming:
            return
        self._warming.add(key)
        with suppress(Unavailable):  # the store was closed meanwhile
            database = self._app.database
            reading = database.submit_read(principal, vector_store.warm_cache, version)
            reading.add_done_callback(finish)


def _store_vectors(
    tx: Tx, lease: JobLease, version: str, texts: Sequence[PendingText], vectors: Matrix
) -> None:
    leases.renew(tx, lease)
    vector_store.store_vectors(tx, version, texts, vectors)


def find_hits(
    tx: Tx,
    query: str,
    selection: CellSelection,
    page: HitPage,
    mode: SearchMode,
    meaning: QueryEmbedding | None,
) -> PadSearchResult:
    """Find a page of hits.

    The mode hybrid runs as words while the vectors are still to be read, the mode meaning if it
    finds nothing: there may be no vector yet of what could be found.
    """
    pending = vector_store.count_pending(tx, meaning.version) if meaning else 0
    if meaning is None or (mode == "hybrid" and not _is_warm(tx, meaning)):
        mode, meaning = "words", None
    first, found = _find_page(tx, query, selection, page, mode, meaning)
    if mode == "meaning" and not found:
        mode = "words"
        first, found = _find_page(tx, query, selection, page, mode, None)
    end = first + page.limit
    ids = [hit.id for hit in found[: end + 1]]
    hits = _hit_data(tx, found[first:end])
    return PadSearchResult(hits, ids, end < len(found), mode, pending)


def _find_page(
    tx: Tx,
    query: str,
    selection: CellSelection,
    page: HitPage,
    mode: SearchMode,
    meaning: QueryEmbedding | None,
) -> tuple[int, list[IndexHit]]:
    """Find the hits up to a page's end and the next one; return them with the page's start.

    How many are looked for bears on their order, so that those found first stay first.
    """
    ranked: dict[str, IndexHit] = {}
    size = page.window
    while True:
        found = _find_documents(tx, query, selection, size, mode, meaning)
        for hit in found:
            ranked.setdefault(hit.id, hit)
        first = resume_index([*ranked], page.position)
        is_all = len(found) < size or size > _MAX_LOOKED_AT
        if is_all or first + page.limit < len(ranked):
            return first, [*ranked.values()]
        size *= 2


def _explain_nothing(tx: Tx, query: str, selection: CellSelection) -> JsonObject:
    """Say how many pads were searched, and which of their words is nearest to one of the query."""
    searched = pad_rows.count_selected(tx, selection.namespaces, selection.tags)
    meant = suggestions.suggest_indexed_word(tx, query, KINDS, _filters(tx, selection))
    return {"searched": {"scratchpads": searched}, **({"nearest": meant} if meant else {})}


def _find_texts(
    tx: Tx, query: TextQuery, selection: CellSelection, meaning: QueryEmbedding | None
) -> list[FoundText]:
    """Find pads and cells; those without all of the tags or unchanged since are left out."""
    if meaning is not None and not _is_warm(tx, meaning):
        meaning = None
    kinds = [_KIND_OF[kind] for kind in ("pad", "cell") if kind in query.kinds]
    mode, limit, seen = "words" if meaning is None else "hybrid", query.limit, -1
    while True:
        hits = _find_documents(tx, query.words, selection, limit, mode, meaning, kinds)
        cells = [hit.id for hit in hits if query.since and hit.kind == CELL_KIND]
        changed = history.latest_times(tx, "cell", cells)  # a pad's is that of any of its cells
        wanted = [
            (hit, pad)
            for hit, pad, tags in _with_pads(tx, hits)
            if has_all_tags((*pad.tags, *(tags or ())), query.tags)
            and (
                query.since is None
                or min(pad.updated_at, changed.get(hit.id, pad.updated_at)) > query.since
            )
        ][: query.limit]
        is_narrowed = query.tags or query.since
        is_all = len(hits) == seen or limit > _MAX_LOOKED_AT
        if len(wanted) == query.limit or not is_narrowed or is_all:
            break
        limit, seen = limit * _FURTHER, len(hits)
    found: list[FoundText] = []
    for hit, pad in wanted:
        is_cell = hit.kind == CELL_KIND
        kind = "cell" if is_cell else "pad"
        labels = dict(pad.labels)
        title = str(labels.pop("title", ""))
        text = "\n".join([*map(str, labels.values()), *pad.tags])
        if is_cell:
            (cell,) = cell_rows.get_cells(tx, pad.scratch_id, [hit.id])
            text = cell.content or ""
        uri = record_address(kind, hit.id)
        by_meaning = hit.meaning and not hit.words
        found.append(
            FoundText(kind, uri, title, text, pad.updated_at, hit.id, by_meaning=by_meaning)
        )
    return found


def _is_warm(tx: Tx, meaning: QueryEmbedding) -> bool:
    return vector_store.is_cache_warm(tx, meaning.version)


def _filters(tx: Tx, selection: CellSelection) -> dict[str, Sequence[str]]:
    tags = pad_rows.find_tag_spellings(tx, selection.tags)
    return {"namespace": selection.namespaces, "tags": tags}


def _find_documents(
    tx: Tx,
    query: str,
    selection: CellSelection,
    limit: int,
    mode: SearchMode,
    meaning: QueryEmbedding | None,
    kinds: Sequence[str] = KINDS,
) -> list[IndexHit]:
    return hybrid_query.query(
        tx,
        query,
        kinds=kinds,
        filters=_filters(tx, selection),
        limit=limit,
        mode=mode,
        vector=meaning and meaning.vector,
        version=meaning.version if meaning else NO_EMBEDDING,
    )


def _hit_data(tx: Tx, found: Sequence[IndexHit]) -> list[JsonObject]:
    return [
        {
            "scratch_id": pad.scratch_id,
            "cell_id": hit.id if hit.kind == CELL_KIND else None,
            "uri": record_address("cell" if hit.kind == CELL_KIND else "pad", hit.id),
            "tenant_id": tx.scope.tenant_id,
            "namespace": pad.namespace,
            "tags": list(pad.tags if tags is None else tags),
            "score": round(hit.score, _SCORE_DIGITS),
            "snippet": hit.snippet[:MAX_SNIPPET_LENGTH],
            "embedding_version": hit.embedding_version,
        }
        for hit, pad, tags in _with_pads(tx, found)
    ]


def _with_pads(
    tx: Tx, found: Sequence[IndexHit]
) -> Iterator[tuple[IndexHit, Pad, tuple[str, ...] | None]]:
    """Yield the hits with their pads and, for cells, the cells' tags; pads in the trash not."""
    cells = cell_rows.pads_and_tags(tx, [hit.id for hit in found if hit.kind == CELL_KIND])
    ids = {hit.id for hit in found if hit.kind == PAD_KIND}
    pads = pad_rows.get_pads(tx, ids | {scratch_id for scratch_id, _tags in cells.values()})
    for hit in found:
        scratch_id, tags = cells.get(hit.id, ("", ())) if hit.kind == CELL_KIND else (hit.id, None)
        if scratch_id in pads:
            yield hit, pads[scratch_id], tags
