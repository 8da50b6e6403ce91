"""What callers send about tasks, checked field by field and put into the store's form."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from rolltop.core import cursor as cursors
from rolltop.core import times
from rolltop.core.addresses import is_address
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.errors import InvalidArgument
from rolltop.core.principal import MAX_PROJECT_LENGTH, is_project_name
from rolltop.toolsets.tasks.models import (
    MAX_COMMENT_LENGTH,
    MAX_CRITERION_LENGTH,
    MAX_DESCRIPTION_LENGTH,
    MAX_LINK_LENGTH,
    MAX_LIST_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TITLE_LENGTH,
    FilterInput,
    TaskFilters,
    TaskInput,
)

FindId = Callable[[str, str], str]

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_WEB_LINK: Final = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)


def title(text: str) -> str:
    """Return a trimmed title of 1 to 200 characters."""
    trimmed = require_storable(text, "title").strip()
    if not trimmed:
        raise InvalidArgument(
            "Task title is required",
            code="TITLE_REQUIRED",
            hint=f"Call again with a title of 1 to {MAX_TITLE_LENGTH} characters.",
        )
    if len(trimmed) > MAX_TITLE_LENGTH:
        raise InvalidArgument(
            f"Task title must be {MAX_TITLE_LENGTH} characters or less",
            code="TITLE_TOO_LONG",
            hint=f"It has {len(trimmed)}; shorten it and put the rest into description.",
        )
    return trimmed


def description(text: str) -> str | None:
    """Return a trimmed description of up to 2000 characters; None for a blank one."""
    trimmed = require_storable(text, "description").strip()
    if len(trimmed) > MAX_DESCRIPTION_LENGTH:
        raise InvalidArgument(
            f"Task description must be {MAX_DESCRIPTION_LENGTH} characters or less",
            code="DESCRIPTION_TOO_LONG",
            hint=f"It has {len(trimmed)}; shorten it, or keep the text elsewhere and add a link.",
        )
    return trimmed or None


def parse_due(text: str, now: datetime, name: str = "due_at") -> datetime:
    """Read a time, in UTC unless it says, or the end of a day; it may be said from `now`.

    What is due before a day is due before that day begins.
    """
    span = times.parse_span(text, name, now, ahead=True)
    return span.end if span.is_day and name == "due_at" else span.start


def tag(text: str) -> str:
    """Return a trimmed tag of 1 to 50 characters on one line."""
    trimmed = require_storable(text, "tags").strip()
    if not 1 <= len(trimmed) <= MAX_TAG_LENGTH or _CONTROL.search(trimmed):
        raise InvalidArgument(
            f"A tag has 1 to {MAX_TAG_LENGTH} characters on one line; got {value_preview(text)}",
            hint="Call again with shorter tags, one word or phrase each.",
        )
    return trimmed


def link(text: str) -> str:
    """Return an address, `rolltop://…` or of the web; its target is not read."""
    trimmed = require_storable(text, "links").strip()
    if len(trimmed) > MAX_LINK_LENGTH or not (_WEB_LINK.fullmatch(trimmed) or is_address(trimmed)):
        raise InvalidArgument(
            f"A link is rolltop://kind/… or https://… of up to {MAX_LINK_LENGTH} characters;"
            f" got {value_preview(text)}",
            hint="Send web addresses, or addresses as answers show them in uri,"
            " such as rolltop://task/<id>.",
        )
    return trimmed


def criterion(text: str) -> str:
    """Return a trimmed criterion of 1 to 500 characters."""
    trimmed = require_storable(text, "acceptance").strip()
    if not 1 <= len(trimmed) <= MAX_CRITERION_LENGTH:
        raise InvalidArgument(
            f"A criterion has 1 to {MAX_CRITERION_LENGTH} characters; got {value_preview(text)}",
            hint="Send acceptance as a list of short criteria.",
        )
    return trimmed


def project(text: str) -> str:
    """Return a trimmed project's name."""
    trimmed = require_storable(text, "project").strip()
    if not is_project_name(trimmed):
        raise InvalidArgument(
            f"project has 1 to {MAX_PROJECT_LENGTH} printable characters and is not *;"
            f" got {value_preview(text)}",
            hint="Leave project out for this connection's own.",
        )
    return trimmed


