"""Files opened to be searched: the very ones that were chosen, held while they are read."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from rolltop.core.roots import is_binary
from rolltop.core.roots.opening import (
    UTF16_MARKS,
    NotAdmitted,
    NotRegularFile,
    names_still,
    open_admitted,
)
from rolltop.core.roots.settling import is_settled
from rolltop.core.roots.writers import is_held_for_writing
from rolltop.toolsets.retrieval.exact.content import Unreadable, read_at

if TYPE_CHECKING:
    from collections.abc import Generator

    from rolltop.core.roots import Entry, Root, Roots
    from rolltop.toolsets.retrieval.exact.tally import Tally

LARGE: Final = 1 << 18
"""Bytes of a file from which on ten looks at its head cost less than one at all of it."""
_HEAD: Final = 8192
_ATTEMPTS: Final = 3
_COPIED: Final = 4 << 20
"""Bytes of the largest file that is copied when it does not keep still."""
_IN_MEMORY: Final = 1 << 18
"""Bytes of the largest copy that takes no room on disk."""


class Opened:
    """One file, open to be read."""

    def __init__(self, roots: Roots, root: Root, entry: Entry) -> None:
        """Open the file and note its state.

        Raises:
            NotRegularFile, NotAdmitted, OSError; Unreadable, here and later.

        """
        self.entry: Final = entry
        self._roots: Final = roots
        self._root: Final = root
        self._original: BinaryIO = _admitted(roots, root, entry)
        self._read: BinaryIO = self._original
        self._state = _state(self._original)

    @property
    def descriptor(self) -> int:
        """The descriptor to read from."""
        return self._read.fileno()

    @property
    def size(self) -> int:
        """The file's size in bytes when its state was noted."""
        return self._state[0]

    def still(self) -> bool:
        """Return whether what is read has the size and times it had when they were noted."""
        return _state(self._read) == self._state

    def restless(self) -> bool:
        """Return whether a change now might not show in its times.

        It may be too soon after another, or a store into a page that somebody has mapped.
        """
        return not is_settled(*self._state[1:3]) or is_held_for_writing(self._original.fileno())

    def is_as_listed(self) -> bool:
        """Return whether it is in the state it was listed in, and is read itself."""
        return self._read is self._original and self._state == self.entry[1:5]

    def restart(self) -> bool:
        """Read the file as it is now: from a copy, or where it is large, as it comes.

        Returns whether there still is one, and it stays at its path for as long as that takes.
        Raises Unreadable.
        """
        for _ in range(_ATTEMPTS):
            self._drop_copy()
            self._copy()
            if names_still(self._root.place(self.entry.relative), self._original):
                return True
            try:
                other = _admitted(self._roots, self._root, self.entry)
            except (NotAdmitted, NotRegularFile, OSError):
                return False
            self.close()
            self._original = self._read = other
        return False

    def _copy(self) -> None:
        self._state = _state(self._original)
        if self.size > _COPIED:
            return
        data = read_at(self._original.fileno(), _COPIED + 1, 0)
        if len(data) > _COPIED:  # it has grown meanwhile
            self._state = _state(self._original)
            return
        with suppress(OSError):  # without room for a copy it is read as it comes, too
            self._read = _copied(data)
            self._state = _state(self._read)

    def close(self) -> None:
        """Close the file, and its copy."""
        self._drop_copy()
        self._original.close()

    def _drop_copy(self) -> None:
        if self._read is not self._original:
            self._read.close()
            self._read = self._original


@contextmanager
def opened(
    roots: Roots, root: Root, entries: list[Entry], most_bytes: int, tally: Tally
) -> Generator[list[Opened], None, None]:
    """Hold the files open; those that cannot be read are counted.

    What has come to lie at a file's path by a link, or is no regular file, counts as changed.
    """
    files: list[Opened] = []
    try:
        for entry in entries:
            file = _open(roots, root, entry, tally)
            if file is None:
                tally.drop(entry)
                continue
            files.append(file)
            if file.size > most_bytes:
                tally.drop(entry)
                tally.too_large += 1
                files.pop().close()
        yield files
    finally:
        for file in files:
            file.close()


def begins_binary(roots: Roots, root: Root, entry: Entry) -> bool:
    """Return whether a file's head says that it is no text; False where it cannot be read."""
    try:
        with _admitted(roots, root, entry) as file:
            return is_binary(read_at(file.fileno(), _HEAD, 0))
    except (NotAdmitted, NotRegularFile, OSError, Unreadable):
        return False


def text_of(roots: Roots, root: Root, entry: Entry, most: int) -> str | None:
    """Return the beginning of a file, up to `most` bytes, as it is matched; None for no text.

    Line breaks stand for bytes that are no character: no match goes over either.
    """
    try:
        with _admitted(roots, root, entry) as file:
            data = file.read(most)
    except (NotAdmitted, NotRegularFile, OSError):
        return None
    if is_binary(data):
        return None
    text = data.decode("utf-16" if data.startswith(UTF16_MARKS) else "utf-8-sig", "replace")
    return text.replace("\ufffd", "\n")


def _admitted(roots: Roots, root: Root, entry: Entry) -> BinaryIO:
    """Return the file, open, if it still lies where it was chosen and is no store of ours."""
    path = root.place(entry.relative)

    def admits(actual: str, status: os.stat_result) -> bool:
        return actual == path and not roots.stores.own(status)

    return open_admitted(path, admits)


def _open(roots: Roots, root: Root, entry: Entry, tally: Tally) -> Opened | None:
    try:
        return Opened(roots, root, entry)
    except (NotAdmitted, NotRegularFile, FileNotFoundError, NotADirectoryError):
        tally.changed += 1
    except (OSError, Unreadable):
        tally.unreadable += 1
    return None


def _copied(data: bytes) -> BinaryIO:
    """Return a file without a name that holds the data. Raises OSError."""
    if hasattr(os, "memfd_create") and len(data) <= _IN_MEMORY:
        copy: BinaryIO = os.fdopen(os.memfd_create("copy"), "w+b")
    else:
        copy = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the file
    try:
        copy.write(data)
        copy.flush()
    except OSError:
        with suppress(OSError):
            copy.close()
        raise
    return copy


def _state(file: BinaryIO) -> tuple[int, int, int, int]:
    try:
        status = os.fstat(file.fileno())
    except OSError as error:
        raise Unreadable from error
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
