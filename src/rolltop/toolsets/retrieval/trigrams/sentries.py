"""Processes that look at the state of every file, each at a share of the directories."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.children import Child, Ended
from rolltop.core.roots.states import Known, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

WORTH: Final = 1_000
"""Files that take one process 5 ms. Others take less than half of that, and 26 MB of memory."""
_MOST: Final = 4
_FACTORY: Final = "rolltop.core.roots.states:Watchman"
_HANDED: Final = 200
"""Directories that are handed over at a time."""


class Sentries:
    """A few processes that tell which directories changed. Any number of threads may ask.

    Looks are numbered. One process that ends is found out by the next look.
    """

    def __init__(self) -> None:
        """Start the processes."""
        count = max(1, min(_MOST, os.cpu_count() or 1))
        self._children: Final = [Child(_FACTORY) for _ in range(count)]
        self._new: Final[list[list[Known]]] = [[] for _ in self._children]
        self._dropped: Final[list[list[int]]] = [[] for _ in self._children]
        self._last = 0
        self._begun = self._ended = self._added = 0
        """Numbers of looks: the last one begun, ended, and begun before a directory was added."""
        self._lock: Final = Lock()

    def add(self, path: str, names: Sequence[str], states: bytes) -> int:
        """Look at a directory from now on; return its number."""
        with self._lock:
            self._last += 1
            share = self._last % len(self._children)
            self._new[share].append(Known(self._last, path, list(names), states))
            self._added = self._begun
            if len(self._new[share]) >= _HANDED:
                self._hand_over(share)
            return self._last

    def drop(self, number: int) -> None:
        """Look at a directory no longer."""
        with self._lock:
            share = number % len(self._children)
            self._new[share] = [known for known in self._new[share] if known.number != number]
            self._dropped[share].append(number)

    def ticket(self) -> int:
        """Return the number of the next look, which is begun if none is under way.

        What it reports is at least as new as this call.
        """
        ticket = self._begun + 1
        if self._lock.acquire(blocking=False):
            try:
                if self._begun == self._ended:
                    self._begin()
            finally:
                self._lock.release()
        return ticket

    def changed(self, ticket: int) -> set[int]:
        """Return the directories that changed up to the look of that number, or a later one.

        Raises:
            Ended: a process did; these are of no use any more.

        """
        changed = set[int]()
        with self._lock:
            # What was added while a look was under way was seen before it, and not looked at.
            while self._ended < max(ticket, self._added + 1):
                if self._begun == self._ended:
                    self._begin()
                for child in self._children:
                    changed.update(_answered(child))
                self._ended += 1
        return changed

    def close(self) -> None:
        """End the processes."""
        for child in self._children:
            child.kill()

    def _begin(self) -> None:
        self._begun += 1
        for share in range(len(self._children)):
            self._hand_over(share, look=True)

    def _hand_over(self, share: int, *, look: bool = False) -> None:
        request: Request = self._new[share], self._dropped[share], look
        with suppress(Ended):  # then there will be no answer
            self._children[share].send(request)
        self._new[share], self._dropped[share] = [], []


def _answered(child: Child) -> list[int]:
    """Return the answer to a look, which comes after those to what was handed over before."""
    while True:
        answer = cast("list[int] | None", child.receive())
        if answer is not None:
            return answer
