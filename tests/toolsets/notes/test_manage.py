"""Trash, deletion, history, restoration, stats; and what local mode does not have."""

from __future__ import annotations

import asyncio
import json
import platform
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop import __version__
from rolltop.core.context import CallContext
from rolltop.core.db import SYSTEM
from rolltop.toolsets.notes import TOOLSET
from rolltop.toolsets.notes.store.notebooks import purge_history
from tests.desks import make_desk
from tests.toolsets.notes.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock

MONTH = 30 * 24 * 3600


def test_the_trash_and_back(mine: Caller) -> None:
    note = mine.note()
    done = mine.manage("trash", id=note, local_version=1)
    named = {"id": note, "uri": f"rolltop://note/{note[:8]}"}
    assert done == {**named, "status": "trashed", "new_local_version": 2}
    assert mine.listed() == []
    assert mine.listed(trash_s=1) == [note]
    assert mine.get(note)["trash"] is True
    done = mine.manage("untrash", id=note, local_version=2)
    assert done == {**named, "status": "untrashed", "new_local_version": 3}
    assert mine.listed() == [note]
    assert mine.manage("untrash", id=note, local_version=3)["new_local_version"] == 3


def test_only_a_trashed_note_is_deleted_for_good(mine: Caller) -> None:
    note = mine.note("one")
    assert mine.code("note_manage", action="delete_permanently", id=note, local_version=1) == (
        "INVALID_ARGUMENT"
    )
    mine.manage("trash", id=note, local_version=1)
    assert mine.code("note_manage", action="delete_permanently", id=note, local_version=1) == (
        "VERSION_CONFLICT"
    )
    done = mine.manage("delete_permanently", id=note, local_version=2)
    assert (done["id"], done["status"]) == (note, "deleted")
    assert mine.code("note_get", id=note) == "NOTE_NOT_FOUND"
    assert mine.listed(trash_s=2) == []
    assert mine.versions(note) == [2, 1]


def test_what_was_deleted_for_good_comes_back_for_thirty_days(
    mine: Caller, database: Database, clock: Clock
) -> None:
    note = mine.note("one", tags=["a"])
    mine.ok("note_save", id=note, local_version=1, text="two", trash=True)
    mine.manage("delete_permanently", id=note, local_version=2)
    clock.advance(seconds=MONTH - 1)
    assert database.write_sync(SYSTEM, purge_history, MONTH) == 0
    sent = {"action": "restore", "id": note, "version": 1}
    assert mine.code("note_manage", **sent, local_version=1) == "VERSION_CONFLICT"
    back = mine.ok("note_manage", **sent, local_version=2)
    assert (back["text"], back["tags"], back["trash"]) == ("one", ["a"], False)
    assert back["local_version"] == 3
    assert mine.versions(note) == [3, 2, 1]
    clock.advance(seconds=2)
    assert database.write_sync(SYSTEM, purge_history, MONTH) == 0
    assert mine.versions(note) == [3, 2, 1]


def test_after_thirty_days_it_is_gone(mine: Caller, database: Database, clock: Clock) -> None:
    kept = mine.note("kept")
    mine.ok("note_save", id=kept, local_version=1, text="kept again")
    note = mine.note("one", trash=True)
    mine.manage("delete_permanently", id=note, local_version=1)
    clock.advance(seconds=MONTH + 1)
    assert database.write_sync(SYSTEM, purge_history, MONTH) == 1
    assert mine.code("note_manage", action="history", id=note) == "NOTE_NOT_FOUND"
    sent = {"action": "restore", "id": note, "version": 1, "local_version": 1}
    assert mine.code("note_manage", **sent) == "NOTE_NOT_FOUND"
    assert mine.versions(kept) == [2, 1]


def test_history_lists_and_restore_brings_back_any_version(mine: Caller, clock: Clock) -> None:
    note = mine.note("öne", tags=["a"])
    for version, text in enumerate(("two", "three"), start=1):
        clock.advance(seconds=10)
        mine.ok("note_save", id=note, local_version=version, text=text, tags=["b"])
    listed = mine.manage("history", id=note)["versions"]
    assert [(v["local_version"], v["bytes"], v["source"]) for v in listed] == [
        (3, 5, "local"),
        (2, 3, "local"),
        (1, 4, "local"),
    ]
    assert listed[0]["modified_at"] == listed[2]["modified_at"] + 20
    clock.advance(seconds=10)
    sent = {"action": "restore", "id": note, "version": 1}
    assert mine.code("note_manage", **sent, local_version=2) == "VERSION_CONFLICT"
    back = mine.ok("note_manage", **sent, local_version=3)
    assert (back["text"], back["tags"], back["local_version"]) == ("öne", ["a"], 4)
    assert back["modified_at"] == listed[0]["modified_at"] + 10
    assert mine.manage("history", id=note)["versions"][0]["source"] == "restore"
    assert mine.get(note, local_version=3)["text"] == "three"
    assert mine.manage("restore", id=note, version=4, local_version=4)["local_version"] == 4
    for version in (9, 0, -1, 1 << 70):
        assert mine.code("note_manage", **{**sent, "version": version}, local_version=4) == (
            "VERSION_NOT_FOUND"
        )


