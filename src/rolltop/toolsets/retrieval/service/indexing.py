"""The indexes of a desk's roots: searched through, and kept up to date."""

from __future__ import annotations

import time
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rolltop.toolsets.retrieval.exact import Tree
from rolltop.toolsets.retrieval.service.packing import MOST_BYTES, Packing
from rolltop.toolsets.retrieval.trigrams import Indexes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.desk import Desk
    from rolltop.core.roots import Root

_FOLDER: Final = "code-index"
_AT_A_TIME: Final = 30.0
"""Seconds that one run reads files: a worker thread waits for as long, for many files are read by
a process of their own."""

_known: Final[WeakKeyDictionary[Desk, _Known]] = WeakKeyDictionary()
_lock: Final = Lock()


def trees(desk: Desk, roots: Sequence[Root]) -> list[Tree]:
    """Return the roots for one search, each as it is when it is looked at."""
    if not desk.settings["retrieval.index"]:
        return [Tree.live(desk.roots, root) for root in roots]
    known = _known_of(desk)
    looks = [(root, known.indexes.look(root)) for root in roots]
    return [
        Tree(desk.roots, root, look.files, look, look.folders, known.packings[root.name])
        for root, look in looks
    ]


def update(desk: Desk) -> None:
    """Read what is not in the index, or no longer as it is, for a few seconds."""
    if not desk.settings["retrieval.index"] or not desk.roots.named:
        return
    end = time.monotonic() + _AT_A_TIME
    _known_of(desk).indexes.update(lambda: desk.stopping or time.monotonic() > end)


def hold_texts(desk: Desk) -> None:
    """Hold the texts of roots in memory that searches looked through, as far as they fit."""
    if not desk.settings["retrieval.index"]:
        return
    packings = _known_of(desk).packings.values()
    for packing in packings:
        others = sum(one.size for one in packings if one is not packing)
        packing.update(MOST_BYTES - others, lambda: desk.stopping)


def is_made(desk: Desk) -> bool:
    """Return whether the index was filled once, or cannot be by this process."""
    return _known_of(desk).indexes.made


class _Known:
    """What this process knows of a desk's roots."""

    def __init__(self, desk: Desk) -> None:
        folder = desk.settings["data_dir"] / _FOLDER
        self.indexes: Final = Indexes(desk.roots, folder, watch=desk.settings["retrieval.watch"])
        self.packings: Final = {
            root.name: Packing(desk.roots, root, partial(self.indexes.seen, root))
            for root in desk.roots.named
        }


def _known_of(desk: Desk) -> _Known:
    with _lock:
        if desk not in _known:
            _known[desk] = _Known(desk)
        return _known[desk]
