"""The chunk indexes of all roots, one file each in one folder.

A search never fails because of an index: without one, files are read during the search.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Final

from rolltop.toolsets.retrieval.index.chunk_index import ChunkIndex
from rolltop.toolsets.retrieval.index.chunk_index_builder import ChunkIndexBuilder
from rolltop.toolsets.retrieval.index.file_text import is_indexable
from rolltop.toolsets.retrieval.store import (
    Busy,
    Connection,
    Growth,
    IndexHandle,
    RowComparison,
    Unusable,
    scatter,
)
from rolltop.workspace import FileStat, Root, Roots
from rolltop.workspace.file_stat import by_components


class RootState:
    """Tracks which files of a root are indexed in their current state."""

    def __init__(self, root: Root) -> None:
        self.root: Final = root
        self._lock: Final = Lock()
        self._comparison: Final = RowComparison()
        self._index: ChunkIndex | None = None
        self._last_change = 0
        self._growth: Final = Growth()

    @property
    def pending(self) -> bool:
        """Whether the last comparison found stale files that can be indexed, or deleted ones."""
        with self._lock:
            return any(map(_is_stable, self._comparison.stale.values())) or bool(
                self._comparison.find_gone()
            )

    @property
    def waiting(self) -> int:
        """Number of stale files at the last comparison."""
        return len(self._comparison.stale)

    def stale(self, entries: Sequence[FileStat], index: ChunkIndex | None) -> list[FileStat]:
        """List the files that are not indexed in their current state, by path."""
        with self.compare(entries, index) as (stale, _):
            return stale

    @contextmanager
    def compare(
        self, entries: Sequence[FileStat], index: ChunkIndex | None
    ) -> Generator[tuple[list[FileStat], Connection | None], None, None]:
        """Open a snapshot: yield the stale files and the index's connection, if there is one.

        Inside, `entry` and `number` look up indexed files, and other writers do not change the
        index.
        """
        with self._lock, nullcontext() if index is None else index.read_transaction() as db:
            self._comparison.take_files(entries)
            if index is not self._index:
                self._index, self._last_change = index, 0
                self._comparison.forget_rows()
            if index is not None:
                self._last_change = index.each_row(self._last_change, self._comparison.take_row)
            yield sorted(self._comparison.stale.values(), key=by_components), db

    def entry(self, number: int) -> FileStat | None:
        """Look up a file by id; None if it changed since it was indexed."""
        return self._comparison.fresh.get(number)

    def number(self, entry: FileStat) -> int | None:
        """Look up a file's id; None if it is not indexed in its current state."""
        return self._comparison.number(entry)

    def update(
        self,
        entries: Sequence[FileStat],
        index: ChunkIndex,
        build: ChunkIndexBuilder,
        stopped: Callable[[], bool],
    ) -> None:
        """Index stale files until stopped. Raises Busy or Unusable."""
        stale = list(filter(_is_stable, self.stale(entries, index)))
        with self._lock:
            gone = self._comparison.find_gone()
        if gone:
            index.forget(gone)
        self._growth.add(sum(entry.size for entry in stale))
        for _ in build.run(scatter(stale)):
            if stopped():
                return
        self._growth.tidy(lambda: self._comparison.size, build.tidy)


def _is_stable(entry: FileStat) -> bool:
    return is_indexable(entry.relative, entry[1:5])


class ChunkIndexes:
    """The chunk indexes of all roots. Thread-safe."""

    def __init__(self, roots: Roots, folder: Path) -> None:
        self._roots: Final = roots
        self._folder: Final = folder
        self._handles: Final = {root.name: _handle(folder, root) for root in roots.named}
        self._builds: Final[dict[str, ChunkIndexBuilder]] = {}
        self._built: Final[set[str]] = set()
        self._states: Final = {root.name: RootState(root) for root in roots.named}

    def state(self, root: Root) -> RootState:
        """Look up the state of a root's index."""
        return self._states[root.name]

    def file(self, root: Root, *, begin: bool = False) -> ChunkIndex | None:
        """Open a root's index, None if there is none; `begin` creates one."""
        return self._handles[root.name].get(begin=begin)

    def update(
        self, root: Root, files: Callable[[], Sequence[FileStat]], stopped: Callable[[], bool]
    ) -> None:
        """Index changed files of a root until stopped.

        The first run compares all files, later ones only what a search found changed.
        """
        state = self._states[root.name]
        if self.is_given_up(root) or stopped() or (root.name in self._built and not state.pending):
            return
        file = self.file(root, begin=True)
        if file is None:
            return
        build = self._builds.get(root.name)
        if build is not None and build.index is not file:  # that one was closed as damaged
            build.close()
            build = None
        if build is None:
            build = ChunkIndexBuilder(
                self._roots, root, file, self._folder, index_name("units", root)
            )
            self._builds[root.name] = build
        try:
            state.update(files(), file, build, stopped)
            if stopped():
                return  # its processes go on at the next call
        except Busy:
            pass  # the other process reads the same files
        except Unusable as problem:
            self.fail(root, file, problem, reading=False)
        else:
            self._built.add(root.name)
        self._builds.pop(root.name, None)
        build.close()

    def is_given_up(self, root: Root) -> bool:
        """Report whether nothing is written to a root's index for now."""
        return self._handles[root.name].is_given_up

    def fail(
        self, root: Root, file: ChunkIndex, problem: Unusable, *, reading: bool = True
    ) -> None:
        """Close an unusable index; a damaged one is recreated at the next use."""
        if self._handles[root.name].fail(file, problem, reading=reading):
            self._built.discard(root.name)

    def close(self) -> None:
        """Close all files and kill the worker processes."""
        for build in list(self._builds.values()):
            build.close()
        for handle in self._handles.values():
            handle.close()


def index_name(kind: str, root: Root) -> str:
    """Derive the name of a root's index file; it does not reveal the root's path."""
    path = str(root.path).encode("utf-8", "surrogateescape")
    return f"{kind}{blake2b(path, digest_size=8).hexdigest()}"


def _handle(folder: Path, root: Root) -> IndexHandle[ChunkIndex]:
    name = index_name("units", root)
    return IndexHandle("ranked index", folder, name, lambda: ChunkIndex(folder, name))
