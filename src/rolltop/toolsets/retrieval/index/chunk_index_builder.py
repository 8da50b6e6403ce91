"""Reads files into a root's chunk index, in this process or in worker processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.errors import RolltopError, Unavailable
from rolltop.core.lazy_imports import lazy
from rolltop.core.thread_pool import ThreadPool
from rolltop.toolsets.retrieval.index.chunk_index import ChunkIndex, IndexedFile, index_file
from rolltop.toolsets.retrieval.index.file_text import (
    DocumentFound,
    Unreadable,
    is_indexable,
    read_text,
    split_documents,
    stamp_of,
)
from rolltop.toolsets.retrieval.index.workers import IndexWorkers, serve_index
from rolltop.toolsets.retrieval.store import Busy, Stamp, batches
from rolltop.workspace import FileStat, PathError, Root, Roots
from rolltop.workspace.file_stat import is_open_for_writing

if TYPE_CHECKING:
    from rolltop.documents.extractors import document_reader
else:
    document_reader = lazy("rolltop.documents.extractors.document_reader")

_BATCH_BYTES: Final = 2 << 20
BATCH_FILES: Final = 2_000
# Less is read in this process: starting a worker takes longer.
MIN_WORKER_BYTES: Final = 1 << 20
MAX_DOCUMENT_BYTES: Final = 64 << 20
"""Of larger documents no text is extracted."""
MAX_DOCUMENT_TEXT: Final = 4 << 20
"""Code points of a document that are indexed: a search may unpack the texts of many."""
MAX_PROCESSES: Final = min(2, os.cpu_count() or 1)
# Each attempt to write waits for seconds, longer than other processes' transactions.
_MAX_ATTEMPTS: Final = 5

FACTORY: Final = f"{__name__}:reader"


class ChunkIndexBuilder:
    """Indexes a root's files; many at once in worker processes."""

    def __init__(
        self, roots: Roots, root: Root, index: ChunkIndex, folder: Path, name: str
    ) -> None:
        self._roots: Final = roots
        self._root: Final = root
        self.index: Final = index
        where = str(root.path), str(folder), name
        self._workers: Final = IndexWorkers(FACTORY, where, MAX_PROCESSES)
        self._threads: Final = ThreadPool(MAX_PROCESSES, "chunks")

    def run(self, entries: Sequence[FileStat]) -> Iterator[None]:
        """Index files in batches, yielding after each; documents last. Raises Busy or Unusable.

        Batches in progress are completed if the caller stops iterating.
        """
        texts, documents = split_documents(entries)
        many = batches(texts, _BATCH_BYTES, BATCH_FILES)
        size = sum(entry.size for entry in texts)
        if not self._workers.has_read and size <= MIN_WORKER_BYTES:
            for batch in many:
                index_files(self._roots, self._root, self.index, batch)
                yield
        yield from self._run_in_workers(
            chain(many, ([one] for one in documents if not self._is_open_for_writing(one)))
        )

    def _is_open_for_writing(self, entry: FileStat) -> bool:
        """Report whether a document is being edited: no process is started for it."""
        try:
            with self._roots.open_entry(self._root, entry) as file:
                return is_open_for_writing(file.fileno())
        except (OSError, PathError):
            return False

    def _run_in_workers(self, many: Iterable[Sequence[FileStat]]) -> Iterator[None]:
        begun: deque[Future[None]] = deque()
        try:
            for batch in many:
                if len(begun) == MAX_PROCESSES:
                    begun.popleft().result()
                    yield
                begun.append(self._threads.submit(partial(self._index_files, batch)))
            while begun:
                begun.popleft().result()
                yield
        except Unavailable:  # it was closed meanwhile
            raise Busy from None
        finally:
            wait(begun)

    def tidy(self) -> None:
        """Reclaim disk space. Raises Busy or Unusable."""
        self._workers.tidy(self.index)

    def close(self) -> None:
        """Kill the worker processes."""
        self._workers.close()
        self._threads.close(0)

    def _index_files(self, batch: Sequence[FileStat]) -> None:
        """Index a batch in a worker; record a file that kills it as empty. Raises as `run`."""

        def skip(entry: FileStat) -> None:
            self.index.put([index_file(entry.relative, entry[1:5], "")])

        for _ in self._workers.read(batch, list, skip):
            pass


def reader(top: str, folder: str, name: str) -> Callable[[Any], object]:
    """Create the worker process's request handler."""
    roots = Roots.open({"root": top}, base=Path(top))

    def read(index: ChunkIndex, batch: Sequence[FileStat]) -> None:
        index_files(roots, roots.named[0], index, batch)

    return serve_index(lambda: ChunkIndex(Path(folder), name), read)


def index_files(roots: Roots, root: Root, index: ChunkIndex, batch: Sequence[FileStat]) -> None:
    """Index all files of a batch or none, except those indexed by another process meanwhile.

    Raises Busy or Unusable.
    """
    rows = index.rows_of(entry.relative for entry in batch)
    read = [
        file
        for entry in batch
        if entry.relative not in rows or rows[entry.relative].stamp != entry[1:5]
        if (file := _read(roots, root, entry)) is not None
    ]
    for _ in range(_MAX_ATTEMPTS - 1):
        with suppress(Busy):
            return index.put(read)
    return index.put(read)


def _read(roots: Roots, root: Root, entry: FileStat) -> IndexedFile | None:
    """Split a file into chunks: none if it has no text; return None if it keeps changing."""
    try:
        stamp, text = read_text(roots, root, entry, keeping=True)
    except DocumentFound as found:
        is_settled = is_indexable(entry.relative, found.stamp)
        return _read_document(roots, root, entry, found.stamp) if is_settled else None
    except Unreadable:
        stamp, text = entry[1:5], ""
    return index_file(entry.relative, stamp, text) if is_indexable(entry.relative, stamp) else None


def _read_document(roots: Roots, root: Root, entry: FileStat, stamp: Stamp) -> IndexedFile | None:
    """Split a document's text into chunks; return None if it is in another state by now."""
    try:
        with roots.open_entry(root, entry) as file:
            data = file.read(MAX_DOCUMENT_BYTES + 1)
            if stamp_of(os.fstat(file.fileno())) != stamp:
                return None
    except (OSError, PathError):
        data = b""
    if len(data) <= MAX_DOCUMENT_BYTES:
        with suppress(RolltopError):
            document = document_reader.read_document(data, Path(entry.relative))
            text, outline = document.text, document.outline
            if len(text) > MAX_DOCUMENT_TEXT:
                text, outline = text[:MAX_DOCUMENT_TEXT], replace(outline, sections=())
            return index_file(entry.relative, stamp, text, outline)
    return index_file(entry.relative, stamp, "")
