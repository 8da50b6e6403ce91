"""The embedding model of the process, loaded off the path of any call, and what it has to do.

So are the vectors of a tenant who has many, at the first search that could use them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rolltop.core import embed, logs, search
from rolltop.core.db import SYSTEM
from rolltop.core.errors import RolltopError
from rolltop.core.workers import Workers

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rolltop.core.desk import Desk
    from rolltop.core.embed import Embedder, Matrix
    from rolltop.core.scope import Scope
    from rolltop.core.settings import Settings

READING: Final = "rolltop-vectors"
"""The name of a thread that reads vectors."""
_BATCH: Final = 64
_NO_MODEL: Final = ""
"""A version that no vector has: every text is pending for it."""

_loaded: Final[dict[str, Embedder]] = {}
_loading: Final[set[str]] = set()
_queries: Final = Workers(2, "rolltop-query")
_grown: Final[WeakKeyDictionary[Desk, set[str]]] = WeakKeyDictionary()
"""The users whose vectors have become more since their index was looked at."""
_reading: Final[set[tuple[str, str]]] = set()
"""Whose vectors are being read, and by which model."""


def is_available(settings: Settings) -> bool:
    """Whether search by meaning is on and the model's packages are installed."""
    return settings["scratch.semantic_search"] and not embed.missing_packages()


def ready(desk: Desk, scope: Scope) -> Embedder | None:
    """Return the model if it is loaded; otherwise None, and it will be before long."""
    if not is_available(desk.settings):
        return None
    name: str = desk.settings["scratch.embedding_model"]
    if name not in _loaded and name not in _loading:
        _loading.add(name)
        threading.Thread(target=_prepare, args=(desk, scope), name="embedder", daemon=True).start()
    return _loaded.get(name)


def begin(embedder: Embedder, query: str) -> Future[Matrix]:
    """Return the future of a query's vector."""
    return _queries.submit(lambda: embedder.embed([query])[0])


def read_ahead(desk: Desk, scope: Scope, version: str) -> None:
    """Begin to read the caller's vectors, unless that has begun; searches go on by words."""
    who = (scope.tenant_id, version)
    if who not in _reading:
        _reading.add(who)
        asked = (desk, scope, version)
        threading.Thread(target=_read, args=asked, name=READING, daemon=True).start()


def load(settings: Settings) -> Embedder | None:
    """Return the model, loaded now or before; None where there is none. Blocks."""
    if not is_available(settings):
        return None
    name: str = settings["scratch.embedding_model"]
    made = embed.load(name)
    if made is not None:
        _loaded[name] = made
    return made


async def embed_pending(desk: Desk) -> None:
    """Make the vectors that are missing; the model is loaded only where there is a text."""
    if not is_available(desk.settings):
        return
    if not await desk.database.read(SYSTEM, search.pending, _NO_MODEL, 1):
        return
    embedder = await desk.work(load, desk.settings)
    while embedder is not None and not desk.stopping:
        texts = await desk.database.read(SYSTEM, search.pending, embedder.version, _BATCH)
        if not texts:
            return
        made = await desk.work(embedder.embed, [one.text for one in texts])
        await desk.database.write(SYSTEM, search.store_vectors, embedder.version, texts, made)
        if desk in _grown:
            _grown[desk] |= {one.user_id for one in texts}


async def index_vectors(desk: Desk) -> None:
    """Look after the store's own index of vectors: of all users first, then of those that grew."""
    embedder = _loaded.get(desk.settings["scratch.embedding_model"])
    if embedder is None or not is_available(desk.settings):
        return
    grown = _grown.get(desk)
    _grown[desk] = set()
    if grown is None or grown:
        owners = None if grown is None else sorted(grown)
        version = embedder.version
        await desk.work(search.index_vectors, desk.database, version, owners, lambda: desk.stopping)


def _prepare(desk: Desk, scope: Scope) -> None:
    """Load the model, and read the vectors that the caller's next search needs."""
    made = load(desk.settings)
    if made is not None:
        read_ahead(desk, scope, made.version)


def _read(desk: Desk, scope: Scope, version: str) -> None:
    try:
        desk.database.read_now(scope, search.read_ahead, version)
    except RolltopError as failure:
        logs.event("vectors not read", level="warn", code=failure.code)
    finally:
        _reading.discard((scope.tenant_id, version))
