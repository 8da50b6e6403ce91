"""`python -m rolltop`, and the `rolltop` command."""

from __future__ import annotations

import os
import signal
import sys

from rolltop import cli


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:2] == ["serve"]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
    return cli.main()


def _leave(_number: int, _frame: object) -> None:
    """End well at once: until the server's own handling is in place no call has been taken."""
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
