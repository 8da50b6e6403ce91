"""The ids of tasks as callers send them: whole, or the beginning of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.tasks import errors, store

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Tx

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_ID_PREFIX: Final = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{0,4}|(-[0-9a-f]{4}){1,2}-[0-9a-f]{0,4}|(-[0-9a-f]{4}){3}-[0-9a-f]{0,11})?"
    r"|[0-9a-f]{8,32}",
    re.IGNORECASE | re.ASCII,
)
_DIGITS_OF_ID: Final = 32
_MAX_CANDIDATES: Final = 5


def id_finder(tx: Tx, owner: str, *, trash: bool = False) -> Callable[[str, str], str]:
    """Return the function that finds the owner's one task whose id begins with a text."""

    def find_id(text: str, name: str) -> str:
        given = text.strip()
        if not _ID_PREFIX.fullmatch(given):
            return identifier(given, name)
        digits = given.replace("-", "").lower()
        if len(digits) == _DIGITS_OF_ID:
            return _format_id(digits)
        first, last = (digits.ljust(_DIGITS_OF_ID, edge) for edge in "0f")
        found = store.ids_between(
            tx, owner, _format_id(first), _format_id(last), _MAX_CANDIDATES, trash=trash
        )
        if len(found) > 1:
            raise InvalidArgument(
                "Invalid ID format",
                code="INVALID_ID",
                hint=f"{name} {given} begins several ids: {', '.join(found)}.",
            )
        if not found:
            raise errors.not_found("" if name == "task_id" else name)
        return found[0]

    return find_id


def _format_id(digits: str) -> str:
    """Return 32 hexadecimal digits as a UUID."""
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def identifier(text: str, name: str = "task_id") -> str:
    """Return a UUID in lower case. Raises InvalidArgument (INVALID_ID) for any other text."""
    if not _ID.fullmatch(text):
        raise InvalidArgument(
            "Invalid ID format",
            code="INVALID_ID",
            hint=f"{name} is {value_preview(text)}; ids are UUIDs as list_tasks answers them.",
        )
    return text.lower()
