"""What this process knows of one root's units: which are of files as they are now."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.rank.reading import settled
from rolltop.toolsets.retrieval.store import Growth, scattered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rolltop.core.roots import Entry, Root
    from rolltop.toolsets.retrieval.rank.building import Building
    from rolltop.toolsets.retrieval.rank.reading import Stamp
    from rolltop.toolsets.retrieval.rank.unitfile import Row, UnitFile

_AT_ONCE: Final = 10_000
"""Files whose units are cut ahead in one go."""


class RootUnits:
    """The units of one root, compared with its files at each search."""

    def __init__(self, root: Root) -> None:
        """Know nothing yet."""
        self.root: Final = root
        self._lock: Final = Lock()
        self._entries: Sequence[Entry] = ()
        self._known: dict[str, Entry] = {}
        self._file: UnitFile | None = None
        self._rows: dict[str, Row] = {}
        self._last_change = 0
        self._fresh: dict[int, Entry] = {}
        self._stale: dict[str, Entry] = {}
        self._growth: Final = Growth()
        self._newest = 0
        """The greatest number of a file."""
        self._cut_ahead = 0
        """The number of the last file whose units are kept, or were tried in vain."""

    @property
    def pending(self) -> bool:
        """Whether files that could be kept were not when last looked at."""
        with self._lock:
            return self._newest > self._cut_ahead or any(map(_keepable, self._stale.values()))

    @property
    def waiting(self) -> int:
        """How many files were not kept in their state when they were last looked at."""
        return len(self._stale)

    def stale(self, entries: Sequence[Entry], file: UnitFile | None) -> list[Entry]:
        """Return the files of which no units are kept in the state they are in, in order."""
        with self._lock:
            self._compare(entries, file)
            if not self._stale:
                return []
            return sorted(self._stale.values(), key=lambda entry: entry.relative.split("/"))

    def entry(self, number: int) -> Entry | None:
        """Return the file of a number, None where it is not in the state that was kept."""
        return self._fresh.get(number)

    def update(
        self,
        entries: Sequence[Entry],
        file: UnitFile,
        building: Building,
        stopped: Callable[[], bool],
    ) -> None:
        """Keep the words of stale files, then units that are lacking, until stopped.

        Raises Busy or Unusable.
        """
        stale = list(filter(_keepable, self.stale(entries, file)))
        with self._lock:
            gone = [
                path for path, row in self._rows.items() if row.exists and path not in self._known
            ]
        if gone:
            file.forget(gone)
        self._growth.add(sum(entry.size for entry in stale))
        for _ in building.run("words", [(0, entry) for entry in scattered(stale)]):
            if stopped():
                return
        self._update_units(file, building, stopped)
        if not stopped():
            self._growth.tidy(lambda: sum(entry.size for entry in self._entries), building.tidy)

    def _update_units(
        self, file: UnitFile, building: Building, stopped: Callable[[], bool]
    ) -> None:
        while True:
            with self._lock:
                self._compare(self._entries, file)
            lacking = file.lacking(self._cut_ahead, _AT_ONCE)
            if not lacking:
                self._cut_ahead = self._newest
                return
            work = [
                (row.number, entry)
                for row in lacking.values()
                if (entry := self._fresh.get(row.number)) is not None
            ]
            for _ in building.run("units", scattered(work)):
                if stopped():
                    return
            self._cut_ahead = max(row.number for row in lacking.values())

    def _compare(self, entries: Sequence[Entry], file: UnitFile | None) -> None:
        """Take the files and what is kept as they are now, and sort what changed of either."""
        for path in self._moved(entries) | self._reread(file):
            self._sort(path)

    def _moved(self, entries: Sequence[Entry]) -> set[str]:
        """Take the files as they are; return the paths of those that were not so before."""
        if entries is self._entries:
            return set()
        now = {entry.relative: entry for entry in entries}
        before = self._known
        touched = {path for path, entry in now.items() if before.get(path) != entry}
        touched |= before.keys() - now.keys()
        self._entries, self._known = entries, now
        return touched

    def _reread(self, file: UnitFile | None) -> set[str]:
        """Take what is kept; return the paths there is news of."""
        touched = set[str]()
        if file is not self._file:
            touched |= self._rows.keys() | self._known.keys()
            self._file, self._rows, self._last_change = file, {}, 0
            self._newest = self._cut_ahead = 0
            self._fresh.clear()
        if file is None:
            return touched
        rows, self._last_change = file.rows(self._last_change)
        for path in rows.keys() & self._rows.keys():
            self._fresh.pop(self._rows[path].number, None)
        self._rows.update(rows)
        self._newest = max((row.number for row in rows.values()), default=self._newest)
        return touched | rows.keys()

    def _sort(self, path: str) -> None:
        """Put a file among the fresh or the stale."""
        entry, row = self._known.get(path), self._rows.get(path)
        self._stale.pop(path, None)
        if row is not None:
            self._fresh.pop(row.number, None)
        if entry is None:
            return
        if row is not None and row.stamp == _stamp(entry):
            self._fresh[row.number] = entry
        else:
            self._stale[path] = entry


def _stamp(entry: Entry) -> Stamp:
    return entry[1:5]


def _keepable(entry: Entry) -> bool:
    return settled(_stamp(entry))
