"""Cursors: where a list goes on, as opaque url-safe text that is never trusted."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID
from zlib import crc32

from rolltop.core.errors import Invalid

_LONGEST = 4096
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,200}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOMENT: Final = 8  # bytes
_MARK: Final = 3  # bytes, four characters: a cursor stands twice in an answer, and costs tokens
_AGAIN: Final = (
    "Send next_cursor as it was answered, with the arguments of that call, or leave cursor out to "
    "start again."
)


def encode(kind: str, values: list[Any]) -> str:
    """Return the cursor of a list's kind and the values of its last item.

    One value that is url-safe text already is kept as it is: cursors cost tokens.
    """
    if len(values) == 1 and isinstance(values[0], str) and _PLAIN.fullmatch(values[0]):
        return f"{kind}.{values[0]}"
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return f"{kind}~{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"


def narrowed(kind: str, *values: object) -> str:
    """Return the kind of a list that arguments narrow: its cursors go on no list of others.

    The values are JSON; what is null or empty narrows nothing.
    """
    if not any(values):
        return kind
    text = json.dumps([value or None for value in values])
    return f"{kind}-{packed(crc32(text.encode()).to_bytes(4)[:_MARK])}"


def packed(raw: bytes) -> str:
    """Return bytes as a value that `encode` keeps as it is, four characters for three bytes."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unpacked(text: str) -> bytes:
    """Return the bytes that `packed` was given. Raises ValueError for any other text."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def packed_moment(moment: datetime, identifier: str) -> str:
    """Return a place in a list ordered by time, a moment and a UUID, in 32 characters."""
    since = (moment - _EPOCH) // _MICROSECOND
    return packed(since.to_bytes(_MOMENT, signed=True) + UUID(identifier).bytes)


def unpacked_moment(text: str) -> tuple[datetime, str]:
    """Return the place that `packed_moment` packed. Raises ValueError or OverflowError."""
    raw = unpacked(text)
    since = int.from_bytes(raw[:_MOMENT], signed=True)
    return _EPOCH + since * _MICROSECOND, str(UUID(bytes=raw[_MOMENT:]))


def decode(kind: str, cursor: str, *, code: str = "INVALID_CURSOR") -> list[Any]:
    """Return the values in a cursor of that kind.

    Raises:
        Invalid: it is no cursor, or that of another kind of list.

    """
    values = _values(kind, cursor)
    if values is None:
        raise refused(code)
    return values


def refused(code: str) -> Invalid:
    """Return the error of a text that is no cursor of its list."""
    return Invalid(
        "cursor is not one that this list answered",
        code=code,
        hint=_AGAIN,
    )


def _values(kind: str, cursor: str) -> list[Any] | None:
    plain = cursor.removeprefix(f"{kind}.")
    if plain != cursor:
        return [plain] if _PLAIN.fullmatch(plain) else None
    text = cursor.removeprefix(f"{kind}~")
    if text == cursor or len(text) > _LONGEST:
        return None
    try:
        values = json.loads(unpacked(text))
    except (ValueError, RecursionError):  # binascii.Error is a ValueError
        return None
    return cast("list[Any]", values) if isinstance(values, list) else None
