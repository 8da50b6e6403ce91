"""Embeds chunks in a worker process: those that searches lacked, then recently changed files."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from threading import Lock
from typing import Final

from rolltop.core import embedding, logging
from rolltop.core.errors import Unavailable
from rolltop.core.worker_process import Worker, WorkerDied, WorkerPool
from rolltop.toolsets.retrieval.index.chunker import split_chunks
from rolltop.toolsets.retrieval.index.file_text import Unreadable, read_text
from rolltop.toolsets.retrieval.index.vectors import (
    SIZE,
    Vectors,
    key_of,
    pack_vectors,
    text_to_embed,
)
from rolltop.toolsets.retrieval.index.workers import NICE, PACKAGE
from rolltop.workspace import FileStat, Root, Roots

# Vectors made before any search needs them: seconds to minutes of one core.
MAX_AHEAD: Final = 2_000

# Vectors take at most 1/100 of a root's text on disk, or the size of those made ahead.
_SHARE: Final = 100

FACTORY: Final = f"{__name__}:embedder"
# Texts embedded at once: the memory the model takes meanwhile grows with them.
_BATCH: Final = 4
_MAX_WAITING: Final = 500
# An idle process ends after this time, since it keeps the model in memory.
MAX_IDLE_SECONDS: Final = 30.0
# Seconds for a batch of texts on a busy machine.
_TIMEOUT: Final = 600.0
# CPU seconds of all cores, including loading the model.
_CPU_SECONDS: Final = 120.0
_MAX_FAILURES: Final = 3


class VectorBuilder:
    """Embeds chunks in the background. `run` is for one thread at a time, the rest thread-safe."""

    def __init__(self, roots: Roots, version: str) -> None:
        self._roots: Final = roots
        self._version: Final = version
        self._lock: Final = Lock()
        self._lacking: Final[dict[str, OrderedDict[str, None]]] = {}
        self._used: Final[dict[str, set[bytes]]] = {}
        self._ahead: Final[dict[str, Iterator[str]]] = {}
        self._most: Final[dict[str, int]] = {}
        # Roots with no vectors left to make ahead.
        self._done: Final[set[str]] = set()
        self._pool: Final = WorkerPool(
            Worker(FACTORY, nice=NICE, skip_init=PACKAGE),
            idle_seconds=MAX_IDLE_SECONDS,
        )
        self._failures = 0

    def note(self, root: str, used: Sequence[bytes], lacking: Sequence[str]) -> None:
        """Record the vectors a search used in a root and the texts that lacked one, best first."""
        with self._lock:
            self._used.setdefault(root, set()).update(used)
            waiting = self._lacking.setdefault(root, OrderedDict())
            for text in reversed(lacking):
                waiting[text] = None
                waiting.move_to_end(text)
            while len(waiting) > _MAX_WAITING:
                waiting.popitem(last=False)

    def waits(self, root: str) -> bool:
        """Report whether searches of a root left anything to record or embed."""
        with self._lock:
            return bool(self._lacking.get(root) or self._used.get(root))

    def pending(self, root: str) -> bool:
        """Report whether there is work for a root; never for one that was not searched."""
        begun = root in self._lacking and self._failures < _MAX_FAILURES
        return begun and (self.waits(root) or root not in self._done)

    def run(
        self,
        root: Root,
        vectors: Vectors,
        files: Callable[[], Sequence[FileStat]],
        stopped: Callable[[], bool],
    ) -> None:
        """Embed missing texts of a root until stopped; `files` lists its text files."""
        if root.name not in self._most:
            self._begin(root, files())
        most = self._most[root.name]
        while not stopped() and self._failures < _MAX_FAILURES:
            used, texts = self._take_next(root.name)
            if not used and not texts:
                break
            vectors.put(self._make_vectors(vectors, texts), used, most, ahead=False)
        while not stopped() and self._failures < _MAX_FAILURES and not self.waits(root.name):
            if root.name in self._done or not vectors.leads(os.getpid()):
                break
            texts = list(islice(self._ahead[root.name], _BATCH))
            if not texts:
                self._done.add(root.name)
            vectors.put(self._make_vectors(vectors, texts), (), most, ahead=True)

    def close(self) -> None:
        """Kill the process."""
        self._pool.close()

    def _begin(self, root: Root, files: Sequence[FileStat]) -> None:
        """Set the maximum number of vectors, and the files to start with."""
        text = sum(entry.size for entry in files)
        ordered = sorted(files, key=lambda entry: (-entry.mtime_ns, entry.relative))
        self._most[root.name] = max(MAX_AHEAD, text // (_SHARE * SIZE))
        self._ahead[root.name] = islice(_texts(self._roots, root, ordered), MAX_AHEAD)

    def _take_next(self, root: str) -> tuple[set[bytes], list[str]]:
        """Take the keys used since the last call, and the texts to embed next."""
        with self._lock:
            waiting = self._lacking.get(root, OrderedDict[str, None]())
            texts = [waiting.popitem()[0] for _ in range(min(_BATCH, len(waiting)))]
            return self._used.pop(root, set()), texts

    def _make_vectors(self, vectors: Vectors, texts: Sequence[str]) -> dict[bytes, bytes]:
        """Embed the texts that have no vector; return vectors by key, none on failure."""
        keys = {key_of(self._version, text): text for text in texts}
        there = vectors.of(keys)
        wanted = {key: text for key, text in keys.items() if key not in there}
        if not wanted:
            return {}
        try:
            answer: list[bytes] = self._pool.call(list(wanted.values()), _TIMEOUT, _CPU_SECONDS)
        except (WorkerDied, Unavailable):
            self._failures += 1
            if self._failures == _MAX_FAILURES:
                logging.event("vectors not made", level="warn", reason="the process ended")
            return {}
        self._failures = 0
        return dict(zip(wanted, answer, strict=True))


def embedder() -> Callable[[list[str]], list[bytes]]:
    """Create the embedding function (runs in a worker process)."""
    loaded = embedding.get_embedder()
    if loaded is None:
        raise LookupError(embedding.EXTRA)

    def answer(texts: list[str]) -> list[bytes]:
        return pack_vectors(loaded.embed(texts))

    return answer


def _texts(roots: Roots, root: Root, entries: Sequence[FileStat]) -> Iterator[str]:
    """Yield the texts to embed of the files' chunks, reading each file when its turn comes."""
    for entry in entries:
        try:
            _, text = read_text(roots, root, entry)
        except (Unreadable, Unavailable):
            continue
        for chunk in split_chunks(entry.relative, text):
            yield text_to_embed(chunk.own(text))
