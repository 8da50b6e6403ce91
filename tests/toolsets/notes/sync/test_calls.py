"""The four tools with a connected account."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.dispatch import dispatch
from rolltop.toolsets.notes.clients import http_client
from tests.desks import call_tool, make_desk
from tests.forks import PATIENCE
from tests.toolsets.notes.sync.conftest import settings_of
from tests.toolsets.notes.sync.device import EMAIL, lose_the_next_write
from tests.toolsets.notes.sync.test_client import SkippingLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database
    from rolltop.core.dispatch import Answer
    from rolltop.core.principal import Principal
    from tests.simperium import Simperium
    from tests.simperium.bucket import Bucket
    from tests.simperium.http import Served

    Call = Callable[..., dict[str, Any]]


@pytest.fixture
def server(simperium: Simperium) -> Bucket:
    """The account's notes at the server, with one note."""
    bucket = simperium.notes(EMAIL)
    bucket.post("n", {"content": "a\nb\nc\n", "tags": ["x"], "deleted": False}, None, None)
    return bucket


@pytest.fixture
def call(database: Database, default: Principal, served: Served, server: Bucket) -> Call:
    """Call a tool of a desk that is connected and has synced once; return what it answers."""
    desk = make_desk(database, settings=settings_of(served))

    def called(tool: str, **arguments: Any) -> dict[str, Any]:
        return call_tool(desk, default, tool, **arguments).structured

    assert called("note_manage", action="sync")["pulled"] == len(server.live())
    return called


def test_a_save_is_the_backend_s_answer(call: Call, server: Bucket) -> None:
    patch = [{"op": "mod", "ln": 2, "val": "B"}]
    saved = call("note_save", id="n", local_version=1, text_patch=patch, tags=["x", "y"])
    assert (saved["text"], saved["local_version"], saved["server_version"]) == ("a\nB\nc\n", 2, 2)
    assert saved["sync_state"] == "synced"
    data = server.live()["n"]
    assert (data["content"], data["tags"]) == ("a\nB\nc\n", ["x", "y"])
    assert int(data["modificationDate"]) == saved["modified_at"]


def test_a_patch_meets_what_another_client_wrote_meanwhile(call: Call, server: Bucket) -> None:
    server.post("n", {"content": "zero\na\nb\nc\n"}, None, None)
    patch = [{"op": "mod", "ln": 3, "val": "C"}]
    saved = call("note_save", id="n", local_version=1, text_patch=patch)
    assert saved["text"] == server.live()["n"]["content"] == "zero\na\nb\nC\n"
    assert saved["rebased"] is True
    refused = call("note_save", id="n", local_version=1, text="mine")["error"]
    assert (refused["category"], refused["code"], refused["http_status"]) == (
        "CONFLICT",
        "VERSION_CONFLICT",
        409,
    )
    assert server.live()["n"]["content"] == "zero\na\nb\nC\n"


def test_trash_and_deletion_reach_the_backend_and_restore_brings_back(
    call: Call, server: Bucket
) -> None:
    done = call("note_manage", action="trash", id="n", local_version=1)
    assert done == {
        "id": "n",
        "uri": "rolltop://note/n",
        "status": "trashed",
        "new_local_version": 2,
        "new_server_version": 2,
    }
    assert server.live()["n"]["deleted"] is True
    gone = call("note_manage", action="delete_permanently", id="n", local_version=2)
    assert gone["status"] == "deleted"
    assert server.live() == {}
    assert call("note_get", id="n")["error"]["code"] == "NOTE_NOT_FOUND"
    back = call("note_manage", action="restore", id="n", version=1, local_version=2)
    assert (back["text"], back["trash"], back["sync_state"]) == ("a\nb\nc\n", False, "synced")
    assert server.live()["n"]["content"] == "a\nb\nc\n"


