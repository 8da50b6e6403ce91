"""The index that toolsets share: things, their filters, their parts with words, vectors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

from rolltop.core.db.types import CodePointString, Identifier

revision = "core_0002"
down_revision = "core_0001"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
# On SQLite the parts' words are indexed by FTS5, which reads them from the table itself. Not by
# triggers: with trusted_schema off, some versions let none touch a virtual table.
_FULL_TEXT = (
    (
        "CREATE VIRTUAL TABLE search_words USING fts5("
        "words, content='search_texts', content_rowid='id', tokenize='ascii')"
    ),
    "CREATE VIRTUAL TABLE search_terms USING fts5vocab('search_words', 'row')",
)


def upgrade() -> None:
    _create_items()
    _create_parts()
    _create_vectors()
    if op.get_bind().dialect.name == "sqlite":
        for statement in _FULL_TEXT:
            op.execute(statement)
    else:
        op.create_index("ix_search_texts_words", "search_texts", ["words"], postgresql_using="gin")


def _create_items() -> None:
    op.create_table(
        "search_items",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("kind", CodePointString(40), nullable=False),
        sa.Column("ref", CodePointString(400), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_items"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_search_items_user_id"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_search_items_user_id_kind_ref", "search_items", ["user_id", "kind", "ref"], unique=True
    )
    op.create_table(
        "search_filters",
        sa.Column("item_id", _NUMBER, nullable=False),
        sa.Column("name", CodePointString(40), nullable=False),
        sa.Column("value", CodePointString(), nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.PrimaryKeyConstraint("item_id", "name", "value", name="pk_search_filters"),
        _belonging("search_filters", "item_id", "search_items"),
        sqlite_with_rowid=False,
    )
    _index("search_filters", "user_id", "name", "value", "item_id")


def _create_parts() -> None:
    op.create_table(
        "search_parts",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("item_id", _NUMBER, nullable=False),
        sa.Column("kind", CodePointString(40), nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("digest", CodePointString(32), nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("embedding", CodePointString(100)),
        sa.PrimaryKeyConstraint("id", name="pk_search_parts"),
        _belonging("search_parts", "item_id", "search_items"),
        sqlite_autoincrement=True,
    )
    _index("search_parts", "item_id")
    _index("search_parts", "user_id", "id", "length")
    _index("search_parts", "embedding", "id")
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    op.create_table(
        "search_texts",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("words", sa.Text() if is_sqlite else TSVECTOR(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_texts"),
        _belonging("search_texts", "id", "search_parts"),
    )


def _create_vectors() -> None:
    op.create_table(
        "search_vectors",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("part_id", _NUMBER, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("embedding", CodePointString(100), nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_vectors"),
        _belonging("search_vectors", "part_id", "search_parts"),
        sqlite_autoincrement=True,
    )
    _index("search_vectors", "part_id")
    _index("search_vectors", "user_id", "embedding", "id")


def _belonging(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{owner}.id"], ondelete="CASCADE", name=f"fk_{table}_{column}"
    )


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
