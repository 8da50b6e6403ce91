"""File stats: how to tell states of a file apart, and to read them quickly."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple, cast

# Size, mtime and ctime in nanoseconds, inode, device.
StatState = tuple[int, int, int, int, int]

state_of: Final = cast(
    "Callable[[os.stat_result], StatState]",
    attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev"),
)

# A change within this time may be followed by another that the times do not show: FAT counts in two
# seconds, Linux by the clock tick.
RACY_NS: Final = 2_000_000_000


def open_flags(*names: str) -> int:
    """Return the flags of those names for `os.open`, without those that this system lacks."""
    return os.O_RDONLY | sum(getattr(os, name, 0) for name in names)


LIST_FLAGS: Final = open_flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK")
STAT_FLAGS: Final = open_flags("O_PATH") | LIST_FLAGS
# `struct stat` up to its last time, on the machines below.
_STATUS_BYTES: Final = 120
_SPARE_BYTES: Final = 256
_MACHINES: Final = frozenset({"x86_64", "aarch64"})
_NO_FOLLOW: Final = 0x100
_MIN_ROOM: Final = 256
# Names that are read between two looks at the clock; one after a slow slice.
_SLICE: Final = 32
# Seconds after which other threads may run: as long as the interpreter lets one run.
_MAX_HELD_SECONDS: Final = 0.005
MOUNTS: Final = Path("/proc/self/mountinfo")
# Of the mount point, among the fields that the kernel writes.
MOUNT_POINT_FIELD: Final = 4
# File systems of files that this machine's kernel answers for, and nobody else.
LOCAL_FILE_SYSTEMS: Final = frozenset(
    b"bcachefs btrfs devpts devtmpfs erofs exfat ext2 ext3 ext4 f2fs hugetlbfs iso9660 mqueue ntfs3"
    b" overlay ramfs squashfs tmpfs udf vfat xfs zfs".split()
)
# File systems that grant a lease only if the server has delegated the file.
_LEASE_ON_SERVER: Final = frozenset({b"nfs", b"nfs4", b"cifs", b"smb3"})


class FileStat(NamedTuple):
    """A selected regular file and its state."""

    relative: str
    """Path from the root, `/`-separated; a name that is not UTF-8 holds surrogate escapes."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


def by_components(entry: FileStat) -> str:
    """Return a text that sorts as the components of the path do: no name holds a NUL."""
    return entry.relative.replace("/", "\0")


def is_stable(mtime_ns: int, ctime_ns: int, at_ns: int | None = None) -> bool:
    """Report whether a change at `at_ns` (default: now) would show in these times.

    All are nanoseconds since 1970. A time of the future was set by somebody, which ctime shows.
    """
    at = time.time_ns() if at_ns is None else at_ns
    return at - (ctime_ns if mtime_ns > at else max(mtime_ns, ctime_ns)) >= RACY_NS


def is_stable_state(state: StatState) -> bool:
    """Report whether the file's next change would show."""
    return is_stable(state[1], state[2])


class StatBuffer:
    """A buffer for the stats of one directory's files. For one thread at a time.

    Comparing it with the previous contents costs 0.8 µs a file; an `os.stat` costs 2.5.
    """

    def __init__(self) -> None:
        # Not CDLL: releasing the interpreter's lock costs more than a call takes.
        self._library: Final = ctypes.PyDLL(None)
        self._covered: Final[dict[int, bool]] = {}
        self._slice = 1
        self._capacity = 0
        self._allocate(_MIN_ROOM)

    @staticmethod
    def is_supported() -> bool:
        """Report whether this system's `struct stat` is known."""
        known = sys.platform == "linux" and platform.machine() in _MACHINES
        return known and hasattr(ctypes.PyDLL(None), "fstatat")

    def covers(self, device: int) -> bool:
        """Report whether reads of a device never wait for a network or another program."""
        if device not in self._covered:
            name = _find_file_system(device)
            self._covered[device] = name is None or name in LOCAL_FILE_SYSTEMS
        return self._covered[device]

    def read(self, opened: int, names: Sequence[bytes]) -> bytes | None:
        """Read the stats of a directory and files in it; None on error.

        Equal bytes mean equal states; different bytes may too, since reading a file changes its
        atime.
        """
        if len(names) >= self._capacity:
            self._allocate(2 * len(names))
        begun = time.monotonic()
        self._library.fstat(opened, self._slots[0])
        slots = self._slots[1 : len(names) + 1]
        failures = map(self._library.fstatat, repeat(opened), names, slots, repeat(_NO_FOLLOW))
        left = len(names)
        while left > 0:
            if any(islice(failures, self._slice)):
                return None
            left -= self._slice
            self._slice = min(2 * self._slice, _SLICE)
            if time.monotonic() - begun > _MAX_HELD_SECONDS:
                self._slice = 1
                os.fstat(opened)  # which lets others have the interpreter's lock
                begun = time.monotonic()
        return ctypes.string_at(self._memory, _STATUS_BYTES * (len(names) + 1))

    def _allocate(self, room: int) -> None:
        self._capacity = room
        self._memory = ctypes.create_string_buffer(_STATUS_BYTES * room + _SPARE_BYTES)
        self._slots = [ctypes.byref(self._memory, _STATUS_BYTES * at) for at in range(room)]


def is_open_for_writing(descriptor: int) -> bool:
    """Report whether another process has the file open or mapped for writing.

    A mapped page that was written to may be written again without a change of the file's times.
    Linux grants a read lease only without such writers; it is released at once, and delays openers
    that long. False if unknown: on another system, on a file system without leases or of a server,
    or for a file of another owner.
    """
    if sys.platform != "linux":
        return False
    import fcntl  # noqa: PLC0415  # not on every platform

    try:
        # Who breaks a lease is announced by SIGIO, which ends a process that does not expect it.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:  # which says nothing if it comes from a server
            return _find_file_system(os.fstat(descriptor).st_dev) not in _LEASE_ON_SERVER
    return False


def _find_file_system(device: int) -> bytes | None:
    """Look up the name of a mounted device's file system; None if unknown."""
    number = b"%d:%d" % (os.major(device), os.minor(device))
    try:
        mounts = MOUNTS.read_bytes()
    except OSError:
        return None
    return next((name for fields, name in parse_mounts(mounts) if fields[2] == number), None)


def parse_mounts(table: bytes) -> Iterator[tuple[list[bytes], bytes]]:
    """Yield the fields before the dash of the kernel's mounts, and their file systems' names."""
    for line in table.split(b"\n"):
        before, between, after = line.partition(b" - ")
        fields = before.split(b" ")
        if between and len(fields) > MOUNT_POINT_FIELD:
            yield fields, after.split(b" ", 1)[0]
