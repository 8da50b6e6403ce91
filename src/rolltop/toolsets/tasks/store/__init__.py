"""The SQL of tasks.

Every statement names the owner; every write is one statement whose conditions decide, so that
racing calls cannot both succeed. A task in the trash keeps its row, with `deleted_at` set, and its
edges: `parent_id` and blockers are shown only while their target lives, so a deletion hides them
and a restoration brings them back without touching another row.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    LargeBinary,
    String,
    Update,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    true,
    tuple_,
    update,
)

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, batches
from rolltop.core.db.schema import users
from rolltop.core.db.tag_spellings import find_spellings
from rolltop.core.db.types import Identifier, UTCDateTime
from rolltop.core.expiry import MAX_PURGED_ROWS
from rolltop.toolsets.tasks.models import (
    STORED_COLUMNS,
    TRASH_RETENTION,
    CheckedEvidence,
    ClaimAccess,
    Task,
    TaskFilters,
)
from rolltop.toolsets.tasks.store.tables import (
    begun_index_condition,
    next_task_order,
    ready_index_condition,
    task_blockers,
    task_tags,
    tasks,
)

Condition = ColumnElement[bool]
MAX_TASKS_TO_REOPEN: Final = 500
"""Completed tasks whose evidence is looked at in one go: each minute, in every process."""
_SEPARATOR: Final = "\n"  # a tag is one line, so joined tags come apart again
_OWNER: Final = bindparam("owner", type_=Identifier)
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
_SELECT_ALL: Final = select(
    *(tasks.c[name] for name in STORED_COLUMNS),
    *(
        part.correlate(tasks).scalar_subquery().label(name)
        for name, part in _aggregated_columns.items()
    ),
).where(tasks.c.user_id == _OWNER)
"""The one SELECT by which tasks are read: all that a Task holds."""
_SELECT_TASKS: Final = _SELECT_ALL.where(tasks.c.deleted_at.is_(None))

_COLUMN_NAMES: Final = (*STORED_COLUMNS, *_aggregated_columns)
_GET_TASK: Final = CompiledStatement(
    _SELECT_TASKS.where(tasks.c.id == bindparam("wanted", type_=Identifier))
)
_GET_DELETED: Final = CompiledStatement(
    _SELECT_ALL.where(
        tasks.c.id == bindparam("wanted", type_=Identifier), tasks.c.deleted_at.is_not(None)
    )
)
NEWEST_FIRST: Final = (tasks.c.created_at.desc(), tasks.c.id.desc())
_SOME_TASKS: Final = CompiledStatement(
    _SELECT_TASKS.where(tasks.c.id.in_(bindparam("some", expanding=True, type_=Identifier)))
)
_TEXTS_AT_ONCE: Final = 500
_USER_EXISTS: Final = CompiledStatement(select(users.c.id).where(users.c.id == _OWNER))
MAX_VERSION: Final = 2**31 - 1
"""What a version's column holds: a driver takes no larger number."""
_NO_FILTERS: Final = TaskFilters()
MAX_EDGES: Final = 2000
"""Edges that cost less to look at one by one than all pending tasks do."""
_MAX_SHAPES: Final = 32
"""Sets of columns whose statements are kept."""
_NO_VERSION: Final = -1
"""No task's version."""
_CHILD_COLUMNS: Final = {"tags": task_tags.c.tag, "blocked_by": task_blockers.c.blocker_id}


def user_exists(tx: Tx, owner: str) -> bool:
    """Whether there is such a user."""
    return _USER_EXISTS.first(tx, {"owner": owner}) is not None


def get_task(tx: Tx, owner: str, task_id: str, *, trash: bool = False) -> Task | None:
    """Return the owner's task outside the trash, or in it; None if it is not there."""
    statement = _GET_DELETED if trash else _GET_TASK
    rows = statement.rows(tx, {"owner": owner, "wanted": task_id})
    return next(iter(_tasks_of(tx, rows)), None)


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
    tx: Tx, owner: str, filters: TaskFilters, after: tuple[datetime, str] | None, limit: int
) -> list[Task]:
    """Return up to `limit` of the owner's tasks after a place, newest first."""
    chosen = _SELECT_TASKS.where(*_filter_conditions(tx, owner, filters))
    if after is not None:
        place = tuple_(literal(after[0], UTCDateTime), literal(after[1], Identifier))
        chosen = chosen.where(tuple_(tasks.c.created_at, tasks.c.id) < place)
    rows = tx.execute(chosen.order_by(*NEWEST_FIRST).limit(limit), {"owner": owner})
    return _tasks_of(tx, rows)


