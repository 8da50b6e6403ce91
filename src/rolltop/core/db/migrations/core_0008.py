"""The journal; PostgreSQL: the function that notes a row's change in it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime

revision = "core_0008"
down_revision = "core_0007"
branch_labels = None
depends_on = None

_CREATE_PENDING = """CREATE UNLOGGED TABLE journal_pending (
	number BIGSERIAL PRIMARY KEY,
	xid BIGINT NOT NULL,
	table_name TEXT NOT NULL,
	before TEXT,
	after TEXT
)"""
_CREATE_FUNCTION = """CREATE FUNCTION journal_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO journal_pending (xid, table_name, before, after) VALUES (
		pg_current_xact_id()::text::bigint,
		TG_TABLE_NAME,
		CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD)::text END,
		CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW)::text END
	);
	RETURN NULL;
END
$$"""


def upgrade() -> None:
    op.create_table(
        "journal",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("sequence", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("operation", Identifier, nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("actor_id", Identifier, nullable=False),
        sa.Column("client", sa.String(200), nullable=False),
        sa.Column("project", sa.String(100), nullable=False),
        sa.Column("tool", sa.String(100), nullable=False),
        sa.Column("kind", CodePointString(16), nullable=False),
        sa.Column("ref", CodePointString(400), nullable=False),
        sa.Column("version_before", sa.Integer),
        sa.Column("version_after", sa.Integer),
        sa.Column("changes", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "sequence", name="pk_journal"),
        _of_user("journal"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_journal_user_id_operation", "journal", ["user_id", "operation"])
    op.create_index(
        "ix_journal_user_id_kind_ref_sequence", "journal", ["user_id", "kind", "ref", "sequence"]
    )
    op.create_table(
        "journal_contents",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("sha256", CodePointString(64), nullable=False),
        sa.Column("used_at", UTCDateTime, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "sha256", name="pk_journal_contents"),
        _of_user("journal_contents"),
    )
    op.create_table(
        "journal_counters",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_journal_counters"),
        _of_user("journal_counters"),
    )
    op.create_table(
        "journal_undone",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("operation", Identifier, nullable=False),
        sa.Column("undone_by", Identifier, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "operation", "undone_by", name="pk_journal_undone"),
        _of_user("journal_undone"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.text(_CREATE_PENDING))
        op.create_index("ix_journal_pending_xid", "journal_pending", ["xid"])
        op.execute(sa.text(_CREATE_FUNCTION.replace(":", "\\:")))


def _of_user(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id"], ["users.id"], ondelete="CASCADE", name=f"fk_{table}_user_id"
    )
