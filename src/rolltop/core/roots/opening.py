"""Opening a file that was found by its path, without trusting that the path still means it."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, cast

from rolltop.core.roots.problems import require_means

if TYPE_CHECKING:
    from collections.abc import Callable

    Admits = Callable[[str, os.stat_result], bool]

_BINARY_PROBE_BYTES = 8192
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Never wait for a FIFO's writer, never become a terminal's process, never leak to a child.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# To go through a directory takes no right to list it, where the system can say so.
_PASS_THROUGH = (
    getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
    | os.O_DIRECTORY
    | os.O_NOFOLLOW
    | os.O_CLOEXEC
)
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})
"""A link has come to lie at the path of a directory, or something else."""
OPEN_FILES = "/proc/self/fd"
_UNLINKED = " (deleted)"
_REPLACEMENTS = 100
"""How often a file may be replaced while it is being opened: editors save by renaming."""


class NotRegularFile(Exception):
    """What the path names is a directory, FIFO, socket, device or link."""


class NotAdmitted(Exception):
    """The path names another file than the one that was found, and one that may not be read."""


class _Replaced(Exception):
    """The file was unlinked, or another put in its place, while it was being opened."""


class OpenFile(io.BufferedReader):
    """A regular file open for reading, with its state at a moment when its path named it."""

    def __init__(self, descriptor: int, status: os.stat_result) -> None:
        """Take over the descriptor."""
        super().__init__(io.FileIO(descriptor, "rb"))
        self.status = status

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to `size` bytes, all without it. Raises BlockingIOError where the kernel has none yet.

        Some of its own files have nothing to read now, and say that they are regular.
        """
        data = cast("bytes | None", super().read(size))
        if data is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return data

    def is_unwritten(self) -> bool:
        """Whether it still holds what its path named then, as far as size and time tell.

        Losing the name, to a new file put in its place, is no writing.
        """
        now = os.fstat(self.fileno())
        return (now.st_size, now.st_mtime_ns) == (self.status.st_size, self.status.st_mtime_ns)


def is_binary(first_8k: bytes) -> bool:
    """Whether a file that starts like this is binary: a NUL byte and no UTF-16 mark."""
    return b"\0" in first_8k[:_BINARY_PROBE_BYTES] and not first_8k.startswith(UTF16_MARKS)


def open_admitted(path: str, admits: Admits) -> OpenFile:
    """The regular file at the real path, opened for reading.

    `admits(real path, status)` judges the very file that is about to be opened.

    Raises:
        NotRegularFile, NotAdmitted, OSError.
    """
    opened = _open_by_handle if _has_open_files(OPEN_FILES) else _open_by_steps
    for _ in range(_REPLACEMENTS):
        try:
            return opened(path, admits)
        except _Replaced:
            continue  # the path names the new file already
        except OSError as error:
            require_means(error)
            raise
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def open_rules(path: str, most: int, *, follow: bool = True) -> OpenFile:
    """A file that says how others are to be treated, opened for reading; it waits for nobody.

    Raises OSError, for what is no regular file of at most `most` bytes too, or ValueError; and
    Unavailable, for without rules that are there others would be treated wrongly.
    """
    try:
        descriptor = os.open(path, _READ if follow else _READ | os.O_NOFOLLOW)
    except OSError as error:
        require_means(error)
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


def rules_in(path: str, most: int, *, follow: bool = True) -> bytes | None:
    """What `open_rules` opens, read; None where it is missing, no such file, or unreadable.

    Raises Unavailable.
    """
    try:
        with open_rules(path, most, follow=follow) as file:
            return file.read(most)
    except OSError as error:
        require_means(error)
    except ValueError:
        pass  # a path that was read from a file may hold a NUL
    return None


@cache
def _has_open_files(folder: str) -> bool:
    """Whether the system shows a process the files it has open in the folder."""
    return sys.platform == "linux" and os.path.isdir(folder)  # noqa: PTH112 - never raises


def names_still(path: str, file: BinaryIO) -> bool:
    """Whether the path names the open file.

    What is read of a file after it lost its name may have been written under another.
    """
    try:
        return os.path.samestat(os.lstat(path), os.fstat(file.fileno()))
    except OSError:
        return False


def _open_by_handle(path: str, admits: Admits) -> OpenFile:
    """Pin the file with a handle that reads nothing, judge it, and open what is pinned."""
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        pinned = f"{OPEN_FILES}/{handle}"
        _require(os.readlink(pinned), status, admits)  # noqa: PTH115 - the kernel's text, as it is
        return OpenFile(os.open(pinned, _READ), status)
    finally:
        os.close(handle)


def _open_by_steps(path: str, admits: Admits) -> OpenFile:
    """Go down the real path through no link, judge the file there, and open that very one.

    To compare paths before and after would not do: what is put in between may be taken away again.
    """
    folder, name = os.path.split(path)
    real_folder = os.path.realpath(folder)
    real = f"{real_folder.rstrip('/')}/{name}"
    at = _folder_by_steps(real_folder)
    try:
        before = os.stat(name, dir_fd=at, follow_symlinks=False)
        _require(real, before, admits)
        opened = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)
    try:
        _require(real, os.fstat(opened), admits, same_as=before)
    except BaseException:
        os.close(opened)
        raise
    return OpenFile(opened, before)


def _folder_by_steps(real: str) -> int:
    """Open the directory at a real path, each on the way from the one above it."""
    at = os.open("/", _PASS_THROUGH)
    for name in filter(None, real.split("/")):
        above = at
        try:
            at = os.open(name, _PASS_THROUGH, dir_fd=above)
        except OSError as error:
            if error.errno in _NO_FOLDER and os.path.realpath(real) != real:
                raise _Replaced from None
            raise
        finally:
            os.close(above)
    return at


def _require(
    real_path: str,
    status: os.stat_result,
    admits: Admits,
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
        raise NotAdmitted


def _is_unlinked(real_path: str) -> bool:
    """Whether the kernel names a file that has lost this name since it was pinned."""
    return real_path.endswith(_UNLINKED) and not os.path.lexists(real_path)
