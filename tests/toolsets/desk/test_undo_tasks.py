"""What an undo may not do to tasks: tie them in a circle, or change what another holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rolltop.core.journal import history
from tests.campaign import examples
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

TIES: Final = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]),
        st.integers(0, 2),
        st.lists(st.integers(0, 2), max_size=2, unique=True),
    ),
    min_size=2,
    max_size=8,
)


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(ties=TIES)
@example(ties=[("one", 0, [1]), ("one", 0, []), ("two", 1, [0])])
def test_an_undo_is_refused_for_what_it_would_leave_and_not_for_a_step_of_it(
    desk: AppContext, me: Principal, ties: list[tuple[str, int, list[int]]]
) -> None:
    ids = [answer_of(desk, me, "add_task", title="a")["data"]["task_id"] for _ in range(3)]
    since = str(desk.database.read_sync(me, history.last_sequence))
    blockers: list[set[int]] = [set(), set(), set()]
    done: list[tuple[int, set[int], set[int]]] = []
    for actor, task, wanted in ties:
        given_ids = [ids[one] for one in wanted]
        who = replace(me, actor=actor)
        if call_tool(desk, who, "update_task", task_id=ids[task], blocked_by=given_ids).is_error:
            continue  # a circle, or the task itself
        if actor == "one" and blockers[task] != set(wanted):
            done.append((task, blockers[task], set(wanted)))
        blockers[task] = set(wanted)
    expected = [*blockers]
    for task, before, after in reversed(done):
        if after - before - expected[task] or (before - after) & expected[task]:
            return  # another changed the same since
        expected[task] = expected[task] - (after - before) | (before - after)
    reached = [*expected]
    for _ in ids:
        reached = [one.union(*(reached[other] for other in one)) for one in reached]
    is_circle = any(task in one for task, one in enumerate(reached))
    answer = call_tool(desk, me, "desk_undo", since=since, actor="one")
    if not done:
        assert answer.code == "NOT_FOUND"
        return
    assert ("makes a cycle" in answer.text) == answer.is_error == is_circle, answer.text
    for task, left in zip(ids, blockers if is_circle else expected, strict=True):
        shown = answer_of(desk, me, "get_task", task_id=task)["data"].get("blocked_by", [])
        assert sorted(shown) == sorted(ids[one] for one in left)


@pytest.mark.parametrize("later", [{"title": "c"}, {"tags": ["t"]}, {"comment": "c"}, None])
def test_a_claim_protects_its_task_from_the_undo_of_older_work(
    desk: AppContext, me: Principal, later: dict[str, object] | None
) -> None:
    one, other = (replace(me, actor="codex", session=session) for session in "ab")
    task = answer_of(desk, one, "add_task", title="a")["data"]["task_id"]
    if later is None:
        answer_of(desk, one, "delete_task", task_id=task)
        answer_of(desk, one, "restore_task", task_id=task)
    else:
        answer_of(desk, one, "update_task", task_id=task, **later)
    operation = answer_of(desk, one, "desk_history")["changes"][0]["operation"]
    claim = answer_of(desk, other, "claim_task", task_id=task)["data"]["claim"]
    before = answer_of(desk, me, "get_task", task_id=task)
    for dry_run in (True, False):
        for who in (one, me):
            refused = call_tool(desk, who, "desk_undo", operation=operation, dry_run=dry_run)
            assert refused.code == "CONFLICT", refused.text
            assert f"claimed by codex (b) until {claim['expires_at']}" in refused.text
            assert "force=true" in refused.text
    assert answer_of(desk, me, "get_task", task_id=task) == before
    assert answer_of(desk, other, "desk_undo", operation=operation)["undone"]


def test_the_turn_of_a_holder_is_taken_back_with_its_claim(desk: AppContext, me: Principal) -> None:
    """Also by who is not the holder: the claim ends with the turn, or begins anew with it."""
    gone = replace(me, actor="gone")
    first = answer_of(desk, me, "add_task", title="a")["data"]["task_id"]
    start = answer_of(desk, me, "get_task", task_id=first)["data"]
    since = str(desk.database.read_sync(me, history.last_sequence))
    token = answer_of(desk, gone, "claim_task", task_id=first)["data"]["claim"]["token"]
    answer_of(desk, gone, "update_task", task_id=first, title="b", token=token)
    claimed = str(desk.database.read_sync(me, history.last_sequence))
    answer_of(desk, gone, "complete_task", task_id=first, token=token)
    assert answer_of(desk, me, "desk_undo", since=claimed, actor="gone")["undone"]
    assert answer_of(desk, me, "get_task", task_id=first)["data"]["claim"]["by"] == "gone"
    answer_of(desk, me, "desk_undo", since=since, actor="gone")
    shown = answer_of(desk, me, "get_task", task_id=first)["data"]
    assert (shown["title"], "claim" in shown) == (start["title"], False)


def test_what_is_in_the_way_is_another_s_and_never_what_is_undone(
    desk: AppContext, me: Principal
) -> None:
    other = replace(me, actor="other")
    task = answer_of(desk, me, "add_task", title="a")["data"]["task_id"]
    since = str(desk.database.read_sync(me, history.last_sequence))
    for who, title in ((me, "b"), (other, "c"), (me, "d")):
        answer_of(desk, who, "update_task", task_id=task, title=title)
    newest = answer_of(desk, me, "desk_history")["changes"]
    mine, theirs, first = (change["operation"] for change in newest[:3])

    def hint() -> str:
        refused = call_tool(desk, me, "desk_undo", since=since)
        assert refused.code == "CONFLICT", refused.text
        return refused.structured["error"]["hint"]

    for operation in (mine, theirs, first):
        assert f"Undo {theirs} first, then {first}," in hint()
        answer_of(desk, me, "desk_undo", operation=operation)
    assert answer_of(desk, me, "get_task", task_id=task)["data"]["title"] == "a"


@pytest.mark.parametrize("later", [{"priority": 1}, {"comment": "c"}, {"tags": ["t"]}])
def test_what_changed_something_else_later_is_not_in_the_way(
    desk: AppContext, me: Principal, later: dict[str, object]
) -> None:
    task = answer_of(desk, me, "add_task", title="a")["data"]["task_id"]
    for changed in ({"title": "b"}, {"title": "c", "description": "d"}, later):
        answer_of(desk, me, "update_task", task_id=task, **changed)
    changes = answer_of(desk, me, "desk_history")["changes"]
    _later, second, first = (change["operation"] for change in changes[:3])
    refused = call_tool(desk, me, "desk_undo", operation=first)
    assert refused.code == "CONFLICT"
    assert f"Undo {second} first, then {first}," in refused.structured["error"]["hint"]
    answer_of(desk, me, "desk_undo", operation=second)
    answer_of(desk, me, "desk_undo", operation=first)
    assert answer_of(desk, me, "get_task", task_id=task)["data"]["title"] == "a"
    assert "undone_by" not in answer_of(desk, me, "desk_history")["changes"][2]


@pytest.mark.parametrize("kind", ["parent_id", "blocked_by", "cell"])
def test_what_others_built_on_since_names_what_they_did(
    desk: AppContext, me: Principal, kind: str
) -> None:
    other = replace(me, actor="other")
    if kind == "cell":
        pad = answer_of(desk, me, "scratch_create")["scratchpad"]["scratch_id"]
        cell = {"language": "txt", "content": "b"}
        answer_of(desk, other, "scratch_append_cell", scratch_id=pad, cell=cell)
    else:
        task = answer_of(desk, me, "add_task", title="a")["data"]["task_id"]
        later = answer_of(desk, other, "add_task", title="b")["data"]["task_id"]
        on = task if kind == "parent_id" else [task]
        answer_of(desk, other, "update_task", task_id=later, **{kind: on})
        answer_of(desk, other, "update_task", task_id=later, title="c")
    changes = answer_of(desk, me, "desk_history")["changes"]
    built = changes[0 if kind == "cell" else 1]["operation"]
    made = changes[-1]["operation"]
    refused = call_tool(desk, me, "desk_undo", since=0, actor=me.actor or "unknown")
    error = refused.structured["error"]
    assert f"others refer to it since by operation {built} (" in error["message"]
    assert f"Undo {built} first, then {made}," in error["hint"]
    for operation in (built, made):
        answer_of(desk, me, "desk_undo", operation=operation)
