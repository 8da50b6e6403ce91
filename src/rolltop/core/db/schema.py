"""The one metadata of all tables, and the tables that belong to core."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Boolean, Column, ForeignKey, MetaData, String, Table

from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime
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

users: Final = Table(
    "users",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("email", CodePointString(254), nullable=False, unique=True),
    Column("password_hash", String(255)),
    Column("created_at", UTCDateTime, nullable=False),
    Column("last_login_at", UTCDateTime),
)

access_tokens: Final = Table(
    "access_tokens",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column(
        "user_id",
        Identifier,
        ForeignKey("users.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("name", String(200), nullable=False),
    Column("token_hash", CodePointString(64), nullable=False, unique=True),
    Column("read_only", Boolean, nullable=False),
    Column("created_at", UTCDateTime, nullable=False),
    Column("expires_at", UTCDateTime),
    Column("last_used_at", UTCDateTime),
    Column("revoked_at", UTCDateTime),
    Column("project", String(MAX_PROJECT_LENGTH)),
)

page_sessions: Final = Table(
    "page_sessions",
    metadata,
    Column("secret_hash", CodePointString(64), primary_key=True),
    Column(
        "user_id",
        Identifier,
        ForeignKey("users.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("token_id", Identifier, ForeignKey("access_tokens.id", ondelete="CASCADE"), index=True),
    Column("is_link", Boolean, nullable=False),  # a login that is still to be used, once
    Column("expires_at", UTCDateTime, nullable=False),
)
