"""Threads for blocking work that may not keep the process from ending, and turns at them."""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from queue import SimpleQueue
from typing import Final, Literal, TypeVar

from rolltop.core.errors import Unavailable

T = TypeVar("T")
Pool = Literal["read", "write", "work", "upload", "body"]
"""What a turn is for: a transaction, other work on a thread, the coming or parsing of a body."""
_ACTIVE_SECONDS: Final = 1.0
"""For so long after it asked for a turn, a caller is taken for one who will ask again."""


def _resolve(future: Future[T], function: Callable[[], T]) -> None:
    """Run a function for whoever waits for the future, unless nobody does any more."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  # the future carries it to the one who asked
        future.set_exception(error)
    else:
        future.set_result(result)


class ThreadPool:
    """At most `limit` daemon threads, started as they are needed.

    The standard library's executor joins its threads when the interpreter ends, so one stuck
    statement would keep the process alive; these are left behind instead.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._limit: Final = limit
        self._name: Final = name
        self._lock: Final = threading.Lock()
        self._jobs: Final[SimpleQueue[Callable[[], None] | None]] = SimpleQueue()
        self._threads: Final[list[threading.Thread]] = []
        self._unfinished = 0
        """Jobs that wait or run."""
        self._closed = False

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Return the future of `function()`.

        Raises Unavailable: after `close`, or where the system has no thread for it; it is not run.
        """
        turn = _own_turn.get()
        held = function if turn is None else turn.hold(function)
        future: Future[T] = Future()
        context = contextvars.copy_context()
        with self._lock:
            if self._closed:
                raise Unavailable(
                    "This is closed and takes no more work.", hint="The server is stopping."
                )
            if len(self._threads) <= self._unfinished and len(self._threads) < self._limit:
                self._start_thread()
            self._unfinished += 1
            self._jobs.put(lambda: context.run(_resolve, future, held))
        return future

    @property
    def backlog(self) -> int:
        """How many functions wait or run."""
        return self._unfinished

    def close(self, wait: float) -> bool:
        """Take no more work and wait up to `wait` seconds for what was taken.

        Returns whether every thread has ended.
        """
        with self._lock:
            self._closed = True
            for _thread in self._threads:
                self._jobs.put(None)
        end = time.monotonic() + wait
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def release(self) -> None:
        """Let the threads end after what was taken: nobody is left to submit anything.

        Waits for nothing, so that it may be called wherever garbage is collected.
        """
        self._closed = True
        for _ in range(self._limit):
            self._jobs.put(None)

    def _start_thread(self) -> None:
        """Start one more; where the system has none, those that there are will do."""
        name = f"{self._name}-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._run_jobs, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if self._threads:
                return
            raise Unavailable(
                "The system has no thread to do this on.",
                hint="Call again in a moment, or let the server have more processes (ulimit -u).",
            ) from error
        self._threads.append(thread)

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # its result belongs to the one who asked, not to an idle thread
            with self._lock:
                self._unfinished -= 1


_own_turn: Final = contextvars.ContextVar["Turn | None"]("own_turn", default=None)


class Turn:
    """One turn: held until its coroutine is done with it, and what it has a thread do as well.

    Whoever gives up a call, or closes its connection, does not get another turn by that.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Final = release
        self._mutex: Final = threading.Lock()
        self._holders = 1

    def hold(self, function: Callable[[], T]) -> Callable[[], T]:
        """Return the function that a thread runs in this turn."""

        def run() -> T:
            with self._mutex:
                is_held = self._holders > 0  # else it was given up just before
                self._holders += is_held
            try:
                return function()
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


_Waiting = tuple[float, int, Future[None]]
"""When a call began, a number that counts up, and what tells it that it has its turn."""


class FairTurns:
    """Turns of callers at each pool of threads, of which as many as there are processors work well.

    A caller alone has twice as many at once, so that the first call of another still meets a thread
    that is free and processors that are shared with few; each of several has its part of the
    processors, but one turn at least. Whoever has no turn left waits for one of its own to end;
    nobody waits for others. Of a caller's calls the one that began first comes first: one of many
    turns would else wait for all the others anew at each of them.

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
        self._waiting: Final[dict[tuple[str, Pool], list[_Waiting]]] = {}
        """Heaps: the next one first."""
        self._numbers: Final = count()

    @asynccontextmanager
    async def turn(
        self, caller: str, pool: Pool, since: float | None = None
    ) -> AsyncGenerator[None]:
        """Wait for a turn, one after the other of a caller's; what is submitted within holds it.

        `since`, in seconds of the clock, is when the call began that asks; None for now.
        """
        key = caller, pool
        await self._acquire(key, self._clock() if since is None else since)
        turn = Turn(lambda: self._release(key))
        _own_turn.set(turn)
        try:
            yield
        finally:
            _own_turn.set(None)
            turn.leave()

    def is_active_since(self, moment: float) -> bool:
        """Whether a caller has had or asked for a turn since then, in seconds of the clock."""
        with self._mutex:
            return bool(self._held) or next(reversed(self._asked.values()), -math.inf) >= moment

    async def _acquire(self, key: tuple[str, Pool], since: float) -> None:
        with self._mutex:
            self._note(key[0])
            if key not in self._waiting and self._held[key] < self._share():
                self._held[key] += 1
                return
            granted: Future[None] = Future()
            waiting = self._waiting.setdefault(key, [])
            heappush(waiting, (since, next(self._numbers), granted))
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
            waiting = self._waiting.get(key, [])
            share = self._share()
            while waiting and self._held[key] < share:
                *_place, next_turn = heappop(waiting)
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
        oldest = next(reversed(self._asked.values())) - _ACTIVE_SECONDS
        while self._asked[caller := next(iter(self._asked))] < oldest:
            del self._asked[caller]
        active = len(self._asked.keys() | {caller for caller, _pool in self._held})
        return self._alone if active == 1 else max(1, self._shared // active)
