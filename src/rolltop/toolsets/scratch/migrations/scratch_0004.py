"""Any word of up to 64 characters as a language, namespaces of projects, an index of failed cells.

PostgreSQL: changes of pads go into the journal.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString

revision = "scratch_0004"
down_revision = "scratch_0001"
branch_labels = None
depends_on = None

_JOURNALED = ("namespaces", "pads", "cells", "contents", "pad_tags", "cell_tags", "schemas")


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
    failed = sa.text("substr(finding, 10, 5) = 'false'")
    op.create_index(
        "ix_scratch_cells_failed",
        "scratch_cells",
        ["user_id", "cell_id"],
        sqlite_where=failed,
        postgresql_where=failed,
    )
    if op.get_bind().dialect.name == "postgresql":
        for table in _JOURNALED:
            changed = "CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE"
            op.execute(f"{changed} ON scratch_{table} FOR EACH ROW EXECUTE FUNCTION journal_rows()")
