"""Texts of small files in memory, many in a piece, for ripgrep to look through.

To open a small file takes longer than to look through it: of a tree of 2,500 files ripgrep takes
three times as long as of the same text in one piece. What is found in a piece is true of files in
the states that their texts were read in, and of no other.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import finalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rolltop.core.roots import Entry

OPEN_FILES: Final = "/dev/fd/"
"""Where the system names the files that a process has open."""
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class Pack:
    """Texts of files, one after another, each ending with a line break."""

    def __init__(self, texts: Iterable[tuple[Entry, bytes]], least: int) -> None:
        """Take texts until there are so many bytes. Raises OSError where there is no room."""
        self.entries: Final[list[Entry]] = []
        self.starts: Final[list[int]] = []
        """How many bytes come before each file."""
        self.lines: Final[list[int]] = []
        """How many lines come before each file."""
        self.descriptor: Final = os.memfd_create("texts")
        self._closing: Final = finalize(self, os.close, self.descriptor)
        self.size = lines = 0
        for entry, text in texts:
            self.entries.append(entry)
            self.starts.append(self.size)
            self.lines.append(lines)
            whole = text if text.endswith(b"\n") or not text else text + b"\n"
            _write(self.descriptor, whole)
            self.size += len(whole)
            lines += whole.count(b"\n")
            if self.size >= least:
                break

    def text(self, number: int) -> bytes:
        """Return the text of one of the files."""
        start = self.starts[number]
        after = number + 1
        end = self.starts[after] if after < len(self.starts) else self.size
        return os.pread(self.descriptor, end - start, start)


class Packs:
    """All texts of a tree that are held. They never change; any number of threads may ask."""

    def __init__(self, packs: Iterable[Pack] = ()) -> None:
        """Take the packs."""
        self.all: Final = tuple(packs)
        self.size: Final = sum(pack.size for pack in self.all)
        """Bytes of memory."""
        self.numbers: Final[Mapping[Entry, int]] = {
            entry: number
            for number, entry in enumerate(entry for pack in self.all for entry in pack.entries)
        }
        """The files in the states that their texts were read in, numbered through all packs."""
        self.firsts: Final = [0, *accumulate(len(pack.entries) for pack in self.all)]
        """The number of each pack's first file, and how many there are."""

    def text(self, entry: Entry) -> bytes | None:
        """Return the text of a file in this very state, None where it is not held."""
        number = self.numbers.get(entry)
        if number is None:
            return None
        at = bisect_right(self.firsts, number) - 1
        return self.all[at].text(number - self.firsts[at])


def can_pack() -> bool:
    """Return whether this system has files in memory that another process can open by number."""
    # Python for an older C library lacks the one, a system without /proc the other.
    return hasattr(os, "memfd_create") and Path(OPEN_FILES).is_dir()


def packable(data: bytes) -> bytes | None:
    """Return a file's text as it can stand among others, without a byte order mark.

    None where its lines would be found otherwise than in the file: where that is UTF-16, has a
    mark behind its mark, or ends with a CR that no line break follows.
    """
    if data.startswith(_UTF16_MARKS) or data.endswith(b"\r"):
        return None
    text = data.removeprefix(_UTF8_MARK)
    # As the first of a pack it would say in which encoding all others are.
    return None if text.startswith((_UTF8_MARK, *_UTF16_MARKS)) else text


def packed(texts: Iterable[tuple[Entry, bytes]], size: int) -> Iterator[Pack]:
    """Yield texts in packs of about so many bytes. Raises OSError where there is no room."""
    left = iter(texts)
    for first in left:
        yield Pack(chain((first,), left), size)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
