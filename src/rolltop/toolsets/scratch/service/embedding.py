"""The embedding model of the process, loaded off the path of any call, and what it has to do."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from rolltop.core import embed, logs, search
from rolltop.core.db import SYSTEM

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.core.embed import Embedder
    from rolltop.core.settings import Settings

_BATCH: Final = 64
_NO_MODEL: Final = ""
"""A version that no vector has: every text is pending for it."""

_loaded: Final[dict[str, Embedder]] = {}
_loading: Final[set[str]] = set()


def is_available(settings: Settings) -> bool:
    """Whether search by meaning is on and the model's packages are installed."""
    return settings["scratch.semantic_search"] and not embed.missing_packages()


def ready(settings: Settings) -> Embedder | None:
    """Return the model if it is loaded; otherwise None, and it will be before long."""
    if not is_available(settings):
        return None
    name: str = settings["scratch.embedding_model"]
    if name not in _loaded and name not in _loading:
        _loading.add(name)
        threading.Thread(target=load, args=(settings,), name="embedder", daemon=True).start()
    return _loaded.get(name)


def load(settings: Settings) -> Embedder | None:
    """Return the model, loaded now or before; None where there is none. Blocks."""
    if not is_available(settings):
        return None
    name: str = settings["scratch.embedding_model"]
    try:
        made = embed.embedder(name)
    except Exception as failure:  # noqa: BLE001  # a broken model leaves search by words
        logs.fault(failure, message="the embedding model could not be loaded")
        return None
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
