"""Lines of files that moved since desk_read showed the file, found by what they were then."""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock
from typing import Final

from rolltop.core.addresses import VERSION_LENGTH, Address
from rolltop.core.context import AppContext
from rolltop.core.errors import RolltopError

_MAX_BYTES: Final = 1 << 20
"""Larger files are not remembered."""
_MAX_LINES: Final = 1 << 20
"""Lines of all remembered versions, 8 bytes each."""
_MAX_PLACES: Final = 100
"""Places of the same lines that are told apart."""
_MAX_WANTED: Final = 10_000
"""Lines that are looked for."""
_MAX_VERSIONS: Final = 1_000


class LineVersions:
    """The hashes of the lines of files at the versions that this process showed."""

    def __init__(self, app: AppContext) -> None:
        """Remember nothing yet."""
        self._roots: Final = app.roots
        self._lock: Final = Lock()
        self._known: Final[OrderedDict[str, array[int]]] = OrderedDict()

    def remember(self, address: Address) -> None:
        """Keep what the lines of a file are at the version that its address names."""
        with self._lock:
            if address.version in self._known:
                self._known.move_to_end(address.version)
                return
        version, lines = self._read(address)
        if version != address.version:
            return
        with self._lock:
            self._known[version] = lines
            while (
                len(self._known) > _MAX_VERSIONS or sum(map(len, self._known.values())) > _MAX_LINES
            ):
                self._known.popitem(last=False)

    def find_moved(self, address: Address) -> tuple[int, int] | None:
        """Return where lines of a version are now; None if there, gone or not known.

        Of as many places as then, it is the one of the same rank.
        """
        with self._lock:
            before = self._known.get(address.version)
        if before is None or address.lines is None or address.lines[1] > len(before):
            return None
        start, end = address.lines[0] - 1, address.lines[1]
        if end - start > _MAX_WANTED:
            return None
        version, now = self._read(address)
        if version == address.version:
            return None
        earlier, places = (list(_find_places(some, before[start:end])) for some in (before, now))
        if len(places) == len(earlier) <= _MAX_PLACES:
            place = places[earlier.index(start)]
        elif len(places) == 1:
            place = places[0]
        else:
            return None
        return None if place == start else (place + 1, place + end - start)

    def _read(self, address: Address) -> tuple[str, array[int]]:
        """Return a file's version and the hashes of its lines; empty if it cannot be read."""
        with suppress(RolltopError, OSError):
            located = self._roots.locate(address.path, root=address.root)
            with self._roots.open_regular(located) as file:
                data = file.read(_MAX_BYTES + 1)
            if len(data) <= _MAX_BYTES:
                lines = data.removesuffix(b"\n").split(b"\n")
                version = hashlib.sha256(data).hexdigest()[:VERSION_LENGTH]
                return version, array("q", map(hash, lines))
        return "", array("q")


def _find_places(lines: array[int], wanted: array[int]) -> Iterator[int]:
    """Yield where some lines are among others, up to one place more than are told apart."""
    text, part, at = lines.tobytes(), wanted.tobytes(), -1
    for _ in range(_MAX_PLACES + 1):
        at = text.find(part, at + 1)
        while at % lines.itemsize and at >= 0:
            at = text.find(part, at + 1)
        if at < 0:
            return
        yield at // lines.itemsize
