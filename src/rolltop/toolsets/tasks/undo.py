"""Taking back what an operation did to tasks, which are their rows and nothing beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rolltop.toolsets.tasks.store.tables  # noqa: F401  # pyright: ignore[reportUnusedImport]  # says what of tasks the journal keeps
from rolltop.core.journal import undo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.journal.history import Entry


def take_back(_app: AppContext, tx: Tx, entries: Sequence[Entry], texts: Mapping[str, str]) -> None:
    """Give the tasks that one operation changed their state before it. Raises UndoConflict."""
    undo.take_back(tx, entries, texts)
