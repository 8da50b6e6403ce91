"""Reads: ranges, budgets, earlier versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core import token_counter
from rolltop.core.text.lines import line_count
from tests.campaign import examples
from tests.desks import call_tool, make_desk
from tests.toolsets.notes.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

TEXTS = st.lists(
    st.text(alphabet="ab \r\ud83d\ude00日".replace("\ud83d\ude00", "😀"), max_size=40), max_size=30
).map("\n".join)


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(text=TEXTS, size=st.integers(1, 7))
def test_ranges_join_to_the_text(local: Caller, text: str, size: int) -> None:
    note = local.note(text)
    total = line_count(text)
    joined = ""
    for start in range(1, total + 1, size):
        part = local.get(note, range_line_start=start, range_line_count=size)
        assert part["txt_tot_ln"] == total
        assert part["range_line_start"] == start
        assert part["range_line_count"] == min(size, total - start + 1)
        assert part["txt_partial"] == (part["text"] != text)
        joined += part["text"]
    assert joined == text


@settings(
    max_examples=examples(10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    lines=st.lists(
        st.sampled_from(["short", "", "long " * 150, "日本語" * 120, "😀" * 90]), max_size=12
    ),
    start=st.integers(1, 4),
    count=st.integers(0, 9),
)
def test_what_a_budget_cuts_goes_on_without_a_gap(
    local: Caller, lines: list[str], start: int, count: int
) -> None:
    note = local.note("\n".join(lines))
    asked: dict[str, Any] = {"range_line_start": start, "range_line_count": count}
    whole = local.get(note, **asked)["text"]
    joined, arguments = "", {"id": note, **asked, "max_tokens": 300}
    for _ in range(len(whole) + 1):
        part = local.ok("note_get", **arguments)
        joined += part["text"]
        if "next" not in part:
            break
        assert part["truncated"] is True
        assert part["txt_partial"] is True
        arguments = part["next"]["arguments"]
    assert joined == whole


def test_a_whole_note_that_is_cut_says_which_lines_came(local: Caller) -> None:
    note = local.note("".join(f"line {n} with some words\n" for n in range(100)))
    part = local.get(note, max_tokens=400)
    assert part["txt_partial"] is True
    assert part["range_line_start"] == 1
    assert part["text"].count("\n") == part["range_line_count"] < 100
    following = part["next"]["arguments"]
    assert following["range_line_start"] == part["range_line_count"] + 1
    last = local.get(note, range_line_start=100)
    assert (last["text"], last["range_line_count"]) == ("line 99 with some words\n", 1)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"char_start": 1}, ("\nb\nc\nd\n", 1, 4)),
        ({"char_start": 4}, ("c\nd\n", 3, 2)),
        ({"char_start": 5}, ("\nd\n", 3, 2)),
        ({"range_line_start": 2, "char_start": 3}, ("\nd\n", 3, 2)),
        ({"range_line_start": 2, "range_line_count": 2, "char_start": 2}, ("c\n", 3, 1)),
        ({"range_line_start": 4, "char_start": 0}, ("d\n", 4, 1)),
    ],
)
def test_the_lines_that_came_are_counted_from_the_first_character_shown(
    local: Caller, given: dict[str, Any], shown: tuple[str, int, int]
) -> None:
    part = local.get(local.note("a\nb\nc\nd\n"), **given)
    assert (part["text"], part["range_line_start"], part["range_line_count"]) == shown


def test_what_goes_on_is_of_the_version_that_was_begun(mine: Caller) -> None:
    text = "".join(f"line {n} with some words\n" for n in range(100))
    note = mine.note(text)
    part = mine.get(note, max_tokens=400)
    joined = part["text"]
    mine.patch(note, 1, ("add", 1, "new\nlines"), ("del", 90))
    while "next" in part:
        part = mine.ok(part["next"]["tool"], **part["next"]["arguments"])
        assert part["local_version"] == 1
        joined += part["text"]
    assert joined == text


def test_what_goes_on_is_refused_once_its_version_is_not_kept(
    database: Database, me: Principal
) -> None:
    mine = Caller(make_desk(database, settings={"notes.history": 1}), me)
    note = mine.note("a line with some words\n" * 100)
    part = mine.get(note, max_tokens=400)
    mine.patch(note, 1, ("del", 1))
    error = mine.fails("note_get", **part["next"]["arguments"])
    assert error["code"] == "VERSION_NOT_FOUND"
    assert "without local_version" in error["resolution_hint"]


def test_a_range_past_the_end_is_empty(local: Caller) -> None:
    note = local.note("a\nb")
    past = local.get(note, range_line_start=3)
    assert (past["text"], past["range_line_count"], past["txt_partial"]) == ("", 0, True)
    assert local.get(note, range_line_start=2, range_line_count=50)["text"] == "b"
    huge = local.get(note, range_line_start=1 << 62, range_line_count=1 << 62)
    assert huge["text"] == ""
    empty = local.get(local.note(""), range_line_start=1)
    assert (empty["text"], empty["txt_partial"]) == ("", False)


@pytest.mark.parametrize(
    "given",
    [
        {"range_line_start": 0},
        {"range_line_start": "first"},
        {"range_line_count": -1},
        {"char_start": -1},
        {"char_start": 99},
    ],
)
def test_a_wrong_range_has_its_code(local: Caller, given: dict[str, Any]) -> None:
    note = local.note("a\nb")
    assert local.code("note_get", id=note, **given) == "INVALID_RANGE"


def test_an_earlier_version_is_answered_as_it_was(mine: Caller) -> None:
    note = mine.note("one", tags=["a"])
    mine.ok("note_save", id=note, local_version=1, text="two", tags=["b"])
    old = mine.get(note, local_version=1)
    assert (old["text"], old["tags"], old["local_version"]) == ("one", ["a"], 1)
    assert mine.get(note, local_version=2) == mine.get(note)
    for version in (3, 0, -1, 1 << 80):
        error = mine.fails("note_get", id=note, local_version=version)
        assert (error["code"], error["category"]) == ("VERSION_NOT_FOUND", "NOT_FOUND")


@pytest.mark.parametrize("note", ["nothing", "ünknown/../id", "x" * 256])
def test_an_unknown_note_is_not_found(mine: Caller, note: str) -> None:
    error = mine.fails("note_get", id=note)
    assert (error["code"], error["category"], error["http_status"]) == (
        "NOTE_NOT_FOUND",
        "NOT_FOUND",
        404,
    )


@pytest.mark.parametrize("given", [{"max_tokens": 200}, {}], ids=["least", "default"])
@pytest.mark.parametrize("tag", ["project/alpha-{}", "😀" * 98 + "{:02}"], ids=["plain", "emoji"])
def test_a_note_is_read_to_its_end_whatever_its_tags(
    local: Caller, tag: str, given: dict[str, int]
) -> None:
    text = "".join(f"line {n} of the note\n" for n in range(200))
    tags = [tag.format(n) for n in range(100)]
    saved = local.ok("note_save", text=text, tags=tags)
    joined, arguments = "", {"id": saved["id"], **given}
    while True:
        answer = call_tool(local.desk, local.scope, "note_get", **arguments)
        assert not answer.is_error, answer.text
        assert token_counter.count(answer.text) <= given.get("max_tokens", 20_000)
        joined += answer.structured["text"]
        if "next" not in answer.structured:
            break
        arguments = answer.structured["next"]["arguments"]
    assert joined == text
    assert ("truncated" in answer.structured) is (answer.structured.get("tags") != tags)
