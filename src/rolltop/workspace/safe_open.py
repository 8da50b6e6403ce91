"""Opening a file that was found by its path, without trusting that the path still means it."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from typing import BinaryIO, cast

from rolltop.workspace.errors import raise_if_exhausted
from rolltop.workspace.file_stat import open_flags

AccessCheck = Callable[[str, os.stat_result], bool]

_BINARY_PROBE_BYTES = 8192
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
# Never wait for a FIFO's writer, never become a terminal's process, never leak to a child.
_READ_FLAGS = open_flags("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY")
_NO_FOLLOW = open_flags("O_NOFOLLOW")
_HANDLE_FLAGS = open_flags("O_PATH", "O_CLOEXEC", "O_NOFOLLOW")
# To go through a directory takes no right to list it, where the system can say so.
_PATH_FLAGS = (
    open_flags("O_PATH" if hasattr(os, "O_PATH") else "O_SEARCH", "O_DIRECTORY", "O_CLOEXEC")
    | _NO_FOLLOW
)
# A link has come to lie at the path of a directory, or something else.
_NOT_DIRECTORY_ERRNOS = frozenset({errno.ENOTDIR, errno.ELOOP})
OPEN_FILES = "/proc/self/fd"
_UNLINKED_SUFFIX = " (deleted)"
# How often a file may be replaced while it is being opened: editors save by renaming.
_MAX_REPLACEMENTS = 100


class NotRegularFile(Exception):
    """The path names a directory, FIFO, socket, device or link."""


class FileNotAllowed(Exception):
    """The path names another file than the one that was found, and one that may not be read."""


class _Replaced(Exception):
    """The file was unlinked or replaced while it was being opened."""


class OpenFile(io.BufferedReader):
    """A regular file open for reading, with its state at a moment when its path named it."""

    def __init__(self, descriptor: int, status: os.stat_result) -> None:
        super().__init__(io.FileIO(descriptor, "rb"))
        self.status = status

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes, all without it. Raises BlockingIOError if there are none yet.

        Some of the kernel's own files have nothing to read now, though they are regular.
        """
        data = cast("bytes | None", super().read(size))
        if data is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return data

    def is_unchanged(self) -> bool:
        """Report whether size and time show no write since the file was opened.

        Replacing the file by another of its name is not a write.
        """
        now = os.fstat(self.fileno())
        return (now.st_size, now.st_mtime_ns) == (self.status.st_size, self.status.st_mtime_ns)


def is_binary(first_8k: bytes) -> bool:
    """Report whether a file with this head is binary: a NUL byte and no UTF-16 mark."""
    return b"\0" in first_8k[:_BINARY_PROBE_BYTES] and not first_8k.startswith(UTF16_BOMS)


def open_checked(path: str, admits: AccessCheck) -> OpenFile:
    """Open the regular file at the real path for reading.

    `admits(real path, status)` checks the very file that is about to be opened.

    Raises:
        NotRegularFile, FileNotAllowed, OSError.
    """
    opened = _open_by_handle if _has_open_files(OPEN_FILES) else _open_by_components
    for _ in range(_MAX_REPLACEMENTS):
        try:
            return opened(path, admits)
        except _Replaced:
            continue  # the path names the new file already
        except OSError as error:
            raise_if_exhausted(error)
            raise
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def open_rule_file(path: str, most: int, *, follow: bool = True) -> OpenFile:
    """Open a file of rules about other files for reading; never blocks.

    Raises OSError, also unless it is a regular file of at most `most` bytes; ValueError; and
    Unavailable, since without its rules other files would be treated wrongly.
    """
    try:
        descriptor = os.open(path, _READ_FLAGS if follow else _READ_FLAGS | _NO_FOLLOW)
    except OSError as error:
        raise_if_exhausted(error)
        raise
    try:
        status = os.fstat(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    if not stat.S_ISREG(status.st_mode) or status.st_size > most:
        os.close(descriptor)
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return OpenFile(descriptor, status)


def read_rule_file(path: str, most: int, *, follow: bool = True) -> bytes | None:
    """Read a rule file; None if it is missing, not regular or unreadable.

    Raises Unavailable.
    """
    try:
        with open_rule_file(path, most, follow=follow) as file:
            return file.read(most)
    except OSError as error:
        raise_if_exhausted(error)
    except ValueError:
        pass  # a path that was read from a file may hold a NUL
    return None


@cache
def _has_open_files(folder: str) -> bool:
    """Report whether the directory lists the process's open files."""
    return sys.platform == "linux" and os.path.isdir(folder)  # noqa: PTH112 - never raises


def still_names(path: str, file: BinaryIO) -> bool:
    """Report whether the path still names the open file.

    Content read after the file lost its name may have been written under another.
    """
    try:
        return os.path.samestat(os.lstat(path), os.fstat(file.fileno()))
    except OSError:
        return False


def _open_by_handle(path: str, admits: AccessCheck) -> OpenFile:
    """Pin the file with a handle that cannot read, check it, and open the pinned file."""
    handle = os.open(path, _HANDLE_FLAGS)
    try:
        status = os.fstat(handle)
        pinned = f"{OPEN_FILES}/{handle}"
        _require_admitted(os.readlink(pinned), status, admits)  # noqa: PTH115 - the kernel's text, as it is
        return OpenFile(os.open(pinned, _READ_FLAGS), status)
    finally:
        os.close(handle)


def _open_by_components(path: str, admits: AccessCheck) -> OpenFile:
    """Walk down the real path through no link, check the file there, and open that very file.

    Comparing paths before and after would not do: a replacement may have been undone in between.
    """
    folder, name = os.path.split(path)
    real_folder = os.path.realpath(folder)
    real = f"{real_folder.rstrip('/')}/{name}"
    at = _open_directory_by_components(real_folder)
    try:
        before = os.stat(name, dir_fd=at, follow_symlinks=False)
        _require_admitted(real, before, admits)
        opened = os.open(name, _READ_FLAGS | _NO_FOLLOW, dir_fd=at)
    finally:
        os.close(at)
    try:
        _require_admitted(real, os.fstat(opened), admits, same_as=before)
    except BaseException:
        os.close(opened)
        raise
    return OpenFile(opened, before)


def _open_directory_by_components(real: str) -> int:
    """Open the directory at a real path, each on the way from the one above it."""
    at = os.open("/", _PATH_FLAGS)
    for name in filter(None, real.split("/")):
        above = at
        try:
            at = os.open(name, _PATH_FLAGS, dir_fd=above)
        except OSError as error:
            if error.errno in _NOT_DIRECTORY_ERRNOS and os.path.realpath(real) != real:
                raise _Replaced from None
            raise
        finally:
            os.close(above)
    return at


def _require_admitted(
    real_path: str,
    status: os.stat_result,
    admits: AccessCheck,
    *,
    same_as: os.stat_result | None = None,
) -> None:
    if same_as is not None and not os.path.samestat(same_as, status):
        raise _Replaced
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile
    if not status.st_nlink or _is_unlinked(real_path):
        raise _Replaced
    if not admits(real_path, status):
        raise FileNotAllowed


def _is_unlinked(real_path: str) -> bool:
    """Report whether the file has lost this name since it was pinned."""
    return real_path.endswith(_UNLINKED_SUFFIX) and not os.path.lexists(real_path)
