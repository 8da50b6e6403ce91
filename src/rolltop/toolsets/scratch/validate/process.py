"""One checking process, seen from the server."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from . import frames

if TYPE_CHECKING:
    from .results import Cell, Checked

# The package is loaded under a name of its own, so that none of the server is imported with it.
_PROGRAM: Final = """
import json, sys, types
sys.path[:] = json.loads(sys.argv[3])
package = types.ModuleType("rolltop_checks")
package.__path__ = [sys.argv[1]]
sys.modules["rolltop_checks"] = package
from rolltop_checks.worker import main
main(int(sys.argv[2]))
"""
_CHUNK: Final = 1 << 16


class Expired(Exception):
    """The time limit passed; the process is no longer of use."""


class Died(Exception):
    """The process ended by itself: the check broke its parser or its memory limit."""


class CheckingProcess:
    """A process that checks one cell at a time and can be killed at any moment."""

    def __init__(self, memory: int) -> None:
        """Start the process; returns before it is ready."""
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(Path(__file__).parent)]
        command += [str(memory), json.dumps([entry for entry in sys.path if entry])]
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._stdin, self._stdout = (
            _descriptor(self._process.stdin),
            _descriptor(self._process.stdout),
        )

    def check(self, cell: Cell, until: float) -> Checked:
        """Return the result, or raise Expired at `until` (monotonic), or Died."""
        left = until - time.monotonic()
        if left <= 0:
            raise Expired
        self._send(frames.request(cell, left), until)
        message = frames.received(lambda count: self._receive(count, until))
        if message is None:
            raise Died
        return frames.checked_of(message[0])

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def interrupt(self) -> None:
        """End the process now; the thread that waits for it sees it die and cleans up."""
        self._process.kill()

    def kill(self) -> None:
        """End the process now, whatever it does, and let go of its pipes."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def _send(self, message: bytes, until: float) -> None:
        rest = memoryview(message)
        while rest:
            _wait(self._stdin, selectors.EVENT_WRITE, until)
            try:
                rest = rest[os.write(self._stdin, rest[:_CHUNK]) :]
            except (BrokenPipeError, ConnectionResetError):
                raise Died from None
            except BlockingIOError:
                continue

    def _receive(self, count: int, until: float) -> bytes:
        """Return `count` bytes, or fewer where the process ended."""
        parts = bytearray()
        while len(parts) < count:
            _wait(self._stdout, selectors.EVENT_READ, until)
            part = os.read(self._stdout, min(count - len(parts), _CHUNK))
            if not part:
                break
            parts += part
        return bytes(parts)


def _descriptor(pipe: IO[bytes] | None) -> int:
    """Return a pipe's descriptor, made not to block."""
    if pipe is None:
        raise RuntimeError("the process was started without pipes")
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


def _wait(descriptor: int, event: int, until: float) -> None:
    """Return once the pipe is ready; raises Expired at `until`."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        left = until - time.monotonic()
        if left <= 0 or not selector.select(left):
            raise Expired
