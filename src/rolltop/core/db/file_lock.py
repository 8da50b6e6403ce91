"""A lock between processes, kept in a file of its own beside the store."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_RETRY: Final = 0.02


@contextmanager
def exclusive(path: Path, *, timeout: float) -> Generator[None]:
    """Hold the lock file `path` (0600, kept afterwards) alone among processes and threads.

    Raises Unavailable when it is still held elsewhere after `timeout` seconds. The lock belongs
    to the open file, not to the process, so a crash frees it and threads exclude each other.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        end = time.monotonic() + timeout
        pause = threading.Event()
        while not _try_lock(descriptor):
            if time.monotonic() > end:
                raise Unavailable(
                    f"Another process has kept the store locked for more than {timeout:g} s.",
                    hint="It may be migrating the store; try again when it is done.",
                )
            pause.wait(_RETRY)
        yield
    finally:
        os.close(descriptor)
