"""Checks of what a caller sends, before anything is looked up: pure functions."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import cursor
from rolltop.core.arguments import shown, storable
from rolltop.core.errors import Invalid
from rolltop.toolsets.tasks.models import (
    DESCRIPTION_LENGTH,
    LINK_LENGTH,
    LONGEST_LIST,
    TAG_LENGTH,
    TITLE_LENGTH,
    Filters,
    Given,
    Place,
    Wanted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINK: Final = re.compile(r"rolltop://[a-z]+/\S+")


def identifier(text: str, name: str = "task_id") -> str:
    """Return a UUID in lower case. Raises Invalid (INVALID_ID) for any other text."""
    if not _ID.fullmatch(text):
        raise Invalid(
            "Invalid ID format",
            code="INVALID_ID",
            hint=f"{name} is {shown(text)}; ids are UUIDs as list_tasks answers them.",
        )
    return text.lower()


def title(text: str) -> str:
    """Return a trimmed title of 1 to 200 characters."""
    trimmed = storable(text, "title").strip()
    if not trimmed:
        raise Invalid(
            "Task title is required",
            code="TITLE_REQUIRED",
            hint=f"Call again with a title of 1 to {TITLE_LENGTH} characters.",
        )
    if len(trimmed) > TITLE_LENGTH:
        raise Invalid(
            f"Task title must be {TITLE_LENGTH} characters or less",
            code="TITLE_TOO_LONG",
            hint=f"It has {len(trimmed)}; shorten it and put the rest into description.",
        )
    return trimmed


def description(text: str) -> str | None:
    """Return a trimmed description of up to 2000 characters; None for a blank one."""
    trimmed = storable(text, "description").strip()
    if len(trimmed) > DESCRIPTION_LENGTH:
        raise Invalid(
            f"Task description must be {DESCRIPTION_LENGTH} characters or less",
            code="DESCRIPTION_TOO_LONG",
            hint=f"It has {len(trimmed)}; shorten it, or keep the text elsewhere and add a link.",
        )
    return trimmed or None


def due(text: str, name: str = "due_at") -> datetime:
    """Return a moment in UTC from ISO 8601 with a time and an offset."""
    try:
        value = datetime.fromisoformat(text.strip())
        if value.tzinfo is not None:
            return value.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise Invalid(
        f"{name} must be a date and time with an offset; got {shown(text)}",
        hint=f"Write {name} as in 2026-03-01T17:00:00Z or 2026-03-01T17:00:00+01:00.",
    )


def tag(text: str) -> str:
    """Return a trimmed tag of 1 to 50 characters on one line."""
    trimmed = storable(text, "tags").strip()
    if not 1 <= len(trimmed) <= TAG_LENGTH or _CONTROL.search(trimmed):
        raise Invalid(
            f"A tag has 1 to {TAG_LENGTH} characters on one line; got {shown(text)}",
            hint="Call again with shorter tags, one word or phrase each.",
        )
    return trimmed


def link(text: str) -> str:
    """Return a reference `rolltop://kind/…` of up to 500 characters; its target is not read."""
    trimmed = storable(text, "links").strip()
    if len(trimmed) > LINK_LENGTH or not _LINK.fullmatch(trimmed):
        raise Invalid(
            f"A link is rolltop://kind/… of up to {LINK_LENGTH} characters; got {shown(text)}",
            hint="Send references as the other tools answer them, such as rolltop://task/<id>.",
        )
    return trimmed


def fields(given: Given) -> dict[str, Any]:
    """Return the fields that were given, by their name in Task, checked and in Task's form."""
    checks: dict[str, Callable[[Any], object]] = {
        "title": title,
        "description": description,
        "priority": lambda value: None if value < 0 else value,
        "due_at": lambda text: due(text) if text else None,
        "tags": lambda texts: tuple(sorted(set(_each(tag, texts, "tags")))),
        "parent_id": lambda text: identifier(text, "parent_id") if text else None,
        "blocked_by": lambda texts: tuple(sorted(set(_each(_blocker, texts, "blocked_by")))),
        "links": lambda texts: tuple(dict.fromkeys(_each(link, texts, "links"))),
    }
    present = {name: value for name, value in vars(given).items() if value is not None}
    return {name: checks[name](value) for name, value in present.items()}


def wanted(filters: Filters) -> Wanted:
    """Return a list's conditions."""
    return Wanted(
        status=None if filters.status == "all" else filters.status,
        tag=None if filters.tag is None else tag(filters.tag),
        ready=filters.ready,
        parent_id=None if filters.parent_id is None else identifier(filters.parent_id, "parent_id"),
        due_before=None if filters.due_before is None else due(filters.due_before, "due_before"),
    )


def place(text: str, kind: str) -> Place:
    """Return the place a cursor of that kind stands for. Raises Invalid (INVALID_CURSOR)."""
    values = cursor.decode(kind, text)
    try:
        (packed,) = values
        return Place.unpack(packed)
    except (ValueError, TypeError, OverflowError):
        raise cursor.refused("INVALID_CURSOR") from None


def _blocker(text: str) -> str:
    return identifier(text, "blocked_by")


def _each(check: Callable[[str], str], texts: Sequence[str], name: str) -> list[str]:
    if len(texts) > LONGEST_LIST:
        raise Invalid(
            f"{name} holds {len(texts)} entries; at most {LONGEST_LIST} are allowed",
            hint=f"Call again with at most {LONGEST_LIST} entries in {name}.",
        )
    return [check(text) for text in texts]
