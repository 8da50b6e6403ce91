"""What a reading says about its pad, where that is too long for the budget.

Own fields and metadata then come first, in parts that end between two fields or two keys (of
`schemas`, between two schemas). The cells follow in the calls that go on. Only where lines of a
cell are asked for by number are the texts of fields cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import budget
from rolltop.core.budget import Page
from rolltop.toolsets.scratch.models import LEAST_OF_PAD, NAME_LENGTH
from rolltop.toolsets.scratch.service import places

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.toolsets.scratch.models import JsonObject
    from rolltop.toolsets.scratch.service.reading import Reading

CURSOR: Final = "metadata"
_SCHEMAS: Final = "schemas"
_NAMED: Final = 5
"""Of a budget, the part that a name may take whose value has no room."""
_LEAST_OF_CELL: Final = ("cell_id", "index", "language", "version")


def place(mark: str, text: str | None) -> int | None:
    """Return the part of own fields and metadata at which a read goes on, None for others.

    Raises Invalid for a cursor of a read with another mark.
    """
    if text is None or not text.startswith(CURSOR):
        return None
    return places.number(CURSOR + mark, text)


def begun(reading: Reading, limit: int) -> int | None:
    """Return the part with which a reading has to begin, None where it leaves room for a cell."""
    if has_room(reading, limit):
        return None
    if not _is_short(reading, limit):
        return 0
    return len(_own_parts(reading)) if reading.metadata else None


def _is_short(reading: Reading, limit: int) -> bool:
    """Whether own fields leave most of a budget (0: none) to the rest."""
    return budget.within(reading.whole_head, _share(limit))


def _share(limit: int) -> int:
    return limit * 3 // 8


def going_on(reading: Reading) -> Reading:
    """Return the reading without own fields that the answer before has given."""
    return replace(reading, head=_least(reading))


def _least(reading: Reading) -> JsonObject:
    whole = reading.whole_head
    return {name: whole[name] for name in LEAST_OF_PAD}


def has_room(reading: Reading, limit: int) -> bool:
    """Whether metadata and own fields leave half of a budget to the cells."""
    return budget.within(reading.answer([]), limit // 2)


def shortened(reading: Reading, limit: int) -> Reading:
    """Return the reading with own fields and metadata that leave half of a budget to a cell.

    Of metadata that is too long only cut texts are left, or nothing.
    """
    if has_room(reading, limit):
        return reading
    head = reading.whole_head
    if not _is_short(reading, limit):
        head = budget.shorten(head, _share(limit)) or _least(reading)
    short = budget.shorten({"metadata": reading.metadata}, limit // 8) or {"metadata": {}}
    return replace(reading, **short, head=head, is_cut=True)


def least(reading: Reading) -> Reading:
    """Return the reading with no more than which pad it is of."""
    return replace(reading, metadata=None, head=_least(reading), is_cut=True)


def frame(cell: JsonObject) -> JsonObject:
    """Return a cell's fields but its content."""
    return {name: value for name, value in cell.items() if name != "content"}


def fits_frame(whole: JsonObject, limit: int) -> bool:
    """Whether a cell's other fields leave most of a budget (0: none) to its content."""
    return budget.within(whole, limit // 4)


def shortened_frame(cell: JsonObject, limit: int) -> JsonObject:
    """Return a cell's other fields within a quarter of a budget, or which cell it is."""
    whole = frame(cell)
    if fits_frame(whole, limit):
        return whole
    return budget.shorten(whole, limit // 4) or least_frame(cell)


def least_frame(cell: JsonObject) -> JsonObject:
    """Return which cell it is, where its other fields were given or are too long."""
    return {name: cell[name] for name in _LEAST_OF_CELL}


def frame_page(
    reading: Reading, cell: JsonObject, first: int, cursor_at: Callable[[int | None], str]
) -> Page:
    """Return a cell's other fields from one on, as core cuts them to the budget.

    `cursor_at` makes the cursor at which a field begins; of None, the content.
    """
    least = least_frame(cell)
    fields = [(name, value) for name, value in cell.items() if name not in {*least, "content"}]
    parts: list[JsonObject] = [{"field": name, "value": value} for name, value in fields[first:]]

    def envelope(some: list[JsonObject]) -> JsonObject:
        shown = {part["field"]: part["value"] for part in some}
        return reading.answer([{**least, **shown, "content": ""}])

    def cursor_after(at: int) -> str:
        return cursor_at(first + at + 1 if at + 1 < len(parts) else None)

    def as_text(part: JsonObject) -> JsonObject:
        if part["field"] == "metadata":  # always an object
            return {**part, "value": {"…": _as_text(part["value"])}}
        return (
            {**part, "value": _as_text(part["value"])} if part["field"] == "json_schema" else part
        )

    return Page(parts, envelope, cursor_after, more=True, reduced=as_text)


def parts_page(
    reading: Reading, first: int, limit: int, cells_after: Callable[[], str] | None
) -> Page:
    """Return own fields and metadata from a part on, as core cuts them to the budget.

    `cells_after` makes the cursor at which the cells begin, where there are any.
    """
    parts = [*_own_parts(reading), *_parts(reading.metadata or {})][first:]

    def envelope(some: list[JsonObject]) -> JsonObject:
        answer = reading.answer([])
        own = {part["own"]: part["value"] for part in some if "own" in part}
        if reading.metadata and len(own) == len(some):
            del answer["scratchpad"]["metadata"]
        elif reading.metadata:
            answer["scratchpad"]["metadata"] = _joined(some)
        answer["scratchpad"] |= own
        return answer

    def cursor_after(at: int) -> str:
        if at + 1 < len(parts) or cells_after is None:
            return places.written(CURSOR + reading.mark, first + at + 1, "")
        return cells_after()

    def as_text(part: JsonObject) -> JsonObject:
        if "own" in part:
            return part
        kind = "key" if "key" in part else "schema"
        named = {kind: _short(part[kind], limit // _NAMED)}
        return {**named, "value": _as_text(part["value"])}

    return Page(parts, envelope, cursor_after, cells_after is not None, as_text)


def _own_parts(reading: Reading) -> list[JsonObject]:
    known = {*LEAST_OF_PAD, "cells"}
    whole = reading.whole_head.items()
    return [{"own": name, "value": value} for name, value in whole if name not in known]


def _as_text(value: object) -> str:
    # Always with the mark of a cut: it could be taken for a text that was given otherwise.
    return budget.compact(value)[:-1] + "…"


def _parts(metadata: JsonObject) -> list[JsonObject]:
    """Return the entries of metadata one by one, of `schemas` each schema."""
    parts: list[JsonObject] = []
    for key, value in metadata.items():
        if key == _SCHEMAS:
            parts += [{"schema": name, "value": entry} for name, entry in value.items()]
        else:
            parts.append({"key": _name(key), "value": value})
    return parts


def _joined(parts: list[JsonObject]) -> dict[str, Any]:
    joined: dict[str, Any] = {part["key"]: part["value"] for part in parts if "key" in part}
    kept = {part["schema"]: part["value"] for part in parts if "schema" in part}
    return {**joined, _SCHEMAS: kept} if kept else joined


def _short(name: str, limit: int) -> str:
    """Return a name, cut where it takes more than so many tokens."""
    shortened = None if budget.within(name, limit) else budget.shorten({"name": name}, limit)
    return shortened["name"] if shortened else name


def _name(key: str) -> str:
    return key if len(key) <= NAME_LENGTH else key[: NAME_LENGTH - 1] + "…"
