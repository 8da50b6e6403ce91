"""Exact edits of a cell: all or none, by text or by lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.scratch.models.records import Replacement
from rolltop.toolsets.scratch.service.text_edits import apply_edits
from tests.growth import Sample, check_growth, count_calls

if TYPE_CHECKING:
    from tests.toolsets.scratch.caller import Caller

POEM = "roses are red\nviolets are blue\r\nsugar is sweet\n"


def edited(mine: Caller, text: str, *edits: dict[str, Any]) -> str:
    """Return what becomes of a text."""
    pad = mine.pad(text)
    (one,) = mine.cell_ids(pad)
    mine.ok("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=list(edits))
    return mine.contents(pad)[0]


def refused(mine: Caller, text: str, *edits: dict[str, Any]) -> str:
    """Return the message and hint of edits that must fail and change nothing."""
    pad = mine.pad(text)
    (one,) = mine.cell_ids(pad)
    error = mine.fails("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=list(edits))
    assert error["code"] == "VALIDATION_ERROR"
    assert mine.contents(pad) == [text]
    assert mine.read(pad)["version"] == 1
    return f"{error['message']} {error['hint']}"


def test_a_text_is_replaced_where_it_stands_once(mine: Caller) -> None:
    assert edited(mine, POEM, {"old": "blue", "new": "grey"}) == POEM.replace("blue", "grey")
    assert edited(mine, POEM, {"old": "blue\r\nsugar", "new": ""}) == (
        "roses are red\nviolets are  is sweet\n"
    )


def test_several_edits_apply_in_order_all_or_none(local: Caller) -> None:
    first, second = {"old": "red", "new": "mauve"}, {"old": "mauve", "new": "pink"}
    assert edited(local, POEM, first, second) == POEM.replace("red", "pink")
    assert "mauve" in refused(local, POEM, second, first)


def test_all_replaces_every_occurrence(local: Caller) -> None:
    assert edited(local, "a a a", {"old": "a", "new": "b", "all": True}) == "b b b"


def test_edits_that_make_too_much_text_on_the_way_are_refused(local: Caller) -> None:
    pad = local.pad("a" * 3000)
    (one,) = local.cell_ids(pad)
    long = "b" * 10_000
    edits = [{"old": "a", "new": long, "all": True}, {"old": long, "new": "c", "all": True}]
    error = local.fails("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=edits)
    assert error["code"] == "CAPACITY_LIMIT_REACHED"
    assert error["message"].startswith("edits[0] makes the content 30000000 characters long")
    assert local.contents(pad) == ["a" * 3000]


def test_more_edits_than_one_call_can_do_are_refused(local: Caller) -> None:
    text = "violets are blue\n" * 30_000 + "roses"
    pad = local.pad(text)
    (one,) = local.cell_ids(pad)
    names = ("roses", "lilies")
    edits = [{"old": names[n % 2], "new": names[1 - n % 2]} for n in range(5000)]
    error = local.fails("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=edits)
    assert error["code"] == "CAPACITY_LIMIT_REACHED"
    assert error["message"].startswith("The edits up to edits[263] read and write")
    assert "several calls" in error["hint"]
    small = local.pad("roses")
    (one,) = local.cell_ids(small)
    local.ok("scratch_edit_cell", scratch_id=small, cell_id=one, edits=edits)


def test_several_occurrences_are_refused_and_their_lines_shown(local: Caller) -> None:
    told = refused(local, POEM, {"old": "are", "new": "were"})
    assert "2 times" in told
    assert "1: roses are red; 2: violets are blue" in told
    assert "all" in told


def test_occurrences_that_overlap_are_several(local: Caller) -> None:
    told = refused(local, "}\n}\n}\n", {"old": "}\n}", "new": "}"})
    assert "Found at: 1: }; 2: }" in told
    assert "all" in told


def test_no_match_shows_the_nearest_lines(local: Caller) -> None:
    told = refused(local, POEM, {"old": "violets  are blue", "new": ""})
    assert "2: violets are blue" in told


@pytest.mark.parametrize(
    ("text", "edit", "expected"),
    [
        ("a\nb\nc\n", {"line_start": 2, "line_end": 2, "text": "B"}, "a\nB\nc\n"),
        ("a\nb\nc\n", {"line_start": 2, "text": "B\n"}, "a\nB\nc\n"),
        ("a\nb\nc\n", {"line_start": 1, "line_end": 3, "text": "x"}, "x\n"),
        ("a\nb\nc", {"line_start": 3, "line_end": 3, "text": "C"}, "a\nb\nC"),
        ("a\nb\nc\n", {"line_start": 2, "line_end": 3, "text": ""}, "a\n"),
        ("a\nb\n", {"line_start": 2, "line_end": 1, "text": "new"}, "a\nnew\nb\n"),
        ("a\nb\n", {"line_start": 3, "line_end": 2, "text": "new"}, "a\nb\nnew"),
        ("a\nb", {"line_start": 3, "line_end": 2, "text": "new"}, "a\nb\nnew"),
        ("", {"line_start": 1, "line_end": 0, "text": "new"}, "new"),
        ("a\r\nb\r\n", {"line_start": 1, "line_end": 1, "text": "A"}, "A\r\nb\r\n"),
        ("a\r\nb\r\n", {"line_start": 1, "line_end": 1, "text": "A\nB\n"}, "A\r\nB\r\nb\r\n"),
        ("a\r\nb\nc\n", {"line_start": 2, "line_end": 2, "text": "A\nB\n"}, "a\r\nA\nB\nc\n"),
    ],
)
def test_lines_are_replaced_inserted_and_deleted(
    local: Caller, text: str, edit: dict[str, Any], expected: str
) -> None:
    assert edited(local, text, edit) == expected


def test_line_numbers_are_those_before_the_call(local: Caller) -> None:
    text = "1\n2\n3\n4\n"
    edits = (
        {"line_start": 4, "line_end": 4, "text": "four"},
        {"line_start": 1, "line_end": 1, "text": "one\nand a half"},
        {"old": "2", "new": "two"},
    )
    assert edited(local, text, *edits) == "one\nand a half\ntwo\n3\nfour\n"


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [{}],
        [{"old": "a"}],
        [{"old": "", "new": "x"}],
        [{"old": "a", "new": "x", "text": "y"}],
        [{"old": "a", "new": "\x00"}],
        [{"old": "a", "new": 5}],
        [{"old": "a", "nwe": ""}],
        [{"line_start": 0, "text": ""}],
        [{"line_start": 2, "line_end": 0, "text": ""}],
        [{"line_start": 1, "line_end": 3, "text": ""}],
        [{"line_start": 4, "line_end": 3, "text": ""}],
        [{"line_start": 1, "text": "x"}, {"line_start": 1, "text": "y"}],
        [{"line_start": 1, "line_end": 2, "text": "x"}, {"line_start": 2, "text": "y"}],
        [{"line_start": 1, "text": "\ud800"}],
    ],
)
def test_wrong_edits_change_nothing(local: Caller, edits: list[dict[str, Any]]) -> None:
    refused(local, "a\nb\n", *edits)


def test_an_edit_behind_the_last_line_says_how_to_append(local: Caller) -> None:
    for text, said in (("a\nb\n", "line_start 3 with line_end 2"), ("a", "line_start 2 with")):
        behind = {"line_start": 3, "line_end": 3, "text": "c"}
        assert said in refused(local, text, behind)


def test_an_edit_keeps_everything_but_the_content(mine: Caller) -> None:
    pad = mine.pad()
    one = mine.append(
        pad,
        "[1]",
        "json",
        tags=["t"],
        metadata={"m": 1},
        validate=True,
        json_schema={"maxItems": 1},
    )
    answer = mine.ok(
        "scratch_edit_cell",
        scratch_id=pad,
        cell_id=one,
        edits=[{"old": "1", "new": "1, 2"}],
        if_version=1,
    )
    assert answer["validation"][0]["valid"] is False
    (shown,) = mine.read(pad)["cells"]
    assert (shown["content"], shown["version"], shown["tags"]) == ("[1, 2]", 2, ["t"])
    assert (shown["metadata"], shown["json_schema"]) == ({"m": 1}, {"maxItems": 1})
    assert shown["validation"] == {"valid": False, "errors": 1, "warnings": 0, "stale": False}
    stale = [{"old": "2", "new": "3"}]
    error = mine.fails("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=stale, if_version=1)
    assert (error["code"], error["details"]) == ("CONFLICT", {"version": 2})


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ({"old_string": "a", "new": "b"}, "old"),
        ({"old_text": "a", "new": "b"}, "old"),
        ({"find": "a", "new": "b"}, "old"),
        ({"old": "a", "new_string": "b"}, "new"),
        ({"old": "a", "replacement": "b"}, "new"),
        ({"old": "a", "new": "b", "replace_all": True}, "all"),
        ({"start_line": 1, "line_end": 1, "text": "b"}, "line_start"),
        ({"line_start": 1, "end_line": 1, "text": "b"}, "line_end"),
    ],
)
def test_what_other_editors_call_a_field_of_an_edit_is_taken(
    local: Caller, given: dict[str, Any], own: str
) -> None:
    pad = local.pad("a")
    (one,) = local.cell_ids(pad)
    local.ok("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=[given])
    assert local.contents(pad) == ["b"]
    twice = {**given, own: 1}
    error = local.fails("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=[twice])
    assert "edits[0]" in error["message"]


@pytest.mark.parametrize(("given", "meant"), [("languag", "language"), ("meta", "metadata")])
def test_a_short_form_of_a_field_of_a_cell_is_told(local: Caller, given: str, meant: str) -> None:
    cell = {"language": "py", "content": "x", given: "py"}
    error = local.fails("scratch_append_cell", scratch_id=local.pad("a"), cell=cell)
    assert error["message"] == f'Unknown field "{given}" of cell; did you mean {meant}?'


def test_an_unlike_field_of_an_edit_is_not_guessed(local: Caller) -> None:
    pad = local.pad("a")
    (one,) = local.cell_ids(pad)
    error = local.fails(
        "scratch_edit_cell", scratch_id=pad, cell_id=one, edits=[{"context": "a", "new": "b"}]
    )
    assert error["message"] == 'Unknown field "context" of edits[0]'
    assert "old?: text; new?: text; all?: true or false" in error["hint"]


def test_what_is_there_too_often_is_not_looked_for_further_than_it_is_shown() -> None:
    def edit(text: str) -> None:
        with pytest.raises(InvalidArgument, match="Found at: 1: a"):
            apply_edits(text, [Replacement("a", "", everywhere=False)])

    for text in ("a" * 10_000, ("a" * 100 + "\n") * 100):
        assert count_calls(lambda text=text: edit(text)) < 1_000


def test_nearest_lines_are_found_in_time_by_the_length_of_both_texts() -> None:
    def edit(text: str) -> None:
        lines = "\n".join(f"a{number}" for number in range(len(text) // 8))
        wanted = " ".join(f"b{number}" for number in range(len(text) // 8))
        with pytest.raises(InvalidArgument, match="Nearest lines"):
            apply_edits(lines, [Replacement(wanted, "", everywhere=False)])

    check_growth(edit, Sample(("a",)))
