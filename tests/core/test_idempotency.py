"""A call with an idempotency key may be sent twice: it writes once and answers alike."""

from __future__ import annotations

import asyncio
import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from rolltop.core import accounts
from rolltop.core.db import SYSTEM
from rolltop.core.idempotency import answers
from rolltop.core.journal import history
from rolltop.core.principal import Principal
from rolltop.toolsets.desk import jobs
from tests.campaign import examples
from tests.desks import call_tool, make_desk
from tests.forks import Forked

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.dispatch import Answer
    from tests.databases import Clock, MakeDatabase

KEY: Final = {"idempotency_key": "once"}
CREATED: Final[dict[str, dict[str, Any]]] = {
    "add_task": {"title": "a"},
    "scratch_create": {"cells": [{"language": "md", "content": "# a\n"}]},
    "note_save": {"text": "a\n"},
}


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


def written(desk: AppContext, who: Principal) -> int:
    """How many things a user's calls have changed."""
    return desk.database.read_sync(who, history.last_sequence)


def keys_kept(desk: AppContext) -> int:
    count = select(func.count()).select_from(answers)
    return desk.database.read_sync(SYSTEM, lambda tx: tx.execute(count).scalar_one())


@pytest.mark.parametrize("tool", CREATED)
def test_a_repeated_call_answers_the_same_and_writes_nothing(
    desk: AppContext, me: Principal, tool: str
) -> None:
    first = call_tool(desk, me, tool, **CREATED[tool], **KEY)
    count = written(desk, me)
    again = call_tool(desk, me, tool, **CREATED[tool], **KEY)
    assert not first.is_error, first.text
    assert again == first
    assert written(desk, me) == count
    other = call_tool(desk, me, tool, **CREATED[tool], idempotency_key="another")
    assert other.text != first.text
    assert written(desk, me) > count


def test_an_append_happens_once(desk: AppContext, me: Principal) -> None:
    pad = call_tool(desk, me, "scratch_create").structured["scratchpad"]["scratch_id"]
    cell = {"language": "json", "content": "[1]", "validate": True}
    given = {"scratch_id": pad, "cell": cell, **KEY}
    first = call_tool(desk, me, "scratch_append_cell", **given)
    assert call_tool(desk, me, "scratch_append_cell", **given) == first
    pads_cells = call_tool(desk, me, "scratch_list_cells", scratch_id=pad).structured
    assert pads_cells["cell_count"] == 1
    task = call_tool(desk, me, "add_task", title="a").structured["data"]["task_id"]
    for _ in range(2):
        call_tool(desk, me, "update_task", task_id=task, comment="half done", **KEY)
    assert len(call_tool(desk, me, "get_task", task_id=task).structured["data"]["comments"]) == 1


def test_a_plan_and_a_schema_are_kept_once(desk: AppContext, me: Principal) -> None:
    plan = {"tasks": [{"title": "a"}, {"title": "b", "blocked_by": [0]}], **KEY}
    assert call_tool(desk, me, "add_task", **plan) == call_tool(desk, me, "add_task", **plan)
    assert len(call_tool(desk, me, "list_tasks").structured["data"]) == 2
    pad = call_tool(desk, me, "scratch_create").structured["scratchpad"]["scratch_id"]
    schema = {"schema": {"type": "array"}}
    given = {"action": "upsert", "scratch_id": pad, "schema": schema, **KEY}
    assert call_tool(desk, me, "scratch_schema", **given) == call_tool(
        desk, me, "scratch_schema", **given
    )


def test_the_first_answer_comes_again_after_the_thing_is_gone(
    desk: AppContext, me: Principal
) -> None:
    pad = call_tool(desk, me, "scratch_create").structured["scratchpad"]["scratch_id"]
    given = {"scratch_id": pad, "cell": {"language": "md", "content": "a"}, **KEY}
    first = call_tool(desk, me, "scratch_append_cell", **given)
    call_tool(desk, me, "scratch_delete", scratch_id=pad)
    assert call_tool(desk, me, "scratch_append_cell", **given) == first


@pytest.mark.parametrize("tool", CREATED)
def test_a_key_with_other_arguments_is_a_conflict_that_says_so(
    desk: AppContext, me: Principal, tool: str
) -> None:
    call_tool(desk, me, tool, **CREATED[tool], **KEY)
    count = written(desk, me)
    refused = call_tool(desk, me, tool, **{**CREATED[tool], "tags": ["x"]}, **KEY)
    assert refused.code == "CONFLICT"
    assert 'idempotency_key \\"once\\"' in refused.text
    assert "other arguments" in refused.text
    assert written(desk, me) == count


