"""A folder whose texts are held in memory, searched with them and without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from rolltop.core.errors import Invalid
from rolltop.toolsets.retrieval.exact import MOST_BYTES, Tree, search
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.service.packing import Packing
from tests.toolsets.retrieval.exact.witness import trees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rolltop.core.roots import Entry, Skipped
    from rolltop.toolsets.retrieval.models import Found

NEEDLE = Query("needle")
EXPRESSION = Query("ne+dle", regex=True)


class Kept:
    """A folder whose texts are held as they are now, searched with them and without."""

    def __init__(
        self, folder: Path, *, room: int = MOST_BYTES, meanwhile: Callable[[], object] = int
    ) -> None:
        (live,) = trees_of(folder)
        self.live = live
        self.meanwhile = meanwhile
        self.packing = Packing(live.roots, live.root, self.listed)
        self.tree = Tree(live.roots, live.root, self._files, texts=self.packing)
        self.hold(room)

    def hold(self, room: int = MOST_BYTES) -> None:
        self.packing.packs()
        with patch("rolltop.core.roots.settling.SETTLED_NS", 0):
            self.packing.update(room, lambda: False)

    def listed(self) -> list[Entry]:
        return list(self.live.roots.walk(self.live.root))

    def held(self) -> set[str]:
        packs = self.packing.packs()
        return {entry.relative for pack in packs.all for entry in pack.entries} if packs else set()

    def _files(self, skipped: Skipped) -> Iterable[Entry]:
        found = list(self.live.roots.walk(self.live.root, skipped=skipped))
        self.meanwhile()
        return found

    def can_find(self, query: Query) -> bool:
        """Return whether a query is one that can be asked."""
        try:
            search([self.live], query, limit=1)
        except Invalid:
            return False
        return True

    def found(self, query: Query, limit: int = 1000) -> Iterator[tuple[Found, Found]]:
        """Yield each page with the texts, and without."""
        after: list[list[Any] | None] = [None, None]
        while True:
            pages = [
                search([tree], query, limit=limit, after=position)
                for tree, position in zip((self.tree, self.live), after, strict=True)
            ]
            yield pages[0], pages[1]
            if not pages[0].more:
                return
            after = [list(page.resume(limit - 1)) for page in pages]

    def alike(self, query: Query, limit: int = 1000) -> int:
        """Compare all pages; return how many lines they hold."""
        count = 0
        for number, (one, other) in enumerate(self.found(query, limit)):
            assert one.hits == other.hits
            assert one.more == other.more
            if not count + len(other.hits):  # what was passed by is told of all files
                assert one.skipped == other.skipped
                assert (one.files, one.bytes) == (other.files, other.bytes)
            count += len(one.hits)
            if number == 3:
                break
        return count
