"""Where lists go on: cursors of ids, moments and names, which are never trusted.

A cursor names what comes next, or what came last, so that a list goes on where it was though
others are added and removed before that place meanwhile.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import NAMESPACE_OID, UUID, uuid5
from zlib import crc32

from rolltop.core import cursor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

Place = tuple[int, str]
"""The position of what comes next, and the begin of its id."""
_CODE: Final = "VALIDATION_ERROR"
_BEGIN: Final = 8
"""Characters of an id: enough to tell the cells of a pad apart, and cheap in tokens."""
_WRITTEN: Final = re.compile(r"([0-9]{1,9})-([0-9a-f]{0,8})((?:-[0-9]{1,9})*)")

_TITLED: Final = struct.Struct(">16sII")
_FARTHEST: Final = (1 << 32) - 1


@dataclass(frozen=True)
class TitlePlace:
    """The last pad of a page of titles, how many came up to it, and what tells its title."""

    scratch_id: str
    title: int
    position: int

    def has(self, title: str) -> bool:
        """Whether the pad's title was this one."""
        return crc32(title.encode()) == self.title


def after(kind: str, ids: Sequence[str], at: int, before: int = 0) -> str:
    """Return the cursor that goes on after `ids[at]`; `before` ids stand before the first."""
    beyond = at + 1 >= len(ids)
    return written(kind, before + at + 1, "" if beyond else ids[at + 1])


def written(kind: str, position: int, one: str, *numbers: int) -> str:
    """Return a short cursor: a position, the begin of the id that stands there, numbers."""
    return cursor.encode(kind, ["-".join(map(str, (position, one[:_BEGIN], *numbers)))])


def read(kind: str, text: str, numbers: int = 0) -> tuple[int, str, tuple[int, ...]]:
    """Return what `written` put in a cursor with so many numbers. Raises Invalid."""
    values = cursor.decode(kind, text, code=_CODE)
    found = _WRITTEN.fullmatch("|".join(map(str, values)))
    more = found.group(3).split("-")[1:] if found else []
    if found is None or len(more) != numbers:
        raise cursor.refused(_CODE)
    return int(found.group(1)), found.group(2), tuple(map(int, more))


def following(kind: str, text: str | None) -> Place | None:
    """Return the place in a cursor, None without one. Raises Invalid."""
    return None if text is None else read(kind, text)[:2]


def resumed(ids: Sequence[str], place: Place | None) -> int:
    """Return where that id stands now; what stands in its place where it is gone."""
    if place is None:
        return 0
    position, begin = place
    if begin and not (position < len(ids) and ids[position].startswith(begin)):
        found = (at for at, one in enumerate(ids) if one.startswith(begin))
        position = next(found, position)
    return min(position, len(ids))


def label(kind: str, name: str) -> str:
    """Return what stands for a name in a cursor, where names are long: it need not be unique."""
    return f"{crc32(f'{kind} {name}'.encode()):08x}"


def name_id(name: str) -> str:
    """Return a UUID that stands for a name in a cursor, where names are long."""
    return str(uuid5(NAMESPACE_OID, name))


def number(kind: str, text: str | None) -> int:
    """Return the number in a cursor, 0 without one. Raises Invalid."""
    return 0 if text is None else read(kind, text)[0]


def after_time(kind: str, moment: datetime, one: str) -> str:
    """Return the cursor that goes on after what has that UUID, in a list ordered by time."""
    return cursor.encode(kind, [cursor.packed_moment(moment, one)])


def by_time(kind: str, text: str | None) -> tuple[datetime, str] | None:
    """Return what `after_time` put in a cursor, None without one. Raises Invalid."""
    if text is None:
        return None
    try:
        (place,) = cursor.decode(kind, text, code=_CODE)
        return cursor.unpacked_moment(place)
    except (ValueError, TypeError, OverflowError):
        raise cursor.refused(_CODE) from None


def after_title(kind: str, scratch_id: str, title: str, position: int) -> str:
    """Return the cursor that goes on after a pad, the last of so many, among titles.

    Titles are long: a cursor tells only whether the pad's is still the same.
    """
    place = _TITLED.pack(UUID(scratch_id).bytes, crc32(title.encode()), min(position, _FARTHEST))
    return cursor.encode(kind, [cursor.packed(place)])


def by_title(kind: str, text: str | None) -> TitlePlace | None:
    """Return what `after_title` put in a cursor, None without one. Raises Invalid."""
    if text is None:
        return None
    try:
        (place,) = cursor.decode(kind, text, code=_CODE)
        raw, title, position = _TITLED.unpack(cursor.unpacked(place))
        return TitlePlace(str(UUID(bytes=raw)), title, position)
    except (ValueError, TypeError, struct.error):
        raise cursor.refused(_CODE) from None
