"""What a reading says about its pad, where that is too long for the budget.

Own fields are cut in their texts. Metadata comes first then, in parts that end between two of its
keys (of `schemas`, between two schemas), and the cells follow in the calls that go on.
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
    """Return the part of the metadata at which a read goes on, None for any other cursor.

    Raises Invalid for a cursor of a read with another mark.
    """
    if text is None or not text.startswith(CURSOR):
        return None
    return places.number(CURSOR + mark, text)


def fitted(reading: Reading, limit: int) -> Reading:
    """Return the reading with own fields that leave most of a budget (0: none) to the rest."""
    whole, share = reading.head or reading.whole_head, limit * 3 // 8
    if budget.within(whole, share):
        return reading
    head = budget.shorten(whole, share) or _least(reading)
    return replace(reading, head=head, is_cut=True)


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
    fitting = fitted(reading, limit)
    short = budget.shorten({"metadata": reading.metadata}, limit // 8) or {"metadata": {}}
    return replace(fitting, **short, head=fitting.head or fitting.whole_head, is_cut=True)


def fitted_frame(cell: JsonObject, limit: int) -> JsonObject:
    """Return a cell's fields but its content, within a quarter of a budget (0: none)."""
    frame = {name: value for name, value in cell.items() if name != "content"}
    if budget.within(frame, limit // 4):
        return frame
    least = {name: frame[name] for name in _LEAST_OF_CELL}
    return budget.shorten(frame, limit // 4) or least


def metadata_page(reading: Reading, first: int, cells_after: Callable[[], str] | None) -> Page:
    """Return the metadata from its part `first` on, as core cuts it to the budget.

    `cells_after` makes the cursor at which the cells begin, where there are any.
    """
    every = _parts(reading.metadata or {})
    parts = every[first:]
    bare = replace(reading, metadata={})

    def envelope(some: list[JsonObject]) -> JsonObject:
        answer = bare.answer([])
        answer["scratchpad"]["metadata"] = _joined(some)
        return answer

    def cursor_after(at: int) -> str:
        if at + 1 < len(parts) or cells_after is None:
            return places.written(CURSOR + reading.mark, first + at + 1, "")
        return cells_after()

    def as_text(part: JsonObject) -> JsonObject:
        # Always with the mark of a cut: it could be taken for a text that was given otherwise.
        return {**part, "value": budget.compact(part["value"])[:-1] + "…"}

    return Page(parts, envelope, cursor_after, cells_after is not None, as_text)


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
