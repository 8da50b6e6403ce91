"""The one metadata of all tables, and the tables that belong to core."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    TextClause,
    false,
)

from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime
from rolltop.core.principal import MAX_PROJECT_LENGTH

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""Every toolset declares its tables in this."""


def user_column(name: str = "user_id", **options: Any) -> Column[str]:  # noqa: ANN401  # a column's
    """Return the column of a user's id; the row goes with the user."""
    return Column(name, Identifier, ForeignKey("users.id", ondelete="CASCADE"), **options)


def partial_index(
    name: str | None, *columns: str | ColumnElement[Any] | TextClause, where: TextClause
) -> Index:
    """Return an index of the rows that meet a condition."""
    return Index(name, *columns, sqlite_where=where, postgresql_where=where)


users: Final = Table(
    "users",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("email", CodePointString(254), nullable=False, unique=True),
    Column("password_hash", String(255)),
    Column("created_at", UTCDateTime, nullable=False),
    Column("last_login_at", UTCDateTime),
    # A shared workspace owns things as a user does; its name stands where a user's address does.
    Column("is_workspace", Boolean, nullable=False, server_default=false()),
)

workspace_members: Final = Table(
    "workspace_members",
    metadata,
    user_column("workspace_id", primary_key=True),
    user_column("member_id", primary_key=True, index=True),
    Column("role", String(10), nullable=False),
)

access_tokens: Final = Table(
    "access_tokens",
    metadata,
    Column("id", Identifier, primary_key=True),
    user_column(nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("token_hash", CodePointString(64), nullable=False, unique=True),
    Column("read_only", Boolean, nullable=False),
    Column("created_at", UTCDateTime, nullable=False),
    Column("expires_at", UTCDateTime),
    Column("last_used_at", UTCDateTime),
    Column("revoked_at", UTCDateTime),
    Column("project", String(MAX_PROJECT_LENGTH)),
    # In order; None for the user's own. Of those that are gone too: a token never gets more.
    Column("workspace_ids", JSONText),
)

identities: Final = Table(
    "identities",
    metadata,
    Column("issuer", CodePointString(500), primary_key=True),
    Column("subject", CodePointString(200), primary_key=True),
    user_column(nullable=False, index=True),
)

page_sessions: Final = Table(
    "page_sessions",
    metadata,
    Column("secret_hash", CodePointString(64), primary_key=True),
    user_column(nullable=False, index=True),
    Column("token_id", Identifier, ForeignKey("access_tokens.id", ondelete="CASCADE"), index=True),
    Column("is_link", Boolean, nullable=False),  # a login that is still to be used, once
    Column("expires_at", UTCDateTime, nullable=False),
)

audit_events: Final = Table(
    "audit_events",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", UTCDateTime, nullable=False, index=True),
    Column("actor", String(300), nullable=False),
    Column("action", String(40), nullable=False),
    # Names as they were: users, tokens and workspaces that are gone stay told of.
    Column("subject", String(1000), nullable=False),
)

# Without a foreign key: jobs for all users have leases of nobody's.
job_leases: Final = Table(
    "job_leases",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("name", CodePointString(), primary_key=True),
    Column("fence", BigInteger, nullable=False),
    Column("holder", CodePointString(), nullable=False),
    Column("expires_at", Double, nullable=False),  # UNIX seconds of the database's clock
)
