"""Conflicts over long notes: what is at stake is shown, and what is left out is read on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import pagination
from tests.desks import call_tool, make_desk
from tests.toolsets.notes.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

LINES = [f"line {n} of a long note\n" for n in range(1, 5001)]
THEIRS, OURS = "what they wrote\n", "what we wrote"


def read_on(caller: Caller, details: dict[str, Any]) -> str:
    """Return the text of a conflict's details, with all that `next` goes on to."""
    text, onward = details["current_text"], details.get("next")
    while onward:
        assert onward["tool"] == "note_get"
        answer = call_tool(caller.desk, caller.scope, onward["tool"], **onward["arguments"])
        assert not answer.is_error, answer.text
        text += answer.structured["text"]
        onward = answer.structured.get("next")
    return text


def changed(caller: Caller, *lines: int) -> str:
    """Return a long note of which others changed these lines since its version 1."""
    note = caller.note("".join(LINES))
    caller.patch(note, 1, *[("mod", line, THEIRS) for line in lines])
    return note


def ours(*lines: int) -> list[dict[str, Any]]:
    return [{"op": "mod", "ln": line, "val": OURS} for line in lines]


@pytest.mark.parametrize("line", [1, 2500, 5000])
def test_a_patch_is_shown_the_lines_it_clashes_with(mine: Caller, line: int) -> None:
    note = changed(mine, line)
    sent = {"id": note, "local_version": 1, "text_patch": ours(line, 7)}
    error = mine.fails("note_save", **sent)
    details = error["details"]
    first = details["range_line_start"]
    shown = details["current_text"].splitlines(keepends=True)
    assert shown[line - first] == THEIRS
    assert (len(shown), details["txt_tot_ln"]) == (details["range_line_count"], 5000)
    assert details["txt_partial"] is True
    assert details["your_patch"] == ours(line, 7)
    assert pagination.count_tokens(error) < 500
    assert "only a part of the note" in error["resolution_hint"]
    assert "note_get" in error["resolution_hint"]


def test_lines_that_others_deleted_or_made_many_are_shown_where_they_stood(mine: Caller) -> None:
    note = mine.note("".join(LINES))
    mine.patch(note, 1, ("del", 2500), ("mod", 3000, THEIRS * 2000))
    for line, kept in ((2500, LINES[2498] + LINES[2500]), (3000, THEIRS * 2000)):
        sent = {"id": note, "local_version": 1, "text_patch": ours(line)}
        assert kept in read_on(mine, mine.fails("note_save", **sent)["details"])


def test_a_patch_that_clashes_in_tags_alone_is_shown_its_lines(mine: Caller) -> None:
    note = mine.note("".join(LINES), tags=["one"])
    mine.patch(note, 1, ("add", 1, "new"), tags=["two"])
    sent = {"id": note, "local_version": 1, "text_patch": ours(4000)}
    details = mine.fails("note_save", **sent, tags=["three"])["details"]
    assert (details["current_tags"], details["your_tags"]) == (["two"], ["three"])
    assert LINES[3999] in details["current_text"]
    assert details["range_line_count"] < 20


def test_a_patch_of_an_unknown_version_is_shown_the_lines_it_names(mine: Caller) -> None:
    note = changed(mine, 1)
    for line, last in ((2500, 2500), (9000, 5000)):
        sent = {"id": note, "local_version": 9, "text_patch": ours(line)}
        assert LINES[last - 1] in mine.fails("note_save", **sent)["details"]["current_text"]


def test_a_whole_text_against_a_long_note_is_told_how_to_read_the_rest(mine: Caller) -> None:
    note = mine.note("".join(LINES))
    mine.patch(note, 1, ("mod", 2500, "they " * 20_000), ("mod", 4900, THEIRS))
    now = "".join(
        [*LINES[:2499], "they " * 20_000 + "\n", *LINES[2500:4899], THEIRS, *LINES[4900:]]
    )
    error = mine.fails("note_save", id=note, local_version=1, text=OURS * 10_000)
    details = error["details"]
    assert details["truncated"] is True
    assert now.startswith(details["current_text"])
    assert details["current_text"].endswith("\n")
    assert details["your_text"].endswith("…")
    assert "only a part of the note" in error["resolution_hint"]
    assert pagination.count_tokens({"error": error}) <= 20_000
    assert read_on(mine, details) == now


@pytest.mark.parametrize("limit", [200, 300, 500, 1000])
def test_a_small_bound_of_answers_holds_for_conflicts_too(
    database: Database, me: Principal, limit: int
) -> None:
    mine = Caller(make_desk(database, settings={"max_result_tokens": limit}), me)
    note = changed(mine, 2500)
    for given in ({"text": "".join(LINES)}, {"text_patch": ours(2500)}):
        error = mine.fails("note_save", id=note, local_version=1, **given)
        assert pagination.count_tokens({"error": error}) <= limit
        assert "…" not in error["details"].get("current_text", "")
        if "text_patch" in given and limit >= 500:
            assert THEIRS in read_on(mine, error["details"])


def test_a_bound_of_none_shows_all_of_both(database: Database, me: Principal) -> None:
    mine = Caller(make_desk(database, settings={"max_result_tokens": 0}), me)
    note = changed(mine, 2500)
    details = mine.fails("note_save", id=note, local_version=1, text="".join(LINES))["details"]
    assert details["current_text"] == "".join([*LINES[:2499], THEIRS, *LINES[2500:]])
    assert details["your_text"] == "".join(LINES)
    assert not {"txt_partial", "truncated"} & details.keys()


