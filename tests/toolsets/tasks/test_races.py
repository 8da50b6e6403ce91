"""Calls at the same moment: exactly one wins, none is lost, none is told the store is down."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import RolltopError
from rolltop.toolsets.tasks.models import Claim, FilterInput, TaskInput
from rolltop.toolsets.tasks.service import TaskService
from tests import forks
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.toolsets.tasks.caller import Caller

TASKS = TaskService()
TOGETHER = 4
ROUNDS = 4


def at_once(
    database: Database, scope: Principal, calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]
) -> list[Any]:
    """Return what each call answered, or its code, all made at the same moment."""
    barrier = threading.Barrier(len(calls), timeout=PATIENCE)

    def run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        barrier.wait()
        try:
            return database.write_sync(scope, function, *arguments)
        except RolltopError as error:
            return error.code

    with ThreadPoolExecutor(len(calls)) as threads:
        futures = [threads.submit(run, *call) for call in calls]
        return [future.result(PATIENCE) for future in futures]


def test_one_of_several_deletes_succeeds(database: Database, me: Principal, mine: Caller) -> None:
    for _ in range(ROUNDS):
        task = mine.add()
        answers = at_once(database, me, [(TASKS.delete_task, (task,))] * TOGETHER)
        assert Counter(answers) == {task: 1, "NOT_FOUND": TOGETHER - 1}


def test_one_of_several_claims_wins_and_only_its_token_is_good(
    database: Database, me: Principal, mine: Caller
) -> None:
    for _ in range(ROUNDS):
        task = mine.add()
        answers = at_once(database, me, [(TASKS.claim_task, (task, 60))] * TOGETHER)
        won = [answer for answer in answers if isinstance(answer, Claim)]
        assert len(won) == 1
        assert answers.count("CONFLICT") == TOGETHER - 1
        assert mine.ok("complete_task", task_id=task, token=won[0].token)


def test_of_several_takeovers_the_last_one_holds_and_each_is_noted(
    database: Database, me: Principal, mine: Caller
) -> None:
    for _ in range(ROUNDS):
        task = mine.add()
        mine.ok("claim_task", task_id=task)
        take = partial(TASKS.claim_task, force=True)
        answers = at_once(database, me, [(take, (task, 60))] * TOGETHER)
        assert len(mine.ok("get_task", task_id=task)["comments"]) == TOGETHER
        last = max(answers, key=lambda claim: claim.task.version)
        for claim in sorted(answers, key=lambda claim: claim is last):
            done = mine.code if claim is not last else mine.ok
            assert done("complete_task", task_id=task, token=claim.token)


def test_comments_at_once_are_all_kept(database: Database, me: Principal, mine: Caller) -> None:
    task = mine.add()
    calls = [
        (partial(TASKS.update_task, comment=str(n)), (task, TaskInput())) for n in range(TOGETHER)
    ]
    at_once(database, me, calls)
    lines = mine.ok("get_task", task_id=task)["comments"]
    assert sorted(line["text"] for line in lines) == [str(n) for n in range(TOGETHER)]


def test_one_of_several_updates_from_the_same_version_wins(
    database: Database, me: Principal, mine: Caller
) -> None:
    for _ in range(ROUNDS):
        task = mine.add()
        calls = [
            (TASKS.update_task, (task, TaskInput(title=f"by {n}", tags=[str(n)]), None, 1))
            for n in range(TOGETHER)
        ]
        answers = at_once(database, me, calls)
        won = [answer for answer in answers if not isinstance(answer, str)]
        assert len(won) == 1
        assert answers.count("CONFLICT") == TOGETHER - 1
        assert mine.task(task) == won[0].data


def test_completing_at_once_succeeds_for_all_and_changes_the_task_once(
    database: Database, me: Principal, mine: Caller
) -> None:
    for _ in range(ROUNDS):
        task = mine.add()
        answers = at_once(database, me, [(TASKS.complete_task, (task,))] * TOGETHER)
        assert [answer.version for answer in answers] == [2] * TOGETHER


def test_one_of_several_restorations_succeeds(
    database: Database, me: Principal, mine: Caller
) -> None:
    for _ in range(ROUNDS):
        task = mine.add()
        mine.ok("delete_task", task_id=task)
        answers = at_once(database, me, [(TASKS.restore_task, (task,))] * TOGETHER)
        assert answers.count("NOT_FOUND") == TOGETHER - 1


@pytest.mark.parametrize("kind", ["blocked_by", "parent_id"])
def test_two_tasks_never_come_to_hang_on_each_other(
    database: Database, me: Principal, mine: Caller, kind: str
) -> None:
    for _ in range(ROUNDS):
        a, b, c = mine.add("a"), mine.add("b"), mine.add("c")
        given = {
            task: TaskInput(blocked_by=[other])
            if kind == "blocked_by"
            else TaskInput(parent_id=other)
            for task, other in ((a, b), (b, c), (c, a))
        }
        calls = [(TASKS.update_task, (task, given[task])) for task in given]
        answers = at_once(database, me, calls)
        assert answers.count("CYCLE") == 1
        hanging = [task for task in (a, b, c) if kind in mine.task(task)]
        assert len(hanging) == 2


def test_updates_of_other_fields_at_once_are_all_kept(
    database: Database, me: Principal, mine: Caller
) -> None:
    blocker = mine.add("blocker")
    for _ in range(ROUNDS):
        task = mine.add()
        changes = [
            TaskInput(title="new"),
            TaskInput(tags=["t"]),
            TaskInput(blocked_by=[blocker]),
            TaskInput(priority=1),
        ]
        answers = at_once(database, me, [(TASKS.update_task, (task, g)) for g in changes])
        assert not [answer for answer in answers if isinstance(answer, str)]
        shown = mine.task(task)
        assert (shown["title"], shown["tags"], shown["blocked_by"], shown["priority"]) == (
            "new",
            ["t"],
            [blocker],
            1,
        )
        assert shown["version"] == 1 + len(changes)


def race(url: str, user: str, *arguments: str) -> list[list[str]]:
    """Return what each of four processes saw acknowledged, started at the same moment."""
    return forks.race([["-m", "tests.toolsets.tasks.racer", url, user, *arguments]] * TOGETHER)


def test_four_processes_append_and_nothing_acknowledged_is_lost(
    database: Database, database_url: str, me: Principal
) -> None:
    acknowledged = [
        task for seen in race(database_url, me.user_id, "append", "40") for task in seen
    ]
    assert len(acknowledged) == TOGETHER * 40
    kept, more = database.read_sync(me, TASKS.list_tasks, FilterInput(), limit=200)
    assert not more
    assert {task.id for task in kept} == set(acknowledged)


@pytest.mark.parametrize("verb", ["claim", "delete"])
def test_of_four_processes_one_gets_each_task(
    database: Database, database_url: str, me: Principal, mine: Caller, verb: str
) -> None:
    tasks = [mine.add(str(n)) for n in range(25)]
    won = [task for seen in race(database_url, me.user_id, verb, *tasks) for task in seen]
    assert sorted(won) == sorted(tasks)
    assert database.read_sync(me, TASKS.next_task, FilterInput()) is None
