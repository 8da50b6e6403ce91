"""Lists of a root's files, ordered by path components: places in them, and what has changed."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import compress, count
from operator import is_not
from typing import TYPE_CHECKING, Final

from rolltop.core.roots.names import is_sendable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rolltop.core.roots.walk import Entry

_FEW: Final = 8
"""Where no more than one in so many differ, they are told one by one."""


def holds(entries: Sequence[Entry], entry: Entry) -> bool:
    """Whether a file is among others in the same state."""
    at = count_before(entries, entry.relative)
    return at < len(entries) and entries[at] == entry


def count_before(entries: Sequence[Entry], path: str) -> int:
    """How many of the files come before the path."""
    return bisect_left(entries, path.split("/"), key=lambda one: one.relative.split("/"))


def differences(before: Sequence[Entry], now: Sequence[Entry]) -> list[tuple[slice, slice]]:
    """Where two lists differ: what stood there, and what stands there instead, in order.

    The same object is the same file in the same state. To compare objects takes some 20 ns a file,
    so what follows from a list can be kept up to date instead of being worked out again.
    """
    shorter = min(len(before), len(now))
    start = next(compress(count(), map(is_not, before, now)), shorter)
    backwards = map(is_not, reversed(before), reversed(now))
    alike = min(shorter - start, next(compress(count(), backwards), shorter))
    stood, stand = slice(start, len(before) - alike), slice(start, len(now) - alike)
    if stood == stand:
        differ = map(is_not, before[stood], now[stand])
        places = list(compress(range(stood.start, stood.stop), differ))
        if _FEW * len(places) <= stood.stop - stood.start:
            return [(slice(at, at + 1), slice(at, at + 1)) for at in places]
    return [(stood, stand)]


class Marks:
    """The marks of files that may be searched, summed up: has any from a path on changed?

    Those of more than `most_bytes` may not, nor those whose path no answer can hold.
    """

    def __init__(self, entries: Iterable[Entry], most_bytes: int) -> None:
        """Take the files."""
        self._entries = entries if isinstance(entries, list) else list(entries)
        self._most_bytes: Final = most_bytes
        self._marks = array("Q", map(self._mark, self._entries))

    def changed_to(self, entries: list[Entry]) -> Marks:
        """Return the marks of another list of files, which costs time for what differs only."""
        other = Marks((), self._most_bytes)
        other._entries, other._marks = entries, self._marks[:]
        changes = differences(self._entries, entries)
        for stood, stand in reversed(changes):  # from the end, so that places ahead stay right
            other._marks[stood] = array("Q", map(self._mark, entries[stand]))
        return other

    def since(self, path: str) -> int:
        """The sum of the marks of the files from the path on."""
        return sum(self._marks[count_before(self._entries, path) :])

    def hold(self, entry: Entry) -> bool:
        """Whether the file is among them, in the same state."""
        return self._are_searched(entry) and holds(self._entries, entry)

    def _mark(self, entry: Entry) -> int:
        return entry.mark if self._are_searched(entry) else 0

    def _are_searched(self, entry: Entry) -> bool:
        return entry.size <= self._most_bytes and is_sendable(entry.relative)
