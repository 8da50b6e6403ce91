"""What was done to users, tokens and workspaces, and who logged in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import UTCDateTime

revision = "core_0015"
down_revision = "core_0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("actor", sa.String(300), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(1000), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit_events"),
    )
    op.create_index("ix_audit_events_at", "audit_events", ["at"])
