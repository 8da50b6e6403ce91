"""Cursors: where a list goes on, as opaque url-safe text that is never trusted."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

from rolltop.core.errors import Invalid

_LONGEST = 4096


def encode(kind: str, values: list[Any]) -> str:
    """Return the cursor of a list's kind and the values of its last item."""
    text = json.dumps([kind, *values], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(kind: str, cursor: str, *, code: str = "INVALID_CURSOR") -> list[Any]:
    """Return the values in a cursor of that kind.

    Raises:
        Invalid: it is no cursor, or that of another kind of list.

    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        values = json.loads(base64.b64decode(padded[:_LONGEST], altchars=b"-_", validate=True))
    except (ValueError, RecursionError):  # binascii.Error is a ValueError
        values = None
    if not isinstance(values, list) or not values or cast("list[Any]", values)[0] != kind:
        raise Invalid(
            "cursor is not one that this list answered",
            code=code,
            hint="Send next_cursor exactly as it was answered, or leave cursor out to start again.",
        )
    return cast("list[Any]", values)[1:]
