"""The index of one root: its files as they are, and which of them may match a query.

What the disk holds (`Catalogue`) is compared with what was read (`Postings`). A file whose state
is not the one that was read is stale: it may match anything, until it is read again.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Final

from rolltop.core.collecting import uncollected
from rolltop.core.roots import Entry, Marks, Skipped, is_sendable
from rolltop.toolsets.retrieval.models import Totals
from rolltop.toolsets.retrieval.store import Held, Row, Stamp, batches, scattered
from rolltop.toolsets.retrieval.trigrams.building import WORTH, size_of
from rolltop.toolsets.retrieval.trigrams.catalogue import Catalogue, Ticket
from rolltop.toolsets.retrieval.trigrams.postings import BINARY
from rolltop.toolsets.retrieval.trigrams.required import required
from rolltop.toolsets.retrieval.trigrams.rulefiles import settled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from rolltop.core.roots import Listed, Root, Roots
    from rolltop.toolsets.retrieval.models import Query, Whole
    from rolltop.toolsets.retrieval.trigrams.building import Building, Refused
    from rolltop.toolsets.retrieval.trigrams.postings import Postings

_WORTH: Final = 0.5
"""Share of the files above which reading those proposed costs as much as reading all."""
_FEW_UNSURE: Final = 1_000
"""Files that are looked through for what is binary once more, where that is to be told."""
_HELD_SECONDS: Final = 30.0
"""How long a file that was held open for writing is left in peace."""
_SIZE: Final = itemgetter(1)
_BATCH_BYTES: Final = 256 << 20
_BATCH_FILES: Final = 32_000
"""Files that are read before it is asked again whether to go on: a quarter of a minute's."""


