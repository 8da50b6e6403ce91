"""Outlines and counts of files, kept over restarts: titles and figures, never a file's text.

A row belongs to a file's bytes, not to a user or a path: only who has the bytes in hand can
ask for it, and it is true of them whatever became of the file since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Column, Index, Integer, Table, Text, delete, func, select

from rolltop.core.db.schema import metadata
from rolltop.core.db.types import CodePointString, UTCDateTime
from rolltop.core.db.upsert import insert
from rolltop.toolsets.reader.models import KeptOutline

if TYPE_CHECKING:
    from rolltop.core.db import Tx

LARGEST: Final = 4_000_000
"""Characters: an outline that is longer than this is made anew each time instead."""

outlines: Final = Table(
    "reader_outlines",
    metadata,
    Column("content", CodePointString(64), primary_key=True),
    Column("size", Integer, nullable=False),
    Column("outline", Text, nullable=False),
    Column("kept_at", UTCDateTime, nullable=False),
    Index("ix_reader_outlines_kept_at", "kept_at"),
)


def find_outline(tx: Tx, content: str) -> KeptOutline | None:
    """Return what is kept of a file of that content, None if nothing is."""
    row = tx.execute(select(outlines).where(outlines.c.content == content)).first()
    return None if row is None else KeptOutline(row.content, row.outline)


def keep_outline(tx: Tx, kept: KeptOutline, limit: int) -> None:
    """Keep an outline and drop the oldest, so that all together stay within `limit` characters."""
    size = len(kept.outline)
    if size > min(LARGEST, limit):
        return
    _make_room(tx, limit - size)
    row = {"content": kept.content, "size": size, "outline": kept.outline, "kept_at": tx.now}
    tx.execute(insert(tx.kind, outlines).values(**row).on_conflict_do_nothing())


def _make_room(tx: Tx, limit: int) -> None:
    """Drop the oldest outlines until all together have at most `limit` characters."""
    total: Any = tx.execute(select(func.coalesce(func.sum(outlines.c.size), 0))).scalar_one()
    if total <= limit:
        return
    by_age = select(outlines.c.content, outlines.c.size).order_by(
        outlines.c.kept_at, outlines.c.content
    )
    dropped: list[str] = []
    for row in tx.execute(by_age):
        if total <= limit:
            break
        dropped.append(row.content)
        total -= row.size
    tx.execute(delete(outlines).where(outlines.c.content.in_(dropped)))
