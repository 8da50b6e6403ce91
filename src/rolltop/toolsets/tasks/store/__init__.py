"""The SQL of tasks.

Every statement names the owner; every write is one statement whose conditions decide, so that
racing calls cannot both succeed. A task in the trash keeps its row, with `deleted_at` set, and its
edges: `parent_id` and blockers are shown only while their target lives, so a deletion hides them
and a restoration brings them back without touching another row.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
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
    tuple_,
    update,
)

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement
from rolltop.core.db.schema import users
from rolltop.core.db.types import Identifier, UTCDateTime
from rolltop.core.expiry import MAX_PURGED_ROWS
from rolltop.toolsets.tasks.models import (
    STORED_COLUMNS,
    TRASH_RETENTION,
    CheckedEvidence,
    ClaimAccess,
    Task,
    TaskFilters,
    TaskSortKey,
)
from rolltop.toolsets.tasks.store.tables import (
    next_task_order,
    ready_index_condition,
    task_blockers,
    task_tags,
    tasks,
)

Condition = ColumnElement[bool]
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
_NO_VERSION: Final = -1
"""No task's version."""
_CHILD_COLUMNS: Final = {"tags": task_tags.c.tag, "blocked_by": task_blockers.c.blocker_id}


def user_exists(tx: Tx, owner: str) -> bool:
    """Whether there is such a user."""
    return _USER_EXISTS.first(tx, {"owner": owner}) is not None


def get_task(tx: Tx, owner: str, task_id: str, *, trash: bool = False) -> Task | None:
    """Return the owner's task outside the trash, or in it; None if it is not there."""
    statement = _GET_DELETED if trash else _GET_TASK
    found = _read_tasks(tx, statement, {"owner": owner, "wanted": task_id})
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
    given = _filter_values(tx, filters)
    if after is not None:
        given |= {"after": after.id, "after_at": after.created_at}
    values = {"owner": owner, "most": limit, **given}
    return _read_tasks(tx, _page_statement(frozenset(given)), values)


def read_texts(tx: Tx, owner: str, filters: TaskFilters) -> Iterator[tuple[str, str, str | None]]:
    """Yield id, title and description of the owner's tasks, newest first."""
    given = _filter_values(tx, filters)
    rows = tx.execute(_texts_statement(frozenset(given)), {"owner": owner, **given})
    for row in rows.yield_per(_TEXTS_AT_ONCE):
        yield row.id, row.title, row.description


def read_tasks(tx: Tx, owner: str, task_ids: Sequence[str]) -> list[Task]:
    """Return those of the tasks that are visible, in the order of the ids."""
    values = {"owner": owner, "some": list(task_ids)}
    found = {task.id: task for task in _read_tasks(tx, _SOME_TASKS, values)} if task_ids else {}
    return [found[task_id] for task_id in task_ids if task_id in found]


def best_ready_tasks(
    tx: Tx, owner: str, filters: TaskFilters = _NO_FILTERS, limit: int = 1
) -> list[Task]:
    """Return the owner's ready tasks that come first: the most urgent, due first, oldest."""
    given = _filter_values(tx, filters)
    values = {"owner": owner, "now": tx.now, "most": limit, **given}
    return _read_tasks(tx, _best_ready_statement(frozenset(given)), values)


def begun_and_blocked_ids(tx: Tx, owner: str, filters: TaskFilters) -> tuple[list[str], list[str]]:
    """Return the ids of the owner's pending tasks that were claimed, and of the blocked others."""
    given = _filter_values(tx, filters)
    rows = _open_statement(frozenset(given)).rows(tx, {"owner": owner, **given})
    begun, blocked = list[str](), list[str]()
    for task_id, was_claimed in rows:
        (begun if was_claimed else blocked).append(task_id)
    return begun, blocked


