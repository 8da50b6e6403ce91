"""What one sync takes away counts together, wherever it comes from; a dry run says the same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.notes.sync import pull
from tests.toolsets.notes.sync.device import EMAIL, Device
from tests.toolsets.notes.sync.test_sync import fill, tally, texts

if TYPE_CHECKING:
    from tests.databases import Clock
    from tests.simperium import Simperium
    from tests.simperium.bucket import Bucket


@pytest.fixture
def server(simperium: Simperium) -> Bucket:
    """The account's notes at the server."""
    return simperium.notes(EMAIL)


def assert_that_it_asks(device: Device, actions: dict[str, int], left: int) -> None:
    """Assert that a dry run tells so much, and that no sync goes on by itself."""
    plan = device.run(pull.plan_sync)
    assert Counter(one.action for one in plan.notes) == actions
    for _again in range(2):
        assert plan.needs_confirmation
        assert device.sync().status == "needs_accept"
        assert len(texts(device)) == left
        plan = device.run(pull.plan_sync)
    assert device.sync(accept=True).status == "idle"
    assert device.run(pull.plan_sync).notes == ()


def test_notes_trashed_and_notes_deleted_elsewhere_count_together(
    device: Device, server: Bucket, clock: Clock
) -> None:
    fill(server, 20)
    device.sync()
    for number in range(10):
        server.post(f"n{number}", {"deleted": True}, None, None)
        server.delete(f"n{number + 10}", None, None)
    clock.advance(hours=25)
    assert_that_it_asks(device, {"trash": 10, "gone": 10}, left=10)
    assert texts(device) == {}
    server.post("new", {"content": "new"}, None, None)
    device.sync()
    server.post("new", {"deleted": True}, None, None)
    assert tally(device.sync()) == (1, 0, 0, "idle")


def test_changes_that_only_the_comparison_finds_count_together(
    device: Device, server: Bucket, simperium: Simperium, clock: Clock
) -> None:
    fill(server, 12)
    device.sync()
    for number in range(11):
        server.post(f"n{number}", {"deleted": True}, None, None)
    simperium.faults.add("empty_index")
    assert tally(device.sync()) == (0, 0, 0, "idle")
    clock.advance(hours=25)
    assert_that_it_asks(device, {"trash": 11}, left=2)
    assert list(texts(device)) == ["n11"]


def test_notes_deleted_elsewhere_whose_copies_were_dropped_count_too(
    device: Device, server: Bucket
) -> None:
    fill(server, 50)
    device.sync()
    for number in range(20):
        server.delete(f"n{number}", None, None)
    device.forget()
    assert_that_it_asks(device, {"new": 30, "gone": 20}, left=30)
    assert sum(note.content.trash for note in device.notes().values()) == 20


def test_emptying_the_trash_elsewhere_takes_nothing_away(
    device: Device, server: Bucket, clock: Clock
) -> None:
    fill(server, 30)
    for number in range(15):
        server.post(f"n{number}", {"deleted": True}, None, None)
    device.sync()
    for number in range(15):
        server.delete(f"n{number}", None, None)
    clock.advance(hours=25)
    plan = device.run(pull.plan_sync)
    assert (plan.notes, plan.needs_confirmation) == ((), False)
    assert device.sync().status == "idle"
    assert len(texts(device)) == 15
