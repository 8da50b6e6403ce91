"""Tasks as they are stored, those in the trash and what they hang on too: all of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, select, update

from rolltop.core.db import Tx, upsert
from rolltop.core.db.engine import batches
from rolltop.toolsets.tasks.models import MAX_LEASE_SECONDS, STORED_COLUMNS, Comment, Task
from rolltop.toolsets.tasks.store import column_values, insert_child_rows
from rolltop.toolsets.tasks.store.comments import insert_comment
from rolltop.toolsets.tasks.store.tables import task_blockers, task_comments, task_tags, tasks

_BATCH_SIZE: Final = 200
_LEASE_COLUMNS: Final = ("claim_hash", "claimed_until", "claimed_by")
_COLUMNS: Final = (*STORED_COLUMNS, "parent_id", "deleted_at", "claim_hash")


@dataclass(frozen=True)
class Lease:
    """The last claim of a task, running or not: who has the token of this hash, and until when."""

    claim_hash: str
    until: datetime
    by: str | None


@dataclass(frozen=True)
class StoredTask(Task):
    """A task with all that is kept of it; a claim, which comes and goes, makes no difference."""

    deleted_at: datetime | None = None
    comments: tuple[Comment, ...] = ()
    lease: Lease | None = field(default=None, compare=False)


def read_all(tx: Tx) -> Iterator[StoredTask]:
    """Yield the caller's tasks, by id."""
    last: list[ColumnElement[bool]] = []
    while batch := _read(tx, *last, limit=_BATCH_SIZE):
        yield from batch
        last = [tasks.c.id > batch[-1].id]


def read_some(tx: Tx, task_ids: Sequence[str]) -> dict[str, StoredTask]:
    """Return those of the tasks that are the caller's, by id."""
    found = (
        task
        for some in batches(task_ids, _BATCH_SIZE)
        for task in _read(tx, tasks.c.id.in_(list(some)))
    )
    return {task.id: task for task in found}


def insert_all(tx: Tx, new: Sequence[StoredTask]) -> None:
    """Insert tasks without what they hang on. An id that is another user's inserts nothing."""
    kept = set(_COLUMNS).difference(_LEASE_COLUMNS)
    rows = [
        {
            "user_id": tx.scope.user_id,
            **column_values({name: getattr(task, name) for name in kept}),
            "parent_id": None,
            **_lease_columns(task.lease, tx.now + timedelta(seconds=MAX_LEASE_SECONDS)),
        }
        for task in new
    ]
    if rows:
        tx.execute(upsert.insert(tx.kind, tasks).on_conflict_do_nothing(), rows)


def _lease_columns(lease: Lease | None, latest: datetime) -> dict[str, Any]:
    """Return a claim's columns; it runs no longer than one that is made now may."""
    if lease is None:
        return dict.fromkeys(_LEASE_COLUMNS)
    values = (lease.claim_hash, min(lease.until, latest), lease.by)
    return dict(zip(_LEASE_COLUMNS, values, strict=True))


def insert_details(tx: Tx, new: Sequence[StoredTask]) -> None:
    """Insert what belongs to tasks that were inserted: what they name, tags and comments."""
    owner = tx.scope.user_id
    for task in new:
        if task.parent_id or task.links:
            named = {name: getattr(task, name) for name in ("parent_id", "links")}
            mine = (tasks.c.user_id == owner, tasks.c.id == task.id)
            tx.execute(update(tasks).where(*mine).values(column_values(named)))
        insert_child_rows(tx, owner, task.id, vars(task))
        for comment in task.comments:
            insert_comment(tx, owner, task.id, comment)


def _read(tx: Tx, *conditions: ColumnElement[bool], limit: int | None = None) -> list[StoredTask]:
    columns = (tasks.c[name] for name in _COLUMNS)
    mine = select(*columns).where(tasks.c.user_id == tx.scope.user_id, *conditions)
    rows = tx.execute(mine.order_by(tasks.c.id).limit(limit)).mappings().all()
    ids = [row["id"] for row in rows]
    tags, blockers, comments = (
        _children(tx, table, ids) for table in (task_tags, task_blockers, task_comments)
    )
    found: list[StoredTask] = []
    for row in rows:
        tagged = (one["tag"] for one in tags[row["id"]])
        blocked_by = (one["blocker_id"] for one in blockers[row["id"]])
        claim_hash, until, by = (row[name] for name in _LEASE_COLUMNS)
        task = replace(
            StoredTask.of_row(row, tagged, blocked_by, tx.now),
            claimed_until=None,
            claimed_by=None,
            lapsed_at=None,
            deleted_at=row["deleted_at"],
            comments=tuple(
                Comment(one["version"], one["created_at"], one["author"], one["text"])
                for one in sorted(comments[row["id"]], key=lambda one: one["version"])
            ),
            lease=Lease(claim_hash, until, by) if claim_hash and until else None,
        )
        found.append(task)
    return found


def _children(tx: Tx, table: Table, ids: Sequence[str]) -> dict[str, list[Any]]:
    """Return the rows of a table that belong to these tasks, by task."""
    mine = (table.c.user_id == tx.scope.user_id, table.c.task_id.in_(ids))
    found: dict[str, list[Any]] = defaultdict(list)
    for row in tx.execute(select(table).where(*mine)).mappings() if ids else ():
        found[row["task_id"]].append(row)
    return found
