"""A folder with an index of it, searched through both."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.index.trigram_index import TrigramIndex
from rolltop.toolsets.retrieval.models import Query, SearchRoot
from rolltop.workspace import Roots
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.toolsets.retrieval.models import SearchResults


class Indexed:
    """A folder as the root `code`, with an index kept in `kept`."""

    def __init__(self, kept: Path, folder: Path) -> None:
        self.kept = kept
        self.roots = Roots.open({"code": folder}, base=folder, hidden_stores=[kept])
        self.indexes = TrigramIndex(self.roots, kept)

    def trees(self) -> list[SearchRoot]:
        looks = [(root, self.indexes.view(root)) for root in self.roots.named]
        return [SearchRoot(self.roots, root, look.files, look) for root, look in looks]

    def live(self) -> list[SearchRoot]:
        return [SearchRoot.from_walk(self.roots, root) for root in self.roots.named]

    def find(self, query: Query, limit: int = 10_000) -> SearchResults:
        return search(self.trees(), query, limit=limit)

    def build(self, unread: int = 0) -> None:
        """Read files into the index until only `unread` are left."""
        end = time.monotonic() + PATIENCE
        for root in self.roots.named:
            self.indexes.view(root).candidates(Query("what is there"))
        self.indexes.update(lambda: False)
        while self.indexes.waiting > unread:
            assert time.monotonic() < end
            threading.Event().wait(0.01)
            self.indexes.update(lambda: False)

    def proposed(self, query: Query) -> list[str] | None:
        """The paths that the index proposes in the first root."""
        entries = self.indexes.view(self.roots.named[0]).candidates(query)
        return None if entries is None else [entry.relative for entry in entries]
