"""Background work of retrieval. None before there is a root: indexes are made for roots."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rolltop.core.context import AppContext
from rolltop.core.lazy_imports import lazy
from rolltop.core.tools import Job

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.index import trigram_index
    from rolltop.toolsets.retrieval.service import ranking, touched
else:
    trigram_index = lazy("rolltop.toolsets.retrieval.index.trigram_index")
    ranking = lazy("rolltop.toolsets.retrieval.service.ranking")
    touched = lazy("rolltop.toolsets.retrieval.service.touched")

_UPDATE_INTERVAL: Final = 2.0  # seconds
_DAY: Final = 86_400.0  # seconds
# Seconds after the start: past the handshake, before the first search.
_INITIAL_DELAY: Final = 0.2


async def update(app: AppContext) -> None:
    """Update the trigram index."""
    if _is_index_wanted(app):
        await app.run_in_thread(trigram_index.update_index, app)


async def update_ranking(app: AppContext) -> None:
    """Update the chunk index."""
    if _is_index_wanted(app):
        await app.run_in_thread(ranking.update_index, app)


async def make_vectors(app: AppContext) -> None:
    """Embed chunks that searches lacked, and some that they may find next."""
    if app.roots.named and ranking.has_pending(app):
        await app.run_in_thread(ranking.update_vectors, app)


async def list_touched(app: AppContext) -> None:
    """List the files for the first desk_resume, which waits for none but a small tree's."""
    if app.roots.named and app.registry.has_tools(["desk_resume"]):
        await app.run_in_thread(app.service(touched.LastListing).renew, 0)


def measure_indexes(app: AppContext) -> dict[str, float]:
    """Measure the index files of this machine, and count the files that wait for this process.

    A file waits for both indexes where there is one of trigrams, and counts for each.
    """
    if not (app.settings["retrieval.index"] and app.roots.named):
        return {}
    chunks = app.service(ranking.open_chunk_indexes)
    waiting = sum(chunks.state(root).waiting for root in app.roots.named)
    waiting += app.service(trigram_index.open_index).waiting
    size, changed = 0, 0.0
    for folder in (trigram_index.FOLDER, ranking.FOLDER):
        for file in (app.settings["data_dir"] / folder).glob("*"):
            with suppress(OSError):  # it has just been deleted
                state = file.stat()
                size += state.st_size
                if not file.name.endswith("-shm"):  # readers write to it, too
                    changed = max(changed, state.st_mtime)
    age = {"index_age_seconds": max(0.0, time.time() - changed)} if changed else {}
    return {"index_bytes": size, "index_waiting_files": waiting, **age}


def _is_index_wanted(app: AppContext) -> bool:
    """Whether somebody chose the roots, or has searched them.

    Otherwise a root is only where a client happened to start: many a session there is never about
    its files.
    """
    if not app.roots.named:
        return False
    return bool(app.settings["retrieval.roots"]) or app.service(trigram_index.open_index).is_used


JOBS: Final = (
    Job("retrieval.index", _UPDATE_INTERVAL, update, initial_delay=_INITIAL_DELAY),
    Job("retrieval.ranking", _UPDATE_INTERVAL, update_ranking),
    Job("retrieval.vectors", _UPDATE_INTERVAL, make_vectors),
    # Past the first second, in which a first call is to wait for nothing.
    Job("retrieval.touched", _DAY, list_touched, initial_delay=_UPDATE_INTERVAL),
)
