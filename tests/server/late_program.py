"""The server for tests over stdio, so late to see that its end is wished for that no grace is left.

`python -m tests.server.late_program stdio key=value…`, as `tests.server.program`.
"""

from __future__ import annotations

import sys
from typing import Final
from unittest import mock

from rolltop.server import stdio
from rolltop.server.ending import Ending
from tests.server.program import main

_HOUR: Final = 3600.0


class _LongSince(Ending):
    """An end that was wished for an hour before it is seen."""

    async def wished(self) -> None:
        await super().wished()
        self.since -= _HOUR


if __name__ == "__main__":
    with (
        mock.patch.object(stdio, "GRACE", _HOUR),
        mock.patch.object(stdio, "_LIMIT", 2 * _HOUR),
        mock.patch.object(stdio, "_LAST_ANSWERS", 2 * _HOUR),
        mock.patch.object(stdio, "Ending", _LongSince),
    ):
        sys.exit(main())
