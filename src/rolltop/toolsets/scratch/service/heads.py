"""What a reading says about its pad, where that is too long for the budget.

Own fields are cut in their texts, or come first where not even that makes them short enough. So
does metadata: in parts that end between two of its keys (of `schemas`, between two schemas). The
cells follow in the calls that go on.
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
_LEAST_OF_CELL: Final = ("cell_id", "index", "language", "version")


def place(mark: str, text: str | None) -> int | None:
    """Return the part of own fields and metadata at which a read goes on, None for others.

    Raises Invalid for a cursor of a read with another mark.
    """
    if text is None or not text.startswith(CURSOR):
        return None
    return places.number(CURSOR + mark, text)


def fitted(reading: Reading, limit: int) -> Reading | None:
    """Return the reading with own fields that leave most of a budget (0: none) to the rest.

    None where even their beginnings take more.
    """
    whole, share = reading.whole_head, limit * 3 // 8
    if budget.within(whole, share):
        return reading
    head = budget.shorten(whole, share)
    return replace(reading, head=head, is_cut=True) if head else None


def begun(reading: Reading, limit: int) -> tuple[Reading, int | None]:
    """Return the reading with room for a cell, or the part with which it has to begin."""
    if has_room(reading, limit):
        return reading, None
    fitting = fitted(reading, limit)
    if fitting is None:
        return going_on(reading), 0
    is_long = reading.metadata and not has_room(fitting, limit)
    return fitting, len(_own_parts(reading)) if is_long else None


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
    fitting = fitted(reading, limit) or replace(reading, head=_least(reading), is_cut=True)
    short = budget.shorten({"metadata": reading.metadata}, limit // 8) or {"metadata": {}}
    return replace(fitting, **short, head=fitting.head or fitting.whole_head, is_cut=True)


def fitted_frame(cell: JsonObject, limit: int) -> JsonObject | None:
    """Return a cell's fields but its content, within a quarter of a budget (0: none), or None."""
    frame = {name: value for name, value in cell.items() if name != "content"}
    return frame if budget.within(frame, limit // 4) else budget.shorten(frame, limit // 4)


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


def parts_page(reading: Reading, first: int, cells_after: Callable[[], str] | None) -> Page:
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
        return part if "own" in part else {**part, "value": _as_text(part["value"])}

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


def _name(key: str) -> str:
    return key if len(key) <= NAME_LENGTH else key[: NAME_LENGTH - 1] + "…"
