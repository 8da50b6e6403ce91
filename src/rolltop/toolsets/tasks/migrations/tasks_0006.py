"""Who tasks are given to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString

revision = "tasks_0006"
down_revision = "tasks_0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("assignee", CodePointString(254)))
