"""Writes of the tools with an account: at the backend first, and never twice."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.core.errors import Conflict
from rolltop.toolsets.notes.clients.backend import BackendError, RemoteNote
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync import remote_changes
from tests.toolsets.notes.sync.device import (
    EMAIL,
    Crash,
    Device,
    before_the_next_write,
    lose_the_next_write,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Content
    from tests.simperium import Simperium
    from tests.simperium.bucket import Bucket
    from tests.simperium.faults import Kind


@pytest.fixture
def server(simperium: Simperium) -> Bucket:
    """The account's notes at the server, with one note."""
    bucket = simperium.notes(EMAIL)
    bucket.post("n", {"content": "one\n", "tags": [], "deleted": False, "own": 1}, None, None)
    return bucket


def to(text: str) -> Callable[[Content], Content]:
    """Make a note say something."""
    return lambda content: replace(content, text=text)


def test_a_write_is_answered_once_the_backend_has_it(device: Device, server: Bucket) -> None:
    device.sync()
    note = device.save("n", to("two\n"))
    assert (note.local_version, note.server_version, note.sync_state) == (2, 2, "synced")
    data = server.live()["n"]
    assert (data["content"], data["own"]) == ("two\n", 1)
    made = device.save(None, to("new\n"))
    assert (made.local_version, made.server_version) == (1, 1)
    assert server.live()[made.id]["content"] == "new\n"


