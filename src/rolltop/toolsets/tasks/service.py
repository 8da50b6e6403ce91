"""What may happen to tasks: whose they are, which version, in which order, held by whom.

Whose: without `user_id` the caller's own. A caller of an unauthenticated server may name another
user; where anyone else does, or the user is unknown, the statements run all the same, for an
owner that nobody is, so that a refusal costs what a missing task costs.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.errors import Conflict, Invalid, NotFound, UserGone
from rolltop.core.scope import ACT_AS
from rolltop.toolsets.tasks import validate
from rolltop.toolsets.tasks.models import Claim, Filters, Given, Task
from rolltop.toolsets.tasks.store import graph, reading, writing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rolltop.core.db import Tx
    from rolltop.core.scope import Scope

NOBODY: Final = "00000000-0000-0000-0000-000000000000"
"""The owner that nobody is."""
_TOKEN_BYTES: Final = 12
_COMPLETED_IDS: Final = 100
_TITLES_READ: Final = 1000
_NEXT: Final = "next_task answers a task that is ready."
_OWN: Final = "Call again without user_id: then it is about your own tasks."


def owner_of(scope: Scope, user_id: str | None) -> str:
    """Return whose tasks a call is about; an owner that nobody is where it may not ask."""
    if user_id is None:
        return scope.user_id
    named = validate.identifier(user_id, "user_id")
    return named if named == scope.user_id or ACT_AS in scope.rights else NOBODY


def add_task(tx: Tx, given: Given, user_id: str | None = None) -> Task:
    """Return the new task. Raises Invalid, or NotFound for a user or another task."""
    owner = owner_of(tx.scope, user_id)
    fields = validate.fields(given)
    _require_living(tx, owner, fields)
    added = writing.add(tx, owner, fields)
    if added is None:
        raise _no_user(user_id)
    return added


def list_tasks(
    tx: Tx, filters: Filters, user_id: str | None = None, cursor: str | None = None, limit: int = 50
) -> tuple[list[Task], bool]:
    """Return up to `limit` tasks, newest first, and whether others follow.

    Raises Invalid, or NotFound for an unknown user or parent.
    """
    owner, wanted = owner_of(tx.scope, user_id), validate.wanted(filters)
    after = None if cursor is None else validate.place(cursor, filters.cursor_kind(user_id))
    if wanted.parent_id is not None and not reading.living(tx, owner, [wanted.parent_id]):
        raise _not_found("parent_id")
    found = reading.page(tx, owner, wanted, after, limit + 1)
    if not found and not reading.exists(tx, owner):
        raise _no_user(user_id)
    return found[:limit], len(found) > limit


def get_task(tx: Tx, task_id: str, user_id: str | None = None) -> Task:
    """Return one task. Raises NotFound."""
    found = reading.get(tx, owner_of(tx.scope, user_id), validate.identifier(task_id))
    if found is None:
        raise _not_found()
    return found


def next_task(tx: Tx, user_id: str | None = None) -> Task | None:
    """Return the best ready task: the most urgent, then the first due, then the oldest."""
    owner = owner_of(tx.scope, user_id)
    found = reading.best_ready(tx, owner)
    if found is None and not reading.exists(tx, owner):
        raise _no_user(user_id)
    return found


def update_task(
    tx: Tx, task_id: str, given: Given, user_id: str | None = None, if_version: int | None = None
) -> Task:
    """Return the task with the given fields; equal values change nothing.

    Raises:
        Invalid: a field is wrong, none is given, or the task would wait for itself (CYCLE).
        NotFound: the task, its new parent or a new blocker is not the caller's.
        Conflict: the task is not at `if_version`.

    """
    owner, wanted_id = owner_of(tx.scope, user_id), validate.identifier(task_id)
    fields = validate.fields(given)
    if not fields:
        raise Invalid(
            "At least one field (title or description) must be provided",
            code="NOTHING_TO_UPDATE",
            hint="Call update_task again with the fields to change.",
        )
    if {"parent_id", "blocked_by"} & fields.keys():
        graph.lock(tx, owner)
    task = reading.hold(tx, owner, wanted_id)
    if task is None:
        raise _not_found()
    _require_version(task, if_version)
    changed = {name: value for name, value in fields.items() if getattr(task, name) != value}
    if not changed:
        return task
    _require_living(tx, owner, changed)
    _refuse_cycles(tx, owner, task, changed)
    writing.update_fields(tx, owner, task.id, changed)
    return _found(tx, owner, task.id)


def complete_task(
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
    owner, wanted_id = owner_of(tx.scope, user_id), validate.identifier(task_id)
    claim_hash = None if token is None else _hash(token)
    done = writing.complete(tx, owner, wanted_id, if_version, claim_hash)
    task = _found(tx, owner, wanted_id)
    if done:
        return task
    _require_version(task, if_version)
    if claim_hash is not None and not reading.holds(tx, owner, wanted_id, claim_hash):
        raise _wrong_token(task)
    if task.status == "completed":
        return task
    if claim_hash is not None and task.claimed_until is None:
        hint = "claim_task with the token takes the task up again."
        raise _conflict(task, "The claim's lease expired", hint)
    raise _moved(tx, owner, task)


def reopen_task(
    tx: Tx, task_id: str, user_id: str | None = None, if_version: int | None = None
) -> Task:
    """Return the task, pending; one that was completed loses its claim."""
    owner, wanted_id = owner_of(tx.scope, user_id), validate.identifier(task_id)
    done = writing.reopen(tx, owner, wanted_id, if_version)
    task = _found(tx, owner, wanted_id)
    if not done:
        _require_version(task, if_version)
        if task.status == "completed":
            raise _moved(tx, owner, task)
    return task


def claim_task(
    tx: Tx, task_id: str, lease_seconds: int, user_id: str | None = None, token: str | None = None
) -> Claim:
    """Return the task, claimed until the lease ends; with a token, its claim renewed.

    A claim that ran out is renewed as long as nobody else has claimed the task since.

    Raises:
        NotFound: it is not the caller's.
        Conflict: it is completed, blocked or claimed, or the token is another claim's.

    """
    owner, wanted_id = owner_of(tx.scope, user_id), validate.identifier(task_id)
    write = writing.claim if token is None else writing.renew
    kept = token or secrets.token_urlsafe(_TOKEN_BYTES)
    until = tx.now + timedelta(seconds=lease_seconds)
    done = write(tx, owner, wanted_id, _hash(kept), until)
    task = _found(tx, owner, wanted_id)
    if done:
        return Claim(task, kept)
    if task.status == "completed":
        raise _conflict(task, "The task is completed", "reopen_task makes it pending again.")
    if token is not None:
        raise _wrong_token(task)
    if task.claimed_until is not None:
        raise _conflict(task, "The task is claimed by another", _NEXT)
    if task.blocked_by:
        raise _conflict(task, "The task waits for a pending task in blocked_by", _NEXT)
    raise _moved(tx, owner, task)


def delete_task(
    tx: Tx, task_id: str, user_id: str | None = None, if_version: int | None = None
) -> str:
    """Return the id of the task, which is in the trash now. Raises NotFound or Conflict."""
    owner, wanted_id = owner_of(tx.scope, user_id), validate.identifier(task_id)
    if not writing.discard(tx, owner, wanted_id, if_version):
        task = _found(tx, owner, wanted_id)
        _require_version(task, if_version)
        raise _moved(tx, owner, task)
    return wanted_id


def restore_task(tx: Tx, task_id: str, user_id: str | None = None) -> Task:
    """Return the task, out of the trash, with what it waits for and what waits for it.

    What changed meanwhile wins: a parent or blocker that now hangs on the task is left out.
    """
    owner, wanted_id = owner_of(tx.scope, user_id), validate.identifier(task_id)
    graph.lock(tx, owner)
    if not writing.restore(tx, owner, wanted_id):
        raise _not_found(hint="restore_task finds what was deleted within the last 30 days.")
    task = _found(tx, owner, wanted_id)
    closing = graph.dependents(tx, owner, wanted_id, task.blocked_by)
    if closing:
        graph.drop_blockers(tx, owner, wanted_id, closing)
    if task.parent_id and graph.descendants(tx, owner, wanted_id, [task.parent_id]):
        graph.drop_parent(tx, owner, wanted_id)
    return _found(tx, owner, wanted_id)


def matching_ids(tx: Tx, prefix: str) -> list[str]:
    """Return ids of the caller's newest tasks whose id or title begins so, in any case."""
    sought = prefix.strip().casefold()
    newest = reading.newest_titles(tx, tx.scope.user_id, _TITLES_READ)
    found = (
        task_id
        for task_id, title in newest
        if task_id.startswith(sought) or title.casefold().startswith(sought)
    )
    return list(islice(found, _COMPLETED_IDS))


