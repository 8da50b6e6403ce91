"""Workspaces: who shares which, and which a token is for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import Identifier, JSONText

revision = "core_0012"
down_revision = "core_0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "users", sa.Column("is_workspace", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.create_table(
        "workspace_members",
        sa.Column("workspace_id", Identifier, nullable=False),
        sa.Column("member_id", Identifier, nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "member_id", name="pk_workspace_members"),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["users.id"],
            ondelete="CASCADE",
            name="fk_workspace_members_workspace_id",
        ),
        sa.ForeignKeyConstraint(
            ["member_id"], ["users.id"], ondelete="CASCADE", name="fk_workspace_members_member_id"
        ),
    )
    op.create_index("ix_workspace_members_member_id", "workspace_members", ["member_id"])
    op.add_column("access_tokens", sa.Column("workspace_ids", JSONText))
