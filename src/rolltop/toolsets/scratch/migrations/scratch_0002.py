"""The language of a cell may be any word of up to 64 characters; some namespaces are projects."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString

revision = "scratch_0002"
down_revision = "scratch_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_project = sa.Column("is_project", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("scratch_namespaces", is_project)
    # SQLite has no way to alter a column: there the table is made anew, without the contents,
    # which lie in a table of their own.
    with op.batch_alter_table("scratch_cells") as cells:
        cells.alter_column(
            "language",
            existing_type=CodePointString(8),
            existing_nullable=False,
            type_=CodePointString(64),
        )
