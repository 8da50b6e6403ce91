"""The states of a directory and of files in it: asked for, and compared with those known.

This may be the program of a `Child`, one that looks at every file at every search. So it is made
to be quick: where it can, it lets the system write all states of a directory into one piece of
memory and compares that with the piece of the look before.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import platform
import sys
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

OPEN_TO_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_OPEN: Final = getattr(os, "O_PATH", os.O_RDONLY) | OPEN_TO_LIST
_STATE: Final = cast(
    "Callable[[os.stat_result], State]",
    attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev"),
)
_UNPACKED: Final = 2
"""The version of marshal that writes equal values alike."""
_STATUS_BYTES: Final = 120
"""Of `struct stat`, up to its last time, on the machines below."""
_SPARE_BYTES: Final = 256
_MACHINES: Final = frozenset({"x86_64", "aarch64"})
_NO_FOLLOW: Final = 0x100
_FIRST_ROOM: Final = 256


State = tuple[int, int, int, int, int]
"""Size, times of content and status in nanoseconds, inode, device."""


class Known(NamedTuple):
    """A directory, names of files in it, and the states of all as they were last seen."""

    number: int
    path: str
    names: list[str]
    states: bytes


Request = tuple[list[Known], list[int], bool]
"""Directories known from now on, numbers of those that are not any more, whether to look."""


def packed(states: Iterable[State]) -> bytes:
    """Return states as bytes: the directory's first, then those of its files."""
    return marshal.dumps(list(states), _UNPACKED)


class _Looked(NamedTuple):
    """A directory as it is looked at."""

    path: str
    names: list[bytes]
    states: bytes
    seen: bytes
    """What was written into memory when the states were last as known."""


class Watchman:
    """Knows directories, and tells which of them are not in the states they were known in."""

    def __init__(self) -> None:
        """Know none."""
        self._known: Final[dict[int, _Looked]] = {}
        self._memory: Final = _Memory() if _Memory.serves() else None

    def __call__(self, request: Request) -> list[int] | None:
        """Return the numbers of directories that changed; None where a look was not asked for."""
        known, dropped, look = request
        for number in dropped:
            self._known.pop(number, None)
        for one in known:
            names = list(map(os.fsencode, one.names))
            self._known[one.number] = _Looked(one.path, names, one.states, b"")
        if not look:
            return None
        return [number for number in self._known if not self._is_as_known(number)]

    def _is_as_known(self, number: int) -> bool:
        path, names, states, seen = known = self._known[number]
        try:
            opened = os.open(path, _OPEN)
        except OSError:
            return False
        try:
            if self._memory is None:
                return self._states(names, opened) == states
            now = self._memory.written(opened, names)
            if now is not None and now == seen:
                return True
            if self._states(names, opened) != states:
                return False
            # Nothing changed between the two, or the next look asks again.
            if now is not None and self._memory.written(opened, names) == now:
                self._known[number] = known._replace(seen=now)
        except OSError:
            return False
        finally:
            os.close(opened)
        return True

    @staticmethod
    def _states(names: list[bytes], opened: int) -> bytes:
        look = partial(os.stat, dir_fd=opened, follow_symlinks=False)
        return packed([_STATE(os.fstat(opened)), *map(_STATE, map(look, names))])


class _Memory:
    """Room that the system writes the states of one directory into."""

    def __init__(self) -> None:
        # Not CDLL: giving the interpreter's lock away costs more than a call takes.
        self._library: Final = ctypes.PyDLL(None)
        self._room = 0
        self._make(_FIRST_ROOM)

    @staticmethod
    def serves() -> bool:
        """Return whether this system writes states the way that is known here."""
        known = sys.platform == "linux" and platform.machine() in _MACHINES
        return known and hasattr(ctypes.PyDLL(None), "fstatat")

    def written(self, opened: int, names: list[bytes]) -> bytes | None:
        """Return all that the system says of a directory and of files in it; None for an error.

        Equal values stand for equal states; others may be equal states too, for a file that was
        read.
        """
        if len(names) >= self._room:
            self._make(2 * len(names))
        self._library.fstat(opened, self._places[0])
        places = self._places[1 : len(names) + 1]
        answers = map(self._library.fstatat, repeat(opened), names, places, repeat(_NO_FOLLOW))
        if any(answers):
            return None
        return ctypes.string_at(self._memory, _STATUS_BYTES * (len(names) + 1))

    def _make(self, room: int) -> None:
        self._room = room
        self._memory = ctypes.create_string_buffer(_STATUS_BYTES * room + _SPARE_BYTES)
        self._places = [ctypes.byref(self._memory, _STATUS_BYTES * at) for at in range(room)]
