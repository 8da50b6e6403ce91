"""The journal, workspaces, idempotency keys, the page's logins, issuers, audit and job leases.

All that 0.1.0's stores lack. On PostgreSQL also the function that notes a row's change in the
journal, and names without a policy, by which the words of the full-text indexes are matched: every
other table of tenants' rows gets its policy after all revisions (`row_security`).
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime

revision = "core_0016"
down_revision = "core_0006"
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
_WORDS = {
    "search_texts": "id BIGINT NOT NULL, user_id UUID NOT NULL, words TSVECTOR NOT NULL",
    "search_wholes": "id BIGINT NOT NULL, user_id UUID NOT NULL, is_long BOOLEAN NOT NULL, "
    "words TSVECTOR NOT NULL",
    "search_whole_parts": "whole_id BIGINT NOT NULL, part INTEGER NOT NULL, user_id UUID NOT NULL, "
    "words TSVECTOR NOT NULL",
}


def upgrade() -> None:
    _create_journal()
    _create_accounts()
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("tool", sa.String(100), nullable=False),
        sa.Column("key", CodePointString(64), nullable=False),
        sa.Column("arguments", CodePointString(64), nullable=False),
        sa.Column("used_at", UTCDateTime, nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "tool", "key", name="pk_idempotency_keys"),
        _of_user("idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_used_at", "idempotency_keys", ["used_at"])
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
    op.create_table(
        "job_leases",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("name", CodePointString(), nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("holder", CodePointString(), nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "name", name="pk_job_leases"),
    )
    if op.get_bind().dialect.name == "postgresql":
        _create_for_postgresql()


def _create_journal() -> None:
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
        sa.Column("texts_since", UTCDateTime),
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


def _create_accounts() -> None:
    op.add_column("access_tokens", sa.Column("project", sa.String(100)))
    op.add_column("access_tokens", sa.Column("workspace_ids", JSONText))
    op.add_column(
        "users", sa.Column("is_workspace", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.create_table(
        "workspace_members",
        sa.Column("workspace_id", Identifier, nullable=False),
        sa.Column("member_id", Identifier, nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "member_id", name="pk_workspace_members"),
        _of_user("workspace_members", "workspace_id"),
        _of_user("workspace_members", "member_id"),
    )
    op.create_index("ix_workspace_members_member_id", "workspace_members", ["member_id"])
    op.create_table(
        "identities",
        sa.Column("issuer", CodePointString(500), nullable=False),
        sa.Column("subject", CodePointString(200), nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject", name="pk_identities"),
        _of_user("identities"),
    )
    op.create_index("ix_identities_user_id", "identities", ["user_id"])
    op.create_table(
        "page_sessions",
        sa.Column("secret_hash", CodePointString(64), nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("token_id", Identifier),
        sa.Column("is_link", sa.Boolean, nullable=False),
        sa.Column("expires_at", UTCDateTime, nullable=False),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_page_sessions"),
        _of_user("page_sessions"),
        _of_user("page_sessions", "token_id", "access_tokens"),
    )
    op.create_index("ix_page_sessions_user_id", "page_sessions", ["user_id"])
    op.create_index("ix_page_sessions_token_id", "page_sessions", ["token_id"])


def _create_for_postgresql() -> None:
    op.execute(sa.text(_CREATE_PENDING))
    op.create_index("ix_journal_pending_xid", "journal_pending", ["xid"])
    op.execute(sa.text(_CREATE_FUNCTION.replace(":", "\\:")))
    for table, columns in _WORDS.items():
        parent = f"words_of_{table}"
        op.execute(f"CREATE TABLE {parent} ({columns})")
        op.execute(f"ALTER TABLE {table} INHERIT {parent}")
        # Of other statements than SELECT nothing passes.
        op.execute(f"CREATE POLICY words ON {parent} FOR SELECT USING (true)")
        op.execute(f"ALTER TABLE {parent} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {parent} FORCE ROW LEVEL SECURITY")


def _of_user(table: str, column: str = "user_id", other: str = "users") -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}"
    return sa.ForeignKeyConstraint([column], [f"{other}.id"], ondelete="CASCADE", name=name)
