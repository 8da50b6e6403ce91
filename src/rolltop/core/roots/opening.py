"""Opening a file that was found by its path, without trusting that the path still means it."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

    Admits = Callable[[str, os.stat_result], bool]

_BINARY_PROBE_BYTES = 8192
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Never wait for a FIFO's writer, never become a terminal's process, never leak to a child.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
OPEN_FILES = "/proc/self/fd"


class NotRegularFile(Exception):
    """What the path names is a directory, FIFO, socket, device or link."""


class NotAdmitted(Exception):
    """The path names another file than the one that was found, and one that may not be read."""


def is_binary(first_8k: bytes) -> bool:
    """Whether a file that starts like this is binary: a NUL byte and no UTF-16 mark."""
    return b"\0" in first_8k[:_BINARY_PROBE_BYTES] and not first_8k.startswith(_UTF16_MARKS)


def open_admitted(path: str, admits: Admits) -> BinaryIO:
    """The regular file at the real path, opened for reading.

    `admits(real path, status)` judges the very file that is about to be opened.

    Raises:
        NotRegularFile, NotAdmitted, OSError.
    """
    if sys.platform == "linux" and os.path.isdir(OPEN_FILES):  # noqa: PTH112 - never raises
        return _open_by_handle(path, admits)
    return _open_and_compare(path, admits)


def _open_by_handle(path: str, admits: Admits) -> BinaryIO:
    """Pin the file with a handle that reads nothing, judge it, and open what is pinned."""
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        pinned = f"{OPEN_FILES}/{handle}"
        _require(os.readlink(pinned), status, admits)  # noqa: PTH115 - the kernel's text, as it is
        return os.fdopen(os.open(pinned, _READ), "rb")
    finally:
        os.close(handle)


def _open_and_compare(path: str, admits: Admits) -> BinaryIO:
    """Judge the file, open it, and make sure that it is still the same one."""
    before = os.lstat(path)
    _require(os.path.realpath(path), before, admits)
    opened = os.open(path, _READ | os.O_NOFOLLOW)
    try:
        after = os.fstat(opened)

        def is_the_same(real_path: str, status: os.stat_result) -> bool:
            return os.path.samestat(before, status) and admits(real_path, status)

        _require(os.path.realpath(path), after, is_the_same)
    except BaseException:
        os.close(opened)
        raise
    return os.fdopen(opened, "rb")


def _require(real_path: str, status: os.stat_result, admits: Admits) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile
    if not status.st_nlink:
        raise FileNotFoundError(real_path)
    if not admits(real_path, status):
        raise NotAdmitted
