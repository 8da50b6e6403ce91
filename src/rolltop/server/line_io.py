"""The two ends of a stdio connection: a thread that reads lines and a thread that writes them."""

from __future__ import annotations

import errno
import io
import os
import queue
import select
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_LINE_BYTES: Final = 64 << 20
"""Bytes. A longer line is not kept; it is read to its end and answered with a refusal."""
_MAX_BUFFERED_BYTES: Final = 8 << 20
_POLL_INTERVAL: Final = 0.2
"""Seconds between looks at what else may end a wait for room."""
_BUFFER_BYTES: Final = 1 << 16
_FIRST_FREE_DESCRIPTOR: Final = 3


class LineWriter:
    """Lines written to one descriptor, whole and in order, by a daemon thread."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        """`on_broken()` is called on the thread when the other end is gone."""
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waiting = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="rolltop-stdout", daemon=True).start()

    def put(self, line: bytes) -> None:
        """Queue one line, given without its end. Never waits; any thread may call it."""
        with self._changed:
            self._waiting += len(line) + 1
        self._lines.put(line)

    def wait_for_room(self, is_over: Callable[[], bool]) -> None:
        """Wait while the other end is far behind with its reading, until `is_over()`."""
        with self._changed:
            while self._waiting >= _MAX_BUFFERED_BYTES and not is_over():
                self._changed.wait(_POLL_INTERVAL)

    def flush(self, timeout: float) -> bool:
        """Return whether everything was written within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting == 0, timeout)

    def _run(self) -> None:
        broken = False
        while True:
            line = self._lines.get() + b"\n"
            if not broken and not self._write(line):
                broken = True
                self._on_broken()
            with self._changed:
                self._waiting -= len(line)
                self._changed.notify_all()

    def _write(self, line: bytes) -> bool:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            return False
        return True


class LineReader:
    """Lines read from one descriptor by a daemon thread, which hands each on and never returns.

    `on_line(line)` gets the bytes of a line that is not blank, `on_long_line()` stands for one
    that is too long, and `on_end()` is called once, when there is no more to read.
    """

    def __init__(
        self,
        descriptor: int,
        on_line: Callable[[bytes], None],
        on_long_line: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        """Hold the parts; `start` begins to read."""
        self._descriptor = descriptor
        self._is_waiting = threading.Event()
        self._is_over = False
        self._on_line = on_line
        self._on_long_line = on_long_line
        self._on_end = on_end

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._run, name="rolltop-stdin", daemon=True).start()

    def is_drained(self) -> bool:
        """Whether every line that has come was handed on."""
        # In this order: the reader says that it waits no more before it takes what there is.
        return self._is_over or (not _has_more(self._descriptor) and self._is_waiting.is_set())

    def _run(self) -> None:
        try:
            self._read()
        except OSError:  # a terminal that hung up reads like an end
            pass
        finally:
            self._is_over = True
            self._on_end()

    def _read(self) -> None:
        with io.BufferedReader(
            _ObservedFile(self._descriptor, self._is_waiting), _BUFFER_BYTES
        ) as stream:
            while line := stream.readline(MAX_LINE_BYTES):
                if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                    while (rest := stream.readline(_BUFFER_BYTES)) and not rest.endswith(b"\n"):
                        continue
                    self._on_long_line()
                elif stripped := line.strip():
                    self._on_line(stripped)


class _ObservedFile(io.FileIO):
    """A descriptor; `is_waiting` is set while its reader has used up all it got and asks for more.

    What is left then is at most the beginning of a line.
    """

    def __init__(self, descriptor: int, is_waiting: threading.Event) -> None:
        super().__init__(descriptor, closefd=False)
        self._is_waiting = is_waiting

    def readinto(self, buffer: Buffer, /) -> int | None:
        self._is_waiting.set()
        if _wait_for_more(self.fileno()):
            self._is_waiting.clear()
        got = super().readinto(buffer)
        self._is_waiting.clear()
        return got


def _wait_for_more(descriptor: int) -> bool:
    """Wait until there is something to read, or an end; False where the system cannot tell."""
    if sys.platform == "win32":
        return False
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return any(event & ~select.POLLNVAL for _, event in poller.poll())


def _has_more(descriptor: int) -> bool:
    """Whether there is something to read, as far as the system tells."""
    if sys.platform == "win32":
        return False
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return any(event & select.POLLIN for _, event in poller.poll(0))


def is_write_end_closed(descriptor: int) -> bool:
    """Whether nobody can write to the pipe any more, even if there is something left to read."""
    if sys.platform == "win32":
        return False
    poller = select.poll()
    poller.register(descriptor, getattr(select, "POLLRDHUP", 0))  # a socket half closed; Linux
    return any(event & ~select.POLLIN for _, event in poller.poll(0))


def claim_standard_streams() -> tuple[int, int]:
    """Return private descriptors of stdin and stdout, and point the public ones elsewhere.

    From here on whoever reads stdin reads nothing, and whoever prints, a child process too, prints
    to stderr, if there is one: the wire carries protocol only. Raises OSError: there was no stdin
    or no stdout when the process started.
    """
    if sys.__stdin__ is None or sys.__stdout__ is None:
        # Their descriptors may belong to any file that was opened since.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    incoming, outgoing = _duplicate_descriptor(0), _duplicate_descriptor(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing if sys.__stderr__ is None else 2, 1)
    os.close(nothing)
    return incoming, outgoing


def _duplicate_descriptor(descriptor: int) -> int:
    """Return a copy that children don't inherit, above the three standard ones."""
    if sys.platform == "win32":
        return os.dup(descriptor)
    import fcntl  # noqa: PLC0415  # Windows has none

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
