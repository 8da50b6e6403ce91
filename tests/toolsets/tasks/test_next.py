"""next_task: the plain definition, and what the database does to find it."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.models import FilterInput, Task, TaskFilters, TaskInput
from rolltop.toolsets.tasks.service import TaskService
from tests.campaign import examples

if TYPE_CHECKING:
    from rolltop.core.db import Database, Tx
    from tests.databases import Clock, MakeDatabase

TASKS = TaskService()
ALONE: Final = HealthCheck.function_scoped_fixture  # each example has a user of its own
DAYS: Final = [f"2026-03-0{day}T08:00:00Z" for day in range(1, 4)]
NEVER: Final = datetime.max.replace(tzinfo=UTC)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.sampled_from([0, 1, 4]),
        "due_at": st.sampled_from(DAYS),
        "blocked_by": st.lists(st.integers(0, 9), max_size=2, unique=True),
        "fate": st.sampled_from(["completed", "deleted", "claimed", "lapsed"]),
    },
)


def add(tx: Tx, fields: dict[str, Any], made: list[str]) -> str:
    """Return the id of a new task; its blockers are those of that number among the made."""
    numbers: list[int] = fields.get("blocked_by", [])
    blockers = [made[number] for number in numbers if number < len(made)]
    task = TaskInput("t", priority=fields.get("priority"), due_at=fields.get("due_at"))
    return TASKS.add_task(tx, replace(task, blocked_by=blockers)).id


def meet(tx: Tx, task_id: str, fate: str) -> None:
    """Let happen to the task what it was made for."""
    if fate == "completed":
        TASKS.complete_task(tx, task_id)
    elif fate == "deleted":
        TASKS.delete_task(tx, task_id)
    else:
        until = tx.now + timedelta(hours=1 if fate == "claimed" else -1)
        hold = {"claim_hash": "0" * 64, "claimed_until": until}
        store.update_fields(tx, tx.scope.user_id, task_id, hold)


def owner_of(database: Database, clock: Clock, wanted: list[dict[str, Any]]) -> Principal:
    """Return a new user who has such tasks, to whom what they were made for has happened."""
    me = Principal.for_user(database.write_sync(SYSTEM, add_user, f"{uuid.uuid4()}@example.org").id)
    made: list[str] = []
    for fields in wanted:
        made.append(database.write_sync(me, add, fields, made))
        clock.advance(seconds=len(made) % 2)
    for task_id, fields in zip(made, wanted, strict=True):
        if "fate" in fields:
            database.write_sync(me, meet, task_id, fields["fate"])
    return me


def seen(tx: Tx) -> list[Task]:
    return TASKS.list_tasks(tx, FilterInput(), limit=200)[0]


def ready_of(tasks: list[Task]) -> list[Task]:
    """Return those tasks that are ready."""
    pending = {task.id for task in tasks if task.status == "pending"}
    return [
        task
        for task in tasks
        if task.id in pending and not task.claimed_until and pending.isdisjoint(task.blocked_by)
    ]


def in_order(tasks: list[Task]) -> list[str]:
    """Return the ids of the tasks in the order that the page promises."""
    ordered = sorted(
        tasks,
        key=lambda task: (
            9 if task.priority is None else task.priority,
            task.due_at or NEVER,
            task.created_at,
            task.id,
        ),
    )
    return [task.id for task in ordered]


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[ALONE])
@given(wanted=st.lists(FIELDS, max_size=10))
def test_it_is_the_first_of_the_ready_tasks_whatever_was_taken_before(
    database: Database, clock: Clock, wanted: list[dict[str, Any]]
) -> None:
    me = owner_of(database, clock, wanted)

    def work_off(tx: Tx) -> None:
        for _ in wanted:
            expected = in_order(ready_of(seen(tx)))
            best = TASKS.next_task(tx, FilterInput())
            assert (best.id if best else None) == (expected[0] if expected else None)
            if best is not None:
                TASKS.complete_task(tx, best.id)

    database.write_sync(me, work_off)


@pytest.mark.parametrize("max_edges", [0, 2, 2000])
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[ALONE])
@given(wanted=st.lists(FIELDS, max_size=10))
def test_what_was_begun_and_what_waits_is_listed_in_the_order_of_urgency(
    database: Database, clock: Clock, max_edges: int, wanted: list[dict[str, Any]]
) -> None:
    me = owner_of(database, clock, wanted)
    tasks = database.read_sync(me, seen)
    pending = {task.id for task in tasks if task.status == "pending"}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "MAX_EDGES", max_edges)
        found = database.read_sync(me, lambda tx: TASKS.list_open(tx, "", ready=0, limit=200))
    left = [task for task in tasks if task.id in pending]
    begun = [task for task in left if task.claimed_until or task.lapsed_at]
    waiting = [task for task in left if not pending.isdisjoint(task.blocked_by)]
    blocked = [task for task in waiting if task not in begun]
    assert [task.id for task in found.begun] == in_order(begun)
    assert [task.id for task in found.blocked] == in_order(blocked)


def plans(tx: Tx) -> list[str]:
    """Return the database's plans for the next task, the trash and tasks that were begun.

    The user has tasks, none of them begun: of a few rows PostgreSQL would read any index.
    """
    for number in range(200):
        TASKS.add_task(tx, TaskInput(f"task {number}"))
    if tx.kind == "postgresql":
        tx.connection.exec_driver_sql("ANALYZE tasks")
        tx.connection.exec_driver_sql("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    sent: list[tuple[str, Any]] = []

    def keep(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        sent.append((statement, values))

    event.listen(tx.connection, "before_cursor_execute", keep)
    store.best_ready_tasks(tx, tx.scope.user_id)
    store.purge_trash(tx)
    store.begun_and_blocked_ids(tx, tx.scope.user_id, TaskFilters())
    event.remove(tx.connection, "before_cursor_execute", keep)
    explain = "EXPLAIN QUERY PLAN" if tx.kind == "sqlite" else "EXPLAIN"
    answers = [tx.connection.exec_driver_sql(f"{explain} {one}", values) for one, values in sent]
    return ["\n".join(str(row[-1]) for row in answer) for answer in answers]


@pytest.mark.parametrize("kind", ["sqlite_url", "migrated_url"])
def test_it_is_read_off_an_index_and_nothing_is_sorted_or_read_through(
    kind: str, request: pytest.FixtureRequest, make_database: MakeDatabase
) -> None:
    # A store of its own: in one that was only emptied, dead rows and old statistics decide.
    database = make_database(request.getfixturevalue(kind))
    me = Principal.for_user(database.write_sync(SYSTEM, add_user, "me@example.org").id)
    best, purge, begun, *_ = database.write_sync(me, plans)
    assert "USING INDEX ix_tasks_next" in best.replace("Index Scan using", "USING INDEX")
    assert not re.search(r"\bSCAN\b|Seq Scan|TEMP B-TREE|Sort", best), best
    assert not re.search(r"ix_tasks_deleted_at", best), "it holds the trash only"
    assert "ix_tasks_deleted_at" in purge
    assert "ix_tasks_begun" in begun
