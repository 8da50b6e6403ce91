"""The server for tests over stdio, so late to see that its end is wished for that no grace is left.

`python -m tests.server.late_program stdio key=value…`, as `tests.server.program`.
"""

from __future__ import annotations

import sys
from typing import Final
from unittest import mock

from rolltop.server import stdio
from rolltop.server.shutdown import Shutdown
from tests.server.program import main

_HOUR: Final = 3600.0


class _LongSince(Shutdown):
    """A shutdown requested an hour before it is seen."""

    async def wait(self) -> None:
        await super().wait()
        self.requested_at -= _HOUR


if __name__ == "__main__":
    with (
        mock.patch.object(stdio, "GRACE_SECONDS", _HOUR),
        mock.patch.object(stdio, "EXIT_LIMIT", 2 * _HOUR),
        mock.patch.object(stdio, "REFUSE_REST_SECONDS", 2 * _HOUR),
        mock.patch.object(stdio, "Shutdown", _LongSince),
    ):
        sys.exit(main())
