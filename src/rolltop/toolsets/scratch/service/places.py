"""Where lists go on: cursors of ids, moments and names, which are never trusted.

A cursor names what comes next, or what came last, so that a list goes on where it was though
others are added and removed before that place meanwhile.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import cursor
from rolltop.core.errors import Invalid
from rolltop.toolsets.scratch.service import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.toolsets.scratch.models import Order

Place = tuple[int, str]
"""The position and the id of what comes next."""
_CODE: Final = "VALIDATION_ERROR"
_TAGS: Final = ("pad", "cell")


def after(kind: str, ids: Sequence[str], at: int, before: int = 0) -> str:
    """Return the cursor that goes on after `ids[at]`; `before` ids stand before the first."""
    following = min(at + 1, len(ids) - 1)
    return cursor.encode(kind, [before + following, ids[following]])


def following(kind: str, text: str | None) -> Place | None:
    """Return the place in a cursor, None without one. Raises Invalid."""
    if text is None:
        return None
    position, one = _values(kind, text, [int, str])
    return max(position, 0), one


def resumed(ids: Sequence[str], place: Place | None) -> int:
    """Return where that id stands now; what stands in its place where it is gone."""
    if place is None:
        return 0
    position, one = place
    return ids.index(one) if one in ids else min(position, len(ids))


def number(kind: str, text: str | None) -> int:
    """Return the number in a cursor, 0 without one. Raises Invalid."""
    return 0 if text is None else max(0, _values(kind, text, [int])[0])


def tag(text: str | None) -> tuple[int, str] | None:
    """Return the order of the tag in a cursor, None without one. Raises Invalid."""
    if text is None:
        return None
    kind, name = _values("tags", text, [str, str])
    if kind not in _TAGS:
        raise _bad()
    return tag_order((kind, name))


def tag_order(one: tuple[str, str]) -> tuple[int, str]:
    """Return what a tag, of pads or of cells, is ordered by."""
    return _TAGS.index(one[0]), one[1]


def moment_and_text(kind: str, text: str | None) -> tuple[datetime, str] | None:
    """Return a cursor's moment and text, None without one. Raises Invalid."""
    if text is None:
        return None
    moment, name = _values(kind, text, [str, str])
    return _moment(moment), name


def of_pad(text: str, order: Order) -> list[Any]:
    """Return where a pad stands in an order, as a cursor says. Raises Invalid."""
    if order == "title":
        untitled, title, scratch_id = _values("pads-title", text, [int, str, str])
        return [int(untitled > 0), title, scratch_id]
    moment, scratch_id = _values(f"pads-{order}", text, [str, str])
    return [_moment(moment), scratch_id]


def _values(kind: str, text: str, kinds: list[type]) -> list[Any]:
    """Return a cursor's values, of these kinds, their texts such as a store can hold."""
    values = cursor.decode(kind, text, code=_CODE)
    if [type(value) for value in values] != kinds:
        raise _bad()
    try:
        for value in values:
            checks.storable(str(value))
    except Invalid:
        raise _bad() from None
    return values


def _moment(text: str) -> datetime:
    try:
        value = datetime.fromisoformat(text)
        if value.tzinfo is None:
            raise _bad()
        return value.astimezone(UTC)
    except (ValueError, OverflowError):
        raise _bad() from None


def _bad() -> Invalid:
    return checks.wrong(
        "cursor is not one that this list answered",
        "Send next_cursor exactly as it was answered, or leave cursor out to start again.",
    )
