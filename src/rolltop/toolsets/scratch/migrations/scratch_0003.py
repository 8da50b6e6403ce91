"""PostgreSQL: changes of pads go into the journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "scratch_0003"
down_revision = "scratch_0002"
branch_labels = None
depends_on = None

_TABLES = (
    "scratch_namespaces",
    "scratch_pads",
    "scratch_cells",
    "scratch_contents",
    "scratch_pad_tags",
    "scratch_cell_tags",
    "scratch_schemas",
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    for table in _TABLES:
        changed = (
            f"CREATE OR REPLACE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON {table}"
        )
        op.execute(sa.text(f"{changed} FOR EACH ROW EXECUTE FUNCTION journal_rows()"))
