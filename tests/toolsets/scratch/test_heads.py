"""Pads whose own fields or metadata are longer than the budget are read all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.toolsets.scratch.models import LEAST_OF_PAD
from tests.campaign import examples
from tests.toolsets.scratch.caller import Caller, cell

TEXT = st.text(st.sampled_from('ab "\\\n漢😀'), max_size=40)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(TEXT, inner, max_size=20),
    max_leaves=60,
)
METADATA = st.dictionaries(
    st.text(st.sampled_from("kxyz"), min_size=3, max_size=8), VALUES, max_size=20
)


def followed(caller: Caller, pad: str, limit: int, **arguments: Any) -> list[dict[str, Any]]:
    """Return the answers of a read that is followed to its end."""
    return list(caller.followed("scratch_read", limit, scratch_id=pad, **arguments))


def joined(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the metadata of several answers, each key of which comes once."""
    whole: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for answer in answers:
        part = dict(answer["scratchpad"].get("metadata", {}))
        kept = part.pop("schemas", {})
        assert not whole.keys() & part.keys()
        assert not schemas.keys() & kept.keys()
        whole |= part
        schemas |= kept
    return {**whole, "schemas": schemas} if schemas else whole


def contents(answers: list[dict[str, Any]]) -> str:
    return "".join(
        shown["content"] for answer in answers for shown in answer["scratchpad"]["cells"]
    )


@pytest.mark.parametrize("limit", [450, 1000, 4000])
def test_metadata_comes_in_parts_and_the_cells_after_it(mine: Caller, limit: int) -> None:
    metadata: dict[str, Any] = {f"key {n}": [n, {"deep": f"value {n}"}] for n in range(150)}
    metadata["title"] = "A title"
    text = "".join(f"line {n}\n" for n in range(120))
    pad = mine.pad(text, "after", metadata=metadata)
    for n in range(9):
        entry = {"name": f"schema {n}", "schema": {"minItems": n}}
        mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=entry)
    answers = followed(mine, pad, limit)
    schemas = mine.ok("scratch_schema", action="list", scratch_id=pad)["schemas"]
    assert joined(answers) == {**metadata, "schemas": {one["name"]: one for one in schemas}}
    assert contents(answers) == text + "after"
    assert answers[0]["scratchpad"]["title"] == "A title"
    without = followed(mine, pad, limit, include_metadata=False)
    assert all("metadata" not in answer["scratchpad"] for answer in without)
    assert contents(without) == text + "after"


def test_what_fits_comes_whole_however_large_the_metadata(mine: Caller) -> None:
    metadata = {f"key {n}": n for n in range(300)}
    pad = mine.pad("cell", metadata=metadata)
    (answer,) = followed(mine, pad, 2500)
    assert answer["scratchpad"]["metadata"] == metadata
    assert "truncated" not in answer


def test_a_value_that_no_budget_holds_is_cut_and_says_so(mine: Caller) -> None:
    metadata = {"a": 1, "long": "word " * 2000, "numbers": {"n": list(range(2000))}, "z": 2}
    pad = mine.pad("cell", metadata={**metadata, "k" * 5000: 3})
    answers = followed(mine, pad, 500)
    found = joined(answers)
    assert (found["a"], found["z"], found["k" * 199 + "…"]) == (1, 2, 3)
    assert found["long"].startswith("word word")
    assert found["long"].endswith("…")
    assert found["numbers"].startswith('{"n":[0,1,2')
    assert found["numbers"].endswith("…")
    assert contents(answers) == "cell"


def test_a_pad_whose_own_fields_are_long_shows_its_cells(mine: Caller) -> None:
    labels = {"title": "t " * 4000, "summary": "s " * 4000}
    text = "".join(f"line {n}\n" for n in range(100))
    sent = cell(
        text, "txt", metadata={"m": "q " * 3000}, tags=[f"{n} " + "c" * 150 for n in range(40)]
    )
    pad = mine.ok("scratch_create", metadata=labels, tags=[f"{n} " + "p" * 190 for n in range(90)])[
        "scratchpad"
    ]["scratch_id"]
    mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)
    for limit in (300, 900, 3000):
        for arguments in ({}, {"include_metadata": False}, {"indices": [0]}):
            answers = followed(mine, pad, limit, **arguments)
            assert contents(answers) == text
            assert answers[0]["truncated"] is True
            title = answers[0]["scratchpad"].get("title", "…")
            assert title.endswith("…")
        some = mine.ok("scratch_read", scratch_id=pad, indices=[0], line_start=3, line_count=1,
                       max_tokens=limit)  # fmt: skip
        assert some["scratchpad"]["cells"][0]["content"] == "line 2\n"
        assert some["truncated"] is True


