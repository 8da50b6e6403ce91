"""Links; PostgreSQL: their changes go into the journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime

revision = "desk_0001"
down_revision = None
branch_labels = ("desk",)
depends_on = None

_JOURNAL = (
    "CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON desk_links "
    "FOR EACH ROW EXECUTE FUNCTION journal_rows()"
)


def upgrade() -> None:
    op.create_table(
        "desk_links",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("id", Identifier, nullable=False),
        sa.Column("relation", CodePointString(16), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("source_key", CodePointString(64), nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("target_key", CodePointString(64), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "id", name="pk_desk_links"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_desk_links_user_id"
        ),
    )
    for end in ("source_key", "target_key"):
        op.create_index(f"ix_desk_links_user_id_{end}", "desk_links", ["user_id", end])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.text(_JOURNAL))
