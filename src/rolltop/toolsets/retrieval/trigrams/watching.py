"""Changes as the kernel notes them, taken up at the moment they are asked for.

Linux puts an event into an inotify queue before the system call that made the change returns.
So a queue that is read at the start of a search holds every change made before it, through a
path of this machine, on a file system of its own. That is why this reads the queue itself: a
library that hands events over later could not be relied on.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final

_EVENT: Final = struct.Struct("iIII")
_BUFFER: Final = 1 << 18
_MODIFIED, _ATTRIBUTES, _WRITTEN, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATED, _DELETED, _SELF_DELETED, _SELF_MOVED = 0x100, 0x200, 0x400, 0x800
_ONLY_DIRECTORIES: Final = 0x01000000
_CHANGES: Final = (
    _MODIFIED | _ATTRIBUTES | _WRITTEN | _MOVED_FROM | _MOVED_TO | _CREATED | _DELETED
    | _SELF_DELETED | _SELF_MOVED | _ONLY_DIRECTORIES
)  # fmt: skip
_OVERFLOWN: Final = 0x4000
_UNMOUNTED: Final = 0x2000
_ENDED: Final = 0x8000
_LIMIT: Final = Path("/proc/sys/fs/inotify/max_user_watches")
_MOUNTS: Final = Path("/proc/self/mountinfo")
_SHARE: Final = 2
"""One half of the watches a user may have is left to other programs."""
_OWN_FILE_SYSTEMS: Final = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs", "tmpfs"})
"""Those that only this machine's kernel writes to, and whose device numbers are the mount's."""


class Watch:
    """Directories whose changes are noted. For one thread at a time."""

    def __init__(self) -> None:
        """Begin to watch nothing. Raises OSError where the system has no such thing, or no more."""
        if sys.platform != "linux":
            raise OSError("events can only be relied on where they come before the change returns")
        self._libc: Final = ctypes.CDLL(None, use_errno=True)
        self._queue: Final[int] = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._queue < 0:
            raise OSError(ctypes.get_errno(), "no queue for events")
        # A user may have few queues: one that nobody asks any more is given back.
        self._end: Final = weakref.finalize(self, os.close, self._queue)
        self._left = int(_LIMIT.read_text()) // _SHARE
        self._ended = set[int]()

    def add(self, opened: int) -> int | None:
        """Watch the open directory; return its number, None where it cannot be watched."""
        if self._left <= 0:
            return None
        path = f"/proc/self/fd/{opened}".encode()
        number: int = self._libc.inotify_add_watch(self._queue, path, _CHANGES)
        if number < 0:
            return None
        self._left -= 1
        return number

    def drop(self, number: int) -> None:
        """Watch a directory no longer."""
        self._libc.inotify_rm_watch(self._queue, number)
        self._left += 1

    def changed(self) -> set[int] | None:
        """Return the numbers of directories with changes so far; None where some were lost."""
        found = set[int]()
        lost = False
        with suppress(BlockingIOError):
            while True:
                data = os.read(self._queue, _BUFFER)
                at = 0
                while at < len(data):
                    number, kind, _, length = _EVENT.unpack_from(data, at)
                    lost |= bool(kind & (_OVERFLOWN | _UNMOUNTED))
                    found.add(number)
                    if kind & _ENDED:
                        self._ended.add(number)
                    at += _EVENT.size + length
        return None if lost else found

    def ended(self) -> set[int]:
        """Return the numbers of directories that are watched no longer, each once."""
        ended, self._ended = self._ended, set[int]()
        return ended

    def close(self) -> None:
        """Watch nothing any more."""
        self._end()


def mounts() -> bytes:
    """Return what is mounted where, as the kernel writes it; empty where it does not say."""
    try:
        return _MOUNTS.read_bytes()
    except OSError:
        return b""


def own_devices(mounted: bytes) -> frozenset[int]:
    """Return the devices whose every change this machine's kernel sees."""
    devices = set[int]()
    for line in mounted.splitlines():
        before, _, after = line.partition(b" - ")
        kind = after.split(b" ", 1)[0].decode("ascii", "replace")
        if kind in _OWN_FILE_SYSTEMS:
            major, _, minor = before.split()[2].partition(b":")
            devices.add(os.makedev(int(major), int(minor)))
    return frozenset(devices)
