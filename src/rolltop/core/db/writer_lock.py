"""One writer at a time in this process, first come, first served."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import CancelledError, Future
from typing import Final

from rolltop.core.errors import Unavailable


class WriterLock:
    """A fair lock that coroutines of any event loop and plain threads wait for alike.

    SQLite lets one connection write at a time. Waiting for it here, before a worker thread is
    taken, keeps waiting writers from holding the threads that readers need.
    """

    def __init__(self, timeout: float) -> None:
        """Take the longest wait in seconds."""
        self._timeout: Final = timeout
        self._guard: Final = threading.Lock()
        self._held = False
        self._waiting: Final[deque[Future[None]]] = deque()

    async def acquire(self) -> None:
        """Return once the caller is the writer. Raises Unavailable after the timeout."""
        turn = self._queue()
        if turn.done():
            return
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.wrap_future(turn)
        except TimeoutError:
            self._leave(turn)
            raise self._too_long() from None
        except asyncio.CancelledError:
            self._leave(turn)
            raise

    def acquire_now(self) -> None:
        """Block until the caller is the writer. Raises Unavailable after the timeout."""
        turn = self._queue()
        try:
            turn.result(self._timeout)
        except (TimeoutError, CancelledError):
            self._leave(turn)
            raise self._too_long() from None

    def release(self) -> None:
        """Hand the lock to the one who has waited longest; any thread may call this."""
        successor: Future[None] | None = None
        with self._guard:
            while self._waiting and successor is None:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    successor = turn
            self._held = successor is not None
        if successor is not None:
            successor.set_result(None)

    def _queue(self) -> Future[None]:
        turn: Future[None] = Future()
        with self._guard:
            if self._held:
                self._waiting.append(turn)
                return turn
            self._held = True
        turn.set_result(None)
        return turn

    def _leave(self, turn: Future[None]) -> None:
        """Give up a turn; one that was granted in the meantime goes to the next in line."""
        if not turn.cancel():
            self.release()

    def _too_long(self) -> Unavailable:
        return Unavailable(
            f"Another write has kept the store for more than {self._timeout:g} s.",
            hint="Nothing was written; try again.",
        )
