"""The indexes of a desk's roots: searched through, and kept up to date."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rolltop.toolsets.retrieval.exact import Tree
from rolltop.toolsets.retrieval.trigrams import Indexes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.desk import Desk
    from rolltop.core.roots import Root

_FOLDER: Final = "code-index"
_AT_A_TIME: Final = 30.0
"""Seconds that one run reads files: a worker thread waits for as long, for many files are read by
a process of their own."""

_known: Final[WeakKeyDictionary[Desk, Indexes]] = WeakKeyDictionary()
_lock: Final = Lock()


def trees(desk: Desk, roots: Sequence[Root]) -> list[Tree]:
    """Return the roots for one search, each as it is when it is looked at."""
    if not desk.settings["retrieval.index"]:
        return [Tree.live(desk.roots, root) for root in roots]
    indexes = _indexes(desk)
    looks = [(root, indexes.look(root)) for root in roots]
    return [Tree(desk.roots, root, look.files, look, look.folders) for root, look in looks]


def update(desk: Desk) -> None:
    """Read what is not in the index, or no longer as it is, for a few seconds."""
    if not desk.settings["retrieval.index"] or not desk.roots.named:
        return
    end = time.monotonic() + _AT_A_TIME
    _indexes(desk).update(lambda: desk.stopping or time.monotonic() > end)


def is_made(desk: Desk) -> bool:
    """Return whether the index was filled once, or cannot be by this process."""
    return _indexes(desk).made


def _indexes(desk: Desk) -> Indexes:
    with _lock:
        if desk not in _known:
            folder = desk.settings["data_dir"] / _FOLDER
            watch = desk.settings["retrieval.watch"]
            _known[desk] = Indexes(desk.roots, folder, watch=watch)
        return _known[desk]