def test_stats_tell_of_the_sync_and_reset_reads_everything_again(
    call: Call, server: Bucket, simperium: Simperium
) -> None:
    stats = call("note_manage", action="get_stats")
    assert (stats["db_sync_status"], stats["backend_cursor"]) == ("idle", server.current)
    assert stats["pending_writes"] == stats["db_sync_error_count"] == 0
    assert stats["db_last_sync_at"] is not None
    done = call("note_manage", action="reset_cache")
    assert (done["status"], done["full_resync_triggered"]) == ("success", True)
    assert call("note_list")["total_items"] == 0
    assert call("note_manage", action="get_stats")["backend_cursor"] is None
    kept = call("note_manage", action="history", id="n")["versions"]
    assert [version["local_version"] for version in kept] == [1]
    assert call("note_manage", action="sync")["pulled"] == 1
    assert call("note_get", id="n")["local_version"] == 2
    simperium.faults.add("status", None, times=9, status=500)
    assert call("note_manage", action="sync")["error"]["code"] == "BACKEND_UNAVAILABLE"


def test_of_two_syncs_at_once_the_second_leaves_it_to_the_first(
    database: Database,
    default: Principal,
    served: Served,
    server: Bucket,
    simperium: Simperium,
) -> None:
    desk = make_desk(database, settings=settings_of(served))
    asked, go_on = threading.Event(), threading.Event()
    answer = simperium.answer

    def answering(request: Any) -> Any:
        if "/index" in request.target and not asked.is_set():
            asked.set()
            assert go_on.wait(PATIENCE)
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # from here on

    async def sync_twice() -> list[Answer]:
        first = asyncio.create_task(dispatch(desk, "note_manage", default, {"action": "sync"}))
        assert await asyncio.to_thread(asked.wait, PATIENCE)
        second = await dispatch(desk, "note_manage", default, {"action": "sync"})
        go_on.set()
        return [await first, second]

    first, second = (answer.structured for answer in asyncio.run(sync_twice()))
    assert (first["status"], first["pulled"]) == ("idle", len(server.live()))
    assert (second["status"], second["pulled"]) == ("syncing", 0)


@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_note_deleted_elsewhere_is_in_the_trash_after_a_reset(
    call: Call,
    server: Bucket,
    *,
    is_noticed: bool,
) -> None:
    other = call("note_save", text="other")["id"]
    ours = call("note_save", text="deleted here", trash=True)["id"]
    server.delete("n", None, None)
    if is_noticed:
        refused = call("note_save", id="n", local_version=1, text="mine")
        assert refused["error"]["code"] == "VERSION_CONFLICT"
    call("note_manage", action="delete_permanently", id=ours, local_version=1)
    call("note_manage", action="reset_cache")
    call("note_manage", action="sync")
    listed = {item["id"]: item["trash"] for item in call("note_list", trash_s=2)["items"]}
    assert listed == {"n": True, other: False}
    note = call("note_get", id="n")
    assert (note["text"], note["tags"], note["local_version"]) == ("a\nb\nc\n", ["x"], 2)
    back = call("note_manage", action="untrash", id="n", local_version=2)
    assert back["status"] == "untrashed"
    assert server.live()["n"]["content"] == "a\nb\nc\n"


@pytest.mark.parametrize("is_reset", [True, False])
def test_a_note_that_came_back_elsewhere_is_not_put_into_the_trash_again(
    call: Call,
    server: Bucket,
    *,
    is_reset: bool,
) -> None:
    before = dict(server.live()["n"])
    server.delete("n", None, None)
    if is_reset:
        call("note_manage", action="reset_cache")
        call("note_manage", action="sync")
    else:
        call("note_save", id="n", local_version=1, text="mine")
    assert [item["trash"] for item in call("note_list", trash_s=1)["items"]] == [True]
    server.post("n", {**before, "deleted": False}, None, None)
    assert call("note_manage", action="sync")["pushed"] == 0
    assert not server.live()["n"].get("deleted")
    note = call("note_get", id="n")
    assert (note["trash"], note["sync_state"]) == (False, "synced")


def test_a_reset_before_a_list_that_lacks_notes_loses_none(
    call: Call, server: Bucket, simperium: Simperium
) -> None:
    call("note_manage", action="reset_cache")
    simperium.faults.add("empty_index", times=2)
    assert call("note_manage", action="sync")["pulled"] == 1
    assert call("note_get", id="n")["sync_state"] == "synced"
    assert call("note_list")["total_items"] == len(server.live()) == 1


