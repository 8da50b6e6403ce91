"""Reads within a budget: cut at a cell, at a line, at a character; following gives all, once."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core import token_counter
from tests.campaign import examples
from tests.desks import make_desk
from tests.toolsets.scratch.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

LINE = "the quick brown fox jumps over the lazy dog, line {}\n"


def followed(caller: Caller, pad: str, limit: int, **arguments: Any) -> dict[str, str]:
    """Return the contents by cell of a read that is followed to its end, each answer in budget."""
    contents: dict[str, str] = defaultdict(str)
    for answer in caller.followed("scratch_read", limit, scratch_id=pad, **arguments):
        for shown in answer["scratchpad"]["cells"]:
            contents[shown["cell_id"]] += shown["content"]
    return contents


def test_a_pad_is_cut_at_a_cell_where_cells_fit(mine: Caller) -> None:
    contents = [LINE.format(n) * 10 for n in range(20)]
    pad = mine.pad(*contents)
    answer = mine.ok("scratch_read", scratch_id=pad, max_tokens=800)
    shown = answer["scratchpad"]["cells"]
    assert 0 < len(shown) < 20
    assert [entry["content"] for entry in shown] == contents[: len(shown)]
    assert answer["next_cursor"] == answer["next"]["arguments"]["cursor"]
    assert list(followed(mine, pad, 800).values()) == contents


def test_a_read_gives_the_hash_of_each_cells_whole_content(mine: Caller) -> None:
    text = "one\ntwo\n"
    pad = mine.pad(text, "")
    expected = [hashlib.sha256(each.encode()).hexdigest() for each in (text, "")]
    assert [shown["sha256"] for shown in mine.read(pad)["cells"]] == expected
    (part,) = mine.read(pad, indices=[0], line_start=2)["cells"]
    assert (part["content"], part["sha256"]) == ("two\n", expected[0])


def test_a_cell_that_does_not_fit_is_cut_at_a_line(mine: Caller) -> None:
    long = "".join(LINE.format(n) for n in range(300))
    pad = mine.pad("short", long, "after")
    assert list(followed(mine, pad, 700).values()) == ["short", long, "after"]
    answer = mine.ok("scratch_read", scratch_id=pad, indices=[1], max_tokens=700)
    part = answer["scratchpad"]["cells"][0]["content"]
    assert part.endswith("\n")
    assert answer["next"]["arguments"]["line_start"] == part.count("\n") + 1


def test_a_line_that_does_not_fit_is_cut_at_a_character(mine: Caller) -> None:
    line = "wörter " * 3000
    pad = mine.pad(f"first\n{line}\nlast")
    (one,) = mine.cell_ids(pad)
    assert followed(mine, pad, 600) == {one: f"first\n{line}\nlast"}
    answer = mine.ok("scratch_read", scratch_id=pad, line_start=2, line_count=1, max_tokens=600)
    following = answer["next"]["arguments"]
    part = answer["scratchpad"]["cells"][0]["content"]
    assert (following["line_start"], following["line_count"]) == (2, 1)
    assert following["char_start"] == len(part)
    assert line.startswith(part)


def test_some_lines_of_one_cell_are_read_by_their_numbers(mine: Caller) -> None:
    pad = mine.pad("one\ntwo\r\nthree\nfour", "other")
    (first, _other) = mine.cell_ids(pad)

    def lines(**arguments: Any) -> str:
        (shown,) = mine.read(pad, cell_ids=[first], **arguments)["cells"]
        return shown["content"]

    assert lines(line_start=2, line_count=2) == "two\r\nthree\n"
    assert lines(line_start=4) == "four"
    assert lines(line_count=1) == "one\n"
    assert lines(line_start=2, char_start=1, line_count=1) == "wo\r\n"
    assert lines(line_start=2, char_start=5) == "three\nfour"
    assert mine.read(pad, cell_ids=[first], line_start=3)["cells"][0]["line_start"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        {"line_start": 1},
        {"line_start": 1, "indices": [0, 1]},
        {"line_start": 3, "indices": [0]},
        {"line_start": 0, "indices": [0]},
        {"line_count": 0, "indices": [0]},
        {"char_start": -1, "indices": [0]},
        {"char_start": 4, "line_start": 2, "indices": [0]},
    ],
)
def test_lines_that_are_not_there_are_refused(local: Caller, arguments: dict[str, Any]) -> None:
    pad = local.pad("one\ntwo", "x")
    assert local.code("scratch_read", scratch_id=pad, **arguments) == "VALIDATION_ERROR"


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.lists(
        st.text(st.sampled_from('ab \n\r😀漢\t\\"'), max_size=60).flatmap(
            lambda text: st.integers(0, 60).map(lambda times: text * times)
        ),
        min_size=1,
        max_size=5,
    ),
    limit=st.integers(450, 900),
)
def test_following_a_read_gives_every_cell_once_and_whole(
    local: Caller, contents: list[str], limit: int
) -> None:
    pad = local.pad(*contents)
    assert list(followed(local, pad, limit).values()) == contents


def test_with_no_bound_everything_comes_in_one_answer(database: Database, me: Principal) -> None:
    caller = Caller(make_desk(database, settings={"max_result_tokens": 0}), me)
    long = "".join(LINE.format(n) for n in range(30_000))
    pad = caller.pad(long, "x")
    assert caller.contents(pad) == [long, "x"]


def test_a_read_goes_on_where_it_was_though_cells_before_it_went(mine: Caller) -> None:
    pad = mine.pad(*[LINE.format(n) * 10 for n in range(10)])
    answer = mine.ok("scratch_read", scratch_id=pad, max_tokens=800)
    seen = [shown["cell_id"] for shown in answer["scratchpad"]["cells"]]
    rest = [one for one in mine.cell_ids(pad) if one not in seen]
    mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=seen[0])
    following = mine.ok("scratch_read", **answer["next"]["arguments"])
    assert following["scratchpad"]["cells"][0]["cell_id"] == rest[0]


@pytest.mark.parametrize("cursor", ["cells.x", "cells~W10", "cells~WzAsMSwyXQ", "hits~WzFd"])
def test_a_cursor_of_another_making_is_refused(local: Caller, cursor: str) -> None:
    pad = local.pad("a", "b")
    assert local.code("scratch_read", scratch_id=pad, cursor=cursor) == "VALIDATION_ERROR"


def test_lists_within_a_budget_are_followed_to_their_end(mine: Caller) -> None:
    pad = mine.pad(*[str(n) for n in range(60)])
    for n in range(3):
        mine.pad(tags=[f"a rather long tag {n} {part:03}" for part in range(100)])
    for n in range(40):
        entry = {"name": f"schema {n:02}", "schema": {"title": "x" * 20}}
        mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=entry)
        mine.ok("scratch_namespace", action="create", namespace=f"space {n:02}")
    for tool, field, count, arguments in (
        ("scratch_list_cells", "cells", 60, {"scratch_id": pad}),
        ("scratch_validate", "results", 60, {"scratch_id": pad}),
        ("scratch_list_tags", "scratchpad_tags", 300, {}),
        ("scratch_schema", "schemas", 40, {"action": "list", "scratch_id": pad}),
        ("scratch_namespace", "namespaces", 41, {"action": "list"}),
    ):
        whole = mine.ok(tool, **arguments)[field]
        answers = list(mine.followed(tool, 1000, **arguments))
        seen = [item for answer in answers for item in answer[field]]
        assert len(seen) == count, tool
        assert seen == whole, tool


def test_a_write_is_answered_however_small_the_budget(database: Database, me: Principal) -> None:
    desk = make_desk(database, settings={"max_result_tokens": 200})
    caller, reader = Caller(desk, me), Caller(make_desk(database), me)
    broken = {"language": "json", "content": "[1,", "validate": True, "tags": ["t" * 200]}
    made = caller.ok("scratch_create", cells=[broken] * 40, tags=["x" * 150])
    assert made["truncated"] is True
    pad = made["scratchpad"]["scratch_id"]
    assert made["scratchpad"]["cell_count"] == 40
    added = caller.ok("scratch_append_cell", scratch_id=pad, cell=broken)
    assert token_counter.count(str(added)) < 250
    assert reader.read(pad, cell_ids=[added["cell_id"]])["cell_count"] == 41
    larger = Caller(make_desk(database, settings={"max_result_tokens": 1500}), me)
    answer = larger.ok("scratch_create", cells=[broken] * 40)
    assert 0 < len(answer["validation"]) < 40
    assert answer["next"]["tool"] == "scratch_validate"
    assert reader.ok("scratch_validate", **answer["next"]["arguments"])["ok"]


@pytest.mark.parametrize("lines", [{}, {"line_start": 1}, {"line_count": 1}, {"char_start": 0}])
def test_what_is_no_cursor_is_refused_whatever_else_is_asked_for(
    local: Caller, lines: dict[str, int]
) -> None:
    pad = local.pad("a\nb\n", "c\n")
    for text in ("garbage", "cells.0", "cells-abcd.1", "metadata-abcd.x-", "fields-abcd.0--"):
        sent = {"scratch_id": pad, "indices": [0], "cursor": text, **lines}
        error = local.fails("scratch_read", **sent)
        assert error["code"] == "VALIDATION_ERROR"
        assert "cursor" in error["message"]


@pytest.mark.parametrize("limit", [500, 700])
def test_a_long_cell_after_long_fields_is_read_on_by_its_lines(local: Caller, limit: int) -> None:
    text = "".join(f"line {n} of the cell\n" for n in range(300))
    metadata = {f"key {n}": "words " * 20 for n in range(20)}
    pad = local.pad(text, metadata=metadata)
    answers = list(local.followed("scratch_read", limit, scratch_id=pad))
    parts = [part["content"] for one in answers for part in one["scratchpad"]["cells"]]
    assert "".join(parts) == text
    assert any({"cursor", "line_start"} <= one["next"]["arguments"].keys() for one in answers[:-1])
