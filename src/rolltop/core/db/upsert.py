"""INSERT … ON CONFLICT, which both databases have and SQLAlchemy keeps in two places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.db.url import DatabaseKind

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.dialects import postgresql, sqlite


def insert(kind: DatabaseKind, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    # A process needs one of the dialects, and each takes its time to import.
    if kind == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415  # as above

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415  # as above

    return postgresql.insert(table)
