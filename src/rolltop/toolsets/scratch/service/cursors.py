"""Cursors of lists.

A cursor names the item that comes next, so that a list continues there although others were added
and removed before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from zlib import crc32

from rolltop.core import cursor
from rolltop.core.pagination import Page
from rolltop.toolsets.scratch.models import JsonObject

CursorPosition = tuple[int, str]
"""The position of the next item, and the start of its id."""
_CODE: Final = "VALIDATION_ERROR"
_ID_PREFIX_LENGTH: Final = 8  # characters: tells the cells of a pad apart, and is cheap in tokens
_POSITION_PATTERN: Final = re.compile(r"([0-9]{1,9})-([0-9a-f]{0,8})((?:-[0-9]{1,9})*)")


def cursor_after(kind: str, ids: Sequence[str], at: int, before: int = 0) -> str:
    """Encode the cursor that continues after `ids[at]`; `before` items come before the first."""
    return encode(kind, before + at + 1, ids[at + 1] if at + 1 < len(ids) else "")


def encode(kind: str, position: int, next_id: str, *numbers: int) -> str:
    """Encode a position, the start of the id that is there, and numbers."""
    parts = (position, next_id[:_ID_PREFIX_LENGTH], *numbers)
    return cursor.encode(kind, ["-".join(map(str, parts))])


def decode(kind: str, text: str, numbers: int = 0) -> tuple[int, str, tuple[int, ...]]:
    """Decode a cursor with so many numbers. Raises InvalidArgument."""
    values = cursor.decode(kind, text, code=_CODE)
    found = _POSITION_PATTERN.fullmatch("|".join(map(str, values)))
    more = found.group(3).split("-")[1:] if found else []
    if found is None or len(more) != numbers:
        raise cursor.invalid_cursor(_CODE)
    return int(found.group(1)), found.group(2), tuple(map(int, more))


def parse_position(kind: str, text: str | None) -> CursorPosition | None:
    """Decode the position in a cursor. Raises InvalidArgument."""
    return None if text is None else decode(kind, text)[:2]


def resume_index(ids: Sequence[str], position: CursorPosition | None) -> int:
    """Find where a cursor's item is now; its old position if it is gone."""
    if position is None:
        return 0
    at, begin = position
    if begin and not (at < len(ids) and ids[at].startswith(begin)):
        at = next((other for other, one in enumerate(ids) if one.startswith(begin)), at)
    return min(at, len(ids))


def id_page(
    kind: str,
    position: CursorPosition | None,
    ids: Sequence[str],
    items: Sequence[JsonObject],
    envelope: Callable[[list[JsonObject]], JsonObject],
) -> Page:
    """Build the page of a list that was read whole, from a cursor's position on."""
    first = resume_index(ids, position)
    return Page(items[first:], envelope, lambda at: cursor_after(kind, ids, first + at))


def name_digest(kind: str, name: str) -> str:
    """Hash a name for a cursor: names are long, and the hash need not be unique."""
    return f"{crc32(f'{kind} {name}'.encode()):08x}"
