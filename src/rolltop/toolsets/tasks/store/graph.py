"""What tasks hang on: parents and blockers, through any number of others."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import ColumnElement, delete, select, true, update

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
        blocked = task_blockers.c
        return _is_reached(
            tx, owner, some, task_id, (blocked.user_id, blocked.task_id, blocked.blocker_id)
        )

    return [one for one in among if wait_for([one])] if wait_for(among) else ()


def is_below(tx: Tx, owner: str, task_id: str, above: str) -> bool:
    """Whether a task lies below another, at any depth, or is it."""
    child = tasks.alias("child").c
    return _is_reached(tx, owner, [task_id], above, (child.user_id, child.id, child.parent_id))


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


def _is_reached(
    tx: Tx,
    owner: str,
    starts: Collection[str],
    task_id: str,
    links: tuple[ColumnElement[str], ColumnElement[str], ColumnElement[str]],
) -> bool:
    """Whether the links (of an owner, from a task, to another) lead from one of some to a task.

    The steps take the owner from the rows before them: were it given to each, SQLite would read
    all that is the owner's at every step. PostgreSQL does so unless each row is asked for on its
    own: it plans for many rows, and most steps have one.
    """
    first = select(tasks.c.user_id, tasks.c.id)
    first = first.where(*visible_conditions(owner), tasks.c.id.in_(starts))
    reached = first.cte("reached", recursive=True)
    user_id, from_id, to_id = links
    is_there = select(tasks.c.deleted_at.is_(None)).where(
        tasks.c.user_id == user_id, tasks.c.id == to_id
    )
    step = select(user_id, to_id.label("to_id")).where(
        user_id == reached.c.user_id, from_id == reached.c.id, is_there.scalar_subquery()
    )
    if tx.kind == "postgresql":
        found = step.offset(0).lateral("found")
        step = select(found.c.user_id, found.c.to_id).select_from(reached.join(found, true()))
    every = reached.union(step)
    return tx.execute(select(every.c.id).where(every.c.id == task_id)).first() is not None
