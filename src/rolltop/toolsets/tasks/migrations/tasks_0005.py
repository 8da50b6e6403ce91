"""What tasks are accepted by, and what proves it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import JSONText

revision = "tasks_0005"
down_revision = "tasks_0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("acceptance", JSONText))
    op.add_column("tasks", sa.Column("evidence", JSONText))
    op.add_column("tasks", sa.Column("requires_evidence", sa.Boolean))
    op.add_column("tasks", sa.Column("reopen_on_change", sa.Boolean))
    has_evidence = sa.text("evidence IS NOT NULL")
    op.create_index(
        "ix_tasks_user_id_updated_at",
        "tasks",
        ["user_id", "updated_at"],
        sqlite_where=has_evidence,
        postgresql_where=has_evidence,
    )
