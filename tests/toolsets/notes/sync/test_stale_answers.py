"""A backend that answers with a version it has no more, as one does that reads from a copy."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.toolsets.notes.sync.device import EMAIL, Device

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rolltop.toolsets.notes.models import Content
    from tests.simperium import Simperium
    from tests.simperium.bucket import Bucket
    from tests.simperium.faults import Kind
    from tests.simperium.server import Reply, Request


@pytest.fixture
def server(simperium: Simperium) -> Bucket:
    """The account's notes at the server, with one note."""
    bucket = simperium.notes(EMAIL)
    bucket.post("n", {"content": "one\n", "tags": [], "deleted": False}, None, None)
    return bucket


def append(line: str) -> Callable[[Content], Content]:
    """Add a line to a note."""
    return lambda content: replace(content, text=f"{content.text}{line}\n")


@contextmanager
def restored(device: Device, server: Bucket) -> Generator[Bucket]:
    """Restore the server, at the end, from a backup that is made before."""
    device.sync()
    backup = copy.deepcopy(server)
    yield backup
    server.go_back_to(backup)


def words(server: Bucket) -> set[str]:
    """Return the words that the server's notes have."""
    return {word for data in server.live().values() for word in data["content"].split()}


def answer_from_a_copy(simperium: Simperium, version: int, times: int) -> None:
    """Let the server show the note as it was at a version, so many times."""
    answer: Any = simperium.answer
    left = [None] * times

    def answering(request: Request) -> Reply:
        if left and request.method == "GET" and request.target.endswith("/i/n"):
            left.pop()
            request = replace(request, target=f"{request.target}/v/{version}")
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # for a while


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("age", [1, 2])
def test_a_save_is_made_from_the_version_that_is_known(
    device: Device, simperium: Simperium, server: Bucket, *, age: int, times: int
) -> None:
    device.sync()
    device.save("n", append("two"))
    device.save("n", append("three"))
    answer_from_a_copy(simperium, 3 - age, times)
    note = device.save("n", append("four"))
    assert server.live()["n"]["content"] == note.text == "one\ntwo\nthree\nfour\n"
    assert (note.local_version, note.server_version, note.sync_state) == (4, 4, "synced")


def test_a_save_after_the_server_went_back_is_made_from_what_it_has(
    device: Device, server: Bucket
) -> None:
    with restored(device, server) as backup:
        device.save("n", append("two"))
        device.save("n", append("three"))
    server.post("n", {"content": "phone\none\n"}, None, None)
    note = device.save("n", append("four"))
    assert server.live()["n"]["content"] == note.text
    device.sync()
    assert words(server) == {"phone", "one", "two", "three", "four"}
    device.save("n", lambda content: replace(content, trash=True))
    server.go_back_to(backup)
    device.delete("n")
    assert "n" not in server.live()


@pytest.mark.parametrize("status", [404, 405])
def test_a_version_that_the_server_has_no_more_is_no_deletion(
    device: Device, simperium: Simperium, server: Bucket, status: int
) -> None:
    with restored(device, server):
        device.save("n", append("two"))
        device.save("n", append("three"))
    server.post("n", {"content": "phone\none\n"}, None, None)
    simperium.faults.add("status", "post", status=status)
    device.save("n", append("four"))
    device.sync()
    assert words(server) == {"phone", "one", "two", "three", "four"}


def test_what_waits_to_be_sent_to_a_server_that_went_back_loses_none_of_what_it_was_made_from(
    device: Device, server: Bucket
) -> None:
    with restored(device, server):
        device.save("n", append("two"))
        device.queue("n", append("three"))
    for _again in range(2):
        assert device.sync().status == "idle"
        (note,) = device.notes().values()
        assert server.live()["n"]["content"] == note.text == "one\ntwo\nthree\n"
    assert list(server.live()) == ["n"]


def test_what_waits_to_be_sent_and_what_others_wrote_to_an_older_version_are_both_kept(
    device: Device, server: Bucket
) -> None:
    with restored(device, server):
        device.save("n", append("two"))
        device.save("n", append("three"))
        device.queue("n", append("four"))
    server.post("n", {"content": "phone\none\n"}, None, None)
    assert device.sync().counts.conflicts == 1
    texts = sorted(data["content"] for data in server.live().values())
    assert texts == ["one\ntwo\nthree\nfour\n", "phone\none\n"]


@pytest.mark.parametrize("trash", [False, True])
def test_tags_and_trash_that_wait_are_united_with_what_a_server_that_went_back_has(
    device: Device, server: Bucket, *, trash: bool
) -> None:
    with restored(device, server):
        for tag in "ab":
            device.save("n", lambda content, tag=tag: replace(content, tags=(*content.tags, tag)))
        device.queue("n", lambda content: replace(content, tags=(*content.tags, "c"), trash=trash))
    server.post("n", {"content": "one\n", "tags": ["p"]}, None, None)
    assert device.sync().counts.pushed == 1
    data = server.live()["n"]
    assert (data["content"], bool(data["deleted"])) == ("one\n", trash)
    assert set(data["tags"]) == {"a", "b", "c", "p"}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("fault", ["status", "lost"])
def test_a_change_that_waits_is_sent_once_whatever_a_late_answer_shows(
    device: Device, simperium: Simperium, server: Bucket, fault: Kind, times: int
) -> None:
    device.sync()
    device.save("n", append("two"))
    device.queue("n", append("three"))
    simperium.faults.add(fault, "post", status=405)
    answer_from_a_copy(simperium, 1, times)
    device.sync()
    (note,) = device.notes().values()
    assert note.sync_state == "synced"
    assert server.live()["n"]["content"] == note.text == "one\ntwo\nthree\n"


@pytest.mark.parametrize("status", [404, 405])
def test_a_note_is_deleted_at_a_server_that_has_no_more_its_version(
    device: Device, simperium: Simperium, server: Bucket, status: int
) -> None:
    with restored(device, server):
        device.save("n", append("two"))
        device.save("n", lambda content: replace(content, trash=True))
    simperium.faults.add("status", "delete", status=status)
    device.delete("n")
    assert not server.live()
    assert not device.notes()
