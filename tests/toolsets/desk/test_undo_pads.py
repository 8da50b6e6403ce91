"""Undo of what was done to pads, after others have done more to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.core.dispatch import ToolSelection
from rolltop.core.journal import history
from rolltop.core.journal.history import EntryFilter
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.desk.undo import Tried, undo
from tests.desks import answer_of, call_tool, make_desk
from tests.growth import count_calls
from tests.toolsets.desk.test_undo import operations, state

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

MOVES: Final = [
    ("a", 3, "c", "abd"),
    ("a", 3, "b", "acd"),
    ("a", 2, "d", "abc"),
    ("d", 0, "b", "acd"),
    ("d", 0, "a", "bcd"),
    ("b", 2, "a", "bcd"),
    ("c", 1, "a", "bcd"),
]
"""The cell of `abcd` that is moved, where to, another that is deleted then, and what is left."""


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.parametrize(("moved", "to", "deleted", "left"), MOVES)
def test_a_cell_goes_back_to_its_place_though_another_was_deleted(
    desk: AppContext,
    me: Principal,
    moved: str,
    to: int,
    deleted: str,
    left: str,
    *,
    is_edited: bool,
) -> None:
    def call(tool: str, **given: Any) -> Any:
        return answer_of(desk, me, tool, **given)

    cells = [{"language": "txt", "content": text} for text in "abcd"]
    pad = call("scratch_create", cells=cells)["scratchpad"]
    ids = {text: cell["cell_id"] for text, cell in zip("abcd", pad["cells"], strict=True)}
    named = {"scratch_id": pad["scratch_id"]}
    content = f"{moved}!" if is_edited else moved
    cell = {"language": "txt", "content": content}
    call("scratch_replace_cell", **named, cell_id=ids[moved], cell=cell, new_index=to)
    move = operations(desk, me)[-1]
    call("scratch_delete_cell", **named, cell_id=ids[deleted])
    undone = call("desk_undo", operation=move)
    shown = call("scratch_read", **named)["scratchpad"]["cells"]
    assert "".join(one["content"] for one in shown) == left
    assert [one["index"] for one in shown] == list(range(len(left)))
    assert any("/cell/" in uri for uri in undone["undone"])


def test_a_deleted_cell_goes_back_to_what_followed_it(desk: AppContext, me: Principal) -> None:
    cells = [{"language": "txt", "content": text} for text in "abcd"]
    pad = answer_of(desk, me, "scratch_create", cells=cells)["scratchpad"]
    named = {"scratch_id": pad["scratch_id"]}
    for at in (1, 0):
        cell_id = pad["cells"][at]["cell_id"]
        answer_of(desk, me, "scratch_delete_cell", **named, cell_id=cell_id)
    answer_of(desk, me, "desk_undo", operation=operations(desk, me)[1])
    shown = answer_of(desk, me, "scratch_read", **named)["scratchpad"]["cells"]
    assert [one["content"] for one in shown] == ["b", "c", "d"]


def test_an_undo_of_what_a_left_out_toolset_did_names_the_toolset(
    database: Database, desk: AppContext, me: Principal
) -> None:
    answer_of(desk, me, "scratch_create", cells=[])
    (made,) = operations(desk, me)
    before = state(desk, me)
    others = ToolSelection([one.name for one in TOOLSETS if one.name != "scratch"])
    small = make_desk(database, selection=others)
    answer_of(small, me, "note_save", text="a")
    for given in ({"operation": made}, {"since": "0"}):
        refused = call_tool(small, me, "desk_undo", **given)
        assert refused.code == "NOT_FOUND", refused.text
        assert "toolset scratch" in refused.structured["error"]["hint"]
    assert state(desk, me)["scratch_pads"] == before["scratch_pads"]
    assert len(state(desk, me)["notes"]) == 1


def test_a_turn_on_a_long_pad_is_taken_back_as_one_and_search_finds_what_is_left(
    desk: AppContext, me: Principal
) -> None:
    def call(tool: str, **given: Any) -> Any:
        return answer_of(desk, me, tool, **given)

    def count_found() -> list[int]:
        return [len(call("scratch_search", query=word)["hits"]) for word in ("apple", "plum")]

    def try_it(since: int) -> None:
        with pytest.raises(Tried):
            desk.database.write_sync(
                me.during("desk_undo"), undo, desk, EntryFilter(after=since), dry_run=True
            )

    def rewrite(number: int) -> int:
        """Have as many cells rewritten; return the steps of taking that back."""
        since = desk.database.read_sync(me, history.last_sequence)
        for cell in pad["cells"][:number]:
            plum = {"language": "txt", "content": "plum"}
            call("scratch_replace_cell", **named, cell_id=cell["cell_id"], cell=plum)
        steps = count_calls(lambda: try_it(since))
        assert count_found() == [8 - number, number]
        call("desk_undo", since=str(since))
        assert count_found() == [8, 0]
        return steps

    cells = [{"language": "txt", "content": "apple" if at < 8 else "fig"} for at in range(200)]
    pad = call("scratch_create", cells=cells)["scratchpad"]
    named = {"scratch_id": pad["scratch_id"]}
    _first, few, many = rewrite(1), rewrite(1), rewrite(8)
    assert many < 4 * few, "each operation costs what the whole pad does"
    call("desk_undo", operation=operations(desk, me)[-1])
    assert count_found() == [0, 8]
