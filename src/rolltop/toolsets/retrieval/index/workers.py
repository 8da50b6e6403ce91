"""Worker processes that read files into an index: a text may make them crash or hang."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rolltop.core import logging
from rolltop.core.errors import Unavailable
from rolltop.core.worker_process import Worker, WorkerDied, WorkerPool
from rolltop.documents.extractors.formats import has_document_name
from rolltop.toolsets.retrieval.store import Busy, IndexFile, Unusable

if TYPE_CHECKING:
    from rolltop.workspace import FileStat

# The toolset package, which index workers skip importing: tools, settings and their schemas.
PACKAGE: Final = __name__.rsplit(".", 2)[0]
NICE: Final = 5
"""What index workers add to their niceness; at 19 a busy machine lets an index wait for minutes."""
# Seconds that files may take to be read, however slow their disk and busy the machine.
_TIMEOUT: Final = 600.0
# Of processor time: ten times what the slowest known text takes.
CPU_SECONDS: Final = 10.0
_CPU_SECONDS_PER_MIB: Final = 4.0
_DOCUMENT_CPU_SECONDS: Final = 60.0

TFile = TypeVar("TFile", bound=IndexFile)


class IndexWorkers:
    """Worker processes that read files into an index and tidy it, by `serve_index`."""

    def __init__(self, factory: str, arguments: tuple[object, ...], max_workers: int = 1) -> None:
        """Start none yet; `factory` names the function that returns `serve_index(…)`."""
        self._pool: Final = WorkerPool(
            Worker(factory, arguments, nice=NICE, skip_init=PACKAGE),
            max_workers=max_workers,
            max_idle=max_workers,
        )
        self.has_read = False
        """Whether one was asked to read since they were last stopped."""

    def read(
        self,
        batch: Sequence[FileStat],
        request: Callable[[Sequence[FileStat]], object],
        skip: Callable[[FileStat], None],
    ) -> Iterator[Any]:
        """Send the request for a batch and yield the answer; one for each file if that kills it.

        `skip` notes a file that kills the process by itself. Files that were read are skipped when
        they are asked for again.

        Raises:
            Busy: no process is available, or another process is writing.
            Unusable: no process starts, or the index cannot be used.

        """
        self.has_read = True
        size = sum(entry.size for entry in batch)
        try:
            seconds = CPU_SECONDS + _CPU_SECONDS_PER_MIB * size / (1 << 20)
            if any(has_document_name(entry.relative) for entry in batch):
                seconds = max(seconds, _DOCUMENT_CPU_SECONDS)  # small ones may have many pages
            answer = self._ask(request(batch), seconds)
        except WorkerDied as died:
            if died.at_start:
                raise Unusable from died
            if len(batch) > 1:
                for one in batch:
                    yield from self.read([one], request, skip)
                return
            logging.event("file not indexed", level="warn", reason="its process ended")
            skip(batch[0])
        else:
            yield answer

    def tidy(self, index: IndexFile) -> None:
        """Reclaim disk space, in a worker process if one has read. Raises as `read`."""
        if not self.has_read:
            index.tidy()
            return
        self.stop()  # and with it go the 100 MB that reading took
        with suppress(WorkerDied):  # it is as it was
            self._ask(None, math.inf)

    def stop(self) -> None:
        """End the processes, whatever they are doing; the next request starts others."""
        self.has_read = False
        self._pool.stop()

    def close(self) -> None:
        """Kill the processes and take no more requests."""
        self._pool.close()

    def _ask(self, request: object, cpu_seconds: float) -> Any:  # noqa: ANN401  # as the program's
        try:
            answer = self._pool.call(request, _TIMEOUT, cpu_seconds)
        except Unavailable:
            raise Busy from None
        if isinstance(answer, Busy | Unusable):
            raise answer
        return answer


def serve_index(
    open_index: Callable[[], TFile], read: Callable[[TFile, Any], object]
) -> Callable[[Any], object]:
    """Create the request handler of an index's worker process.

    A request is one for `read`, or None to tidy the index. Busy and Unusable are returned as
    values; an unusable index is opened anew for the next request.
    """
    opened: list[TFile] = []

    def answer(request: object) -> object:
        try:
            if not opened:
                opened.append(open_index())
            if request is not None:
                return read(opened[0], request)
            opened[0].tidy()
        except Busy:
            return Busy()
        except Unusable as problem:
            opened.clear()
            return type(problem)()
        return None

    return answer
