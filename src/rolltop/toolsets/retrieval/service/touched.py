"""The files of the roots that were changed last, for who comes back to the work.

A large tree takes longer to list than a caller waits: it is listed on, for the next call.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from contextlib import suppress
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from rolltop.core.errors import InvalidConfig, Unavailable
from rolltop.core.times import moment_of
from rolltop.toolsets.retrieval.index.trigram_index import open_index, search_roots
from rolltop.toolsets.retrieval.models import SearchRoot
from rolltop.toolsets.retrieval.service.directories import classify_file
from rolltop.toolsets.retrieval.service.root_lookup import reader_tool, select_roots
from rolltop.workspace import FileStat, ResolvedPath, Root, SkippedEntries, is_utf8_path
from rolltop.workspace.file_stat import state_of
from rolltop.workspace.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from rolltop.core.context import AppContext, CallContext

T = TypeVar("T")

LISTING_SECONDS: Final = 0.01
"""How much longer a call takes for a listing."""
LOOK_SECONDS: Final = 0.25
"""How long a look at the files of an earlier listing may take: a disk may not answer at all."""
_MAX_KEPT: Final = 100
"""Files of a listing that are looked at: some are no texts, or gone by then."""
_SHARE: Final = 0.1
"""Share of the time that is spent with listing, where one takes longer than a call waits."""


class TouchedFile(NamedTuple):
    """A file that can be read, and when it was changed."""

    root: str
    path: str
    at: datetime


class TouchedFiles(NamedTuple):
    """Files, the last changed first; of an earlier listing if `is_current` is False.

    `listed_at` is None where there is none yet.
    """

    files: list[TouchedFile]
    listed_at: datetime | None
    is_current: bool = True


async def list_beside(call: CallContext, most: int, work: Awaitable[T]) -> tuple[T, TouchedFiles]:
    """Await other work; return its result and the files changed last, as they are now.

    They are listed meanwhile, and waited for a little longer.
    """
    app = call.app
    last = app.service(LastListing)
    # In no turn of the caller's, which it would keep while a large tree is listed.
    renewal = asyncio.ensure_future(app.run_in_thread(last.renew, most))
    try:
        result = await work
        found = await _wait(renewal, LISTING_SECONDS)
    finally:
        renewal.cancel()
    found = found or await _wait(app.run_in_thread(last.look_again, most), LOOK_SECONDS)
    return result, found or TouchedFiles([], None, is_current=False)


async def _wait(work: Awaitable[T], seconds: float) -> T | None:
    """Return a result that comes in time, else None."""
    with suppress(TimeoutError, Unavailable):
        return await asyncio.wait_for(work, seconds)
    return None


class LastListing:
    """The files changed last, of the last listing that this process made. Thread-safe."""

    def __init__(self, app: AppContext) -> None:
        self._app: Final = app
        self._mutex: Final = Lock()
        self._looking: Final = Lock()
        self._listed: tuple[datetime, list[tuple[Root, FileStat]]] | None = None
        self._rests_until = 0.0

    def renew(self, most: int) -> TouchedFiles | None:
        """List the files; None where another call is at it, or was for long just before."""
        if not self._mutex.acquire(timeout=LISTING_SECONDS):
            return None
        try:
            begun = time.monotonic()
            if begun < self._rests_until:
                return None
            at = datetime.now(UTC)
            newest = nlargest(_MAX_KEPT, self._list(), key=lambda found: found[1].mtime_ns)
            self._listed = at, newest
            ended = time.monotonic()
            if ended - begun > LISTING_SECONDS:
                self._rests_until = ended + (ended - begun) / _SHARE
        finally:
            self._mutex.release()
        return self.look(most, is_current=True)

    def _list(self) -> Iterator[tuple[Root, FileStat]]:
        app = self._app
        try:
            roots, _missing = select_roots(app.roots, None)
        except InvalidConfig:
            return
        if app.service(open_index).is_used:  # what it remembers makes listing faster
            trees = search_roots(app, roots)
        else:
            trees = [SearchRoot.from_walk(app.roots, root) for root in roots]
        for tree in trees:
            for entry in tree.files(SkippedEntries()):
                if is_utf8_path(entry.relative):
                    yield tree.root, entry

    def look_again(self, most: int) -> TouchedFiles | None:
        """Return files of the last listing; None too where another call waits for a disk."""
        if not self._looking.acquire(timeout=LOOK_SECONDS):
            return None
        try:
            return self.look(most)
        finally:
            self._looking.release()

    def look(self, most: int, *, is_current: bool = False) -> TouchedFiles | None:
        """Return files of the last listing as they are now, if they may be read; None without one.

        A file of several roots counts once.
        """
        roots = self._app.roots
        if self._listed is None:
            return None
        listed_at, newest = self._listed
        rules: dict[Root, Walk] = {}
        found: dict[tuple[int, int], TouchedFile] = {}
        for root, entry in newest:
            if len(found) == most:
                break
            if not is_current and root not in rules:
                rules[root] = Walk(str(root.path), roots.hidden_paths.names_by_directory)
            if not is_current and not rules[root].includes(entry.relative):
                continue
            with suppress(OSError):  # it is gone
                status = os.lstat(root.absolute_path(entry.relative))
                at = moment_of(status.st_mtime_ns / 1e9)
                if self._is_readable(root, entry.relative, status):
                    key = status.st_dev, status.st_ino
                    found.setdefault(key, TouchedFile(root.name, entry.relative, at))
        files = sorted(found.values(), key=lambda file: file.at, reverse=True)
        return TouchedFiles(files, listed_at, is_current)

    def _is_readable(self, root: Root, path: str, status: os.stat_result) -> bool:
        """Report whether a file is one that is opened as a text."""
        app = self._app
        most_bytes = app.settings["retrieval.max_file_bytes"]
        if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
            return False
        kind = classify_file(app.roots, root, FileStat(path, *state_of(status)))
        located = ResolvedPath(root, Path(root.absolute_path(path)), path, root.path)
        return kind == "file" or (kind == "binary" and bool(reader_tool(app, located)))