def test_a_lost_answer_is_looked_up_and_nothing_is_written_twice(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    device.sync()
    cases: list[tuple[Kind, str | None, int]] = [
        ("lost", "n", 2),
        ("late", "n", 3),
        ("half", "n", 4),
        ("lost", None, 1),
        ("late", None, 1),
        ("half", None, 1),
    ]
    for number, (fault, name, version) in enumerate(cases, start=1):
        simperium.faults.add(fault, "post")
        note = device.save(name, to(f"{number}\n"))
        assert note.sync_state == "synced"
        contents = [data["content"] for data in server.live().values()]
        assert contents.count(f"{number}\n") == 1
        assert server.entities[note.id].version == version
        assert simperium.served["post"] == number


def test_a_write_that_never_arrived_is_sent_again_with_the_same_change(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    device.sync()
    simperium.faults.add("silent", "post")
    assert device.save("n", to("two\n")).server_version == 2
    sent = [request.target for request in simperium.requests if request.method == "POST"]
    assert sent[-1] == sent[-2]
    assert server.live()["n"]["content"] == "two\n"


MOVED: Final = to("b\na\n")
UNTAGGED: Final = partial(replace, tags=())


@pytest.mark.parametrize("edit", [MOVED, UNTAGGED], ids=["moved", "untagged"])
@pytest.mark.parametrize("way", ["saved", "queued"])
@pytest.mark.parametrize("fault", [("silent", 0), ("status", 409), ("status", 412)])
def test_lines_that_are_moved_and_tags_taken_away_do_not_pass_as_arrived(
    device: Device,
    server: Bucket,
    simperium: Simperium,
    edit: Callable[[Content], Content],
    way: str,
    fault: tuple[Kind, int],
) -> None:
    server.post("n", {"content": "a\nb\n", "tags": ["x"]}, None, None)
    device.sync()
    if way == "queued":
        device.queue("n", edit)
    simperium.faults.add(fault[0], "post", status=fault[1])
    if way == "saved":
        device.save("n", edit)
    device.sync()
    wanted = edit(replace(device.notes()["n"].content, text="a\nb\n", tags=("x",)))
    data, note = server.live()["n"], device.notes()["n"]
    assert (data["content"], data["tags"]) == (wanted.text, list(wanted.tags))
    assert (note.content, note.sync_state, note.server_version) == (wanted, "synced", 3)


def test_a_tag_taken_away_is_sent_again_though_another_wrote_meanwhile(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    server.post("n", {"content": "a\n", "tags": ["x"], "systemTags": ["pinned"]}, None, None)
    device.sync()

    def theirs() -> None:
        server.post("n", {"content": "a\nb\n"}, None, None)
        simperium.faults.add("silent", "post")

    before_the_next_write(simperium, theirs)
    device.save("n", lambda content: replace(content, tags=(), system_tags=()))
    data = server.live()["n"]
    assert (data["content"], data["tags"], data["systemTags"]) == ("a\nb\n", [], [])


def test_what_may_have_arrived_and_cannot_be_looked_up_is_told(
    device: Device, simperium: Simperium, server: Bucket
) -> None:
    device.sync()
    lose_the_next_write(simperium, "silent")
    with pytest.raises(BackendError) as raised:
        device.save("n", to("two\n"))
    assert raised.value.data["details"]["may_have_arrived"] is True
    assert "read the note again" in raised.value.hint
    assert device.notes()["n"].text == "one\n"
    simperium.faults.clear()
    device.sync()
    assert device.notes()["n"].text == server.live()["n"]["content"] == "two\n"


def test_what_may_have_arrived_is_told_though_the_login_has_ended_since(
    device: Device, simperium: Simperium, server: Bucket
) -> None:
    device.sync()

    def end_login() -> None:
        simperium.faults.add("lost", "post")
        simperium.faults.add("status", "get", times=4, status=401)

    before_the_next_write(simperium, end_login)
    with pytest.raises(BackendError) as raised:
        device.save("n", to("two\n"))
    assert raised.value.data["details"]["may_have_arrived"] is True
    assert server.live()["n"]["content"] == "two\n"


def test_codes_that_ask_for_a_reload_end_in_one_write(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    device.sync()
    for version, status in enumerate((405, 440, 409, 412, 404), start=2):
        simperium.faults.add("status", "post", status=status)
        note = device.save("n", to(f"{status}\n"))
        assert (note.text, note.sync_state) == (f"{status}\n", "synced")
        assert server.live()["n"]["content"] == f"{status}\n"
        assert server.entities["n"].version == version


def test_a_note_that_was_deleted_elsewhere_is_made_again_by_a_write(
    device: Device, server: Bucket
) -> None:
    device.sync()
    server.delete("n", None, None)
    note = device.save("n", to("two\n"))
    assert (note.text, note.sync_state) == ("two\n", "synced")
    assert server.live()["n"]["content"] == "two\n"


def test_the_decision_is_about_what_the_backend_has_now(device: Device, server: Bucket) -> None:
    device.sync()
    server.post("n", {"content": "theirs\n"}, None, None)
    seen: list[str] = []

    def edit(content: Content) -> Content:
        seen.append(content.text)
        return replace(content, text=content.text + "mine\n")

    assert device.save("n", edit).text == "theirs\nmine\n"
    assert seen == ["theirs\n"]


def test_what_another_wrote_in_between_is_merged_and_kept_as_a_version(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    server.post("n", {"content": "a\nb\nc\n"}, None, None)
    device.sync()

    def theirs() -> None:
        server.post("n", {"content": "a\nb\nTHEIRS\n"}, None, None)

    before_the_next_write(simperium, theirs)
    note = device.save("n", to("MINE\nb\nc\n"))
    assert note.text == server.live()["n"]["content"] == "MINE\nb\nTHEIRS\n"
    assert "a\nb\nTHEIRS\n" in device.history("n")
    assert "MINE\nb\nc\n" in device.history("n")


def test_nothing_is_kept_here_when_the_backend_is_away(
    device: Device, simperium: Simperium, server: Bucket
) -> None:
    device.sync()
    simperium.faults.add("unreachable", times=9)
    with pytest.raises(BackendError) as raised:
        device.save("n", to("two\n"))
    assert raised.value.code == "BACKEND_UNAVAILABLE"
    assert device.notes()["n"].text == "one\n"
    assert len(server.live()) == 1


def test_offline_writes_wait_and_are_sent_later(
    device: Device, simperium: Simperium, server: Bucket
) -> None:
    device.sync()
    simperium.faults.add("unreachable", times=9)
    first = device.save("n", to("two\n"), offline=True)
    simperium.faults.add("unreachable", times=9)
    made = device.save(None, to("new\n"), offline=True)
    assert (first.sync_state, made.sync_state) == ("pending", "pending")
    simperium.faults.clear()
    assert device.sync().counts.pushed == 2
    assert {data["content"] for data in server.live().values()} == {"two\n", "new\n"}
    assert {note.sync_state for note in device.notes().values()} == {"synced"}


@pytest.mark.parametrize("name", ["n", None])
def test_what_is_kept_to_be_sent_and_had_arrived_is_one_note(
    device: Device, simperium: Simperium, server: Bucket, name: str | None
) -> None:
    device.sync()
    lose_the_next_write(simperium, "unreachable")
    saved = device.save(name, to("new\n"), offline=True)
    assert saved.sync_state == "pending"
    assert device.sync().counts.conflicts == 0
    assert [note_id for note_id, data in server.live().items() if data["content"] == "new\n"] == [
        saved.id
    ]
    assert {note.id: note.text for note in device.notes().values()} == {
        note_id: data["content"] for note_id, data in server.live().items()
    }


def test_what_arrived_and_came_by_a_sync_before_it_was_kept_is_one_note(
    device: Device, simperium: Simperium, server: Bucket
) -> None:
    device.sync()
    answer = simperium.answer

    def answering(request: Any) -> Any:
        if request.method == "POST" and "/i/" in request.target:
            simperium.faults.add("lost", "post")
            simperium.faults.add("unreachable", "get", times=4)
        elif len(server.live()) > len(device.notes()):  # another process syncs meanwhile
            (new_id,) = set(server.live()) - set(device.notes())
            arrived = RemoteNote(new_id, 1, server.live()[new_id])

            def apply(tx: Tx) -> None:
                remote_changes.apply_note(Notebook(tx, device.key), arrived, None)

            device.database.write_sync(device.scope, apply)
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # as it fails from there on
    assert device.save(None, to("new\n"), offline=True).sync_state == "synced"
    assert sorted(note.text for note in device.notes().values()) == ["new\n", "one\n"]


def test_a_write_that_is_killed_anywhere_is_whole_or_not_there_and_never_doubled(
    device: Device, simperium: Simperium, server: Bucket
) -> None:
    device.sync()
    for steps in range(12):
        text = f"one\n{steps}\n"
        before, sent = server.entities["n"].version, simperium.served["post"]
        device.fuse.left = steps
        try:
            device.save("n", to(text))
        except Crash:
            device.fuse.left = None
            if device.notes()["n"].text != text:
                device.save("n", to(text))
        device.fuse.left = None
        device.sync()
        assert server.live()["n"]["content"] == device.notes()["n"].text == text
        assert server.entities["n"].version == before + 1
        assert simperium.served["post"] <= sent + 2


def test_a_note_deleted_for_good_is_gone_there_and_its_versions_stay_here(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    device.sync()
    device.save("n", lambda content: replace(content, trash=True))
    simperium.faults.add("lost", "delete")
    assert device.delete("n") == (2, 2)
    assert server.live() == {}
    assert device.notes() == {}
    assert device.history("n") == ["one\n", "one\n"]
    device.sync()
    assert device.notes() == {}


def test_a_note_that_changed_elsewhere_is_not_deleted_unseen(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    device.sync()

    def theirs() -> None:
        server.post("n", {"content": "theirs\n"}, None, None)

    before_the_next_write(simperium, theirs, method="DELETE")
    with pytest.raises(Conflict):
        device.delete("n", version=1)
    assert server.live()["n"]["content"] == "theirs\n"
    assert device.notes()["n"].text == "theirs\n"


def test_a_change_that_arrived_and_was_merged_is_not_made_again(
    device: Device, server: Bucket, simperium: Simperium
) -> None:
    device.sync()
    answer = simperium.answer

    def answering(request: Any) -> Any:
        reply = answer(request)
        if request.method == "POST" and "/i/" in request.target and reply.delivery == "close":
            simperium.answer = answer  # pyright: ignore[reportAttributeAccessIssue]  # once
            server.post("n", {"content": "theirs\none\nmine\n"}, None, None)
        return reply

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # in that moment
    simperium.faults.add("lost", "post")
    note = device.save("n", lambda content: replace(content, text=content.text + "mine\n"))
    assert note.text == server.live()["n"]["content"] == "theirs\none\nmine\n"
    assert simperium.served["post"] == 1
    assert "one\nmine\n" in device.history("n")


@pytest.mark.parametrize("way", ["saved", "queued"])
def test_what_another_wrote_meanwhile_is_kept_where_the_backends_merge_leaves_it_out(
    device: Device,
    new_device: Callable[[], Device],
    server: Bucket,
    simperium: Simperium,
    way: str,
) -> None:
    server.post("n", {"content": "one\ntwo\nthree\n"}, None, None)
    device.sync()

    def theirs() -> None:
        server.post("n", {"content": "four\ntwo\nthree\n"}, None, None)

    if way == "queued":
        device.queue("n", to("mine\n"))
    before_the_next_write(simperium, theirs)
    if way == "saved":
        device.save("n", to("mine\n"))
    done = device.sync()
    other = new_device()
    other.sync()
    assert done.counts.conflicts == (1 if way == "queued" else 0)
    for one in (device, other):
        words = {word for note in one.notes().values() for word in note.text.split()}
        assert words == {"mine", "four", "two", "three"}
