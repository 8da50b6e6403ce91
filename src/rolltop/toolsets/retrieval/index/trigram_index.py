"""The trigram index of large roots: which of their files may match a query.

A search never fails because of the index: a file that is not indexed in its current state may
match anything, and without an index every file may.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

from rolltop.core.context import AppContext
from rolltop.toolsets.retrieval.index.trigram import match_expression
from rolltop.toolsets.retrieval.index.trigram_build import MIN_WORKER_BYTES, Refused, TrigramBuild
from rolltop.toolsets.retrieval.index.trigram_file import BINARY, PREFIX, UNREAD, TrigramFile
from rolltop.toolsets.retrieval.models import Query, SearchRoot
from rolltop.toolsets.retrieval.store import (
    GONE,
    Busy,
    IndexHandle,
    Row,
    RowComparison,
    Stamp,
    Unusable,
    batches,
    scatter,
)
from rolltop.workspace import FileStat, Root, Roots, SkippedEntries
from rolltop.workspace.catalog import Catalog
from rolltop.workspace.file_stat import by_components, is_stable_state

FOLDER: Final = "code-index"
# One run of the job occupies a worker thread this long, in seconds.
_UPDATE_BUDGET_SECONDS: Final = 30.0
# Smaller roots are not indexed: scanning them takes 50 ms.
MIN_FILES: Final = 2_000
# Share of the files above which reading those proposed costs as much as reading all.
_MAX_SHARE: Final = 0.5
# Delay before a file that was open for writing is tried again.
_RETRY_SECONDS: Final = 30.0
_BATCH_BYTES: Final = 256 << 20
# Files read between checks for shutdown: about 15 seconds of work.
_BATCH_FILES: Final = 32_000


class TrigramIndex:
    """The index of all roots, in one folder. Thread-safe."""

    def __init__(self, roots: Roots, folder: Path) -> None:
        self._handle: Final = IndexHandle("code index", folder, PREFIX, lambda: TrigramFile(folder))
        self._built = False
        self.is_used = False
        """Whether a search has asked for a view."""
        self._build: Final = TrigramBuild(roots, folder)
        self._roots: Final = {root.name: _RootIndex(roots, root) for root in roots.named}

    @property
    def is_built(self) -> bool:
        """Whether all files were read once, or no index can be made now."""
        return self._built or self._handle.is_given_up

    @property
    def waiting(self) -> int:
        """Number of stale files in large roots at the last comparison."""
        return sum(root.waiting for root in self._roots.values())

    def view(self, root: Root) -> RootView:
        """Create a root's view for one search."""
        self.is_used = True
        return RootView(self, self._roots[root.name])

    def update(self, stopped: Callable[[], bool]) -> None:
        """Index changed files until stopped.

        The first run compares all files, later ones only what a search found changed.
        """
        looked = [root for root in self._roots.values() if not self._built or root.pending]
        if not looked or self._handle.is_given_up:
            return
        listed = [(root, root.files(SkippedEntries())) for root in looked]
        large = [(root, entries) for root, entries in listed if root.is_large]
        file = self.file(begin=True) if large else None
        try:
            if file is not None:
                for root, entries in large:
                    if not stopped():
                        root.update(entries, file, self._build, stopped)
                if not stopped():
                    self._build.tidy(file, lambda: sum(root.size for root, _ in large))
            if not stopped() and (file is not None or not large):
                self._built = True
        except Busy:
            pass  # the other process reads the same files
        except Unusable as problem:
            if file is not None:
                self.fail(file, problem, reading=False)
        finally:
            self._build.stop_worker()  # a new process costs less than the memory of an idle one

    def file(self, *, begin: bool = False) -> TrigramFile | None:
        """Open the index on disk, None if there is none; `begin` creates one."""
        return self._handle.get(begin=begin)

    def fail(self, file: TrigramFile, problem: Unusable, *, reading: bool = True) -> None:
        """Close an unusable index; a damaged one is recreated at the next use."""
        if self._handle.fail(file, problem, reading=reading):
            self._built = False
            self._build.stop_worker()

    def close(self) -> None:
        """Close the index."""
        self._build.stop_worker()
        self._handle.close()


class RootView:
    """One root during one search: its files, and which of them may match."""

    def __init__(self, index: TrigramIndex, root: _RootIndex) -> None:
        self._index: Final = index
        self._root: Final = root
        self._skipped: Final = SkippedEntries()
        self._entries: list[FileStat] | None = None

    def files(self, skipped: SkippedEntries) -> list[FileStat]:
        """List the root's files, in order; add what the walk skipped to `skipped`."""
        entries = self._list()
        skipped.add(self._skipped)
        return entries

    def candidates(self, query: Query) -> list[FileStat] | None:
        """List the files that may match, in order; None if any may."""
        entries = self._list()
        expression = match_expression(query)
        file = self._index.file() if expression and self._root.is_large else None
        if file is None:
            return None
        try:
            return self._root.candidates(entries, file, expression)
        except Unusable as problem:
            self._index.fail(file, problem)
            return None

    def is_text(self, entry: FileStat) -> bool | None:
        """Report whether a file is text; None if unknown."""
        return self._root.is_text(entry)

    def _list(self) -> list[FileStat]:
        if self._entries is None:
            self._entries = self._root.files(self._skipped)
        return self._entries


