"""Cursors: where a list goes on, as opaque url-safe text that is never trusted."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, cast

from rolltop.core.errors import Invalid

_LONGEST = 4096
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,200}")


def encode(kind: str, values: list[Any]) -> str:
    """Return the cursor of a list's kind and the values of its last item.

    One value that is url-safe text already is kept as it is: cursors cost tokens.
    """
    if len(values) == 1 and isinstance(values[0], str) and _PLAIN.fullmatch(values[0]):
        return f"{kind}.{values[0]}"
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return f"{kind}~{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"


def decode(kind: str, cursor: str, *, code: str = "INVALID_CURSOR") -> list[Any]:
    """Return the values in a cursor of that kind.

    Raises:
        Invalid: it is no cursor, or that of another kind of list.

    """
    values = _unpacked(kind, cursor)
    if values is None:
        raise refused(code)
    return values


def refused(code: str) -> Invalid:
    """Return the error of a text that is no cursor of its list."""
    return Invalid(
        "cursor is not one that this list answered",
        code=code,
        hint="Send next_cursor exactly as it was answered, or leave cursor out to start again.",
    )


def _unpacked(kind: str, cursor: str) -> list[Any] | None:
    plain = cursor.removeprefix(f"{kind}.")
    if plain != cursor:
        return [plain] if _PLAIN.fullmatch(plain) else None
    packed = cursor.removeprefix(f"{kind}~")
    if packed == cursor or len(packed) > _LONGEST:
        return None
    try:
        padded = packed + "=" * (-len(packed) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):  # binascii.Error is a ValueError
        return None
    return cast("list[Any]", values) if isinstance(values, list) else None
