"""The end of a process: what asks for it, and that it comes in time whatever is stuck."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Ending:
    """The wish that this process ends. Any thread, and a signal, may voice it; the first counts."""

    def __init__(self, limit: float) -> None:
        """`limit` is the seconds between the wish and the end, come what may."""
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._wished = asyncio.Event()
        self._lock = threading.RLock()
        self._later: list[tuple[float, Callable[[], None]]] = []
        self.reason = ""
        self.code = 0
        self.since = 0.0
        """When the end was wished for, by the clock of the loop."""

    def after(self, seconds: float, function: Callable[[], None]) -> None:
        """Let `function()` run on a thread so long after the wish, whether the loop runs or not.

        Say so before anybody can voice the wish.
        """
        self._later.append((seconds, function))

    def begin(self, reason: str, code: int = 0) -> None:
        """Wish for the end with this exit code, and see to it that it comes within the limit."""
        with self._lock:
            if self.reason:
                return
            self.reason, self.code, self.since = reason, code, self._loop.time()
        for seconds, function in ((self._limit, partial(os._exit, code)), *self._later):
            timer = threading.Timer(seconds, function)
            timer.daemon = True
            timer.start()
        self._loop.call_soon_threadsafe(self._wished.set)

    async def wished(self) -> None:
        """Wait until the end is wished for."""
        await self._wished.wait()

    def on_signals(self) -> None:
        """Let SIGTERM and SIGINT wish for the end. Only the main thread may call this."""
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                self._loop.add_signal_handler(number, self.begin, number.name)
            except NotImplementedError:  # Windows: its loop wakes up for SIGINT by itself
                signal.signal(number, lambda got, _: self.begin(signal.Signals(got).name))
