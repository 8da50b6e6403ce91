"""Notes that the backend fails at, too large or of a form that is not known, wait alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.notes.clients.http_client import RequestLimits
from rolltop.toolsets.notes.sync import pull
from rolltop.toolsets.notes.sync.connection import SyncRecord
from tests.simperium.server import Reply, Request
from tests.toolsets.notes.sync.device import EMAIL, Device, before_the_next_write
from tests.toolsets.notes.sync.test_sync import fill, texts, to

if TYPE_CHECKING:
    from tests.databases import Clock
    from tests.simperium import Simperium
    from tests.simperium.bucket import Bucket
    from tests.simperium.faults import Kind


@pytest.fixture
def server(simperium: Simperium) -> Bucket:
    """The account's notes at the server."""
    return simperium.notes(EMAIL)


@pytest.mark.parametrize(
    ("large", "is_pulled_first"),
    [
        ({"content": "x" * 400_000}, True),
        ({"own": "x" * 400_000}, False),
        ({"own": [0] * 60_000}, True),
        ({"own": [0] * 60_000}, False),
        ({"content": 5}, True),
    ],
    ids=["bytes", "bytes-late", "values", "values-late", "form"],
)
def test_a_change_of_a_note_that_is_too_large_waits_alone(
    device: Device,
    server: Bucket,
    simperium: Simperium,
    large: dict[str, Any],
    *,
    is_pulled_first: bool,
) -> None:
    device.bounds = RequestLimits(max_body_bytes=300_000)
    fill(server, 3)
    device.sync()
    for name in ("n0", "n1", "n2"):
        device.queue(name, to("changed here"))

    def grow() -> None:
        server.post("n0", large, None, None)

    if is_pulled_first:
        grow()
    else:
        before_the_next_write(simperium, grow)
    for pushed in (2, 0):
        done = device.sync()
        assert (done.status, done.counts.pushed, done.counts.refused) == ("idle", pushed, 0)
    assert device.notes()["n0"].sync_state == "pending"
    assert SyncRecord.from_account(device.account()).unread == ["n0"]
    assert [planned.note_id for planned in device.run(pull.plan_sync).notes] == []
    server.post("n0", {"content": "text 0\nmore", "own": None}, None, None)
    done = device.sync()
    assert done.status == "idle"
    assert {note.sync_state for note in device.notes().values()} == {"synced"}
    assert SyncRecord.from_account(device.account()).unread == []
    assert any("changed here" in text for text in texts(device).values())


@pytest.mark.parametrize(
    ("sick", "status", "sent"), [(1, 500, 3), (2, 503, 2), (3, 500, 0), (1, 429, 0)]
)
def test_a_note_that_the_backend_fails_at_keeps_no_other_back(
    device: Device, server: Bucket, simperium: Simperium, *, sick: int, status: int, sent: int
) -> None:
    fill(server, 4)
    device.sync()
    for number in range(4):
        device.queue(f"n{number}", to("changed here"))
    answer = simperium.answer

    def failing(request: Request) -> Reply:
        if request.method == "POST" and any(f"/i/n{n}/" in request.target for n in range(sick)):
            return Reply(status)
        return answer(request)

    simperium.answer = failing  # pyright: ignore[reportAttributeAccessIssue]  # until it is well
    for _again in range(2):
        assert device.sync().status == "error"
    changed = {name for name, data in server.live().items() if data["content"] == "changed here"}
    assert len(changed) == sent
    assert device.account().error_count == 2
    simperium.answer = answer  # pyright: ignore[reportAttributeAccessIssue]  # as it was
    assert device.sync().counts.pushed == 4 - sent
    assert {note.sync_state for note in device.notes().values()} == {"synced"}


def test_a_note_that_cannot_be_compared_keeps_no_change_from_being_sent(
    device: Device, server: Bucket, simperium: Simperium, clock: Clock
) -> None:
    fill(server, 3)
    device.sync()
    device.queue("n1", to("changed here"))
    server.delete("n0", None, None)
    clock.advance(hours=25)
    answer = simperium.answer

    def failing(request: Request) -> Reply:
        is_sick = request.method == "GET" and "/i/n0" in request.target
        return Reply(500) if is_sick else answer(request)

    simperium.answer = failing  # pyright: ignore[reportAttributeAccessIssue]  # until it is well
    done = device.sync()
    assert (done.status, done.counts.pushed) == ("error", 1)
    assert server.live()["n1"]["content"] == "changed here"
    simperium.answer = answer  # pyright: ignore[reportAttributeAccessIssue]  # as it was
    assert device.sync().status == "idle"
    assert device.notes()["n0"].content.trash


@pytest.mark.parametrize("is_compared", [False, True])
@pytest.mark.parametrize(
    ("kind", "code"), [("silent", "BACKEND_TIMEOUT"), ("status", "BACKEND_RATE_LIMIT")]
)
def test_a_backend_that_is_silent_or_takes_no_more_is_asked_for_one_note(
    device: Device,
    server: Bucket,
    simperium: Simperium,
    clock: Clock,
    kind: Kind,
    code: str,
    *,
    is_compared: bool,
) -> None:
    fill(server, 4)
    device.sync()
    for number in range(3):
        device.queue(f"n{number}", to("changed here"))
    if is_compared:
        server.delete("n3", None, None)
        clock.advance(hours=25)
    for route in ("get", "post"):
        simperium.faults.add(kind, route, times=50, status=429)
    simperium.requests.clear()
    failure = device.sync().error
    assert failure is not None
    assert failure.code == code
    asked = {one.target.split("/i/")[1][:2] for one in simperium.requests if "/i/" in one.target}
    assert len(asked) == 1
    assert device.account().status == "error"
    simperium.faults.clear()
    assert device.sync().counts.pushed == 3
