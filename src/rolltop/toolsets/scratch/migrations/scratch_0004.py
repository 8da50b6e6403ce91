"""Cells whose validation failed are found without looking at all others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "scratch_0004"
down_revision = "scratch_0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    condition = sa.text("substr(finding, 10, 5) = 'false'")
    op.create_index(
        "ix_scratch_cells_failed",
        "scratch_cells",
        ["user_id", "cell_id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
