"""The trash: what goes there to make room, what comes back, what leaves it for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import case, delete, literal, select, tuple_

from rolltop.core.db.types import Identifier, UTCDateTime
from rolltop.toolsets.scratch.models import TRASH_KEEPS
from rolltop.toolsets.scratch.store.pads import COLUMNS, live, pad_of
from rolltop.toolsets.scratch.store.tables import accesses, pads

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.records import Pad


def is_taken(tx: Tx, scratch_id: str) -> Pad | None:
    """Return the caller's pad of that id, in the trash or not; None where the id is free."""
    found = select(*COLUMNS).where(
        pads.c.user_id == tx.scope.user_id, pads.c.scratch_id == scratch_id
    )
    row = tx.execute(found.with_for_update(key_share=True)).first()
    return None if row is None else pad_of(*row)


def least_recent(tx: Tx, limit: int, before: datetime | None = None) -> list[Pad]:
    """Return the caller's pads that were not read or written for the longest, oldest first.

    With `before`, only those last accessed before that moment.
    """
    read, last = _last_access(tx)
    statement = select(*COLUMNS).select_from(pads.outerjoin(accesses, read)).where(*live(tx))
    if before is not None:
        statement = statement.where(last < before)
    ordered = statement.order_by(last, pads.c.created_at, pads.c.scratch_id).limit(limit)
    return [pad_of(*row) for row in tx.execute(ordered)]


def idle_owners(tx: Tx, before: datetime) -> list[str]:
    """Return the owners, of all, of pads last written before a moment."""
    found = select(pads.c.user_id).where(pads.c.deleted_at.is_(None), pads.c.updated_at < before)
    return sorted(tx.execute(found.distinct()).scalars())


def page(tx: Tx, after: tuple[datetime, str] | None, limit: int) -> list[Pad]:
    """Return the caller's pads in the trash that can be restored, last deleted first."""
    statement = select(*COLUMNS).where(*_restorable(tx))
    if after is not None:
        place = tuple_(literal(after[0], UTCDateTime), literal(after[1], Identifier))
        statement = statement.where(tuple_(pads.c.deleted_at, pads.c.scratch_id) < place)
    newest = (pads.c.deleted_at.desc(), pads.c.scratch_id.desc())
    return [pad_of(*row) for row in tx.execute(statement.order_by(*newest).limit(limit))]


def hold(tx: Tx, scratch_id: str) -> Pad | None:
    """Return the caller's pad in the trash, locked; None where it cannot be restored."""
    found = select(*COLUMNS).where(*_restorable(tx), pads.c.scratch_id == scratch_id)
    row = tx.execute(found.with_for_update(key_share=True)).first()
    return None if row is None else pad_of(*row)


def forget(tx: Tx, scratch_id: str) -> None:
    """Delete one of the caller's pads for good."""
    tx.execute(
        delete(pads).where(pads.c.user_id == tx.scope.user_id, pads.c.scratch_id == scratch_id)
    )


def purge(tx: Tx) -> int:
    """Delete for good, of all users, what has been in the trash for 30 days; return how many."""
    return tx.execute(delete(pads).where(pads.c.deleted_at <= tx.now - TRASH_KEEPS)).rowcount


def _restorable(tx: Tx) -> tuple[ColumnElement[bool], ...]:
    return (pads.c.user_id == tx.scope.user_id, pads.c.deleted_at > tx.now - TRASH_KEEPS)


def _last_access(tx: Tx) -> tuple[ColumnElement[bool], ColumnElement[Any]]:
    """Return the join with noted reads, and when a pad was last read or written."""
    read = (accesses.c.user_id == tx.scope.user_id) & (accesses.c.scratch_id == pads.c.scratch_id)
    later = accesses.c.accessed_at > pads.c.updated_at
    return read, case((later, accesses.c.accessed_at), else_=pads.c.updated_at)
