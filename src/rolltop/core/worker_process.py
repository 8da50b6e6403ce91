"""Worker processes: for work on content that may hang, crash or take too much memory."""

from __future__ import annotations

import json
import math
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from itertools import accumulate
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from rolltop.core.errors import ShuttingDown, Unavailable

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    Answer = Callable[[Any], Any]

MAX_MEMORY_BYTES: Final = 2 << 30
MAX_ANSWER_BYTES: Final = 256 << 20

# No site, no environment: what may be imported is what may be imported here.
_PROGRAM: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rolltop.core.worker_process import serve
serve(int(sys.argv[2]))
"""
_LENGTH: Final = struct.Struct(">Q")
_CHUNK_BYTES: Final = 1 << 20


class WorkerDied(Exception):
    """The process ended before it answered: a crash, a limit, or a kill from outside."""

    def __init__(self, *, at_start: bool = False) -> None:
        """`at_start` tells that it ended before it could take a request."""
        super().__init__()
        self.at_start: Final = at_start


class WorkerTimeout(WorkerDied):
    """The time ran out, and the process was killed."""


class Worker(NamedTuple):
    """What a worker process runs, and within which bounds.

    `factory` names a function as `module:name`. The process calls it with `arguments`, and what it
    returns with each request. The module is imported without running the `__init__` of the package
    `skip_init` and of those above it: what they import may take longer than the work. `memory` is
    in bytes of address space on top of the start's; Linux alone can bound it. With `has_folder` the
    process has a folder of its own for temporary files, which goes when it ends.
    """

    factory: str
    arguments: tuple[object, ...] = ()
    nice: int = 0
    memory: int = MAX_MEMORY_BYTES
    skip_init: str = ""
    has_folder: bool = False


class WorkerProcess:
    """A process that answers requests one at a time. For one thread at a time, `kill` for any.

    It is spawned, never forked, has no terminal, and ends with this process, however that ends.
    """

    def __init__(self, worker: Worker) -> None:
        """Start the process; returns before it is ready. Raises OSError."""
        path = json.dumps([entry for entry in sys.path if entry])
        lifeline = os.pipe() if sys.platform == "linux" else ()
        folder = _make_folder() if worker.has_folder else None
        try:
            self._process: Final = subprocess.Popen(  # noqa: S603  # our own program, no shell
                [sys.executable, "-I", "-S", "-c", _PROGRAM, path, str((*lifeline, -1)[0])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=None if folder is None else {**os.environ, "TMPDIR": folder.name},
                start_new_session=True,
                pass_fds=lifeline[:1],
            )
        except OSError:
            for end in lifeline[1:]:
                os.close(end)
            raise
        finally:
            for end in lifeline[:1]:
                os.close(end)
        self.kill: Final = weakref.finalize(self, _end, self._process, lifeline[1:], folder)
        """End the process now, whatever it is doing; a thread that waits for it sees it ended."""
        self._is_ready = False
        self._is_late = False
        with suppress(OSError, ValueError):  # who asks it will see
            _send(_pipe(self._process.stdin), worker)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def call(self, request: object, seconds: float, cpu_seconds: float = math.inf) -> Any:  # noqa: ANN401  # as the factory's
        """Return the answer to a request; kill the process where it takes too long.

        `seconds` are by the clock, `cpu_seconds` of processor time, which other work on the machine
        does not use up.

        Raises:
            WorkerTimeout: it took longer than `seconds`.
            WorkerDied: the process ended otherwise, or its answer is too large.

        """
        timer = threading.Timer(max(0.0, seconds), self._expire)
        timer.daemon = True
        timer.start()
        try:
            _send(_pipe(self._process.stdin), (request, cpu_seconds))
            if not self._is_ready:
                self._is_ready = _receive(_pipe(self._process.stdout))
            return _receive(_pipe(self._process.stdout))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            self.kill()
            if self._is_late:
                raise WorkerTimeout from error
            raise WorkerDied(at_start=not self._is_ready) from error
        finally:
            timer.cancel()
            timer.join()  # where it came too late to be cancelled, the process is killed by now

    def _expire(self) -> None:
        self._is_late = True
        self.kill()


class WorkerPool:
    """Worker processes of one kind: started when needed, some kept for the next request.

    Any number of threads may call. With `spare`, one more process is started ahead while others
    are busy. Processes that were idle for `idle_seconds` end.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        max_workers: int = 1,
        max_idle: int = 1,
        idle_seconds: float = math.inf,
        spare: bool = False,
    ) -> None:
        self._worker: Final = worker
        self._max_workers: Final = max_workers
        self._max_idle: Final = max_idle
        self._idle_seconds: Final = idle_seconds
        self._spare: Final = spare
        self._change: Final = threading.Condition()
        self._idle: list[tuple[float, WorkerProcess]] = []
        self._busy: set[WorkerProcess] = set()
        self._reaper: threading.Timer | None = None
        self._closed = False

    def is_busy(self) -> bool:
        """Whether a request is being worked at."""
        return bool(self._busy)

    def call(self, request: object, seconds: float, cpu_seconds: float = math.inf) -> Any:  # noqa: ANN401  # as the factory's
        """Return the answer to a request. Waiting for a free process counts as time.

        Raises:
            Unavailable: the system has no process for it; Stopping, the pool was stopped.
            WorkerTimeout: it took longer than `seconds`.
            WorkerDied: the process ended otherwise, or its answer is too large.

        """
        until = time.monotonic() + seconds
        worker = self._take(until)
        try:
            answer = worker.call(request, until - time.monotonic(), cpu_seconds)
        except WorkerDied:
            with self._change:
                if worker not in self._busy:
                    raise ShuttingDown from None
            raise
        finally:
            self._give_back(worker)
        return answer

    def stop(self) -> None:
        """Kill all processes, whatever they are doing; the next call starts others."""
        with self._change:
            workers = [*self._busy, *(worker for _, worker in self._idle)]
            self._busy.clear()
            self._idle.clear()
            self._change.notify_all()
        for worker in workers:
            worker.kill()

    def close(self) -> None:
        """Kill all processes and take no more requests."""
        self._closed = True
        self.stop()

    def _take(self, until: float) -> WorkerProcess:
        """Return an idle process, a new one, or the next that is given back."""
        with self._change:
            while not self._closed:
                if until <= time.monotonic():  # it leaves what there is to those who are not late
                    raise WorkerTimeout
                if self._idle or len(self._busy) < self._max_workers:
                    worker = self._idle.pop()[1] if self._idle else self._start()
                    if not worker.is_alive():
                        worker.kill()
                        continue
                    self._busy.add(worker)
                    self._start_spare()
                    return worker
                self._change.wait(until - time.monotonic())
        raise ShuttingDown

    def _give_back(self, worker: WorkerProcess) -> None:
        """Keep the process for the next request if it can be and there are not enough."""
        with self._change:
            kept = worker in self._busy and worker.is_alive() and len(self._idle) < self._max_idle
            self._busy.discard(worker)
            if kept:
                self._idle.append((time.monotonic(), worker))
            elif not self._closed:
                self._start_spare()
            self._start_reaper()
            self._change.notify()
        if not kept:
            worker.kill()

    def _start(self) -> WorkerProcess:
        try:
            return WorkerProcess(self._worker)
        except OSError as error:
            raise Unavailable(
                "The system has no process to do this in",
                hint="Call again in a moment, or let the server have more processes (ulimit -u).",
            ) from error

    def _start_spare(self) -> None:
        if self._spare and not self._idle and len(self._busy) < self._max_workers:
            with suppress(Unavailable):  # who needs it will see
                self._idle.append((time.monotonic(), self._start()))

    def _start_reaper(self) -> None:
        if self._idle and self._reaper is None and self._idle_seconds < math.inf:
            self._reaper = threading.Timer(self._idle_seconds, self._reap)
            self._reaper.daemon = True
            self._reaper.start()

    def _reap(self) -> None:
        """Kill the processes that were idle for long."""
        since = time.monotonic() - self._idle_seconds
        with self._change:
            late = [worker for at, worker in self._idle if at <= since]
            self._idle = [(at, worker) for at, worker in self._idle if at > since]
            self._reaper = None
            self._start_reaper()
        for worker in late:
            worker.kill()


