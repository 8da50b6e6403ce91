"""list_tasks: order, filters, pages, budgets."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import cursor as cursors
from rolltop.core import token_counter
from rolltop.core.principal import Principal
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.input_checks import task_filters
from rolltop.toolsets.tasks.models import FilterInput
from tests.contracts.statements import watched
from tests.desks import make_desk
from tests.toolsets.tasks.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.db import Database, Tx
    from tests.databases import Clock, MakeDatabase


def pages(caller: Caller, **arguments: object) -> list[list[str]]:
    """Return the ids of each page, every page asked for with the call its predecessor gave."""
    answer = caller.whole("list_tasks", **arguments)
    found = [[task["task_id"] for task in answer["data"]]]
    while answer.get("next_cursor"):
        assert answer["truncated"] is True
        assert answer["next"]["arguments"]["cursor"] == answer["next_cursor"]
        answer = caller.whole(answer["next"]["tool"], **answer["next"]["arguments"])
        found.append([task["task_id"] for task in answer["data"]])
        assert len(found) < 500
    return found


def test_an_empty_list_is_a_success(mine: Caller) -> None:
    assert mine.whole("list_tasks") == {"success": True, "data": []}


def test_newest_come_first_and_equal_moments_are_ordered_by_id(mine: Caller, clock: Clock) -> None:
    same = sorted((mine.add(f"a{n}") for n in range(5)), reverse=True)
    clock.advance(microseconds=1)
    latest = mine.add("latest")
    assert [task["task_id"] for task in mine.ok("list_tasks")] == [latest, *same]


@pytest.mark.parametrize("limit", [1, 3, 7, 8, 200])
def test_pages_hold_each_task_once_in_the_order_of_the_whole(
    mine: Caller, clock: Clock, limit: int
) -> None:
    for n in range(7):
        mine.add(f"t{n}")
        clock.advance(seconds=n % 2)
    whole = [task["task_id"] for task in mine.ok("list_tasks")]
    parts = pages(mine, limit=limit)
    assert list(chain(*parts)) == whole
    assert all(len(part) == limit for part in parts[:-1])


def test_pages_lose_and_repeat_nothing_that_was_there_while_others_write(
    mine: Caller, clock: Clock
) -> None:
    ids: list[str] = []
    for n in range(9):
        ids.insert(0, mine.add(f"t{n}"))
        clock.advance(seconds=1)
    seen: list[str] = []
    answer = mine.whole("list_tasks", limit=2)
    for turn in range(5):
        seen += [task["task_id"] for task in answer["data"]]
        mine.add(f"new {turn}")
        mine.ok("update_task", task_id=ids[turn], title="changed")
        mine.ok("delete_task", task_id=ids[turn] if ids[turn] in seen else mine.add())
        if "next" in answer:
            answer = mine.whole("list_tasks", **answer["next"]["arguments"])
    assert seen == ids


def test_the_cursor_of_a_deleted_task_still_goes_on(mine: Caller, clock: Clock) -> None:
    for title in ("third", "second", "first"):
        mine.add(title)
        clock.advance(seconds=1)
    answer = mine.whole("list_tasks", limit=1)
    mine.ok("delete_task", task_id=answer["data"][0]["task_id"])
    assert mine.titles(cursor=answer["next_cursor"]) == ["second", "third"]


def test_a_search_goes_on_with_what_came_next_though_what_was_shown_is_done(mine: Caller) -> None:
    added = [mine.add(f"Mend the hull {number}") for number in range(6)]
    asked = {"q": "hull", "status": "pending", "limit": 2}
    shown: list[str] = []
    answer = mine.whole("list_tasks", **asked)
    while True:
        shown += [task["task_id"] for task in answer["data"]]
        for task in answer["data"]:
            mine.ok("complete_task", task_id=task["task_id"])
        if "next_cursor" not in answer:
            break
        answer = mine.whole("list_tasks", **asked, cursor=answer["next_cursor"])
    assert sorted(shown) == sorted(added)


def test_a_search_says_so_where_what_came_next_is_gone(mine: Caller) -> None:
    for number in range(4):
        mine.add(f"Mend the hull {number}")
    asked = {"q": "hull", "status": "pending", "limit": 2}
    answer = mine.whole("list_tasks", **asked)
    for task in mine.whole("list_tasks", **asked, cursor=answer["next_cursor"])["data"]:
        mine.ok("delete_task", task_id=task["task_id"])
    assert mine.code("list_tasks", **asked, cursor=answer["next_cursor"]) == "INVALID_CURSOR"


def test_each_filter_keeps_what_it_says(mine: Caller) -> None:
    plain = mine.add("plain")
    mine.add("tagged", tags=["home", "Home"])
    mine.add("child", parent_id=plain, due_at="2026-05-01T00:00:00Z")
    mine.add("late", due_at="2026-06-01T00:00:00+01:00")
    mine.add("waiting", blocked_by=[plain])
    mine.ok("complete_task", task_id=mine.add("done"))
    assert mine.titles(status="completed") == ["done"]
    assert set(mine.titles(status="pending")) == {"plain", "tagged", "child", "late", "waiting"}
    assert set(mine.titles(ready=True)) == {"plain", "tagged", "child", "late"}
    assert mine.titles(tag="Home") == ["tagged"]
    assert mine.titles(tag="HOME") == ["tagged"]
    assert mine.titles(tag="hom") == []
    assert mine.titles(parent_id=plain) == ["child"]
    assert mine.titles(due_before="2026-05-31T23:00:00Z") == ["child"]
    assert set(mine.titles(due_before="2026-05-31T23:00:00.000001Z")) == {"child", "late"}
    assert mine.titles(tag="home", parent_id=plain) == []
    assert mine.titles(ready=False, status="completed") == ["done"]


def test_a_cut_list_keeps_its_filters(mine: Caller) -> None:
    for n in range(6):
        mine.add(f"t{n}", tags=["odd"] if n % 2 else [])
    assert [len(part) for part in pages(mine, limit=1, tag="odd")] == [1, 1, 1]


@pytest.mark.parametrize("limit", [200, 1000, 5000])
def test_long_lists_fit_any_budget_and_are_read_to_the_end(mine: Caller, limit: int) -> None:
    ids = {mine.add(f"t{n}", description=f"{n} " + "wörter 😀 " * 199) for n in range(40)}
    answer = mine.whole("list_tasks", max_tokens=limit)
    assert (
        token_counter.count(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= limit
    )
    parts = pages(mine, max_tokens=limit)
    assert all(parts)
    assert sorted(chain(*parts)) == sorted(ids)


def test_of_the_last_task_that_was_cut_the_next_call_gets_the_whole(mine: Caller) -> None:
    description = "wörter 😀 " * 199
    mine.add("t", description=description)
    cut = mine.whole("list_tasks", max_tokens=200)
    assert cut["truncated"] is True
    assert cut["data"][0]["description"].endswith("…")
    assert cut.get("next_cursor") is None
    whole = mine.whole(cut["next"]["tool"], **cut["next"]["arguments"])
    assert [task["description"] for task in whole["data"]] == [description.strip()]
    assert "truncated" not in whole


def test_a_task_with_every_list_full_is_read_within_the_least_budget(mine: Caller) -> None:
    others = [mine.add(f"other {n}") for n in range(9)]
    links = [f"rolltop://note/{n}{'x' * 400}" for n in range(9)]
    full = mine.add("full", tags=[f"tag {n}" for n in range(50)], links=links, blocked_by=others)
    assert full in list(chain(*pages(mine, max_tokens=200)))


def test_a_write_is_acknowledged_however_small_answers_must_be(
    database: Database, me: Principal
) -> None:
    small = Caller(make_desk(database, settings={"max_result_tokens": 200}), me)
    blockers = [small.add(f"blocker {n}") for n in range(9)]
    answer = small.whole(
        "add_task",
        title="é" * 200,
        description="ü" * 2000,
        priority=1,
        due_at="2026-12-01T00:00:00Z",
        tags=[f"tag {n}" for n in range(50)],
        parent_id=blockers[0],
        blocked_by=blockers,
        links=[f"rolltop://note/{n}" for n in range(50)],
    )
    assert answer["truncated"] is True
    assert set(answer["data"]["omitted"]) == {"tags", "links", "blocked_by"}
    kept = Caller(make_desk(database), me).task(answer["data"]["task_id"])
    assert len(kept["tags"]) == len(kept["links"]) == 50


@pytest.mark.parametrize(
    "forged",
    [
        " ",
        "!!",
        "x" * 10_000,
        cursors.encode("notes", ["A" * 32]),
        cursors.encode("tasks", []),
        cursors.encode("tasks", ["A" * 32, "A" * 32]),
        cursors.encode("tasks", ["A" * 28]),
        cursors.encode("tasks", ["f" * 32]),
        cursors.encode("tasks", ["_" * 31 + "é"]),
        cursors.encode("tasks", [{"a": []}]),
        cursors.encode("tasks", [None]),
    ],
)
def test_a_cursor_is_never_trusted(mine: Caller, forged: str) -> None:
    mine.add()
    error = mine.fails("list_tasks", cursor=forged)
    assert error["code"] == "INVALID_CURSOR"


def test_a_cursor_goes_on_the_list_that_answered_it_alone(mine: Caller, them: Principal) -> None:
    parent = mine.add("parent")
    more = {"parent_id": parent, "due_at": "2026-05-01T00:00:00Z"}
    for n in range(4):
        mine.add(f"t{n}", tags=["a", "b"], **more)
    lists: list[dict[str, Any]] = [
        {},
        {"status": "pending"},
        {"tag": "a"},
        {"tag": "b"},
        {"ready": True},
        {"parent_id": parent},
        {"due_before": "2026-06-01T00:00:00Z"},
        {"user_id": them.user_id},
    ]
    for given in lists[:-1]:
        cursor = mine.whole("list_tasks", limit=1, **given)["next_cursor"]
        mine.ok("list_tasks", cursor=cursor, limit=2, max_tokens=500, **given)
        for other in lists:
            if other != given:
                error = mine.fails("list_tasks", cursor=cursor, **other)
                assert error["code"] == "INVALID_CURSOR"
                assert "arguments" in error["hint"]
    null = {"tag": None, "status": "all", "ready": False}
    mine.ok("list_tasks", cursor=mine.whole("list_tasks", limit=1)["next_cursor"], **null)


def test_a_cursor_shows_nothing_of_anothers_tasks(mine: Caller, theirs: Caller) -> None:
    for n in range(3):
        mine.add(f"m{n}")
        theirs.add(f"t{n}")
    cursor = theirs.whole("list_tasks", limit=1)["next_cursor"]
    assert set(mine.titles(cursor=cursor)) <= {"m0", "m1", "m2"}


@pytest.mark.parametrize(
    "filters",
    [
        FilterInput(),
        FilterInput(status="completed"),
        FilterInput(ready=True),
        FilterInput(tag="x"),
        FilterInput(parent_id="00000000-0000-4000-8000-000000000000"),
        FilterInput(due_before="2026-05-01T00:00:00Z"),
        FilterInput(project="kite"),
    ],
)
def test_every_page_is_read_along_an_index_in_its_order(
    sqlite_url: str, make_database: MakeDatabase, filters: FilterInput
) -> None:
    """A page then costs the same at any depth: nothing is sorted, nothing read through."""

    def plan(tx: Tx) -> list[str]:
        after = (tx.now, "00000000-0000-4000-8000-000000000000")
        with watched() as statements:
            wanted = replace(
                task_filters(filters, lambda text, _name: text, tx.now),
                own_project=filters.project,
            )
            store.read_page(tx, tx.scope.user_id, wanted, after, 50)
        statement, parameters = statements.sent[-1]
        rows = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(parameters))
        return [row[3] for row in rows]

    database = make_database(sqlite_url)
    steps = database.read_sync(Principal.for_user("00000000-0000-4000-8000-00000000000a"), plan)
    assert not [step for step in steps if step.startswith(("SCAN", "USE TEMP"))]
    alone = [step for step in steps if re.match(r"SEARCH (shown_)?(blocker|parent) ", step)]
    assert alone
    assert all("AND id=?" in step for step in alone), alone
