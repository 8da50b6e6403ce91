"""What may happen to tasks: whose they are, which version, in which order, held by whom.

Whose: without `user_id` the caller's own. A caller of an unauthenticated server may name another
user; where anyone else does, or the user is unknown, the statements run all the same, for an
owner that nobody is, so that a refusal costs what a missing task costs.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import cursor as cursors
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.errors import Conflict, InvalidArgument, NotFound, UserDeleted
from rolltop.core.principal import IMPERSONATE
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.models import (
    MAX_DESCRIPTION_LENGTH,
    MAX_LINK_LENGTH,
    MAX_LIST_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TITLE_LENGTH,
    Claim,
    FilterInput,
    Task,
    TaskFilters,
    TaskInput,
    TaskSortKey,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.principal import Principal

UNKNOWN_OWNER_ID: Final = "00000000-0000-0000-0000-000000000000"
"""The owner that nobody is."""
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINK: Final = re.compile(r"rolltop://[a-z]+/\S+")
_TOKEN_BYTES: Final = 12
_MAX_COMPLETIONS: Final = 100
_MAX_TITLES_READ: Final = 1000
_NEXT_TASK_HINT: Final = "next_task answers a task that is ready."
_OWN_TASK_HINT: Final = "Call again without user_id: then it is about your own tasks."


def resolve_owner(principal: Principal, user_id: str | None) -> str:
    """Return whose tasks a call is about; an owner that nobody is where it may not ask."""
    if user_id is None:
        return principal.user_id
    named = identifier(user_id, "user_id")
    return (
        named
        if named == principal.user_id or IMPERSONATE in principal.permissions
        else UNKNOWN_OWNER_ID
    )


class TaskService:
    """What callers can do with tasks, each within one transaction.

    Errors: InvalidArgument for a bad value, NotFound for a task, parent, blocker or user that is
    not the caller's, Conflict with the task as it is now.
    """

    def __init__(self, _app: AppContext | None = None) -> None:
        """Keep nothing: all of the state is in the store."""

    def add_task(self, tx: Tx, task_input: TaskInput, user_id: str | None = None) -> Task:
        """Return the new task. Raises InvalidArgument, or NotFound for a user or another task."""
        owner = resolve_owner(tx.scope, user_id)
        fields = task_fields(task_input)
        _require_existing(tx, owner, fields)
        added = store.insert_task(tx, owner, fields)
        if added is None:
            raise _user_not_found(user_id)
        return added

    def list_tasks(
        self,
        tx: Tx,
        filters: FilterInput,
        user_id: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> tuple[list[Task], bool]:
        """Return up to `limit` tasks, newest first, and whether others follow.

        Raises InvalidArgument, or NotFound for an unknown user or parent.
        """
        owner, wanted = resolve_owner(tx.scope, user_id), task_filters(filters)
        after = None if cursor is None else sort_key(cursor, filters.cursor_kind(user_id))
        if wanted.parent_id is not None and not store.existing_ids(tx, owner, [wanted.parent_id]):
            raise _not_found("parent_id")
        found = store.read_page(tx, owner, wanted, after, limit + 1)
        if not found and not store.user_exists(tx, owner):
            raise _user_not_found(user_id)
        return found[:limit], len(found) > limit

    def get_task(self, tx: Tx, task_id: str, user_id: str | None = None) -> Task:
        """Return one task. Raises NotFound."""
        found = store.get_task(tx, resolve_owner(tx.scope, user_id), identifier(task_id))
        if found is None:
            raise _not_found()
        return found

    def next_task(self, tx: Tx, user_id: str | None = None) -> Task | None:
        """Return the best ready task: the most urgent, then the first due, then the oldest."""
        owner = resolve_owner(tx.scope, user_id)
        found = store.best_ready_task(tx, owner)
        if found is None and not store.user_exists(tx, owner):
            raise _user_not_found(user_id)
        return found

    def update_task(
        self,
        tx: Tx,
        task_id: str,
        task_input: TaskInput,
        user_id: str | None = None,
        if_version: int | None = None,
    ) -> Task:
        """Return the task with the given fields; equal values change nothing.

        Raises:
            InvalidArgument: a field is wrong, none is given, or this closes a cycle (CYCLE).
            NotFound: the task, its new parent or a new blocker is not the caller's.
            Conflict: the task is not at `if_version`.

        """
        owner, wanted_id = resolve_owner(tx.scope, user_id), identifier(task_id)
        fields = task_fields(task_input)
        if not fields:
            raise InvalidArgument(
                "At least one field (title or description) must be provided",
                code="NOTHING_TO_UPDATE",
                hint="Call update_task again with the fields to change.",
            )
        if {"parent_id", "blocked_by"} & fields.keys():
            store.lock_graph(tx, owner)
        task = store.get_for_update(tx, owner, wanted_id)
        if task is None:
            raise _not_found()
        _require_version(task, if_version)
        changed = {name: value for name, value in fields.items() if getattr(task, name) != value}
        if not changed:
            return task
        _require_existing(tx, owner, changed)
        _refuse_cycles(tx, owner, task, changed)
        store.update_fields(tx, owner, task.id, changed)
        return _get_or_raise(tx, owner, task.id)

    def complete_task(
        self,
        tx: Tx,
        task_id: str,
        user_id: str | None = None,
        if_version: int | None = None,
        token: str | None = None,
    ) -> Task:
        """Return the task, completed now or before.

        Raises:
            NotFound: it is not the caller's.
            Conflict: it is not at `if_version`, or the token's claim ran out or is another's.

        """
        owner, wanted_id = resolve_owner(tx.scope, user_id), identifier(task_id)
        claim_hash = None if token is None else _hash(token)
        done = store.complete_task(tx, owner, wanted_id, if_version, claim_hash)
        task = _get_or_raise(tx, owner, wanted_id)
        if done:
            return task
        _require_version(task, if_version)
        if claim_hash is not None and not store.is_claim_holder(tx, owner, wanted_id, claim_hash):
            raise _wrong_token(task)
        if task.status == "completed":
            return task
        if claim_hash is not None and task.claimed_until is None:
            hint = "claim_task with the token takes the task up again."
            raise _conflict(task, "The claim's lease expired", hint)
        raise _concurrent_change(tx, owner, task)

    def reopen_task(
        self, tx: Tx, task_id: str, user_id: str | None = None, if_version: int | None = None
    ) -> Task:
        """Return the task, pending; one that was completed loses its claim."""
        owner, wanted_id = resolve_owner(tx.scope, user_id), identifier(task_id)
        done = store.reopen_task(tx, owner, wanted_id, if_version)
        task = _get_or_raise(tx, owner, wanted_id)
        if not done:
            _require_version(task, if_version)
            if task.status == "completed":
                raise _concurrent_change(tx, owner, task)
        return task

    def claim_task(
        self,
        tx: Tx,
        task_id: str,
        lease_seconds: int,
        user_id: str | None = None,
        token: str | None = None,
    ) -> Claim:
        """Return the task, claimed until the lease ends; with a token, its claim renewed.

        A claim that ran out is renewed as long as nobody else has claimed the task since.

        Raises:
            NotFound: it is not the caller's.
            Conflict: it is completed, blocked or claimed, or the token is another claim's.

        """
        owner, wanted_id = resolve_owner(tx.scope, user_id), identifier(task_id)
        write = store.claim_task if token is None else store.renew_claim
        kept = token or secrets.token_urlsafe(_TOKEN_BYTES)
        until = tx.now + timedelta(seconds=lease_seconds)
        done = write(tx, owner, wanted_id, _hash(kept), until)
        task = _get_or_raise(tx, owner, wanted_id)
        if done:
            return Claim(task, kept)
        if task.status == "completed":
            raise _conflict(task, "The task is completed", "reopen_task makes it pending again.")
        if token is not None:
            raise _wrong_token(task)
        if task.claimed_until is not None:
            raise _conflict(task, "The task is claimed by another", _NEXT_TASK_HINT)
        if task.blocked_by:
            raise _conflict(
                task, "The task waits for a pending task in blocked_by", _NEXT_TASK_HINT
            )
        raise _concurrent_change(tx, owner, task)

    def delete_task(
        self, tx: Tx, task_id: str, user_id: str | None = None, if_version: int | None = None
    ) -> str:
        """Return the id of the task, which is in the trash now. Raises NotFound or Conflict."""
        owner, wanted_id = resolve_owner(tx.scope, user_id), identifier(task_id)
        if not store.move_to_trash(tx, owner, wanted_id, if_version):
            task = _get_or_raise(tx, owner, wanted_id)
            _require_version(task, if_version)
            raise _concurrent_change(tx, owner, task)
        return wanted_id

    def restore_task(self, tx: Tx, task_id: str, user_id: str | None = None) -> Task:
        """Return the task, out of the trash, with what it waits for and what waits for it.

        What changed meanwhile wins: a parent or blocker that now hangs on the task is left out.
        """
        owner, wanted_id = resolve_owner(tx.scope, user_id), identifier(task_id)
        store.lock_graph(tx, owner)
        if not store.restore_task(tx, owner, wanted_id):
            raise _not_found(hint="restore_task finds what was deleted within the last 30 days.")
        task = _get_or_raise(tx, owner, wanted_id)
        closing = store.dependents(tx, owner, wanted_id, task.blocked_by)
        if closing:
            store.drop_blockers(tx, owner, wanted_id, closing)
        if task.parent_id and store.descendants(tx, owner, wanted_id, [task.parent_id]):
            store.drop_parent(tx, owner, wanted_id)
        return _get_or_raise(tx, owner, wanted_id)

    def matching_ids(self, tx: Tx, prefix: str) -> list[str]:
        """Return ids of the caller's newest tasks whose id or title begins so, in any case."""
        start = prefix.strip().casefold()
        newest = store.newest_titles(tx, tx.scope.user_id, _MAX_TITLES_READ)
        found = (
            task_id
            for task_id, title in newest
            if task_id.startswith(start) or title.casefold().startswith(start)
        )
        return list(islice(found, _MAX_COMPLETIONS))


