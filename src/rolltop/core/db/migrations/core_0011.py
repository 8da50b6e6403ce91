"""Who is logged in at the page for people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime

revision = "core_0011"
down_revision = "core_0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "page_sessions",
        sa.Column("secret_hash", CodePointString(64), nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("token_id", Identifier),
        sa.Column("is_link", sa.Boolean, nullable=False),
        sa.Column("expires_at", UTCDateTime, nullable=False),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_page_sessions"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_page_sessions_user_id"
        ),
        sa.ForeignKeyConstraint(
            ["token_id"],
            ["access_tokens.id"],
            ondelete="CASCADE",
            name="fk_page_sessions_token_id",
        ),
    )
    op.create_index("ix_page_sessions_user_id", "page_sessions", ["user_id"])
    op.create_index("ix_page_sessions_token_id", "page_sessions", ["token_id"])
