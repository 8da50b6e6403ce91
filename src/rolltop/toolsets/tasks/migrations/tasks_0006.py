"""A task's project, who holds its claim, its notes, what it is accepted by, and who it is given to.

PostgreSQL: changes of tasks go into the journal.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime

revision = "tasks_0006"
down_revision = "tasks_0002"
branch_labels = None
depends_on = None

_JOURNALED = ("tasks", "task_tags", "task_blockers", "task_comments")


def upgrade() -> None:
    for column in (
        sa.Column("project", sa.String(100)),
        sa.Column("claimed_by", sa.String(200)),
        sa.Column("acceptance", JSONText),
        sa.Column("evidence", JSONText),
        sa.Column("requires_evidence", sa.Boolean),
        sa.Column("reopen_on_change", sa.Boolean),
        sa.Column("assignee", CodePointString(254)),
    ):
        op.add_column("tasks", column)
    has_evidence = sa.text("evidence IS NOT NULL")
    op.create_index(
        "ix_tasks_user_id_updated_at",
        "tasks",
        ["user_id", "updated_at"],
        sqlite_where=has_evidence,
        postgresql_where=has_evidence,
    )
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
    if op.get_bind().dialect.name == "postgresql":
        for table in _JOURNALED:
            op.execute(
                "CREATE OR REPLACE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE"
                f" ON {table} FOR EACH ROW EXECUTE FUNCTION journal_rows()"
            )
