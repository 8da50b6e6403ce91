"""What this process knows of one root's units: which are of files as they are now."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.rank.reading import settled
from rolltop.toolsets.retrieval.store import Growth, Held, Row, scattered

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from rolltop.core.roots import Entry, Root
    from rolltop.toolsets.retrieval.rank.building import Building
    from rolltop.toolsets.retrieval.rank.unitfile import UnitFile

_AT_ONCE: Final = 10_000
"""Files whose units are cut ahead in one go."""


class RootUnits:
    """The units of one root, compared with its files at each search."""

    def __init__(self, root: Root) -> None:
        """Know nothing yet."""
        self.root: Final = root
        self._lock: Final = Lock()
        self._held: Final = Held()
        self._file: UnitFile | None = None
        self._last_change = 0
        self._growth: Final = Growth()
        self._newest = 0
        """The greatest number of a file."""
        self._cut_ahead = 0
        """The number of the last file whose units are kept, or were tried in vain."""

    @property
    def pending(self) -> bool:
        """Whether files that could be kept were not when last looked at, or were and are gone."""
        with self._lock:
            if self._newest > self._cut_ahead or any(map(_keepable, self._held.stale.values())):
                return True
            return bool(self._held.gone())

    @property
    def waiting(self) -> int:
        """How many files were not kept in their state when they were last looked at."""
        return len(self._held.stale)

    def stale(self, entries: Sequence[Entry], file: UnitFile | None) -> list[Entry]:
        """Return the files of which no units are kept in the state they are in, in order."""
        with self.compared(entries, file) as stale:
            return stale

    @contextmanager
    def compared(
        self, entries: Sequence[Entry], file: UnitFile | None
    ) -> Generator[list[Entry], None, None]:
        """Give the files that are `stale`; `entry` tells the others until this ends.

        As long as it lasts nobody's writing shows in what the file on disk says either.
        """
        with self._lock, nullcontext() if file is None else file.at_one_time():
            self._compare(entries, file)
            yield sorted(self._held.stale.values(), key=lambda entry: entry.relative.split("/"))

    def entry(self, number: int) -> Entry | None:
        """Return the file of a number, None where it is not in the state that was kept."""
        return self._held.fresh.get(number)

    def number(self, entry: Entry) -> int | None:
        """Return the number of a file, None where it is not in the state that was kept."""
        with self._lock:
            return self._held.number(entry)

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
            gone = self._held.gone()
        if gone:
            file.forget(gone)
        self._growth.add(sum(entry.size for entry in stale))
        for _ in building.run("words", [(0, entry) for entry in scattered(stale)]):
            if stopped():
                return
        self._update_units(file, building, stopped)
        if not stopped():
            self._growth.tidy(lambda: self._held.size, building.tidy)

    def _update_units(
        self, file: UnitFile, building: Building, stopped: Callable[[], bool]
    ) -> None:
        while True:
            with self._lock:
                self._compare(self._held.entries, file)
                newest = self._newest  # a search may learn of others meanwhile
            lacking = file.lacking(self._cut_ahead, _AT_ONCE)
            if not lacking:
                self._cut_ahead = newest
                return
            work = [
                (row.number, entry)
                for row in lacking.values()
                if (entry := self.entry(row.number)) is not None
            ]
            for _ in building.run("units", scattered(work)):
                if stopped():
                    return
            self._cut_ahead = max(row.number for row in lacking.values())

    def _compare(self, entries: Sequence[Entry], file: UnitFile | None) -> None:
        """Take the files and what is kept as they are now."""
        self._held.take_files(entries)
        if file is not self._file:
            self._file, self._last_change = file, 0
            self._newest = self._cut_ahead = 0
            self._held.forget_rows()
        if file is not None:
            self._last_change = file.each_row(self._last_change, self._take)

    def _take(self, path: str, row: Row) -> None:
        self._held.take_row(path, row)
        self._newest = max(self._newest, row.number)


def _keepable(entry: Entry) -> bool:
    return settled(entry[1:5])
