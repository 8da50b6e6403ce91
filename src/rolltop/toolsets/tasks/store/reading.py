"""Reads, and the conditions that reads and writes share."""

from __future__ import annotations

import uuid
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ColumnElement,
    Integer,
    String,
    bindparam,
    cast,
    func,
    select,
    tuple_,
)

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.schema import users
from rolltop.core.db.types import Identifier, UTCDateTime
from rolltop.toolsets.tasks.models import Place, Task, Wanted
from rolltop.toolsets.tasks.store.tables import next_first, task_blockers, task_tags, tasks, waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rolltop.core.db import Tx

Condition = ColumnElement[bool]
_AS_STORED: Final = (
    *("id", "title", "description", "status", "created_at", "updated_at", "version"),
    *("priority", "due_at", "links", "claimed_until"),
)
_BETWEEN: Final = "\n"  # a tag is one line, so joined tags come apart again
_OWNER: Final = bindparam("owner", type_=Identifier)
_NOW: Final = bindparam("now", type_=UTCDateTime)
_parent: Final = tasks.alias("shown_parent")
_shown_blocker: Final = tasks.alias("shown_blocker")
_blocker: Final = tasks.alias("blocker")
_gathered: Final = {
    "parent_id": select(_parent.c.id).where(
        _parent.c.user_id == _OWNER,
        _parent.c.id == tasks.c.parent_id,
        _parent.c.deleted_at.is_(None),
    ),
    "tags": select(func.aggregate_strings(task_tags.c.tag, _BETWEEN)).where(
        task_tags.c.user_id == _OWNER, task_tags.c.task_id == tasks.c.id
    ),
    "blocked_by": select(func.aggregate_strings(cast(_shown_blocker.c.id, String), _BETWEEN))
    .join_from(task_blockers, _shown_blocker, _shown_blocker.c.id == task_blockers.c.blocker_id)
    .where(
        task_blockers.c.user_id == _OWNER,
        task_blockers.c.task_id == tasks.c.id,
        _shown_blocker.c.user_id == _OWNER,
        _shown_blocker.c.deleted_at.is_(None),
    ),
}
_SHOWN: Final = select(
    *(tasks.c[name] for name in _AS_STORED),
    *(part.correlate(tasks).scalar_subquery().label(name) for name, part in _gathered.items()),
).where(tasks.c.user_id == _OWNER, tasks.c.deleted_at.is_(None))
"""The one SELECT by which tasks are read: all that a Task holds."""

_NAMES: Final = (*_AS_STORED, *_gathered)
_ONE: Final = Prepared(_SHOWN.where(tasks.c.id == bindparam("wanted", type_=Identifier)))
_USER: Final = Prepared(select(users.c.id).where(users.c.id == _OWNER))


def exists(tx: Tx, owner: str) -> bool:
    """Whether there is such a user."""
    return _USER.first(tx, {"owner": owner}) is not None


def get(tx: Tx, owner: str, task_id: str) -> Task | None:
    """Return the owner's task, or None where it is missing, in the trash or another's."""
    found = _tasks(tx, _ONE, {"owner": owner, "wanted": task_id})
    return found[0] if found else None


def hold(tx: Tx, owner: str, task_id: str) -> Task | None:
    """Return the owner's task as `get` does, its row locked to the transaction's end.

    Two statements: PostgreSQL would read tags and blockers as they were before the wait.
    """
    tx.execute(
        select(tasks.c.id)
        .where(tasks.c.id == task_id, tasks.c.user_id == owner)
        .with_for_update(key_share=True)
    )
    return get(tx, owner, task_id)


