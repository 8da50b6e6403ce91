"""Who runs which background job, until when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier

revision = "core_0016"
down_revision = "core_0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job_leases",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("name", CodePointString(), nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("holder", CodePointString(), nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "name", name="pk_job_leases"),
    )
