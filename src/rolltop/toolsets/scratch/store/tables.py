"""The tables of scratch. Every row names its owner, and every key begins with it."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from rolltop.core.db.schema import metadata, partial_index, user_column
from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime
from rolltop.core.journal.tables import Journaled, keep_journal
from rolltop.toolsets.scratch.models import (
    MAX_FIRST_LINE_LENGTH,
    MAX_LANGUAGE_LENGTH,
    MAX_NAME_LENGTH,
)


def _of_pad() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["user_id", "scratch_id"],
        ["scratch_pads.user_id", "scratch_pads.scratch_id"],
        ondelete="CASCADE",
    )


def _of_cell() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["user_id", "cell_id"],
        ["scratch_cells.user_id", "scratch_cells.cell_id"],
        ondelete="CASCADE",
    )


namespaces: Final = Table(
    "scratch_namespaces",
    metadata,
    user_column(primary_key=True),
    Column("namespace", CodePointString(MAX_NAME_LENGTH), primary_key=True),
    Column("created_at", UTCDateTime, nullable=False),
    Column("is_project", Boolean, nullable=False, server_default=false()),
)

pads: Final = Table(
    "scratch_pads",
    metadata,
    user_column(primary_key=True),
    Column("scratch_id", Identifier, primary_key=True),
    Column("namespace", CodePointString(MAX_NAME_LENGTH), nullable=False),
    Column("tags", JSONText, nullable=False),
    Column("metadata", JSONText, nullable=False),  # without schemas
    Column("title_key", CodePointString(MAX_NAME_LENGTH), nullable=False),  # folded, for its order
    Column("cell_count", Integer, nullable=False),
    Column("created_at", UTCDateTime, nullable=False),
    Column("updated_at", UTCDateTime, nullable=False),
    Column("version", Integer, nullable=False),
    Column("deleted_at", UTCDateTime),
    Index(None, "user_id", "updated_at", "scratch_id"),
    Index(None, "user_id", "created_at", "scratch_id"),
    Index(None, "user_id", "title_key", "scratch_id"),
    Index(None, "user_id", "namespace", "updated_at", "scratch_id"),
    Index(None, "deleted_at"),
)

failed_index_condition: Final = text("substr(finding, 10, 5) = 'false'")
"""Of a cell whose last validation found errors: its finding begins with `{"valid":false`."""

cells: Final = Table(
    "scratch_cells",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("cell_id", Identifier, primary_key=True),
    Column("scratch_id", Identifier, nullable=False),
    Column("position", Integer, nullable=False),
    Column("language", CodePointString(MAX_LANGUAGE_LENGTH), nullable=False),
    Column("validate", Boolean, nullable=False),
    Column("json_schema", JSONText),
    Column("metadata", JSONText),
    Column("tags", JSONText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("sha256", CodePointString(64), nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("characters", Integer, nullable=False),
    Column("lines", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("first_line", CodePointString(MAX_FIRST_LINE_LENGTH), nullable=False),
    Column("finding", JSONText),
    _of_pad(),
    Index(None, "user_id", "scratch_id", "position"),
    partial_index("ix_scratch_cells_failed", "user_id", "cell_id", where=failed_index_condition),
)

contents: Final = Table(
    "scratch_contents",  # apart from the cells, so that moving a cell does not write its text
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("cell_id", Identifier, primary_key=True),
    Column("content", Text, nullable=False),
    _of_cell(),
)

pad_tags: Final = Table(
    "scratch_pad_tags",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("scratch_id", Identifier, primary_key=True),
    Column("tag", CodePointString(MAX_NAME_LENGTH), primary_key=True),
    _of_pad(),
    Index(None, "user_id", "tag"),
)

cell_tags: Final = Table(
    "scratch_cell_tags",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("cell_id", Identifier, primary_key=True),
    Column("tag", CodePointString(MAX_NAME_LENGTH), primary_key=True),
    Column("scratch_id", Identifier, nullable=False),
    _of_cell(),
    Index(None, "user_id", "tag"),
    Index(None, "user_id", "scratch_id"),
)

schemas: Final = Table(
    "scratch_schemas",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("scratch_id", Identifier, primary_key=True),
    Column("id", Identifier, primary_key=True),
    Column("name", CodePointString(MAX_NAME_LENGTH), nullable=False),
    Column("description", Text, nullable=False),
    Column("schema", JSONText, nullable=False),
    UniqueConstraint("user_id", "scratch_id", "name"),
    _of_pad(),
)

accesses: Final = Table(
    "scratch_accesses",  # apart from the pads: reads are noted without touching a pad's row
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("scratch_id", Identifier, primary_key=True),
    Column("accessed_at", UTCDateTime, nullable=False),
    _of_pad(),
)

keep_journal(namespaces, Journaled("namespace", "namespace", joins="pad"))
keep_journal(
    pads,
    Journaled(
        "pad",
        "scratch_id",
        derived=frozenset({"cell_count"}),
        moving=frozenset({"version", "updated_at"}),
        computed=frozenset({"title_key"}),
        version="version",
    ),
)
keep_journal(
    cells,
    Journaled(
        "cell",
        "cell_id",
        moving=frozenset({"version"}),
        computed=frozenset(
            {"sha256", "bytes", "characters", "lines", "tokens", "first_line", "finding"}
        ),
        order=frozenset({"position"}),
        owner=("pad", "scratch_id"),
        version="version",
    ),
)
for _table in (contents, cell_tags):
    keep_journal(_table, Journaled("cell", "cell_id"))
keep_journal(pad_tags, Journaled("pad", "scratch_id"))
keep_journal(schemas, Journaled("pad", "scratch_id", member=("schemas", "name")))
