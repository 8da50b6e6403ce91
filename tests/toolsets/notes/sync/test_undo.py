"""What an undo takes back of notes that are in step with an account: what the caller wrote."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.notes.clients import http_client
from rolltop.toolsets.notes.store import notebooks
from tests.desks import answer_of, call_tool, make_desk
from tests.toolsets.notes.sync.conftest import settings_of
from tests.toolsets.notes.sync.device import EMAIL, before_the_next_write, lose_the_next_write

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal
    from tests.simperium import Simperium
    from tests.simperium.bucket import Bucket
    from tests.simperium.http import Served


@pytest.fixture
def server(simperium: Simperium) -> Bucket:
    """The account's notes at the server."""
    bucket = simperium.notes(EMAIL)
    for name in "mn":
        bucket.post(name, {"content": "a\nb\nc\nd\n", "tags": [], "deleted": False}, None, None)
    return bucket


@pytest.fixture
def me(default: Principal) -> Principal:
    """An agent of the account's user."""
    return replace(default, actor="agent", session="ab12")


@pytest.fixture
def desk(database: Database, me: Principal, served: Served, server: Bucket) -> AppContext:
    """A desk that is connected and has synced once."""
    made = make_desk(database, settings=settings_of(served))
    assert answer_of(made, me, "note_manage", action="sync")["pulled"] == len(server.live())
    return made


def own_operations(desk: AppContext, me: Principal) -> list[str]:
    done = answer_of(desk, me, "desk_history", actor=me.label)["changes"]
    return list(dict.fromkeys(one["operation"] for one in done))


def test_what_came_from_the_account_during_a_call_is_not_the_call_s(
    desk: AppContext, me: Principal, server: Bucket
) -> None:
    server.post("n", {"content": "a\nb\nc\nphone\n"}, None, None)
    patch = [{"op": "mod", "ln": 1, "val": "A"}]
    saved = answer_of(desk, me, "note_save", id="n", local_version=1, text_patch=patch)
    assert saved["text"] == "A\nb\nc\nphone\n"
    done = answer_of(desk, me, "desk_history", uri="rolltop://note/n")["changes"]
    assert [one["by"] for one in done] == [me.label, "sync", "sync"]
    (operation,) = own_operations(desk, me)
    answer_of(desk, me, "desk_undo", operation=operation)
    assert answer_of(desk, me, "note_get", id="n")["text"] == "a\nb\nc\nphone\n"


def test_what_another_wrote_while_a_save_was_sent_is_not_taken_back_with_it(
    desk: AppContext, me: Principal, server: Bucket, simperium: Simperium
) -> None:
    def write_elsewhere() -> None:
        server.post("n", {"content": "a\nb\nc\nphone\n"}, None, None)

    before_the_next_write(simperium, write_elsewhere)
    saved = answer_of(desk, me, "note_save", id="n", local_version=1, text="A\nb\nc\nd\n")
    assert saved["text"] == server.live()["n"]["content"] == "A\nb\nc\nphone\n"
    (operation,) = own_operations(desk, me)
    answer_of(desk, me, "desk_undo", operation=operation)
    assert answer_of(desk, me, "note_get", id="n")["text"] == "a\nb\nc\nphone\n"
    answer_of(desk, me, "note_manage", action="sync")
    assert server.live()["n"]["content"] == "a\nb\nc\nphone\n"


def test_a_note_that_a_repeated_call_finds_written_is_the_caller_s(
    desk: AppContext,
    me: Principal,
    server: Bucket,
    simperium: Simperium,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_client, "INITIAL_BACKOFF_SECONDS", 0.001)
    lose_the_next_write(simperium, "unreachable")
    given = {"text": "new\n", "idempotency_key": "once"}
    assert call_tool(desk, me, "note_save", **given).is_error
    there = server.live()
    saved = answer_of(desk, me, "note_save", **given)
    assert (saved["sync_state"], saved["text"]) == ("synced", "new\n")
    assert answer_of(desk, me, "note_save", **given) == saved
    assert server.live() == there
    (made,) = answer_of(desk, me, "desk_history", uri=saved["uri"])["changes"]
    assert (made["by"], made["tool"]) == (me.label, "note_save")
    (operation,) = own_operations(desk, me)
    assert answer_of(desk, me, "desk_undo", operation=operation)["undone"] == [saved["uri"]]


def test_what_came_from_the_account_before_a_refused_save_is_not_taken_back(
    desk: AppContext, me: Principal, server: Bucket
) -> None:
    server.post("n", {"content": "phone\n"}, None, None)
    assert call_tool(desk, me, "note_save", id="n", local_version=1, text="mine\n").is_error
    assert call_tool(desk, me, "desk_undo", since="0").code == "NOT_FOUND"
    assert answer_of(desk, me, "note_get", id="n")["text"] == "phone\n"


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_turn_with_a_sync_is_taken_back_without_what_the_sync_brought(
    desk: AppContext, me: Principal, server: Bucket, *, is_reset: bool
) -> None:
    saved = answer_of(desk, me, "note_save", id="n", local_version=1, text="mine\n")
    if is_reset:
        answer_of(desk, me, "note_manage", action="reset_cache")
    server.post("m", {"content": "phone\n"}, None, None)
    server.post("new", {"content": "new\n", "tags": [], "deleted": False}, None, None)
    answer_of(desk, me, "note_manage", action="sync")
    undone = answer_of(desk, me, "desk_undo", since="0")["undone"]
    assert undone == [saved["uri"]]
    texts = {name: answer_of(desk, me, "note_get", id=name)["text"] for name in ("m", "n", "new")}
    assert texts == {"m": "phone\n", "n": "a\nb\nc\nd\n", "new": "new\n"}
    listed = answer_of(desk, me, "note_list")["items"]
    assert {one["id"] for one in listed} == {"m", "n", "new"}
    answer_of(desk, me, "note_manage", action="sync")
    assert {name: note["content"] for name, note in server.live().items()} == texts


def test_a_resume_tells_what_came_from_the_account_by_the_caller_s_own_sync(
    desk: AppContext, me: Principal, server: Bucket
) -> None:
    answer_of(desk, me, "add_task", title="a")
    server.post("m", {"content": "a\nb\nc\nphone\n"}, None, None)
    answer_of(desk, me, "note_manage", action="sync")
    (changed,) = answer_of(desk, me, "desk_resume")["changed_by_others"]
    assert (changed["uri"], changed["by"]) == ("rolltop://note/m", "sync")


def test_what_an_operation_did_to_a_note_in_turns_is_taken_back_from_the_last(
    desk: AppContext, me: Principal
) -> None:
    running = me.during("note_save")

    def write(tx: Tx, text: str) -> None:
        notebook, _account = notebooks.open_notebook(tx, desk.settings)
        note = notebook.lock("n")
        assert note is not None
        notebook.write(note, replace(note.content, text=text), source="local")

    for text in ("x\n", "y\n"):
        desk.database.write_sync(running, write, text)
    answer_of(desk, me, "desk_undo", operation=running.operation)
    found: dict[str, Any] = answer_of(desk, me, "note_get", id="n")
    assert found["text"] == "a\nb\nc\nd\n"
