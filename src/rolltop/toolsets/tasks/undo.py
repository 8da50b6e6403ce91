"""Taking back what an operation did to tasks, unless tasks would wait for themselves then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rolltop.core.context import AppContext
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.core.journal import undo
from rolltop.core.journal.history import Entry
from rolltop.core.journal.undo import UndoConflict
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.dependencies import refuse_cycles
from rolltop.toolsets.tasks.store import graph
from rolltop.toolsets.tasks.store.tables import task_blockers, tasks

_HANGS: Final = frozenset({"parent_id", "deleted_at"})
"""The columns of a task's row that say what hangs on what."""


def take_back(_app: AppContext, tx: Tx, entries: Sequence[Entry], texts: Mapping[str, str]) -> None:
    """Give the tasks that one operation changed their state before it. Raises UndoConflict.

    What was put in the way since stays, so that a task may not get back what waits for it by now.
    """
    owner = tx.scope.user_id
    graph.lock_graph(tx, owner)
    undo.take_back(tx, entries, texts)
    for entry in entries:
        task = store.get_task(tx, owner, entry.ref) if any(map(_ties, entry.changes)) else None
        if task is not None:
            tied = {"blocked_by": task.blocked_by, "parent_id": task.parent_id}
            try:
                refuse_cycles(tx, owner, task, tied)
            except InvalidArgument as cycle:
                raise UndoConflict(entry.thing, cycle.message, by_others=True) from None


def _ties(change: Mapping[str, Any]) -> bool:
    """Whether taking a change back may tie its task to others."""
    before: Mapping[str, Any] | None = change["before"]
    if before is None:
        return False
    return change["table"] == task_blockers.name or (
        change["table"] == tasks.name and not _HANGS.isdisjoint(before)
    )
