"""What tasks hang on: blockers, parents, cycles; and what a deletion hides and brings back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.service import TaskInput, TaskService
from tests.desks import answer_of, make_desk
from tests.growth import count_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database, Tx
    from tests.databases import Clock
    from tests.toolsets.tasks.caller import Caller


def test_next_task_is_the_most_urgent_then_the_first_due_then_the_oldest(
    mine: Caller, clock: Clock
) -> None:
    assert mine.whole("next_task") == {"success": True, "data": None}
    expected = ["urgent", "soon", "later", "some day", "oldest", "newest"]
    fields: dict[str, dict[str, object]] = {
        "oldest": {},
        "newest": {},
        "some day": {"priority": 4},
        "later": {"priority": 1, "due_at": "2026-09-01T00:00:00Z"},
        "soon": {"priority": 1, "due_at": "2026-08-01T00:00:00Z"},
        "urgent": {"priority": 0},
    }
    for title, given in fields.items():
        mine.add(title, **given)
        clock.advance(seconds=1)
    order: list[str] = []
    while (task := mine.ok("next_task")) is not None:
        order.append(task["title"])
        mine.ok("complete_task", task_id=task["task_id"])
    assert order == expected


def test_a_blocked_task_is_not_ready_until_every_blocker_is_completed(mine: Caller) -> None:
    first, second = mine.add("first"), mine.add("second")
    last = mine.add("last", priority=0, blocked_by=[first, second, first])
    assert mine.task(last)["blocked_by"] == sorted([first, second])
    assert set(mine.titles(ready=True)) == {"first", "second"}
    mine.ok("complete_task", task_id=first)
    assert mine.titles(ready=True) == ["second"]
    mine.ok("complete_task", task_id=second)
    assert mine.ok("next_task")["task_id"] == last
    mine.ok("reopen_task", task_id=first)
    assert mine.ok("next_task")["task_id"] == first


def test_deleting_a_blocker_unblocks_and_its_restoration_blocks_again(mine: Caller) -> None:
    blocker = mine.add("blocker")
    waiting = mine.ok("add_task", title="waiting", blocked_by=[blocker])
    mine.ok("delete_task", task_id=blocker)
    shown = mine.task(waiting["task_id"])
    assert "blocked_by" not in shown
    assert (shown["version"], shown["updated_at"]) == (1, waiting["updated_at"])
    assert mine.ok("next_task")["title"] == "waiting"
    mine.ok("restore_task", task_id=blocker)
    assert mine.task(waiting["task_id"]) == waiting
    assert mine.ok("next_task")["title"] == "blocker"


def test_deleting_a_parent_leaves_children_without_it_and_its_restoration_brings_it_back(
    mine: Caller,
) -> None:
    parent = mine.add("parent")
    child = mine.ok("add_task", title="child", parent_id=parent)
    mine.ok("delete_task", task_id=parent)
    assert "parent_id" not in mine.task(child["task_id"])
    assert mine.code("list_tasks", parent_id=parent) == "NOT_FOUND"
    mine.ok("restore_task", task_id=parent)
    assert mine.task(child["task_id"]) == child


def test_a_child_moved_while_its_parent_was_away_stays_where_it_was_put(mine: Caller) -> None:
    old, new = mine.add("old"), mine.add("new")
    child = mine.add("child", parent_id=old)
    mine.ok("delete_task", task_id=old)
    mine.ok("update_task", task_id=child, parent_id=new)
    mine.ok("restore_task", task_id=old)
    assert mine.task(child)["parent_id"] == new


def test_no_task_may_wait_for_itself(mine: Caller) -> None:
    a = mine.add("a")
    b = mine.add("b", blocked_by=[a])
    c = mine.add("c", blocked_by=[b])
    for blockers in ([a], [b], [c], [mine.add("free"), c]):
        error = mine.fails("update_task", task_id=a, blocked_by=blockers)
        assert error["code"] == "CYCLE"
        assert blockers[-1] in error["error"]
    assert "blocked_by" not in mine.task(a)
    mine.ok("delete_task", task_id=b)
    assert mine.ok("update_task", task_id=a, blocked_by=[c])["blocked_by"] == [c]


def test_no_task_may_lie_below_itself(mine: Caller) -> None:
    a = mine.add("a")
    b = mine.add("b", parent_id=a)
    c = mine.add("c", parent_id=b)
    for parent in (a, b, c):
        error = mine.fails("update_task", task_id=a, parent_id=parent)
        assert error["code"] == "CYCLE"
    assert mine.ok("update_task", task_id=c, parent_id=a)["parent_id"] == a


def test_a_restoration_leaves_out_what_would_close_a_cycle(mine: Caller) -> None:
    c = mine.add("c")
    b = mine.add("b", blocked_by=[c], parent_id=c)
    a = mine.add("a", blocked_by=[b], parent_id=b)
    mine.ok("delete_task", task_id=b)
    mine.ok("update_task", task_id=c, blocked_by=[a], parent_id=a)
    restored = mine.ok("restore_task", task_id=b)
    assert "blocked_by" not in restored
    assert "parent_id" not in restored
    assert mine.task(a)["blocked_by"] == [b]
    assert mine.task(a)["parent_id"] == b
    assert mine.task(c)["blocked_by"] == [a]


def test_blockers_and_parents_must_be_the_callers_own_living_tasks(
    mine: Caller, theirs: Caller
) -> None:
    task, gone, foreign = mine.add(), mine.add(), theirs.add()
    mine.ok("delete_task", task_id=gone)
    for other in (gone, foreign):
        for fields in ({"blocked_by": [task, other]}, {"parent_id": other}):
            error = mine.fails("add_task", title="x", **fields)
            assert error["error"] == "Task not found or access denied"
            assert other in error["hint"]
            other_task = mine.add()
            assert mine.code("update_task", task_id=other_task, **fields) == "NOT_FOUND"


def test_a_deep_chain_is_followed_to_its_end(mine: Caller) -> None:
    chain = [mine.add("0")]
    for n in range(1, 60):
        chain.append(mine.add(str(n), blocked_by=[chain[-1]], parent_id=chain[-1]))
    assert mine.code("update_task", task_id=chain[0], blocked_by=[chain[-1]]) == "CYCLE"
    assert mine.code("update_task", task_id=chain[0], parent_id=chain[-1]) == "CYCLE"


def test_a_restored_task_is_as_it_was_and_only_once(mine: Caller, clock: Clock) -> None:
    before = mine.ok(
        "add_task",
        title="t",
        description="d",
        priority=3,
        tags=["x"],
        links=["rolltop://note/1"],
        due_at="2026-05-01T10:00:00Z",
    )
    clock.advance(hours=1)
    mine.ok("delete_task", task_id=before["task_id"])
    for tool in ("complete_task", "reopen_task", "claim_task", "delete_task"):
        assert mine.code(tool, task_id=before["task_id"]) == "NOT_FOUND"
    clock.advance(days=29)
    after = mine.ok("restore_task", task_id=before["task_id"])
    assert after == {**before, "version": 3, "updated_at": after["updated_at"]}
    assert mine.code("restore_task", task_id=before["task_id"]) == "NOT_FOUND"


def test_the_trash_is_emptied_after_30_days_and_never_before(
    mine: Caller, theirs: Caller, clock: Clock, database: Database
) -> None:
    parent, kept = mine.add("parent"), mine.add("kept")
    child = mine.add("child", parent_id=parent, blocked_by=[parent])
    late = theirs.add("late")
    mine.ok("delete_task", task_id=parent)
    clock.advance(microseconds=1)
    theirs.ok("delete_task", task_id=late)
    clock.advance(days=30, microseconds=-1)
    assert mine.code("restore_task", task_id=parent) == "NOT_FOUND"
    assert database.write_sync(SYSTEM, store.purge_trash) == 1
    theirs.ok("restore_task", task_id=late)
    assert set(mine.titles()) == {"kept", "child"}
    assert set(mine.titles(ready=True)) == {"kept", "child"}
    assert "parent_id" not in mine.task(child)
    assert mine.task(kept)["title"] == "kept"


def test_a_task_deleted_while_the_clock_stood_back_is_restored(mine: Caller, clock: Clock) -> None:
    task = mine.add("kept")
    clock.advance(days=-365)
    mine.ok("delete_task", task_id=task)
    clock.advance(days=365 + 29)
    assert mine.ok("restore_task", task_id=task)["title"] == "kept"


@pytest.mark.parametrize("field", ["blocked_by", "parent_id"])
def test_a_cycle_is_looked_for_among_what_a_task_hangs_on_and_no_others(
    database: Database, field: str
) -> None:
    me = Principal.for_user(database.write_sync(SYSTEM, add_user, "me@example.org").id)
    desk = make_desk(database)

    def wrap(one: Any) -> Any:
        return [one] if field == "blocked_by" else one

    def add_chain() -> str:
        tasks: list[dict[str, Any]] = [{"title": "a", field: wrap(at)} for at in range(20)]
        made = answer_of(desk, me, "add_task", tasks=[{"title": "first"}, *tasks])["data"]
        return made[-1]["task_id"]

    def update(tx: Tx) -> int:
        service = desk.load_service("rolltop.toolsets.tasks.service:TaskService")
        assert isinstance(service, TaskService)
        wanted = TaskInput(**{field: wrap(last)})

        def call() -> None:
            service.update_task(tx, single, wanted)

        return count_steps(tx, call) if tx.kind == "sqlite" else _count_rows_read(tx, call)

    last, single = add_chain(), answer_of(desk, me, "add_task", title="b")["data"]["task_id"]
    few = database.write_sync(me, update)
    for _ in range(20):
        add_chain()
    last, single = add_chain(), answer_of(desk, me, "add_task", title="b")["data"]["task_id"]
    assert database.write_sync(me, update) < 2 * few


def _count_rows_read(tx: Tx, call: Callable[[], None]) -> int:
    tx.connection.exec_driver_sql("ANALYZE tasks, task_blockers")
    read = """SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables
        WHERE relname IN ('tasks', 'task_blockers')"""
    before = tx.connection.exec_driver_sql(read).scalar_one()
    call()
    return tx.connection.exec_driver_sql(read).scalar_one() - before