def _hash(token: str) -> str:
    """Return a token's stored form: 96 random bits need no slow hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _get_or_raise(tx: Tx, owner: str, task_id: str) -> Task:
    task = store.get_task(tx, owner, task_id)
    if task is None:
        raise _not_found()
    return task


def _require_existing(tx: Tx, owner: str, fields: dict[str, Any]) -> None:
    """Raise NotFound where a parent or blocker to be set is not a task of the owner."""
    for name in ("parent_id", "blocked_by"):
        given: str | tuple[str, ...] | None = fields.get(name)
        ids: Iterable[str] = (given,) if isinstance(given, str) else given or ()
        missing = set(ids) - (store.existing_ids(tx, owner, ids) if ids else set())
        if missing:
            raise _not_found(f"{name}: {', '.join(sorted(missing))}")


def _refuse_cycles(tx: Tx, owner: str, task: Task, fields: dict[str, Any]) -> None:
    """Raise InvalidArgument (CYCLE) if a new parent or blocker depends on the task itself."""
    blockers, parent_id = fields.get("blocked_by"), fields.get("parent_id")
    closing = store.dependents(tx, owner, task.id, blockers) if blockers else set[str]()
    if closing:
        raise InvalidArgument(
            f"blocked_by makes a cycle: the task is, or holds up, {', '.join(sorted(closing))}",
            code="CYCLE",
            hint="Leave these out of blocked_by, or take this task out of theirs first.",
        )
    if parent_id and store.descendants(tx, owner, task.id, [parent_id]):
        raise InvalidArgument(
            f"parent_id makes a cycle: {parent_id} is the task itself or lies below it",
            code="CYCLE",
            hint="Choose another parent, or move that task out from under this one first.",
        )


def _require_version(task: Task, if_version: int | None) -> None:
    if if_version is not None and task.version != if_version:
        hint = f"data holds the task as it is now; call again with if_version {task.version}."
        raise _conflict(task, f"if_version is {if_version}", hint)


def _conflict(task: Task, message: str, hint: str) -> Conflict:
    """Return the conflict with the task as it is now."""
    return Conflict(
        f"{message}; the task is at version {task.version}", hint=hint, data={"data": task.data}
    )


def _wrong_token(task: Task) -> Conflict:
    """Return the conflict with a token of which no more is known than that it is another."""
    hint = (
        "Send the token as claim_task answered it; if another took the task since, "
        f"{_NEXT_TASK_HINT}"
    )
    return _conflict(task, "The token is not that of the task's claim", hint)


def _concurrent_change(tx: Tx, owner: str, task: Task) -> Conflict:
    """Return the conflict of a call that another one overtook between two of its statements."""
    current = store.get_task(tx, owner, task.id) or task
    return _conflict(current, "Another call changed the task while this one ran", "Call again.")


def _user_not_found(user_id: str | None) -> NotFound | UserDeleted:
    """Return the refusal of a user who is not there: the one that was named, or the caller."""
    return UserDeleted() if user_id is None else _not_found(hint=_OWN_TASK_HINT)


def _not_found(what: str = "", hint: str = "") -> NotFound:
    where = f"{what}: " if what else ""
    return NotFound(
        "Task not found or access denied",
        hint=hint or f"{where}list_tasks answers the ids of your tasks.",
    )


def identifier(text: str, name: str = "task_id") -> str:
    """Return a UUID in lower case. Raises InvalidArgument (INVALID_ID) for any other text."""
    if not _ID.fullmatch(text):
        raise InvalidArgument(
            "Invalid ID format",
            code="INVALID_ID",
            hint=f"{name} is {value_preview(text)}; ids are UUIDs as list_tasks answers them.",
        )
    return text.lower()


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


def parse_due(text: str, name: str = "due_at") -> datetime:
    """Return a moment in UTC from ISO 8601 with a time and an offset."""
    try:
        value = datetime.fromisoformat(text.strip())
        if value.tzinfo is not None:
            return value.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidArgument(
        f"{name} must be a date and time with an offset; got {value_preview(text)}",
        hint=f"Write {name} as in 2026-03-01T17:00:00Z or 2026-03-01T17:00:00+01:00.",
    )


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
    """Return a reference `rolltop://kind/…` of up to 500 characters; its target is not read."""
    trimmed = require_storable(text, "links").strip()
    if len(trimmed) > MAX_LINK_LENGTH or not _LINK.fullmatch(trimmed):
        raise InvalidArgument(
            f"A link is rolltop://kind/… of up to {MAX_LINK_LENGTH} characters;"
            f" got {value_preview(text)}",
            hint="Send references as the other tools answer them, such as rolltop://task/<id>.",
        )
    return trimmed


def task_fields(task_input: TaskInput) -> dict[str, Any]:
    """Return the fields that were given, by their name in Task, checked and in Task's form."""
    checks: dict[str, Callable[[Any], object]] = {
        "title": title,
        "description": description,
        "priority": lambda value: None if value < 0 else value,
        "due_at": lambda text: parse_due(text) if text else None,
        "tags": lambda texts: tuple(sorted(set(_check_each(tag, texts, "tags")))),
        "parent_id": lambda text: identifier(text, "parent_id") if text else None,
        "blocked_by": lambda texts: tuple(
            sorted(set(_check_each(_blocker_id, texts, "blocked_by")))
        ),
        "links": lambda texts: tuple(dict.fromkeys(_check_each(link, texts, "links"))),
    }
    present = {name: value for name, value in vars(task_input).items() if value is not None}
    return {name: checks[name](value) for name, value in present.items()}


