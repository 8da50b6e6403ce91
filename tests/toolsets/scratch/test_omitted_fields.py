"""Fields of a pad and its cells that do not fit the budget are named, and the read goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core import token_counter
from rolltop.toolsets.scratch.models import MINIMAL_PAD_FIELDS
from tests.campaign import examples
from tests.desks import call_tool
from tests.toolsets.scratch.caller import Caller, cell

DATA: Final = Path(__file__).parents[2] / "data" / "scratch"
TEXT = st.text(st.sampled_from('ab "\\\n漢😀'), max_size=40)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(TEXT, inner, max_size=20),
    max_leaves=60,
)
METADATA = st.dictionaries(
    st.text(st.sampled_from("kxyz"), min_size=3, max_size=8), VALUES, max_size=20
)
OWN = {"namespace": "finance", "tags": ["audit", "q4"]}
SCHEMA = {"type": "object", "properties": {"n": {"minimum": 1}}, "required": ["n"]}
LONG: dict[str, dict[str, Any]] = {
    "metadata": {"metadata": {"why": "because it had to be done " * 60}},
    "tags": {"tags": [f"tag number {n}" for n in range(60)]},
    "json_schema": {"json_schema": {"type": "integer", "description": "d " * 500}},
}


def followed(caller: Caller, pad: str, limit: int, **arguments: Any) -> list[dict[str, Any]]:
    """Return the answers of a read that is followed to its end within one budget."""
    sent = {"scratch_id": pad, **arguments, "max_tokens": limit}
    answers: list[dict[str, Any]] = []
    while sent["max_tokens"] == limit:
        answer = call_tool(caller.desk, caller.scope, "scratch_read", **sent)
        assert not answer.is_error, answer.text
        assert token_counter.count(answer.text) <= limit
        answers.append(answer.structured)
        if "next" not in answer.structured:
            break
        assert answer.structured["truncated"] is True
        assert answer.structured["next"]["arguments"] != sent
        sent = answer.structured["next"]["arguments"]
    return answers


def contents(answers: list[dict[str, Any]]) -> str:
    return "".join(
        shown["content"] for answer in answers for shown in answer["scratchpad"]["cells"]
    )


def names_of(answers: list[dict[str, Any]]) -> tuple[set[str], set[str]]:
    """Return the fields of a pad that several answers show, and those they name as omitted."""
    shown = {name for answer in answers for name in answer["scratchpad"]}
    shown |= {f"metadata.{key}" for one in answers for key in one["scratchpad"].get("metadata", {})}
    return shown, {name for one in answers for name in one["scratchpad"].get("omitted", [])}


@pytest.mark.parametrize("limit", [4000, 9000])
def test_metadata_comes_with_the_first_answer_and_the_cells_after_it(
    mine: Caller, limit: int
) -> None:
    metadata: dict[str, Any] = {f"key {n}": [n, {"deep": f"value {n}"}] for n in range(150)}
    metadata["title"] = "A title"
    text = "".join(f"line {n}\n" for n in range(1200))
    pad = mine.pad(text, "after", metadata=metadata)
    for n in range(9):
        entry = {"name": f"schema {n}", "schema": {"minItems": n}}
        mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=entry)
    answers = followed(mine, pad, limit)
    schemas = mine.ok("scratch_schema", action="list", scratch_id=pad)["schemas"]
    first, *others = (answer["scratchpad"] for answer in answers)
    assert first["metadata"] == {**metadata, "schemas": {one["name"]: one for one in schemas}}
    assert first["title"] == "A title"
    assert all("metadata" not in other for other in others)
    assert contents(answers) == text + "after"
    without = followed(mine, pad, limit, include_metadata=False)
    assert all("metadata" not in answer["scratchpad"] for answer in without)
    assert contents(without) == text + "after"


def test_what_fits_comes_whole_however_large_the_metadata(mine: Caller) -> None:
    metadata = {f"key {n}": n for n in range(300)}
    pad = mine.pad("cell", metadata=metadata)
    (answer,) = followed(mine, pad, 2500)
    assert answer["scratchpad"]["metadata"] == metadata
    assert "truncated" not in answer


def test_values_that_do_not_fit_are_named(mine: Caller) -> None:
    metadata = {"a": 1, "long": "word " * 2000, "numbers": {"n": list(range(2000))}, "z": 2}
    pad = mine.pad("cell", metadata=metadata)
    answers = followed(mine, pad, 700)
    assert answers[0]["scratchpad"]["metadata"] == {"a": 1, "z": 2}
    assert answers[0]["scratchpad"]["omitted"] == ["metadata.long", "metadata.numbers"]
    assert answers[0]["truncated"] is True
    assert contents(answers) == "cell"
    whole = mine.ok("scratch_read", scratch_id=pad)
    assert whole["scratchpad"]["metadata"] == metadata


def test_a_last_answer_that_leaves_fields_out_names_the_call_that_gets_them(mine: Caller) -> None:
    summary = "A summary of some length. " * 60
    pad = mine.pad(metadata={"title": "Ledger", "summary": summary}, **OWN)
    (answer,) = followed(mine, pad, 400)
    assert {"summary", "metadata"} <= {name[:8] for name in answer["scratchpad"]["omitted"]}
    whole = mine.ok(answer["next"]["tool"], **answer["next"]["arguments"])
    assert whole["scratchpad"]["summary"] == summary.strip()
    assert "truncated" not in whole


def test_a_pad_whose_own_fields_are_long_shows_its_cells(mine: Caller) -> None:
    labels = {"title": "t " * 4000, "summary": "s " * 4000}
    text = "".join(f"line {n}\n" for n in range(100))
    tags = [f"{n} " + "c" * 150 for n in range(40)]
    sent = cell(text, "txt", metadata={"m": "q " * 3000}, tags=tags)
    created = mine.ok(
        "scratch_create", metadata=labels, tags=[f"{n} " + "p" * 190 for n in range(90)]
    )
    pad = created["scratchpad"]["scratch_id"]
    mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)
    for limit in (300, 900, 3000):
        for arguments in ({}, {"include_metadata": False}, {"indices": [0]}):
            answers = followed(mine, pad, limit, **arguments)
            assert contents(answers) == text
            assert answers[0]["truncated"] is True
            assert {"title", "summary", "tags"} <= names_of(answers)[1]
        some = mine.ok("scratch_read", scratch_id=pad, indices=[0], line_start=3, line_count=1,
                       max_tokens=limit)  # fmt: skip
        assert some["scratchpad"]["cells"][0]["content"] == "line 2\n"
        assert some["truncated"] is True


@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(metadata=METADATA, text=TEXT, limit=st.integers(400, 1200))
def test_any_metadata_is_shown_or_named(
    local: Caller, metadata: dict[str, Any], text: str, limit: int
) -> None:
    pad = local.pad(text * 20, metadata=metadata)
    answers = followed(local, pad, limit)
    found = answers[0]["scratchpad"].get("metadata", {})
    assert {key: metadata[key] for key in found} == found
    omitted = names_of(answers)[1]
    left_out = {f"metadata.{key}" for key in metadata.keys() - found.keys()}
    assert left_out <= omitted or "metadata" in omitted
    assert contents(answers) == text * 20


def test_values_that_fit_one_by_one_and_not_together_are_named_not_cut(local: Caller) -> None:
    metadata = json.loads((DATA / "metadata_at_the_edge.json").read_text("utf-8"))
    pad = local.pad('a\n"' * 20, metadata=metadata)
    for limit in range(400, 960):
        answer = local.ok("scratch_read", scratch_id=pad, max_tokens=limit)
        found = answer["scratchpad"].get("metadata", {})
        assert {key: metadata[key] for key in found} == found


@pytest.mark.parametrize("limit", [200, 500, 2000])
def test_a_pads_own_fields_come_once(mine: Caller, limit: int) -> None:
    summary = "A summary of some length. " * 20
    pad = mine.pad(*["line\n" * 400] * 3, metadata={"summary": summary}, tags=["alpha"])
    answers = followed(mine, pad, limit)
    assert answers[0]["truncated"] is True
    # Beside ids that cost many tokens the smallest answer has no room for a pad's own fields.
    least = ["alpha"] if limit == 200 else None
    assert answers[0]["scratchpad"].get("tags", least) == ["alpha"]
    repeated = {*MINIMAL_PAD_FIELDS, "cells"}
    own = [name for one in answers for name in one["scratchpad"] if name not in repeated]
    assert len(own) == len(set(own))
    assert "truncated" not in answers[-1]
    assert contents(answers) == "line\n" * 1200


@pytest.mark.parametrize("limit", [200, 230, 260, 300, 350, 400, 500, 900])
@pytest.mark.parametrize("which", [{}, {"indices": [1]}])
@pytest.mark.parametrize("lines", [1, 60])
def test_no_field_of_a_pad_or_a_cell_is_lost_in_silence(
    local: Caller, limit: int, which: dict[str, Any], lines: int
) -> None:
    pad = local.pad(metadata={"title": "Ledger", "owner": "me"}, **OWN)
    for n in range(2):
        content = json.dumps({"n": n, "rows": ["a row of the ledger"] * lines}, indent=0)
        sent = {"validate": True, "json_schema": SCHEMA, "tags": ["money"], "metadata": {"k": [n]}}
        local.append(pad, content, "json", **sent)
    whole = local.ok("scratch_read", scratch_id=pad, **which)
    assert "truncated" not in whole
    answers = followed(local, pad, limit, **which)
    assert contents(answers) == contents([whole])
    shown, omitted = names_of(answers)
    # The very smallest answers have no room for the names; an address says no more than the id.
    lost = set(whole["scratchpad"]) - {"uri"} - shown - omitted
    assert not lost or (limit < 250 and answers[0]["truncated"])
    for one in whole["scratchpad"]["cells"]:
        parts = [
            (answer, part)
            for answer in answers
            for part in answer["scratchpad"]["cells"]
            if part["cell_id"] == one["cell_id"]
        ]
        seen = {name for _answer, part in parts for name in (*part, *part.get("omitted", []))}
        assert set(one) <= seen or all(answer["truncated"] for answer, _part in parts)


@pytest.mark.parametrize("field", LONG)
@pytest.mark.parametrize("limit", [200, 250, 300, 350, 400, 500, 700])
def test_no_field_of_a_lone_cell_is_cut_in_silence(local: Caller, field: str, limit: int) -> None:
    pad = local.pad()
    local.append(pad, "12\n", "json", **LONG[field])
    for lines in ({}, {"indices": [0], "line_start": 1}):
        answers = followed(local, pad, limit, **lines)
        assert contents(answers) == "12\n"
        last = answers[-1]
        assert "…" not in json.dumps(last, ensure_ascii=False)
        if last.get("truncated"):
            last = local.ok(last["next"]["tool"], **last["next"]["arguments"])
        assert last["scratchpad"]["cells"][0][field] == LONG[field][field]


def test_a_schema_of_a_cell_that_no_budget_holds_is_named(local: Caller) -> None:
    pad = local.pad()
    long = {"enum": list(range(40_000))}
    local.append(pad, "[1]\n" * 50, "yaml", json_schema=long, metadata={"n": list(range(3000))})
    for which in ({}, {"indices": [0]}):
        answers = followed(local, pad, 400, **which)
        cells = [one for answer in answers for one in answer["scratchpad"]["cells"]]
        assert all({"json_schema", "metadata"} <= set(one["omitted"]) for one in cells)
        assert contents(answers) == "[1]\n" * 50
        assert "next" not in answers[-1]


def test_lines_come_with_every_field_where_all_of_it_fits(local: Caller) -> None:
    pad = local.pad(*["line\n" * 90] * 3, metadata={"title": "Ledger"}, **OWN)
    arguments = {"scratch_id": pad, "indices": [0], "line_start": 2, "line_count": 2}
    answer = local.ok("scratch_read", **arguments, max_tokens=300)
    assert "truncated" not in answer
    assert answer["scratchpad"]["metadata"] == {"title": "Ledger"}


@pytest.mark.parametrize("count", [1, 5, 30])
def test_lines_are_read_in_the_smallest_answers_whatever_stands_around_them(
    local: Caller, count: int
) -> None:
    one = "b2489191-7b12-4dc5-8e5a-3a26d18a669a"  # an id that costs more tokens than most
    around = {"namespace": "灯 öl" * 6, "tags": [f"灯{n}" for n in range(count)]}
    pad = local.pad(scratch_id=one, metadata={"title": "lamp", "description": "öl lamp"}, **around)
    text, tags = "灯 öl ship\n" * 9, [f"öl {n}" for n in range(count)]
    more = {"tags": tags, "json_schema": SCHEMA, "validate": True, "cell_id": one}
    local.append(pad, text, "json", **more)
    answers = followed(local, pad, 200, cell_ids=[one], line_start=1)
    assert contents(answers) == text
    assert all(answer["truncated"] for answer in answers)


def test_a_cursor_goes_on_alone_where_the_call_has_no_room(local: Caller) -> None:
    one = "9e3c5ab1-70f6-4d82-b1c9-6f03a87de254"
    text = "灯 öl ship\n" * 200
    pad = local.pad(scratch_id=one)
    local.append(pad, text, "json", json_schema=SCHEMA, validate=True, cell_id=one)
    sent = {"scratch_id": pad, "cell_ids": [one, one.upper()], "max_tokens": 200}
    read: list[dict[str, Any]] = []
    while True:
        read.append(local.ok("scratch_read", **sent))
        following = read[-1].get("next", {"arguments": {}})["arguments"]
        cursor = read[-1].get("next_cursor") or following.get("cursor")
        if cursor is None or cursor == sent.get("cursor"):
            break
        sent["cursor"] = cursor
    assert contents(read) == text


def test_metadata_over_its_limit_is_refused(mine: Caller) -> None:
    long = {"x": "é" * (32 << 10)}
    error = mine.fails("scratch_create", metadata=long)
    assert error["code"] == "CAPACITY_LIMIT_REACHED"
    nulls = {"k" * (64 << 10): None}
    assert mine.code("scratch_create", metadata=nulls) == "CAPACITY_LIMIT_REACHED"
    schemas = {"s": {"schema": {"description": "d" * (70 << 10)}}}
    pad = mine.pad("kept", metadata={"x": "a" * (40 << 10), "schemas": schemas})
    assert mine.code("scratch_update", scratch_id=pad, metadata=long) == "CAPACITY_LIMIT_REACHED"
    more = {"y": "a" * (40 << 10)}
    assert mine.code("scratch_update", scratch_id=pad, metadata=more) == "CAPACITY_LIMIT_REACHED"
    sent = cell(metadata={"m": "a" * (16 << 10)})
    for tool, arguments in (
        ("scratch_append_cell", {"scratch_id": pad, "cell": sent}),
        ("scratch_replace_cell", {"scratch_id": pad, "cell": sent, "index": 0}),
        ("scratch_create", {"cells": [sent]}),
    ):
        assert mine.code(tool, **arguments) == "CAPACITY_LIMIT_REACHED"
    read = mine.read(pad, include_metadata=False)
    assert (read["version"], [one["content"] for one in read["cells"]]) == (1, ["kept"])
