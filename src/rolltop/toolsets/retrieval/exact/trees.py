"""What is searched: roots, each with its files and what an index knows about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from rolltop.core.roots import Entry, Listed, Marks, Root, Roots, Skipped
    from rolltop.toolsets.retrieval.models import Query, Totals, Whole
    from rolltop.toolsets.retrieval.store import Packs


class Index(Protocol):
    """What is known of a tree's files, as they are at the time of one search."""

    def candidates(self, query: Query) -> Sequence[Entry] | None:
        """Return every file that may match, in the tree's order; None where any may."""
        ...

    def is_text(self, entry: Entry) -> bool | None:
        """Return whether a file is text, None where that is not known."""
        ...

    def unsure(self) -> Collection[str] | None:
        """Return the paths of files of which it does not say whether they are text.

        None where they may be many.
        """
        ...

    def texts(self, most_bytes: int) -> Sequence[Entry] | None:
        """Return the files that may be searched, in order, without those known to be no text.

        None where they are not kept.
        """
        ...

    def whole_folders(self) -> Mapping[str, Whole]:
        """Return the directories that can be looked at as such, by their paths from the root."""
        ...

    def marks(self, most_bytes: int) -> Marks | None:
        """Return the marks of the files that may be searched, None where they are not kept."""
        ...

    def totals(self, skipped: Skipped, most_bytes: int) -> tuple[Totals, Sequence[Entry]]:
        """Return how much there is to search, and which files count as text, in order.

        What the walk passed over is added to `skipped`.
        """
        ...


class Texts(Protocol):
    """Texts of a tree's files that may be held in memory."""

    def packs(self) -> Packs | None:
        """Return what is held, None where nothing is; they are worth holding from now on."""
        ...


@dataclass(frozen=True)
class Tree:
    """A root as a search sees it.

    `files(skipped)` are its chosen files as they are now, in order. Where nothing is known of
    them, `folders(start, skipped)` are its directories with the files' names only, from the path
    `start` on.
    """

    roots: Roots
    root: Root
    files: Callable[[Skipped], Iterable[Entry]]
    index: Index | None = None
    folders: Callable[[str, Skipped], Iterator[Listed] | None] | None = None
    texts: Texts | None = None

    @classmethod
    def live(cls, roots: Roots, root: Root) -> Tree:
        """Return the tree as a walk finds it, with no index."""
        return cls(
            roots,
            root,
            lambda skipped: roots.walk(root, skipped=skipped),
            folders=lambda start, skipped: roots.directories(root, start=start, skipped=skipped),
        )
