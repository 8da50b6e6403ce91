"""A folder with an index of it, searched through both."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from rolltop.core.roots import Roots
from rolltop.toolsets.retrieval.exact import Tree, search
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.trigrams import Indexes

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.toolsets.retrieval.models import Found


class Indexed:
    """A folder as the root `code`, with an index kept in `kept`."""

    def __init__(self, kept: Path, folder: Path, *, watch: bool = False) -> None:
        self.kept = kept
        self.roots = Roots.open({"code": folder}, base=folder, hidden_stores=[kept])
        self.indexes = Indexes(self.roots, kept, watch=watch)

    def trees(self) -> list[Tree]:
        looks = [(root, self.indexes.look(root)) for root in self.roots.named]
        return [Tree(self.roots, root, look.files, look) for root, look in looks]

    def live(self) -> list[Tree]:
        return [Tree.live(self.roots, root) for root in self.roots.named]

    def find(self, query: Query, limit: int = 10_000) -> Found:
        return search(self.trees(), query, limit=limit)

    def build(self, unread: int = 0) -> None:
        """Read files into the index until only `unread` are left."""
        end = time.monotonic() + 60
        for root in self.roots.named:
            self.indexes.look(root).candidates(Query("what is there"))
        self.indexes.update(lambda: False)
        while self.indexes.waiting() > unread:
            assert time.monotonic() < end
            threading.Event().wait(0.01)
            self.indexes.update(lambda: False)

    def proposed(self, query: Query) -> list[str] | None:
        """The paths that the index proposes in the first root."""
        entries = self.indexes.look(self.roots.named[0]).candidates(query)
        return None if entries is None else [entry.relative for entry in entries]