def measure_texts(tx: Tx, owner: str, filters: TaskFilters) -> tuple[int, int, int]:
    """Return how many tasks the owner has, and the characters of their titles and descriptions."""
    columns = (tasks.c.title, tasks.c.description)
    sums = (func.coalesce(func.sum(func.length(column)), 0) for column in columns)
    measured = select(func.count(), *sums).where(
        *visible_conditions(owner), *_filter_conditions(tx, owner, filters)
    )
    count, titles, descriptions = map(int, tx.execute(measured).one())
    return count, titles, descriptions


def read_texts(
    tx: Tx,
    owner: str,
    filters: TaskFilters,
    parts: Sequence[str] | None = None,
    limit: int | None = None,
) -> Iterator[tuple[str, str, str | None]]:
    """Yield id, title and description of the owner's tasks, newest first.

    Of parts in ASCII one is in each text, in any case, or the text has names with `_` or is not
    in ASCII: what is in these is for the caller to find.
    """
    texts = select(tasks.c.id, tasks.c.title, tasks.c.description).where(
        *visible_conditions(owner), *_filter_conditions(tx, owner, filters)
    )
    if parts is not None:
        columns = (tasks.c.title, tasks.c.description)
        texts = texts.where(or_(*(_may_have(tx, column, parts) for column in columns)))
    for rows in tx.execute(texts.order_by(*NEWEST_FIRST).limit(limit)).partitions(_TEXTS_AT_ONCE):
        yield from map(tuple, rows)


def _may_have(tx: Tx, column: Column[str], parts: Sequence[str]) -> Condition:
    if tx.kind == "sqlite":  # its LIKE ignores the case of ASCII
        size, having = func.length(cast(column, LargeBinary)), column.contains
    else:
        size, having = func.octet_length(column), column.collate("C").icontains
    named = column.contains("_", autoescape=True)
    return or_(named, size != func.length(column), *map(having, parts))


def read_tasks(tx: Tx, owner: str, task_ids: Sequence[str]) -> list[Task]:
    """Return those of the tasks that are visible, in the order of the ids."""
    values = {"owner": owner, "some": list(task_ids)}
    rows = _SOME_TASKS.rows(tx, values) if task_ids else ()
    found = {task.id: task for task in _tasks_of(tx, rows)}
    return [found[task_id] for task_id in task_ids if task_id in found]


def best_ready_tasks(
    tx: Tx, owner: str, filters: TaskFilters = _NO_FILTERS, limit: int = 1
) -> list[Task]:
    """Return the owner's ready tasks that come first: the most urgent, due first, oldest."""
    ready = (ready_index_condition, *_ready_conditions(owner, tx.now))
    chosen = _SELECT_TASKS.where(*ready, *_filter_conditions(tx, owner, filters))
    rows = tx.execute(chosen.order_by(*next_task_order).limit(limit), {"owner": owner})
    return _tasks_of(tx, rows)


def begun_and_blocked_ids(tx: Tx, owner: str, filters: TaskFilters) -> tuple[list[str], list[str]]:
    """Return the ids of the owner's pending tasks that were claimed, and of the blocked others.

    The most urgent come first. Where few tasks wait for others, no more than these are looked at.
    """
    claimed = select(tasks.c.id).where(tasks.c.user_id == owner, begun_index_condition)
    waiting = select(task_blockers.c.task_id).where(task_blockers.c.user_id == owner)
    begun = set(tx.execute(claimed).scalars())
    edges = tx.execute(waiting.limit(MAX_EDGES)).scalars().all()
    looked_at: list[Condition] = [true()]
    if len(edges) < MAX_EDGES:
        looked_at = [tasks.c.id.in_(some) for some in batches(sorted(begun.union(edges)))]
    found: list[tuple[Any, ...]] = []
    for some in looked_at:
        rows = select(*next_task_order).where(
            *(tasks.c.user_id == owner, ready_index_condition, some),
            *_filter_conditions(tx, owner, filters),
            tasks.c.claimed_until.is_not(None) | _is_blocked(owner),
        )
        found += map(tuple, tx.execute(rows))
    ordered = [row[-1] for row in sorted(found)]
    return [one for one in ordered if one in begun], [one for one in ordered if one not in begun]