def serve(lifeline: int) -> None:
    """Answer requests on stdin until it ends: the program of a worker process."""
    _end_with(lifeline)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError), open(0, "rb", buffering=0) as source:  # a descriptor
        worker = Worker(*_receive(source))
        if worker.nice and sys.platform != "win32":
            os.nice(worker.nice)
        _skip_init(worker.skip_init)
        module, _, name = worker.factory.partition(":")
        answer: Answer = getattr(import_module(module), name)(*worker.arguments)
        _limit_memory(worker.memory)
        _send(sys.stdout.buffer, True)  # noqa: FBT003  # it is ready
        while True:
            request, cpu_seconds = _receive(source)
            _limit_cpu(cpu_seconds)
            _send(sys.stdout.buffer, answer(request))


def is_asked() -> bool:
    """Return whether a request waits, in a worker process that has not read it yet."""
    return sys.platform == "win32" or bool(select.select([0], [], [], 0)[0])


def _end_with(lifeline: int) -> None:
    """Have the kernel end this process with the one it works for, even while C code runs.

    A signal comes when the other end of the pipe is closed, and nobody handles it. (Linux's
    parent-death signal comes when the thread that started the process ends, which is too early.)
    Elsewhere the end of stdin does it, after the request that is being worked at.
    """
    if sys.platform == "linux" and lifeline >= 0:
        fcntl = import_module("fcntl")
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # it has gone before that
            os._exit(0)


