"""One sync after the other: what comes, what goes, what stops it, and how it goes on."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import leases
from rolltop.toolsets.notes.clients.http_client import RequestLimits
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync import pull, service
from rolltop.toolsets.notes.sync.connection import SyncRecord, acquire_lease
from tests.toolsets.notes.sync.device import EMAIL, INTERVAL, Crash, Device, before_the_next_write

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Content
    from rolltop.toolsets.notes.sync.connection import AccountConnection
    from tests.databases import Clock
    from tests.simperium import Simperium
    from tests.simperium.bucket import Bucket

LONG = "word " * 200


@pytest.fixture
def server(simperium: Simperium) -> Bucket:
    """The account's notes at the server."""
    return simperium.notes(EMAIL)


def fill(server: Bucket, count: int, text: str = "text") -> None:
    """Put notes into the server."""
    for number in range(count):
        server.post(f"n{number}", {"content": f"{text} {number}", "tags": []}, None, None)


def to(text: str) -> Callable[[Content], Content]:
    """Make a note say something."""
    return lambda content: replace(content, text=text)


def texts(device: Device) -> dict[str, str]:
    """Return what the device's notes outside the trash say."""
    return {note.id: note.text for note in device.notes().values() if not note.content.trash}


def tally(done: service.SyncOutcome) -> tuple[int, int, int, str]:
    """Return pulled, pushed, conflicts, status."""
    return done.counts.pulled, done.counts.pushed, done.counts.conflicts, done.status