@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(metadata=METADATA, text=TEXT, limit=st.integers(400, 1200))
def test_any_metadata_is_read_to_its_end(
    local: Caller, metadata: dict[str, Any], text: str, limit: int
) -> None:
    pad = local.pad(text * 20, metadata=metadata)
    answers = followed(local, pad, limit)
    found = joined(answers)
    assert found.keys() == metadata.keys()
    whole = [key for key in metadata if "…" not in json.dumps(found[key], ensure_ascii=False)]
    assert {key: found[key] for key in whole} == {key: metadata[key] for key in whole}
    assert contents(answers) == text * 20


def test_a_value_keeps_its_type_or_is_marked_as_cut(mine: Caller) -> None:
    values = {f"key {n}": {"n": list(range(n))} for n in range(60, 200)}
    pad = mine.pad("cell", metadata=values)
    found = joined(followed(mine, pad, 470))
    assert found.keys() == values.keys()
    shown = {key for key in values if found[key] == values[key]}
    assert shown
    assert all(found[key].endswith("…") for key in values.keys() - shown)
    assert values.keys() - shown


def test_a_pad_without_cells_whose_last_value_is_cut_is_read_to_its_end(mine: Caller) -> None:
    pad = mine.pad(metadata={"a": 1, "numbers": {"n": list(range(2000))}})
    *cut, whole = followed(mine, pad, 500)
    found = joined(cut)
    assert found["a"] == 1
    assert found["numbers"].startswith('{"n":[0,1,2')
    assert joined([whole])["numbers"] == {"n": list(range(2000))}


@pytest.mark.parametrize("limit", [200, 500, 5000])
def test_what_a_pad_says_of_itself_comes_once_and_the_last_answer_is_whole(
    mine: Caller, limit: int
) -> None:
    summary = "A summary of some length. " * 200
    pad = mine.pad(*["line\n" * 400] * 3, metadata={"summary": summary}, tags=["alpha"])
    answers = followed(mine, pad, limit)
    assert answers[0]["truncated"] is True
    assert answers[0]["scratchpad"]["tags"] == ["alpha"]
    repeated = {*LEAST_OF_PAD, "cells", "metadata"}
    own = [name for one in answers for name in one["scratchpad"] if name not in repeated]
    assert len(own) == len(set(own))
    assert all(own_name not in answers[-1]["scratchpad"] for own_name in own)
    assert "truncated" not in answers[-1]
    assert contents(answers) == "line\n" * 1200


OWN = {"namespace": "finance", "tags": ["audit", "q4"]}
SCHEMA = {"type": "object", "properties": {"n": {"minimum": 1}}, "required": ["n"]}


