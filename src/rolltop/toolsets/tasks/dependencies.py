"""What a task may wait for, and lie below: other tasks of its owner that do not wait for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.tasks import errors, store
from rolltop.toolsets.tasks.models import Task
from rolltop.toolsets.tasks.store import graph


def require_existing(tx: Tx, owner: str, fields: dict[str, Any]) -> None:
    """Raise NotFound where a parent or blocker to be set is not a task of the owner."""
    for name in ("parent_id", "blocked_by"):
        given: str | tuple[str, ...] | None = fields.get(name)
        ids: Iterable[str] = (given,) if isinstance(given, str) else given or ()
        missing = set(ids) - (store.existing_ids(tx, owner, ids) if ids else set())
        if missing:
            raise errors.not_found(f"{name}: {', '.join(sorted(missing))}")


def refuse_cycles(tx: Tx, owner: str, task: Task, fields: dict[str, Any]) -> None:
    """Raise InvalidArgument (CYCLE) if a new parent or blocker depends on the task itself."""
    blockers, parent_id = fields.get("blocked_by"), fields.get("parent_id")
    closing = graph.dependents(tx, owner, task.id, blockers) if blockers else ()
    if closing:
        raise InvalidArgument(
            f"blocked_by makes a cycle: the task is, or holds up, {', '.join(sorted(closing))}",
            code="CYCLE",
            hint="Leave these out of blocked_by, or take this task out of theirs first.",
        )
    if parent_id and graph.is_below(tx, owner, parent_id, task.id):
        raise InvalidArgument(
            f"parent_id makes a cycle: {parent_id} is the task itself or lies below it",
            code="CYCLE",
            hint="Choose another parent, or move that task out from under this one first.",
        )
