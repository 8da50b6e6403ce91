"""The language of a cell may be any word of up to 64 characters; some namespaces are projects.

PostgreSQL: changes of pads go into the journal.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString

revision = "scratch_0003"
down_revision = "scratch_0001"
branch_labels = None
depends_on = None

_JOURNALED = (
    "scratch_namespaces",
    "scratch_pads",
    "scratch_cells",
    "scratch_contents",
    "scratch_pad_tags",
    "scratch_cell_tags",
    "scratch_schemas",
)


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
    if op.get_bind().dialect.name == "postgresql":
        for table in _JOURNALED:
            op.execute(
                "CREATE OR REPLACE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE"
                f" ON {table} FOR EACH ROW EXECUTE FUNCTION journal_rows()"
            )
