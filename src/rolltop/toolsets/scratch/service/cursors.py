"""Cursors of lists.

A cursor names the item that comes next and the one before it, so that a list continues between them
although others were added, removed and moved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from rolltop.core import cursor
from rolltop.core.pagination import Page
from rolltop.toolsets.scratch.models import JsonObject

CursorPosition = tuple[int, str]
"""The position of the next item, and what tells the item before it and that one."""
_CODE: Final = "VALIDATION_ERROR"
_DIGEST_LENGTH: Final = 4  # characters
_POSITION_PATTERN: Final = re.compile(
    rf"([0-9]{{1,9}})-((?:[\w-]{{{2 * _DIGEST_LENGTH}}})?)((?:-[0-9]{{1,9}})*)", re.ASCII
)


def position_at(ids: Sequence[str], at: int, *, before: int = 0) -> CursorPosition:
    """Return the position of `ids[at]`; `before` items come before the first."""
    beside = (ids[at - 1] if at else "", ids[at] if at < len(ids) else "")
    return before + at, "".join(map(cursor.digest_key, beside))


def cursor_after(kind: str, ids: Sequence[str], at: int, before: int = 0) -> str:
    """Encode the cursor that continues after `ids[at]`; `before` items come before the first."""
    return encode(kind, position_at(ids, at + 1, before=before))


def encode(kind: str, position: CursorPosition, *numbers: int) -> str:
    """Encode a position, and numbers."""
    return cursor.encode(kind, ["-".join(map(str, (*position, *numbers)))])


def decode(kind: str, text: str, numbers: int = 0) -> tuple[CursorPosition, tuple[int, ...]]:
    """Decode a cursor with so many numbers. Raises InvalidArgument."""
    values = cursor.decode(kind, text, code=_CODE)
    found = _POSITION_PATTERN.fullmatch("|".join(map(str, values)))
    more = found.group(3).split("-")[1:] if found else []
    if found is None or len(more) != numbers:
        raise cursor.invalid_cursor(_CODE)
    return (int(found.group(1)), found.group(2)), tuple(map(int, more))


def parse_position(kind: str, text: str | None) -> CursorPosition | None:
    """Decode the position in a cursor. Raises InvalidArgument."""
    return None if text is None else decode(kind, text)[0]


def is_at(position: CursorPosition, item_id: str) -> bool:
    """Whether a position is that of an item."""
    return position[1][_DIGEST_LENGTH:] == cursor.digest_key(item_id)


def resume_index(ids: Sequence[str], position: CursorPosition | None) -> int:
    """Find where a list goes on: before a cursor's item or after the one before it.

    Where one of them was moved, that is what is nearer to the old position, which counts alone if
    both are gone. Rather than that something is passed over, something is shown again.
    """
    if position is None:
        return 0
    at, digests = position
    if at <= len(ids) and position_at(ids, at) == position:
        return at
    last, following = digests[:_DIGEST_LENGTH], digests[_DIGEST_LENGTH:]
    known = [cursor.digest_key(one) for one in ids]
    before = [place for place, digest in enumerate(known) if digest == following]
    after = [place + 1 for place, digest in enumerate(known) if digest == last]
    if not before:  # the last one may have been moved on, from before the old position
        return min(at - (after > [at]), *after, len(ids))
    return min([*before, *after], key=lambda place: abs(place - at))


def id_page(
    kind: str,
    given: str | None,
    ids: Sequence[str],
    items: Sequence[JsonObject],
    envelope: Callable[[list[JsonObject]], JsonObject],
) -> Page:
    """Build the page of a list that was read whole, from a cursor on. Raises InvalidArgument."""
    first = resume_index(ids, parse_position(kind, given))
    return Page(items[first:], envelope, lambda at: cursor_after(kind, ids, first + at))