@pytest.mark.parametrize("action", ["trash", "untrash", "delete_permanently", "restore"])
def test_an_action_of_an_earlier_version_costs_no_text(mine: Caller, action: str) -> None:
    note = changed(mine, 1)
    more = {"version": 1} if action == "restore" else {}
    error = mine.fails("note_manage", action=action, id=note, local_version=1, **more)
    assert error["code"] == "VERSION_CONFLICT"
    assert error["details"]["current_local_version"] == 2
    assert pagination.count_tokens(error) < 200


def test_a_stale_server_version_shows_both_sides(mine: Caller) -> None:
    note = mine.note("a\n")
    mine.ok("note_save", id=note, local_version=1, text="b\n")
    sent = {"id": note, "local_version": 1, "server_version": 7, "text": "c\n"}
    error = mine.fails("note_save", **sent)
    assert error["message"].startswith("server_version is 7, stored is none")
    assert (error["details"]["current_text"], error["details"]["your_text"]) == ("b\n", "c\n")


def all_of(error: dict[str, Any]) -> str:
    """Return every part of the note that a conflict shows, one after the other."""
    further = error["details"].get("current_further", [])
    return "".join([error["details"]["current_text"], *(part["text"] for part in further)])


def test_of_clashes_far_apart_each_is_shown_and_nothing_between(mine: Caller) -> None:
    note = changed(mine, 10, 2500, 2505, 4990)
    ours_ = ours(10, 2500, 2505, 4990)
    for more in ({}, {"max_tokens": 800}):
        error = mine.fails("note_save", id=note, local_version=1, text_patch=ours_, **more)
        details = error["details"]
        assert pagination.count_tokens({"error": error}) < 500
        assert (details["range_line_start"], details["range_line_count"]) == (7, 7)
        assert details["txt_tot_ln"] == 5000
        middle, last = details["current_further"]
        assert (middle["range_line_start"], middle["range_line_count"]) == (2497, 12)
        for part, line in ((middle, 2500), (middle, 2505), (last, 4990)):
            shown = part["text"].splitlines(keepends=True)
            assert shown[line - part["range_line_start"]] == THEIRS
        assert all_of(error).count(THEIRS) == 4
        assert "next" not in details
        assert "current_further" in error["resolution_hint"]


def test_clashes_that_have_no_room_are_read_by_next(mine: Caller) -> None:
    lines = range(10, 5000, 100)
    note = changed(mine, *lines)
    for limit in (200, 300, 600, 1500):
        sent = {"id": note, "local_version": 1, "text_patch": ours(*lines)}
        error = mine.fails("note_save", **sent, max_tokens=limit)
        details = error["details"]
        assert pagination.count_tokens({"error": error}) <= limit
        assert details["truncated"] is True
        assert "note_get" in error["resolution_hint"]
        if limit == 200:  # no room for the note, nor for a call
            assert not details.get("current_text")
            continue
        rest = read_on(mine, {**details, "current_text": ""})
        assert all_of(error).count(THEIRS) + rest.count(THEIRS) == len(lines)
        assert len(details["your_patch"]) + details["your_patch_left_out"] == len(lines)


@pytest.mark.parametrize("now", ["milk\nbread\n", ""])
def test_a_small_note_is_shown_whole_in_a_small_answer(mine: Caller, now: str) -> None:
    note = mine.note("milk\neggs\n")
    mine.ok("note_save", id=note, local_version=1, text=now)
    for given in ({"text": "milk\ntea\n"}, {"text_patch": ours(2)}):
        error = mine.fails("note_save", id=note, local_version=1, **given, max_tokens=200)
        details = error["details"]
        assert details["current_text"] == now
        assert not {"txt_partial", "truncated"} & details.keys()
        assert (
            details.items()
            >= {f"your_{name.split('_')[-1]}": given[name] for name in given}.items()
        )
        assert "both sides" in error["resolution_hint"]


def test_of_a_long_patch_what_fits_is_repeated_and_the_rest_counted(mine: Caller) -> None:
    note = mine.note("".join(LINES[:200]))
    mine.patch(note, 1, *[("mod", line, "They") for line in range(1, 200)], confirm_shrink=True)
    lines = range(1, 120)
    for limit in (300, 600, 1000, 2000):
        sent = {"id": note, "local_version": 1, "text_patch": ours(*lines), "max_tokens": limit}
        error = mine.fails("note_save", **sent)
        details = error["details"]
        taken = pagination.count_tokens({"error": error})
        assert taken <= limit
        shown = details["your_patch"]
        assert shown == ours(*lines)[: len(shown)]
        assert len(shown) + details.get("your_patch_left_out", 0) == len(lines)
        if "your_patch_left_out" in details:
            # An operation more would have been over the limit, or over what one's own is worth.
            assert taken > limit - 60 or pagination.count_tokens(shown) > max(limit // 8, 256) - 60
            assert "of yours" in error["resolution_hint"] or "you sent" in error["resolution_hint"]
        assert pagination.count_tokens(shown) <= max(limit // 8, 256)
    details = mine.fails("note_save", **{**sent, "max_tokens": 20_000})["details"]
    assert details["your_patch"] == ours(*lines)


def test_a_long_patch_of_one_line_is_cut_and_says_so(mine: Caller) -> None:
    note = changed(mine, 2500)
    long = [{"op": "mod", "ln": 2500, "val": "word " * 5000}]
    sent = {"id": note, "local_version": 1, "text_patch": long, "max_tokens": 500}
    error = mine.fails("note_save", **sent)
    (shown,) = error["details"]["your_patch"]
    assert shown["val"].startswith("word word")
    assert shown["val"].endswith("…")
    assert THEIRS in error["details"]["current_text"]
