"""What no caller should send: numbers no database holds, endless lists, text that is none."""

from __future__ import annotations

from random import Random
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.dispatch import error_answer, internal_error
from rolltop.core.errors import DeadlineExceeded, InvalidArgument, InvalidText, Unavailable
from rolltop.toolsets.notes import TOOLSET
from rolltop.toolsets.notes.models import Content, ListQuery, NewNote, NotePageRequest
from rolltop.toolsets.notes.note_list import list_notes
from rolltop.toolsets.notes.store.notebooks import Notebook
from tests.growth import count_calls

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.errors import RolltopError
    from tests.toolsets.notes.caller import Caller

HUGE: Final = 1 << 70
PATCH: Final[dict[str, Any]] = {"op": "mod", "ln": 1, "val": "x"}

REFUSED: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("note_get", {"id": ""}, "INVALID_ARGUMENT"),
    ("note_get", {"id": "a" * 257}, "INVALID_ARGUMENT"),
    ("note_get", {"id": "\ud800"}, "INVALID_TEXT"),
    ("note_get", {"id": "a\x00"}, "INVALID_TEXT"),
    ("note_get", {"id": "../tag/i/x"}, "NOTE_NOT_FOUND"),
    ("note_get", {"local_version": HUGE}, "VERSION_NOT_FOUND"),
    ("note_get", {"local_version": -HUGE}, "VERSION_NOT_FOUND"),
    ("note_get", {"char_start": HUGE}, "INVALID_RANGE"),
    ("note_get", {"range_line_count": -1}, "INVALID_RANGE"),
    ("note_save", {"local_version": HUGE, "text": "x"}, "VERSION_CONFLICT"),
    ("note_save", {"local_version": 1, "server_version": HUGE, "text": "x"}, "VERSION_CONFLICT"),
    ("note_save", {"local_version": 1, "text": "", "text_patch": []}, "INVALID_ARGUMENT"),
    ("note_save", {"local_version": HUGE, "text_patch": [PATCH]}, "VERSION_CONFLICT"),
    ("note_save", {"local_version": 1, "text_patch": [{**PATCH, "ln": HUGE}]}, "INVALID_PATCH"),
    ("note_save", {"local_version": 1, "text_patch": [PATCH] * 5000}, "INVALID_PATCH"),
    ("note_save", {"local_version": 1, "text_patch": [{**PATCH, "x": 1}]}, "INVALID_PATCH"),
    ("note_save", {"local_version": 1, "text": "x", "tags": ["\udfff"]}, "INVALID_TEXT"),
    ("note_save", {"local_version": 1, "text": "x", "tags": ["t"] * 10_000}, "INVALID_TAGS"),
    ("note_manage", {"action": "trash", "local_version": HUGE}, "VERSION_CONFLICT"),
    (
        "note_manage",
        {"action": "restore", "local_version": 1, "version": HUGE},
        "VERSION_NOT_FOUND",
    ),
    ("note_manage", {"action": "history", "cursor": "notes.x"}, "INVALID_ARGUMENT"),
)
LISTED: Final[tuple[tuple[dict[str, Any], int], ...]] = (
    ({"page": HUGE}, 1),
    ({"q": " ".join(f"tag:t{n}" for n in range(3000))}, 0),
    ({"q": " ".join(f"-tag:t{n}" for n in range(3000))}, 1),
    ({"q": "-" * 100_000}, 1),
    ({"q": "tag:" + "x" * 99_996}, 0),
    ({"tags": [f"t{n}" for n in range(100)]}, 0),
    ({"tags": ["\U0010ffff"]}, 0),
    ({"dt_before": "9999-12-31", "dt_after": "0001-01-01"}, 1),
)


def test_what_cannot_be_meant_is_refused_with_its_code_and_changes_nothing(mine: Caller) -> None:
    note = mine.note("one\ntwo\n")
    before = mine.get(note)
    for tool, given, code in REFUSED:
        assert mine.code(tool, **{"id": note, **given}) == code, (tool, given)
    for tags in ([f"t{n}" for n in range(101)], [""], ["x" * 101], [1], "{'x'}"):
        assert mine.code("note_list", tags=tags) == "INVALID_TAGS", tags
    assert mine.get(note) == before
    assert mine.versions(note) == [1]


