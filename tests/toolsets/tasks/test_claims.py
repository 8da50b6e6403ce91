"""Claims: one holder at a time, by a token, for as long as the lease runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.tasks import store
from tests.toolsets.tasks.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from tests.databases import Clock


def test_a_claimed_task_is_not_ready_and_nobody_else_gets_it(mine: Caller) -> None:
    task = mine.add()
    claimed = mine.ok("claim_task", task_id=task)
    assert claimed["claim"]["token"]
    assert claimed["claim"]["expires_at"] == "2026-01-31T12:15:00.123456Z"
    assert mine.ok("next_task") is None
    error = mine.fails("claim_task", task_id=task)
    assert error["code"] == "CONFLICT"
    shown = {"expires_at": claimed["claim"]["expires_at"], "by": "unknown"}
    assert error["data"]["claim"] == shown
    assert mine.task(task)["claim"] == mine.ok("get_task", task_id=task)["claim"] == shown


def test_who_holds_a_task_is_stamped_by_the_server(mine: Caller, desk: AppContext) -> None:
    client = Caller(desk, replace(mine.scope, actor="agent\x1b[1m smith" + "x" * 200, session="7f"))
    task = client.add()
    by = client.ok("claim_task", task_id=task)["claim"]["by"]
    assert by == ("agent[1m smith" + "x" * 200)[:100] + " (7f)"
    assert mine.task(task)["claim"]["by"] == by
    error = mine.fails("claim_task", task_id=task)
    assert by in error["error"]
    assert "2026-01-31T12:15:00.123456Z" in error["error"]


def test_only_the_answer_of_the_claim_shows_the_token(mine: Caller) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task)["claim"]["token"]
    shown = [
        mine.whole("list_tasks"),
        mine.fails("claim_task", task_id=task),
        mine.whole("update_task", task_id=task, title="x", token=token),
        mine.whole("get_task", task_id=task),
        mine.fails("update_task", task_id=task, title="y"),
        mine.whole("complete_task", task_id=task, token=token),
    ]
    assert token not in str(shown)


def test_the_holder_renews_and_completes_with_the_token(mine: Caller, clock: Clock) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task, lease_seconds=60)["claim"]["token"]
    clock.advance(seconds=59)
    renewed = mine.ok("claim_task", task_id=task, lease_seconds=60, token=token)
    ends = "2026-01-31T12:01:59.123456Z"
    assert renewed["claim"] == {"token": token, "expires_at": ends, "by": "unknown"}
    clock.advance(seconds=59)
    done = mine.ok("complete_task", task_id=task, token=token)
    assert done["status"] == "completed"
    assert "claim" not in done
    clock.advance(days=1)
    assert mine.ok("complete_task", task_id=task, token=token) == done


def test_an_expired_claim_returns_to_ready_with_the_reason(mine: Caller, clock: Clock) -> None:
    task = mine.add()
    mine.ok("claim_task", task_id=task, lease_seconds=60)
    clock.advance(seconds=60)
    ready = mine.ok("next_task")
    assert ready["task_id"] == task
    assert "claim" not in ready
    assert ready["released"] == "lease of unknown expired at 2026-01-31T12:01:00.123456Z"
    assert mine.titles(ready=True) == ["a task"]
    assert "released" not in mine.ok("claim_task", task_id=task)


def test_a_stale_holder_neither_completes_nor_renews(mine: Caller, clock: Clock) -> None:
    task = mine.add()
    stale = mine.ok("claim_task", task_id=task, lease_seconds=60)["claim"]["token"]
    clock.advance(seconds=60)
    error = mine.fails("complete_task", task_id=task, token=stale)
    assert error["code"] == "CONFLICT"
    assert "expired" in error["error"]
    current = mine.ok("claim_task", task_id=task)["claim"]["token"]
    assert current != stale
    assert mine.code("complete_task", task_id=task, token=stale) == "CONFLICT"
    assert mine.code("claim_task", task_id=task, token=stale) == "CONFLICT"
    assert mine.ok("complete_task", task_id=task, token=current)["status"] == "completed"
    assert mine.code("complete_task", task_id=task, token=stale) == "CONFLICT"


def test_a_claim_that_ran_out_is_taken_up_again_if_nobody_took_the_task(
    mine: Caller, clock: Clock
) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task, lease_seconds=1)["claim"]["token"]
    clock.advance(hours=1)
    assert mine.ok("claim_task", task_id=task, token=token)["claim"]["token"] == token
    assert mine.ok("complete_task", task_id=task, token=token)["status"] == "completed"


def test_an_unclaimed_task_needs_no_token(mine: Caller, clock: Clock) -> None:
    assert mine.ok("complete_task", task_id=mine.add())["status"] == "completed"
    lapsed = mine.add()
    mine.ok("claim_task", task_id=lapsed, lease_seconds=1)
    clock.advance(seconds=1)
    assert mine.ok("update_task", task_id=lapsed, title="x")["title"] == "x"
    assert mine.ok("complete_task", task_id=lapsed)["status"] == "completed"


WRITES: dict[str, dict[str, Any]] = {
    "update_task": {"title": "theirs"},
    "complete_task": {},
    "delete_task": {},
    "claim_task": {},
}


@pytest.mark.parametrize("tool", WRITES)
def test_a_claim_protects_its_task_from_who_has_no_token(
    mine: Caller, clock: Clock, tool: str
) -> None:
    task = mine.add("ours")
    held = mine.ok("claim_task", task_id=task, lease_seconds=60)
    token, shown = held["claim"].pop("token"), held
    for wrong in ({}, {"token": f"{token}x"}):
        error = mine.fails(tool, task_id=task, **WRITES[tool], **wrong)
        assert (error["code"], error["data"]) == ("CONFLICT", shown)
    assert "force" in mine.fails(tool, task_id=task, **WRITES[tool])["hint"]
    assert mine.task(task) == shown
    clock.advance(seconds=60)
    if tool != "claim_task":
        assert mine.code(tool, task_id=task, **WRITES[tool], token=token) == "CONFLICT"
    mine.ok(tool, task_id=task, **WRITES[tool])


@pytest.mark.parametrize("tool", WRITES)
def test_the_token_opens_the_task_and_force_takes_it_over_and_says_so(
    mine: Caller, tool: str
) -> None:
    opened, taken = mine.add("ours"), mine.add("ours")
    token = mine.ok("claim_task", task_id=opened)["claim"]["token"]
    mine.ok(tool, task_id=opened, **WRITES[tool], token=token, force=True)
    mine.ok("claim_task", task_id=taken)
    mine.ok(tool, task_id=taken, **WRITES[tool], force=True)
    for task in (opened, taken):
        if tool == "delete_task":
            mine.ok("restore_task", task_id=task)
    assert "comments" not in mine.ok("get_task", task_id=opened)
    (line,) = mine.ok("get_task", task_id=taken)["comments"]
    assert line == {
        "at": "2026-01-31T12:00:00.123456Z",
        "by": "unknown",
        "text": f"{'took over' if tool == 'claim_task' else 'overrode'} the claim of unknown",
    }


def test_a_comment_that_overrides_a_claim_is_kept_below_that(mine: Caller) -> None:
    task = mine.add()
    mine.ok("claim_task", task_id=task)
    long = "x" * 2000
    mine.ok("update_task", task_id=task, comment=long, force=True)
    (line,) = mine.ok("get_task", task_id=task)["comments"]
    assert line["text"] == f"overrode the claim of unknown\n{long}"


def test_force_changes_nothing_of_what_else_is_refused(mine: Caller) -> None:
    blocker = mine.add("blocker")
    blocked, done = mine.add("blocked", blocked_by=[blocker]), mine.add("done")
    mine.ok("complete_task", task_id=done)
    for task in (blocked, done):
        assert mine.code("claim_task", task_id=task, force=True) == "CONFLICT"
    assert mine.code("update_task", task_id=done, title="x", if_version=1, force=True) == "CONFLICT"
    mine.ok("claim_task", task_id=blocker, force=True)
    assert "comments" not in mine.ok("get_task", task_id=blocker)


def test_a_claim_from_before_holders_were_kept_protects_as_well(
    mine: Caller, database: Database
) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task)["claim"]["token"]
    owner = mine.scope.user_id
    database.write_sync(mine.scope, store.update_fields, owner, task, {"claimed_by": None})
    assert mine.task(task)["claim"] == {"expires_at": "2026-01-31T12:15:00.123456Z"}
    error = mine.fails("complete_task", task_id=task)
    assert "claimed by another until" in error["error"]
    assert error["hint"].startswith("If the claim is yours, send token as claim_task answered it.")
    assert mine.ok("complete_task", task_id=task, token=token)["status"] == "completed"


def test_after_a_takeover_the_old_token_is_good_for_nothing(mine: Caller) -> None:
    task = mine.add()
    old = mine.ok("claim_task", task_id=task)["claim"]["token"]
    new = mine.ok("claim_task", task_id=task, force=True)["claim"]["token"]
    for tool, more in WRITES.items():
        assert mine.code(tool, task_id=task, token=old, **more) == "CONFLICT"
    assert mine.ok("complete_task", task_id=task, token=new)["status"] == "completed"


def test_force_makes_a_new_token_unless_the_callers_own_holds_the_claim(
    mine: Caller, clock: Clock
) -> None:
    task = mine.add()
    old = mine.ok("claim_task", task_id=task)["claim"]["token"]
    assert mine.ok("claim_task", task_id=task, token=old, force=True)["claim"]["token"] == old
    weak = "x"
    new = mine.ok("claim_task", task_id=task, token=weak, force=True)["claim"]["token"]
    assert new not in {old, weak}
    again = mine.ok("claim_task", task_id=task, token=old, force=True)["claim"]["token"]
    assert again not in {old, new}
    for stale in (old, new, weak):
        assert mine.code("complete_task", task_id=task, token=stale) == "CONFLICT"
    clock.advance(days=1)
    assert mine.ok("claim_task", task_id=task, token=again, force=True)["claim"]["token"] == again


def test_nothing_ready_is_not_nothing_to_do(mine: Caller, clock: Clock) -> None:
    assert mine.whole("next_task") == {"success": True, "data": None}
    first, second = mine.add("first", due_at="2026-01-30"), mine.add("second")
    mine.add("third", blocked_by=[first], due_at="2026-02-01", tags=["x"])
    mine.ok("complete_task", task_id=mine.add("done", due_at="2026-01-01"))
    assert "waiting" not in mine.whole("next_task")
    mine.ok("claim_task", task_id=first, lease_seconds=60)
    mine.ok("claim_task", task_id=second, lease_seconds=30)
    assert mine.whole("next_task") == {
        "success": True,
        "data": None,
        "waiting": {
            "claimed": 2,
            "blocked": 1,
            "overdue": 1,
            "lease_ends": "2026-01-31T12:00:30.123456Z",
        },
    }
    tagged = mine.whole("next_task", tag="x")
    assert tagged["waiting"] == {"claimed": 0, "blocked": 1, "overdue": 0}
    clock.advance(seconds=30)
    assert mine.ok("next_task")["title"] == "second"


def test_reopening_ends_a_claim(mine: Caller) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task)["claim"]["token"]
    mine.ok("complete_task", task_id=task, token=token)
    assert mine.code("claim_task", task_id=task) == "CONFLICT"
    reopened = mine.ok("reopen_task", task_id=task)
    assert "claim" not in reopened
    assert mine.ok("next_task")["task_id"] == task
    assert mine.code("complete_task", task_id=task, token=token) == "CONFLICT"
    assert mine.code("claim_task", task_id=task, token=token) == "CONFLICT"


def test_a_blocked_task_cannot_be_claimed_but_its_holder_renews(mine: Caller) -> None:
    blocker = mine.add("blocker")
    task = mine.add("task", blocked_by=[blocker])
    error = mine.fails("claim_task", task_id=task)
    assert error["code"] == "CONFLICT"
    assert "blocked_by" in error["error"]
    held = mine.add("held")
    token = mine.ok("claim_task", task_id=held)["claim"]["token"]
    mine.ok("update_task", task_id=held, blocked_by=[blocker], token=token)
    assert mine.ok("claim_task", task_id=held, token=token)["claim"]["token"] == token


def test_a_wrong_token_is_told_no_more_than_is_known(mine: Caller) -> None:
    task, unclaimed = mine.add(), mine.add()
    token = mine.ok("claim_task", task_id=task)["claim"]["token"]
    wrong = {"task_id": task, "token": token + "x"}
    for tool, sent in (
        ("complete_task", wrong),
        ("claim_task", wrong),
        ("complete_task", {**wrong, "task_id": unclaimed}),
    ):
        error = mine.fails(tool, **sent)
        assert error["error"].startswith("The token is not that of the task's claim;")
        assert "token as claim_task answered it" in error["hint"]
        assert "next_task" in error["hint"]
    assert mine.ok("complete_task", task_id=task, token=token)["status"] == "completed"


def test_a_made_up_token_is_a_conflict(mine: Caller) -> None:
    task = mine.add()
    for token in (" ", "x", "\ud800", "None"):
        assert mine.code("complete_task", task_id=task, token=token) == "CONFLICT"
        assert mine.code("claim_task", task_id=task, token=token) == "CONFLICT"
    assert mine.task(task)["status"] == "pending"
