"""The end of a process: what asks for it, and that it comes in time whatever is stuck."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from rolltop.core import logging

_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP")
_WATCHDOG_MARGIN_SECONDS: Final = 0.05
_WATCHDOG_PROGRAM: Final = """
import os, select, signal, sys, time
for name in sys.argv[3:]:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
if number := os.read(0, 1):
    end = time.monotonic() + float(sys.argv[2])
    if not select.select([0], [], [], 0.1)[0]:
        os.kill(int(sys.argv[1]), number[0])
    while select.select([0], [], [], max(0.0, end - time.monotonic()))[0]:
        if not os.read(0, 65536):
            sys.exit()
    os.kill(int(sys.argv[1]), signal.SIGKILL)
"""


class Shutdown:
    """The shutdown of this process. Any thread, and a signal, may request it; the first counts."""

    def __init__(self, limit: float) -> None:
        """Force the exit `limit` seconds after the request."""
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._requested = asyncio.Event()
        self._lock = threading.RLock()
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self.reason = ""
        self.code = 0
        self.requested_at = 0.0
        """When the shutdown was requested, by the clock of the loop."""
        self._watchdog: subprocess.Popen[bytes] | None = None

    def schedule(self, seconds: float, function: Callable[[], None]) -> None:
        """Run `function()` on a thread that long after the request, whether the loop runs or not.

        Call it before anybody can request the shutdown.
        """
        self._timers.append((seconds, function))

    def request(self, reason: str, code: int = 0) -> None:
        """Request shutdown with this exit code; force the exit after the limit."""
        with self._lock:
            if self.reason:
                return
            self.reason, self.code, self.requested_at = reason, code, self._loop.time()
        for seconds, function in ((self._limit, partial(os._exit, code)), *self._timers):
            timer = threading.Timer(seconds, function)
            timer.daemon = True
            timer.start()
        self._loop.call_soon_threadsafe(self._requested.set)

    async def wait(self) -> None:
        """Wait until a shutdown is requested."""
        await self._requested.wait()

    def install_signal_handlers(self) -> None:
        """Let SIGTERM, SIGINT and SIGHUP request shutdown. Only the main thread may call this."""
        for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
            if number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN:
                continue  # nohup
            signal.signal(number, self._handle_signal)
        if sys.platform != "win32":  # there, to terminate a process asks nobody
            self._watchdog = _start_watchdog(self._limit + _WATCHDOG_MARGIN_SECONDS)

    def _handle_signal(self, number: int, _frame: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: this is the end already
            self._loop.call_soon_threadsafe(self.request, signal.Signals(number).name)


def _start_watchdog(limit: float) -> subprocess.Popen[bytes] | None:
    """Have a process kill this one `limit` seconds after a signal, unless it has ended by then.

    A thread that holds the interpreter's lock, in a regular expression say, keeps every handler
    written in Python from running. The interpreter's own part in C tells the process at once, by
    the number of the signal. The process sends it once more, for one that comes just before the
    loop falls asleep does not wake it up.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    program = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        _WATCHDOG_PROGRAM,
        str(os.getpid()),
        str(limit),
        *_SIGNALS,
    ]
    try:
        guard = subprocess.Popen(  # noqa: S603  # our own program, no shell
            program,
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        logging.event("signals are not guarded", level="warn", reason="no process could be started")
        os.close(writing)
        return None
    finally:
        os.close(reading)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return guard