def page(tx: Tx, owner: str, wanted: Wanted, after: Place | None, limit: int) -> list[Task]:
    """Return up to `limit` of the owner's tasks after a place, newest first."""
    asked: dict[str, Any] = {
        "status": wanted.status,
        "now": tx.now if wanted.ready else None,
        "parent": wanted.parent_id,
        "due": wanted.due_before,
        "tag": wanted.tag,
        "after": after and after.id,
        "after_at": after and after.created_at,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    values = {"owner": owner, "most": limit, **given}
    return _tasks(tx, _page(frozenset(given)), values)


def best_ready(tx: Tx, owner: str) -> Task | None:
    """Return the owner's ready task that is the most urgent, due first, oldest; or None."""
    found = _tasks(tx, _best(), {"owner": owner, "now": tx.now})
    return found[0] if found else None


def living(tx: Tx, owner: str, task_ids: Iterable[str]) -> set[str]:
    """Return those of the ids that are tasks of the owner outside the trash."""
    found = select(tasks.c.id).where(*live(owner), tasks.c.id.in_(list(task_ids)))
    return set(tx.execute(found).scalars())


def newest_titles(tx: Tx, owner: str, limit: int) -> list[tuple[str, str]]:
    """Return id and title of the owner's newest tasks."""
    newest = (tasks.c.created_at.desc(), tasks.c.id.desc())
    rows = tx.execute(
        select(tasks.c.id, tasks.c.title).where(*live(owner)).order_by(*newest).limit(limit)
    )
    return [(row.id, row.title) for row in rows]


def holds(tx: Tx, owner: str, task_id: str, claim_hash: str) -> bool:
    """Whether the hash is that of the task's last claim, running or not."""
    same = select(tasks.c.id).where(
        *live(owner), tasks.c.id == task_id, tasks.c.claim_hash == claim_hash
    )
    return tx.execute(same).first() is not None


def live(owner: str) -> tuple[Condition, ...]:
    """Return what makes a task visible: it is the owner's, and outside the trash."""
    return (tasks.c.user_id == owner, tasks.c.deleted_at.is_(None))


def ready(
    owner: str | ColumnElement[str], now: datetime | ColumnElement[datetime]
) -> tuple[Condition, ...]:
    """Return what makes a task ready: pending, not claimed, waiting for no pending task."""
    # As a value of each edge, not a join: SQLite would begin the join with all pending tasks.
    status = (
        select(_blocker.c.status)
        .where(
            _blocker.c.user_id == owner,
            _blocker.c.id == task_blockers.c.blocker_id,
            _blocker.c.deleted_at.is_(None),
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
def _page(given: frozenset[str]) -> Prepared:
    """Return what reads a page of tasks by the filters that are given."""
    tagged = select(task_tags.c.task_id).where(
        task_tags.c.user_id == _OWNER, task_tags.c.tag == bindparam("tag")
    )
    place = tuple_(bindparam("after_at", type_=UTCDateTime), bindparam("after", type_=Identifier))
    conditions: dict[str, tuple[Condition, ...]] = {
        "status": (tasks.c.status == bindparam("status"),),
        "now": ready(_OWNER, _NOW),
        "parent": (tasks.c.parent_id == bindparam("parent"),),
        "due": (tasks.c.due_at < bindparam("due"),),
        "tag": (tasks.c.id.in_(tagged),),
        "after": (tuple_(tasks.c.created_at, tasks.c.id) < place,),
    }
    chosen = [one for name, some in conditions.items() if name in given for one in some]
    newest = (tasks.c.created_at.desc(), tasks.c.id.desc())
    most = bindparam("most", type_=Integer)
    return Prepared(_SHOWN.where(*chosen).order_by(*newest).limit(most))


@cache
def _best() -> Prepared:
    """Return what reads the next task."""
    return Prepared(_SHOWN.where(waiting, *ready(_OWNER, _NOW)).order_by(*next_first).limit(1))


def _tasks(tx: Tx, statement: Prepared, values: Mapping[str, Any]) -> list[Task]:
    """Return the tasks of a narrowed `_SHOWN`."""
    return [_task(row, tx.now) for row in statement.rows(tx, values)]


def _task(row: Sequence[Any], now: datetime) -> Task:
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    until: datetime | None = values.pop("claimed_until")
    if values["status"] == "completed":
        until = None
    runs = until is not None and until > now
    values |= {
        "tags": _parts(values["tags"]),
        "blocked_by": tuple(str(uuid.UUID(text)) for text in _parts(values["blocked_by"])),
        "links": tuple(values["links"] or ()),
        "claimed_until": until if runs else None,
        "lapsed_at": None if runs else until,
    }
    return Task(**values)


def _parts(joined: str | None) -> tuple[str, ...]:
    """Return texts that `aggregate_strings` joined, sorted."""
    return tuple(sorted(joined.split(_BETWEEN))) if joined else ()
