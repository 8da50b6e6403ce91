"""The meaning of ranked searches: the model, the vectors of each root, and their making."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rolltop.core import embed, logs
from rolltop.core.roots import Skipped
from rolltop.toolsets.retrieval import rank
from rolltop.toolsets.retrieval.service.indexing import trees

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.desk import Desk
    from rolltop.core.embed import Embedder, Matrix
    from rolltop.core.roots import Entry, Root
    from rolltop.toolsets.retrieval.exact import Tree

FOLDER: Final = "ranked-index"
_AT_A_TIME: Final = 3.0
"""Seconds that one run waits for vectors; a worker thread is taken for as long."""
_LONGEST_QUERY: Final = 300
"""Code points of a query that are embedded: a search waits for it."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What this process has of a desk's roots."""

    vectors: Mapping[str, rank.Vectors]
    making: rank.Making


_known: Final[WeakKeyDictionary[Desk, _Kept]] = WeakKeyDictionary()
_lock: Final = Lock()


def of_query(
    desk: Desk, text: str, roots: Sequence[Root], before: int | None
) -> rank.Meaning | None:
    """Return a query's meaning, None where searches go by words alone, now or here.

    `before` is what the search it goes on with compared (see `rank.Meaning`).
    """
    if not (desk.settings["retrieval.semantic_search"] and desk.settings["retrieval.index"]):
        return None
    # A search that goes on waits for the model that compared its first places.
    embedder = embed.load() if before else embed.ready()
    if embedder is None or before == 0:
        return None
    vectors = _kept(desk, embedder).vectors
    vector = partial(_vector, embedder, text[:_LONGEST_QUERY])
    asked = {root.name: vectors[root.name] for root in roots}
    return rank.Meaning(embedder.version, vector, asked, before)


def compared(desk: Desk, meaning: rank.Meaning | None) -> int:
    """Return what a search compared; have made what it lacked, and keep longer what it used."""
    if meaning is None:
        return 0
    with _lock:
        making = _known[desk].making
    for root, lacking in meaning.lacking.items():
        making.note(root, meaning.used[root], lacking)
    return meaning.compared


def pending(desk: Desk) -> bool:
    """Return whether there are vectors to make; no search, nothing to make."""
    kept = _known.get(desk)
    if kept is None:
        return False
    kept.making.rest()
    return any(kept.making.pending(root.name) for root in desk.roots.named)


def update(desk: Desk) -> None:
    """Make vectors for a few seconds."""
    kept = _known[desk]
    end = time.monotonic() + _AT_A_TIME
    roots = [root for root in desk.roots.named if kept.making.pending(root.name)]
    for tree in trees(desk, roots):
        kept.making.run(
            tree.root,
            kept.vectors[tree.root.name],
            partial(_texts, tree),
            lambda: desk.stopping or time.monotonic() > end,
        )


def close(desk: Desk) -> None:
    """End the making of vectors and let go of them."""
    with _lock:
        kept = _known.pop(desk, None)
    if kept is not None:
        kept.making.close()
        for vectors in kept.vectors.values():
            vectors.close()


def _vector(embedder: Embedder, text: str) -> Matrix | None:
    """Return a query's vector, None where that fails."""
    try:
        return embedder.embed([text])[0]
    except Exception as failure:  # noqa: BLE001  # whatever it is, words can answer
        logs.fault(failure, message="a query could not be embedded")
        return None


def _kept(desk: Desk, embedder: Embedder) -> _Kept:
    with _lock:
        if desk not in _known:
            folder = desk.settings["data_dir"] / FOLDER
            vectors = {
                root.name: rank.Vectors(folder, rank.kept_name("vectors", root))
                for root in desk.roots.named
            }
            making = rank.Making(desk.roots, embedder.name, embedder.version)
            _known[desk] = _Kept(vectors, making)
        return _known[desk]


def _texts(tree: Tree) -> list[Entry]:
    """Return the files of text that are ranked."""
    return [
        entry
        for entry in tree.files(Skipped())
        if entry.size <= rank.LARGEST
        and (tree.index is None or tree.index.is_text(entry) is not False)
    ]
