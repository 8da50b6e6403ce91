"""Parts of an argument that stand beside the others are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.desks import answer_of, call_tool
from tests.toolsets.scratch.caller import cell

if TYPE_CHECKING:
    from tests.toolsets.scratch.caller import Caller


def test_a_pads_labels_and_its_one_cell_stand_beside_the_rest(mine: Caller) -> None:
    labels = {"title": "t", "description": "d", "summary": "s"}
    pad = mine.pad(metadata={"title": "other", "x": 1}, **labels)
    assert mine.read(pad)["metadata"] == {**labels, "x": 1}
    mine.ok("scratch_update", scratch_id=pad, title="u", metadata={"x": None})
    assert mine.read(pad)["metadata"] == {**labels, "title": "u"}
    made = mine.ok("scratch_create", title="v", lang="py", code="x = (", validate=True)
    assert [one["valid"] for one in made["validation"]] == [False]
    assert made["scratchpad"]["title"] == "v"


def test_a_cells_fields_stand_beside_the_rest(mine: Caller) -> None:
    pad = mine.pad()
    sent = {"language": "json", "content": "{}", "tags": ["a"], "json_schema": {"type": "array"}}
    made = mine.ok("scratch_append_cell", scratch_id=pad, validate=True, **sent)
    assert made["validation"][0]["valid"] is False
    one = made["cell_id"]
    mine.ok("scratch_replace_cell", scratch_id=pad, cell_id=one, language="txt", text="b")
    (shown,) = mine.read(pad)["cells"]
    assert (shown["language"], shown["content"], shown["tags"]) == ("txt", "b", ["a"])
    error = mine.fails("scratch_append_cell", scratch_id=pad, cell=cell("a"), content="b")
    assert 'Unknown argument "content"' in error["message"]
    error = mine.fails("scratch_append_cell", scratch_id=pad, content="b")
    assert error["message"].startswith("cell.language is required")


def test_a_null_beside_the_rest_is_left_out(mine: Caller) -> None:
    pad = mine.pad(title=None, description="", content=None, language=None)
    assert mine.read(pad)["metadata"] == {}
    nulls = {"json_schema": None, "metadata": None, "tags": "", "validate": None}
    mine.ok("scratch_append_cell", scratch_id=pad, language="txt", content="a", **nulls)
    mine.ok("scratch_append_cell", scratch_id=pad, cell=cell("b"), content=None)
    ends = {"line_start": None, "line_end": None, "text": None}
    one, other = mine.cell_ids(pad)
    mine.ok("scratch_edit_cell", scratch_id=pad, cell_id=one, old="a", new="c", **ends)
    edits = [{"old": "b", "new": "d"}]
    mine.ok("scratch_edit_cell", scratch_id=pad, cell_id=other, edits=edits, old=None)
    assert mine.contents(pad) == ["c", "d"]


def test_a_blank_description_removes_the_pads_own_and_other_blanks_are_left_out(
    mine: Caller,
) -> None:
    pad = mine.pad(title="t", description="d", summary="s")
    mine.ok("scratch_update", scratch_id=pad, title="", description="", summary="", tags=["a"])
    assert mine.read(pad)["metadata"] == {"title": "t", "summary": "s"}
    mine.ok("scratch_update", scratch_id=pad, description="", metadata={"description": "e"})
    assert mine.read(pad)["metadata"]["description"] == "e"


def test_objects_beside_the_rest_may_be_json_text(mine: Caller) -> None:
    pad = mine.pad(title="t", metadata='{"owner": "me"}')
    assert mine.read(pad)["metadata"] == {"title": "t", "owner": "me"}
    for name, schema in (("one", '{"type": "array"}'), ("two", '{"schema": {"type": "array"}}')):
        sent = {"action": "upsert", "scratch_id": pad, "name": name, "schema": schema}
        kept = answer_of(mine.desk, mine.scope, "scratch_schema", **sent)["schema"]
        assert (kept["name"], kept["schema"]) == (name, {"type": "array"})
    error = mine.fails("scratch_update", scratch_id=pad, title="u", metadata="{")
    assert error["message"].startswith("metadata must be an object")
    sent = {"action": "upsert", "scratch_id": pad, "schema": {"name": "a", "schema": True}}
    refused = call_tool(mine.desk, mine.scope, "scratch_schema", name="b", **sent)
    assert 'Unknown argument "name"' in refused.structured["error"]["message"]


@pytest.mark.parametrize(
    ("edit", "content"),
    [
        ({"old": "a", "new": "c"}, "c\nb\n"),
        ({"old_string": "b\n", "new_string": ""}, "a\n"),
        ({"line_start": 2, "text": "c"}, "a\nc\n"),
        ({"edits": [{"line_start": 1, "line_end": 2, "new": "c"}]}, "c\n"),
    ],
)
def test_an_edits_fields_stand_beside_the_rest(
    mine: Caller, edit: dict[str, Any], content: str
) -> None:
    pad = mine.pad("a\nb\n")
    (one,) = mine.cell_ids(pad)
    mine.ok("scratch_edit_cell", scratch_id=pad, cell_id=one, **edit)
    assert mine.contents(pad) == [content]


def test_the_first_line_of_an_empty_cell_is_written(mine: Caller) -> None:
    pad = mine.pad("", "")
    for one, last in zip(mine.cell_ids(pad), (0, 1), strict=True):
        edits = [{"line_start": 1, "line_end": last, "text": "a"}]
        mine.ok("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=edits)
    assert mine.contents(pad) == ["a", "a"]


def test_a_json_schema_stands_without_its_entry(mine: Caller) -> None:
    bare = {"type": "array", "description": "of what"}
    pad = mine.pad(metadata={"schemas": {"one": bare}})
    named = {"name": "two", "description": "d", "schema": bare}
    answer_of(mine.desk, mine.scope, "scratch_schema", action="upsert", scratch_id=pad, **named)
    mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema={"schema": bare})
    kept = mine.ok("scratch_schema", action="list", scratch_id=pad)["schemas"]
    assert [entry["schema"] for entry in kept] == [bare] * 3
    assert {(entry["name"], entry["description"]) for entry in kept} >= {("one", ""), ("two", "d")}
    assert mine.code("scratch_schema", schema={"name": "x"}, action="upsert", scratch_id=pad) == (
        "VALIDATION_ERROR"
    )