class _RootIndex:
    """A root's catalog compared with the index."""

    def __init__(self, roots: Roots, root: Root) -> None:
        self._root: Final = root
        self._key: Final = str(root.path)
        self._catalog: Final = Catalog(roots, root)
        # How many files there were when they were last listed.
        self._count = 0
        self._lock: Final = Lock()
        self._comparison: Final = RowComparison()
        self._file: TrigramFile | None = None
        self._last_change = 0
        # States in which files were binary, by path.
        self._binary: Final[dict[str, Stamp]] = {}
        # States in which files must not be read again, by path.
        self._unread: Final[dict[str, Stamp]] = {}
        # Files that could not be read in these states, and when to try again.
        self._refused: Final[dict[FileStat, float]] = {}

    @property
    def is_large(self) -> bool:
        return self._count >= MIN_FILES

    @property
    def pending(self) -> bool:
        """Whether the last comparison found files to index."""
        with self._lock:
            is_new = self._file is None or any(
                map(self._is_readable, self._comparison.stale.values())
            )
            return self.is_large and is_new

    @property
    def waiting(self) -> int:
        return len(self._comparison.stale)

    @property
    def size(self) -> int:
        """Total bytes of the files at the last comparison."""
        return self._comparison.size

    def files(self, skipped: SkippedEntries) -> list[FileStat]:
        """List the root's files, in order."""
        entries = self._catalog.files(skipped)
        self._count = len(entries)
        return entries

    def candidates(
        self, entries: list[FileStat], file: TrigramFile, expression: str
    ) -> list[FileStat] | None:
        """List the files that may match, in order; None if that is most of them."""
        with self._lock, file.read_transaction():
            self._compare(entries, file)
            if len(self._comparison.stale) > len(entries) * _MAX_SHARE:
                return None
            numbers = file.matching(expression)
            if numbers is None:
                return None
            fresh = self._comparison.fresh
            found = [fresh[number] for number in numbers if number in fresh]
            found += self._comparison.stale.values()
        if len(found) > len(entries) * _MAX_SHARE:
            return None
        return sorted(found, key=by_components)

    def is_text(self, entry: FileStat) -> bool | None:
        # Of any list of files: another search may have compared a newer one, or an older.
        # In the opposite order of `_take`, or a row it takes in between would count as text.
        known = self._comparison.number(entry) is not None
        if self._binary.get(entry.relative) == entry[1:5]:
            return False
        return True if known else None

    def update(
        self,
        entries: list[FileStat],
        file: TrigramFile,
        build: TrigramBuild,
        stopped: Callable[[], bool],
    ) -> None:
        """Read stale files into the index until stopped. Raises Busy or Unusable."""
        with self._lock:
            self._compare(entries, file)
            stale = sorted(filter(self._is_readable, self._comparison.stale.values()))
            gone = self._comparison.find_gone()
        if gone:
            file.forget(self._key, gone)
            for entry in self._refused.keys() - set(self._comparison.stale.values()):
                del self._refused[entry]
        many = sum(entry.size for entry in stale) >= MIN_WORKER_BYTES
        for batch in batches(scatter(stale), _BATCH_BYTES, _BATCH_FILES):
            if stopped():
                return
            self._refuse(build.read(file, self._root, batch, stopped, many=many))

    def _is_readable(self, entry: FileStat) -> bool:
        return (
            self._unread.get(entry.relative) != entry[1:5]
            and time.monotonic() >= self._refused.get(entry, 0)
            and is_stable_state(entry[1:])
        )

    def _refuse(self, refused: Refused) -> None:
        """Delay reading files again, or wait until they change."""
        for entry, passing in refused.items():
            wait = _RETRY_SECONDS if passing else math.inf
            self._refused[entry] = time.monotonic() + wait

    def _compare(self, entries: list[FileStat], file: TrigramFile) -> None:
        """Update the comparison of files and index rows."""
        self._comparison.take_files(entries)
        if file is not self._file:
            self._file, self._last_change = file, 0
            self._comparison.forget_rows()  # a binary state stays binary
        self._last_change = file.each_row(self._key, self._last_change, self._take)

    def _take(self, path: str, row: Row, kind: int) -> None:
        # In this order no file that is binary ever counts as text, whoever asks in between.
        if kind == BINARY:
            self._binary[path] = row.stamp
        if kind == UNREAD:
            self._unread[path], row = row.stamp, Row(row.number, GONE)
        self._comparison.take_row(path, row)
        if kind != BINARY:
            self._binary.pop(path, None)


def search_roots(app: AppContext, roots: Sequence[Root]) -> list[SearchRoot]:
    """List the roots for one search, with the trigram index if the settings enable it."""
    if not app.settings["retrieval.index"]:
        return [SearchRoot.from_walk(app.roots, root) for root in roots]
    index = app.service(open_index)
    views = [(root, index.view(root)) for root in roots]
    return [SearchRoot(app.roots, root, view.files, view) for root, view in views]


def update_index(app: AppContext) -> None:
    """Index new and changed files within the time budget of one run."""
    if app.settings["retrieval.index"] and app.roots.named:
        end = time.monotonic() + _UPDATE_BUDGET_SECONDS
        app.service(open_index).update(lambda: app.is_stopping or time.monotonic() > end)


def open_index(app: AppContext) -> TrigramIndex:
    """Create the process's index of its roots."""
    return TrigramIndex(app.roots, app.settings["data_dir"] / FOLDER)
