"""Which of a root's files an index on disk holds in the state they are in: compared at each search.

Of a file that is held as it is, no more is kept than its number: there may be many of them, and a
process holds them for as long as it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.roots import differences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.roots import Entry

Stamp = tuple[int, int, int, int]
"""Size, times of content and status in nanoseconds, inode: what tells states of a file apart."""

GONE: Final[Stamp] = (-1, 0, 0, 0)
"""What is noted of a file that is there no more."""


class Row(NamedTuple):
    """What an index holds of a file: its number there, and the state it was read in."""

    number: int
    stamp: Stamp


class Held:
    """A root's files compared with an index's rows. For one thread at a time."""

    def __init__(self) -> None:
        """Know nothing of either yet."""
        self.entries: Sequence[Entry] = ()
        self.fresh: Final[dict[int, Entry]] = {}
        """The files that are held as they are, by their numbers."""
        self.stale: Final[dict[str, Entry]] = {}
        """The others, by their paths."""
        self._known: Final[dict[str, Entry]] = {}
        self._numbers: Final[dict[str, int]] = {}
        """Of the fresh ones, by their paths."""
        self._outdated: Final[dict[str, Row]] = {}
        """Rows of states that no file is in, by paths."""

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(entry.size for entry in self.entries)

    def number(self, entry: Entry) -> int | None:
        """Return the number of a file, None where it is not held in that state."""
        number = self._numbers.get(entry.relative)
        return number if number is not None and self.fresh.get(number) == entry else None

    def gone(self) -> list[str]:
        """Return the paths of files that are held, and are there no more."""
        known = self._known
        return sorted(
            path for path, row in self._outdated.items() if path not in known and row.stamp != GONE
        )

    def take_files(self, entries: Sequence[Entry]) -> None:
        """Take a root's files as they are now; the same list again means the same files."""
        if entries is self.entries:
            return
        before: dict[str, Entry] = {}
        now: dict[str, Entry] = {}
        for stood, stand in differences(self.entries, entries):
            before.update((entry.relative, entry) for entry in self.entries[stood])
            now.update((entry.relative, entry) for entry in entries[stand])
        self.entries = entries
        self._known.update(now)
        for path in before.keys() - now.keys():
            del self._known[path]
            self._place(path, self._row(path))
        if not (self._numbers or self._outdated):  # of no row is anything known
            self.stale.update(now)
            return
        for path, entry in now.items():
            if before.get(path) != entry:
                self._place(path, self._row(path))

    def take_row(self, path: str, row: Row) -> None:
        """Take what the index holds of a file now."""
        self._place(path, row)

    def forget_rows(self) -> None:
        """Take it that the index holds nothing."""
        self.fresh.clear()
        self._numbers.clear()
        self._outdated.clear()
        self.stale.update(self._known)

    def _row(self, path: str) -> Row | None:
        number = self._numbers.get(path)
        if number is None:
            return self._outdated.get(path)
        return Row(number, self.fresh[number][1:5])

    def _place(self, path: str, row: Row | None) -> None:
        """Put a file among the fresh or the stale."""
        number = self._numbers.pop(path, None)
        if number is not None:
            self.fresh.pop(number, None)
        self.stale.pop(path, None)
        self._outdated.pop(path, None)
        entry = self._known.get(path)
        if entry is not None and row is not None and row.stamp == entry[1:5]:
            self.fresh[row.number] = entry
            self._numbers[entry.relative] = row.number  # the path's own text, not one more
            return
        if row is not None:
            self._outdated[path] = row
        if entry is not None:
            self.stale[entry.relative] = entry
