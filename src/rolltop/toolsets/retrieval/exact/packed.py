"""What a look through texts in memory tells of the files that they are of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.exact import ripgrep

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.expression import Expression
    from rolltop.toolsets.retrieval.exact.spots import Spot
    from rolltop.toolsets.retrieval.store import Pack, Packs

_ENDS_OF_TEXT: Final = re.compile(rb"\\[Az]|\(\?[a-zA-Z]*[-mRs]")
"""What may match at the ends of a text, where those of its lines may not."""


class PackedLines:
    """Matching lines of a file, as they were listed of its pack."""

    __slots__ = ("_number", "_pack", "_rows")

    def __init__(self, pack: Pack, number: int, rows: list[ripgrep.Row]) -> None:
        """Take the file's number in the pack, and its rows."""
        self._pack = pack
        self._number = number
        self._rows = rows

    def spots(self, most: int) -> list[Spot]:
        """Return the first lines, as they are in the file."""
        lines, start = self._pack.lines[self._number], self._pack.starts[self._number]
        return ripgrep.spots_in(self._rows[:most], lines, start)


class Asked:
    """The packs that some files' texts are in, looked through for the same expression."""

    def __init__(self, packs: Packs, entries: Sequence[Entry], most: int) -> None:
        """Choose the packs; the first `most` matching lines of a file are wanted."""
        self._packs: Final = packs
        self._most: Final = most
        self.listed: Final = 2 * most
        """Rows to be listed of each pack, at the most."""
        self.entries: Final = entries
        self._numbers: Final = list(map(packs.numbers.get, entries))
        self._chosen: Final = self._choose()
        self.others: Final = [
            entry for entry, number in zip(entries, self._numbers, strict=True) if number is None
        ]
        """The files whose texts are not held."""

    @property
    def descriptors(self) -> list[int]:
        """The packs' descriptors."""
        return [self._packs.all[at].descriptor for at in self._chosen]

    def _choose(self) -> list[int]:
        """Return which packs hold some of the files."""
        wanted = {number for number in self._numbers if number is not None}
        ends = pairwise(self._packs.firsts)
        return [at for at, (a, b) in enumerate(ends) if not wanted.isdisjoint(range(a, b))]

    def found(
        self, rows: Mapping[bytes, list[ripgrep.Row]], unread: Collection[int]
    ) -> tuple[dict[Entry, PackedLines], set[Entry]]:
        """Return the matching lines of files that have some, and those that may have.

        Rows come by the names of packs; `unread` are descriptors of those that could not be looked
        through. Each file has all its lines or the first `most`. Where a pack has many, not known
        is what files have that come after.
        """
        matching: dict[int, PackedLines] = {}
        unsure = set[int]()
        for at in self._chosen:
            pack, first = self._packs.all[at], self._packs.firsts[at]
            listed = rows.get(ripgrep.open_file(pack.descriptor), [])
            of_files = dict(self._by_file(pack, listed))
            known = 0 if pack.descriptor in unread else len(pack.entries)
            if len(listed) >= self.listed:  # of the last file some lines may be lacking
                last = max(of_files)
                known = min(known, last + (len(of_files[last]) >= self._most))
            for number, lines in of_files.items():
                matching[first + number] = PackedLines(pack, number, lines)
            unsure.update(range(first + known, first + len(pack.entries)))
        sure: dict[Entry, PackedLines] = {}
        left: set[Entry] = set()
        for entry, number in zip(self.entries, self._numbers, strict=True):
            if number is None:
                continue
            if number in unsure:
                left.add(entry)
            elif number in matching:
                sure[entry] = matching[number]
        return sure, left

    def _by_file(
        self, pack: Pack, rows: list[ripgrep.Row]
    ) -> Iterator[tuple[int, list[ripgrep.Row]]]:
        """Yield the first rows of each file that has some, by its number."""
        offsets = [int(row[3]) for row in rows]
        at = 0
        while at < len(rows):
            number = bisect_right(pack.starts, offsets[at]) - 1
            after = pack.starts[number + 1 : number + 2]
            end = bisect_left(offsets, after[0], at) if after else len(rows)
            yield number, rows[at : min(end, at + self._most)]
            at = end


def may_look(found: Expression) -> bool:
    """Return whether an expression matches the same lines in a pack as in its files."""
    return found.literal is not None or not _ENDS_OF_TEXT.search(found.pattern)
