"""What an undo may not do to tasks: change those that others hold, or have any wait for itself."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.core.journal.history import Entry
from rolltop.core.journal.undo import UndoConflict
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.dependencies import refuse_cycles
from rolltop.toolsets.tasks.models import Task, format_timestamp
from rolltop.toolsets.tasks.store import graph
from rolltop.toolsets.tasks.store.tables import task_blockers, tasks

_HANGS: Final = frozenset({"parent_id", "deleted_at"})
"""The columns of a task's row that say what hangs on what."""


@contextmanager
def guard(tx: Tx, entries: Sequence[Entry]) -> Generator[None]:
    """Let the tasks of these entries be given their states before them. Raises UndoConflict.

    What was put in the way since stays, so that a task may not get back what waits for it by now.
    A claim protects its task, unless the undo takes the claim back as well.
    """
    owner = tx.scope.user_id
    graph.lock_graph(tx, owner)
    by_task = {entry.ref: entry for entry in entries}
    held = [ref for ref in sorted(by_task) if _holder(tx, store.get_for_update(tx, owner, ref))]
    yield
    for ref in held:
        task = store.get_task(tx, owner, ref) or store.get_task(tx, owner, ref, trash=True)
        if (holder := _holder(tx, task)) is not None:
            take_over = "claim_task with force=true takes the task over"
            reason = f"it is claimed by {holder}; {take_over}"
            raise UndoConflict(by_task[ref].thing, reason, by_others=True)
    for entry in {entry.ref: entry for entry in entries if any(map(_ties, entry.changes))}.values():
        task = store.get_task(tx, owner, entry.ref)
        if task is not None:
            tied = {"blocked_by": task.blocked_by, "parent_id": task.parent_id}
            try:
                refuse_cycles(tx, owner, task, tied)
            except InvalidArgument as cycle:
                raise UndoConflict(entry.thing, cycle.message, by_others=True) from None


def _holder(tx: Tx, task: Task | None) -> str | None:
    """Say who but the caller's client holds a task, and until when; None if nobody does."""
    if task is None or task.claimed_until is None or task.claimed_by == tx.scope.label:
        return None
    return f"{task.claimed_by or 'another'} until {format_timestamp(task.claimed_until)}"


def _ties(change: Mapping[str, Any]) -> bool:
    """Whether taking a change back may tie its task to others."""
    before: Mapping[str, Any] | None = change["before"]
    if before is None:
        return False
    return change["table"] == task_blockers.name or (
        change["table"] == tasks.name and not _HANGS.isdisjoint(before)
    )
