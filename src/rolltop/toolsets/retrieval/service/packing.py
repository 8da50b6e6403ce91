"""Texts of roots that fit into memory, held there while searches look through many files."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from rolltop.core import logs
from rolltop.core.roots import is_binary
from rolltop.core.roots.settling import SETTLED_NS, is_settled
from rolltop.toolsets.retrieval.store import Pack, Packs, can_pack, packable, packed
from rolltop.toolsets.retrieval.trigrams import Unsettled, read_settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rolltop.core.roots import Entry, Root, Roots

MOST_BYTES: Final = 64 << 20
"""Of the texts of all roots together; a root that does not fit is searched from its files."""
_LARGEST: Final = 1 << 20
"""Bytes of a file from which on opening it is little beside looking through it."""
_HEAD: Final = 8192
"""Bytes by which a file is told to be text."""
_FEW: Final = 32
"""Files that may be looked at beside what is held, and texts of files that are no more."""
_CORES: Final = os.cpu_count() or 1
"""Ripgrep looks through as many packs at a time."""
_LEAST_PACK: Final = 1 << 20
_KEPT_SECONDS: Final = 600.0
"""How long texts are held that no search has asked for."""


class Packing:
    """The texts of one root. Any number of threads may ask; one keeps them up to date."""

    def __init__(self, roots: Roots, root: Root, seen: Callable[[], Sequence[Entry]]) -> None:
        """Hold nothing yet; `seen` returns the files as they were last looked at."""
        self._roots: Final = roots
        self._root: Final = root
        self._seen: Final = seen
        self._packs: Packs | None = None
        self._asked: float | None = None
        self._entries: Sequence[Entry] | None = None
        """Those that were held, or not, when they were last brought up to date."""
        self._room = 0
        self._unfit: Final[set[Entry]] = set()
        self._given_up = not can_pack()

    @property
    def size(self) -> int:
        """The bytes that are held."""
        return 0 if self._packs is None else self._packs.size

    def packs(self) -> Packs | None:
        """Return what is held, None where nothing is; it is worth holding from now on."""
        self._asked = time.monotonic()
        return self._packs

    def update(self, room: int, stopped: Callable[[], bool]) -> None:
        """Hold the texts as they were last seen in so many bytes, or none; drop what is idle."""
        if self._asked is None or self._given_up:
            return
        if time.monotonic() - self._asked > _KEPT_SECONDS:
            self._asked = None
            self.drop()
            return
        entries = self._seen()
        if entries is self._entries and room == self._room:
            return
        small = [entry for entry in entries if entry.size <= _LARGEST]
        if sum(entry.size for entry in small) > room:
            self.drop()
        elif not self._held_anew(small, stopped):
            return
        self._entries, self._room = entries, room

    def drop(self) -> None:
        """Hold nothing."""
        self._packs = self._entries = None
        self._unfit.clear()

    def _held_anew(self, entries: Sequence[Entry], stopped: Callable[[], bool]) -> bool:
        """Hold files as they are; return whether all were that can be for now."""
        before = self._packs or Packs()
        lacking = [e for e in entries if e not in before.numbers and e not in self._unfit]
        current = set(entries)
        outdated = sum(entry not in current for entry in before.numbers)
        if self._packs is not None and max(len(lacking), outdated) <= _FEW:
            return True
        self._unfit.intersection_update(entries)
        kept = [pack for pack in before.all if _is_whole(pack, current)]
        placed = {entry for pack in kept for entry in pack.entries}
        others = [entry for entry in entries if entry not in placed and entry not in self._unfit]
        size = max(_LEAST_PACK, sum(entry.size for entry in entries) // _CORES)
        try:
            made = list(packed(self._texts(before, others, stopped), size))
        except OSError as error:
            self._given_up = True
            self.drop()
            logs.event("texts not held", level="warn", reason=type(error).__name__)
            return True
        if stopped():
            return False
        self._packs = Packs((*kept, *made))
        return not any(map(_will_settle, lacking))

    def _texts(
        self, before: Packs, entries: Iterable[Entry], stopped: Callable[[], bool]
    ) -> Iterator[tuple[Entry, bytes]]:
        for entry in entries:
            if stopped():
                return
            held = before.text(entry)
            if held is not None:
                yield entry, held
                continue
            try:
                state, data = read_settled(self._roots, self._root, entry, _LARGEST)
            except Unsettled:
                continue
            if state != entry[1:]:
                continue
            text = None if is_binary(data[:_HEAD]) else packable(data)
            if text is None:
                self._unfit.add(entry)
            else:
                yield entry, text


def _will_settle(entry: Entry) -> bool:
    """Return whether a file is only too new to be held: one of the future stays so for long."""
    is_ahead = max(entry.mtime_ns, entry.ctime_ns) > time.time_ns() + SETTLED_NS
    return not is_ahead and not is_settled(entry.mtime_ns, entry.ctime_ns)


def _is_whole(pack: Pack, current: set[Entry]) -> bool:
    """Return whether a pack is worth keeping as it is."""
    return pack.size >= _LEAST_PACK and current.issuperset(pack.entries)