def test_versions_of_a_deleted_note_are_read_and_who_misses_it_is_told(
    mine: Caller, theirs: Caller
) -> None:
    note = mine.note("one", tags=["a"])
    mine.ok("note_save", id=note, local_version=1, text="two", trash=True)
    mine.manage("delete_permanently", id=note, local_version=2)
    for version in mine.manage("history", id=note)["versions"]:
        number = version["local_version"]
        old = mine.get(note, local_version=number)
        assert old["text"] == {1: "one", 2: "two"}[number]
        assert (old["local_version"], old["sync_state"]) == (number, "local")
    assert mine.code("note_get", id=note, local_version=3) == "VERSION_NOT_FOUND"
    for name, given in (
        ("note_get", {}),
        ("note_save", {"local_version": 2, "text": "three"}),
        ("note_manage", {"action": "untrash", "local_version": 2}),
    ):
        error = mine.fails(name, id=note, **given)
        assert error["code"] == "NOTE_NOT_FOUND"
        assert "was deleted for good" in error["message"]
        assert "restore, local_version 2" in error["resolution_hint"]
        assert "deleted" not in theirs.fails(name, id=note, **given)["message"]
    assert theirs.code("note_get", id=note, local_version=1) == "NOTE_NOT_FOUND"
    mine.ok("note_manage", action="restore", id=note, version=1, local_version=2)
    assert mine.get(note)["text"] == "one"


def test_a_note_that_came_back_has_no_more_versions_than_any(
    database: Database, me: Principal
) -> None:
    mine = Caller(make_desk(database, settings={"notes.history": 3}), me)
    note = mine.note("0")
    mine.ok("note_save", id=note, local_version=1, text="1")
    mine.manage("trash", id=note, local_version=2)
    mine.manage("delete_permanently", id=note, local_version=3)
    mine.manage("restore", id=note, local_version=3, version=2)
    kept = mine.manage("history", id=note)["versions"]
    assert [version["local_version"] for version in kept] == [4, 3, 2]


def test_as_many_versions_are_kept_as_the_setting_says(database: Database, me: Principal) -> None:
    mine = Caller(make_desk(database, settings={"notes.history": 3}), me)
    note = mine.note("0")
    for n in range(1, 6):
        mine.ok("note_save", id=note, local_version=n, text=str(n))
    assert mine.versions(note) == [6, 5, 4]
    assert mine.code("note_get", id=note, local_version=3) == "VERSION_NOT_FOUND"
    unbounded = Caller(make_desk(database, settings={"notes.history": 0}), me)
    for n in range(6, 9):
        unbounded.ok("note_save", id=note, local_version=n, text=str(n))
    assert unbounded.versions(note) == [9, 8, 7, 6, 5, 4]


def test_a_long_history_is_listed_part_by_part(local: Caller) -> None:
    note = local.note("0")
    for n in range(1, 30):
        local.ok("note_save", id=note, local_version=n, text=str(n))
    found: list[int] = []
    following: dict[str, Any] | None = {
        "tool": "note_manage",
        "arguments": {"action": "history", "id": note, "max_tokens": 300},
    }
    while following:
        answer = local.ok(following["tool"], **following["arguments"])
        found += [version["local_version"] for version in answer["versions"]]
        following = answer.get("next")
    assert found == list(range(30, 0, -1))


def test_who_shares_the_server_is_not_told_how_much_it_holds(local: Caller) -> None:
    assert local.manage("get_stats")["db_file_size_mb"] is not None
    for given in ({"token_id": "1"}, {"expires_at": 1.0}, {"member_id": local.scope.user_id}):
        guest = Caller(local.desk, replace(local.scope, **given))
        stats = guest.manage("get_stats")
        assert (stats["db_file_size_mb"], stats["memory_rss_mb"]) == (None, None)


def test_stats_hold_every_field(mine: Caller, database: Database) -> None:
    mine.note()
    mine.manage("trash", id=mine.note(), local_version=1)
    stats = mine.manage("get_stats")
    assert stats["version"] == __version__
    assert stats["python_version"] == platform.python_version()
    assert stats["memory_rss_mb"] > 1
    on_disk = database.path is not None
    assert stats["db_encryption"] == ("disabled" if on_disk else "unavailable")
    assert (stats["db_file_size_mb"] is not None) == on_disk
    assert stats["db_total_notes"] == 2
    assert stats["db_schema_version"] >= 1
    expected: dict[str, Any] = {
        "db_last_sync_at": None,
        "db_sync_duration_ms": None,
        "db_sync_status": "local",
        "db_sync_error_count": 0,
        "backend_cursor": None,
        "pending_writes": 0,
    }
    assert {name: stats[name] for name in expected} == expected


