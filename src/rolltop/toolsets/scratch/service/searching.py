"""Search over pads and cells: by words, by meaning, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.core import embed, search
from rolltop.core.errors import RolltopError
from rolltop.toolsets.scratch import index
from rolltop.toolsets.scratch.models import SNIPPET_LENGTH
from rolltop.toolsets.scratch.service import embedding
from rolltop.toolsets.scratch.service.checks import wrong
from rolltop.toolsets.scratch.store import cells, pads

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from rolltop.core.call import Call
    from rolltop.core.db import Tx
    from rolltop.core.embed import Embedder, Matrix
    from rolltop.core.search import Hit
    from rolltop.core.settings import Settings
    from rolltop.toolsets.scratch.models import JsonObject, Mode
    from rolltop.toolsets.scratch.models.records import Wanted

_DIGITS: Final = 4


@dataclass(frozen=True)
class Found:
    """Hits, best first; the embedder that took part, or "none"; and what ran."""

    hits: list[JsonObject]
    embedder: str
    mode: Mode


@dataclass(frozen=True)
class Meaning:
    """What the query means to the model `version`: a vector that may be on its way."""

    version: str
    vector: Future[Matrix]


async def find(call: Call, query: str, wanted: Wanted, limit: int, mode: Mode) -> Found:
    """Return what matches a query. Raises Invalid for a blank one, CONFIG_ERROR for `meaning`."""
    if not query.strip():
        raise wrong("query is blank", "Send some words of what you look for.")
    embedder = await _embedder(call, mode)
    meaning = None
    if embedder is not None:  # made beside looking up the words
        meaning = Meaning(embedder.version, embedding.begin(embedder, query))
    shown, ran = await call.read(hits, query, wanted, limit, mode, meaning)
    if mode == "hybrid" and meaning is not None and ran == "words":
        embedding.read_ahead(call.desk, call.scope, meaning.version)
    used = {hit["embedding_version"] for hit in shown} - {search.NO_EMBEDDING}
    if mode == "hybrid" and not used:
        ran = "words"  # no vector is there yet
    return Found(shown, meaning.version if meaning and used else search.NO_EMBEDDING, ran)


def hits(
    tx: Tx, query: str, wanted: Wanted, limit: int, mode: Mode, meaning: Meaning | None
) -> tuple[list[JsonObject], Mode]:
    """Return what a query finds, as the tool answers it, best first; and what ran.

    The mode hybrid goes by words while the vectors are still to be read, the mode meaning where it
    finds nothing: there may be no vector yet of what could be found.
    """
    if meaning is None or (mode == "hybrid" and not search.at_hand(tx, meaning.version)):
        mode, meaning = "words", None
    found = _found(tx, query, wanted, limit, mode, meaning)
    if mode == "meaning" and not found:
        mode, found = "words", _found(tx, query, wanted, limit, "words", None)
    return _as_answered(tx, found), mode


def _found(
    tx: Tx, query: str, wanted: Wanted, limit: int, mode: Mode, meaning: Meaning | None
) -> list[Hit]:
    return search.query(
        tx,
        query,
        kinds=index.KINDS,
        filters={"namespace": wanted.namespaces, "tags": wanted.tags},
        limit=limit,
        mode=mode,
        vector=meaning and meaning.vector,
        version=meaning.version if meaning else search.NO_EMBEDDING,
    )


def _as_answered(tx: Tx, found: Sequence[Hit]) -> list[JsonObject]:
    of_cells = cells.heads(tx, [hit.id for hit in found if hit.kind == index.CELL])
    ids = {hit.id for hit in found if hit.kind == index.PAD}
    of_pads = pads.by_ids(tx, ids | {scratch_id for scratch_id, _tags in of_cells.values()})
    shown: list[JsonObject] = []
    for hit in found:
        cell = of_cells.get(hit.id) if hit.kind == index.CELL else None
        pad = of_pads.get(cell[0] if cell else hit.id)
        if pad is not None and (cell is not None or hit.kind == index.PAD):
            tags = cell[1] if cell else pad.tags
            shown.append(_shown(tx, hit, pad.scratch_id, pad.namespace, tags))
    return shown


def _shown(tx: Tx, hit: Hit, scratch_id: str, namespace: str, tags: Sequence[str]) -> JsonObject:
    return {
        "scratch_id": scratch_id,
        "cell_id": hit.id if hit.kind == index.CELL else None,
        "tenant_id": tx.scope.tenant_id,
        "namespace": namespace,
        "tags": list(tags),
        "score": round(hit.score, _DIGITS),
        "snippet": hit.snippet[:SNIPPET_LENGTH],
        "embedding_version": hit.embedding_version,
    }


async def _embedder(call: Call, mode: Mode) -> Embedder | None:
    """Return what makes the query's vector; hybrid does not wait for it to be loaded."""
    settings = call.desk.settings
    if mode == "words":
        return None
    if mode == "hybrid":
        return embedding.ready(call.desk, call.scope)
    loaded = await call.work(embedding.load, settings)
    if loaded is None:
        raise _no_meaning(settings)
    return loaded


def _no_meaning(settings: Settings) -> RolltopError:
    if not settings["scratch.semantic_search"]:
        return RolltopError(
            "Search by meaning is off: scratch.semantic_search",
            code="CONFIG_ERROR",
            hint="Search with mode words, or turn the setting on.",
        )
    return RolltopError(
        f"Search by meaning needs the extra {embed.EXTRA}",
        code="CONFIG_ERROR",
        hint=f"Search with mode words, or install rolltop[{embed.EXTRA}].",
    )
