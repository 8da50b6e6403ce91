"""Claims: one holder at a time, by a token, for as long as the lease runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.databases import Clock
    from tests.toolsets.tasks.caller import Caller


def test_a_claimed_task_is_not_ready_and_nobody_else_gets_it(mine: Caller) -> None:
    task = mine.add()
    claimed = mine.ok("claim_task", task_id=task)
    assert claimed["claim"]["token"]
    assert claimed["claim"]["expires_at"] == "2026-01-31T12:15:00.123456Z"
    assert mine.ok("next_task") is None
    error = mine.fails("claim_task", task_id=task)
    assert error["code"] == "CONFLICT"
    assert error["data"]["claim"] == {"expires_at": claimed["claim"]["expires_at"]}


def test_only_the_answer_of_the_claim_shows_the_token(mine: Caller) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task)["claim"]["token"]
    shown = [
        mine.whole("list_tasks"),
        mine.fails("claim_task", task_id=task),
        mine.whole("update_task", task_id=task, title="x"),
        mine.whole("complete_task", task_id=task, token=token),
    ]
    assert token not in str(shown)


def test_the_holder_renews_and_completes_with_the_token(mine: Caller, clock: Clock) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task, lease_seconds=60)["claim"]["token"]
    clock.advance(seconds=59)
    renewed = mine.ok("claim_task", task_id=task, lease_seconds=60, token=token)
    assert renewed["claim"] == {"token": token, "expires_at": "2026-01-31T12:01:59.123456Z"}
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
    assert ready["released"] == "lease expired at 2026-01-31T12:01:00.123456Z"
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


def test_completing_without_a_token_is_allowed(mine: Caller) -> None:
    task = mine.add()
    token = mine.ok("claim_task", task_id=task)["claim"]["token"]
    done = mine.ok("complete_task", task_id=task)
    assert done["status"] == "completed"
    assert mine.ok("complete_task", task_id=task, token=token) == done


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
    mine.ok("update_task", task_id=held, blocked_by=[blocker])
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
