"""Notes that are deleted for good elsewhere, and come back there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.toolsets.notes.sync.device import EMAIL, Device
from tests.toolsets.notes.sync.test_sync import tally

if TYPE_CHECKING:
    from tests.databases import Clock
    from tests.simperium import Simperium


def test_a_note_that_comes_back_changed_is_that_note_alone(
    device: Device, simperium: Simperium, clock: Clock
) -> None:
    server = simperium.notes(EMAIL)
    server.post("n", {"content": "mine", "tags": ["old"]}, None, None)
    device.sync()
    server.delete("n", None, None)
    clock.advance(hours=25)
    device.sync()
    assert device.notes()["n"].content.trash
    back = {"content": "theirs", "tags": ["new"], "deleted": False}
    server.post("n", back, None, None)
    assert tally(device.sync()) == (1, 0, 0, "idle")
    (note,) = device.notes().values()
    assert (note.text, note.content.tags, note.content.trash) == ("theirs", ("new",), False)
    assert device.history("n") == ["mine", "mine"]
    assert server.live() == {"n": back}
