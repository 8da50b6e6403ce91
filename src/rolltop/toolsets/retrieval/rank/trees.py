"""A root at the time of a ranked search, and the pieces of its files that are looked into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rolltop.toolsets.retrieval.rank.reading import Unreadable, read

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from rolltop.core.roots import Entry, Root, Roots
    from rolltop.toolsets.retrieval.rank.index import RootUnits
    from rolltop.toolsets.retrieval.rank.unitfile import UnitFile
    from rolltop.toolsets.retrieval.store import Stamp

    Holding = Callable[[str, Sequence[Entry]], Collection[Entry]]


@dataclass(frozen=True)
class Tree:
    """A root at the time of a search.

    `entries` are its chosen files as they are now, `units` what is known of them, and `file` what
    is kept on disk, None where nothing is. `chooses(entry)` says which files are wanted, and
    `holding(text, entries)` which of some files hold a text in any case.
    """

    roots: Roots
    units: RootUnits
    file: UnitFile | None
    entries: Sequence[Entry]
    chooses: Callable[[Entry], bool]
    holding: Holding

    @property
    def root(self) -> Root:
        """The root."""
        return self.units.root

    def read(self, entry: Entry) -> tuple[Stamp, str]:
        """Return a file's state and text: no text where it cannot be read."""
        try:
            return read(self.roots, self.root, entry)
        except Unreadable:
            return (-1, 0, 0, 0), ""


class Proposal(NamedTuple):
    """Pieces of a file, by their places in it, in the state that they were proposed in.

    `number` is the file's in the index, None where that does not hold it as it is. Without places
    all of it is meant.
    """

    entry: Entry
    stamp: Stamp
    number: int | None
    places: list[int]