class RootIndex:
    """What this process knows of one root. Any number of threads may ask."""

    def __init__(self, roots: Roots, root: Root, building: Building, *, watch: bool) -> None:
        """Know nothing yet."""
        self.root: Final = root
        self._roots: Final = roots
        self._building: Final = building
        self._key: Final = str(root.path)
        self._catalogue: Final = Catalogue(roots, root, watch=watch)
        self._asked = False
        self.seen: list[Entry] = []
        """The files when they were last looked at."""
        self.listed = False
        """Whether the files were listed before, so that only changes cost time."""
        self._lock: Final = Lock()
        self._held: Final = Held()
        self._postings: Postings | None = None
        self._last_change = 0
        self._binary: Final[dict[str, Stamp]] = {}
        """Files that were no text in the state they were read in, by their paths."""
        self._judged_last: (
            tuple[list[Entry], tuple[int, int], tuple[Totals, list[Entry]]] | None
        ) = None
        self._marked: tuple[list[Entry], int, Marks] | None = None
        self._refused: Final[dict[Entry, float]] = {}
        """Files that could not be read into the index in the states they were in, and when to try
        again."""

    @property
    def pending(self) -> bool:
        """Whether files that could be read now were not in the index when last looked at."""
        with self._lock:
            return any(map(self._readable, self._held.stale.values()))

    @property
    def waiting(self) -> int:
        """How many files the index did not hold in their state when they were last looked at."""
        return len(self._held.stale)

    @property
    def size(self) -> int:
        """The bytes of all files when they were last looked at."""
        return self._held.size

    def begin(self) -> Ticket | None:
        """Begin to look at the files."""
        return self._catalogue.begin()

    def files(self, skipped: Skipped, begun: Ticket | None = None) -> list[Entry]:
        """Return the chosen files as they are now, or when the look was begun, in order."""
        self._asked = True
        with nullcontext() if self.listed else uncollected():
            entries = self._catalogue.files(skipped, begun=begun)
        self.seen = entries
        self.listed = True
        return entries

    def walk(self, skipped: Skipped) -> Iterator[Entry]:
        """Yield the chosen files as they come, in order, and remember nothing."""
        return self._roots.walk(self.root, skipped=skipped)

    def folders(self, start: str, skipped: Skipped) -> Iterator[Listed]:
        """Yield the directories with the names of their files as they come; remember nothing."""
        return self._roots.directories(self.root, start=start, skipped=skipped)

    def look_at_all(self) -> None:
        """Look at every file, where a search has been answered since the last time."""
        if self._asked:
            self._asked = False
            self._catalogue.files(Skipped(), look_at_all=True)

    def close(self) -> None:
        """Watch the files no longer."""
        self._catalogue.close()

    def candidates(
        self, files: Callable[[], list[Entry]], postings: Postings, query: Query
    ) -> list[Entry] | None:
        """Return those of the files that may match, in order; None where most of them may.

        The index is asked first, while others may still look at the files.
        """
        need = required(query)
        change, numbers = postings.proposed(need)
        entries = files()
        with self._lock, postings.at_one_time():
            self._compare(entries, postings)
            if numbers is None or len(self._held.stale) > len(entries) * _WORTH:
                return None
            if self._last_change != change:  # others have written, about any of the files
                _, numbers = postings.proposed(need)
            if numbers is None:
                return None
            fresh = self._held.fresh
            found = [fresh[number] for number in numbers if number in fresh]
            found += self._held.stale.values()
        if len(found) > len(entries) * _WORTH:
            return None
        # By components, as split("/") would, in a third of the time: no name holds a NUL.
        return sorted(found, key=lambda entry: entry.relative.replace("/", "\0"))

    def is_text(self, entry: Entry) -> bool | None:
        """Return whether a file is text, None where the index does not know it as it is."""
        # Of any list of files: another search may have compared a newer one, or an older.
        # In the order opposite to that of `_take`, or what it takes in between counts as text.
        known = self._held.number(entry) is not None
        if self._binary.get(entry.relative) == entry[1:5]:
            return False
        return True if known else None

    def whole_folders(self, entries: list[Entry]) -> Mapping[str, Whole]:
        """Return the directories of which all is chosen, by their paths from the root.

        None where the files have been listed anew since.
        """
        return self._catalogue.whole_folders(entries)

    def unsure(self, entries: list[Entry]) -> Collection[str] | None:
        """Return the paths of those of the files that the index does not hold as they are.

        None where they may be many.
        """
        with self._lock:
            stale = self._held.stale
            is_of_these = self._held.entries is entries
            return frozenset(stale) if is_of_these and len(stale) <= _FEW_UNSURE else None

    def marks(self, entries: list[Entry], most_bytes: int) -> Marks:
        """Return the marks of those of the files that may be searched."""
        with self._lock:
            kept = self._marked
            if kept is None or kept[1] != most_bytes:
                kept = self._marked = entries, most_bytes, Marks(entries, most_bytes)
            elif kept[0] is not entries:
                kept = self._marked = entries, most_bytes, kept[2].changed_to(entries)
            return kept[2]

    def texts(self, entries: list[Entry], most_bytes: int) -> list[Entry]:
        """Return those of the files that are searched, as far as is known."""
        return self._judged(entries, most_bytes)[1]

    def totals(self, entries: list[Entry], most_bytes: int) -> tuple[Totals, list[Entry]]:
        """Return how much of the files is searched, and which, as far as is known."""
        return self._judged(entries, most_bytes)

    def _judged(self, entries: list[Entry], most_bytes: int) -> tuple[Totals, list[Entry]]:
        with self._lock:
            of, kept = (self._last_change, most_bytes), self._judged_last
            if kept is None or kept[0] is not entries or kept[1] != of:
                kept = self._judged_last = entries, of, self._judge(entries, most_bytes)
            return kept[2]

    def _judge(self, entries: list[Entry], most_bytes: int) -> tuple[Totals, list[Entry]]:
        # This runs for every file after every change: those that need a second look are few.
        binary = self._binary
        doubtful = [e for e in entries if e[1] > most_bytes or not e[0].isascii() or e[0] in binary]
        sent = [entry for entry in doubtful if is_sendable(entry.relative)]
        fitting = [entry for entry in sent if entry.size <= most_bytes]
        texts = [entry for entry in fitting if binary.get(entry.relative) != entry[1:5]]
        left_out = set(map(id, doubtful)).difference(map(id, texts))
        texts = [e for e in entries if id(e) not in left_out] if left_out else entries
        totals = Totals(
            files=len(texts),
            bytes=sum(map(_SIZE, texts)),
            binary=len(entries) - len(texts) - (len(doubtful) - len(fitting)),
            unreadable=len(doubtful) - len(sent),
            too_large=len(sent) - len(fitting),
        )
        return totals, texts

    def update(self, postings: Postings, stopped: Callable[[], bool]) -> None:
        """Read stale files into the index until stopped.

        Raises:
            Busy: another process is writing.
            Unusable: the index cannot be used.

        """
        entries = self.files(Skipped())
        with self._lock:
            self._compare(entries, postings)
            stale = sorted(filter(self._readable, self._held.stale.values()))
            gone = self._held.gone()
        if gone:
            postings.forget(self._key, gone)
            for entry in self._refused.keys() - set(self._held.stale.values()):
                del self._refused[entry]
        many = sum(entry.size for entry in stale) >= WORTH
        for batch in batches(scattered(stale), size_of, _BATCH_BYTES, _BATCH_FILES):
            if stopped():
                return
            self._refuse(self._building.read(postings, self.root, batch, stopped, many=many))

    def _readable(self, entry: Entry) -> bool:
        """Return whether reading the file is worth trying."""
        return time.monotonic() >= self._refused.get(entry, 0) and settled(entry[1:])

    def _refuse(self, refused: Refused) -> None:
        """Leave files in peace that could not be read: for a while, or until they change."""
        for entry, passing in refused.items():
            wait = _HELD_SECONDS if passing else math.inf
            self._refused[entry] = time.monotonic() + wait

    def _compare(self, entries: list[Entry], postings: Postings) -> None:
        """Take the files and the index as they are now."""
        self._held.take_files(entries)
        if postings is self._postings:
            self._last_change = postings.each_row(self._key, self._last_change, self._take)
            return
        with uncollected():
            self._postings, self._last_change = postings, 0
            self._held.forget_rows()  # what was binary in a state still is in that state
            self._last_change = postings.each_row(self._key, 0, self._take)

    def _take(self, path: str, row: Row, kind: int) -> None:
        # In this order no file that is binary ever counts as text, whoever asks in between.
        if kind == BINARY:
            self._binary[path] = row.stamp
        self._held.take_row(path, row)
        if kind != BINARY:
            self._binary.pop(path, None)
