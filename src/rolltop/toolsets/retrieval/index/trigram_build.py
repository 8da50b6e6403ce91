"""Files read into the trigram index: here, or in a worker process where there are many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

from rolltop.toolsets.retrieval.index.trigram import indexed_text
from rolltop.toolsets.retrieval.index.trigram_file import (
    BINARY,
    TEXT,
    UNREAD,
    FileEntry,
    TrigramFile,
)
from rolltop.toolsets.retrieval.index.workers import IndexWorkers, serve_index
from rolltop.toolsets.retrieval.store import (
    MAX_INTEGER,
    Growth,
    batches,
)
from rolltop.workspace import FileStat, PathError, Root, Roots, is_binary
from rolltop.workspace.file_stat import is_open_for_writing, is_stable_state, state_of
from rolltop.workspace.safe_open import UTF16_BOMS

# Bytes to be read from which on a worker does it, out of this process's way.
MIN_WORKER_BYTES: Final = 8 << 20
FACTORY: Final = f"{__name__}:reader"
_WRITTEN_BYTES: Final = 2 << 20
WRITTEN_FILES: Final = 1000
_ASKED_BYTES: Final = 16 << 20
# Files that one request is for: those that are read once more, each alone, if it fails.
_ASKED_FILES: Final = 8_000
# A larger file always counts as changed.
_MAX_FILE_BYTES: Final = 32 << 20
_HEAD_BYTES: Final = 8192

# The name of a root, and files to be read in it.
Request = tuple[str, "list[FileStat]"]


# Files that could not be read, with whether they may be readable before they change again.
Refused = dict["FileStat", bool]


def reader(roots: Roots, folder: Path) -> Callable[[Any], object]:
    """Create the worker process's request handler."""

    def read_request(file: TrigramFile, request: Request) -> Refused:
        name, batch = request
        root = roots.find_root(name)
        if root is None:
            return dict.fromkeys(batch, False)
        return read_into(file, roots, root, batch, lambda: False)

    return serve_index(lambda: TrigramFile(folder), read_request)


def read_into(
    file: TrigramFile,
    roots: Roots,
    root: Root,
    batch: list[FileStat],
    stopped: Callable[[], bool],
) -> Refused:
    """Read files into the index until stopped; return those that could not be read.

    Files already read by another process are skipped. Raises Busy, Damaged or Unusable.
    """
    refused: Refused = {}
    for some in batches(batch, _WRITTEN_BYTES, WRITTEN_FILES):
        if stopped():
            break
        lacking = file.lacking(str(root.path), some)
        noted = list(_read_all(roots, root, lacking, refused))
        if noted:
            file.put(str(root.path), noted)
    return refused


def _read_all(
    roots: Roots, root: Root, batch: list[FileStat], refused: Refused
) -> Iterator[FileEntry]:
    for entry in batch:
        noted = read(roots, root, entry)
        if isinstance(noted, bool):
            refused[entry] = noted
        else:
            yield noted


def read(roots: Roots, root: Root, entry: FileStat) -> FileEntry | bool:
    """Read a file in a stable state, for an index entry.

    Otherwise return True to retry later (it is open for writing), False to wait for a change.
    """
    try:
        with roots.open_entry(root, entry) as file:
            state = state_of(os.fstat(file.fileno()))
            if not is_stable_state(state) or state[0] > _MAX_FILE_BYTES or max(state) > MAX_INTEGER:
                return False
            if is_open_for_writing(file.fileno()):
                return True
            data = file.read(state[0] + 1)
            # The kernel's own files say that they are empty, and change without their times.
            if len(data) != state[0] or state_of(os.fstat(file.fileno())) != state:
                return False
    except (OSError, PathError):
        return False
    if is_binary(data[:_HEAD_BYTES]):
        return FileEntry(entry.relative, state[:4], BINARY, "")
    if data.startswith(UTF16_BOMS):
        data = data.decode("utf-16", "replace").encode()
    return FileEntry(entry.relative, state[:4], TEXT, indexed_text(data))


class TrigramBuild:
    """Readers for the roots of one process. Any number of threads may ask; one is served."""

    def __init__(self, roots: Roots, folder: Path) -> None:
        self._roots: Final = roots
        self._lock: Final = Lock()
        self._workers: Final = IndexWorkers(FACTORY, (roots, folder))
        self._growth: Final = Growth()

    def read(
        self,
        file: TrigramFile,
        root: Root,
        batch: list[FileStat],
        stopped: Callable[[], bool],
        *,
        many: bool,
    ) -> Refused:
        """Read files into the index, in a worker process if there are `many`.

        `stop_worker` ends the worker; reading in this process checks `stopped`.

        Raises:
            Busy: another process is writing, or no process can be started.
            Unusable: the index cannot be used; Damaged, it is marked as damaged.

        """
        with self._lock:
            if many:
                refused = self._read_by_worker(file, root, batch)
            else:
                refused = read_into(file, self._roots, root, batch, stopped)
            self._growth.add(sum(entry.size for entry in batch))
            return refused

    def tidy(self, file: TrigramFile, whole: Callable[[], int]) -> None:
        """Reclaim disk space if much was read. Raises Damaged."""
        with self._lock:
            self._growth.tidy(whole, lambda: self._workers.tidy(file))

    def stop_worker(self) -> None:
        """End the process, even while it reads: there is nothing more to read for now."""
        self._workers.stop()

    def _read_by_worker(self, file: TrigramFile, root: Root, batch: list[FileStat]) -> Refused:
        """Have files read; one that ends the process is noted as unread. Raises as `read`."""

        def request(some: Sequence[FileStat]) -> Request:
            return root.name, list(some)

        def skip(entry: FileStat) -> None:
            file.put(str(root.path), [FileEntry(entry.relative, entry[1:5], UNREAD, "")])

        refused: Refused = {}
        for some in batches(batch, _ASKED_BYTES, _ASKED_FILES):
            for answer in self._workers.read(some, request, skip):
                refused |= answer
        return refused
