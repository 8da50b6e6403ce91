"""Which users the subjects of an issuer of tokens are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier

revision = "core_0013"
down_revision = "core_0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("issuer", CodePointString(500), nullable=False),
        sa.Column("subject", CodePointString(200), nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject", name="pk_identities"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_identities_user_id"
        ),
    )
    op.create_index("ix_identities_user_id", "identities", ["user_id"])
