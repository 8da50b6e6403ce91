"""The server for tests, whose limits on its end pass when a test says so.

`python -m tests.server.clocked_program stdio|http key=value…`, as `tests.server.program`. Once it
has been asked to end and the file `CLOCK` is in its folder, a long time passes in each hundredth of
a second by the clock of its event loop.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from rolltop.server import http, stdio
from rolltop.server.shutdown import Shutdown
from tests.limits import LONG
from tests.server.processes import CLOCK
from tests.server.program import main

if TYPE_CHECKING:
    from collections.abc import Callable


class _Clock:
    """The clock of the event loop, by which time may pass at once."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def time(self) -> float:
        """Return the seconds, those left out included."""
        return time.monotonic() + self._skipped

    def run(self, wake: Callable[[], object]) -> None:
        """Let time pass from when the file is there, for good; `wake` has the loop look at it."""
        pause = threading.Event()
        while not pause.wait(0.01):
            if Path(CLOCK).exists():
                self._skipped += 2 * LONG
                wake()


def _clocked(clock: _Clock) -> type[Shutdown]:
    class _Clocked(Shutdown):
        """A shutdown from whose request on the clock may be set ahead."""

        async def wait(self) -> None:
            await super().wait()
            loop = asyncio.get_running_loop()

            def wake() -> None:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(lambda: None)

            threading.Thread(target=clock.run, args=(wake,), daemon=True).start()

    return _Clocked


if __name__ == "__main__":
    clock = _Clock()
    clocked = _clocked(clock)

    def now(_loop: asyncio.BaseEventLoop) -> float:
        return clock.time()

    with (
        mock.patch.object(asyncio.BaseEventLoop, "time", now),
        mock.patch.object(stdio, "Shutdown", clocked),
        mock.patch.object(http, "Shutdown", clocked),
    ):
        sys.exit(main())
