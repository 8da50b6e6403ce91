"""Several processes that accept from one listening socket: `rolltop serve --http --workers N`.

The parent serves nothing itself. It starts the first worker, once that serves the others, and a new
one for each that ends. Each has a socket to the parent, over which it says that it serves and hears
that all stop, and by whose end either learns that the other is gone.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from rolltop.core import logging
from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import Settings
from rolltop.server.listeners import bind_tcp_socket

READY: Final = b"+"
_STOP: Final = b"-"
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM))
_RESTART_PAUSE: Final = 1.0  # seconds after one that ended before it served


@dataclass(frozen=True)
class InheritedSockets:
    """What a worker has from its parent: the socket to accept from, and the one to the parent."""

    listener: socket.socket
    parent: socket.socket

    @classmethod
    def from_argument(cls, text: str) -> InheritedSockets:
        """Take over the descriptors that the parent named."""
        listener, parent = (socket.socket(fileno=int(number)) for number in text.split(","))
        for inherited in (listener, parent):
            inherited.set_inheritable(False)
        parent.settimeout(0)
        return cls(listener, parent)

    def has_ended(self) -> bool:
        """Whether the parent is gone."""
        return self._peek() == b""

    def is_shared(self) -> bool:
        """Whether others go on to take connections: the parent has not stopped all."""
        return self._peek() is None

    def _peek(self) -> bytes | None:
        """Return the first byte from the parent: b"" where it is gone, None where there is none."""
        try:
            return self.parent.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except ConnectionError:  # it left something unread
            return b""


def serve_workers(settings: Settings, count: int) -> int:
    """Serve by so many processes until a signal comes; return the exit code.

    Raises:
        InvalidConfig: a setting is wrong, or goes with one process only.
        StartupError: the address is taken.

    """
    if os.name != "posix":
        raise InvalidConfig("--workers needs a POSIX system", hint="Leave out --workers.")
    if settings["http.socket"] is not None:
        raise InvalidConfig(
            "--workers: http.socket is one process's", hint="Leave out --workers or http.socket."
        )
    with bind_tcp_socket(settings["http.host"], settings["http.port"]) as listener:
        return _Supervisor(listener, count).run()


def _take_note(_number: int, _frame: object) -> None:
    """Do nothing: the signal's number has been written to the wakeup socket."""


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    link: socket.socket
    is_ready: bool = False


class _Supervisor:
    """Keeps `count` workers running until a signal comes, or the first ends before it serves."""

    def __init__(self, listener: socket.socket, count: int) -> None:
        self._listener = listener
        self._count = count
        self._workers: set[_Worker] = set()
        self._has_served = False
        self._is_stopping = False
        self._next_start = 0.0
        self._code = 0
        self._selector = selectors.DefaultSelector()
        self._signals, self._wakeup = socket.socketpair()
        os.set_blocking(self._wakeup.fileno(), False)
        self._selector.register(self._signals, selectors.EVENT_READ)

    def run(self) -> int:
        """Return the exit code once all have ended."""
        # First: a signal that a handler takes before is lost.
        signal.set_wakeup_fd(self._wakeup.fileno())
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                signal.signal(number, _take_note)
        self._start_worker()
        while self._workers or not self._is_stopping:
            for key, _events in self._selector.select(self._start_missing()):
                if key.data is None:
                    self._stop(self._signals.recv(1)[0])
                elif self._hears(key.data):
                    key.data.is_ready = self._has_served = True
                else:
                    self._bury(key.data)
        return self._code

    def _start_missing(self) -> float | None:
        """Start the workers that are missing; return the seconds until the next attempt."""
        if self._is_stopping or not self._has_served:
            return None
        wait = self._next_start - time.monotonic()
        if wait > 0:
            return wait
        try:
            while len(self._workers) < self._count:
                self._start_worker()
        except OSError as failure:  # no memory or process is left now: the others serve on
            logging.event("no worker started", level="warn", reason=failure.strerror)
            self._next_start = time.monotonic() + _RESTART_PAUSE
            return _RESTART_PAUSE
        return None

    def _start_worker(self) -> None:
        ours, theirs = socket.socketpair()
        sockets = (self._listener.fileno(), theirs.fileno())
        inherited = f"--inherited-sockets={sockets[0]},{sockets[1]}"
        command = [sys.executable, "-P", "-m", "rolltop", *sys.argv[1:], inherited]
        with theirs:
            process = subprocess.Popen(command, pass_fds=sockets)  # noqa: S603  # our own program
        worker = _Worker(process, ours)
        self._workers.add(worker)
        self._selector.register(ours, selectors.EVENT_READ, worker)

    def _hears(self, worker: _Worker) -> bool:
        """Whether a worker said something; else it has ended."""
        try:
            return bool(worker.link.recv(1))
        except ConnectionError:
            return False

    def _bury(self, worker: _Worker) -> None:
        """Note how a worker ended, and what becomes of the others."""
        self._selector.unregister(worker.link)
        worker.link.close()
        self._workers.remove(worker)
        code = worker.process.wait()
        if self._is_stopping:
            self._code = max(self._code, code)
            return
        if not self._has_served:
            self._is_stopping, self._code = True, max(code, 1)
            return
        logging.event("worker ended", level="warn", pid=worker.process.pid, code=code)
        if not worker.is_ready:
            self._next_start = time.monotonic() + _RESTART_PAUSE

    def _stop(self, number: int) -> None:
        """Pass a signal on; the workers' own sockets are then the last ones."""
        self._is_stopping = True
        self._listener.close()
        for worker in self._workers:
            with suppress(OSError):  # it has ended
                worker.link.send(_STOP)
            worker.process.send_signal(number)
