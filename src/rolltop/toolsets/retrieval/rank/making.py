"""Vectors made in a process of its own: of what searches lacked, then of what changed last."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

from rolltop.core import embed, logs
from rolltop.core.children import Child, Ended
from rolltop.core.errors import Unavailable
from rolltop.toolsets.retrieval.rank.reading import Unreadable, read
from rolltop.toolsets.retrieval.rank.units import units_of
from rolltop.toolsets.retrieval.rank.vectors import SIZE, embedded, key_of, packed
from rolltop.toolsets.retrieval.store import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rolltop.core.roots import Entry, Root, Roots
    from rolltop.toolsets.retrieval.rank.vectors import Vectors

MOST_AHEAD: Final = 2_000
"""Vectors of a root that are made before a search lacks them: seconds to minutes of a core."""

_SHARE: Final = 100
"""A hundredth of its text is what a root's vectors may take on disk, or what those ahead take."""

_FACTORY: Final = f"{__name__}:child"
_LOWEST: Final = 19
_BATCH: Final = 4
"""Texts embedded at once: the memory the model takes meanwhile grows with them."""
_MOST_WAITING: Final = 500
_IDLE: Final = 30.0
"""Seconds after which the process ends that has nothing to do: it holds the model."""
_MOST_FAILURES: Final = 3


class Making:
    """The making of vectors. `run` is for one thread at a time, the rest for any."""

    def __init__(self, roots: Roots, model: str, version: str) -> None:
        """Take the model's name and version; start nothing yet."""
        self._roots: Final = roots
        self._model: Final = model
        self._version: Final = version
        self._lock: Final = Lock()
        self._lacking: Final[dict[str, OrderedDict[str, None]]] = {}
        self._used: Final[dict[str, set[bytes]]] = {}
        self._ahead: Final[dict[str, Iterator[str]]] = {}
        self._most: Final[dict[str, int]] = {}
        self._done: Final[set[str]] = set()
        """Roots of which nothing is left to be made ahead."""
        self._child: Child | None = None
        self._busy_at = 0.0
        self._failures = 0

    def note(self, root: str, used: Sequence[bytes], lacking: Sequence[str]) -> None:
        """Note what a search compared in a root and what it could not, best first."""
        with self._lock:
            self._used.setdefault(root, set()).update(used)
            waiting = self._lacking.setdefault(root, OrderedDict())
            for text in reversed(lacking):
                waiting[text] = None
                waiting.move_to_end(text)
            while len(waiting) > _MOST_WAITING:
                waiting.popitem(last=False)

    def waits(self, root: str) -> bool:
        """Return whether there is anything to note or to make for searches of a root."""
        with self._lock:
            return bool(self._lacking.get(root) or self._used.get(root))

    def pending(self, root: str) -> bool:
        """Return whether there is anything to do for a root; for one never searched there isn't."""
        begun = root in self._lacking and self._failures < _MOST_FAILURES
        return begun and (self.waits(root) or root not in self._done)

    def run(
        self,
        root: Root,
        vectors: Vectors,
        files: Callable[[], Sequence[Entry]],
        stopped: Callable[[], bool],
    ) -> None:
        """Make what is lacking in a root, until stopped; `files` are its files of text."""
        if root.name not in self._most:
            self._begin(root, files())
        most = self._most[root.name]
        while not stopped() and self._failures < _MOST_FAILURES:
            used, texts = self._taken(root.name)
            if not used and not texts:
                break
            vectors.put(self._made(vectors, texts), used, most, ahead=False)
        while not stopped() and self._failures < _MOST_FAILURES and not self.waits(root.name):
            if root.name in self._done or not vectors.leads(os.getpid()):
                break
            texts = list(islice(self._ahead[root.name], _BATCH))
            if not texts:
                self._done.add(root.name)
            vectors.put(self._made(vectors, texts), (), most, ahead=True)

    def rest(self) -> None:
        """End the process where it had nothing to do for a while."""
        if self._child is not None and time.monotonic() - self._busy_at > _IDLE:
            self.close()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def _begin(self, root: Root, files: Sequence[Entry]) -> None:
        """Take down how many vectors there may be, and what to begin with."""
        text = sum(entry.size for entry in files)
        ordered = sorted(files, key=lambda entry: (-entry.mtime_ns, entry.relative))
        self._most[root.name] = max(MOST_AHEAD, text // (_SHARE * SIZE))
        self._ahead[root.name] = islice(_texts(self._roots, root, ordered), MOST_AHEAD)

    def _taken(self, root: str) -> tuple[set[bytes], list[str]]:
        """Return what was used since the last time, and what to make next."""
        with self._lock:
            waiting = self._lacking.get(root, OrderedDict[str, None]())
            texts = [waiting.popitem()[0] for _ in range(min(_BATCH, len(waiting)))]
            return self._used.pop(root, set()), texts

    def _made(self, vectors: Vectors, texts: Sequence[str]) -> dict[bytes, bytes]:
        """Return vectors of those texts that have none, by their keys; none where that fails."""
        keys = {key_of(self._version, text): text for text in texts}
        there = vectors.of(keys)
        wanted = {key: text for key, text in keys.items() if key not in there}
        if not wanted:
            return {}
        try:
            if self._child is None:
                self._child = Child(_FACTORY, self._model, nice=_LOWEST, passing=PACKAGE)
            child = self._child
            child.send(list(wanted.values()))
            answer = cast("list[bytes]", child.receive())
        except (Ended, OSError):
            self.close()
            self._failures += 1
            if self._failures == _MOST_FAILURES:
                logs.event("vectors not made", level="warn", reason="the process ended")
            return {}
        self._failures, self._busy_at = 0, time.monotonic()
        return dict(zip(wanted, answer, strict=True))


def child(model: str) -> Callable[[list[str]], list[bytes]]:
    """Return what embeds texts, in a child."""
    embedder = embed.embedder(model)
    if embedder is None:
        raise LookupError(model)

    def answer(texts: list[str]) -> list[bytes]:
        return packed(embedder.embed(texts))

    return answer


def _texts(roots: Roots, root: Root, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield what is embedded of the units of files, as they are when their turn comes."""
    for entry in entries:
        try:
            _, text = read(roots, root, entry)
        except (Unreadable, Unavailable):
            continue
        for unit in units_of(entry.relative, text):
            yield embedded(unit.own(text))
