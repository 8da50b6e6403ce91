"""Outlines and counts of files, stored over restarts: titles and figures, never a file's text.

A row belongs to a file's bytes, not to a user or a path: only who has the bytes can ask for it.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Column, Index, Integer, Table, Text, delete, func, select

from rolltop.core.db import Tx
from rolltop.core.db.schema import metadata
from rolltop.core.db.types import CodePointString, UTCDateTime
from rolltop.core.db.upsert import insert

MAX_OUTLINE_LENGTH: Final = 4_000_000
"""Characters: a longer outline is made anew each time."""

outlines: Final = Table(
    "reader_outlines",
    metadata,
    Column("content", CodePointString(64), primary_key=True),
    Column("size", Integer, nullable=False),
    Column("outline", Text, nullable=False),
    Column("kept_at", UTCDateTime, nullable=False),
    Index("ix_reader_outlines_kept_at", "kept_at"),
)


def find_outline(tx: Tx, content: str) -> str | None:
    """Return the outline stored for a content hash, None if there is none."""
    return tx.execute(
        select(outlines.c.outline).where(outlines.c.content == content)
    ).scalar_one_or_none()


def store_outline(tx: Tx, content: str, outline: str, limit: int) -> None:
    """Store an outline and delete the oldest, so that all have at most `limit` characters."""
    size = len(outline)
    if size > min(MAX_OUTLINE_LENGTH, limit):
        return
    _delete_oldest(tx, limit - size)
    row = {"content": content, "size": size, "outline": outline, "kept_at": tx.now}
    tx.execute(insert(tx.kind, outlines).values(**row).on_conflict_do_nothing())


def _delete_oldest(tx: Tx, limit: int) -> None:
    total: Any = tx.execute(select(func.coalesce(func.sum(outlines.c.size), 0))).scalar_one()
    by_age = select(outlines.c.content, outlines.c.size).order_by(
        outlines.c.kept_at, outlines.c.content
    )
    deleted: list[str] = []
    for row in tx.execute(by_age) if total > limit else ():
        if total <= limit:
            break
        deleted.append(row.content)
        total -= row.size
    if deleted:
        tx.execute(delete(outlines).where(outlines.c.content.in_(deleted)))
