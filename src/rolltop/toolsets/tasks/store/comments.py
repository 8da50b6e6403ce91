"""The SQL of what was noted on tasks."""

from __future__ import annotations

from sqlalchemy import func, insert, select

from rolltop.core.db import Tx
from rolltop.toolsets.tasks.models import MAX_COMMENTS_SHOWN, Comment
from rolltop.toolsets.tasks.store import MAX_VERSION, Condition
from rolltop.toolsets.tasks.store.tables import task_comments


def read_comments(tx: Tx, owner: str, task_id: str, before: int = 0) -> tuple[list[Comment], int]:
    """Return the task's newest comments, newest first, and how many came before them.

    With `before`, those alone that were noted before that version.
    """
    mine: tuple[Condition, ...] = (
        task_comments.c.user_id == owner,
        task_comments.c.task_id == task_id,
    )
    if before:
        mine = (*mine, task_comments.c.version < min(before, MAX_VERSION))
    names = ("version", "created_at", "author", "text")
    shown = (task_comments.c[name] for name in names)
    newest = select(*shown).where(*mine).order_by(task_comments.c.version.desc())
    found = [Comment(*row) for row in tx.execute(newest.limit(MAX_COMMENTS_SHOWN))]
    total = len(found)
    if total == MAX_COMMENTS_SHOWN:
        total = tx.execute(
            select(func.count()).select_from(task_comments).where(*mine)
        ).scalar_one()
    return found, total - len(found)


def insert_comment(tx: Tx, owner: str, task_id: str, comment: Comment) -> None:
    """Keep what was noted on a task."""
    values = {"user_id": owner, "task_id": task_id, **vars(comment)}
    tx.execute(insert(task_comments).values(**values))
