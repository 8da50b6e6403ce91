"""Processes that start in a hundredth of a second: forked from one that has imported everything.

A program started so is a process of its own in every respect but one: what it imports is there
already. Tests of what is loaded when, and of the installed command, start an interpreter instead.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATIENCE: Final = 300.0
"""Seconds after which a process that should have ended is a failure."""
LOCK_PATIENCE: Final = 600.0
"""Seconds that programs wait for a store which others write to: SQLite serves nobody in turn."""
_REPOSITORY: Final = Path(__file__).parents[1]
_SOURCES: Final = f"{_REPOSITORY / 'src'}{os.pathsep}{_REPOSITORY}"


class _Server:
    """The process that forks, started when the first program is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def fork(self, order: bytes, pipes: Sequence[int], told: IO[bytes]) -> int:
        """Return the process that becomes the order's program, which it told."""
        with self._lock:
            orders = self._orders or self._start()
            orders.sendall(order[socket.send_fds(orders, [order], pipes) :])
            return int(told.readline())

    def end(self) -> None:
        """End it, if it was ever started."""
        if self._orders is not None and self._process is not None:
            self._orders.close()
            self._process.wait(PATIENCE)
            self._orders = self._process = None

    def _start(self) -> socket.socket:
        self._orders, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.fork_server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=_REPOSITORY,
                # Threads of numpy's own would not live on in a forked process.
                env={**os.environ, "PYTHONPATH": _SOURCES, "OPENBLAS_NUM_THREADS": "1"},
            )
        return self._orders


_SERVER: Final = _Server()


def pytest_unconfigure() -> None:
    """End the process that forks, with the run."""
    _SERVER.end()


class Forked:
    """One running program, as `python …` with those arguments; used as a `Popen` is."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path = _REPOSITORY,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        given = {"arguments": arguments, "folder": str(folder), "environment": dict(environment)}
        stdin, write = os.pipe()
        read, stdout = os.pipe()
        read_errors, stderr = os.pipe()
        read_told, told_on = os.pipe()
        self.stdin: IO[bytes] = os.fdopen(write, "wb")
        self.stdout: IO[bytes] = os.fdopen(read, "rb")
        self.stderr: IO[bytes] = os.fdopen(read_errors, "rb")
        self._told: IO[bytes] = os.fdopen(read_told, "rb", buffering=0)
        self.returncode: int | None = None
        pipes = (stdin, stdout, stderr, told_on)
        try:
            self.pid = _SERVER.fork(json.dumps(given).encode() + b"\n", pipes, self._told)
        finally:
            for pipe in pipes:
                os.close(pipe)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self._close()

    def poll(self) -> int | None:
        """Return the exit code, or minus the signal; None while it runs."""
        if self.returncode is None and self._is_told(0):
            self.returncode = int(self._told.readline())
            self._told.close()
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        """Return the exit code, or minus the signal.

        Raises:
            TimeoutError: it does not end in time.

        """
        if self.returncode is None and not self._is_told(timeout):
            raise TimeoutError(f"process {self.pid} runs on after {timeout} s")
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has, and that is still to be told
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it with signal 9, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end, unless it has."""
        self.send_signal(signal.SIGTERM)

    def output(self) -> str:
        """Return all it prints from now on; fails with its own words unless it ends well."""
        printed, complaint = self.communicate()
        assert self.returncode == 0, complaint
        return printed

    def communicate(self, said: bytes = b"") -> tuple[str, str]:
        """Say that on its stdin and return what it prints to stdout and stderr until it ends."""
        with suppress(BrokenPipeError):
            self.stdin.write(said)
            self.stdin.close()
        with ThreadPoolExecutor(2) as threads:
            reading = [threads.submit(pipe.read) for pipe in (self.stdout, self.stderr)]
            try:
                output, errors = (pipe.result(PATIENCE).decode() for pipe in reading)
                self.wait()
            finally:
                self.kill()
        self._close()
        return output, errors

    def _close(self) -> None:
        with suppress(BrokenPipeError):  # what was still to be said
            self.stdin.close()
        self.stdout.close()
        self.stderr.close()

    def _is_told(self, timeout: float) -> bool:
        """Whether its end is told within so many seconds."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._told, selectors.EVENT_READ)
            return bool(waiting.select(timeout))


def race(programs: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the words that each program printed, all let go at the same moment.

    A program says "ready", waits for a line on its stdin, and then does what it is there for.
    """
    with ExitStack() as running:
        racers = [running.enter_context(Forked(program)) for program in programs]
        for racer in racers:
            assert racer.stdout.readline() == b"ready\n"
        for racer in racers:
            racer.stdin.write(b"go\n")
            racer.stdin.flush()
        return [racer.output().split() for racer in racers]
