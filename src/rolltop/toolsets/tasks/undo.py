"""What an undo may not do to tasks: have them wait for themselves."""

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
from rolltop.toolsets.tasks.store import graph
from rolltop.toolsets.tasks.store.tables import task_blockers, tasks

_HANGS: Final = frozenset({"parent_id", "deleted_at"})
"""The columns of a task's row that say what hangs on what."""


@contextmanager
def guard(tx: Tx, entries: Sequence[Entry]) -> Generator[None]:
    """Let the tasks of these entries be given their states before them. Raises UndoConflict.

    What was put in the way since stays, so that a task may not get back what waits for it by now.
    """
    owner = tx.scope.user_id
    graph.lock_graph(tx, owner)
    yield
    for entry in {entry.ref: entry for entry in entries if any(map(_ties, entry.changes))}.values():
        task = store.get_task(tx, owner, entry.ref)
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
