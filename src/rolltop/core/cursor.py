"""Cursors: where a list goes on, as opaque url-safe text that is never trusted."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID
from zlib import crc32

from rolltop.core.errors import InvalidArgument

_MAX_LENGTH = 4096
_MAX_NUMBER: Final = 1 << 62  # half of what both databases hold: some is added to numbers
_URL_SAFE = re.compile(r"[A-Za-z0-9_-]{1,200}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOMENT_BYTES: Final = 8  # bytes
_CHECKSUM_BYTES: Final = (
    3  # bytes, four characters: a cursor stands twice in an answer, and costs tokens
)
_RETRY_HINT: Final = (
    "Send next_cursor as it was answered, with the arguments of that call, or leave cursor out to "
    "start again."
)


def encode(kind: str, values: list[Any]) -> str:
    """Return the cursor of a list's kind and the values of its last item.

    One value that is url-safe text already is kept as it is: cursors cost tokens.
    """
    if len(values) == 1 and isinstance(values[0], str) and _URL_SAFE.fullmatch(values[0]):
        return f"{kind}.{values[0]}"
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return f"{kind}~{pack_bytes(text.encode())}"


def filtered_kind(kind: str, *values: object) -> str:
    """Return the kind of a list that arguments narrow: its cursors go on no list of others.

    The values are JSON; what is null or empty narrows nothing.
    """
    if not any(values):
        return kind
    text = json.dumps([value or None for value in values])
    return f"{kind}-{digest_key(text)}"


def encode_place(kind: str, keys: Sequence[str], place: int, order: int = 0) -> str:
    """Return the cursor of a ranked list that goes on at a place, which names what is there.

    `order` is the list's own number for what its items were ordered by.
    """
    digest = "".join(map(digest_key, keys[place : place + 1]))
    return encode(kind, [place, digest, order][: 3 if order else 1 + bool(digest)])


def decode_place(kind: str, cursor: str | None) -> tuple[int, str, int]:
    """Return the place in such a cursor, what names the item there and the order's number.

    Raises InvalidArgument.
    """
    values = [0] if cursor is None else decode(kind, cursor)
    match values + ["", 0][len(values) - 1 :]:
        case [int(place), str(digest), int(order)] if place >= 0:
            return place, digest, order
        case _:
            raise invalid_cursor("INVALID_CURSOR")


def find_place(keys: Sequence[str], named: tuple[int, str, int]) -> int:
    """Return where such a list goes on, whatever was added or removed before.

    Raises InvalidArgument: the item that comes next is gone, so that nobody knows where.
    """
    place, digest, _order = named
    if not digest:
        return min(place, len(keys))
    if digest in map(digest_key, keys[place : place + 1]):
        return place
    found = next((at for at, key in enumerate(keys) if digest_key(key) == digest), None)
    if found is None:
        raise InvalidArgument(
            "What this list was to go on with is no longer in it",
            code="INVALID_CURSOR",
            hint="Leave cursor out to start again.",
        )
    return found


def digest_key(key: str) -> str:
    """Return four characters that tell an item of a list from the others, in most lists."""
    return pack_bytes(crc32(key.encode("utf-8", "replace")).to_bytes(4)[:_CHECKSUM_BYTES])


def pack_bytes(raw: bytes) -> str:
    """Return bytes as a value that `encode` keeps as it is, four characters for three bytes."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unpack_bytes(text: str) -> bytes:
    """Return the bytes that `packed` was given. Raises ValueError for any other text."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def pack_moment(moment: datetime, identifier: str) -> str:
    """Return a place in a list ordered by time, a moment and a UUID, in 32 characters."""
    since = (moment - _EPOCH) // _MICROSECOND
    return pack_bytes(since.to_bytes(_MOMENT_BYTES, signed=True) + UUID(identifier).bytes)


def unpack_moment(text: str) -> tuple[datetime, str]:
    """Return the place that `pack_moment` packed. Raises ValueError or OverflowError."""
    raw = unpack_bytes(text)
    since = int.from_bytes(raw[:_MOMENT_BYTES], signed=True)
    return _EPOCH + since * _MICROSECOND, str(UUID(bytes=raw[_MOMENT_BYTES:]))


def decode(kind: str, cursor: str, *, code: str = "INVALID_CURSOR") -> list[Any]:
    """Return the values in a cursor of that kind.

    Raises InvalidArgument: it is no cursor, or that of another kind of list.
    """
    values = _parse_values(kind, cursor)
    if values is None:
        raise invalid_cursor(code)
    return values


def invalid_cursor(code: str) -> InvalidArgument:
    """Return the error of a text that is no cursor of its list."""
    return InvalidArgument(
        "cursor is not one that this list answered",
        code=code,
        hint=_RETRY_HINT,
    )


def _parse_values(kind: str, cursor: str) -> list[Any] | None:
    plain = cursor.removeprefix(f"{kind}.")
    if plain != cursor:
        return [plain] if _URL_SAFE.fullmatch(plain) else None
    text = cursor.removeprefix(f"{kind}~")
    if text == cursor or len(text) > _MAX_LENGTH:
        return None
    try:
        values = json.loads(unpack_bytes(text), parse_int=_parse_number)
    except (ValueError, RecursionError):  # binascii.Error is a ValueError
        return None
    return cast("list[Any]", values) if isinstance(values, list) else None


def _parse_number(digits: str) -> int:
    number = int(digits)
    if abs(number) > _MAX_NUMBER:
        raise ValueError(digits)
    return number
