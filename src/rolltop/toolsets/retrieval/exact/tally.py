"""What a search of a tree went over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rolltop.core.roots import holds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.models import Totals


@dataclass
class Tally:
    """What a search of a tree went over, and what it passed by."""

    files: int = 0
    bytes: int = 0
    binary: int = 0
    unreadable: int = 0
    too_large: int = 0
    changed: int = 0
    found_out: list[Entry] = field(default_factory=list["Entry"])
    """Files that were taken for text until they were opened."""
    dropped: list[Entry] = field(default_factory=list["Entry"])
    """Files that were not searched after all, these among them."""

    def find_out(self, entry: Entry) -> None:
        """Count a file that was to be searched as binary."""
        self.drop(entry)
        self.binary += 1
        self.found_out.append(entry)

    def drop(self, entry: Entry) -> None:
        """Take back a file: it was not searched after all."""
        self.files -= 1
        self.bytes -= entry.size
        self.dropped.append(entry)

    def merge(self, other: Tally) -> None:
        """Count what another search went over."""
        self.files += other.files
        self.bytes += other.bytes
        self.binary += other.binary
        self.unreadable += other.unreadable
        self.too_large += other.too_large
        self.changed += other.changed

    def add(self, totals: Totals, texts: Sequence[Entry]) -> None:
        """Count what an index has counted, and as text these.

        It may know by now of files that were found out to be binary, and have counted them as such.
        """
        self.binary -= sum(not holds(texts, entry) for entry in self.found_out)
        for entry in self.dropped:
            if not holds(texts, entry):
                self.files += 1
                self.bytes += entry.size
        self.files += totals.files
        self.bytes += totals.bytes
        self.binary += totals.binary
        self.unreadable += totals.unreadable
        self.too_large += totals.too_large
