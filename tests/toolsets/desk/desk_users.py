"""Users at a desk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolltop.workspace import Roots
from tests.desks import answer_of, make_desk

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock


class DeskUser:
    """A user at a desk with the root `docs`."""

    def __init__(self, desk: AppContext, scope: Principal, folder: Path) -> None:
        self.desk, self.scope, self.folder = desk, scope, folder

    def call(self, name: str, **arguments: Any) -> Any:
        """Call a tool, which must succeed, and return its answer."""
        return answer_of(self.desk, self.scope, name, **arguments)


class Searcher(DeskUser):
    """A user who searches."""

    def search(self, query: str, **arguments: Any) -> Any:
        return self.call("desk_search", query=query, **arguments)

    def kinds(self, query: str, **arguments: Any) -> list[str]:
        """Return the kinds of what is found, in its order."""
        return [hit["kind"] for hit in self.search(query, **arguments)["hits"]]

    def fill(self, word: str = "storm") -> None:
        """Keep one thing of each kind that has a word."""
        self.call("note_save", text=f"# A note\n\nof a {word} at sea", tags=["sea", "log"])
        self.call("add_task", title=f"Watch the {word}", tags=["sea", "log"])
        self.call(
            "scratch_create",
            metadata={"title": "A pad", "summary": f"about a {word}"},
            cells=[{"language": "txt", "content": f"a {word} in a cell"}],
            tags=["sea", "log"],
        )
        (self.folder / "voyage.md").write_text(f"# Voyage\n\nThe {word} came.\n", encoding="utf-8")


class PastSearcher(Searcher):
    """A user whose every write is an hour after the one before."""

    def __init__(self, searcher: Searcher, clock: Clock) -> None:
        super().__init__(searcher.desk, searcher.scope, searcher.folder)
        self.clock = clock

    def call(self, name: str, **arguments: Any) -> Any:
        self.clock.advance(hours=1)
        return super().call(name, **arguments)

    def titles(self, query: str, **arguments: Any) -> set[str]:
        """What stands in the titles and lines of the hits."""
        hits = self.search(query, **arguments)["hits"]
        return {f"{hit['kind']}: {hit.get('lines', hit.get('title'))}" for hit in hits}


def make_searcher(database: Database, me: Principal, tmp_path: Path) -> Searcher:
    """Return a user with an empty folder `docs`."""
    folder = tmp_path / "docs"
    folder.mkdir()
    desk = make_desk(database, roots=Roots.open({"docs": folder}, base=folder))
    return Searcher(desk, me, folder)