def with_evidence(
    tx: Tx, owner: str, filters: TaskFilters, limit: int, *, to_reopen: bool = False
) -> list[Task]:
    """Return the owner's tasks that have evidence, the last changed first.

    With `to_reopen` those completed ones that are reopened where it changes.
    """
    given = _filter_values(tx, filters)
    has_evidence = text("evidence IS NOT NULL")
    mine = select(tasks.c.id).where(
        *(tasks.c.user_id == _OWNER, tasks.c.deleted_at.is_(None), has_evidence),
        *_filter_conditions(frozenset(given)),
    )
    if to_reopen:
        mine = mine.where(tasks.c.status == "completed", tasks.c.reopen_on_change)
    newest = mine.order_by(tasks.c.updated_at.desc()).limit(limit)
    found = tx.execute(newest, {"owner": owner, **given}).scalars()
    return read_tasks(tx, owner, list(found))


def owners_to_reopen(tx: Tx) -> list[str]:
    """List the users who have completed tasks that are reopened where their evidence changes."""
    completed = select(tasks.c.user_id).where(
        text("evidence IS NOT NULL"), tasks.c.status == "completed", tasks.c.reopen_on_change
    )
    return list(tx.execute(completed.distinct()).scalars())


def count_waiting(
    tx: Tx, owner: str, filters: TaskFilters
) -> tuple[int, int, int, datetime | None]:
    """Count the owner's pending tasks that are claimed, blocked (and not claimed) and overdue.

    The last value is the end of the lease that ends first.
    """
    given = _filter_values(tx, filters)
    statement = _waiting_statement(frozenset(given))
    claimed, blocked, overdue, until = statement.rows(tx, {"owner": owner, "now": tx.now, **given})[
        0
    ]
    return claimed or 0, blocked or 0, overdue or 0, until


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


def ready_conditions(
    owner: str | ColumnElement[str], now: datetime | ColumnElement[datetime]
) -> tuple[Condition, ...]:
    """Return the conditions of a ready task: pending, not claimed, waiting for no pending task."""
    return (tasks.c.status == "pending", ~_is_claimed(now), ~_is_blocked(owner))


def _is_claimed(now: datetime | ColumnElement[datetime]) -> Condition:
    """Return the condition that a claim of a pending task runs."""
    return tasks.c.claimed_until.is_not(None) & (tasks.c.claimed_until > now)


def _is_blocked(owner: str | ColumnElement[str]) -> Condition:
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


def _filter_values(tx: Tx, filters: TaskFilters) -> dict[str, Any]:
    """Return the values of the filters that are given, by the names of their conditions."""
    asked: dict[str, Any] = {
        "status": filters.status,
        "now": tx.now if filters.ready else None,
        "parent": filters.parent_id,
        "due": filters.due_before,
        "tag": filters.tag,
        "project": filters.project,
        "own_project": filters.own_project,
        "assignee": filters.assignee,
        "others": list(filters.others) or None,
        "changed_after": filters.changed_after,
    }
    if filters.all_tags:
        asked |= {"all_tags": list(filters.all_tags), "tag_count": len(filters.all_tags)}
    return {name: value for name, value in asked.items() if value is not None}


