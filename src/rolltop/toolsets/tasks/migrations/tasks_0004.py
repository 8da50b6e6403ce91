"""PostgreSQL: changes of tasks go into the journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "tasks_0004"
down_revision = "tasks_0003"
branch_labels = None
depends_on = None

_TABLES = ("tasks", "task_tags", "task_blockers", "task_comments")


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    for table in _TABLES:
        changed = (
            f"CREATE OR REPLACE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON {table}"
        )
        op.execute(sa.text(f"{changed} FOR EACH ROW EXECUTE FUNCTION journal_rows()"))
