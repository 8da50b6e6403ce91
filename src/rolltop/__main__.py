"""`python -m rolltop`, and the `rolltop` command."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from rolltop import cli
from rolltop.core.process_exit import exit_now


def main() -> NoReturn:
    """Run the command line; the process ends here with its exit code."""
    if sys.argv[1:2] == ["serve"]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
    exit_now(cli.main())


def _leave(_number: int, _frame: object) -> None:
    """End well at once: until the server's own handling is in place no call has been taken."""
    os._exit(0)


if __name__ == "__main__":
    main()
