"""Tasks as they are stored, those in the trash and what they hang on too: all of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, insert, select, update

from rolltop.core.db import Tx, upsert
from rolltop.core.db.engine import batches
from rolltop.toolsets.tasks.models import Comment, Task, proof_values
from rolltop.toolsets.tasks.store import column_values
from rolltop.toolsets.tasks.store.tables import task_blockers, task_comments, task_tags, tasks

_BATCH_SIZE: Final = 200
_COLUMNS: Final = (
    *("id", "title", "status", "created_at", "updated_at", "version", "description", "priority"),
    *("due_at", "project", "deleted_at", "parent_id", "links", "acceptance", "evidence"),
    *("requires_evidence", "reopen_on_change"),
)


@dataclass(frozen=True)
class StoredTask(Task):
    """A task with all that is kept of it, save a claim."""

    deleted_at: datetime | None = None
    comments: tuple[Comment, ...] = ()


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
    rows = [
        {
            "user_id": tx.scope.user_id,
            **column_values({name: getattr(task, name) for name in _COLUMNS}),
            "parent_id": None,
        }
        for task in new
    ]
    if rows:
        tx.execute(upsert.insert(tx.kind, tasks).on_conflict_do_nothing(), rows)


def insert_details(tx: Tx, new: Sequence[StoredTask]) -> None:
    """Insert what belongs to tasks that were inserted: parents, blockers, tags and comments."""
    owner = tx.scope.user_id
    for task in new:
        if task.parent_id is not None:
            mine = (tasks.c.user_id == owner, tasks.c.id == task.id)
            tx.execute(update(tasks).where(*mine).values(parent_id=task.parent_id))
    children: list[tuple[Table, list[dict[str, Any]]]] = [
        (task_tags, [{"task_id": task.id, "tag": tag} for task in new for tag in task.tags]),
        (
            task_blockers,
            [
                {"task_id": task.id, "blocker_id": other}
                for task in new
                for other in task.blocked_by
            ],
        ),
        (
            task_comments,
            [{"task_id": task.id, **vars(one)} for task in new for one in task.comments],
        ),
    ]
    for table, rows in children:
        if rows:
            tx.execute(insert(table), [{"user_id": owner, **row} for row in rows])


def _read(tx: Tx, *conditions: ColumnElement[bool], limit: int | None = None) -> list[StoredTask]:
    columns = (tasks.c[name] for name in _COLUMNS)
    mine = select(*columns).where(tasks.c.user_id == tx.scope.user_id, *conditions)
    rows = tx.execute(mine.order_by(tasks.c.id).limit(limit)).mappings().all()
    ids = [row["id"] for row in rows]
    tags = _children(tx, task_tags, ids)
    blockers = _children(tx, task_blockers, ids)
    comments = _children(tx, task_comments, ids)
    found: list[StoredTask] = []
    for row in rows:
        values: dict[str, Any] = {
            **row,
            "links": tuple(row["links"] or ()),
            **proof_values({**row}),
        }
        noted = sorted(comments[row["id"]], key=lambda one: one["version"])
        names = ("version", "created_at", "author", "text")
        values |= {
            "tags": tuple(sorted(one["tag"] for one in tags[row["id"]])),
            "blocked_by": tuple(sorted(one["blocker_id"] for one in blockers[row["id"]])),
            "comments": tuple(Comment(*(one[name] for name in names)) for one in noted),
        }
        found.append(StoredTask(**values))
    return found


def _children(tx: Tx, table: Table, ids: Sequence[str]) -> dict[str, list[Any]]:
    """Return the rows of a table that belong to these tasks, by task."""
    mine = (table.c.user_id == tx.scope.user_id, table.c.task_id.in_(ids))
    found: dict[str, list[Any]] = defaultdict(list)
    for row in tx.execute(select(table).where(*mine)).mappings() if ids else ():
        found[row["task_id"]].append(row)
    return found
