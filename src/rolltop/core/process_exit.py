"""The end of a process that waits for no thread."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def exit_now(code: int) -> NoReturn:
    """End the process now, with all it has printed.

    Before an ordinary exit a thread that never returns is waited for, and one that runs a
    library's own code, such as loads a model, can be broken off in a way that aborts the process.
    """
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # the other end is gone, or the stream is closed
            continue
    os._exit(code)
