"""What tasks hang on: parents and blockers, through any number of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import delete, select, update

from rolltop.core.db import Tx
from rolltop.core.db.schema import users
from rolltop.toolsets.tasks.store import visible_conditions
from rolltop.toolsets.tasks.store.tables import task_blockers, tasks


def lock_graph(tx: Tx, owner: str) -> None:
    """Wait until no other transaction changes what the owner's tasks hang on.

    PostgreSQL locks the owner's row, in the mode that lets other tables refer to it; SQLite has
    one writer anyway.
    """
    tx.execute(select(users.c.id).where(users.c.id == owner).with_for_update(key_share=True))


def dependents(tx: Tx, owner: str, task_id: str, among: Iterable[str]) -> set[str]:
    """Return those of the ids that wait for the task, through any number of others, or are it."""
    blocked = (task_blockers.c.task_id == tasks.c.id) & (task_blockers.c.user_id == owner)
    reached = _starting_rows(owner, task_id)
    step = (
        select(tasks.c.id)
        .join(task_blockers, blocked)
        .join(reached, task_blockers.c.blocker_id == reached.c.id)
    )
    return _select_reachable(tx, reached.union(step.where(*visible_conditions(owner))), among)


def descendants(tx: Tx, owner: str, task_id: str, among: Iterable[str]) -> set[str]:
    """Return those of the ids that lie below the task, at any depth, or are it."""
    reached = _starting_rows(owner, task_id)
    step = select(tasks.c.id).join(reached, tasks.c.parent_id == reached.c.id)
    return _select_reachable(tx, reached.union(step.where(*visible_conditions(owner))), among)


def drop_blockers(tx: Tx, owner: str, task_id: str, blockers: Iterable[str]) -> None:
    """Forget some of what a task waits for."""
    tx.execute(
        delete(task_blockers).where(
            task_blockers.c.user_id == owner,
            task_blockers.c.task_id == task_id,
            task_blockers.c.blocker_id.in_(list(blockers)),
        )
    )


def drop_parent(tx: Tx, owner: str, task_id: str) -> None:
    """Forget a task's parent."""
    tx.execute(
        update(tasks).where(tasks.c.user_id == owner, tasks.c.id == task_id).values(parent_id=None)
    )


def _starting_rows(owner: str, task_id: str) -> Any:  # noqa: ANN401  # a recursive CTE
    found = select(tasks.c.id).where(*visible_conditions(owner), tasks.c.id == task_id)
    return found.cte("reached", recursive=True)


def _select_reachable(tx: Tx, reached: Any, among: Iterable[str]) -> set[str]:  # noqa: ANN401  # as above
    statement = select(reached.c.id).where(reached.c.id.in_(list(among)))
    return set(tx.execute(statement).scalars())
