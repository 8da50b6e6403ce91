"""Whether anybody may be writing to an open file just now."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mountinfo")
_OF_SERVERS: Final = frozenset({b"nfs", b"nfs4", b"cifs", b"smb3"})
"""File systems that grant a lease only where a server has lent them the file."""


def is_held_for_writing(descriptor: int) -> bool:
    """Return whether somebody holds the file, open for reading here, open or mapped for writing.

    A page that is mapped and has been written to may be written again without the file's times
    telling. Linux grants a read lease only where no such holder is left. It is given back at
    once: whoever opens the file meanwhile waits that long. False where nothing can be learnt: on
    another system, on a file system without leases or a server's, of a file of another owner.
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
        return error.errno == errno.EAGAIN and not _is_of_a_server(os.fstat(descriptor).st_dev)
    return False


def _is_of_a_server(device: int) -> bool:
    """Return whether the file system of that number is one whose refusal tells nothing."""
    name = b"%d:%d" % (os.major(device), os.minor(device))
    try:
        mounts = _MOUNTS.read_bytes()
    except OSError:
        return False  # the refusal is taken at its word
    for line in mounts.splitlines():
        before, _, after = line.partition(b" - ")
        if before.split()[2] == name and after.split(b" ", 1)[0] in _OF_SERVERS:
            return True
    return False
