"""What a search went over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.models import Totals


@dataclass
class Tally:
    """What a search went over, and what it passed by."""

    files: int = 0
    bytes: int = 0
    binary: int = 0
    unreadable: int = 0
    too_large: int = 0
    changed: int = 0

    def drop(self, size: int) -> None:
        """Take back a file of that size: it was not searched after all."""
        self.files -= 1
        self.bytes -= size

    def merge(self, other: Tally) -> None:
        """Count what another search went over."""
        self.files += other.files
        self.bytes += other.bytes
        self.binary += other.binary
        self.unreadable += other.unreadable
        self.too_large += other.too_large
        self.changed += other.changed

    def add(self, totals: Totals) -> None:
        """Count what an index has counted."""
        self.files += totals.files
        self.bytes += totals.bytes
        self.binary += totals.binary
        self.unreadable += totals.unreadable
        self.too_large += totals.too_large
