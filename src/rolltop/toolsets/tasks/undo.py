"""Taking back what an operation did to tasks, which are their rows and nothing beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.journal import undo
from rolltop.toolsets.tasks.store.tables import tasks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.journal.history import Entry


def take_back(_app: AppContext, tx: Tx, entries: Sequence[Entry], texts: Mapping[str, str]) -> None:
    """Give the tasks that one operation changed their state before it. Raises UndoConflict."""
    assert tasks.info  # noqa: S101  # its module says what the journal keeps
    undo.take_back(tx, entries, texts)
