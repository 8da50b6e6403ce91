"""Threads for blocking work that may not keep the process from ending."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

from rolltop.core.errors import Unavailable

T = TypeVar("T")


class _WorkItem(Generic[T]):
    """One function to run, in the context of the one who asked."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.future: Final[Future[T]] = Future()
        self._function: Final = function
        self._context: Final = contextvars.copy_context()

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self._context.run(self._function)
        except BaseException as error:  # noqa: BLE001  # the future carries it to the one who asked
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class ThreadPool:
    """At most `limit` daemon threads, started as they are needed.

    The standard library's executor joins its threads when the interpreter ends, so one stuck
    statement would keep the process alive; these are left behind instead.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._limit: Final = limit
        self._name: Final = name
        self._lock: Final = threading.Lock()
        self._jobs: Final[SimpleQueue[_WorkItem[object] | None]] = SimpleQueue()
        self._threads: Final[list[threading.Thread]] = []
        self._unfinished = 0
        """Jobs that wait or run."""
        self._closed = False

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Return the future of `function()`.

        Raises:
            Unavailable: after `close`, or where the system has no thread for it; it is not run.

        """
        job = _WorkItem(function)
        with self._lock:
            if self._closed:
                raise Unavailable(
                    "This is closed and takes no more work.", hint="The server is stopping."
                )
            if len(self._threads) <= self._unfinished and len(self._threads) < self._limit:
                self._start_thread()
            self._unfinished += 1
            self._jobs.put(job)  # pyright: ignore[reportArgumentType]  # a queue of any results
        return job.future

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
            job.run()
            del job  # its result belongs to the one who asked, not to an idle thread
            with self._lock:
                self._unfinished -= 1
