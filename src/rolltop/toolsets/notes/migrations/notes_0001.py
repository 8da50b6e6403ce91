"""Notes, their tags, their earlier versions, and the accounts they belong to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, JSONText

revision = "notes_0001"
down_revision = None
branch_labels = ("notes",)
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_accounts()
    _create_notes()
    _create_texts()
    _create_tags()
    _create_versions()


def _create_accounts() -> None:
    op.create_table(
        "note_accounts",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("account", CodePointString(64), nullable=False),
        sa.Column("is_active", sa.Boolean, nullable=False),
        sa.Column("username", CodePointString(320)),
        sa.Column("cursor", CodePointString()),
        sa.Column("status", CodePointString(20), nullable=False),
        sa.Column("error_count", sa.Integer, nullable=False),
        sa.Column("last_sync_at", sa.Double),
        sa.Column("sync_duration_ms", sa.Double),
        sa.Column("state", JSONText, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "account", name="pk_note_accounts"),
        _reference_user("note_accounts"),
    )


def _create_notes() -> None:
    op.create_table(
        "notes",
        sa.Column("number", _NUMBER, nullable=False, autoincrement=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("account", CodePointString(64), nullable=False),
        sa.Column("id", CodePointString(256), nullable=False),
        sa.Column("trash", sa.Boolean, nullable=False),
        sa.Column("modified", sa.Double, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("local_version", sa.Integer, nullable=False),
        sa.Column("server_version", sa.Integer),
        sa.Column("sync_state", CodePointString(8), nullable=False),
        sa.Column("source", CodePointString(20), nullable=False),
        sa.Column("title", CodePointString(80), nullable=False),
        sa.Column("tags", JSONText, nullable=False),
        sa.Column("system_tags", JSONText, nullable=False),
        sa.Column("extra", JSONText, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_notes"),
        _reference_user("notes"),
        sa.CheckConstraint(
            "sync_state IN ('local', 'synced', 'pending', 'conflict')", name="ck_notes_sync_state"
        ),
        sa.CheckConstraint("local_version >= 1", name="ck_notes_local_version"),
    )
    _index("notes", "user_id", "account", "id", unique=True)
    _index("notes", "user_id", "account", "modified", "id")
    _index("notes", "user_id", "account", "trash", "modified", "id")
    _index("notes", "user_id", "account", "trash", "created", "id")
    _index("notes", "user_id", "account", "sync_state")


def _create_texts() -> None:
    op.create_table(
        "note_texts",
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("base", JSONText),
        sa.PrimaryKeyConstraint("number", name="pk_note_texts"),
        sa.ForeignKeyConstraint(
            ["number"], ["notes.number"], ondelete="CASCADE", name="fk_note_texts_number"
        ),
    )


def _create_tags() -> None:
    op.create_table(
        "note_tags",
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("tag", CodePointString(), nullable=False),
        sa.Column("user_id", Identifier, nullable=False),
        sa.PrimaryKeyConstraint("number", "tag", name="pk_note_tags"),
        sa.ForeignKeyConstraint(
            ["number"], ["notes.number"], ondelete="CASCADE", name="fk_note_tags_number"
        ),
        sqlite_with_rowid=False,
    )
    _index("note_tags", "user_id", "tag", "number")


def _create_versions() -> None:
    op.create_table(
        "note_versions",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("account", CodePointString(64), nullable=False),
        sa.Column("note_id", CodePointString(256), nullable=False),
        sa.Column("local_version", sa.Integer, nullable=False),
        sa.Column("server_version", sa.Integer),
        sa.Column("modified", sa.Double, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("trash", sa.Boolean, nullable=False),
        sa.Column("source", CodePointString(20), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("gone_at", sa.Double),
        sa.Column("tags", JSONText, nullable=False),
        sa.Column("system_tags", JSONText, nullable=False),
        sa.Column("extra", JSONText, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint(
            "user_id", "account", "note_id", "local_version", name="pk_note_versions"
        ),
        _reference_user("note_versions"),
    )
    _index("note_versions", "gone_at")


def _reference_user(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id"], ["users.id"], ondelete="CASCADE", name=f"fk_{table}_user_id"
    )


def _index(table: str, *columns: str, unique: bool = False) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns), unique=unique)
