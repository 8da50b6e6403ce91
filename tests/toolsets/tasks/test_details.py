"""A plan in one call, one task with its comments, and tasks by the words of a question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import cursor as cursors
from rolltop.core import pagination
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.store import read_tasks
from tests.desks import make_desk
from tests.toolsets.tasks.caller import UNKNOWN, Caller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal
    from rolltop.toolsets.tasks.models import Task
    from tests.databases import Clock


def test_a_plan_is_added_in_one_call_in_its_order(mine: Caller) -> None:
    outside = mine.add("outside")
    plan = [
        {"title": "goal", "priority": 0},
        {"title": "first", "parent_id": 0, "tags": ["x"]},
        {"title": "second", "parent": "0", "blocked_by": [1, outside[:8]], "due_at": "2026-03-01"},
        {"title": "third", "dependsOn": ["1", 2], "description": "last"},
    ]
    ids = [entry["task_id"] for entry in mine.ok("add_task", tasks=plan)]
    goal, first, second, third = map(mine.task, ids)
    assert [task["title"] for task in (goal, first, second, third)] == [
        *("goal", "first", "second", "third")
    ]
    assert (first["parent_id"], first["tags"]) == (ids[0], ["x"])
    assert (second["parent_id"], second["blocked_by"]) == (ids[0], sorted([ids[1], outside]))
    assert third["blocked_by"] == sorted([ids[1], ids[2]])


def test_what_nothing_else_orders_is_done_in_the_order_of_its_plan(mine: Caller) -> None:
    titles = [f"step {number}" for number in range(8)]
    added = mine.ok("add_task", tasks=titles)
    assert mine.titles() == titles[::-1]
    for entry, title in zip(added, titles, strict=True):
        assert mine.ok("next_task")["title"] == title
        mine.ok("complete_task", task_id=entry["task_id"])


@pytest.mark.parametrize(
    "reference",
    [
        *({"blocked_by": 0}, {"blocked_by": "0"}, {"blocked_by": "[0]"}, {"blocked_by": [0]}),
        *({"dependsOn": "0"}, {"depends_on": 0}, {"dependencies": '["0"]'}),
        *({"parent_task_id": 0}, {"parentId": "0"}, {"parent": 0}),
    ],
)
def test_an_entry_of_a_plan_names_an_earlier_one_in_any_usual_form(
    mine: Caller, reference: dict[str, Any]
) -> None:
    first, second = mine.ok("add_task", tasks=[{"title": "a"}, {"title": "b", **reference}])
    found = mine.task(second["task_id"])
    assert found.get("parent_id", *found.get("blocked_by", ())) == first["task_id"]


def test_a_lone_id_is_a_list_of_one_blocker_in_a_plan(mine: Caller) -> None:
    blocker = mine.add()
    (added,) = mine.ok("add_task", tasks=[{"title": "x", "blockedBy": f"{blocker[:8]}"}])
    assert mine.task(added["task_id"])["blocked_by"] == [blocker]


def test_the_hint_for_an_entry_of_a_plan_names_only_what_it_may_hold(mine: Caller) -> None:
    hint = mine.fails("add_task", tasks=[{"title": "x", "walrus": 1}])["hint"]
    assert "blocked_by" in hint
    assert "user_id" not in hint
    assert "tasks," not in hint


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ({"title": " "}, "TITLE_REQUIRED", "Task title is required"),
        ({}, "TITLE_REQUIRED", "Task title is required"),
        ({"title": "x", "priority": 9}, "INVALID_ARGUMENT", "priority"),
        ({"title": "x", "prio": 1}, "INVALID_ARGUMENT", "priority?"),
        ({"title": "x", "blocked_by": [1]}, "INVALID_ARGUMENT", "blocked_by 1 is no index"),
        ({"title": "x", "blocked_by": [7]}, "INVALID_ARGUMENT", "blocked_by 7 is no index"),
        ({"title": "x", "blocked_by": [-1]}, "INVALID_ID", "Invalid ID format"),
        ({"title": "x", "blocked_by": [True]}, "INVALID_ARGUMENT", "blocked_by"),
        ({"title": "x", "blocked_by": True}, "INVALID_ARGUMENT", "blocked_by"),
        ({"title": "x", "blocked_by": "[" * 100_000}, "INVALID_ARGUMENT", "blocked_by"),
        ({"title": "x", "parent": 0, "parent_id": "0"}, "INVALID_ARGUMENT", "given twice"),
        ({"title": "x", "parent_id": UNKNOWN}, "NOT_FOUND", "Task not found"),
        ({"title": "x", "tasks": [{"title": "y"}]}, "INVALID_ARGUMENT", "may not hold tasks"),
        ({"title": "x", "user_id": UNKNOWN}, "INVALID_ARGUMENT", "may not hold tasks or user_id"),
        (7, "INVALID_ARGUMENT", "tasks[1]"),
        (" ", "TITLE_REQUIRED", "title is required"),
    ],
)
def test_one_wrong_task_adds_none_and_is_named(
    mine: Caller, entry: Any, code: str, said: str
) -> None:
    error = mine.fails("add_task", tasks=[{"title": "right"}, entry])
    assert error["code"] == code
    assert said in error["error"]
    assert "tasks[1]" in error["error"] + error["hint"]
    assert mine.ok("list_tasks") == []


def test_a_plan_has_bounds_and_goes_without_other_fields(mine: Caller, theirs: Caller) -> None:
    for count in (0, 51):
        assert mine.code("add_task", tasks=[{"title": "x"}] * count) == "INVALID_ARGUMENT"
    assert mine.code("add_task", title="x", tasks=[{"title": "y"}]) == "INVALID_ARGUMENT"
    assert mine.ok("list_tasks") == []
    answer = mine.whole("add_task", tasks=[{"title": str(n)} for n in range(50)])
    assert [mine.task(one["task_id"])["title"] for one in answer["data"]] == list(
        map(str, range(50))
    )
    assert theirs.ok("list_tasks") == []


@pytest.mark.parametrize("budget", [200, 600])
def test_a_plan_s_answer_keeps_to_the_budget_and_list_tasks_goes_on(
    database: Database, me: Principal, budget: int
) -> None:
    caller = Caller(make_desk(database, settings={"max_result_tokens": budget}), me)
    plan = [{"title": f"step {n}", "project": "kite"} for n in range(50)]
    answer = caller.whole("add_task", tasks=plan)
    assert pagination.count_tokens(answer) <= budget
    assert answer["truncated"] is True
    assert "All 50 tasks were added" in answer["hint"]
    shown = [entry["task_id"] for entry in answer["data"]]
    assert shown
    found: dict[str, str] = {}
    while "next" in answer:
        answer = caller.whole(answer["next"]["tool"], **answer["next"]["arguments"])
        found |= {task["task_id"]: task["title"] for task in answer["data"]}
    assert len(found) == 50
    assert [found[task_id] for task_id in shown] == [f"step {n}" for n in range(len(shown))]


def test_comments_are_kept_in_their_order_and_shown_by_get_task_alone(
    mine: Caller, desk: AppContext, clock: Clock
) -> None:
    task = mine.ok("add_task", title="t", links=["rolltop://note/1"])
    agent = Caller(desk, replace(mine.scope, actor="agent", session="7f"))
    noted = agent.ok("update_task", task_id=task["task_id"], comment=" half done\n")
    assert noted == {**task, "version": 2}
    clock.advance(minutes=1)
    mine.ok("update_task", task_id=task["task_id"], title="u", comment="renamed")
    mine.ok("update_task", task_id=task["task_id"], comment="renamed")
    details = mine.ok("get_task", task_id=task["task_id"])
    comments, (change,) = details.pop("comments"), details.pop("history")
    assert change.endswith(": title t → u")
    assert details == mine.task(task["task_id"])
    assert comments[::-1] == [
        {"at": "2026-01-31T12:00:00.123456Z", "by": "agent (7f)", "text": "half done"},
        {"at": "2026-01-31T12:01:00.123456Z", "by": "unknown", "text": "renamed"},
        {"at": "2026-01-31T12:01:00.123456Z", "by": "unknown", "text": "renamed"},
    ]


def test_get_task_says_what_was_changed_last(mine: Caller, theirs: Caller, clock: Clock) -> None:
    task, other = mine.add(), theirs.add()
    assert "history" not in mine.ok("get_task", task_id=task)
    mine.ok("update_task", task_id=task, tags=["a"], comment="tagged")
    for number in range(5):
        clock.advance(minutes=1)
        mine.ok("update_task", task_id=task, priority=number % 5)
    mine.ok("complete_task", task_id=task)
    whole = mine.ok("get_task", task_id=task)
    shown = whole["history"]
    assert shown[0] == "2026-01-31T12:05:00.123456Z unknown: status pending → completed"
    assert [line.partition(": ")[2] for line in shown[1:]] == [
        f"priority {n - 1} → {n}" for n in (4, 3, 2, 1)
    ]
    assert "history" not in theirs.ok("get_task", task_id=other)
    small = mine.ok("get_task", task_id=task, max_tokens=300)
    assert "omitted" not in whole
    assert "history" not in small
    assert small["omitted"] == ["history"]
    assert small["status"] == "completed"


def test_many_comments_hide_no_change(mine: Caller) -> None:
    task = mine.add()
    mine.ok("update_task", task_id=task, title="long " * 40, priority=1)
    for number in range(6):
        mine.ok("update_task", task_id=task, comment=f"step {number}")
    (change,) = mine.ok("get_task", task_id=task)["history"]
    assert change.endswith("priority none → 1")


def test_a_comment_is_no_change_at_a_stale_version(mine: Caller) -> None:
    task = mine.add()
    mine.ok("update_task", task_id=task, comment="one", if_version=1)
    assert mine.code("update_task", task_id=task, comment="two", if_version=1) == "CONFLICT"
    assert len(mine.ok("get_task", task_id=task)["comments"]) == 1


@pytest.mark.parametrize("budget", [{}, {"max_tokens": 700}, {"max_tokens": 2400}])
@pytest.mark.parametrize(("length", "count"), [(0, 53), (2000, 17)])
def test_all_comments_are_read_page_by_page_newest_first(
    mine: Caller, budget: dict[str, int], length: int, count: int
) -> None:
    task = mine.ok("add_task", title="題" * 200, description="本 " * 800, tags=["x"])
    noted = [f"line {n} {'好 word'[: length or 4] * (length // 8)}".strip() for n in range(count)]
    for line in noted:
        mine.ok("update_task", task_id=task["task_id"], comment=line)
    first = answer = mine.whole("get_task", task_id=task["task_id"], **budget)
    texts: list[str] = []
    while True:
        assert answer["data"]["task_id"] == task["task_id"]
        for line in answer["data"].get("comments", ()):
            if line.get("part", "0-").startswith("0-"):
                texts.append("")
            texts[-1] += line["text"]
        complete = len(texts) - (len(texts[-1]) < len(noted[-len(texts)]) if texts else 0)
        assert answer["data"].get("earlier_comments", 0) == count - complete
        if "next" not in answer:
            break
        assert answer["truncated"] is True
        answer = mine.whole("get_task", **answer["next"]["arguments"])
        assert "description" not in answer["data"]
        assert answer["data"]["omitted"] == ["description", "tags"]
    assert texts == noted[::-1]
    assert "truncated" not in answer
    if budget.get("max_tokens") != 700:
        assert first["data"]["description"] == task["description"]


def test_the_cursor_of_comments_is_that_of_its_task(mine: Caller) -> None:
    task, other = mine.add(), mine.add()
    for n in range(51):
        mine.ok("update_task", task_id=task, comment=str(n))
    cursor = mine.whole("get_task", task_id=task)["next_cursor"]
    assert [c["text"] for c in mine.ok("get_task", task_id=task, cursor=cursor)["comments"]] == [
        "0"
    ]
    assert mine.code("get_task", task_id=other, cursor=cursor) == "INVALID_CURSOR"
    kind = cursor.partition("~")[0]
    for value in (-1, 2**80, "x", 0.5):
        forged = cursors.encode(kind, [value])
        assert mine.code("get_task", task_id=task, cursor=forged) == "INVALID_CURSOR"


def test_a_comment_is_read_in_parts_where_no_answer_may_be_large(
    database: Database, me: Principal
) -> None:
    caller = Caller(make_desk(database, settings={"max_result_tokens": 200}), me)
    task = caller.add("題" * 200, description="本" * 2000, tags=[f"tag {n}" for n in range(50)])
    noted = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    caller.ok("update_task", task_id=task, comment=noted)
    answer, read = caller.whole("get_task", task_id=task), ""
    while "next" in answer or "next_cursor" in answer:  # small answers have room for one of them
        cursor = answer.get("next_cursor") or answer["next"]["arguments"]["cursor"]
        answer = caller.whole("get_task", task_id=task, cursor=cursor)
        read += answer["data"]["comments"][0]["text"]
    assert read == noted


def test_comments_go_with_their_task(mine: Caller, theirs: Caller) -> None:
    task = mine.add()
    mine.ok("update_task", task_id=task, comment="kept")
    mine.ok("delete_task", task_id=task)
    mine.ok("restore_task", task_id=task)
    assert [line["text"] for line in mine.ok("get_task", task_id=task)["comments"]] == ["kept"]
    assert theirs.code("get_task", task_id=task) == "NOT_FOUND"


def test_a_question_finds_tasks_best_first(mine: Caller, clock: Clock) -> None:
    for title, description in (
        ("Write the release notes", None),
        ("Fix parsing of dates", "release 2 waits for it"),
        ("Größe der Żółć messen", None),
        ("Water the plants", "the fern and the cactus"),
    ):
        mine.add(title, description=description)
        clock.advance(seconds=1)
    assert mine.titles(q="release notes") == ["Write the release notes", "Fix parsing of dates"]
    assert mine.titles(q="which date is parsed?") == ["Fix parsing of dates"]
    assert mine.titles(q="GROSSE zolc") == ["Größe der Żółć messen"]
    assert mine.titles(q='cactus OR "dates"') == ["Fix parsing of dates", "Water the plants"]
    assert mine.titles(q="the") == [
        *("Water the plants", "Write the release notes"),
    ]
    assert mine.titles(q=" ") == mine.titles()


def test_a_search_keeps_to_its_filters_and_says_what_it_searched(
    mine: Caller, theirs: Caller
) -> None:
    mine.add("plant trees", tags=["x"])
    mine.ok("complete_task", task_id=mine.add("plant flowers"))
    theirs.add("plant weeds")
    assert mine.titles(q="plant", status="completed") == ["plant flowers"]
    assert mine.titles(q="plant", tag="x") == ["plant trees"]
    answer = mine.whole("list_tasks", q="walrus", tag="x")
    assert answer["data"] == []
    assert answer["hint"].startswith("None of the 1 tasks searched matches q. project *")
    assert "Did you mean trees?" in mine.whole("list_tasks", q="a teres")["hint"]
    assert mine.ok("list_tasks", q="\x00 \ud800 *") == []


def test_a_search_is_read_page_by_page(mine: Caller) -> None:
    for n in range(7):
        mine.add(f"plant {'tree ' * n}")
    whole = [task["task_id"] for task in mine.ok("list_tasks", q="plant")]
    assert len(whole) == 7
    answer, seen = mine.whole("list_tasks", q="plant", limit=3), list[str]()
    while True:
        seen += [task["task_id"] for task in answer["data"]]
        if "next" not in answer:
            break
        answer = mine.whole("list_tasks", **answer["next"]["arguments"])
    assert seen == whole
    assert mine.code("list_tasks", q="tree", cursor="tasks.0") == "INVALID_CURSOR"


def test_a_search_goes_on_after_tasks_that_were_deleted_while_it_ran(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        mine.add(f"plant {'tree ' * n}")
    whole = [task["task_id"] for task in mine.ok("list_tasks", q="plant")]
    for gone in ([0], [1], [0, 1]):
        deleted = [whole[n] for n in gone]

        def without(
            tx: Tx, owner: str, ids: Sequence[str], deleted: list[str] = deleted
        ) -> list[Task]:
            return read_tasks(tx, owner, [one for one in ids if one not in deleted])

        monkeypatch.setattr(store, "read_tasks", without)
        answer, seen = mine.whole("list_tasks", q="plant", limit=2), list[str]()
        while True:
            seen += [task["task_id"] for task in answer["data"]]
            if "next" not in answer:
                break
            answer = mine.whole("list_tasks", **answer["next"]["arguments"])
        assert seen == [one for one in whole if one not in deleted]


def test_a_listed_task_costs_little_beyond_the_seeds_fields(desk: AppContext, mine: Caller) -> None:
    kite = Caller(desk, replace(mine.scope, project="kite"))
    task = kite.ok("add_task", title="t", description="d")
    seed = {
        key: task[key]
        for key in ("task_id", "title", "description", "status", "created_at", "updated_at")
    }
    (listed,) = kite.ok("list_tasks")
    assert pagination.count_tokens(listed) - pagination.count_tokens(seed) <= 30


def test_a_plan_takes_titles_alone_and_what_its_tasks_share(mine: Caller) -> None:
    parent = mine.add("parent")
    shared = {"project": "kite", "parent_id": parent, "priority": 2, "tags": ["a"]}
    own = {"title": "b", "blocked_by": [0], "priority": 0, "tags": []}
    first, second = (one["task_id"] for one in mine.ok("add_task", tasks=["a", own], **shared))
    shown = mine.ok("get_task", task_id=first)
    assert {name: shown[name] for name in shared} == shared
    shown = mine.ok("get_task", task_id=second)
    assert (shown["title"], shown["priority"], shown["project"]) == ("b", 0, "kite")
    assert (shown["parent_id"], shown["blocked_by"], "tags" in shown) == (parent, [first], False)
    error = mine.fails("add_task", tasks=["a"], blocked_by=[parent])
    assert "blocked_by" in error["error"]
    assert mine.code("add_task", tasks=[" "]) == "TITLE_REQUIRED"
    assert len(mine.ok("add_task", tasks='["c", {"title": "d"}]')) == 2
