"""Python processes that work for this one and end with it."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from itertools import accumulate
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Serve = Callable[[Any], Any]

# No site, no environment: what may be imported is what may be imported here.
_PROGRAM: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rolltop.core.children import serve
serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
"""


class Ended(Exception):
    """The process ended, or was killed, before it answered."""


class Child:
    """A process that answers requests one at a time. For one thread at a time, `kill` for any.

    It is spawned, never forked, has no terminal, and ends by itself as soon as this process is
    gone, whatever becomes of that.
    """

    def __init__(self, factory: str, *arguments: object, nice: int = 0, passing: str = "") -> None:
        """Start the process; returns before it is ready.

        `factory` names a function as `module:name`. The process calls it with `arguments`, and
        what it returns with each request. Requests and answers are pickled. The module is imported
        without what the package `passing`, and those above it, import for others: that may take
        longer than the work, and hold more memory. Raises OSError.
        """
        path = json.dumps([entry for entry in sys.path if entry])
        self._process: Final = subprocess.Popen(  # noqa: S603  # our own program, no shell
            [sys.executable, "-I", "-S", "-c", _PROGRAM, path, factory, str(nice), passing],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.kill: Final = weakref.finalize(self, _end, self._process)
        """End the process now, whatever it is doing; a thread that waits for it sees it ended."""
        with suppress(Ended):  # who asks it will see
            self.send(arguments)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def send(self, request: object) -> None:
        """Hand over a request; returns while it is worked at. Raises Ended."""
        try:
            pickle.dump(request, _pipe(self._process.stdin), pickle.HIGHEST_PROTOCOL)
            _pipe(self._process.stdin).flush()
        except (OSError, ValueError) as error:  # the pipe is broken, or closed by `kill`
            raise Ended from error

    def receive(self) -> object:
        """Return the answer to the oldest request that has none yet. Raises Ended."""
        try:
            return pickle.load(_pipe(self._process.stdout))  # noqa: S301  # written by our program
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            raise Ended from error


def serve(factory: str, nice: int, passing: str) -> None:
    """Answer the requests on stdin until it ends: the program of a child."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if nice and sys.platform != "win32":
        os.nice(nice)
    requests: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    _pass(passing)
    module, _, name = factory.partition(":")
    answer: Serve = getattr(import_module(module), name)(*requests.get())
    while True:
        pickle.dump(answer(requests.get()), sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()


def _pass(package: str) -> None:
    """Take it that a package was imported, and those above it, without running what they hold."""
    names = accumulate(package.split("."), "{}.{}".format) if package else ()
    for name in names:
        spec = find_spec(name)
        if spec is not None and name not in sys.modules:
            sys.modules[name] = module_from_spec(spec)


def _read(source: IO[bytes], requests: SimpleQueue[Any]) -> None:
    """Take requests in, and end the process with the one it works for."""
    try:
        while True:
            requests.put(pickle.load(source))  # noqa: S301  # written by the process we work for
    finally:
        os._exit(0)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError, ValueError):  # another thread is at it
            _pipe(pipe).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the process was started without pipes")
    return pipe
