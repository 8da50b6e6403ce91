"""A task's project, who holds its claim, and what was noted on it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import Identifier, UTCDateTime

revision = "tasks_0003"
down_revision = "tasks_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("project", sa.String(100)))
    op.add_column("tasks", sa.Column("claimed_by", sa.String(200)))
    op.create_table(
        "task_comments",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("task_id", Identifier, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("author", sa.String(200), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "task_id", "version", name="pk_task_comments"),
        sa.ForeignKeyConstraint(
            ["user_id", "task_id"],
            ["tasks.user_id", "tasks.id"],
            ondelete="CASCADE",
            name="fk_task_comments_user_id_task_id",
        ),
    )