def task_filters(filters: FilterInput) -> TaskFilters:
    """Return a list's conditions."""
    return TaskFilters(
        status=None if filters.status == "all" else filters.status,
        tag=None if filters.tag is None else tag(filters.tag),
        ready=filters.ready,
        parent_id=None if filters.parent_id is None else identifier(filters.parent_id, "parent_id"),
        due_before=None
        if filters.due_before is None
        else parse_due(filters.due_before, "due_before"),
    )


def sort_key(text: str, kind: str) -> TaskSortKey:
    """Return the sort key in a cursor. Raises InvalidArgument (INVALID_CURSOR)."""
    values = cursors.decode(kind, text)
    try:
        (packed,) = values
        return TaskSortKey.parse(packed)
    except (ValueError, TypeError, OverflowError):
        raise cursors.invalid_cursor("INVALID_CURSOR") from None


def _blocker_id(text: str) -> str:
    return identifier(text, "blocked_by")


def _check_each(check: Callable[[str], str], texts: Sequence[str], name: str) -> list[str]:
    if len(texts) > MAX_LIST_LENGTH:
        raise InvalidArgument(
            f"{name} holds {len(texts)} entries; at most {MAX_LIST_LENGTH} are allowed",
            hint=f"Call again with at most {MAX_LIST_LENGTH} entries in {name}.",
        )
    return [check(text) for text in texts]