def test_a_first_sync_brings_all_in_pages_and_the_next_only_what_is_new(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    fill(server, 250)
    server.post("old", {"content": "in the trash", "deleted": True, "x": [1]}, None, None)
    assert tally(device.sync()) == (251, 0, 0, "idle")
    assert simperium.served["index"] == 3
    note = device.notes()["old"]
    assert (note.content.trash, note.content.extra, note.sync_state) == (True, {"x": [1]}, "synced")
    server.post("n7", {"content": "other"}, None, None)
    assert tally(device.sync()) == (1, 0, 0, "idle")
    assert simperium.served["index"] == 4
    assert texts(device)["n7"] == "other"
    assert device.history("n7") == ["text 7"]
    assert (device.account().cursor, device.account().status) == (server.current, "idle")
    asked = [r.target for r in simperium.requests if "/index" in r.target]
    assert [("limit=100" in target, "limit=500" in target) for target in asked] == [
        *[(True, False)] * 3,
        (False, True),
    ]


def test_a_list_that_comes_back_to_where_it_was_ends_the_sync(
    device: Device, server: Bucket, simperium: Simperium, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, 250)
    read = server.index

    def first(limit: int | None, _mark: str | None, since: str | None, *, data: bool) -> Any:
        return read(limit, None, since, data=data)

    with monkeypatch.context() as patched:
        patched.setattr(server, "index", first)
        assert device.sync().status == "error"
        assert simperium.served["index"] == 2
    assert device.sync().status == "idle"
    assert len(device.notes()) == 250


@pytest.mark.parametrize("steps", [3, 8])
def test_a_first_sync_that_is_killed_goes_on_where_it_was(
    device: Device, server: Bucket, simperium: Simperium, steps: int
) -> None:
    fill(server, 250)
    device.fuse.left = steps
    with pytest.raises(Crash):
        device.sync()
    device.fuse.left = None
    assert device.sync().status == "syncing"
    before = len(device.notes())
    device.let_leases_age(leases.LEASE_SECONDS)
    done = device.sync()
    assert (done.counts.pulled, done.status) == (250 - before, "idle")
    assert len(device.notes()) == 250
    assert simperium.served["index"] <= 4


def test_what_changes_while_pages_are_read_is_not_missed(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    fill(server, 250)
    answer = simperium.answer
    pages = 0

    def answering(request: Any) -> Any:
        nonlocal pages
        if "/index" in request.target:
            pages += 1
            if pages == 2:
                server.post("n0", {"content": "moved to the first page"}, None, None)
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # a server with a life of its own
    device.sync()
    device.sync()
    assert texts(device)["n0"] == "moved to the first page"
    assert len(device.notes()) == 250


def test_large_notes_come_in_smaller_pages(device: Device, server: Bucket) -> None:
    device.bounds = RequestLimits(max_body_bytes=100_000)
    fill(server, 20, "long " * 4000)
    assert len(device.run(pull.plan_sync).notes) == 20
    assert tally(device.sync()) == (20, 0, 0, "idle")


def nested(depth: int) -> list[Any]:
    """Return a list in a list in a list."""
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize(
    "data",
    [
        {"content": "x" * 400_000},
        {"content": "x" * 70_000, "own": [0] * 60_000},
        {"content": "x" * 70_000, "own": nested(150)},
    ],
    ids=["bytes", "values", "depth"],
)
def test_a_note_that_is_too_large_keeps_no_other_back(
    device: Device, server: Bucket, data: dict[str, Any]
) -> None:
    device.bounds = RequestLimits(max_body_bytes=300_000)
    fill(server, 20)
    server.post("large", data, None, None)
    for name in ("m1", "m2"):
        server.post(name, {"content": name}, None, None)
    assert tally(device.sync()) == (22, 0, 0, "idle")
    assert len(texts(device)) == 22
    for tag in "ab":  # counted once, however often it changes
        assert SyncRecord.from_account(device.account()).unread == ["large"]
        server.post("large", {"tags": [tag]}, None, None)
        device.sync()
    server.post("large", {"content": "small by now", "own": None}, None, None)
    assert tally(device.sync()) == (1, 0, 0, "idle")
    assert texts(device)["large"] == "small by now"
    assert SyncRecord.from_account(device.account()).unread == []


def test_a_note_that_only_its_page_makes_too_large_is_read_alone(
    device: Device, server: Bucket
) -> None:
    device.bounds = RequestLimits(max_body_bytes=300_000)
    server.post("large", {"content": "x" * 299_980}, None, None)
    assert tally(device.sync()) == (1, 0, 0, "idle")
    assert len(SyncRecord.from_account(device.account()).unread) == 0


def test_notes_of_an_unknown_form_are_counted_over_all_pages(
    device: Device, server: Bucket
) -> None:
    for text in (1, "one"):
        for number in range(150):
            server.post(f"{text} {number}", {"content": text}, None, None)
    assert tally(device.sync()) == (150, 0, 0, "idle")
    assert len(SyncRecord.from_account(device.account()).unread) == 150
    server.post("new", {"content": 1}, None, None)
    device.sync()
    assert len(SyncRecord.from_account(device.account()).unread) == 151
    device.forget()
    device.sync()
    assert len(SyncRecord.from_account(device.account()).unread) == 151


def test_a_note_that_could_not_be_read_and_is_gone_counts_no_more(
    device: Device, server: Bucket, clock: Clock
) -> None:
    for name in ("n0", "n1"):
        server.post(name, {"content": 1}, None, None)
    device.sync()
    server.delete("n0", None, None)
    clock.advance(hours=25)
    device.sync()
    assert SyncRecord.from_account(device.account()).unread == ["n1"]


def test_changes_of_both_sides_on_other_lines_are_merged(device: Device, server: Bucket) -> None:
    server.post("n", {"content": "a\nb\nc\n", "tags": ["x"]}, None, None)
    device.sync()
    device.queue("n", lambda content: replace(content, text="A\nb\nc\n", tags=("x", "mine")))
    server.post("n", {"content": "a\nb\nC\n", "tags": ["x", "theirs"], "new": 1}, None, None)
    assert tally(device.sync()) == (1, 1, 0, "idle")
    data = server.live()["n"]
    assert (data["content"], set(data["tags"]), data["new"]) == (
        "A\nb\nC\n",
        {"x", "mine", "theirs"},
        1,
    )
    note = device.notes()["n"]
    assert (note.text, note.sync_state, note.server_version) == ("A\nb\nC\n", "synced", 3)
    assert device.history("n") == ["a\nb\nC\n", "A\nb\nc\n", "a\nb\nc\n"]


def test_where_lines_clash_the_remote_stays_and_the_local_text_is_a_copy(
    new_device: Callable[[], Device], server: Bucket
) -> None:
    device, other = new_device(), new_device()
    server.post(
        "n",
        {
            "content": "a\n",
            "tags": ["x"],
            "systemTags": ["published", "markdown"],
            "publishURL": "u",
        },
        None,
        None,
    )
    device.sync()
    device.queue("n", to("mine\n"))
    server.post("n", {"content": "theirs\n"}, None, None)
    assert tally(device.sync()) == (1, 1, 1, "idle")
    live = server.live()
    assert live.pop("n")["content"] == "theirs\n"
    ((copy_id, made),) = live.items()
    assert (made["content"], made["tags"]) == ("mine\n", ["x", "conflict"])
    assert (made["conflictOf"], made["systemTags"]) == ("n", ["markdown"])
    assert "publishURL" not in made
    assert texts(device) == {"n": "theirs\n", copy_id: "mine\n"}
    assert "mine\n" in device.history("n")
    other.sync()
    assert texts(other) == texts(device)


def test_a_copy_that_is_behind_never_overwrites(
    new_device: Callable[[], Device], server: Bucket
) -> None:
    first, second = new_device(), new_device()
    server.post("n", {"content": "one\ntwo\n"}, None, None)
    first.sync()
    second.sync()
    first.save("n", to("one\ntwo\nthree\n"))
    second.queue("n", to("zero\none\ntwo\n"))
    second.sync()
    assert server.live()["n"]["content"] == "zero\none\ntwo\nthree\n"


def test_an_edit_goes_before_the_trash(device: Device, server: Bucket) -> None:
    server.post("n", {"content": "a\n", "deleted": False}, None, None)
    server.post("m", {"content": "a\n", "deleted": False}, None, None)
    device.sync()
    device.queue("n", to("a\nmine\n"))
    device.queue("m", lambda content: replace(content, trash=True))
    server.post("n", {"deleted": True}, None, None)
    server.post("m", {"content": "a\ntheirs\n"}, None, None)
    device.sync()
    live = server.live()
    assert (live["n"]["content"], live["n"]["deleted"]) == ("a\nmine\n", False)
    assert (live["m"]["content"], live["m"]["deleted"]) == ("a\ntheirs\n", False)


def test_what_is_deleted_for_good_elsewhere_goes_to_the_trash_within_a_day(
    device: Device, server: Bucket, clock: Clock
) -> None:
    fill(server, 5)
    device.sync()
    server.delete("n1", None, None)
    device.queue("n2", to("changed here"))
    server.delete("n2", None, None)
    device.sync()
    assert device.notes()["n1"].sync_state == "synced"
    clock.advance(hours=25)
    device.sync()
    gone = device.notes()["n1"]
    assert (gone.content.trash, gone.sync_state, gone.server_version) == (True, "local", None)
    assert gone.text == "text 1"
    assert server.live()["n2"]["content"] == "changed here"
    assert "n1" not in server.live()
    device.save("n1", lambda content: replace(content, trash=False))
    assert server.live()["n1"]["content"] == "text 1"


def test_an_empty_list_of_a_server_that_has_the_notes_deletes_nothing(
    device: Device, server: Bucket, simperium: Simperium, clock: Clock
) -> None:
    fill(server, 8)
    device.sync()
    clock.advance(hours=25)
    simperium.faults.add("empty_index", times=2)
    assert tally(device.sync()) == (0, 0, 0, "idle")
    assert len(texts(device)) == 8


def test_an_empty_list_of_many_notes_stops_the_sync(
    device: Device, server: Bucket, simperium: Simperium, clock: Clock
) -> None:
    fill(server, 12)
    device.sync()
    clock.advance(hours=25)
    simperium.faults.add("empty_index", times=2)
    asked = simperium.served["get"]
    assert device.sync().status == "needs_accept"
    assert simperium.served["get"] == asked
    assert len(texts(device)) == 12


@pytest.mark.parametrize("change_kind", ["trash", "cut"])
def test_a_sync_that_takes_away_a_lot_stops_before_it_and_asks(
    device: Device, server: Bucket, change_kind: str
) -> None:
    fill(server, 60, LONG)
    device.sync()
    change = {"deleted": True} if change_kind == "trash" else {"content": "short"}
    for number in range(11):
        server.post(f"n{number}", change, None, None)
    before, cursor = texts(device), device.account().cursor
    for _again in range(2):
        done = device.sync()
        assert done.status == "needs_accept"
        assert done.error is not None
        assert "rolltop notes sync --accept" in done.error.hint or "--accept" in done.error.hint
        assert texts(device) == before
    assert (device.account().status, device.account().cursor) == ("needs_accept", cursor)
    assert tally(device.sync(accept=True)) == (11, 0, 0, "idle")
    assert texts(device) != before
    assert device.history("n3")[0] == f"{LONG} 3"


def test_few_notes_may_go_into_the_trash_unasked(device: Device, server: Bucket) -> None:
    fill(server, 10)
    device.sync()
    for number in range(10):
        server.post(f"n{number}", {"deleted": True}, None, None)
    assert tally(device.sync()) == (10, 0, 0, "idle")
    assert texts(device) == {}


def test_a_note_that_is_refused_keeps_no_other_back(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    fill(server, 3)
    device.sync()
    for number in range(3):
        device.queue(f"n{number}", to(f"changed {number}"))
    simperium.faults.add("status", "post", status=413)
    done = device.sync()
    assert (done.counts.pushed, done.counts.refused, done.status) == (2, 1, "idle")
    (refused,) = [note for note in device.notes().values() if note.sync_state == "conflict"]
    device.sync()
    assert server.live()[refused.id]["content"].startswith("text")
    device.queue(refused.id, to("changed again"))
    device.sync()
    assert server.live()[refused.id]["content"] == "changed again"


def test_a_note_that_was_refused_is_tried_again_when_the_lists_are_compared(
    device: Device, server: Bucket, simperium: Simperium, clock: Clock
) -> None:
    fill(server, 2)
    device.sync()
    device.queue("n0", to("changed"))
    server.delete("n1", None, None)
    device.queue("n1", to("changed, too"))
    for _ in range(2):
        simperium.faults.add("status", "post", status=413)
    assert device.sync().counts.refused == 2
    assert {note.sync_state for note in device.notes().values()} == {"conflict"}
    clock.advance(days=2)
    assert device.sync().counts.pushed == 2
    live = {note_id: data["content"] for note_id, data in server.live().items()}
    assert live == {"n0": "changed", "n1": "changed, too"}


def test_what_is_written_while_its_note_is_being_sent_is_sent_after_it(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    fill(server, 1)
    device.sync()
    device.queue("n0", to("a\n"))

    def write_here(tx: Tx) -> None:
        notebook = Notebook(tx, device.key, 0)
        note = notebook.lock("n0")
        assert note is not None
        notebook.write(note, to("a\nb\n")(note.content), source="local")

    before_the_next_write(simperium, lambda: device.database.write_sync(device.scope, write_here))
    device.sync()
    note = device.notes()["n0"]
    assert (note.text, note.sync_state, server.live()["n0"]["content"]) == (
        "a\nb\n",
        "pending",
        "a\n",
    )
    assert tally(device.sync()) == (0, 1, 0, "idle")
    assert server.live()["n0"]["content"] == "a\nb\n"


def test_failures_are_counted_and_waits_grow_to_half_an_hour(
    device: Device, simperium: Simperium, clock: Clock
) -> None:
    waits: list[float] = []
    for failures in range(1, 7):
        simperium.faults.add("html")
        assert device.sync().status == "error"
        account = device.account()
        assert (account.status, account.error_count) == ("error", failures)
        record = SyncRecord.from_account(account)
        assert record.error == "BACKEND_UNAVAILABLE"
        assert record.next_at is not None
        waits.append(record.next_at - clock.now.timestamp())
    assert waits == [600.0, 1200.0, 1800.0, 1800.0, 1800.0, 1800.0]
    assert device.sync().status == "idle"
    account = device.account()
    assert (account.error_count, SyncRecord.from_account(account).error) == (0, None)
    assert SyncRecord.from_account(account).next_at == clock.now.timestamp() + INTERVAL


def test_two_processes_never_sync_at_once(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    fill(server, 1)
    answer = simperium.answer
    inside: list[str] = []

    def answering(request: Any) -> Any:
        simperium.answer = answer  # pyright: ignore[reportAttributeAccessIssue]  # once
        inside.append("asked")
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # as above

    async def both(link: AccountConnection) -> list[str]:
        other = device.link()
        first = await service.run_sync(link, INTERVAL)
        held = await link.write(acquire_lease, link.holder)
        second = await service.run_sync(other, INTERVAL)
        assert held
        return [first.status, second.status]

    assert device.run(both) == ["idle", "syncing"]


def test_a_clock_that_ran_ahead_keeps_nobody_away(
    device: Device, server: Bucket, clock: Clock
) -> None:
    fill(server, 1)
    clock.advance(days=400)
    device.fuse.left = 3
    with pytest.raises(Crash):
        device.sync()
    device.fuse.left = None
    clock.advance(days=-400)
    device.let_leases_age(timedelta(days=-400).total_seconds())
    assert device.sync().status == "idle"


@pytest.mark.parametrize("taken_by", ["another process", "reset_cache"])
def test_a_sync_that_stood_still_while_its_lease_was_taken_writes_nothing(
    device: Device, server: Bucket, simperium: Simperium, taken_by: str
) -> None:
    fill(server, 250)
    answer = simperium.answer
    left: list[str] = []

    def take_over() -> None:
        if taken_by == "reset_cache":
            device.forget()
            return
        device.let_leases_age(leases.LEASE_SECONDS)
        lease = device.database.write_sync(device.scope, acquire_another)
        assert lease is not None

    def acquire_another(tx: Tx) -> leases.JobLease | None:
        return acquire_lease(Notebook(tx, device.key), "another")

    def answering(request: Any) -> Any:
        if "mark=" in request.target and not left:  # the second page
            left.append(request.target)
            take_over()
            left.extend(device.notes())
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # from here on
    assert device.sync().status == "syncing"
    assert sorted(device.notes()) == sorted(left[1:])
    assert device.account().cursor is None
    device.let_leases_age(leases.LEASE_SECONDS)
    assert device.sync().status == "idle"
    assert len(device.notes()) == 250


def test_a_server_that_went_back_gets_the_newer_words_again(
    new_device: Callable[[], Device], server: Bucket, clock: Clock
) -> None:
    first, second = new_device(), new_device()
    server.post("n", {"content": "one\n"}, None, None)
    for device in (first, second):
        device.sync()
    backup = copy.deepcopy(server)
    first.save("n", to("one\ntwo\n"))
    server.go_back_to(backup)
    clock.advance(hours=25)
    for device in (first, second):
        assert device.sync().status == "idle"
    assert server.live()["n"]["content"] == "one\ntwo\n"
    assert texts(first) == texts(second) == {"n": "one\ntwo\n"}


def test_a_known_version_that_says_something_else_now_keeps_both(
    device: Device, server: Bucket
) -> None:
    server.post("n", {"content": "one\n"}, None, None)
    device.sync()
    backup = copy.deepcopy(server)
    device.save("n", to("mine\n"))
    server.go_back_to(backup)
    server.post("n", {"content": "theirs\n"}, None, None)
    device.sync()
    assert sorted(texts(device).values()) == ["mine\n", "theirs\n"]
    assert server.live()["n"]["content"] == "theirs\n"


def test_a_dry_run_tells_all_and_does_nothing(device: Device, server: Bucket, clock: Clock) -> None:
    for name, text in {
        "new": "",
        "chg": "a\n",
        "bin": "a\n",
        "cut": LONG,
        "mrg": "a\nb\nc\n",
        "clash": "a\n",
        "gone": "a\n",
        "snd": "a\n",
        "same": "a\n",
    }.items():
        if name != "new":
            server.post(name, {"content": text, "deleted": False}, None, None)
    device.sync()
    clock.advance(hours=1)
    server.post("new", {"content": "\n Fresh \nrest"}, None, None)
    server.post("chg", {"content": "b\n"}, None, None)
    server.post("bin", {"deleted": True}, None, None)
    server.post("cut", {"content": "short"}, None, None)
    server.post("mrg", {"content": "A\nb\nc\n"}, None, None)
    server.post("clash", {"content": "theirs\n"}, None, None)
    server.delete("gone", None, None)
    for name, text in (("mrg", "a\nb\nC\n"), ("clash", "mine\n"), ("snd", "sent\n")):
        device.queue(name, to(text))
    here, there = device.notes(), server.live()
    plan = device.run(pull.plan_sync)
    assert {one.note_id: one.action for one in plan.notes} == {
        "new": "new",
        "chg": "change",
        "bin": "trash",
        "cut": "cut",
        "mrg": "merge",
        "clash": "conflict",
        "gone": "gone",
        "snd": "send",
    }
    assert next(one.title for one in plan.notes if one.action == "new") == "Fresh"
    assert not plan.needs_confirmation
    assert (device.notes(), server.live()) == (here, there)
