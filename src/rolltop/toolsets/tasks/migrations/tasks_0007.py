"""Claimed tasks are found without looking at all that are pending."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "tasks_0007"
down_revision = "tasks_0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    condition = sa.text("status = 'pending' AND deleted_at IS NULL AND claimed_until IS NOT NULL")
    op.create_index(
        "ix_tasks_begun",
        "tasks",
        ["user_id", "claimed_until"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
