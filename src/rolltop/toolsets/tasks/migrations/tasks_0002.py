"""Pending tasks in the order in which next_task answers them; of the trash, the trash only.

The index of all deletion dates held every living task too, as having none: PostgreSQL, as long
as it had no statistics, looked tasks up in it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "tasks_0002"
down_revision = "tasks_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    waiting = sa.text("status = 'pending' AND deleted_at IS NULL")
    op.create_index(
        "ix_tasks_next",
        "tasks",
        [
            "user_id",
            sa.text("coalesce(priority, 5)"),
            sa.text("(due_at IS NULL)"),
            "due_at",
            "created_at",
            "id",
        ],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    op.drop_index("ix_tasks_deleted_at", "tasks")
    deleted = sa.text("deleted_at IS NOT NULL")
    op.create_index(
        "ix_tasks_deleted_at",
        "tasks",
        ["deleted_at"],
        sqlite_where=deleted,
        postgresql_where=deleted,
    )
