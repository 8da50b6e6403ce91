"""The SQL of titles and links: what other things say of tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Text, select, type_coerce

from rolltop.core.db import Tx
from rolltop.toolsets.tasks.store import NEWEST_FIRST, visible_conditions
from rolltop.toolsets.tasks.store.tables import tasks


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
