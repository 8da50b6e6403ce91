"""Users and their access tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime

revision = "core_0001"
down_revision = None
branch_labels = ("core",)
depends_on = None


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", Identifier, nullable=False),
        sa.Column("email", CodePointString(254), nullable=False),
        sa.Column("password_hash", sa.String(255)),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("last_login_at", UTCDateTime),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("email", name="uq_users_email"),
    )
    op.create_table(
        "access_tokens",
        sa.Column("id", Identifier, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("token_hash", CodePointString(64), nullable=False),
        sa.Column("read_only", sa.Boolean, nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("expires_at", UTCDateTime),
        sa.Column("last_used_at", UTCDateTime),
        sa.Column("revoked_at", UTCDateTime),
        sa.PrimaryKeyConstraint("id", name="pk_access_tokens"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_access_tokens_user_id"
        ),
        sa.UniqueConstraint("token_hash", name="uq_access_tokens_token_hash"),
    )
    op.create_index("ix_access_tokens_user_id", "access_tokens", ["user_id"])