def test_offline_writes_are_marked_and_keep_a_reset_away(
    database: Database, default: Principal, served: Served, server: Bucket
) -> None:
    settings = {**settings_of(served), "notes.offline_writes": True}
    desk = make_desk(database, settings=settings)
    call_tool(desk, default, "note_manage", action="sync")
    served.simperium.faults.add("html", times=9)
    saved = call_tool(desk, default, "note_save", text="later").structured
    assert saved["sync_state"] == "pending"
    refused = call_tool(desk, default, "note_manage", action="reset_cache").structured
    assert refused["error"]["code"] == "PENDING_WRITES"
    served.simperium.faults.clear()
    done = call_tool(desk, default, "note_manage", action="sync").structured
    assert done == {"pulled": 0, "pushed": 1, "conflicts": 0, "status": "idle"}
    assert server.live()[saved["id"]]["content"] == "later"


def test_what_keeps_a_reset_away_says_how_to_end_that(
    database: Database, default: Principal, served: Served, server: Bucket
) -> None:
    desk = make_desk(database, settings={**settings_of(served), "notes.offline_writes": True})

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        return call_tool(desk, default, tool, **arguments).structured

    call("note_manage", action="sync")
    served.simperium.faults.add("html", times=99)
    large, small = call("note_save", text="y" * 5000), call("note_save", text="small")
    assert large["sync_state"] == small["sync_state"] == "pending"
    served.simperium.faults.clear()
    server.largest_object = 2000
    waiting = call("note_manage", action="reset_cache")["error"]
    assert waiting["details"] == {"pending_writes": 2}
    assert "action sync" in waiting["resolution_hint"]
    assert call("note_manage", action="sync")["pushed"] == 1
    refused = call("note_manage", action="reset_cache")["error"]
    assert refused["code"] == "PENDING_WRITES"
    assert refused["details"] == {"pending_writes": 1, "refused": [large["id"]]}
    assert "note_save" in refused["resolution_hint"]
    assert "action sync" not in refused["resolution_hint"]
    parted = {"id": large["id"], "local_version": 1, "text": "smaller", "confirm_shrink": True}
    assert call("note_save", **parted)["sync_state"] == "synced"
    assert call("note_manage", action="reset_cache")["status"] == "success"


def test_a_login_that_is_refused_is_an_auth_error_of_a_write_and_of_no_read(
    database: Database, default: Principal, served: Served
) -> None:
    settings = {**settings_of(served), "notes.simplenote.password": "wrong"}
    desk = make_desk(database, settings=settings)
    served.simperium.faults.add("status", "login", status=403, text="verification required")
    for said in ("confirmed", "e-mail and password"):
        error = call_tool(desk, default, "note_save", text="x").structured["error"]
        told = (error["category"], error["code"], error["http_status"])
        assert told == ("AUTH", "LOGIN_FAILED", 401)
        assert said in error["message"]
    assert call_tool(desk, default, "note_list").structured["total_items"] == 0


def test_a_token_of_the_settings_needs_no_login(
    database: Database, default: Principal, served: Served, server: Bucket
) -> None:
    (token,) = served.simperium.tokens
    named = {"notes.simplenote.password": "", "notes.simplenote.token": token}
    desk = make_desk(database, settings={**settings_of(served), **named})
    assert call_tool(desk, default, "note_save", text="x").structured["sync_state"] == "synced"
    assert len(server.live()) == 2
    assert served.simperium.served["login"] == 0


def test_one_login_serves_what_follows_and_a_write_is_two_requests(
    call: Call, simperium: Simperium
) -> None:
    before = simperium.served.copy()
    for version in (1, 2, 3):
        call("note_save", id="n", local_version=version, text=f"{version}\n")
    assert simperium.served - before == {"get": 3, "post": 3}
    call("note_manage", action="sync")
    assert simperium.served["login"] == before["login"] == 1