def test_a_list_bears_any_number_of_conditions(mine: Caller) -> None:
    mine.note("one")
    for given, total in LISTED:
        assert mine.ok("note_list", **given)["total_items"] == total, str(given)[:80]


def test_every_one_of_many_tags_counts(mine: Caller) -> None:
    tags = [f"t{n}" for n in range(8)]
    full = mine.note("storm", tags=tags)
    mine.note("storm", tags=tags[:7])
    for filters in ({"tags": tags}, {"q": "storm", "tags": [*tags, "T1"]}):
        assert mine.listed(**filters) == [full]
        assert mine.ok("note_list", **filters)["total_items"] == 1
    without = " ".join(f"-tag:t{n}" for n in range(7, 12))
    assert mine.ok("note_list", q=without)["total_items"] == 1
    assert mine.ok("note_list", q=f"storm {without}")["total_items"] == 1


def test_a_range_beyond_every_note_is_empty(mine: Caller) -> None:
    note = mine.note("one\ntwo\n")
    past = mine.get(note, range_line_start=HUGE, range_line_count=HUGE)
    assert (past["text"], past["range_line_count"], past["txt_tot_ln"]) == ("", 0, 2)
    assert mine.get(note, range_line_start=2, range_line_count=HUGE)["text"] == "two\n"


def test_a_stale_version_of_an_action_says_with_which_to_call_again(mine: Caller) -> None:
    note = mine.note("one")
    error = mine.fails("note_manage", action="trash", id=note, local_version=7)
    assert "local_version 1" in error["resolution_hint"]
    error = mine.fails("note_save", id=note, local_version=1, server_version=3, text="two")
    assert "stored is none" in error["message"]


def test_what_is_refused_for_every_toolset_has_its_category_here(local: Caller) -> None:
    refused: dict[RolltopError, tuple[str, str, int]] = {
        DeadlineExceeded("late", hint="again"): ("TIMEOUT", "TIMEOUT", 504),
        Unavailable("away", hint="later"): ("INTERNAL", "UNAVAILABLE", 503),
        InvalidArgument("wrong", hint="right"): ("VALIDATION", "INVALID_ARGUMENT", 400),
        InvalidText("wrong", hint="right"): ("VALIDATION", "INVALID_TEXT", 400),
        internal_error(ValueError("secret")): ("INTERNAL", "INTERNAL_ERROR", 500),
    }
    for failure, told in refused.items():
        answer = error_answer(local.desk, TOOLSET, failure)
        error = answer.structured["error"]
        assert (error["category"], error["code"], error["http_status"]) == told
        assert set(error) == {
            *("category", "code", "message", "details", "resolution_hint", "http_status")
        }
        assert "secret" not in answer.text


def test_a_tag_of_any_length_from_elsewhere_is_kept_and_found(mine: Caller) -> None:
    long = "".join(map(chr, range(0x4E00, 0x4E00 + 2_000)))

    def create(tx: Tx) -> str:
        new = NewNote(Content("storm", (long, "short")))
        return Notebook(tx).create([new], source="import")[0].id

    note = mine.desk.database.write_sync(mine.scope, create)
    assert mine.get(note)["tags"] == [long, "short"]
    assert mine.listed(q=f"storm tag:{long}") == mine.listed(tags=["short"]) == [note]
    assert mine.listed(q=f"storm tag:{long[:-1]}") == []


def test_few_words_that_no_note_has_are_compared_with_those_there_are(mine: Caller) -> None:
    drawn = Random(1)  # noqa: S311  # made-up words
    words = ["".join(drawn.choices(ascii_lowercase, k=8)) for _ in range(1200)]
    for at in range(0, 1000, 200):
        mine.note(" ".join(words[at : at + 200]))
    query = ListQuery(" ".join(words[1000:]))

    def ask(tx: Tx) -> None:
        assert not list_notes(tx, mine.desk.settings, query, NotePageRequest()).items

    assert count_calls(lambda: mine.desk.database.read_sync(mine.scope, ask)) < 1_000_000
