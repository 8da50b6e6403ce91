"""A lock between processes, kept in a file of its own beside the store, and SQLite's own."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rolltop.core.errors import Unavailable

_RETRY_SECONDS: Final = 0.02
_STORE_LOCKED_AT: Final = 0x40000000  # sqlite.org/fileformat2.html#the_lock_byte_page
_STORE_LOCKS: Final = 512  # bytes; whoever has a store open has locked some


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - only on Windows

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - only on Unix

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the second on Windows
        return False
    return True


@contextmanager
def hold_file_lock(path: Path, *, timeout: float) -> Generator[None]:
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
            pause.wait(_RETRY_SECONDS)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def hold_directory_lock(folder: Path, *, shared: bool) -> Generator[bool]:
    """Hold a directory's own lock, shared or, if it is free, alone; yield whether it is held.

    Windows has none, and needs none: a file that is open cannot be removed there.
    """
    if sys.platform == "win32":
        yield True
        return
    import fcntl  # noqa: PLC0415 - only on Unix

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # held elsewhere, or the file system has no locks
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


@contextmanager
def lock_unused_store(path: Path) -> Generator[None]:
    """Hold the locks of a SQLite file that SQLite cannot read, so that nobody can open it.

    No connection of this process may have the file open: it would lose its own locks. Raises
    Unavailable when another process has, and OSError.
    """
    if sys.platform == "win32":
        yield  # a file that is open cannot be renamed there
        return
    import fcntl  # noqa: PLC0415 - only on Unix

    descriptor = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _STORE_LOCKS, _STORE_LOCKED_AT)
        except (BlockingIOError, PermissionError):
            raise store_in_use_error(path) from None
        yield
    finally:
        os.close(descriptor)


def store_in_use_error(path: Path) -> Unavailable:
    """Return the refusal to replace a store that another process has open."""
    return Unavailable(
        f"Another process has the store {path} open.",
        hint="Stop every Rolltop server and try again; nothing was changed.",
    )