def _filter_conditions(given: frozenset[str]) -> list[Condition]:
    """Return the conditions that those values stand for."""
    tagged = select(task_tags.c.task_id).where(
        task_tags.c.user_id == _OWNER, task_tags.c.tag == bindparam("tag")
    )
    place = tuple_(bindparam("after_at", type_=UTCDateTime), bindparam("after", type_=Identifier))
    others = bindparam("others", expanding=True, type_=String)
    with_all_tags = (
        select(task_tags.c.task_id)
        .where(
            task_tags.c.user_id == _OWNER,
            task_tags.c.tag.in_(bindparam("all_tags", expanding=True, type_=task_tags.c.tag.type)),
        )
        .group_by(task_tags.c.task_id)
        .having(func.count() == bindparam("tag_count", type_=Integer))
    )
    conditions: dict[str, tuple[Condition, ...]] = {
        "status": (tasks.c.status == bindparam("status"),),
        "now": ready_conditions(_OWNER, _NOW),
        "parent": (tasks.c.parent_id == bindparam("parent"),),
        "due": (tasks.c.due_at < bindparam("due"),),
        "tag": (tasks.c.id.in_(tagged),),
        "project": (tasks.c.project == bindparam("project"),),
        "own_project": (
            or_(tasks.c.project == bindparam("own_project"), tasks.c.project.is_(None)),
        ),
        "assignee": (tasks.c.assignee == bindparam("assignee"),),
        "others": (or_(tasks.c.assignee.is_(None), tasks.c.assignee.not_in(others)),),
        "changed_after": (tasks.c.updated_at > bindparam("changed_after", type_=UTCDateTime),),
        "all_tags": (tasks.c.id.in_(with_all_tags),),
        "after": (tuple_(tasks.c.created_at, tasks.c.id) < place,),
    }
    return [one for name, some in conditions.items() if name in given for one in some]


@cache
def _page_statement(given: frozenset[str]) -> CompiledStatement:
    """Read a page of tasks by the filters that are given."""
    most = bindparam("most", type_=Integer)
    chosen = _SELECT_TASKS.where(*_filter_conditions(given))
    return CompiledStatement(chosen.order_by(*NEWEST_FIRST).limit(most))


@cache
def _texts_statement(given: frozenset[str]) -> Select[Any, Any, Any]:
    """Read the texts of all tasks by the filters that are given."""
    return (
        select(tasks.c.id, tasks.c.title, tasks.c.description)
        .where(tasks.c.user_id == _OWNER, tasks.c.deleted_at.is_(None), *_filter_conditions(given))
        .order_by(*NEWEST_FIRST)
    )


@cache
def _best_ready_statement(given: frozenset[str]) -> CompiledStatement:
    """Read the next tasks."""
    ready = (ready_index_condition, *ready_conditions(_OWNER, _NOW), *_filter_conditions(given))
    most = bindparam("most", type_=Integer)
    return CompiledStatement(_SELECT_TASKS.where(*ready).order_by(*next_task_order).limit(most))


@cache
def _open_statement(given: frozenset[str]) -> CompiledStatement:
    """Read which pending tasks were claimed or are blocked."""
    was_claimed = tasks.c.claimed_until.is_not(None)
    return CompiledStatement(
        select(tasks.c.id, was_claimed)
        .where(
            *(tasks.c.user_id == _OWNER, ready_index_condition, *_filter_conditions(given)),
            was_claimed | _is_blocked(_OWNER),
        )
        .order_by(*next_task_order)
    )


@cache
def _waiting_statement(given: frozenset[str]) -> CompiledStatement:
    """Count pending tasks that are not ready, by why."""
    claimed = _is_claimed(_NOW)
    counted = (claimed, ~claimed & _is_blocked(_OWNER), tasks.c.due_at < _NOW)
    return CompiledStatement(
        select(
            *(func.sum(case((one, 1), else_=0)) for one in counted),
            func.min(case((claimed, tasks.c.claimed_until))),
        ).where(tasks.c.user_id == _OWNER, ready_index_condition, *_filter_conditions(given))
    )


def _read_tasks(tx: Tx, statement: CompiledStatement, values: Mapping[str, Any]) -> list[Task]:
    """Return the tasks of a narrowed `_SELECT_TASKS`."""
    named = (dict(zip(_COLUMN_NAMES, row, strict=True)) for row in statement.rows(tx, values))
    return [_task_of_row(row, tx.now) for row in named]


def _task_of_row(row: dict[str, Any], now: datetime) -> Task:
    tags, blockers = (_split_values(row[name]) for name in ("tags", "blocked_by"))
    return Task.of_row(row, tags, (str(uuid.UUID(text)) for text in blockers), now)


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
    ready = ready_conditions(owner, tx.now)
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
        columns["evidence"] = [[one.uri, one.sha256] for one in columns["evidence"]] or None
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
