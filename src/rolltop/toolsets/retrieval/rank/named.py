"""Files that a query names, by their whole paths or by the last parts of these."""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.rank.trees import Tree
    from rolltop.toolsets.retrieval.rank.words import Sought

MOST: Final = 16
"""Files of a name: where more have it, a query of other words besides does not mean all of them."""


def named(tree: Tree, sought: Sought) -> dict[Entry, int]:
    """Return files that a query names, and how many steps each comes before all others.

    It is two for a whole path, one for the last parts of a longer one.
    """
    ends = sought.files
    if not ends:
        return {}
    found = [
        (path not in ends, entry.relative.split("/"), entry)
        for entry in tree.entries
        if (path := entry.relative.lower()).endswith(ends)
        if any(ends_in(path, one) for one in ends) and tree.chooses(entry)
    ]
    of_a_part = int(len(found) <= MOST or not sought.count)
    return {entry: of_a_part if is_longer else 2 for is_longer, _, entry in nsmallest(MOST, found)}


def ends_in(path: str, name: str) -> bool:
    """Return whether a path ends in a file's name, or in whole last parts of it."""
    return path == name or path.endswith(f"/{name}")
