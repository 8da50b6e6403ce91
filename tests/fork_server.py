"""A process with everything loaded that test programs need, which forks one for each order.

`python -m tests.fork_server FD`: orders come over the socket `FD`, as a line of JSON with the
four ends of pipes that the program shall have: its stdin, stdout and stderr, and one on which it
is told here, in lines, which process it is and how it ended. It ends with the socket.

It runs no thread, so that nothing is lost in a fork, and opens no store.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from select import select
from typing import TYPE_CHECKING, Final

from rolltop.core.dispatch import ToolRegistry
from rolltop.toolsets import TOOLSETS
from tests.limits import raise_limits, set_given_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

_PIPES: Final = 4
_MAX_ORDER_BYTES: Final = 1 << 20
_WANTED: Final = (
    "numpy",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "rolltop.core.accounts",
    "rolltop.core.db.migrator",
    "rolltop.core.db.store",
    "rolltop.core.fulltext.hybrid_query",
    "rolltop.core.fulltext.indexer",
    "rolltop.server.mcp_server",
    "rolltop.server.http",
    "rolltop.server.stdio",
    "rolltop.server.subscriptions",
    "rolltop.toolsets.notes.service",
    "rolltop.toolsets.reader.service",
    "rolltop.toolsets.retrieval.service.directories",
    "rolltop.toolsets.retrieval.service.file_lines",
    "rolltop.toolsets.retrieval.service.ranking",
    "rolltop.toolsets.scratch.service.scratch_service",
    "rolltop.toolsets.tasks.service",
    "tests.campaign",
    "tests.core.example_toolset",
    "tests.server.probe_toolset",
)


def _take_note(_number: int, _frame: object) -> None:
    """Do nothing: the signal has been written to the pipe that wakes the loop."""


@dataclass(frozen=True)
class Order:
    """A program to become: what stands behind `python`, where, and its environment."""

    arguments: Sequence[str]
    folder: str
    environment: dict[str, str]


class Forks:
    """The programs that were forked and run."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._ended, self._wake = socket.socketpair()
        self._told_on: dict[int, int] = {}
        """The pipe on which the end of each process is told."""

    def serve(self) -> Order | None:
        """Fork for each order: return it in the new process, and None here at the end."""
        self._listen()
        while True:
            ready, _, _ = select([self._orders, self._ended], [], [])
            if self._ended in ready:
                self._ended.recv(_MAX_ORDER_BYTES)
                self._bury()
            if self._orders in ready:
                line, pipes, _, _ = socket.recv_fds(self._orders, _MAX_ORDER_BYTES, _PIPES)
                if not line:
                    self._leave()
                    return None
                while not line.endswith(b"\n"):
                    line += self._orders.recv(_MAX_ORDER_BYTES)
                if not self._fork(pipes):
                    return Order(**json.loads(line))

    def _listen(self) -> None:
        self._wake.settimeout(0)  # it does not block, as is asked of such an end
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _take_note)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _fork(self, pipes: list[int]) -> int:
        """Fork: return the new process here, and 0 in it, with the pipes in their places."""
        *standard, told_on = pipes
        process = os.fork()
        if process:
            os.write(told_on, f"{process}\n".encode())
            self._told_on[process] = told_on
        else:
            self._leave()
            for number, pipe in enumerate(standard):
                os.dup2(pipe, number)
            os.close(told_on)
        for pipe in standard:
            os.close(pipe)
        return process

    def _leave(self) -> None:
        """Let go of what belongs to forking: in a new process, and here at the end."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup and CI systems ignore it
        for end in (self._orders, self._ended, self._wake):
            end.close()
        for pipe in self._told_on.values():
            os.close(pipe)

    def _bury(self) -> None:
        """Tell of each process that has ended how it did: its exit code, or minus its signal."""
        while self._told_on:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            told_on = self._told_on.pop(process)
            with suppress(BrokenPipeError):  # a test that failed waits for it no more
                os.write(told_on, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            os.close(told_on)


def become(order: Order) -> None:
    """Run the program as `python` would with those arguments: `-m module …` or `-c source …`."""
    option, program, *rest = order.arguments
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    set_given_limits()
    # The streams of before took other files for what they are.
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, closefd=False)
    if option == "-c":
        sys.argv, sys.path[0] = ["-c", *rest], ""
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102  # as -c does
    else:
        sys.argv, sys.path[0] = [program, *rest], order.folder
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def main() -> None:
    """Import, then fork for each order."""
    for name in _WANTED:
        import_module(name)
    raise_limits()
    import_module("rolltop.core.token_counter").count("zqxjkvb")
    for offer in ToolRegistry(TOOLSETS).all_tools:
        offer.parameters.build_model()
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()  # the collector of a forked process leaves alone what all share
    order = Forks(socket.socket(fileno=int(sys.argv[1]))).serve()
    if order is not None:
        become(order)


if __name__ == "__main__":
    main()
