"""The collector of garbage, kept from looking again and again through what is made to stay."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator


class _Rest:
    """Who keeps the collector from running: any number at a time, the start of a server too."""

    def __init__(self) -> None:
        self._lock: Final = Lock()
        self._count = 0
        self._was_on = False
        self._starting = False

    def begin(self) -> None:
        with self._lock:
            self._begin()

    def end(self) -> None:
        with self._lock:
            self._end()

    def begin_start(self) -> None:
        with self._lock:
            if not self._starting:
                self._starting = True
                self._begin()

    def end_start(self) -> None:
        with self._lock:
            if self._starting:
                self._starting = False
                gc.freeze()
                self._end()

    def _begin(self) -> None:
        if not self._count:
            self._was_on = gc.isenabled()
            gc.disable()
        self._count += 1

    def _end(self) -> None:
        self._count -= 1
        if not self._count and self._was_on:
            gc.enable()


_rest: Final = _Rest()


@contextmanager
def uncollected() -> Generator[None]:
    """Let no collection begin for as long as this lasts, on whichever thread.

    For work that makes very many objects, most of which stay: to go through them again and again
    takes a third of its time. What is let go of meanwhile is freed as ever, cycles afterwards.
    """
    _rest.begin()
    try:
        yield
    finally:
        _rest.end()


def starting() -> None:
    """Let no collection begin until `started`: a seventh of what it takes to import all we need."""
    _rest.begin_start()


def started() -> None:
    """Let collections begin, and never go through what is there by now, which stays."""
    _rest.end_start()