def test_a_refused_token_is_replaced_at_any_request_where_there_is_a_password(
    call: Call, simperium: Simperium, server: Bucket
) -> None:
    def refusing(route: Any, tool: str, **arguments: Any) -> None:
        logins = simperium.served["login"]
        simperium.faults.add("status", route, status=401)
        assert "error" not in call(tool, **arguments)
        assert simperium.served["login"] == logins + 1
        assert simperium.faults.planned == []

    refusing("index", "note_manage", action="sync")
    refusing("get", "note_save", id="n", local_version=1, text="one\n")
    refusing("post", "note_save", id="n", local_version=2, text="two\n", trash=True)
    refusing("delete", "note_manage", action="delete_permanently", id="n", local_version=3)
    assert server.live() == {}


def test_a_token_that_is_refused_for_good_is_told_and_not_kept(
    call: Call, simperium: Simperium, server: Bucket
) -> None:
    simperium.faults.add("status", "get", times=2, status=401)
    error = call("note_save", id="n", local_version=1, text="one\n")["error"]
    assert (error["category"], error["code"], error["http_status"]) == (
        "AUTH",
        "TOKEN_REJECTED",
        401,
    )
    assert "SIMPLENOTE_" in error["resolution_hint"]
    simperium.tokens.clear()
    assert call("note_save", id="n", local_version=1, text="one\n")["sync_state"] == "synced"
    assert server.live()["n"]["content"] == "one\n"


@pytest.mark.parametrize(
    "case",
    [
        ("html", 200, ("BACKEND_API", "BACKEND_UNAVAILABLE", "unknown", 502)),
        ("shape", 200, ("BACKEND_API", "BACKEND_UNAVAILABLE", "unknown", 502)),
        ("unreachable", 0, ("BACKEND_API", "BACKEND_UNAVAILABLE", "unavailable", 502)),
        ("status", 400, ("BACKEND_API", "BACKEND_REFUSED", "validation_error", 400)),
        ("status", 413, ("BACKEND_API", "BACKEND_REFUSED", "validation_error", 413)),
        ("status", 418, ("BACKEND_API", "BACKEND_REFUSED", "unknown", 418)),
        ("status", 429, ("BACKEND_API", "BACKEND_RATE_LIMIT", "rate_limit", 429)),
        ("status", 503, ("BACKEND_API", "BACKEND_UNAVAILABLE", "unavailable", 503)),
        ("silent", 0, ("BACKEND_API", "BACKEND_TIMEOUT", "timeout", 502)),
    ],
)
def test_each_way_to_fail_of_the_backend_has_its_category_code_and_status(
    database: Database,
    default: Principal,
    served: Served,
    server: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[Any, int, tuple[str, str, str, int]],
) -> None:
    fault, status, told = case
    monkeypatch.setattr(http_client, "INITIAL_BACKOFF_SECONDS", 0.001)
    desk = make_desk(database, settings=settings_of(served))
    call_tool(desk, default, "note_manage", action="sync")
    before = call_tool(desk, default, "note_get", id="n").structured
    headers = (("Retry-After", "99"),) if status == 429 else ()
    served.simperium.faults.add(fault, "post", times=9, status=status, headers=headers)
    given = {"id": "n", "local_version": 1, "text": "new\n"}
    clock = SkippingLoop()

    async def save() -> Answer:
        saving = asyncio.ensure_future(dispatch(desk, "note_save", default, given))
        while not saving.done():  # each time that no answer comes
            if await asyncio.to_thread(served.unanswered.wait, 0.02):
                served.unanswered.clear()
                clock.skipped += desk.settings["notes.api_timeout"]
        return await saving

    with asyncio.Runner(loop_factory=lambda: clock) as run:
        error = run.run(save()).structured["error"]
    names = ("category", "code", "subcategory", "http_status")
    assert tuple(error[name] for name in names) == told
    assert error["details"].get("retry_after") == (99.0 if status == 429 else None)
    assert call_tool(desk, default, "note_get", id="n").structured == before
    assert server.live()["n"]["content"] == before["text"]


