"""What people see of all their tasks at once: how many there are, and what is in the trash."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select

from rolltop.core.db import Tx
from rolltop.toolsets.tasks.store.tables import tasks


class TrashedTask(NamedTuple):
    """A task in the trash."""

    id: str
    title: str
    deleted_at: datetime


def count_tasks(tx: Tx, project: str) -> tuple[int, int]:
    """Count the caller's pending tasks, of a project and of none, and the project's completed ones.

    No project stands for all.
    """
    counted = (
        select(tasks.c.status, tasks.c.project, func.count().label("number"))
        .where(tasks.c.user_id == tx.scope.user_id, tasks.c.deleted_at.is_(None))
        .group_by(tasks.c.status, tasks.c.project)
    )
    pending = completed = 0
    for row in tx.execute(counted):
        if row.status == "completed":
            completed += row.number if project in {"", row.project} else 0
        elif not project or row.project in {None, project}:
            pending += row.number
    return pending, completed


def list_trash(tx: Tx, limit: int) -> list[TrashedTask]:
    """List the caller's tasks in the trash, last deleted first."""
    deleted = (
        select(tasks.c.id, tasks.c.title, tasks.c.deleted_at)
        .where(tasks.c.user_id == tx.scope.user_id, tasks.c.deleted_at.is_not(None))
        .order_by(tasks.c.deleted_at.desc(), tasks.c.id)
    )
    return [TrashedTask(*row) for row in tx.execute(deleted.limit(limit))]
