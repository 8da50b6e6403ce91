"""Turns at the threads that work on calls: none of several callers has more than a fair share."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Final, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Pool = Literal["store", "work", "body"]
"""What a turn is at: threads of transactions, those of all other work, or the reading of a call
that is too large to be taken at once.
"""
_ACTIVE_SECONDS: Final = 1.0
"""For so long after it asked for a turn, a caller is taken for one who will ask again."""


class Turn:
    """One turn: held until its coroutine is done with it, and its function on a thread as well.

    Whoever gives up a call, or closes its connection, does not get another turn by that.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Final = release
        self._mutex: Final = threading.Lock()
        self._holders = 1

    def hold(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return the function that a thread runs in this turn."""

        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with self._mutex:
                is_held = self._holders > 0  # else it was given up just before
                self._holders += is_held
            try:
                return function(*args, **kwargs)
            finally:
                if is_held:
                    self.leave()

        return run

    def leave(self) -> None:
        """Give the turn back, unless another still holds it."""
        with self._mutex:
            self._holders -= 1
            is_over = not self._holders
        if is_over:
            self._release()


class FairTurns:
    """Turns of callers at each pool of threads, of which as many as there are processors work well.

    A caller alone has twice as many at once, so that the first call of another still meets a thread
    that is free and processors that are shared with few; each of several has its part of the
    processors, but one turn at least. Whoever has no turn left waits for one of its own to end;
    nobody waits for others.

    Coroutines of any event loop may share one object.
    """

    def __init__(
        self, threads: int, processors: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take how many threads each pool has, how many processors, and a clock of seconds."""
        self._shared: Final = min(threads, processors)
        self._alone: Final = max(1, min(threads - 1, 2 * processors))
        self._clock: Final = clock
        self._mutex: Final = threading.Lock()
        self._asked: Final[dict[str, float]] = {}
        """When each caller last asked for a turn or gave one back, the least recent first."""
        self._held: Final[Counter[tuple[str, Pool]]] = Counter()
        self._waiting: Final[dict[tuple[str, Pool], deque[Future[None]]]] = {}

    @asynccontextmanager
    async def turn(self, caller: str, pool: Pool) -> AsyncGenerator[Turn]:
        """Wait for a turn, one after the other of a caller's, and hold it."""
        key = caller, pool
        await self._acquire(key)
        turn = Turn(lambda: self._release(key))
        try:
            yield turn
        finally:
            turn.leave()

    async def _acquire(self, key: tuple[str, Pool]) -> None:
        with self._mutex:
            self._note(key[0])
            if key not in self._waiting and self._held[key] < self._share():
                self._held[key] += 1
                return
            granted: Future[None] = Future()
            self._waiting.setdefault(key, deque()).append(granted)
        try:
            await asyncio.wrap_future(granted)
        except asyncio.CancelledError:
            if not granted.cancel():  # it was granted meanwhile
                self._release(key)
            raise

    def _release(self, key: tuple[str, Pool]) -> None:
        successors: list[Future[None]] = []
        with self._mutex:
            self._note(key[0])
            self._held[key] -= 1
            waiting = self._waiting.get(key, deque[Future[None]]())
            share = self._share()
            while waiting and self._held[key] < share:
                next_turn = waiting.popleft()
                if next_turn.set_running_or_notify_cancel():
                    self._held[key] += 1
                    successors.append(next_turn)
            if not waiting:
                self._waiting.pop(key, None)
            if not self._held[key]:
                del self._held[key]
        for successor in successors:
            successor.set_result(None)

    def _note(self, caller: str) -> None:
        self._asked.pop(caller, None)
        self._asked[caller] = self._clock()

    def _share(self) -> int:
        """Return how many turns at a pool each caller may have now."""
        oldest = self._clock() - _ACTIVE_SECONDS
        while (caller := next(iter(self._asked))) and self._asked[caller] < oldest:
            del self._asked[caller]
        active = len(self._asked.keys() | {caller for caller, _pool in self._held})
        return self._alone if active == 1 else max(1, self._shared // active)
