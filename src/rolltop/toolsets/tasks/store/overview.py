"""What is said of tasks elsewhere: counts, the trash, titles and links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Text, func, select, type_coerce

from rolltop.core.db import Tx
from rolltop.toolsets.tasks.store import NEWEST_FIRST, visible_conditions
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


def list_trash(tx: Tx, start: int, limit: int) -> list[TrashedTask]:
    """List the caller's tasks in the trash, last deleted first, behind the first `start`."""
    deleted = (
        select(tasks.c.id, tasks.c.title, tasks.c.deleted_at)
        .where(tasks.c.user_id == tx.scope.user_id, tasks.c.deleted_at.is_not(None))
        .order_by(tasks.c.deleted_at.desc(), tasks.c.id)
    )
    return [TrashedTask(*row) for row in tx.execute(deleted.offset(start).limit(limit))]


def read_titles(tx: Tx, owner: str, task_ids: Sequence[str], project: str) -> dict[str, str | None]:
    """Map the owner's tasks, in the trash too, to their titles; None if another project's."""
    found = select(tasks.c.id, tasks.c.title, tasks.c.project).where(
        tasks.c.user_id == owner, tasks.c.id.in_(task_ids)
    )
    return {
        row.id: row.title if not project or row.project in {None, project} else None
        for row in tx.execute(found)
    }


def newest_titles(tx: Tx, owner: str, limit: int) -> list[tuple[str, str]]:
    """Return id and title of the owner's newest tasks."""
    rows = tx.execute(
        select(tasks.c.id, tasks.c.title)
        .where(*visible_conditions(owner))
        .order_by(*NEWEST_FIRST)
        .limit(limit)
    )
    return [(row.id, row.title) for row in rows]


def read_links(tx: Tx, owner: str, start: str) -> list[tuple[str, list[str]]]:
    """Return the owner's visible tasks with links among which one may begin so, by id."""
    written = json.dumps(start, ensure_ascii=False)[:-1]
    has_one = type_coerce(tasks.c.links, Text).contains(written, autoescape=True)
    found = select(tasks.c.id, tasks.c.links).where(*visible_conditions(owner), has_one)
    return [(row.id, row.links) for row in tx.execute(found.order_by(*NEWEST_FIRST))]
