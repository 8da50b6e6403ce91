"""The tables of notes.

A note's row is its present version; every earlier one is a row of `note_versions`, which outlives
the note. `number` is the note's number in the search index. Times are UNIX seconds with fractions,
as the backend has them.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from rolltop.core.db.schema import metadata, user_column
from rolltop.core.db.types import CodePointString, Identifier, JSONText
from rolltop.core.fulltext.tables import RowId
from rolltop.core.journal.tables import Journaled, keep_journal
from rolltop.toolsets.notes.models import MAX_ACCOUNT_LENGTH, MAX_ID_LENGTH

_STATES: Final = "sync_state IN ('local', 'synced', 'pending', 'conflict')"

note_accounts: Final = Table(
    "note_accounts",
    metadata,
    user_column(),
    Column("account", CodePointString(MAX_ACCOUNT_LENGTH)),
    Column("is_active", Boolean, nullable=False),
    Column("username", CodePointString(320)),
    Column("cursor", CodePointString()),
    Column("status", CodePointString(20), nullable=False),
    Column("error_count", Integer, nullable=False),
    Column("last_sync_at", Double),
    Column("sync_duration_ms", Double),
    Column("state", JSONText, nullable=False),
    PrimaryKeyConstraint("user_id", "account"),
)
"""Accounts that were connected; the local notes need no row."""

notes: Final = Table(
    "notes",
    metadata,
    Column("number", RowId, primary_key=True, autoincrement=False),
    user_column(nullable=False),
    Column("account", CodePointString(MAX_ACCOUNT_LENGTH), nullable=False),
    Column("id", CodePointString(MAX_ID_LENGTH), nullable=False),
    Column("trash", Boolean, nullable=False),
    Column("modified", Double, nullable=False),
    Column("created", Double, nullable=False),
    Column("local_version", Integer, nullable=False),
    Column("server_version", Integer),
    Column("sync_state", CodePointString(8), nullable=False),
    Column("source", CodePointString(20), nullable=False),
    Column("title", CodePointString(80), nullable=False),
    Column("tags", JSONText, nullable=False),
    Column("system_tags", JSONText, nullable=False),
    Column("extra", JSONText, nullable=False),
    CheckConstraint(_STATES, name="sync_state"),
    CheckConstraint("local_version >= 1", name="local_version"),
    Index(None, "user_id", "account", "id", unique=True),
    Index(None, "user_id", "account", "modified", "id"),
    Index(None, "user_id", "account", "trash", "modified", "id"),
    Index(None, "user_id", "account", "trash", "created", "id"),
    Index(None, "user_id", "account", "sync_state"),
)
"""The listed fields of notes: short rows, so that filters read little."""

note_texts: Final = Table(
    "note_texts",
    metadata,
    Column("number", RowId, ForeignKey("notes.number", ondelete="CASCADE"), primary_key=True),
    Column("user_id", Identifier, nullable=False),
    Column("content", Text, nullable=False),
    Column("base", JSONText),
)
"""The text of each note, and the backend's object as last seen if it differs."""

note_tags: Final = Table(
    "note_tags",
    metadata,
    Column("number", RowId, ForeignKey("notes.number", ondelete="CASCADE")),
    Column("tag", CodePointString()),
    Column("user_id", Identifier, nullable=False),
    PrimaryKeyConstraint("number", "tag"),
    Index(None, "user_id", "tag", "number"),
    sqlite_with_rowid=False,
)
"""Tags folded for comparison: case does not count."""

note_versions: Final = Table(
    "note_versions",
    metadata,
    user_column(),
    Column("account", CodePointString(MAX_ACCOUNT_LENGTH)),
    Column("note_id", CodePointString(MAX_ID_LENGTH)),
    Column("local_version", Integer),
    Column("server_version", Integer),
    Column("modified", Double, nullable=False),
    Column("created", Double, nullable=False),
    Column("trash", Boolean, nullable=False),
    Column("source", CodePointString(20), nullable=False),
    Column("size", Integer, nullable=False),
    Column("gone_at", Double),
    Column("tags", JSONText, nullable=False),
    Column("system_tags", JSONText, nullable=False),
    Column("extra", JSONText, nullable=False),
    Column("content", Text, nullable=False),
    PrimaryKeyConstraint("user_id", "account", "note_id", "local_version"),
    Index(None, "gone_at"),
)
"""Earlier versions; `gone_at` is set once the note was deleted for good."""

keep_journal(
    notes,
    Journaled(
        "note",
        "id",
        derived=frozenset({"title", "server_version", "sync_state", "source"}),
        moving=frozenset({"local_version", "modified"}),
        version="local_version",
        restore="note_manage",
    ),
)
keep_journal(note_texts, Journaled("note", "number", through=notes, derived=frozenset({"base"})))
