"""Tasks, their tags and what they wait for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime

revision = "tasks_0001"
down_revision = None
branch_labels = ("tasks",)
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", Identifier, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("description", sa.String(2000)),
        sa.Column("status", CodePointString(9), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("priority", sa.Integer),
        sa.Column("due_at", UTCDateTime),
        sa.Column("parent_id", Identifier),
        sa.Column("links", JSONText),
        sa.Column("claim_hash", CodePointString(64)),
        sa.Column("claimed_until", UTCDateTime),
        sa.Column("deleted_at", UTCDateTime),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
        sa.UniqueConstraint("user_id", "id", name="uq_tasks_user_id_id"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_tasks_user_id"
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["tasks.id"], ondelete="SET NULL", name="fk_tasks_parent_id"
        ),
        sa.CheckConstraint("status IN ('pending', 'completed')", name="ck_tasks_status"),
        sa.CheckConstraint("length(title) >= 1", name="ck_tasks_title"),
        sa.CheckConstraint("priority BETWEEN 0 AND 4", name="ck_tasks_priority"),
    )
    for columns in (
        ["user_id", "created_at", "id"],
        ["user_id", "status", "created_at", "id"],
        ["parent_id", "user_id", "created_at", "id"],
        ["deleted_at"],
    ):
        op.create_index(f"ix_tasks_{'_'.join(columns)}", "tasks", columns)
    _create_sides()


def _create_sides() -> None:
    op.create_table(
        "task_tags",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("task_id", Identifier, nullable=False),
        sa.Column("tag", CodePointString(50), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "task_id", "tag", name="pk_task_tags"),
        sa.ForeignKeyConstraint(
            ["user_id", "task_id"],
            ["tasks.user_id", "tasks.id"],
            ondelete="CASCADE",
            name="fk_task_tags_user_id_task_id",
        ),
    )
    op.create_index("ix_task_tags_user_id_tag_task_id", "task_tags", ["user_id", "tag", "task_id"])
    op.create_table(
        "task_blockers",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("task_id", Identifier, nullable=False),
        sa.Column("blocker_id", Identifier, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "task_id", "blocker_id", name="pk_task_blockers"),
        *(
            sa.ForeignKeyConstraint(
                ["user_id", column],
                ["tasks.user_id", "tasks.id"],
                ondelete="CASCADE",
                name=f"fk_task_blockers_user_id_{column}",
            )
            for column in ("task_id", "blocker_id")
        ),
    )
    op.create_index(
        "ix_task_blockers_user_id_blocker_id", "task_blockers", ["user_id", "blocker_id"]
    )
