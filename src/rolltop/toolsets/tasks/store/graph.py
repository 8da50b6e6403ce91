"""What tasks hang on: parents and blockers, through any number of others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import CTE, Select, delete, select, update

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


def dependents(tx: Tx, owner: str, task_id: str, among: Collection[str]) -> Collection[str]:
    """Return those of the ids that wait for the task, through any number of others, or are it."""

    def wait_for(some: Collection[str]) -> bool:
        reached, blocked = _starting_rows(owner, some), task_blockers.c
        step = (
            select(tasks.c.user_id, tasks.c.id)
            .join(
                task_blockers,
                (blocked.user_id == tasks.c.user_id) & (blocked.blocker_id == tasks.c.id),
            )
            .join(
                reached,
                (reached.c.user_id == blocked.user_id) & (reached.c.id == blocked.task_id),
            )
        )
        return _is_reached(tx, reached, step, task_id)

    return [one for one in among if wait_for([one])] if wait_for(among) else ()


def is_below(tx: Tx, owner: str, task_id: str, above: str) -> bool:
    """Whether a task lies below another, at any depth, or is it."""
    reached, child = _starting_rows(owner, [task_id]), tasks.alias("child")
    step = (
        select(tasks.c.user_id, tasks.c.id)
        .join(child, (child.c.user_id == tasks.c.user_id) & (child.c.parent_id == tasks.c.id))
        .join(reached, (reached.c.user_id == child.c.user_id) & (reached.c.id == child.c.id))
    )
    return _is_reached(tx, reached, step, above)


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


def _starting_rows(owner: str, task_ids: Collection[str]) -> CTE:
    """Return the first rows of a recursion.

    Its steps take the owner from them: were it given to each, SQLite would read all that is the
    owner's at every step. And they go from a task to those that it hangs on, by primary keys.
    """
    found = select(tasks.c.user_id, tasks.c.id)
    found = found.where(*visible_conditions(owner), tasks.c.id.in_(task_ids))
    return found.cte("reached", recursive=True)


def _is_reached(tx: Tx, reached: CTE, step: Select[Any, Any], task_id: str) -> bool:
    every = reached.union(step.where(tasks.c.deleted_at.is_(None)))
    return tx.execute(select(every.c.id).where(every.c.id == task_id)).first() is not None
