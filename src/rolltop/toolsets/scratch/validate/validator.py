"""Checks of cells in processes that can be killed, so that a time limit really ends them."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Unavailable
from rolltop.core.workers import Workers

from .process import CheckingProcess, Died, Expired
from .results import Cell, Checked, Timeout, unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_PROCESSES: Final = 4
_MOST_IDLE: Final = 2
_BROKEN: Final = (
    "Checking this broke its parser or the limit on memory; it may be nested too deeply"
)


class Validator:
    """The checking processes of one server process: started when first needed, one kept warm."""

    def __init__(self, *, timeout: float = 10.0, memory: int = 1 << 30) -> None:
        """Keep the limits: `timeout` in seconds a call, `memory` in bytes a check."""
        self._timeout = timeout
        self._memory = memory
        self._change = threading.Condition()
        self._idle: list[CheckingProcess] = []
        self._busy: set[CheckingProcess] = set()
        self._closed = False
        self._workers = Workers(4 * _MOST_PROCESSES, "rolltop-check")

    def is_busy(self) -> bool:
        """Whether a check is under way."""
        return bool(self._busy)

    async def check(self, cells: Sequence[Cell]) -> list[Checked | Timeout]:
        """Return a result for each cell, within the time limit of the call; waits on a thread."""
        # The wait for a thread counts as well.
        until = time.monotonic() + self._timeout
        future = self._workers.submit(lambda: self._check_until(cells, until))
        return await asyncio.wrap_future(future)

    def check_now(self, cells: Sequence[Cell]) -> list[Checked | Timeout]:
        """Return a result for each cell, in order; blocks for at most the time limit.

        Cells that the limit left unchecked are Timeout. Raises Unavailable once closed.
        """
        return self._check_until(cells, time.monotonic() + self._timeout)

    def _check_until(self, cells: Sequence[Cell], until: float) -> list[Checked | Timeout]:
        results: list[Checked | Timeout] = []
        for cell in cells:
            try:
                results.append(self._checked(cell, until))
            except Expired:
                break
        left = len(cells) - len(results)
        return results + [Timeout(self._timeout)] * left

    def close(self) -> None:
        """End all processes; checks under way raise Unavailable."""
        with self._change:
            self._closed = True
            idle, busy = [*self._idle], [*self._busy]
            self._idle.clear()
            self._change.notify_all()
        for process in busy:
            process.interrupt()
        for process in idle:
            process.kill()
        self._workers.close(0.0)

    def _checked(self, cell: Cell, until: float) -> Checked:
        process = self._taken(until)
        try:
            checked = process.check(cell, until)
        except Died:
            self._discard(process)
            return unreadable(cell, _BROKEN, "CHECK_FAILED")
        except BaseException:
            self._discard(process)
            raise
        self._give_back(process)
        return checked

    def _taken(self, until: float) -> CheckingProcess:
        """Return an idle process, a new one, or the next that is given back."""
        with self._change:
            while True:
                if self._closed:
                    raise _stopping()
                # Whoever is too late leaves what there is to those who are not.
                if until <= time.monotonic():
                    raise Expired
                process = self._idle_one()
                if process is None and len(self._busy) < _MOST_PROCESSES:
                    process = CheckingProcess(self._memory)
                if process is not None:
                    self._busy.add(process)
                    if len(self._busy) < _MOST_PROCESSES:
                        self._keep_one_warm()
                    return process
                self._change.wait(max(0.0, until - time.monotonic()))

    def _idle_one(self) -> CheckingProcess | None:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive():
                return process
            process.kill()
        return None

    def _give_back(self, process: CheckingProcess) -> None:
        with self._change:
            self._busy.discard(process)
            spare = self._closed or len(self._idle) >= _MOST_IDLE
            if not spare:
                self._idle.append(process)
                self._change.notify()
        if spare:
            process.kill()

    def _discard(self, process: CheckingProcess) -> None:
        """Kill the process and have another one warm for the next check."""
        process.kill()
        with self._change:
            self._busy.discard(process)
            self._change.notify()
            if self._closed:
                raise _stopping()
            self._keep_one_warm()

    def _keep_one_warm(self) -> None:
        if not self._idle and not self._closed:
            self._idle.append(CheckingProcess(self._memory))


def _stopping() -> Unavailable:
    return Unavailable("The server is stopping", hint="Send the call again to a running server.")
