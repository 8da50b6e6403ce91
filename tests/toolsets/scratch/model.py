"""A second, plain account of what scratchpads do: lists and dictionaries in memory.

It is written from the promises, not from the product: `test_machine` compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.toolsets.histories import Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

KEEPS = timedelta(days=30)


@dataclass
class Cell:
    """One cell."""

    id: str
    content: str
    tags: list[str]
    version: int = 1


@dataclass
class Pad:
    """One pad, in the trash or not."""

    id: str
    namespace: str
    tags: list[str]
    created: datetime
    updated: datetime
    accessed: datetime
    version: int = 1
    cells: list[Cell] = field(default_factory=list[Cell])
    deleted: datetime | None = None


class Model:
    """One tenant's pads, at most `most` outside the trash, of at most `cells` cells."""

    def __init__(self, now: Callable[[], datetime], most: int, cells: int) -> None:
        self.now, self.most, self.most_cells = now, most, cells
        self.pads: dict[str, Pad] = {}
        self.namespaces: dict[str, datetime] = {}

    def living(self) -> list[Pad]:
        """Return the pads outside the trash."""
        return [pad for pad in self.pads.values() if pad.deleted is None]

    def find(self, pad_id: str) -> Pad:
        """Return a pad outside the trash, or refuse."""
        pad = self.pads.get(pad_id)
        if pad is None or pad.deleted is not None:
            raise Refused("NOT_FOUND")
        return pad

    def cell(self, pad_id: str, cell_id: str, version: int | None) -> tuple[Pad, int]:
        """Return a pad and the place of its cell, or refuse."""
        pad = self.find(pad_id)
        for place, cell in enumerate(pad.cells):
            if cell.id == cell_id:
                if version is not None and version != cell.version:
                    raise Refused("CONFLICT")
                return pad, place
        raise Refused("NOT_FOUND")

    def create(self, pad_id: str, namespace: str, tags: list[str], cells: list[Cell]) -> list[str]:
        """Make a pad; return the ids of those that made room for it."""
        there = self.pads.get(pad_id)
        if len(cells) > self.most_cells:
            raise Refused("CAPACITY_LIMIT_REACHED")
        if len({cell.id for cell in cells}) < len(cells):
            raise Refused("INVALID_ID")
        if there is not None and there.deleted and there.deleted <= self.now() - KEEPS:
            gone = there
        elif there is not None:
            raise Refused("INVALID_ID")
        else:
            gone = None
        others = [pad for pad in self.pads.values() if pad is not gone]
        if {cell.id for cell in cells} & {cell.id for pad in others for cell in pad.cells}:
            raise Refused("INVALID_ID")
        if gone is not None:
            del self.pads[pad_id]
        evicted = self._make_room()
        now = self.now()
        self.pads[pad_id] = Pad(pad_id, namespace, tags, now, now, now, cells=cells)
        self.namespaces.setdefault(namespace, now)
        return evicted

    def append(self, pad_id: str, cell: Cell, version: int | None) -> None:
        """Add a cell."""
        pad = self.find(pad_id)
        if version is not None and version != pad.version:
            raise Refused("CONFLICT")
        if len(pad.cells) + 1 > self.most_cells:
            raise Refused("CAPACITY_LIMIT_REACHED")
        if cell.id in {other.id for pad in self.pads.values() for other in pad.cells}:
            raise Refused("INVALID_ID")
        pad.cells.append(cell)
        self._write(pad)

    def replace(
        self, pad_id: str, cell_id: str, content: str, place: int | None, version: int | None
    ) -> None:
        """Put content in a cell's place, and the cell in another."""
        pad, old = self.cell(pad_id, cell_id, version)
        if place is not None and place >= len(pad.cells):
            raise Refused("INVALID_INDEX")
        cell = pad.cells[old]
        cell.content, cell.version = content, cell.version + 1
        if place is not None:
            pad.cells.insert(place, pad.cells.pop(old))
        self._write(pad)

    def edit(self, pad_id: str, cell_id: str, old: str, new: str, version: int | None) -> None:
        """Replace the one occurrence of a text."""
        pad, place = self.cell(pad_id, cell_id, version)
        cell = pad.cells[place]
        if cell.content.count(old) != 1:
            raise Refused("VALIDATION_ERROR")
        cell.content, cell.version = cell.content.replace(old, new), cell.version + 1
        self._write(pad)

    def delete_cell(self, pad_id: str, cell_id: str, version: int | None) -> None:
        """Take a cell out."""
        pad, place = self.cell(pad_id, cell_id, version)
        del pad.cells[place]
        self._write(pad)

    def update(
        self, pad_id: str, namespace: str | None, tags: list[str], version: int | None
    ) -> None:
        """Change tags, and the namespace if one is given."""
        pad = self.find(pad_id)
        if version is not None and version != pad.version:
            raise Refused("CONFLICT")
        pad.tags = tags
        pad.namespace = namespace or pad.namespace
        self.namespaces.setdefault(pad.namespace, self.now())
        self._write(pad)

    def delete(self, pad_id: str) -> bool:
        """Put a pad into the trash; whether it was outside."""
        try:
            pad = self.find(pad_id)
        except Refused:
            return False
        self._discard(pad)
        return True

    def restore(self, pad_id: str) -> list[str]:
        """Take a pad out of the trash; return those that made room for it."""
        pad = self.pads.get(pad_id)
        if pad is None or pad.deleted is None or pad.deleted <= self.now() - KEEPS:
            raise Refused("NOT_FOUND")
        evicted = self._make_room()
        pad.deleted = None
        self.namespaces.setdefault(pad.namespace, self.now())
        self._write(pad)
        return evicted

    def rename(self, old: str, new: str) -> int:
        """Give a namespace another name; return how many pads moved."""
        if old not in self.namespaces:
            raise Refused("NOT_FOUND")
        if old == new:
            return 0
        if new in self.namespaces:
            raise Refused("VALIDATION_ERROR")
        self.namespaces[new] = self.namespaces.pop(old)
        moved = [pad for pad in self.living() if pad.namespace == old]
        for pad in self.pads.values():
            pad.namespace = new if pad.namespace == old else pad.namespace
        for pad in moved:
            self._write(pad)
        return len(moved)

    def delete_namespace(self, name: str, *, with_pads: bool) -> tuple[bool, int]:
        """Forget a namespace, with its pads or not if it has any."""
        inside = [pad for pad in self.living() if pad.namespace == name]
        if inside and not with_pads:
            raise Refused("VALIDATION_ERROR")
        for pad in inside:
            self._discard(pad)
        return self.namespaces.pop(name, None) is not None, len(inside)

    def purge(self) -> None:
        """Forget what has been in the trash for 30 days."""
        end = self.now() - KEEPS
        kept = {i: pad for i, pad in self.pads.items() if not pad.deleted or pad.deleted > end}
        self.pads = kept

    def _make_room(self) -> list[str]:
        order = sorted(self.living(), key=lambda pad: (pad.accessed, pad.created, pad.id))
        evicted = order[: max(0, len(order) + 1 - self.most)]
        for pad in evicted:
            self._discard(pad)
        return [pad.id for pad in evicted]

    def _discard(self, pad: Pad) -> None:
        self._write(pad)
        pad.deleted = self.now()

    def _write(self, pad: Pad) -> None:
        pad.version += 1
        pad.updated = pad.accessed = self.now()
