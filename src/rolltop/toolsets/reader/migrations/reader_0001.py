"""Outlines and counts of files, kept over restarts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, UTCDateTime

revision = "reader_0001"
down_revision = None
branch_labels = ("reader",)
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reader_outlines",
        sa.Column("content", CodePointString(64), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("outline", sa.Text, nullable=False),
        sa.Column("kept_at", UTCDateTime, nullable=False),
        sa.PrimaryKeyConstraint("content", name="pk_reader_outlines"),
    )
    op.create_index("ix_reader_outlines_kept_at", "reader_outlines", ["kept_at"])
