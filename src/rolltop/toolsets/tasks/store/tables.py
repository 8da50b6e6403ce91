"""The tables of tasks."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from rolltop.core.accounts import MAX_EMAIL_LENGTH
from rolltop.core.db.schema import metadata, partial_index, user_column
from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime
from rolltop.core.journal.tables import Journaled, keep_journal
from rolltop.core.principal import MAX_PROJECT_LENGTH
from rolltop.toolsets.tasks.models import (
    MAX_AUTHOR_LENGTH,
    MAX_DESCRIPTION_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TITLE_LENGTH,
)

tasks: Final = Table(
    "tasks",
    metadata,
    Column("id", Identifier, primary_key=True),
    user_column(nullable=False),
    Column("title", String(MAX_TITLE_LENGTH), nullable=False),
    Column("description", String(MAX_DESCRIPTION_LENGTH)),
    Column("status", CodePointString(9), nullable=False),
    Column("created_at", UTCDateTime, nullable=False),
    Column("updated_at", UTCDateTime, nullable=False),
    Column("version", Integer, nullable=False),
    Column("priority", Integer),
    Column("due_at", UTCDateTime),
    Column("parent_id", Identifier, ForeignKey("tasks.id", ondelete="SET NULL")),
    Column("links", JSONText),
    Column("claim_hash", CodePointString(64)),
    Column("claimed_until", UTCDateTime),
    Column("deleted_at", UTCDateTime),
    Column("project", String(MAX_PROJECT_LENGTH)),
    Column("claimed_by", String(MAX_AUTHOR_LENGTH)),
    Column("acceptance", JSONText),
    Column("evidence", JSONText),  # the fields of each
    Column("requires_evidence", Boolean),
    Column("reopen_on_change", Boolean),
    Column("assignee", CodePointString(MAX_EMAIL_LENGTH)),
    UniqueConstraint("user_id", "id"),  # what the edges refer to, so that none joins two users
    CheckConstraint("status IN ('pending', 'completed')", name="status"),
    CheckConstraint("length(title) >= 1", name="title"),
    CheckConstraint("priority BETWEEN 0 AND 4", name="priority"),
    Index(None, "user_id", "created_at", "id"),
    Index(None, "user_id", "status", "created_at", "id"),
    Index(None, "parent_id", "user_id", "created_at", "id"),
    partial_index(None, "user_id", "updated_at", where=text("evidence IS NOT NULL")),
    partial_index(None, "deleted_at", where=text("deleted_at IS NOT NULL")),
)
# Written as text: a partial index serves only conditions that are spelled as its own, and an index
# of expressions only an order by the same. The first of the order is the most urgent, then the
# first due; whatever has no priority or date comes last.
ready_index_condition: Final = text("status = 'pending' AND deleted_at IS NULL")
next_task_order: Final = (
    text("coalesce(priority, 5)"),
    text("(due_at IS NULL)"),
    tasks.c.due_at,
    tasks.c.created_at,
    tasks.c.id,
)
partial_index("ix_tasks_next", tasks.c.user_id, *next_task_order, where=ready_index_condition)
begun_index_condition: Final = text(f"{ready_index_condition} AND claimed_until IS NOT NULL")
partial_index("ix_tasks_begun", tasks.c.user_id, tasks.c.claimed_until, where=begun_index_condition)

task_tags: Final = Table(
    "task_tags",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("task_id", Identifier, primary_key=True),
    Column("tag", CodePointString(MAX_TAG_LENGTH), primary_key=True),
    ForeignKeyConstraint(["user_id", "task_id"], ["tasks.user_id", "tasks.id"], ondelete="CASCADE"),
    Index(None, "user_id", "tag", "task_id"),
)

task_blockers: Final = Table(
    "task_blockers",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("task_id", Identifier, primary_key=True),
    Column("blocker_id", Identifier, primary_key=True),
    ForeignKeyConstraint(["user_id", "task_id"], ["tasks.user_id", "tasks.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["user_id", "blocker_id"], ["tasks.user_id", "tasks.id"], ondelete="CASCADE"
    ),
    Index(None, "user_id", "blocker_id"),
)

task_comments: Final = Table(
    "task_comments",
    metadata,
    Column("user_id", Identifier, primary_key=True),
    Column("task_id", Identifier, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("created_at", UTCDateTime, nullable=False),
    Column("author", String(MAX_AUTHOR_LENGTH), nullable=False),
    Column("text", Text, nullable=False),
    ForeignKeyConstraint(["user_id", "task_id"], ["tasks.user_id", "tasks.id"], ondelete="CASCADE"),
)
"""What was noted on a task: at most one line for each version of it."""

keep_journal(
    tasks,
    Journaled(
        "task",
        "id",
        moving=frozenset({"version", "updated_at"}),
        computed=frozenset({"claim_hash"}),  # a lease comes and goes with it
        version="version",
        words={"claimed_until": ("claimed until {}", "claim released"), "claimed_by": ("", "")},
    ),
)
for _table, _member in (
    (task_tags, ("tags", "tag")),
    (task_blockers, ("blocked_by", "blocker_id")),
    (task_comments, ("comment", "")),
):
    keep_journal(_table, Journaled("task", "task_id", member=_member))
