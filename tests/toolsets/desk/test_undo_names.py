"""Undo of what took names from others, and of more than one call takes back at a time."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.desk import undo as undo_module
from tests.campaign import examples
from tests.desks import answer_of, call_tool, make_desk
from tests.toolsets.desk.test_undo import state, undo

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database

ALONE: Final = HealthCheck.function_scoped_fixture  # each example has a user of its own
STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(["name", "new", "delete"]), st.integers(0, 3), st.sampled_from("abcd")
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


def last_sequence(desk: AppContext, me: Principal) -> int:
    return max(one["sequence"] for one in answer_of(desk, me, "desk_history")["changes"])


@settings(max_examples=examples(30), suppress_health_check=[ALONE])
@given(steps=STEPS)
def test_schemas_that_took_each_others_names_are_put_back_and_forth(
    desk: AppContext, steps: list[tuple[str, int, str]]
) -> None:
    user = desk.database.write_sync(SYSTEM, add_user, f"{uuid.uuid4()}@example.org")
    me = Principal.for_user(user.id)
    named = {name: {"schema": {"title": name}} for name in "ab"}
    made = answer_of(desk, me, "scratch_create", metadata={"schemas": named}, cells=[])
    pad = made["scratchpad"]["scratch_id"]
    begun = last_sequence(desk, me)
    states = [state(desk, me)]
    for number, (action, at, name) in enumerate(steps):
        listed = answer_of(desk, me, "scratch_schema", action="list", scratch_id=pad)["schemas"]
        schema = {"name": name, "schema": {"title": str(number)}}
        if action == "new":
            call_tool(desk, me, "scratch_schema", action="upsert", scratch_id=pad, schema=schema)
        elif at < len(listed) and action == "name":
            schema["id"] = listed[at]["id"]
            call_tool(desk, me, "scratch_schema", action="upsert", scratch_id=pad, schema=schema)
        elif at < len(listed):
            given = {"scratch_id": pad, "schema_id": listed[at]["id"]}
            call_tool(desk, me, "scratch_schema", action="delete", **given)
    states.append(state(desk, me))
    if states[0] == states[1]:
        return
    operation = answer_of(desk, me, "desk_undo", since=begun)["operation"]
    for turn in range(3):
        assert state(desk, me) == states[turn % 2]
        operation = undo(desk, me, operation).structured["operation"]


def test_schemas_that_swapped_their_names_swap_them_again(desk: AppContext, me: Principal) -> None:
    named = {name: {"schema": {"title": name}} for name in "ab"}
    made = answer_of(desk, me, "scratch_create", metadata={"schemas": named}, cells=[])
    pad, begun = made["scratchpad"]["scratch_id"], last_sequence(desk, me)
    listed = answer_of(desk, me, "scratch_schema", action="list", scratch_id=pad)["schemas"]
    ids = {one["name"]: one["id"] for one in listed}
    for old, new in (("a", "c"), ("b", "a"), ("a", "b")):
        schema = {"id": ids[old], "name": new, "schema": {"title": old}}
        answer_of(desk, me, "scratch_schema", action="upsert", scratch_id=pad, schema=schema)
    swapped = state(desk, me)
    operation = answer_of(desk, me, "desk_undo", since=begun)["operation"]
    assert state(desk, me) != swapped
    assert not undo(desk, me, operation).is_error
    assert state(desk, me) == swapped


def test_one_operation_of_any_size_is_taken_back(
    desk: AppContext, me: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_module, "MAX_ENTRIES", 5)
    answer_of(desk, me, "add_task", tasks=[{"title": str(number)} for number in range(6)])
    answer_of(desk, me, "note_save", text="later")
    refused = call_tool(desk, me, "desk_undo", since="0")
    assert refused.code == "INVALID_ARGUMENT"
    assert "operation" in refused.structured["error"]["hint"]
    listed = answer_of(desk, me, "desk_history")["changes"]
    operation = next(one["operation"] for one in listed if one["tool"] == "add_task")
    assert len(answer_of(desk, me, "desk_undo", operation=operation)["undone"]) == 6
    assert state(desk, replace(me, actor="other"))["tasks"] == []


def test_an_undo_makes_no_more_pads_and_cells_than_there_is_room_for(
    database: Database, me: Principal
) -> None:
    limits = {"scratch.max_scratchpads": 1, "scratch.max_cells_per_pad": 1}
    desk = make_desk(database, settings=limits)
    cells = [{"language": "txt", "content": "x"}]
    first = answer_of(desk, me, "scratch_create", cells=cells)["scratchpad"]
    named = {"scratch_id": first["scratch_id"]}
    answer_of(desk, me, "scratch_delete_cell", **named, cell_id=first["cells"][0]["cell_id"])
    (entry, *_) = answer_of(desk, me, "desk_history")["changes"]
    answer_of(desk, me, "scratch_append_cell", **named, cell=cells[0])
    refused = call_tool(desk, me, "desk_undo", operation=entry["operation"])
    assert refused.code == "CONFLICT"
    assert "no room for more than 1 cells" in refused.structured["error"]["message"]
    answer_of(desk, me, "scratch_delete", **named)
    (entry, *_) = answer_of(desk, me, "desk_history")["changes"]
    second = answer_of(desk, me, "scratch_create")["scratchpad"]
    refused = call_tool(desk, me, "desk_undo", operation=entry["operation"])
    assert refused.code == "CONFLICT"
    assert "no room for more than 1 pads" in refused.structured["error"]["message"]
    (left,) = answer_of(desk, me, "scratch_list")["scratchpads"]
    assert left["scratch_id"] == second["scratch_id"]
    answer_of(desk, me, "scratch_create")
    (entry, *_) = answer_of(desk, me, "desk_history", tool="scratch_create")["changes"]
    answer_of(desk, me, "desk_undo", operation=entry["operation"])  # that of an eviction fits
    (left,) = answer_of(desk, me, "scratch_list")["scratchpads"]
    assert left["scratch_id"] == second["scratch_id"]