def test_a_call_that_fails_keeps_nothing(desk: AppContext, me: Principal) -> None:
    assert call_tool(desk, me, "add_task", title=" ", **KEY).code == "TITLE_REQUIRED"
    assert call_tool(desk, me, "note_save", text_patch=[], **KEY).is_error
    assert keys_kept(desk) == 0
    assert not call_tool(desk, me, "add_task", title="a", **KEY).is_error
    assert keys_kept(desk) == 1


def test_a_key_is_the_user_s_and_the_tool_s(
    desk: AppContext, me: Principal, them: Principal
) -> None:
    mine = call_tool(desk, me, "add_task", title="a", **KEY)
    theirs = call_tool(desk, them, "add_task", title="b", **KEY)
    note = call_tool(desk, me, "note_save", text="a", **KEY)
    assert not theirs.is_error, theirs.text
    assert not note.is_error, note.text
    assert mine.text != theirs.text


@pytest.mark.parametrize("key", ["x" * 65, "a\x00", "a\ud800"])
def test_what_is_no_key_is_refused(desk: AppContext, me: Principal, key: str) -> None:
    refused = call_tool(desk, me, "add_task", title="a", idempotency_key=key)
    assert refused.code in {"INVALID_ARGUMENT", "INVALID_TEXT"}
    assert "idempotency_key" in refused.text
    longest = call_tool(desk, me, "add_task", title="a", idempotency_key="x" * 64)
    assert not longest.is_error, longest.text


def test_a_key_is_kept_for_seven_days(desk: AppContext, me: Principal, clock: Clock) -> None:
    first = call_tool(desk, me, "add_task", title="a", **KEY)
    clock.advance(days=6.9)
    asyncio.run(jobs.purge_answers(desk))
    assert call_tool(desk, me, "add_task", title="a", **KEY) == first
    clock.advance(days=0.2)
    later = call_tool(desk, me, "add_task", title="b", **KEY)
    assert not later.is_error, later.text
    clock.advance(days=7)
    call_tool(desk, me, "add_task", title="b", idempotency_key="new")
    asyncio.run(jobs.purge_answers(desk))
    assert keys_kept(desk) == 1


def test_calls_at_once_with_one_key_create_one_thing(
    database_url: str, make_database: MakeDatabase, me: Principal
) -> None:
    desks = [make_desk(make_database(database_url)) for _ in range(3)]

    def call(number: int) -> Answer:
        desk = desks[number % len(desks)]
        return call_tool(desk, me, "scratch_create", **CREATED["scratch_create"], **KEY)

    with ThreadPoolExecutor(6) as threads:
        given = list(threads.map(call, range(6)))
    assert len({answer.text for answer in given}) == 1
    assert len(call_tool(desks[0], me, "scratch_list").structured["scratchpads"]) == 1


@pytest.mark.parametrize("tool", CREATED)
def test_a_process_killed_before_its_answer_leaves_one_creation(
    desk: AppContext, me: Principal, database_url: str, tool: str
) -> None:
    given = {**CREATED[tool], **KEY}
    program = ["-m", "tests.core.killed_call", database_url, me.user_id, tool, json.dumps(given)]
    with Forked(program) as killed:
        assert killed.wait() == -9
    count = written(desk, me)
    assert count > 0
    answer = call_tool(desk, me, tool, **given)
    assert not answer.is_error, answer.text
    assert written(desk, me) == count
    assert call_tool(desk, me, tool, **given) == answer


CALLS: Final = st.tuples(
    st.sampled_from(["add_task", "note_save"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["x", "y", ""]),
    st.integers(0, 1),
)


@settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(calls=st.lists(CALLS, min_size=2, max_size=12))
def test_keys_do_what_a_table_of_first_answers_does(
    database: Database, calls: list[tuple[str, str, str, int]]
) -> None:
    email = f"{uuid.uuid4()}@example.org"
    me = Principal.for_user(database.write_sync(SYSTEM, accounts.add_user, email).id)
    desk = make_desk(database)
    firsts: dict[tuple[str, str], tuple[str, Answer]] = {}
    for tool, text, key, order in calls:
        name = "title" if tool == "add_task" else "text"
        arguments: dict[str, Any] = {name: text, "idempotency_key": key or None}
        names = sorted(arguments)
        shuffled = {one: arguments[one] for one in (*names[order:], *names[:order])}
        count = written(desk, me)
        answer = call_tool(desk, me, tool, **shuffled)
        known = firsts.get((tool, key)) if key else None
        if known is None:
            assert written(desk, me) == count + 1
            firsts[tool, key] = (text, answer)
        else:
            assert written(desk, me) == count
            assert answer == known[1] if known[0] == text else answer.code == "CONFLICT"
