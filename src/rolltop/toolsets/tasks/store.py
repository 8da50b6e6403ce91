"""The tables and all of the SQL of tasks.

Every statement names the owner; every write is one statement whose conditions decide, so that
racing calls cannot both succeed. A task in the trash keeps its row, with `deleted_at` set, and its
edges: `parent_id` and blockers are shown only while their target lives, so a deletion hides them
and a restoration brings them back without touching another row.
"""

from __future__ import annotations

import uuid
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    Update,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    tuple_,
    update,
)

from rolltop.core.db.engine import CompiledStatement
from rolltop.core.db.schema import metadata, users
from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime
from rolltop.core.expiry import MAX_PURGED_ROWS
from rolltop.toolsets.tasks.models import (
    MAX_DESCRIPTION_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TITLE_LENGTH,
    TRASH_RETENTION,
    Task,
    TaskFilters,
    TaskSortKey,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rolltop.core.db import Tx

tasks: Final = Table(
    "tasks",
    metadata,
    Column("id", Identifier, primary_key=True),
    Column("user_id", Identifier, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
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
    UniqueConstraint("user_id", "id"),  # what the edges refer to, so that none joins two users
    CheckConstraint("status IN ('pending', 'completed')", name="status"),
    CheckConstraint("length(title) >= 1", name="title"),
    CheckConstraint("priority BETWEEN 0 AND 4", name="priority"),
    Index(None, "user_id", "created_at", "id"),
    Index(None, "user_id", "status", "created_at", "id"),
    Index(None, "parent_id", "user_id", "created_at", "id"),
    Index(
        None,
        "deleted_at",
        sqlite_where=text("deleted_at IS NOT NULL"),
        postgresql_where=text("deleted_at IS NOT NULL"),
    ),
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
Index(
    "ix_tasks_next",
    tasks.c.user_id,
    *next_task_order,
    sqlite_where=ready_index_condition,
    postgresql_where=ready_index_condition,
)

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

Condition = ColumnElement[bool]
_STORED_COLUMNS: Final = (
    *("id", "title", "description", "status", "created_at", "updated_at", "version"),
    *("priority", "due_at", "links", "claimed_until"),
)
_SEPARATOR: Final = "\n"  # a tag is one line, so joined tags come apart again
_OWNER: Final = bindparam("owner", type_=Identifier)
_NOW: Final = bindparam("now", type_=UTCDateTime)
_parent_alias: Final = tasks.alias("shown_parent")
_shown_blocker_alias: Final = tasks.alias("shown_blocker")
_blocker_alias: Final = tasks.alias("blocker")
_aggregated_columns: Final = {
    "parent_id": select(_parent_alias.c.id).where(
        _parent_alias.c.user_id == _OWNER,
        _parent_alias.c.id == tasks.c.parent_id,
        _parent_alias.c.deleted_at.is_(None),
    ),
    "tags": select(func.aggregate_strings(task_tags.c.tag, _SEPARATOR)).where(
        task_tags.c.user_id == _OWNER, task_tags.c.task_id == tasks.c.id
    ),
    "blocked_by": select(
        func.aggregate_strings(cast(_shown_blocker_alias.c.id, String), _SEPARATOR)
    )
    .join_from(
        task_blockers, _shown_blocker_alias, _shown_blocker_alias.c.id == task_blockers.c.blocker_id
    )
    .where(
        task_blockers.c.user_id == _OWNER,
        task_blockers.c.task_id == tasks.c.id,
        _shown_blocker_alias.c.user_id == _OWNER,
        _shown_blocker_alias.c.deleted_at.is_(None),
    ),
}
_SELECT_TASKS: Final = select(
    *(tasks.c[name] for name in _STORED_COLUMNS),
    *(
        part.correlate(tasks).scalar_subquery().label(name)
        for name, part in _aggregated_columns.items()
    ),
).where(tasks.c.user_id == _OWNER, tasks.c.deleted_at.is_(None))
"""The one SELECT by which tasks are read: all that a Task holds."""

_COLUMN_NAMES: Final = (*_STORED_COLUMNS, *_aggregated_columns)
_GET_TASK: Final = CompiledStatement(
    _SELECT_TASKS.where(tasks.c.id == bindparam("wanted", type_=Identifier))
)
_USER_EXISTS: Final = CompiledStatement(select(users.c.id).where(users.c.id == _OWNER))
_MAX_VERSION: Final = 2**31 - 1
"""What a version's column holds: a driver takes no larger number."""
_NO_VERSION: Final = -1
"""No task's version."""
_CHILD_COLUMNS: Final = {"tags": task_tags.c.tag, "blocked_by": task_blockers.c.blocker_id}


def user_exists(tx: Tx, owner: str) -> bool:
    """Whether there is such a user."""
    return _USER_EXISTS.first(tx, {"owner": owner}) is not None


def get_task(tx: Tx, owner: str, task_id: str) -> Task | None:
    """Return the owner's task; None if it is missing, in the trash or another's."""
    found = _read_tasks(tx, _GET_TASK, {"owner": owner, "wanted": task_id})
    return found[0] if found else None


def get_for_update(tx: Tx, owner: str, task_id: str) -> Task | None:
    """Return the owner's task as `get` does, its row locked to the transaction's end.

    Two statements: PostgreSQL would read tags and blockers as they were before the wait.
    """
    tx.execute(
        select(tasks.c.id)
        .where(tasks.c.id == task_id, tasks.c.user_id == owner)
        .with_for_update(key_share=True)
    )
    return get_task(tx, owner, task_id)


def read_page(
    tx: Tx, owner: str, filters: TaskFilters, after: TaskSortKey | None, limit: int
) -> list[Task]:
    """Return up to `limit` of the owner's tasks after a place, newest first."""
    asked: dict[str, Any] = {
        "status": filters.status,
        "now": tx.now if filters.ready else None,
        "parent": filters.parent_id,
        "due": filters.due_before,
        "tag": filters.tag,
        "after": after and after.id,
        "after_at": after and after.created_at,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    values = {"owner": owner, "most": limit, **given}
    return _read_tasks(tx, _page_statement(frozenset(given)), values)


def best_ready_task(tx: Tx, owner: str) -> Task | None:
    """Return the owner's ready task that is the most urgent, due first, oldest; or None."""
    found = _read_tasks(tx, _best_ready_statement(), {"owner": owner, "now": tx.now})
    return found[0] if found else None


def existing_ids(tx: Tx, owner: str, task_ids: Iterable[str]) -> set[str]:
    """Return those of the ids that are tasks of the owner outside the trash."""
    found = select(tasks.c.id).where(*visible_conditions(owner), tasks.c.id.in_(list(task_ids)))
    return set(tx.execute(found).scalars())


def newest_titles(tx: Tx, owner: str, limit: int) -> list[tuple[str, str]]:
    """Return id and title of the owner's newest tasks."""
    newest = (tasks.c.created_at.desc(), tasks.c.id.desc())
    rows = tx.execute(
        select(tasks.c.id, tasks.c.title)
        .where(*visible_conditions(owner))
        .order_by(*newest)
        .limit(limit)
    )
    return [(row.id, row.title) for row in rows]


def is_claim_holder(tx: Tx, owner: str, task_id: str, claim_hash: str) -> bool:
    """Whether the hash is that of the task's last claim, running or not."""
    same = select(tasks.c.id).where(
        *visible_conditions(owner), tasks.c.id == task_id, tasks.c.claim_hash == claim_hash
    )
    return tx.execute(same).first() is not None


def visible_conditions(owner: str) -> tuple[Condition, ...]:
    """Return the conditions of a visible task: the owner's, and outside the trash."""
    return (tasks.c.user_id == owner, tasks.c.deleted_at.is_(None))


def ready_conditions(
    owner: str | ColumnElement[str], now: datetime | ColumnElement[datetime]
) -> tuple[Condition, ...]:
    """Return the conditions of a ready task: pending, not claimed, waiting for no pending task."""
    # As a value of each edge, not a join: SQLite would begin the join with all pending tasks.
    status = (
        select(_blocker_alias.c.status)
        .where(
            _blocker_alias.c.user_id == owner,
            _blocker_alias.c.id == task_blockers.c.blocker_id,
            _blocker_alias.c.deleted_at.is_(None),
        )
        .correlate(task_blockers)
        .scalar_subquery()
    )
    waits = (
        select(task_blockers.c.blocker_id)
        .where(
            task_blockers.c.user_id == owner,
            task_blockers.c.task_id == tasks.c.id,
            status == "pending",
        )
        .correlate(tasks)
        .exists()
    )
    free = tasks.c.claimed_until.is_(None) | (tasks.c.claimed_until <= now)
    return (tasks.c.status == "pending", free, ~waits)


@cache
def _page_statement(given: frozenset[str]) -> CompiledStatement:
    """Read a page of tasks by the filters that are given."""
    tagged = select(task_tags.c.task_id).where(
        task_tags.c.user_id == _OWNER, task_tags.c.tag == bindparam("tag")
    )
    place = tuple_(bindparam("after_at", type_=UTCDateTime), bindparam("after", type_=Identifier))
    conditions: dict[str, tuple[Condition, ...]] = {
        "status": (tasks.c.status == bindparam("status"),),
        "now": ready_conditions(_OWNER, _NOW),
        "parent": (tasks.c.parent_id == bindparam("parent"),),
        "due": (tasks.c.due_at < bindparam("due"),),
        "tag": (tasks.c.id.in_(tagged),),
        "after": (tuple_(tasks.c.created_at, tasks.c.id) < place,),
    }
    chosen = [one for name, some in conditions.items() if name in given for one in some]
    newest = (tasks.c.created_at.desc(), tasks.c.id.desc())
    most = bindparam("most", type_=Integer)
    return CompiledStatement(_SELECT_TASKS.where(*chosen).order_by(*newest).limit(most))


@cache
def _best_ready_statement() -> CompiledStatement:
    """Read the next task."""
    return CompiledStatement(
        _SELECT_TASKS.where(ready_index_condition, *ready_conditions(_OWNER, _NOW))
        .order_by(*next_task_order)
        .limit(1)
    )


def _read_tasks(tx: Tx, statement: CompiledStatement, values: Mapping[str, Any]) -> list[Task]:
    """Return the tasks of a narrowed `_SELECT_TASKS`."""
    return [_task_of_row(row, tx.now) for row in statement.rows(tx, values)]


def _task_of_row(row: Sequence[Any], now: datetime) -> Task:
    values: dict[str, Any] = dict(zip(_COLUMN_NAMES, row, strict=True))
    until: datetime | None = values.pop("claimed_until")
    if values["status"] == "completed":
        until = None
    runs = until is not None and until > now
    values |= {
        "tags": _split_values(values["tags"]),
        "blocked_by": tuple(str(uuid.UUID(text)) for text in _split_values(values["blocked_by"])),
        "links": tuple(values["links"] or ()),
        "claimed_until": until if runs else None,
        "lapsed_at": None if runs else until,
    }
    return Task(**values)


def _split_values(joined: str | None) -> tuple[str, ...]:
    """Return texts that `aggregate_strings` joined, sorted."""
    return tuple(sorted(joined.split(_SEPARATOR))) if joined else ()


def insert_task(tx: Tx, owner: str, fields: Mapping[str, Any]) -> Task | None:
    """Insert a pending task; return it, or None if there is no such user."""
    task_id = str(uuid.uuid4())
    values = {
        "id": task_id,
        "status": "pending",
        "created_at": tx.now,
        "updated_at": tx.now,
        "version": 1,
        **_column_values(fields),
    }
    bound = [literal(value, tasks.c[name].type) for name, value in values.items()]
    # The lock keeps the user until the row that refers to it is written.
    chosen = select(users.c.id, *bound).where(users.c.id == owner)
    statement = insert(tasks).from_select(
        ["user_id", *values], chosen.with_for_update(read=True, key_share=True)
    )
    if tx.execute(statement.returning(tasks.c.id)).first() is None:
        return None
    _write_child_rows(tx, owner, task_id, fields)
    return get_task(tx, owner, task_id)


def update_fields(tx: Tx, owner: str, task_id: str, fields: Mapping[str, Any]) -> None:
    """Change fields of a task that is held."""
    tx.execute(_update_statement(tx, owner, task_id).values(**_column_values(fields)))
    _write_child_rows(tx, owner, task_id, fields)


def complete_task(
    tx: Tx, owner: str, task_id: str, if_version: int | None, claim_hash: str | None
) -> bool:
    """Complete a pending task; whether it was. With a hash only the running claim's holder may."""
    conditions = [tasks.c.status == "pending", *_version_condition(if_version)]
    if claim_hash is not None:
        conditions += [tasks.c.claim_hash == claim_hash, tasks.c.claimed_until > tx.now]
    return _has_changed_row(
        tx, _update_statement(tx, owner, task_id, *conditions).values(status="completed")
    )


def reopen_task(tx: Tx, owner: str, task_id: str, if_version: int | None) -> bool:
    """Make a completed task pending and unclaimed; whether it was."""
    conditions = [tasks.c.status == "completed", *_version_condition(if_version)]
    values = {"status": "pending", "claim_hash": None, "claimed_until": None}
    return _has_changed_row(tx, _update_statement(tx, owner, task_id, *conditions).values(**values))


def claim_task(tx: Tx, owner: str, task_id: str, claim_hash: str, until: datetime) -> bool:
    """Claim a ready task; whether it was one."""
    statement = _update_statement(tx, owner, task_id, *ready_conditions(owner, tx.now))
    return _has_changed_row(tx, statement.values(claim_hash=claim_hash, claimed_until=until))


def renew_claim(tx: Tx, owner: str, task_id: str, claim_hash: str, until: datetime) -> bool:
    """Renew the last claim of a pending task; whether the hash is that claim's."""
    conditions = (tasks.c.status == "pending", tasks.c.claim_hash == claim_hash)
    return _has_changed_row(
        tx, _update_statement(tx, owner, task_id, *conditions).values(claimed_until=until)
    )


def move_to_trash(tx: Tx, owner: str, task_id: str, if_version: int | None) -> bool:
    """Put a task into the trash; whether it was outside.

    Its time there begins no earlier than its last change, even if the clock has been put back.
    """
    statement = _update_statement(tx, owner, task_id, *_version_condition(if_version))
    changed_later = tasks.c.updated_at > tx.now
    now = literal(tx.now, tasks.c.updated_at.type)
    deleted_at = case((changed_later, tasks.c.updated_at), else_=now)
    return _has_changed_row(tx, statement.values(deleted_at=deleted_at))


def restore_task(tx: Tx, owner: str, task_id: str) -> bool:
    """Take a task out of the trash; whether it was in it, for no more than 30 days."""
    statement = (
        update(tasks)
        .where(
            tasks.c.id == task_id,
            tasks.c.user_id == owner,
            tasks.c.deleted_at > tx.now - TRASH_RETENTION,
        )
        .values(deleted_at=None, updated_at=tx.now, version=tasks.c.version + 1)
    )
    return _has_changed_row(tx, statement)


def purge_trash(tx: Tx) -> int:
    """Delete for good some of what has been in any user's trash for 30 days; return how many."""
    expired = select(tasks.c.id).where(tasks.c.deleted_at <= tx.now - TRASH_RETENTION)
    some = expired.limit(MAX_PURGED_ROWS).with_for_update(skip_locked=True)
    return tx.execute(delete(tasks).where(tasks.c.id.in_(some))).rowcount


def _version_condition(version: int | None) -> list[Condition]:
    if version is None:
        return []
    return [tasks.c.version == (version if abs(version) <= _MAX_VERSION else _NO_VERSION)]


def _update_statement(tx: Tx, owner: str, task_id: str, *conditions: Condition) -> Update:
    """Return an UPDATE of one living task that moves its version and `updated_at`."""
    return (
        update(tasks)
        .where(tasks.c.id == task_id, *visible_conditions(owner), *conditions)
        .values(version=tasks.c.version + 1, updated_at=tx.now)
    )


def _has_changed_row(tx: Tx, statement: Update) -> bool:
    return tx.execute(statement.returning(tasks.c.id)).first() is not None


def _column_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are columns of `tasks`, as they are stored."""
    columns = {name: value for name, value in fields.items() if name not in _CHILD_COLUMNS}
    if "links" in columns:
        columns["links"] = list(columns["links"]) or None
    return columns


def _write_child_rows(tx: Tx, owner: str, task_id: str, fields: Mapping[str, Any]) -> None:
    """Put tags and blockers that are among the fields in place of what the task had."""
    for name, column in _CHILD_COLUMNS.items():
        if name not in fields:
            continue
        side = column.table
        tx.execute(delete(side).where(side.c.user_id == owner, side.c.task_id == task_id))
        mine = {"user_id": owner, "task_id": task_id}
        rows = [{**mine, column.name: value} for value in fields[name]]
        if rows:
            tx.execute(insert(side), rows)


def lock_graph(tx: Tx, owner: str) -> None:
    """Wait until no other transaction changes what the owner's tasks hang on.

    PostgreSQL locks the owner's row, in the mode that lets other tables refer to it; SQLite has
    one writer anyway.
    """
    tx.execute(select(users.c.id).where(users.c.id == owner).with_for_update(key_share=True))


def dependents(tx: Tx, owner: str, task_id: str, among: Iterable[str]) -> set[str]:
    """Return those of the ids that wait for the task, through any number of others, or are it."""
    blocked = (task_blockers.c.task_id == tasks.c.id) & (task_blockers.c.user_id == owner)
    reached = _starting_rows(owner, task_id)
    step = (
        select(tasks.c.id)
        .join(task_blockers, blocked)
        .join(reached, task_blockers.c.blocker_id == reached.c.id)
    )
    return _select_reachable(tx, reached.union(step.where(*visible_conditions(owner))), among)


def descendants(tx: Tx, owner: str, task_id: str, among: Iterable[str]) -> set[str]:
    """Return those of the ids that lie below the task, at any depth, or are it."""
    reached = _starting_rows(owner, task_id)
    step = select(tasks.c.id).join(reached, tasks.c.parent_id == reached.c.id)
    return _select_reachable(tx, reached.union(step.where(*visible_conditions(owner))), among)


def drop_blockers(tx: Tx, owner: str, task_id: str, blockers: Iterable[str]) -> None:
    """Forget some of what a task waits for."""
    tx.execute(
        delete(task_blockers).where(
            task_blockers.c.user_id == owner,
            task_blockers.c.task_id == task_id,
            task_blockers.c.blocker_id.in_(list(blockers)),
        )
    )


def drop_parent(tx: Tx, owner: str, task_id: str) -> None:
    """Forget a task's parent."""
    tx.execute(
        update(tasks).where(tasks.c.user_id == owner, tasks.c.id == task_id).values(parent_id=None)
    )


def _starting_rows(owner: str, task_id: str) -> Any:  # noqa: ANN401  # a recursive CTE
    found = select(tasks.c.id).where(*visible_conditions(owner), tasks.c.id == task_id)
    return found.cte("reached", recursive=True)


def _select_reachable(tx: Tx, reached: Any, among: Iterable[str]) -> set[str]:  # noqa: ANN401  # as above
    statement = select(reached.c.id).where(reached.c.id.in_(list(among)))
    return set(tx.execute(statement).scalars())
