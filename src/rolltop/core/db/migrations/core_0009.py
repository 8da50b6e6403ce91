"""Idempotency keys: what calls answered that may be sent twice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime

revision = "core_0009"
down_revision = "core_0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("tool", sa.String(100), nullable=False),
        sa.Column("key", CodePointString(64), nullable=False),
        sa.Column("arguments", CodePointString(64), nullable=False),
        sa.Column("used_at", UTCDateTime, nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "tool", "key", name="pk_idempotency_keys"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_idempotency_keys_user_id"
        ),
    )
    op.create_index("ix_idempotency_keys_used_at", "idempotency_keys", ["used_at"])