def assignee(text: str) -> str | None:
    """Return a trimmed e-mail address, or another name, in lower case; None for a blank one."""
    return require_storable(text, "assignee").strip().lower() or None


def comment(text: str) -> str | None:
    """Return a trimmed comment of up to 2000 characters; None for a blank one."""
    trimmed = require_storable(text, "comment").strip()
    if len(trimmed) > MAX_COMMENT_LENGTH:
        raise InvalidArgument(
            f"comment has {len(trimmed)} characters; at most {MAX_COMMENT_LENGTH} are allowed",
            hint="Shorten it, or keep the text elsewhere and add a link.",
        )
    return trimmed or None


def task_fields(task_input: TaskInput, find_id: FindId, now: datetime) -> dict[str, Any]:
    """Return the fields that were given, by their name in Task, checked and in Task's form.

    `find_id(text, name)` returns the id that a parent or blocker stands for.
    """
    checks: dict[str, Callable[[Any], object]] = {
        "title": title,
        "description": description,
        "priority": lambda value: None if value < 0 else value,
        "due_at": lambda text: parse_due(text, now) if text else None,
        "tags": lambda texts: tuple(sorted(set(check_each(tag, texts, "tags")))),
        "parent_id": lambda text: find_id(text, "parent_id") if text else None,
        "blocked_by": lambda texts: tuple(
            sorted(set(check_each(lambda text: find_id(text, "blocked_by"), texts, "blocked_by")))
        ),
        "links": lambda texts: tuple(dict.fromkeys(check_each(link, texts, "links"))),
        "project": lambda text: project(text) if text else None,
        "acceptance": lambda texts: tuple(check_each(criterion, texts, "acceptance")),
        "evidence": tuple,
        "requires_evidence": bool,
        "reopen_on_change": bool,
        "assignee": assignee,
    }
    present = {name: value for name, value in vars(task_input).items() if value is not None}
    return {name: checks[name](value) for name, value in present.items()}


def task_filters(filters: FilterInput, find_id: FindId, now: datetime) -> TaskFilters:
    """Return a list's conditions, save the project's."""
    due = filters.due_before
    tags = (*filters.all_tags, filters.tag) if filters.tag else filters.all_tags
    return TaskFilters(
        status=None if filters.status == "all" else filters.status,
        ready=filters.ready,
        parent_id=find_id(filters.parent_id, "parent_id") if filters.parent_id else None,
        due_before=parse_due(due, now, "due_before") if due else None,
        tags=tuple(sorted({tag(one) for one in tags})),
        changed_after=filters.changed_after,
    )


def place(text: str, kind: str) -> tuple[datetime, str]:
    """Return the place in a cursor: a task's moment and id. Raises InvalidArgument."""
    values = cursors.decode(kind, text)
    try:
        (packed,) = values
        return cursors.unpack_moment(packed)
    except (ValueError, TypeError, OverflowError):
        raise cursors.invalid_cursor("INVALID_CURSOR") from None


def offset(text: str | None, kind: str) -> int:
    """Return how far a list was read, 0 without a cursor. Raises InvalidArgument."""
    values = [0] if text is None else cursors.decode(kind, text)
    if len(values) != 1 or type(values[0]) is not int or values[0] < 0:
        raise cursors.invalid_cursor("INVALID_CURSOR")
    return values[0]


def check_each(check: Callable[[str], str], texts: Sequence[str], name: str) -> list[str]:
    """Check a list's entries. Raises InvalidArgument, also for more than 50."""
    if len(texts) > MAX_LIST_LENGTH:
        raise InvalidArgument(
            f"{name} holds {len(texts)} entries; at most {MAX_LIST_LENGTH} are allowed",
            hint=f"Call again with at most {MAX_LIST_LENGTH} entries in {name}.",
        )
    return [check(text) for text in texts]