def purge_trash(tx: Tx) -> int:
    """Return how many tasks left the trash for good, 30 days after their deletion."""
    return writing.purge_trash(tx)


def _hash(token: str) -> str:
    """Return what is kept of a token: 96 random bits need no slow hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _found(tx: Tx, owner: str, task_id: str) -> Task:
    task = reading.get(tx, owner, task_id)
    if task is None:
        raise _not_found()
    return task


def _require_living(tx: Tx, owner: str, fields: dict[str, Any]) -> None:
    """Raise NotFound where a parent or blocker to be set is not a task of the owner."""
    for name in ("parent_id", "blocked_by"):
        given: str | tuple[str, ...] | None = fields.get(name)
        ids: Iterable[str] = (given,) if isinstance(given, str) else given or ()
        missing = set(ids) - (reading.living(tx, owner, ids) if ids else set())
        if missing:
            raise _not_found(f"{name}: {', '.join(sorted(missing))}")


def _refuse_cycles(tx: Tx, owner: str, task: Task, fields: dict[str, Any]) -> None:
    """Raise Invalid (CYCLE) where a new parent or blocker hangs on the task itself."""
    blockers, parent_id = fields.get("blocked_by"), fields.get("parent_id")
    closing = graph.dependents(tx, owner, task.id, blockers) if blockers else set[str]()
    if closing:
        raise Invalid(
            f"blocked_by makes a cycle: the task is, or holds up, {', '.join(sorted(closing))}",
            code="CYCLE",
            hint="Leave these out of blocked_by, or take this task out of theirs first.",
        )
    if parent_id and graph.descendants(tx, owner, task.id, [parent_id]):
        raise Invalid(
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
    hint = f"Send the token as claim_task answered it; if another took the task since, {_NEXT}"
    return _conflict(task, "The token is not that of the task's claim", hint)


def _moved(tx: Tx, owner: str, task: Task) -> Conflict:
    """Return the conflict of a call that another one overtook between two of its statements."""
    current = reading.get(tx, owner, task.id) or task
    return _conflict(current, "Another call changed the task while this one ran", "Call again.")


def _no_user(user_id: str | None) -> NotFound | UserGone:
    """Return the refusal of a user who is not there: the one that was named, or the caller."""
    return UserGone() if user_id is None else _not_found(hint=_OWN)


def _not_found(what: str = "", hint: str = "") -> NotFound:
    where = f"{what}: " if what else ""
    return NotFound(
        "Task not found or access denied",
        hint=hint or f"{where}list_tasks answers the ids of your tasks.",
    )
