"""The indexes of all roots, in one folder that may be missing, damaged or another process's.

Nothing here ever keeps a search from its answer: without an index every file is looked at.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Final

from rolltop.core import logs
from rolltop.core.roots import Skipped
from rolltop.toolsets.retrieval.store import Busy, Damaged, Unusable
from rolltop.toolsets.retrieval.trigrams.building import Building
from rolltop.toolsets.retrieval.trigrams.index import RootIndex
from rolltop.toolsets.retrieval.trigrams.postings import Postings, exists

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from rolltop.core.roots import Entry, Listed, Marks, Root, Roots
    from rolltop.toolsets.retrieval.models import Query, Totals, Whole

_LOOK_EVERY: Final = 30.0
"""Seconds between looks at every file, while searches rely on the kernel's notes."""


class Indexes:
    """What this process knows of its roots. Any number of threads may ask."""

    def __init__(self, roots: Roots, folder: Path, *, watch: bool) -> None:
        """Take the roots, and the folder the index is kept in; open nothing yet."""
        self._folder: Final = folder
        self._lock: Final = Lock()
        self._postings: Postings | None = None
        self._given_up = False
        self._built = False
        self._next_look = time.monotonic() + _LOOK_EVERY
        self._building: Final = Building(roots, folder)
        self._indexes: Final = {
            root.name: RootIndex(roots, root, self._building, watch=watch) for root in roots.named
        }

    @property
    def made(self) -> bool:
        """Whether all that was there has been read in once, or there can be no index."""
        return self._built or self._given_up

    def look(self, root: Root) -> Look:
        """Return a root as it is from now on, for one search."""
        return Look(self, self._indexes[root.name])

    def seen(self, root: Root) -> list[Entry]:
        """Return a root's files as they were when they were last looked at; none before."""
        return self._indexes[root.name].seen

    def update(self, stopped: Callable[[], bool]) -> None:
        """Read what has changed into the index, until stopped.

        The first time all is looked at, later only what a search found to have changed.
        """
        self._look_at_all()
        waiting = [one for one in self._indexes.values() if not self._built or one.pending]
        postings = self.postings(begin=True) if waiting else None
        if postings is None:
            return
        try:
            for index in waiting:
                if not stopped():
                    index.update(postings, stopped)
            if not stopped():
                self._building.tidy(postings, self._size)
                self._built = True
        except Busy:
            pass  # the other process reads the same files
        except Unusable as problem:
            self.failed(postings, problem)
        finally:
            self._building.rest()  # what is read next costs less than the memory it would hold

    def _size(self) -> int:
        return sum(index.size for index in self._indexes.values())

    def _look_at_all(self) -> None:
        """Now and then take up what the kernel does not note: see `watching`."""
        if time.monotonic() < self._next_look:
            return
        for index in self._indexes.values():
            index.look_at_all()
        self._next_look = time.monotonic() + _LOOK_EVERY

    def waiting(self) -> int:
        """Return how many files are not in the index in the state they were last seen in."""
        return sum(index.waiting for index in self._indexes.values())

    def postings(self, *, begin: bool = False) -> Postings | None:
        """Return the index on disk, None where there is none to be had; `begin` makes one."""
        with self._lock:
            if self._postings is None and not self._given_up and (begin or exists(self._folder)):
                try:
                    self._postings = _opened(self._folder)
                except Busy:
                    return None  # for now
                except (OSError, Unusable) as problem:
                    self._given_up = True
                    logs.event("code index unusable", level="warn", reason=type(problem).__name__)
            return self._postings

    def failed(self, postings: Postings, problem: Unusable) -> None:
        """Let go of an index that cannot be used: one that is damaged is begun anew."""
        with self._lock:
            if self._postings is not postings:
                return
            self._postings = None
            self._built = False
            self._given_up = not isinstance(problem, Damaged)
        self._building.rest()
        postings.close()
        logs.event("code index failed", level="warn", reason=type(problem).__name__)

    def close(self) -> None:
        """Close the index and watch no longer."""
        self._building.rest()
        for index in self._indexes.values():
            index.close()
        with self._lock:
            if self._postings is not None:
                self._postings.close()
                self._postings = None
            self._given_up = True


class Look:
    """One root at the time of one search: its files, and which of them may match."""

    def __init__(self, indexes: Indexes, index: RootIndex) -> None:
        """Begin to look at the files, where others do that."""
        self._indexes: Final = indexes
        self._index: Final = index
        self._skipped: Final = Skipped()
        self._entries: list[Entry] | None = None
        self._begun: Final = index.begin()
        self._walks = False

    def files(self, skipped: Skipped) -> Iterable[Entry]:
        """Return the chosen files, in order; what the walk passed over is added to `skipped`.

        The first search of all, with no index, walks, so that it can read while files are listed.
        """
        if self._walks:
            return self._index.walk(skipped)
        return self._counted(skipped)

    def folders(self, start: str, skipped: Skipped) -> Iterator[Listed] | None:
        """Return the directories from a path on, where `files` would walk; None where not."""
        return self._index.folders(start, skipped) if self._walks else None

    def candidates(self, query: Query) -> list[Entry] | None:
        """Return those that may match, in order; None where any may."""
        postings = self._indexes.postings()
        if postings is None:
            self._walks = self._entries is None and not self._index.listed
            return None
        try:
            return self._index.candidates(self._listed, postings, query)
        except Unusable as problem:
            self._indexes.failed(postings, problem)
            return None

    def is_text(self, entry: Entry) -> bool | None:
        """Return whether a file is text, None where that is not known."""
        return self._index.is_text(entry)

    def unsure(self) -> Collection[str] | None:
        """Return the paths of files of which is not known whether they are text; None of many."""
        return None if self._entries is None else self._index.unsure(self._entries)

    def texts(self, most_bytes: int) -> list[Entry] | None:
        """Return the files that may be searched, but those known to be no text; None as `marks`."""
        return None if self._walks else self._index.texts(self._listed(), most_bytes)

    def whole_folders(self) -> Mapping[str, Whole]:
        """Return the directories that can be looked at as such, none where that is not known."""
        return {} if self._entries is None else self._index.whole_folders(self._entries)

    def marks(self, most_bytes: int) -> Marks | None:
        """Return the marks of the files that may be searched, None where `files` walks."""
        return None if self._walks else self._index.marks(self._listed(), most_bytes)

    def totals(self, skipped: Skipped, most_bytes: int) -> tuple[Totals, list[Entry]]:
        """Return how much there is to search, and which files count as text, in order.

        What the walk passed over is added to `skipped`.
        """
        return self._index.totals(self._counted(skipped), most_bytes)

    def _counted(self, skipped: Skipped) -> list[Entry]:
        entries = self._listed()
        skipped.add(self._skipped)
        return entries

    def _listed(self) -> list[Entry]:
        if self._entries is None:
            self._entries = self._index.files(self._skipped, self._begun)
        return self._entries


def _opened(folder: Path) -> Postings:
    """Return the index in the folder; one that turns out to be damaged is begun anew."""
    try:
        return Postings(folder)
    except Damaged:
        return Postings(folder)
