"""Scratchpads, their cells, tags and schemas, namespaces, and when pads were read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime

revision = "scratch_0001"
down_revision = None
branch_labels = ("scratch",)
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scratch_namespaces",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("namespace", CodePointString(200), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "namespace", name="pk_scratch_namespaces"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_scratch_namespaces_user_id"
        ),
    )
    _create_pads()
    _create_cells()
    _create_contents()
    _create_tags()
    _create_schemas_and_accesses()


def _create_pads() -> None:
    op.create_table(
        "scratch_pads",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("scratch_id", Identifier, nullable=False),
        sa.Column("namespace", CodePointString(200), nullable=False),
        sa.Column("tags", JSONText, nullable=False),
        sa.Column("metadata", JSONText, nullable=False),
        sa.Column("title_key", CodePointString(200), nullable=False),
        sa.Column("cell_count", sa.Integer, nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("deleted_at", UTCDateTime),
        sa.PrimaryKeyConstraint("user_id", "scratch_id", name="pk_scratch_pads"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_scratch_pads_user_id"
        ),
    )
    for columns in (
        ["user_id", "updated_at", "scratch_id"],
        ["user_id", "created_at", "scratch_id"],
        ["user_id", "title_key", "scratch_id"],
        ["user_id", "namespace", "updated_at", "scratch_id"],
        ["deleted_at"],
    ):
        op.create_index(f"ix_scratch_pads_{'_'.join(columns)}", "scratch_pads", columns)


def _create_cells() -> None:
    op.create_table(
        "scratch_cells",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("cell_id", Identifier, nullable=False),
        sa.Column("scratch_id", Identifier, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("language", CodePointString(8), nullable=False),
        sa.Column("validate", sa.Boolean, nullable=False),
        sa.Column("json_schema", JSONText),
        sa.Column("metadata", JSONText),
        sa.Column("tags", JSONText, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("sha256", CodePointString(64), nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("characters", sa.Integer, nullable=False),
        sa.Column("lines", sa.Integer, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("first_line", CodePointString(80), nullable=False),
        sa.Column("finding", JSONText),
        sa.PrimaryKeyConstraint("user_id", "cell_id", name="pk_scratch_cells"),
        sa.ForeignKeyConstraint(
            ["user_id", "scratch_id"],
            ["scratch_pads.user_id", "scratch_pads.scratch_id"],
            ondelete="CASCADE",
            name="fk_scratch_cells_user_id_scratch_id",
        ),
    )
    op.create_index(
        "ix_scratch_cells_user_id_scratch_id_position",
        "scratch_cells",
        ["user_id", "scratch_id", "position"],
    )


def _create_contents() -> None:
    op.create_table(
        "scratch_contents",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("cell_id", Identifier, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "cell_id", name="pk_scratch_contents"),
        _of_cell("scratch_contents"),
    )


def _create_tags() -> None:
    op.create_table(
        "scratch_pad_tags",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("scratch_id", Identifier, nullable=False),
        sa.Column("tag", CodePointString(200), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "scratch_id", "tag", name="pk_scratch_pad_tags"),
        _of_pad("scratch_pad_tags"),
    )
    op.create_table(
        "scratch_cell_tags",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("cell_id", Identifier, nullable=False),
        sa.Column("tag", CodePointString(200), nullable=False),
        sa.Column("scratch_id", Identifier, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "cell_id", "tag", name="pk_scratch_cell_tags"),
        _of_cell("scratch_cell_tags"),
    )
    op.create_index("ix_scratch_pad_tags_user_id_tag", "scratch_pad_tags", ["user_id", "tag"])
    op.create_index("ix_scratch_cell_tags_user_id_tag", "scratch_cell_tags", ["user_id", "tag"])
    op.create_index(
        "ix_scratch_cell_tags_user_id_scratch_id", "scratch_cell_tags", ["user_id", "scratch_id"]
    )


def _create_schemas_and_accesses() -> None:
    op.create_table(
        "scratch_schemas",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("scratch_id", Identifier, nullable=False),
        sa.Column("id", Identifier, nullable=False),
        sa.Column("name", CodePointString(200), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("schema", JSONText, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "scratch_id", "id", name="pk_scratch_schemas"),
        sa.UniqueConstraint(
            "user_id", "scratch_id", "name", name="uq_scratch_schemas_user_id_scratch_id_name"
        ),
        _of_pad("scratch_schemas"),
    )
    op.create_table(
        "scratch_accesses",
        sa.Column("user_id", Identifier, nullable=False),
        sa.Column("scratch_id", Identifier, nullable=False),
        sa.Column("accessed_at", UTCDateTime, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "scratch_id", name="pk_scratch_accesses"),
        _of_pad("scratch_accesses"),
    )


def _of_pad(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id", "scratch_id"],
        ["scratch_pads.user_id", "scratch_pads.scratch_id"],
        ondelete="CASCADE",
        name=f"fk_{table}_user_id_scratch_id",
    )


def _of_cell(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id", "cell_id"],
        ["scratch_cells.user_id", "scratch_cells.cell_id"],
        ondelete="CASCADE",
        name=f"fk_{table}_user_id_cell_id",
    )
