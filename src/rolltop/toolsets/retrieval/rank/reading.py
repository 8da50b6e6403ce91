"""Files read to be ranked, each in one certain state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from rolltop.core.roots import PathProblem, is_binary
from rolltop.core.roots.opening import names_still
from rolltop.core.roots.settling import is_settled
from rolltop.core.roots.writers import is_held_for_writing
from rolltop.core.text.decode import Encoding, beginning, decode
from rolltop.toolsets.retrieval.formats import encoding_at

if TYPE_CHECKING:
    from rolltop.core.roots import Entry, Root, Roots
    from rolltop.toolsets.retrieval.store import Stamp

LARGEST: Final = 8 << 20
"""Bytes of the largest file all of whose text is ranked: larger ones are data, or generated."""

_BEGINNING: Final = 1 << 20
"""Bytes of a larger one that are, so that it is found by its name and by what it is."""

_ATTEMPTS: Final = 3
_LARGEST_INTEGER: Final = (1 << 63) - 1

_NO_STATE: Final = (-1, 0, 0, 0)
"""Of what belongs to no state of a file: it may be shown, and is not kept."""


class Unreadable(Exception):
    """The file is gone, no text, or may not be read."""


def read(roots: Roots, root: Root, entry: Entry, *, keeping: bool = False) -> tuple[Stamp, str]:
    """Return a file's state and its text; for `keeping` one that nobody is writing to.

    Of a file larger than `LARGEST` it is the beginning. Raises Unreadable.
    """
    for _ in range(_ATTEMPTS):
        try:
            with roots.open_entry(root, entry) as file:
                stamp = _stamp(os.fstat(file.fileno()))
                if keeping and is_held_for_writing(file.fileno()):
                    return _NO_STATE, ""
                most = _BEGINNING if stamp[0] > LARGEST else LARGEST
                data = file.read(min(stamp[0], most) + 1)
                if len(data) != min(stamp[0], most + 1) or _stamp(os.fstat(file.fileno())) != stamp:
                    data = os.pread(file.fileno(), most + 1, 0)  # at one time, not in two parts
                    stamp = _NO_STATE
                encoding = Encoding("ascii")
                if len(data) > most and not data.isascii():
                    encoding = encoding_at(file.fileno())
                if settled(stamp) or names_still(root.place(entry.relative), file):
                    break
        except (OSError, PathProblem):
            raise Unreadable from None
    else:
        raise Unreadable
    if is_binary(data):
        raise Unreadable
    if len(data) <= most:
        return stamp, decode(data).text
    text = beginning(data[encoding.mark : most], encoding.name)
    return stamp, text[: text.rfind("\n") + 1 or len(text)]


def settled(stamp: Stamp) -> bool:
    """Return whether the last change is so long ago that the next one would show."""
    return is_settled(stamp[1], stamp[2]) and min(stamp) >= 0 and max(stamp) <= _LARGEST_INTEGER


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
