"""Projects, assignees, comments, evidence and who holds a claim; PostgreSQL: the journal.

All that 0.1.0's stores lack, and indexes of what is looked up by it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime

revision = "tasks_0007"
down_revision = "tasks_0002"
branch_labels = None
depends_on = None

_COLUMNS = {
    "project": sa.String(100),
    "claimed_by": sa.String(200),
    "acceptance": JSONText,
    "evidence": JSONText,
    "requires_evidence": sa.Boolean,
    "reopen_on_change": sa.Boolean,
    "assignee": CodePointString(254),
}
_INDEXES = {
    "ix_tasks_user_id_updated_at": ("updated_at", "evidence IS NOT NULL"),
    "ix_tasks_begun": (
        "claimed_until",
        "status = 'pending' AND deleted_at IS NULL AND claimed_until IS NOT NULL",
    ),
}
_JOURNALED = ("tasks", "task_tags", "task_blockers", "task_comments")


def upgrade() -> None:
    for name, kind in _COLUMNS.items():
        op.add_column("tasks", sa.Column(name, kind))
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
    for name, (column, condition) in _INDEXES.items():
        where = sa.text(condition)
        op.create_index(
            name, "tasks", ["user_id", column], sqlite_where=where, postgresql_where=where
        )
    if op.get_bind().dialect.name == "postgresql":
        for table in _JOURNALED:
            changed = f"CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON {table}"
            op.execute(f"{changed} FOR EACH ROW EXECUTE FUNCTION journal_rows()")