@pytest.mark.parametrize("given", [{}, {"id": "n", "local_version": 1}])
def test_what_a_save_that_may_have_arrived_says_to_do_shows_whether_it_has(
    call: Call, simperium: Simperium, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    monkeypatch.setattr(http_client, "INITIAL_BACKOFF_SECONDS", 0.001)
    lose_the_next_write(simperium, "unreachable")
    error = call("note_save", **given, text="perhaps\n")["error"]
    assert error["details"]["may_have_arrived"] is True
    assert "action sync" in error["resolution_hint"]
    assert call("note_manage", action="sync")["pulled"] == 1
    assert call("note_get", id=error["details"]["id"])["text"] == "perhaps\n"
    assert call("note_list", q="perhaps")["total_items"] == 1


def test_what_is_wrong_with_a_call_is_told_before_anything_is_asked(
    call: Call, simperium: Simperium
) -> None:
    asked = simperium.served.total()
    for arguments, code in (
        ({"id": "n", "local_version": 1}, "INVALID_ARGUMENT"),
        ({"id": "n", "text": "x"}, "INVALID_ARGUMENT"),
        ({"id": "n", "local_version": 1, "text": "x", "tags": ["t" * 101]}, "INVALID_TAGS"),
        ({"id": "n" * 300, "local_version": 1, "text": "x"}, "INVALID_ARGUMENT"),
    ):
        assert call("note_save", **arguments)["error"]["code"] == code
    assert simperium.served.total() == asked


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_save_with_a_key_makes_one_note_at_the_backend(
    call: Call,
    server: Bucket,
    simperium: Simperium,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_synced: bool,
) -> None:
    monkeypatch.setattr(http_client, "INITIAL_BACKOFF_SECONDS", 0.001)
    given = {"text": "new\n", "idempotency_key": "once"}
    lose_the_next_write(simperium, "unreachable")
    assert call("note_save", **given)["error"]["details"]["may_have_arrived"] is True
    assert len(server.live()) == 2
    if is_synced:
        assert call("note_manage", action="sync")["pulled"] == 1
    first = call("note_save", **given)
    assert first["sync_state"] == "synced"
    assert call("note_save", **given) == first
    assert len(server.live()) == 2
    assert call("note_list")["total_items"] == 2
    refused = call("note_save", text="other\n", idempotency_key="once")["error"]
    assert (refused["category"], refused["code"]) == ("CONFLICT", "CONFLICT")


APPENDED = {"id": "n", "local_version": 1, "text_patch": [{"op": "add", "ln": 4, "val": "d"}]}
ONCE: list[dict[str, Any]] = [
    {"text": "new\n"},
    {**APPENDED, "tags": ["y"]},
    {"id": "n", "local_version": 1, "text": "a\nb\nc\nd\n"},
]


@pytest.mark.parametrize("is_synced", [False, True])
@pytest.mark.parametrize("given", ONCE)
def test_a_save_sent_again_with_its_key_is_found_though_others_wrote_since(
    call: Call,
    server: Bucket,
    simperium: Simperium,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    *,
    is_synced: bool,
) -> None:
    monkeypatch.setattr(http_client, "INITIAL_BACKOFF_SECONDS", 0.001)
    lose_the_next_write(simperium, "unreachable")
    details = call("note_save", **given, idempotency_key="once")["error"]["details"]
    sent = server.live()[details["id"]]
    assert sent["content"].endswith(("new\n", "d\n"))
    server.post(details["id"], {"content": f"phone\n{sent['content']}"}, None, None)
    if is_synced:
        call("note_manage", action="sync")
    there = server.live()
    first = call("note_save", **given, idempotency_key="once")
    assert first["text"] == f"phone\n{sent['content']}"
    assert first["tags"] == sent["tags"]
    assert server.live() == there
    assert call("note_save", **given, idempotency_key="once") == first


def test_a_save_that_did_not_arrive_is_made_by_the_next_call_with_its_key(
    call: Call, server: Bucket, simperium: Simperium, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "INITIAL_BACKOFF_SECONDS", 0.001)
    for key, given in {"new": {"text": "new\n"}, "append": APPENDED}.items():
        before = server.live()
        lose_the_next_write(simperium, "unreachable", how="html")
        refused = call("note_save", **given, idempotency_key=key)
        assert refused["error"]["details"]["may_have_arrived"] is True
        assert server.live() == before
        server.post("n", {"content": f"phone\n{before['n']['content']}"}, None, None)
        assert call("note_save", **given, idempotency_key=key)["sync_state"] == "synced"
    assert server.live()["n"]["content"] == "phone\nphone\na\nb\nc\nd\n"
