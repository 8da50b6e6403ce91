"""How an account's notes and their sync are doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolltop.toolsets.notes.models import LOCAL, Account
from rolltop.toolsets.notes.service import notebooks
from rolltop.toolsets.notes.service.remote.link import Record
from rolltop.toolsets.notes.store import reading, syncing
from rolltop.toolsets.notes.sync import CONFLICT_TAG

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings


@dataclass(frozen=True)
class State:
    """Counts of notes, and how the last sync went; `username` is "" for the local notes."""

    notes: int
    username: str
    status: str
    error: str | None
    error_count: int
    last_sync_at: float | None
    next_at: float | None
    pending: int
    refused: int
    copies: int
    unreadable: int
    local: int


def state(tx: Tx, settings: Settings) -> State:
    """Return how the caller's notes are doing."""
    notebook, account = notebooks.current(tx, settings)
    known = account or Account(LOCAL, status="local")
    record = Record.of(known)
    return State(
        notes=reading.count(tx, notebook.account),
        username=known.username or "",
        status=known.status,
        error=record.error,
        error_count=known.error_count,
        last_sync_at=known.last_sync_at,
        next_at=record.next_at,
        pending=reading.count(tx, notebook.account, "pending"),
        refused=reading.count(tx, notebook.account, "conflict"),
        copies=syncing.tagged(tx, notebook.account, CONFLICT_TAG),
        unreadable=record.unreadable,
        local=reading.count(tx, LOCAL),
    )