def collected(answers: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a pad's own fields and its cells as several answers give them, put together."""
    pad: dict[str, Any] = {}
    cells: dict[str, dict[str, Any]] = {}
    for answer in answers:
        shown = dict(answer["scratchpad"])
        for part in shown.pop("cells"):
            before = cells.setdefault(part["cell_id"], {"content": ""})
            cells[part["cell_id"]] = {
                **before,
                **part,
                "content": before["content"] + part["content"],
            }
        metadata = {**pad.get("metadata", {}), **shown.get("metadata", {})}
        pad = {**pad, **shown, "metadata": metadata}
    for one in cells.values():
        one.pop("line_start", None)
    del pad["last_access_at"]  # every answer is an access
    return pad, list(cells.values())


@pytest.mark.parametrize("limit", [200, 230, 260, 300, 350, 400, 500, 900])
@pytest.mark.parametrize("which", [{}, {"indices": [1]}])
@pytest.mark.parametrize("lines", [1, 60])
def test_no_field_of_a_pad_or_a_cell_is_lost_in_small_answers(
    local: Caller, limit: int, which: dict[str, Any], lines: int
) -> None:
    pad = local.pad(metadata={"title": "Ledger", "owner": "me"}, **OWN)
    for n in range(2):
        content = json.dumps({"n": n, "rows": ["a row of the ledger"] * lines}, indent=0)
        sent = {"validate": True, "json_schema": SCHEMA, "tags": ["money"], "metadata": {"k": [n]}}
        local.append(pad, content, "json", **sent)
    whole = local.ok("scratch_read", scratch_id=pad, **which)
    assert "truncated" not in whole
    assert collected(followed(local, pad, limit, **which)) == collected([whole])


def test_own_fields_come_before_any_cell_where_they_do_not_come_with_it(local: Caller) -> None:
    pad = local.pad("line\n" * 200, "after", **OWN)
    for limit in (200, 260, 350):
        (first, *_) = followed(local, pad, limit)
        assert first["truncated"] is True
        for name in ("namespace", "tags"):
            assert first["scratchpad"][name] == OWN[name]


def test_a_schema_of_a_cell_that_no_budget_holds_is_cut_and_says_so(local: Caller) -> None:
    pad = local.pad()
    long = {"enum": list(range(4000))}
    local.append(pad, "[1]\n" * 50, "yaml", json_schema=long, metadata={"n": list(range(4000))})
    for which in ({}, {"indices": [0]}):
        answers = followed(local, pad, 400, **which)
        cells = [one for answer in answers for one in answer["scratchpad"]["cells"]]
        (schema,) = [one["json_schema"] for one in cells if "json_schema" in one]
        assert schema.startswith('{"enum":[0,1,')
        assert schema.endswith("…")
        assert contents(answers) == "[1]\n" * 50


def test_lines_come_with_every_field_where_all_of_it_fits(local: Caller) -> None:
    pad = local.pad(*["line\n" * 90] * 3, metadata={"title": "Ledger"}, **OWN)
    arguments = {"scratch_id": pad, "indices": [0], "line_start": 2, "line_count": 2}
    whole = local.ok("scratch_read", **arguments)
    assert collected([local.ok("scratch_read", **arguments, max_tokens=300)]) == collected([whole])


def test_an_answer_without_cells_has_an_empty_list_of_them(local: Caller) -> None:
    many = {f"k{n:02}": ["some words"] for n in range(49)}
    pad = local.pad("cell", metadata={"title": "t", "many": many})
    answers = followed(local, pad, 400)
    assert any(not answer["scratchpad"]["cells"] for answer in answers)
    assert joined(answers).keys() == {"title", "many"}
    assert contents(answers) == "cell"


LONG: dict[str, dict[str, Any]] = {
    "metadata": {"metadata": {"why": "because it had to be done " * 60}},
    "tags": {"tags": [f"tag number {n}" for n in range(60)]},
    "json_schema": {"json_schema": {"type": "integer", "description": "d " * 500}},
}


@pytest.mark.parametrize("field", LONG)
@pytest.mark.parametrize("limit", [200, 250, 300, 350, 400, 500, 700])
def test_no_field_of_a_lone_cell_is_cut_in_silence(local: Caller, field: str, limit: int) -> None:
    pad = local.pad()
    local.append(pad, "12\n", "json", **LONG[field])
    whole = local.ok("scratch_read", scratch_id=pad)
    for lines in ({}, {"indices": [0], "line_start": 1}):
        answers = followed(local, pad, limit, **lines)
        assert contents(answers) == "12\n"
        for answer in answers[:-1]:
            assert answer["truncated"] is True
        assert "…" not in json.dumps(answers[-1], ensure_ascii=False)
        if lines:  # the last answer has all that stands around them
            assert answers[-1]["scratchpad"]["cell_tags"] == whole["scratchpad"]["cell_tags"]
            assert answers[-1]["scratchpad"]["cells"][0][field] == LONG[field][field]
        elif limit >= 700:
            assert collected(answers) == collected([whole])


def test_a_long_field_of_a_pad_comes_whole_where_a_budget_holds_it(local: Caller) -> None:
    summary = "A summary of some length. " * 60
    pad = local.pad("cell", metadata={"title": "Ledger", "summary": summary}, **OWN)
    whole = local.ok("scratch_read", scratch_id=pad)
    for limit in (600, 700, 800):
        assert collected(followed(local, pad, limit)) == collected([whole])


def test_what_no_answer_holds_is_not_asked_for_again(local: Caller) -> None:
    pad = local.pad("line\n" * 3, metadata={"title": "t " * 30_000})
    answers = followed(local, pad, 500, indices=[0], line_start=2)
    assert contents(answers) == "line\n" * 2
    (answer,) = answers
    assert answer["truncated"] is True


def test_a_name_that_takes_the_smallest_answer_is_cut_and_the_read_goes_on(local: Caller) -> None:
    names = [f"{n}" + "灯öl\\" * 49 for n in range(4)]
    metadata = {name: {"n": list(range(400))} for name in names}
    pad = local.pad("cell", metadata={"before": 1, **metadata, "after": 2})
    answers = followed(local, pad, 200)
    found = joined(answers)
    assert (found["before"], found["after"]) == (1, 2)
    assert [name[0] for name in found if name.endswith("…")] == ["0", "1", "2", "3"]
    assert contents(answers) == "cell"


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
    assert answers[-1]["scratchpad"]["cells"][0]["tags"] == tags


def test_a_cursor_goes_on_alone_where_the_call_has_no_room(local: Caller) -> None:
    one = "9e3c5ab1-70f6-4d82-b1c9-6f03a87de254"
    text = "灯 öl ship\n" * 200
    pad = local.pad(scratch_id=one)
    local.append(pad, text, "json", json_schema=SCHEMA, validate=True, cell_id=one)
    sent = {"scratch_id": pad, "cell_ids": [one, one.upper()], "max_tokens": 200}
    read: list[dict[str, Any]] = []
    while True:
        read.append(local.ok("scratch_read", **sent))
        cursor = read[-1].get("next_cursor") or read[-1].get("next", {"arguments": {}})[
            "arguments"
        ].get("cursor")
        if cursor is None:
            break
        sent["cursor"] = cursor
    assert contents(read) == text
