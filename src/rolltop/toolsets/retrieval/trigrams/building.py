"""Files read into the index: here, or in a process of its own where there are many."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.children import Child, Ended
from rolltop.core.workers import Workers
from rolltop.toolsets.retrieval.store import PACKAGE, Busy, Damaged, Growth, Unusable, batches
from rolltop.toolsets.retrieval.trigrams.postings import Noted, Postings
from rolltop.toolsets.retrieval.trigrams.reading import Unsettled, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from rolltop.core.roots import Entry, Root, Roots

WORTH: Final = 8 << 20
"""Bytes to be read from which on a process of its own does it, out of this one's way."""
_FACTORY: Final = "rolltop.toolsets.retrieval.trigrams.building:Reader"
_NICE: Final = 5
_WRITTEN_BYTES: Final = 2 << 20
_WRITTEN_FILES: Final = 1000
"""Files that are noted together, while the next are read."""
_MOST_STARTS: Final = 3
"""How many processes may end by themselves: after that this one reads."""


Request = tuple[str, "list[Entry]"]
"""The name of a root, and files to be read in it."""


Refused = dict["Entry", bool]
"""Files that could not be read, with whether they may be readable before they change again."""


class Reader:
    """Reads batches of files into the index; also the program of a `Child`."""

    def __init__(self, roots: Roots, folder: Path) -> None:
        """Open nothing yet."""
        self._roots: Final = roots
        self._folder: Final = folder
        self._postings: Postings | None = None

    def __call__(self, request: Request | None) -> Refused | Busy | Damaged | Unusable:
        """Return what became of the files of a root, or why nothing did; without any, tidy up."""
        try:
            if self._postings is None:
                self._postings = Postings(self._folder)
            if request is None:
                self._postings.tidy()
                return {}
            name, batch = request
            root = self._roots.root(name)
            if root is None:
                return dict.fromkeys(batch, False)
            return into(self._postings, self._roots, root, batch, lambda: False)
        except Busy as problem:
            return problem
        except Unusable as problem:
            self._postings = None
            return type(problem)()


def into(
    postings: Postings,
    roots: Roots,
    root: Root,
    batch: list[Entry],
    stopped: Callable[[], bool],
) -> Refused:
    """Read files into the index until stopped; return which could not be.

    Those that another process has read are passed by.

    Some are read while those before them are written. Raises Busy, Damaged or Unusable.
    """
    refused: Refused = {}
    workers = Workers(1, "code-index")
    written: Future[None] | None = None
    try:
        for some in batches(batch, size_of, _WRITTEN_BYTES, _WRITTEN_FILES):
            if stopped():
                break
            lacking = postings.lacking(str(root.path), some)
            noted = list(_noted(roots, root, lacking, refused))
            if written is not None:
                written.result()
            if noted:
                written = workers.submit(partial(postings.put, str(root.path), noted))
        if written is not None:
            written.result()
    finally:
        workers.close(0)
    return refused


def _noted(roots: Roots, root: Root, batch: list[Entry], refused: Refused) -> Iterator[Noted]:
    for entry in batch:
        try:
            state, kind, text = read(roots, root, entry)
        except Unsettled as reason:
            refused[entry] = reason.passing
        else:
            yield Noted(entry.relative, state, kind, text)


def size_of(entry: Entry) -> int:
    """Return the bytes of a file."""
    return entry.size


class Building:
    """Readers for the roots of one process. Any number of threads may ask; one is served."""

    def __init__(self, roots: Roots, folder: Path) -> None:
        """Start nothing yet."""
        self._roots: Final = roots
        self._folder: Final = folder
        self._lock: Final = Lock()
        self._child: Child | None = None
        self._starts = _MOST_STARTS
        self._growth: Final = Growth()

    def read(
        self,
        postings: Postings,
        root: Root,
        batch: list[Entry],
        stopped: Callable[[], bool],
        *,
        many: bool,
    ) -> Refused:
        """Read files into the index: in another process, where there are `many` to come.

        Another one is ended by `rest`; this one asks whether it is `stopped`.

        Raises:
            Busy: another process is writing.
            Unusable: the index cannot be used; Damaged, it was given up.

        """
        with self._lock:
            refused: Refused | None = None
            while refused is None and many and (child := self._started()) is not None:
                refused = self._asked(child, (root.name, batch))
            if refused is None:
                refused = into(postings, self._roots, root, batch, stopped)
            self._growth.add(sum(entry.size for entry in batch))
            return refused

    def tidy(self, postings: Postings, whole: Callable[[], int]) -> None:
        """Give back the room on disk that reading left, where it was much of the whole.

        Raises Damaged.
        """
        with self._lock:
            self._growth.tidy(whole, lambda: self._tidied(postings))

    def _tidied(self, postings: Postings) -> None:
        """Tidy the index, by another process if one has read. Raises as `read`."""
        if self._child is None:
            postings.tidy()
            return
        self.rest()  # and with it go the 100 MB that reading took
        child = self._started()
        if child is not None:
            self._asked(child, None)

    def _asked(self, child: Child, request: Request | None) -> Refused | None:
        """Have the process do it; None where it ended instead. Raises as `read`."""
        try:
            child.send(request)
            answer = cast("Refused | Busy | Unusable", child.receive())
        except Ended:
            if self._child is not child:
                raise Busy from None  # it was put to rest: nobody waits for what it was doing
            self._starts -= 1
            self.rest()
            return None
        if isinstance(answer, dict):
            return answer
        raise answer

    def rest(self) -> None:
        """End the process, even while it reads: there is nothing more to read for now."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def _started(self) -> Child | None:
        if self._child is None and self._starts:
            try:
                self._child = Child(
                    _FACTORY, self._roots, self._folder, nice=_NICE, passing=PACKAGE
                )
            except OSError:
                return None
        return self._child
