"""The index of whole texts: things that are found by what all of their text says."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

from rolltop.core.db.types import Identifier

revision = "core_0003"
down_revision = "core_0002"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_FULL_TEXT = (
    "CREATE VIRTUAL TABLE search_whole_words USING fts5("
    "words, content='search_wholes', content_rowid='id', tokenize='ascii')"
)


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    _create_wholes(sa.Text() if is_sqlite else TSVECTOR())
    if is_sqlite:
        op.execute(_FULL_TEXT)
        return
    for table in ("search_wholes", "search_whole_parts"):
        # A list of what is not indexed yet would have to be read by every search.
        op.create_index(
            f"ix_{table}_words",
            table,
            ["words"],
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
        )


def _create_wholes(words: sa.types.TypeEngine[str]) -> None:
    op.create_table(
        "search_wholes",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("is_long", sa.Boolean, nullable=False),
        sa.Column("words", words, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_wholes"),
        _belonging("search_wholes", "user_id", "users"),
        sqlite_autoincrement=True,
    )
    long_only = sa.text("is_long")
    op.create_index(
        "ix_search_wholes_user_id",
        "search_wholes",
        ["user_id"],
        sqlite_where=long_only,
        postgresql_where=long_only,
    )
    op.create_table(
        "search_whole_parts",
        sa.Column("whole_id", _NUMBER, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("words", words, nullable=False),
        sa.PrimaryKeyConstraint("whole_id", "part", name="pk_search_whole_parts"),
        _belonging("search_whole_parts", "whole_id", "search_wholes"),
    )


def _belonging(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{owner}.id"], ondelete="CASCADE", name=f"fk_{table}_{column}"
    )
