"""Saves: whole texts, patches, versions, conflicts, limits."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import pagination
from tests.desks import make_desk
from tests.toolsets.notes.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock

LONG = "x" * 501
PATCH = {"op": "add", "ln": 1, "val": "a"}


def test_a_note_comes_back_byte_for_byte(mine: Caller) -> None:
    text = "\ufeff  Title \r\n\r\n\tbody\x0b\rlone  \n\n  "
    saved = mine.ok("note_save", text=text, tags=["Work", "ü", "Work"])
    assert saved["local_version"] == 1
    assert saved["text"] == text
    found = mine.get(saved["id"])
    assert found == saved
    assert found["tags"] == ["Work", "ü"]
    assert found["txt_partial"] is False
    assert found["txt_tot_ln"] == 5
    assert found["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert found["sync_state"] == "local"
    assert "server_version" not in found
    (item,) = mine.ok("note_list")["items"]
    assert item["title_prev"] == "Title"


def test_an_empty_text_is_a_text(mine: Caller) -> None:
    saved = mine.ok("note_save", text="")
    assert (saved["text"], saved["txt_tot_ln"], saved["txt_partial"]) == ("", 0, False)
    assert mine.ok("note_list")["items"][0]["title_prev"] == ""


def test_a_patch_without_an_id_makes_a_new_note(mine: Caller) -> None:
    patch = [{**PATCH, "val": "Title\n"}, {**PATCH, "val": "b\nc"}]
    saved = mine.ok("note_save", text_patch=patch, tags=["x"])
    assert (saved["text"], saved["local_version"], saved["tags"]) == ("Title\nb\nc", 1, ["x"])
    assert mine.get(saved["id"]) == saved


def test_a_save_replaces_what_is_given_and_keeps_the_rest(mine: Caller, clock: Clock) -> None:
    note = mine.note("one", tags=["a"])
    clock.advance(seconds=10)
    second = mine.ok("note_save", id=note, local_version=1, text="two")
    assert (second["local_version"], second["tags"]) == (2, ["a"])
    assert second["modified_at"] == second["created_at"] + 10
    third = mine.ok("note_save", id=note, local_version=2, text="two", tags=[], trash=True)
    assert (third["text"], third["tags"], third["trash"]) == ("two", [], True)
    assert mine.get(note)["local_version"] == 3


def test_only_text_and_tags_set_the_date_and_only_a_change_makes_a_version(
    mine: Caller, clock: Clock
) -> None:
    note = mine.note("one", tags=["a"])
    made = mine.get(note)["modified_at"]
    clock.advance(hours=1)
    same = mine.ok("note_save", id=note, local_version=1, text="one", tags=["a"])
    assert (same["local_version"], same["modified_at"]) == (1, made)
    trashed = mine.ok("note_save", id=note, local_version=1, text="one", trash=True)
    assert (trashed["local_version"], trashed["modified_at"]) == (2, made)
    tagged = mine.ok("note_save", id=note, local_version=2, text="one", tags=["b"])
    assert tagged["modified_at"] == made + 3600


def test_a_patch_is_applied_as_if_at_once(mine: Caller) -> None:
    note = mine.note("a\r\nb\r\nc")
    operations = (
        ("add", 4, "end"),
        ("del", 2),
        ("add", 1, "first\nsecond"),
        ("mod", 3, "C"),
        ("add", 1, "third"),
    )
    saved = mine.patch(note, 1, *operations)
    assert saved["text"] == "first\r\nsecond\r\nthird\r\na\r\nC\r\nend"
    assert "rebased" not in saved


@pytest.mark.parametrize(
    "operations",
    [
        [],
        [{"op": "mod", "ln": 9, "val": "x"}],
        [{"op": "add", "ln": 5, "val": "x"}],
        [{"op": "del", "ln": 1}, {"op": "mod", "ln": 1, "val": "x"}],
        [{"op": "mod", "ln": 1}],
        [{"op": "add", "ln": 1, "val": None}],
        [{"op": "del", "ln": 1, "val": "x"}],
        [{"op": "replace", "ln": 1, "val": "x"}],
        [{"op": "del", "ln": 0}],
        [{"op": "del", "ln": "first"}],
        [{"op": "del", "ln": 1, "line": 1}],
        [{"op": "del"}],
        ["del 1"],
        "del 1",
    ],
)
def test_a_wrong_patch_writes_nothing(local: Caller, operations: Any) -> None:
    note = local.note("a\nb\nc\n")
    sent = {"id": note, "local_version": 1, "text_patch": operations}
    assert local.code("note_save", **sent) == "INVALID_PATCH"
    assert local.versions(note) == [1]


def test_a_wrong_patch_is_told_which_part_of_it_is_wrong(local: Caller) -> None:
    note = local.note("a\nb\nc\n")
    good = {"op": "del", "ln": 1}
    sent = {"id": note, "local_version": 1, "text_patch": [good, {"op": "mod", "ln": "b"}]}
    error = local.fails("note_save", **sent)
    assert error["code"] == "INVALID_PATCH"
    assert error["message"] == 'text_patch[1].ln must be an integer, 1 or more; got "b"'
    for said in ("add, mod, del", "ln: an integer, 1 or more", "val?: text"):
        assert said in error["resolution_hint"]


def test_a_patch_of_an_earlier_version_is_moved_where_nobody_touched_its_lines(
    mine: Caller,
) -> None:
    note = mine.note("a\nb\nc\n")
    mine.patch(note, 1, ("add", 1, "new\nlines"))
    saved = mine.patch(note, 1, ("mod", 3, "C"), ("add", 4, "end"))
    assert saved["text"] == "new\nlines\na\nb\nC\nend\n"
    assert saved["local_version"] == 3
    assert saved["rebased"] is True
    assert saved["moved"] == [{"ln": 3, "now": 5}, {"ln": 4, "now": 6}]


@pytest.mark.parametrize("limit", [200, 500, 2000, 20_000])
def test_an_answer_with_many_moved_lines_keeps_to_its_budget(local: Caller, limit: int) -> None:
    note = local.note("".join(f"l{n}\n" for n in range(10_000)))
    local.patch(note, 1, ("add", 1, "new"))
    lines = range(1, 10_000, 4)
    changes = [("mod", line, "z") for line in lines]
    saved = local.patch(note, 1, *changes, max_tokens=limit)
    assert pagination.count_tokens(saved) <= limit
    assert saved["rebased"] is True
    shown = saved["moved"]
    assert shown == [{"ln": line, "now": line + 1} for line in lines][: len(shown)]
    assert len(shown) + saved["moved_left_out"] == len(lines)
    assert saved["truncated"] is True
    assert saved["next"]["tool"] == "note_get"
    whole = "new\n" + "".join(f"z\nl{n}\nl{n + 1}\nl{n + 2}\n" for n in range(1, 10_000, 4))
    assert saved["text"].startswith("new\n")
    assert whole.startswith(saved["text"])


def test_a_patch_of_touched_lines_is_a_conflict_with_both_sides(mine: Caller) -> None:
    note = mine.note("a\nb\nc\n", tags=["t"])
    mine.patch(note, 1, ("mod", 2, "theirs"))
    error = mine.fails(
        "note_save",
        id=note,
        local_version=1,
        text_patch=[{"op": "mod", "ln": 2, "val": "ours"}],
    )
    assert (error["category"], error["code"], error["http_status"]) == (
        "CONFLICT",
        "VERSION_CONFLICT",
        409,
    )
    assert error["details"]["current_local_version"] == 2
    assert error["details"]["current_text"] == "a\ntheirs\nc\n"
    assert error["details"]["your_patch"] == [{"op": "mod", "ln": 2, "val": "ours"}]
    assert mine.versions(note) == [2, 1]


def test_a_patch_whose_base_never_was_is_a_conflict(mine: Caller) -> None:
    note = mine.note("a\n")
    for version in (2, 0, -1, 1 << 70):
        patch = [{"op": "add", "ln": 1, "val": "x"}]
        sent = {"id": note, "local_version": version, "text_patch": patch}
        error = mine.fails("note_save", **sent)
        assert error["code"] == "VERSION_CONFLICT"
        assert error["message"].startswith(
            f"The patch is for local_version {version}, which the note never had;"
        )


def test_a_patch_whose_base_is_not_kept_says_so(database: Database, me: Principal) -> None:
    mine = Caller(make_desk(database, settings={"notes.history": 1}), me)
    note = mine.note("a\nb\n")
    mine.patch(note, 1, ("add", 1, "first"))
    patch = [{"op": "mod", "ln": 2, "val": "B"}]
    error = mine.fails("note_save", id=note, local_version=1, text_patch=patch)
    assert error["code"] == "VERSION_CONFLICT"
    assert "local_version 1, which is not kept" in error["message"]
    assert error["details"]["your_patch"] == patch


def test_tags_that_both_changed_are_a_conflict(mine: Caller) -> None:
    note = mine.note("a\n", tags=["one"])
    mine.ok("note_save", id=note, local_version=1, text="a\n", tags=["two"])
    patch = [{"op": "add", "ln": 1, "val": "x"}]
    stale = {"id": note, "local_version": 1, "text_patch": patch}
    error = mine.fails("note_save", **stale, tags=["three"])
    assert error["code"] == "VERSION_CONFLICT"
    assert (error["details"]["current_tags"], error["details"]["your_tags"]) == (["two"], ["three"])
    assert mine.ok("note_save", **stale)["tags"] == ["two"]


@pytest.mark.parametrize("first", [False, True])
def test_a_trashing_that_others_undid_or_did_is_a_conflict(mine: Caller, *, first: bool) -> None:
    note = mine.note("a\n", trash=first)
    mine.manage("untrash" if first else "trash", id=note, local_version=1)
    patch = [{"op": "add", "ln": 1, "val": "x"}]
    stale = {"id": note, "local_version": 1, "text_patch": patch}
    error = mine.fails("note_save", **stale, trash=first)
    assert (error["code"], error["details"]["current_trash"]) == ("VERSION_CONFLICT", not first)
    assert error["details"]["your_trash"] is first
    assert mine.versions(note) == [2, 1]
    assert mine.ok("note_save", **stale)["trash"] is not first
    both = mine.ok("note_save", **stale, trash=not first)
    assert (both["trash"], both["text"]) == (not first, "x\nx\na\n")


def test_a_whole_text_of_an_earlier_version_is_a_conflict_even_if_equal(mine: Caller) -> None:
    note = mine.note("a")
    mine.ok("note_save", id=note, local_version=1, text="b")
    error = mine.fails("note_save", id=note, local_version=1, text="b")
    assert error["code"] == "VERSION_CONFLICT"
    assert (error["details"]["current_text"], error["details"]["your_text"]) == ("b", "b")


def test_a_server_version_that_is_given_must_be_the_stored_one(mine: Caller) -> None:
    note = mine.note("a")
    sent = {"id": note, "local_version": 1, "server_version": 7, "text": "b"}
    assert mine.code("note_save", **sent) == "VERSION_CONFLICT"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "INVALID_ARGUMENT"),
        ({"text": "a", "text_patch": [{"op": "del", "ln": 1}]}, "INVALID_ARGUMENT"),
        ({"text_patch": []}, "INVALID_PATCH"),
        ({"text_patch": [{"op": "add", "ln": 2, "val": "a"}]}, "INVALID_PATCH"),
        ({"text_patch": [{"op": "mod", "ln": 1, "val": "a"}]}, "INVALID_PATCH"),
        ({"text_patch": [PATCH], "local_version": 1}, "INVALID_ARGUMENT"),
        ({"text": "a", "local_version": 1}, "INVALID_ARGUMENT"),
        ({"text": "a", "server_version": 1}, "INVALID_ARGUMENT"),
        ({"text": "a", "id": "unknown"}, "INVALID_ARGUMENT"),
        ({"text": "a", "id": "unknown", "local_version": 1}, "NOTE_NOT_FOUND"),
        ({"text": "a", "id": "", "local_version": 1}, "INVALID_ARGUMENT"),
        ({"text": "a", "id": "x" * 257, "local_version": 1}, "INVALID_ARGUMENT"),
        ({"text": "a", "id": "a\x00", "local_version": 1}, "INVALID_TEXT"),
        ({"text": "a\x00"}, "INVALID_TEXT"),
        ({"text": "\ud800"}, "INVALID_TEXT"),
        ({"text": "a", "tags": ["\udfff"]}, "INVALID_TEXT"),
        ({"text": "a", "tags": [""]}, "INVALID_TAGS"),
        ({"text": "a", "tags": ["x" * 101]}, "INVALID_TAGS"),
        ({"text": "a", "tags": [str(n) for n in range(101)]}, "INVALID_TAGS"),
        ({"text": "a", "tags": "{'x', 'y'}"}, "INVALID_TAGS"),
        ({"text": "a", "tags": [1]}, "INVALID_TAGS"),
        ({"text": 1}, "INVALID_ARGUMENT"),
        ({"text": "a", "trash": 1}, "INVALID_ARGUMENT"),
        ({"text": "a", "confirm_shrink": "yes"}, "INVALID_ARGUMENT"),
    ],
)
def test_what_cannot_be_saved_has_its_code(local: Caller, given: Any, code: str) -> None:
    assert local.code("note_save", **given) == code
    assert local.ok("note_list", trash_s=2)["total_items"] == 0


def test_limits_hold_what_they_say(local: Caller) -> None:
    tags = [f"{n:03}".ljust(100, "x") for n in range(100)]
    assert local.ok("note_save", text="a", tags=tags)["tags"] == tags


@pytest.mark.parametrize("kept", [99, 100, 101])
def test_a_long_note_is_not_made_little_unasked(local: Caller, kept: int) -> None:
    note = local.note(LONG)
    sent = {"id": note, "local_version": 1, "text": "x" * kept}
    if kept * 5 >= len(LONG):
        assert local.ok("note_save", **sent)["local_version"] == 2
        return
    assert local.code("note_save", **sent) == "SHRINK_NOT_CONFIRMED"
    assert local.get(note)["text"] == LONG
    assert local.ok("note_save", **sent, confirm_shrink=True)["text"] == "x" * kept


def test_a_patch_may_not_make_little_of_a_long_note_either(local: Caller) -> None:
    note = local.note(f"{LONG}\nrest\n")
    patch = [{"op": "del", "ln": 1}]
    sent = {"id": note, "local_version": 1, "text_patch": patch}
    error = local.fails("note_save", **sent)
    assert error["code"] == "SHRINK_NOT_CONFIRMED"
    assert "confirm_shrink" in error["resolution_hint"]
    assert "text_patch" not in error["resolution_hint"]  # which is what was sent
    short = local.note("x" * 500)
    assert local.ok("note_save", id=short, local_version=1, text="")["text"] == ""


def test_a_note_of_five_megabytes_is_kept_read_and_found(mine: Caller) -> None:
    text = "".join(f"line {n} wörter{n} {'—' * 330}\n" for n in range(5_000))
    assert len(text.encode()) > 5_000_000
    saved = mine.ok("note_save", text=text)
    assert saved["truncated"] is True
    assert saved["next"]["tool"] == "note_get"
    assert saved["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert mine.listed(q="wörter4999") == [saved["id"]]
    assert mine.listed(q='"line 4999"') == [saved["id"]]
    assert mine.listed(q='"line 4998 wörter7"') == []
    assert mine.listed(q="line -wörter4999") == []
    patched = mine.patch(saved["id"], 1, ("mod", 5_000, "the end"))
    tail = mine.get(saved["id"], range_line_start=5_000)
    assert tail["text"] == "the end\n"
    assert patched["txt_tot_ln"] == tail["txt_tot_ln"] == 5_000
    assert mine.listed(q='"wörter4999"') == []  # unquoted, its parts are found in other lines


def test_two_users_do_not_see_each_other(mine: Caller, theirs: Caller) -> None:
    note = mine.note("secret harbour", tags=["t"])
    other = theirs.note("harbour", tags=["t"])
    assert theirs.listed(q="harbour") == theirs.listed(tags=["t"]) == [other]
    assert theirs.code("note_get", id=note) == "NOTE_NOT_FOUND"
    assert theirs.code("note_save", id=note, local_version=1, text="x") == "NOTE_NOT_FOUND"
    assert theirs.code("note_manage", action="history", id=note) == "NOTE_NOT_FOUND"
    assert mine.listed(q="-secret") == []


def test_the_seeds_names_are_answered(local: Caller) -> None:
    note = local.ok("save", text="a")["id"]
    assert local.ok("get", id=note)["text"] == "a"
    assert local.ok("list")["total_items"] == 1
    assert local.ok("manage", action="trash", id=note, local_version=1)["status"] == "trashed"


@pytest.mark.parametrize("limit", [200, 300, 2000])
def test_a_save_of_a_long_note_may_be_answered_in_short(mine: Caller, limit: int) -> None:
    text = "".join(f"line {n} of a long note\n" for n in range(1, 5001))
    note = mine.ok("note_save", text=text, tags=["t"], max_tokens=limit)["id"]
    saved = mine.patch(note, 1, ("mod", 2500, "changed"), max_tokens=limit)
    mine.patch(note, 2, ("add", 1, "new"), max_tokens=limit)
    moved = mine.patch(note, 2, ("mod", 2500, "again"), max_tokens=limit)
    assert moved["rebased"] is True
    assert moved["moved"] == [{"ln": 2500, "now": 2501}]
    for answer, version in ((saved, 2), (moved, 4)):
        assert pagination.count_tokens(answer) <= limit
        assert (answer["local_version"], answer["tags"]) == (version, ["t"])
        assert (answer["txt_partial"], answer["truncated"]) == (True, True)
    stored = mine.get(note, local_version=2)
    assert stored["text"].startswith(saved["text"])
    assert stored["sha256"].startswith(saved["sha256"].rstrip("…"))
    whole, onward = moved["text"], moved["next"]
    while onward:
        assert onward["tool"] == "note_get"
        part = mine.ok("note_get", **{**onward["arguments"], "max_tokens": 20_000})
        whole, onward = whole + part["text"], part.get("next")
    assert whole == "new\n" + text.replace("line 2500 of a long note", "again")


def test_tags_or_trash_alone_are_told_how_to_be_saved(local: Caller) -> None:
    note = local.note("a\nb\n", tags=["old"])
    error = local.fails("note_save", id=note, local_version=1, tags=["new"])
    assert "one mod that leaves a line as it is" in error["resolution_hint"]
    same = local.patch(note, 1, ("mod", 2, "b"), tags=["new"])
    assert (same["text"], same["tags"], same["local_version"]) == ("a\nb\n", ["new"], 2)
    error = local.fails("note_save", id=note, local_version=2, trash=True)
    assert "note_manage" in error["resolution_hint"]


def test_a_new_note_has_the_project_as_a_tag_where_that_is_set(local: Caller) -> None:
    here = replace(local.scope, project="rolltop")
    assert Caller(local.desk, here).ok("note_save", text="a")["tags"] == []
    desk = make_desk(local.desk.database, settings={"notes.project_tag": True})
    assert Caller(desk, local.scope).ok("note_save", text="a")["tags"] == []
    tagging = Caller(desk, here)
    assert tagging.ok("note_save", text="a")["tags"] == ["rolltop"]
    assert tagging.ok("note_save", text="a", tags=["rolltop", "x"])["tags"] == ["rolltop", "x"]
    many = [str(number) for number in range(100)]
    note = tagging.ok("note_save", text="a", tags=many)
    assert note["tags"] == many
    changed = tagging.ok("note_save", id=note["id"], local_version=1, text="b", tags=["y"])
    assert changed["tags"] == ["y"]