def _limit_memory(size: int) -> None:
    """Bound the address space, and leave no core file: it would hold what users wrote."""
    if sys.platform != "linux":  # elsewhere the size of now is not to be had, or not bounded
        return
    resource = import_module("resource")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm", encoding="ascii") as pages:  # noqa: PTH123  # pathlib is not needed here
        used = int(pages.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + size if hard == resource.RLIM_INFINITY else min(used + size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _limit_cpu(seconds: float) -> None:
    """Have the kernel end this process once it has used so much processor time from now on."""
    if sys.platform == "win32":
        return
    resource = import_module("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = hard if seconds == math.inf else math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _skip_init(package: str) -> None:
    """Take it that a package was imported, and those above it, without running what they hold."""
    names = accumulate(package.split("."), "{}.{}".format) if package else ()
    for name in names:
        spec = find_spec(name)
        if spec is not None and name not in sys.modules:
            sys.modules[name] = module_from_spec(spec)


def _send(pipe: IO[bytes], message: object) -> None:
    """Write a message: its length, and itself pickled."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:  # noqa: ANN401  # whatever was sent
    """Read a message. Raises EOFError where it ends early, ValueError where it is too long."""
    (length,) = _LENGTH.unpack(b"".join(_read(pipe, _LENGTH.size)))
    if length > MAX_ANSWER_BYTES:
        raise ValueError(length)
    return pickle.loads(b"".join(_read(pipe, length)))  # noqa: S301  # written by our own program


def _read(pipe: IO[bytes], size: int) -> Generator[bytes, None, None]:
    while size:
        part = pipe.read(min(size, _CHUNK_BYTES))
        if not part:
            raise EOFError
        size -= len(part)
        yield part


def _make_folder() -> TemporaryDirectory[str]:
    from tempfile import TemporaryDirectory  # noqa: PLC0415  # a worker process needs none of it

    return TemporaryDirectory(prefix="rolltop-", ignore_cleanup_errors=True)


def _end(
    process: subprocess.Popen[bytes],
    lifeline: tuple[int, ...],
    folder: TemporaryDirectory[str] | None,
) -> None:
    if sys.platform != "win32" and process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # and the programs that it runs
    process.kill()
    process.wait()
    for end in lifeline:
        os.close(end)
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError, ValueError):  # another thread is at it
            _pipe(pipe).close()
    if folder is not None:
        folder.cleanup()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the process was started without pipes")
    return pipe