def test_local_notes_need_no_network(local: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def ask(*given: object, **_more: object) -> None:
        asked.append(given)

    monkeypatch.setattr(socket.socket, "connect", ask)
    monkeypatch.setattr(socket, "getaddrinfo", ask)
    note = local.note("one")
    local.ok("note_save", id=note, local_version=1, text="two")
    assert local.listed(q="two") == [note]
    assert local.code("note_manage", action="sync") == "NOT_IN_LOCAL_MODE"
    local.manage("trash", id=note, local_version=2)
    local.manage("delete_permanently", id=note, local_version=3)
    assert asked == []


@pytest.mark.parametrize("action", ["sync", "reset_cache"])
def test_local_notes_have_nothing_to_sync_or_reset(local: Caller, action: str) -> None:
    note = local.note()
    assert local.code("note_manage", action=action) == "NOT_IN_LOCAL_MODE"
    assert local.listed() == [note]


@pytest.mark.parametrize(
    "given",
    [
        {"action": "trash"},
        {"action": "trash", "id": "x"},
        {"action": "delete_permanently", "id": "x"},
        {"action": "history"},
        {"action": "restore", "id": "x", "local_version": 1},
        {"action": "restore", "id": "x", "version": 1},
        {"action": "delete"},
        {"action": "trash", "id": "x", "local_version": "one"},
        {"action": "history", "id": "x", "cursor": "nonsense"},
        {},
    ],
)
def test_what_an_action_lacks_is_named(local: Caller, given: dict[str, Any]) -> None:
    local.note()
    code = local.code("note_manage", **given)
    assert code in {"INVALID_ARGUMENT", "NOTE_NOT_FOUND"}
    assert (code == "NOTE_NOT_FOUND") == ("cursor" in given)


def test_a_note_is_a_resource_that_listeners_hear_of(mine: Caller) -> None:
    heard: list[str] = []
    mine.desk.change_listeners.append(lambda _scope, uri: heard.append(uri))
    note = mine.note("Harbour master")
    mine.ok("note_save", id=note, local_version=1, text="Harbour")
    mine.manage("trash", id=note, local_version=2)
    assert heard == [f"rolltop://note/{note}"] * 3
    (reference,) = TOOLSET.resource_templates
    call = CallContext(mine.desk, mine.scope, "resource note", 20_000)
    other = mine.note("Harbour lights")

    async def look() -> tuple[str, list[str], list[str]]:
        read = await reference.read(call, id=note)
        assert isinstance(read, str)
        by_title = await reference.complete(call, "id", "harbour l", {})
        return read, by_title, await reference.complete(call, "id", other[:8], {})

    read, *completed = asyncio.run(look())
    assert json.loads(read) == mine.get(note)
    assert completed == [[other], [other]]


def test_the_prompt_names_tools_that_are_there() -> None:
    (prompt,) = TOOLSET.prompts
    text = prompt.render({"content": "the harbour opens at six"})
    assert "the harbour opens at six" in text
    names = {tool.name for tool in TOOLSET.tools}
    assert set(prompt.tools) <= names
    assert all(name in text for name in prompt.tools)


def test_a_cursor_of_another_notes_history_is_refused(local: Caller) -> None:
    notes = [local.note("1"), local.note("1")]
    for version in range(1, 20):
        for note in notes:
            local.ok("note_save", id=note, local_version=version, text=f"text {version}")
    cursor = local.manage("history", id=notes[0], max_tokens=200)["next_cursor"]
    assert local.manage("history", id=notes[0], cursor=cursor)["versions"]
    sent = {"action": "history", "id": notes[1], "cursor": cursor}
    assert local.code("note_manage", **sent) == "INVALID_ARGUMENT"


def test_a_note_is_found_by_the_beginning_of_its_id_in_any_form(mine: Caller) -> None:
    note = mine.note("a\n")
    bare = note.replace("-", "")
    for given in (note[:8].upper(), note[:14], bare[:13], bare, note.upper()):
        assert mine.get(given)["id"] == note, given
        read = mine.ok("desk_read", uri=f"rolltop://note/{given}")
        assert read["uri"] == f"rolltop://note/{note[:8]}@1"
    mine.ok("note_manage", action="trash", id=bare[:13].upper(), local_version=1)
    assert mine.get(note)["trash"] is True


def test_an_address_that_is_no_id_is_not_called_a_missing_note(mine: Caller) -> None:
    """As desk_read prints it of a note that is there."""
    printed = mine.ok("desk_read", uri=mine.note("a\n"))["uri"]
    for given in (printed, printed.replace("@1", "#L1")):
        error = mine.fails("note_get", id=given)
        assert error["message"] == f'"{given}" is not the id of a note'
        assert "desk_read" in error["resolution_hint"]