def with_evidence(tx: Tx, owner: str, filters: TaskFilters, limit: int) -> list[Task]:
    """Return the owner's tasks that have evidence, the last changed first."""
    mine = select(tasks.c.id).where(
        *(*visible_conditions(owner), text("evidence IS NOT NULL")),
        *_filter_conditions(tx, owner, filters),
    )
    newest = mine.order_by(tasks.c.updated_at.desc()).limit(limit)
    return read_tasks(tx, owner, list(tx.execute(newest).scalars()))


def ids_to_reopen(tx: Tx, after: str) -> list[tuple[str, str]]:
    """List owners and ids of completed tasks that are reopened where their evidence changes.

    They are some of all, in a circle: those with greater ids than `after` come first.
    """
    completed = select(tasks.c.user_id, tasks.c.id).where(
        *(text("evidence IS NOT NULL"), tasks.c.deleted_at.is_(None)),
        *(tasks.c.status == "completed", tasks.c.reopen_on_change),
    )
    some = completed.order_by(tasks.c.id <= after, tasks.c.id).limit(MAX_TASKS_TO_REOPEN)
    return [(row.user_id, row.id) for row in tx.execute(some)]


def count_waiting(
    tx: Tx, owner: str, filters: TaskFilters
) -> tuple[int, int, int, datetime | None]:
    """Count the owner's pending tasks that are claimed, blocked (and not claimed) and overdue.

    The last value is the end of the lease that ends first.
    """
    claimed = _is_claimed(tx.now)
    counted = (claimed, ~claimed & _is_blocked(owner), tasks.c.due_at < tx.now)
    waiting = select(
        *(func.coalesce(func.sum(case((one, 1), else_=0)), 0) for one in counted),
        func.min(case((claimed, tasks.c.claimed_until))),
    ).where(
        *(tasks.c.user_id == owner, ready_index_condition),
        *_filter_conditions(tx, owner, filters),
    )
    claims, blocks, overdue, until = tuple(tx.execute(waiting).one())
    return claims, blocks, overdue, until


def ids_between(tx: Tx, owner: str, first: str, last: str, limit: int, *, trash: bool) -> list[str]:
    """Return up to `limit` of the owner's ids in a range, of tasks in the trash or outside."""
    place = tasks.c.deleted_at.is_not(None) if trash else tasks.c.deleted_at.is_(None)
    found = select(tasks.c.id).where(
        tasks.c.user_id == owner, tasks.c.id.between(first, last), place
    )
    return list(tx.execute(found.order_by(tasks.c.id).limit(limit)).scalars())


def existing_ids(tx: Tx, owner: str, task_ids: Iterable[str]) -> set[str]:
    """Return those of the ids that are tasks of the owner outside the trash."""
    found = select(tasks.c.id).where(*visible_conditions(owner), tasks.c.id.in_(list(task_ids)))
    return set(tx.execute(found).scalars())


def has_assignee(tx: Tx, owner: str, assignee: str) -> bool:
    """Whether a visible task of the owner was given to that address."""
    given = select(tasks.c.id).where(*visible_conditions(owner), tasks.c.assignee == assignee)
    return tx.execute(given.limit(1)).first() is not None


def is_claim_holder(tx: Tx, owner: str, task_id: str, claim_hash: str) -> bool:
    """Whether the hash is that of the task's last claim, running or not."""
    same = select(tasks.c.id).where(
        *visible_conditions(owner), tasks.c.id == task_id, tasks.c.claim_hash == claim_hash
    )
    return tx.execute(same).first() is not None


def visible_conditions(owner: str) -> tuple[Condition, ...]:
    """Return the conditions of a visible task: the owner's, and outside the trash."""
    return (tasks.c.user_id == owner, tasks.c.deleted_at.is_(None))


