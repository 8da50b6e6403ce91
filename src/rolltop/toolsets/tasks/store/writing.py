"""Writes: each one statement whose conditions decide, so that racing calls cannot both succeed."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Update, delete, insert, literal, select, update

from rolltop.core.db.schema import users
from rolltop.toolsets.tasks.models import TRASH_KEEPS, Task
from rolltop.toolsets.tasks.store.reading import Condition, get, live, ready
from rolltop.toolsets.tasks.store.tables import task_blockers, task_tags, tasks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rolltop.core.db import Tx

_LARGEST: Final = 2**31 - 1
"""What a version's column holds: a driver takes no larger number."""
_NEVER: Final = -1
"""No task's version."""
_SIDES: Final = {"tags": task_tags.c.tag, "blocked_by": task_blockers.c.blocker_id}


def add(tx: Tx, owner: str, fields: Mapping[str, Any]) -> Task | None:
    """Return a new pending task, or None where there is no such user."""
    task_id = str(uuid.uuid4())
    values = {
        "id": task_id,
        "status": "pending",
        "created_at": tx.now,
        "updated_at": tx.now,
        "version": 1,
        **_columns(fields),
    }
    bound = [literal(value, tasks.c[name].type) for name, value in values.items()]
    # The lock keeps the user until the row that refers to it is written.
    chosen = select(users.c.id, *bound).where(users.c.id == owner)
    statement = insert(tasks).from_select(
        ["user_id", *values], chosen.with_for_update(read=True, key_share=True)
    )
    if tx.execute(statement.returning(tasks.c.id)).first() is None:
        return None
    _write_sides(tx, owner, task_id, fields)
    return get(tx, owner, task_id)


def update_fields(tx: Tx, owner: str, task_id: str, fields: Mapping[str, Any]) -> None:
    """Change fields of a task that is held."""
    tx.execute(_change(tx, owner, task_id).values(**_columns(fields)))
    _write_sides(tx, owner, task_id, fields)


def complete(
    tx: Tx, owner: str, task_id: str, if_version: int | None, claim_hash: str | None
) -> bool:
    """Complete a pending task; whether it was. With a hash only the running claim's holder may."""
    conditions = [tasks.c.status == "pending", *_at(if_version)]
    if claim_hash is not None:
        conditions += [tasks.c.claim_hash == claim_hash, tasks.c.claimed_until > tx.now]
    return _changed(tx, _change(tx, owner, task_id, *conditions).values(status="completed"))


def reopen(tx: Tx, owner: str, task_id: str, if_version: int | None) -> bool:
    """Make a completed task pending and unclaimed; whether it was."""
    conditions = [tasks.c.status == "completed", *_at(if_version)]
    values = {"status": "pending", "claim_hash": None, "claimed_until": None}
    return _changed(tx, _change(tx, owner, task_id, *conditions).values(**values))


def claim(tx: Tx, owner: str, task_id: str, claim_hash: str, until: datetime) -> bool:
    """Claim a ready task; whether it was one."""
    statement = _change(tx, owner, task_id, *ready(owner, tx.now))
    return _changed(tx, statement.values(claim_hash=claim_hash, claimed_until=until))


def renew(tx: Tx, owner: str, task_id: str, claim_hash: str, until: datetime) -> bool:
    """Renew the last claim of a pending task; whether the hash is that claim's."""
    conditions = (tasks.c.status == "pending", tasks.c.claim_hash == claim_hash)
    return _changed(tx, _change(tx, owner, task_id, *conditions).values(claimed_until=until))


def discard(tx: Tx, owner: str, task_id: str, if_version: int | None) -> bool:
    """Put a task into the trash; whether it was outside."""
    statement = _change(tx, owner, task_id, *_at(if_version))
    return _changed(tx, statement.values(deleted_at=tx.now))


def restore(tx: Tx, owner: str, task_id: str) -> bool:
    """Take a task out of the trash; whether it was in it, for no more than 30 days."""
    statement = (
        update(tasks)
        .where(
            tasks.c.id == task_id,
            tasks.c.user_id == owner,
            tasks.c.deleted_at > tx.now - TRASH_KEEPS,
        )
        .values(deleted_at=None, updated_at=tx.now, version=tasks.c.version + 1)
    )
    return _changed(tx, statement)


def purge_trash(tx: Tx) -> int:
    """Delete for good, of all users, what has been in the trash for 30 days; return how many."""
    return tx.execute(delete(tasks).where(tasks.c.deleted_at <= tx.now - TRASH_KEEPS)).rowcount


def _at(version: int | None) -> list[Condition]:
    if version is None:
        return []
    return [tasks.c.version == (version if abs(version) <= _LARGEST else _NEVER)]


def _change(tx: Tx, owner: str, task_id: str, *conditions: Condition) -> Update:
    """Return an UPDATE of one living task that moves its version and `updated_at`."""
    return (
        update(tasks)
        .where(tasks.c.id == task_id, *live(owner), *conditions)
        .values(version=tasks.c.version + 1, updated_at=tx.now)
    )


def _changed(tx: Tx, statement: Update) -> bool:
    return tx.execute(statement.returning(tasks.c.id)).first() is not None


def _columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are columns of `tasks`, as they are stored."""
    columns = {name: value for name, value in fields.items() if name not in _SIDES}
    if "links" in columns:
        columns["links"] = list(columns["links"]) or None
    return columns


def _write_sides(tx: Tx, owner: str, task_id: str, fields: Mapping[str, Any]) -> None:
    """Put tags and blockers that are among the fields in place of what the task had."""
    for name, column in _SIDES.items():
        if name not in fields:
            continue
        side = column.table
        tx.execute(delete(side).where(side.c.user_id == owner, side.c.task_id == task_id))
        mine = {"user_id": owner, "task_id": task_id}
        rows = [{**mine, column.name: value} for value in fields[name]]
        if rows:
            tx.execute(insert(side), rows)
