"""The five tools of the seed: what they answer, and each error's exact text."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.errors import Unavailable
from rolltop.core.principal import IMPERSONATE, READ, WRITE, Principal
from rolltop.toolsets.tasks import TOOLSET
from tests.campaign import examples
from tests.toolsets.tasks.caller import UNKNOWN, Caller

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from tests.databases import Clock

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))


def test_a_new_task_is_pending_and_holds_what_was_given(mine: Caller) -> None:
    task = mine.ok("add_task", title="  Buy milk\n", description="\tTwo litres ")
    task_id = task.pop("task_id")
    assert uuid.UUID(task_id)
    assert task.pop("uri") == f"rolltop://task/{task_id[:8]}"
    created = task.pop("created_at")
    assert MOMENT.fullmatch(created)
    assert task == {
        "title": "Buy milk",
        "description": "Two litres",
        "status": "pending",
        "updated_at": created,
        "version": 1,
    }


def test_a_blank_description_is_none(mine: Caller) -> None:
    assert "description" not in mine.ok("add_task", title="t", description=" \n ")


def test_completing_twice_changes_nothing_the_second_time(mine: Caller, clock: Clock) -> None:
    task = mine.add()
    clock.advance(seconds=1)
    done = mine.ok("complete_task", task_id=task)
    assert (done["status"], done["version"]) == ("completed", 2)
    assert done["updated_at"] > done["created_at"]
    clock.advance(seconds=1)
    assert mine.ok("complete_task", task_id=task) == done


def test_reopening_makes_a_task_pending_and_is_idempotent(mine: Caller) -> None:
    task = mine.add()
    mine.ok("complete_task", task_id=task)
    pending = mine.ok("reopen_task", task_id=task)
    assert (pending["status"], pending["version"]) == ("pending", 3)
    assert mine.ok("reopen_task", task_id=task) == pending


def test_an_update_changes_only_what_is_given(mine: Caller, clock: Clock) -> None:
    before = mine.ok("add_task", title="old", description="kept")
    clock.advance(minutes=1)
    after = mine.ok("update_task", task_id=before["task_id"], title="new")
    assert after["updated_at"] > before["updated_at"]
    expected = {**before, "title": "new", "version": 2, "updated_at": after["updated_at"]}
    assert after == expected


@pytest.mark.parametrize(
    "equal",
    [
        {"title": " same "},
        {"description": "text"},
        {"priority": 2},
        {"due_at": "2026-05-01T12:00:00+02:00"},
        {"tags": ["b", "a", "b"]},
        {"links": ["rolltop://note/1"]},
        {"parent_id": ""},
        {"blocked_by": []},
    ],
)
def test_an_update_to_equal_values_changes_nothing(
    mine: Caller, clock: Clock, equal: dict[str, Any]
) -> None:
    before = mine.ok(
        "add_task",
        title="same",
        description="text",
        priority=2,
        due_at="2026-05-01T10:00:00Z",
        tags=["a", "b"],
        links=["rolltop://note/1"],
    )
    clock.advance(minutes=1)
    assert mine.ok("update_task", task_id=before["task_id"], **equal) == before


@pytest.mark.parametrize(
    ("field", "value", "cleared"),
    [
        ("description", "d", ""),
        ("priority", 0, -1),
        ("due_at", "2026-05-01T10:00:00Z", ""),
        ("tags", ["t"], []),
        ("links", ["rolltop://note/1"], []),
    ],
)
def test_each_optional_field_alone_is_enough_for_an_update_and_can_be_cleared(
    mine: Caller, field: str, value: object, cleared: object
) -> None:
    plain = mine.ok("add_task", title="t")
    changed = mine.ok("update_task", task_id=plain["task_id"], **{field: value})
    assert changed.get(field) not in (None, [])
    again = mine.ok("update_task", task_id=plain["task_id"], **{field: cleared})
    assert again == {**plain, "version": 3}


def test_a_deleted_task_is_gone_and_its_deletion_succeeds_once(mine: Caller) -> None:
    task = mine.add()
    deleted = mine.ok("delete_task", task_id=task)
    named = {"task_id": task, "uri": f"rolltop://task/{task[:8]}"}
    assert deleted == {**named, "message": "Task deleted successfully"}
    assert mine.code("delete_task", task_id=task) == "NOT_FOUND"
    assert mine.ok("list_tasks") == []


def test_ids_are_taken_in_any_case_and_answered_in_lower_case(mine: Caller) -> None:
    task = mine.add()
    assert mine.ok("complete_task", task_id=task.upper())["task_id"] == task


def test_the_beginning_of_an_id_stands_for_it_wherever_one_is_taken(
    mine: Caller, theirs: Caller
) -> None:
    task, other = mine.add("task"), mine.add("other")
    for length in range(8, 36):
        assert mine.ok("get_task", task_id=task[:length])["task_id"] == task
        assert theirs.code("get_task", task_id=task[:length]) == "NOT_FOUND"
    digits = task.replace("-", "").upper()
    for whole in (task, digits, digits[:31]):
        assert mine.ok("get_task", task_id=f" {whole}\n")["task_id"] == task
    changed = mine.ok("update_task", task_id=task[:8], parent_id=other[:8], blocked_by=[other[:9]])
    assert (changed["parent_id"], changed["blocked_by"]) == (other, [other])
    assert mine.titles(parent_id=other[:8]) == ["task"]
    claimed = mine.ok("claim_task", task_id=other[:8])
    token = claimed["claim"]["token"]
    mine.ok("complete_task", task_id=other[:13], token=token)
    mine.ok("reopen_task", task_id=other[:13])
    assert mine.ok("delete_task", task_id=other[:18])["task_id"] == other
    assert mine.code("delete_task", task_id=other[:18]) == "NOT_FOUND"
    assert mine.ok("restore_task", task_id=other[:8])["task_id"] == other
    for gone in (other[:8], other):
        error = mine.fails("restore_task", task_id=gone)
        assert error["code"] == "NOT_FOUND"
        assert error["hint"] == (
            "restore_task finds what was deleted within the last 30 days, list_tasks what was not."
        )
    hint = mine.fails("get_task", task_id=other[:7])["hint"]
    assert hint.endswith("which list_tasks answers, or its first 8 or more digits.")
    assert mine.fails("list_tasks", user_id="x")["hint"] == 'user_id is "x"; send a UUID.'


def test_a_beginning_of_several_ids_names_them(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [uuid.UUID(f"abcdef01-0000-4000-8000-00000000000{n}") for n in range(7)]
    monkeypatch.setattr(uuid, "uuid4", iter(ids).__next__)
    for n in range(7):
        mine.add(str(n))
    error = mine.fails("complete_task", task_id="abcdef01")
    assert (error["code"], error["error"]) == ("INVALID_ID", "Invalid ID format")
    assert all(str(task) in error["hint"] for task in ids[:5])
    assert mine.ok("complete_task", task_id=str(ids[6])[:-1] + "6")["title"] == "6"


def test_a_date_is_the_end_of_its_day_as_due_and_its_beginning_as_a_bound(mine: Caller) -> None:
    task = mine.ok("add_task", title="t", due_at="2026-03-01")
    assert task["due_at"] == "2026-03-01T23:59:59.999999Z"
    assert mine.titles(due_before="2026-03-01") == []
    assert mine.titles(due_before="2026-03-02") == ["t"]
    assert mine.ok("update_task", task_id=task["task_id"], due_at="9999-12-31")["due_at"]


def test_what_is_due_may_be_said_from_today(mine: Caller) -> None:
    due = {
        "tomorrow": "2026-02-01T23:59:59.999999Z",
        "next friday": "2026-02-06T23:59:59.999999Z",
        "in 3 days": "2026-02-03T23:59:59.999999Z",
        "in 2 hours": "2026-01-31T14:00:00.123456Z",
        "monday 17:00": "2026-02-02T17:00:00.000000Z",
    }
    for said, meant in due.items():
        assert mine.ok("add_task", title=said, due_at=said)["due_at"] == meant
    task = mine.add("one", due_at="2026-03-01T17:00")
    changed = mine.ok("update_task", task_id=task, due_at="today")
    assert changed["due_at"] == "2026-01-31T23:59:59.999999Z"
    titles = [one["title"] for one in mine.ok("list_tasks", due_before="tomorrow")]
    assert sorted(titles) == ["in 2 hours", "one"]
    refused = mine.fails("add_task", title="x", due_at="soon")
    assert refused["code"] == "INVALID_ARGUMENT"
    assert refused["hint"].startswith("It is 2026-01-31T12:00Z; send due_at as 2026-02-01, ")


def test_a_time_without_an_offset_is_in_utc(mine: Caller) -> None:
    given = mine.ok("add_task", title="t", due_at="2026-03-01T10:00")["due_at"]
    assert given == mine.ok("add_task", title="t", due_at="2026-03-01T10:00:00Z")["due_at"]


def test_links_may_lead_into_the_web(mine: Caller) -> None:
    links = ["rolltop://note/1", "https://a.example/b?c#d", "http://localhost:80", "HTTPS://a.b/ü"]
    assert mine.ok("add_task", title="t", links=links)["links"] == links


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "text"),
    [
        ("add_task", {}, "TITLE_REQUIRED", "Task title is required"),
        ("add_task", {"title": None}, "TITLE_REQUIRED", "Task title is required"),
        ("add_task", {"title": " \n"}, "TITLE_REQUIRED", "Task title is required"),
        (
            "add_task",
            {"title": "x" * 201},
            "TITLE_TOO_LONG",
            "Task title must be 200 characters or less",
        ),
        (
            "add_task",
            {"title": "x", "description": "😀" * 2001},
            "DESCRIPTION_TOO_LONG",
            "Task description must be 2000 characters or less",
        ),
        ("add_task", {"title": "x", "user_id": "me"}, "INVALID_ID", "Invalid ID format"),
        ("add_task", {"title": "x", "parent_id": "p"}, "INVALID_ID", "Invalid ID format"),
        ("add_task", {"title": "x", "blocked_by": ["b"]}, "INVALID_ID", "Invalid ID format"),
        ("update_task", {"task_id": UNKNOWN, "title": ""}, "TITLE_REQUIRED", None),
        ("update_task", {"task_id": UNKNOWN, "title": "x" * 201}, "TITLE_TOO_LONG", None),
        ("update_task", {"task_id": UNKNOWN.replace("-", ""), "title": "x"}, "NOT_FOUND", None),
        ("update_task", {"task_id": UNKNOWN + "0", "title": "x"}, "INVALID_ID", None),
        (
            "update_task",
            {"task_id": UNKNOWN},
            "NOTHING_TO_UPDATE",
            "At least one field (title or description) must be provided",
        ),
        ("update_task", {"task_id": UNKNOWN, "title": None}, "NOTHING_TO_UPDATE", None),
        ("complete_task", {"task_id": "{" + UNKNOWN + "}"}, "INVALID_ID", "Invalid ID format"),
        (
            "complete_task",
            {"task_id": UNKNOWN},
            "NOT_FOUND",
            "Task not found or access denied",
        ),
        ("delete_task", {"task_id": UNKNOWN}, "NOT_FOUND", "Task not found or access denied"),
        ("restore_task", {"task_id": UNKNOWN}, "NOT_FOUND", "Task not found or access denied"),
        (
            "list_tasks",
            {"status": "done"},
            "INVALID_STATUS",
            "Invalid status. Must be one of: all, pending, completed",
        ),
        ("list_tasks", {"limit": 0}, "INVALID_LIMIT", None),
        ("list_tasks", {"limit": 201}, "INVALID_LIMIT", None),
        ("list_tasks", {"limit": "few"}, "INVALID_LIMIT", None),
        ("list_tasks", {"cursor": "x"}, "INVALID_CURSOR", None),
        ("list_tasks", {"parent_id": UNKNOWN}, "NOT_FOUND", "Task not found or access denied"),
        ("list_tasks", {"tag": " "}, "INVALID_ARGUMENT", None),
        ("list_tasks", {"due_before": "soon"}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "nul\x00"}, "INVALID_TEXT", None),
        ("add_task", {"title": "x", "description": "\ud800"}, "INVALID_TEXT", None),
        ("add_task", {"title": "x", "tags": ["\udfff"]}, "INVALID_TEXT", None),
        ("add_task", {"title": "x", "links": ["rolltop://a/\x00"]}, "INVALID_TEXT", None),
        ("add_task", {"title": "x", "tags": ["two\nlines"]}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "tags": ["t" * 51]}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "tags": ["t"] * 51}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "links": ["ftp://a.example"]}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "links": ["https://"]}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "project": "*"}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "project": "x" * 101}, "INVALID_ARGUMENT", None),
        ("list_tasks", {"project": "two\nlines"}, "INVALID_ARGUMENT", None),
        ("update_task", {"task_id": UNKNOWN, "comment": " \n"}, "NOTHING_TO_UPDATE", None),
        ("update_task", {"task_id": UNKNOWN, "comment": "x" * 2001}, "INVALID_ARGUMENT", None),
        ("update_task", {"task_id": UNKNOWN, "comment": "\x00"}, "INVALID_TEXT", None),
        ("update_task", {"task_id": UNKNOWN[:8], "title": "x"}, "NOT_FOUND", None),
        ("complete_task", {"task_id": UNKNOWN[:7]}, "INVALID_ID", "Invalid ID format"),
        ("get_task", {"task_id": UNKNOWN}, "NOT_FOUND", "Task not found or access denied"),
        ("add_task", {"title": "x", "priority": 5}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "priority": True}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "due_at": "2026-03-01T25:00"}, "INVALID_ARGUMENT", None),
        ("add_task", {"title": "x", "due_at": "2026-02-30"}, "INVALID_ARGUMENT", None),
        (
            "add_task",
            {"title": "x", "due_at": "0001-01-01T00:00:00+14:00"},
            "INVALID_ARGUMENT",
            None,
        ),
        ("add_task", {"title": 5}, "INVALID_ARGUMENT", None),
        ("claim_task", {"task_id": UNKNOWN, "lease_seconds": 0}, "INVALID_ARGUMENT", None),
    ],
)
def test_each_error_has_its_code_and_text(
    mine: Caller, tool: str, arguments: dict[str, Any], code: str, text: str | None
) -> None:
    error = mine.fails(tool, **arguments)
    assert error["code"] == code
    assert code in TOOLSET.error_codes
    assert text is None or error["error"] == text
    assert mine.ok("list_tasks") == []


def test_a_stale_version_is_a_conflict_that_shows_the_task_as_it_is(mine: Caller) -> None:
    task = mine.add("first")
    now = mine.ok("update_task", task_id=task, title="second", if_version=1)
    for tool, more in (
        ("update_task", {"title": "third"}),
        ("complete_task", {}),
        ("reopen_task", {}),
        ("delete_task", {}),
    ):
        error = mine.fails(tool, task_id=task, if_version=1, **more)
        assert (error["code"], error["data"]) == ("CONFLICT", now), tool
        assert "version 2" in error["error"]
    assert mine.task(task) == now
    mine.ok("delete_task", task_id=task, if_version=2)


@pytest.mark.parametrize("version", [0, -1, 2**31, 2**63, -(2**63) - 1, 10**24])
@pytest.mark.parametrize("tool", ["update_task", "complete_task", "reopen_task", "delete_task"])
def test_a_version_that_no_task_can_have_is_a_conflict(
    mine: Caller, tool: str, version: int
) -> None:
    task = mine.add("t")
    more = {"title": "other"} if tool == "update_task" else {}
    if tool == "reopen_task":
        mine.ok("complete_task", task_id=task)
    assert mine.fails(tool, task_id=task, if_version=version, **more)["code"] == "CONFLICT"


def test_a_store_out_of_reach_is_told_in_the_page_s_own_words() -> None:
    shaped = TOOLSET.shape_error(Unavailable("The disk is full.", hint="Make room."))
    assert shaped == {
        "success": False,
        "error": "Service temporarily unavailable, please try again",
        "code": "UNAVAILABLE",
        "hint": "The disk is full. Make room.",
    }


def test_an_authenticated_caller_is_refused_other_users_like_missing_tasks(
    mine: Caller, theirs: Caller
) -> None:
    task = theirs.add()
    other, unknown = theirs.scope.user_id, UNKNOWN
    missing = mine.fails("complete_task", task_id=UNKNOWN)
    for arguments in (
        {"task_id": task},
        {"task_id": task, "user_id": other},
        {"task_id": task, "user_id": unknown},
    ):
        assert mine.fails("complete_task", **arguments) == missing
    for user in (other, unknown):
        assert mine.code("add_task", title="x", user_id=user) == "NOT_FOUND"
        assert mine.code("list_tasks", user_id=user) == "NOT_FOUND"
        assert mine.code("next_task", user_id=user) == "NOT_FOUND"
    assert mine.ok("list_tasks", user_id=mine.scope.user_id.upper()) == []
    assert theirs.task(task)["status"] == "pending"


def test_on_an_unauthenticated_server_user_id_names_any_existing_user(
    desk: AppContext, mine: Caller, theirs: Caller
) -> None:
    rights = frozenset({READ, WRITE, IMPERSONATE})
    anyone = Caller(desk, Principal.for_user(mine.scope.user_id, permissions=rights))
    other = theirs.scope.user_id
    task = anyone.add("for them", user_id=other)
    assert theirs.titles() == ["for them"]
    assert anyone.ok("list_tasks") == []
    assert anyone.code("complete_task", task_id=task) == "NOT_FOUND"
    assert anyone.ok("complete_task", task_id=task, user_id=other)["status"] == "completed"
    shown = theirs.ok("get_task", task_id=task)
    assert "pending → completed" in shown["history"][0]
    assert anyone.ok("get_task", task_id=task, user_id=other) == shown
    for tool, arguments in (
        ("add_task", {"title": "x"}),
        ("list_tasks", {}),
        ("next_task", {}),
        ("delete_task", {"task_id": task}),
    ):
        assert anyone.code(tool, user_id=UNKNOWN, **arguments) == "NOT_FOUND"


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=TEXT.filter(str.strip), description=TEXT, tag=TEXT)
def test_every_text_comes_back_as_it_was_sent_apart_from_white_space_around_it(
    mine: Caller, title: str, description: str, tag: str
) -> None:
    title, description = title.strip()[:200].strip(), description.strip()[:2000].strip()
    tag = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", "", tag).strip()[:50].strip() or "tag"
    task = mine.ok("add_task", title=f" {title}\n", description=f"\t{description} ", tags=[tag])
    assert mine.ok("list_tasks", tag=tag) == [task]
    mine.ok("delete_task", task_id=task["task_id"])
    assert (task["title"], task.get("description", "")) == (title, description)
    assert task["tags"] == [tag]


@pytest.mark.parametrize("tool", ["add_task", "list_tasks", "next_task"])
def test_a_user_that_may_not_be_named_is_to_be_left_out(mine: Caller, tool: str) -> None:
    arguments = {"title": "t"} if tool == "add_task" else {}
    error = mine.fails(tool, user_id=UNKNOWN, **arguments)
    assert (error["code"], error["error"]) == ("NOT_FOUND", "Task not found or access denied")
    assert "without user_id" in error["hint"]