def _ready_conditions(owner: str, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions of a ready task: pending, not claimed, waiting for no pending task."""
    return (tasks.c.status == "pending", ~_is_claimed(now), ~_is_blocked(owner))


def _is_claimed(now: datetime) -> Condition:
    return tasks.c.claimed_until.is_not(None) & (tasks.c.claimed_until > now)


def _is_blocked(owner: str) -> Condition:
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
    return (
        select(task_blockers.c.blocker_id)
        .where(
            task_blockers.c.user_id == owner,
            task_blockers.c.task_id == tasks.c.id,
            status == "pending",
        )
        .correlate(tasks)
        .exists()
    )


def _filter_conditions(tx: Tx, owner: str, filters: TaskFilters) -> Iterator[Condition]:
    for name in ("status", "parent_id", "project", "assignee"):
        if (value := getattr(filters, name)) is not None:
            yield tasks.c[name] == value
    if filters.ready:
        yield from _ready_conditions(owner, tx.now)
    if filters.due_before is not None:
        yield tasks.c.due_at < filters.due_before
    if filters.changed_after is not None:
        yield tasks.c.updated_at > filters.changed_after
    for spellings in find_spellings(tx, owner, task_tags.c.tag, filters.tags).values():
        tagged = select(task_tags.c.task_id).where(task_tags.c.user_id == owner)
        yield tasks.c.id.in_(tagged.where(task_tags.c.tag.in_(spellings)))
    if filters.own_project is not None:
        yield or_(tasks.c.project == filters.own_project, tasks.c.project.is_(None))
    if filters.others:
        yield or_(tasks.c.assignee.is_(None), tasks.c.assignee.not_in(filters.others))


def _tasks_of(tx: Tx, rows: Iterable[Any]) -> list[Task]:
    found: list[Task] = []
    for values in rows:
        row = dict(zip(_COLUMN_NAMES, values, strict=True))
        tags, blockers = (_split_values(row[name]) for name in ("tags", "blocked_by"))
        found.append(Task.of_row(row, tags, (str(uuid.UUID(one)) for one in blockers), tx.now))
    return found


def _split_values(joined: str | None) -> list[str]:
    """Return texts that `aggregate_strings` joined."""
    return joined.split(_SEPARATOR) if joined else []


def insert_task(tx: Tx, owner: str, fields: Mapping[str, Any]) -> Task | None:
    """Insert a pending task; return it, or None if there is no such user."""
    task_id = str(uuid.uuid4())
    values = {
        "id": task_id,
        "status": "pending",
        "created_at": tx.now,
        "updated_at": tx.now,
        "version": 1,
        **column_values(fields),
    }
    bound = {f"new_{name}": value for name, value in values.items()}
    if _insert_statement(tuple(values)).first(tx, {"owner": owner, **bound}) is None:
        return None
    insert_child_rows(tx, owner, task_id, fields)
    return get_task(tx, owner, task_id)


@lru_cache(_MAX_SHAPES)
def _insert_statement(names: Sequence[str]) -> CompiledStatement:
    """Return the statement that inserts a task with values `new_…` for these columns."""
    bound = [bindparam(f"new_{name}", type_=tasks.c[name].type) for name in names]
    # The lock keeps the user until the row that refers to it is written.
    chosen = select(users.c.id, *bound).where(users.c.id == _OWNER)
    statement = insert(tasks).from_select(
        ["user_id", *names], chosen.with_for_update(read=True, key_share=True)
    )
    return CompiledStatement(statement.returning(tasks.c.id))


def update_fields(tx: Tx, owner: str, task_id: str, fields: Mapping[str, Any]) -> None:
    """Change fields of a task that is held."""
    tx.execute(_update_statement(tx, owner, task_id).values(**column_values(fields)))
    _write_child_rows(tx, owner, task_id, fields)


def complete_task(  # what may hold it back
    tx: Tx,
    owner: str,
    task_id: str,
    if_version: int | None,
    access: ClaimAccess,
    checked: CheckedEvidence | None,
) -> bool:
    """Complete a pending task; whether it was one that the claim's holder or nobody holds.

    One that requires evidence is completed at the version only at which that was checked.
    """
    values: dict[str, Any] = {"status": "completed"}
    is_free = or_(tasks.c.requires_evidence.is_(None), ~tasks.c.requires_evidence)
    if checked is not None:
        values |= column_values({"evidence": checked.evidence})
        is_free = tasks.c.version == checked.version
    conditions = [
        tasks.c.status == "pending",
        is_free,
        *_version_condition(if_version),
        *_access_conditions(tx, access),
    ]
    return _has_changed_row(tx, _update_statement(tx, owner, task_id, *conditions).values(**values))


def reopen_task(tx: Tx, owner: str, task_id: str, if_version: int | None) -> bool:
    """Make a completed task pending and unclaimed; whether it was."""
    conditions = [tasks.c.status == "completed", *_version_condition(if_version)]
    values = {"status": "pending", **dict.fromkeys(("claim_hash", "claimed_until", "claimed_by"))}
    return _has_changed_row(tx, _update_statement(tx, owner, task_id, *conditions).values(**values))


def claim_task(
    tx: Tx, owner: str, task_id: str, values: Mapping[str, Any], *, force: bool = False
) -> bool:
    """Claim a ready task; whether it was one. With `force` another's claim is no obstacle."""
    ready = _ready_conditions(owner, tx.now)
    if force:
        ready = (tasks.c.status == "pending", ~_is_blocked(owner))
    return _has_changed_row(tx, _update_statement(tx, owner, task_id, *ready).values(**values))


def renew_claim(tx: Tx, owner: str, task_id: str, values: Mapping[str, Any]) -> bool:
    """Renew the last claim of a pending task; whether the hash is that claim's."""
    conditions = (tasks.c.status == "pending", tasks.c.claim_hash == values["claim_hash"])
    return _has_changed_row(tx, _update_statement(tx, owner, task_id, *conditions).values(**values))


def move_to_trash(
    tx: Tx, owner: str, task_id: str, if_version: int | None, access: ClaimAccess
) -> bool:
    """Put a task that the claim's holder or nobody holds into the trash; whether it was outside.

    Its time there begins no earlier than its last change, even if the clock has been put back.
    """
    conditions = (*_version_condition(if_version), *_access_conditions(tx, access))
    statement = _update_statement(tx, owner, task_id, *conditions)
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


def _access_conditions(tx: Tx, access: ClaimAccess) -> list[Condition]:
    """Return the conditions of a task that who shows this may write: a claim protects its task."""
    if access.force:
        return []
    is_held = (tasks.c.status == "pending") & _is_claimed(tx.now)
    if access.claim_hash is None:
        return [~is_held]
    return [
        tasks.c.claim_hash == access.claim_hash,
        is_held | (tasks.c.status == "completed"),
    ]


def _version_condition(version: int | None) -> list[Condition]:
    if version is None:
        return []
    return [tasks.c.version == (version if abs(version) <= MAX_VERSION else _NO_VERSION)]


def _update_statement(tx: Tx, owner: str, task_id: str, *conditions: Condition) -> Update:
    """Return an UPDATE of one living task that moves its version and `updated_at`."""
    return (
        update(tasks)
        .where(tasks.c.id == task_id, *visible_conditions(owner), *conditions)
        .values(version=tasks.c.version + 1, updated_at=tx.now)
    )


def _has_changed_row(tx: Tx, statement: Update) -> bool:
    return tx.execute(statement.returning(tasks.c.id)).first() is not None


def column_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are columns of `tasks`, as they are stored."""
    columns = {name: value for name, value in fields.items() if name not in _CHILD_COLUMNS}
    for name in {"links", "acceptance"} & columns.keys():
        columns[name] = list(columns[name]) or None
    if "evidence" in columns:
        columns["evidence"] = [[*astuple(one)] for one in columns["evidence"]] or None
    return columns


def _write_child_rows(tx: Tx, owner: str, task_id: str, fields: Mapping[str, Any]) -> None:
    """Put tags and blockers that are among the fields in place of what the task had."""
    for side in (_CHILD_COLUMNS[name].table for name in _CHILD_COLUMNS.keys() & fields.keys()):
        tx.execute(delete(side).where(side.c.user_id == owner, side.c.task_id == task_id))
    insert_child_rows(tx, owner, task_id, fields)


def insert_child_rows(tx: Tx, owner: str, task_id: str, fields: Mapping[str, Any]) -> None:
    """Give a task that has none the tags and blockers that are among the fields."""
    for name, column in _CHILD_COLUMNS.items():
        mine = {"user_id": owner, "task_id": task_id}
        rows = [{**mine, column.name: value} for value in fields.get(name, ())]
        if rows:
            tx.execute(insert(column.table), rows)
