"""What was done to users, tokens and workspaces, and who logged in: no journal tells that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select

from rolltop.core.db import Tx
from rolltop.core.db.schema import audit_events

KEPT_FOR: Final = timedelta(days=400)
_MAX_LENGTHS: Final = {"actor": 300, "subject": 1000}
_c: Final = audit_events.c


@dataclass(frozen=True)
class AuditEvent:
    """One thing that somebody did, in words: `actor` and `subject` are names as they were then."""

    at: datetime
    actor: str
    action: str
    subject: str


def record(tx: Tx, actor: str, action: str, subject: str) -> None:
    """Note what the transaction does; it is kept with it, for 400 days."""
    tx.execute(delete(audit_events).where(_c.at < tx.now - KEPT_FOR))
    names = {"actor": actor, "subject": subject}
    storable = {name: text.encode("utf-8", "replace").decode() for name, text in names.items()}
    cut = {name: text[: _MAX_LENGTHS[name]] for name, text in storable.items()}
    tx.execute(audit_events.insert().values(at=tx.now, action=action, **cut))


def list_events(tx: Tx, limit: int) -> list[AuditEvent]:
    """Return the last `limit` events of the last 400 days, the newest first."""
    statement = select(_c.at, _c.actor, _c.action, _c.subject).where(_c.at >= tx.now - KEPT_FOR)
    newest = statement.order_by(_c.number.desc()).limit(limit)
    return [AuditEvent(*row) for row in tx.execute(newest)]
