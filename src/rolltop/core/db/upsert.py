"""INSERT … ON CONFLICT, which both databases have and SQLAlchemy keeps in two places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.dialects import postgresql, sqlite

    from rolltop.core.db.address import Kind
else:  # a process needs one of them, and each takes its time
    postgresql = lazy("sqlalchemy.dialects.postgresql")
    sqlite = lazy("sqlalchemy.dialects.sqlite")


def insert(kind: Kind, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return sqlite.insert(table) if kind == "sqlite" else postgresql.insert(table)
