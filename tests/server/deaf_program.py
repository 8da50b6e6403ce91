"""The server for tests, as if the first signal had come just before its loop fell asleep.

`python -m tests.server.deaf_program stdio key=value…`, as `tests.server.program`.
"""

from __future__ import annotations

import sys
from unittest import mock

from rolltop.server import stdio
from rolltop.server.shutdown import Shutdown
from tests.server.program import main


class _Deaf(Shutdown):
    """A shutdown that misses the first signal."""

    _missed = False

    def _handle_signal(self, number: int, frame: object) -> None:
        if self._missed:
            super()._handle_signal(number, frame)
        self._missed = True


if __name__ == "__main__":
    with mock.patch.object(stdio, "Shutdown", _Deaf):
        sys.exit(main())
