"""The tables of the index. The words live in the database's own full-text index.

A thing is an item with filters; its parts hold the text. A part's text never changes: an edited
part is a new row, so that a vector always belongs to the text it was made from.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    TableClause,
    Text,
    TypeDecorator,
    column,
    literal_column,
    table,
    text,
)
from sqlalchemy.types import TypeEngine

from rolltop.core.db import Tx
from rolltop.core.db.schema import metadata, partial_index, user_column
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.core.db.url import DatabaseKind

RowId: Final = BigInteger().with_variant(Integer, "sqlite")
"""A row's number, counted up by the database and never given twice."""

MAX_POSITIONS: Final = 255
"""Places of one word that a tsvector keeps."""
_LAST_POSITION: Final = 16383


class SplitWords(TypeDecorator[str]):
    """Words with a space between two; PostgreSQL keeps them as a tsvector, which is not read."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return text on SQLite, `tsvector` on PostgreSQL."""
        if dialect.name != "postgresql":
            return dialect.type_descriptor(Text())
        from sqlalchemy.dialects.postgresql import TSVECTOR  # noqa: PLC0415  # only PostgreSQL's

        return dialect.type_descriptor(TSVECTOR())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the words as the database takes them."""
        if value is None or dialect.name != "postgresql":
            return value
        places: dict[str, list[int]] = {}
        for place, word in enumerate(value.split(), start=1):
            kept = places.setdefault(word, [])
            if len(kept) < MAX_POSITIONS:
                kept.append(min(place, _LAST_POSITION))
        return " ".join(f"'{word}':{','.join(map(str, at))}" for word, at in places.items())


search_items: Final = Table(
    "search_items",
    metadata,
    Column("id", RowId, primary_key=True),
    user_column(nullable=False),
    Column("kind", CodePointString(40), nullable=False),
    Column("ref", CodePointString(400), nullable=False),
    Index(None, "user_id", "kind", "ref", unique=True),
    sqlite_autoincrement=True,
)

search_filters: Final = Table(
    "search_filters",
    metadata,
    Column("item_id", RowId, ForeignKey("search_items.id", ondelete="CASCADE"), primary_key=True),
    Column("name", CodePointString(40), primary_key=True),
    Column("value", CodePointString(), primary_key=True),
    Column("user_id", Identifier, nullable=False),
    Index(None, "user_id", "name", "value", "item_id"),
    sqlite_with_rowid=False,
)

search_parts: Final = Table(
    "search_parts",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("user_id", Identifier, nullable=False),
    Column("item_id", RowId, ForeignKey("search_items.id", ondelete="CASCADE"), nullable=False),
    Column("kind", CodePointString(40), nullable=False),
    Column("part", Integer, nullable=False),
    Column("digest", CodePointString(32), nullable=False),
    Column("length", Integer, nullable=False),
    Column("embedding", CodePointString(100)),
    Index(None, "item_id"),
    Index(None, "user_id", "id", "length"),
    Index(None, "embedding", "id"),
    sqlite_autoincrement=True,
)

search_texts: Final = Table(
    "search_texts",
    metadata,
    Column("id", RowId, ForeignKey("search_parts.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", Identifier, nullable=False),
    Column("text", Text, nullable=False),
    Column("words", SplitWords, nullable=False),
)
"""The text of each part, apart from what is looked at for every row that is proposed."""

search_vectors: Final = Table(
    "search_vectors",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("part_id", RowId, ForeignKey("search_parts.id", ondelete="CASCADE"), nullable=False),
    Column("user_id", Identifier, nullable=False),
    Column("embedding", CodePointString(100), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Index(None, "part_id"),
    Index(None, "user_id", "embedding", "id"),
    sqlite_autoincrement=True,
)

search_wholes: Final = Table(
    "search_wholes",
    metadata,
    Column("id", RowId, primary_key=True),
    user_column(nullable=False),
    Column("is_long", Boolean, nullable=False),
    Column("words", SplitWords, nullable=False),
    partial_index(None, "user_id", where=text("is_long")),
    sqlite_autoincrement=True,
)
"""Texts that are found by what all of them says; its numbers are those of the things."""

search_whole_parts: Final = Table(
    "search_whole_parts",
    metadata,
    Column("whole_id", RowId, ForeignKey("search_wholes.id", ondelete="CASCADE")),
    Column("part", Integer),
    Column("user_id", Identifier, nullable=False),
    Column("words", SplitWords, nullable=False),
    PrimaryKeyConstraint("whole_id", "part"),
)
"""PostgreSQL only: the words of long texts, of which one tsvector would lose some."""


def _words_of(rows: Table, *names: str) -> TableClause:
    return table(f"words_of_{rows.name}", *(column(name, rows.c[name].type) for name in names))


# PostgreSQL only. A policy keeps `@@` from using an index, since that is not leakproof, and holds
# for the name that a statement says: by these names, parents of the tables, words are matched.
words_of_texts: Final = _words_of(search_texts, "id", "user_id", "words")
words_of_wholes: Final = _words_of(search_wholes, "id", "user_id", "is_long", "words")
words_of_whole_parts: Final = _words_of(search_whole_parts, "whole_id", "part", "user_id", "words")
WORD_TABLES: Final = (words_of_texts, words_of_wholes, words_of_whole_parts)
"""What they find are numbers: their things are read by names that policies hold for."""

WORDS_TABLE: Final = "search_words"
WHOLE_WORDS_TABLE: Final = "search_whole_words"
TERMS_TABLE: Final = "search_terms"

search_words: Final = table(
    WORDS_TABLE, column("rowid", Integer), column("words", Text), column(WORDS_TABLE, Text)
)
"""SQLite's full-text index over `search_texts.words`; `writing` keeps it."""

search_whole_words: Final = table(
    WHOLE_WORDS_TABLE,
    column("rowid", Integer),
    column("words", Text),
    column(WHOLE_WORDS_TABLE, Text),
)
"""SQLite's full-text index over `search_wholes.words`; `wholes` keeps it."""

search_terms: Final = table(TERMS_TABLE, column("term", Text), column("doc", Integer))
"""In how many rows of `search_words` each word occurs."""


def tenant_lexeme(owner: str) -> str:
    """Return the word that every text of a tenant has on PostgreSQL: no text has it by itself."""
    return f"@{owner.replace('-', '')}"


def with_tenant_lexeme(tx: Tx, words: str) -> str:
    """Return the words to keep: on PostgreSQL with the one that says whose they are."""
    return words if tx.kind == "sqlite" else f"{words} {tenant_lexeme(tx.scope.tenant_id)}"


def owner_of(kind: DatabaseKind, rows: Table) -> ColumnElement[str]:
    """Return the column of the tenant, in a form that keeps SQLite from finding rows by it.

    Without statistics SQLite takes a tenant for a few rows and prefers that index to the rows'
    own numbers, which is a look at everything the tenant has.
    """
    if kind != "sqlite":
        return rows.c.user_id
    return literal_column(f"+{rows.name}.user_id", Identifier)
