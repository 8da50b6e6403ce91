"""Two devices, an official client, a server and everything that can go wrong between them."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from rolltop.core.errors import RolltopError
from tests.campaign import examples, factor
from tests.simperium import FaultPlan, Simperium
from tests.toolsets.histories import run_histories
from tests.toolsets.notes.sync.device import EMAIL, PASSWORD, Crash, Device

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.toolsets.notes.models import Content
    from tests.databases import Clock
    from tests.simperium.bucket import Bucket
    from tests.simperium.faults import Kind, Route

STEPS: Final = 50
"""The most of one run, which has 45 on the mean."""
RUNS: Final = 13
"""Of the small campaign: at least 500 steps, and 10,000 of the full one, on each database."""
DEVICES = st.integers(0, 1)
PICKS = st.integers(0, 99)
PLACES_OF_EDITS = st.sampled_from(["first", "last", "end", "all"])
FAULTS: Final[list[tuple[Kind, Route | None, int]]] = [
    ("lost", "post", 0),
    ("late", "post", 0),
    ("lost", "delete", 0),
    ("lost", "index", 0),
    ("unreachable", None, 0),
    ("silent", None, 0),
    ("html", None, 0),
    ("shape", None, 0),
    ("endless", "index", 0),
    ("redirect", None, 0),
    ("empty_index", "index", 0),
    ("old_cursor", "index", 0),
    *[("status", "post", status) for status in (405, 409, 412, 413, 429, 440, 500, 503)],
    *[("status", None, status) for status in (401, 429, 500, 502)],
]


class Desks(RuleBasedStateMachine):
    """Every line that is ever written is a word of its own, so that nothing is lost unseen."""

    database: Database
    clock: Clock

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.simperium = Simperium()
        self.simperium.add_user(EMAIL, PASSWORD)
        self.devices = [Device(self.database, self.simperium, self.runner) for _ in range(2)]
        self.saved: list[tuple[Device, str]] = []
        self.words = 0
        self.written: set[str] = set()
        self.removed: set[str] = set()
        self.backup: Bucket | None = None

    @property
    def server(self) -> Bucket:
        """The account's notes at the server."""
        return self.simperium.notes(EMAIL)

    def words_at_the_server(self) -> set[str]:
        """Return every word of the notes at the server."""
        return {word for data in self.server.live().values() for word in data["content"].split()}

    def word(self) -> str:
        """Return a line that was never written before."""
        self.words += 1
        return f"word{self.words}"

    def edited(self, text: str, place: str, word: str) -> str:
        """Return a text with a word put in at a place, or over what is there."""
        lines = text.splitlines()
        if place == "first" and lines:
            lines[0] = word
        elif place == "last" and lines:
            lines[-1] = word
        elif place == "all":
            lines = [word]
        else:
            lines.append(word)
        return "\n".join(lines)

    def remember(self, before: str, after: str) -> None:
        """Keep what an edit wrote, and what it knowingly removed."""
        self.written |= set(after.split()) - set(before.split())
        self.removed |= set(before.split()) - set(after.split())

    def save(self, device: Device, note_id: str | None, place: str, *, offline: bool) -> None:
        word, seen = self.word(), ["", ""]

        def edit(content: Content) -> Content:
            seen[:] = [content.text, self.edited(content.text, place, word)]
            return replace(content, text=seen[1])

        try:
            device.save(note_id, edit, offline=offline)
        except RolltopError:
            self.removed |= set(seen[0].split()) - set(seen[1].split())  # it may have arrived
            return
        except Crash:
            device.fuse.left = None
            self.removed |= set(seen[0].split()) - set(seen[1].split())
            return
        self.saved.append((device, seen[1]))
        self.remember(*seen)

    def pick(self, device: Device, pick: int, *, trash: bool | None = None) -> str | None:
        """Return the id of one of a device's notes."""
        ids = [
            note.id
            for note in device.notes().values()
            if trash is None or note.content.trash == trash
        ]
        return ids[pick % len(ids)] if ids else None

    @initialize()
    def begin_with_a_note_on_both(self) -> None:
        text = "\n".join(self.word() for _ in range(4))
        self.server.post("first", {"content": text, "tags": [], "deleted": 0}, None, None)
        self.written |= set(text.split())
        for device in self.devices:
            device.sync()

    @rule(which=DEVICES, offline=st.booleans())
    def write_new(self, which: int, offline: bool) -> None:  # noqa: FBT001  # drawn
        self.save(self.devices[which], None, "end", offline=offline)

    @rule(which=DEVICES, pick=PICKS, place=PLACES_OF_EDITS, offline=st.booleans())
    def write(self, which: int, pick: int, place: str, offline: bool) -> None:  # noqa: FBT001  # drawn
        device = self.devices[which]
        note_id = self.pick(device, pick)
        if note_id is not None:
            self.save(device, note_id, place, offline=offline)

    @rule(which=DEVICES, pick=PICKS, place=PLACES_OF_EDITS)
    def write_while_the_server_is_away(self, which: int, pick: int, place: str) -> None:
        device = self.devices[which]
        note_id = self.pick(device, pick)
        faults, self.simperium.faults = self.simperium.faults, FaultPlan()
        self.simperium.faults.add("unreachable", times=9)
        self.save(device, note_id, place, offline=True)
        self.simperium.faults = faults

    @rule(which=DEVICES, pick=PICKS, trash=st.booleans())
    def trash(self, which: int, pick: int, trash: bool) -> None:  # noqa: FBT001  # drawn
        device = self.devices[which]
        note_id = self.pick(device, pick, trash=not trash)
        if note_id is None:
            return
        try:
            device.save(note_id, lambda content: replace(content, trash=trash), offline=True)
        except RolltopError:
            return

    @rule(which=DEVICES, pick=PICKS)
    def delete_for_good(self, which: int, pick: int) -> None:
        device = self.devices[which]
        note_id = self.pick(device, pick, trash=True)
        if note_id is None:
            return
        there = self.server.live().get(note_id, {})
        text = f"{device.notes()[note_id].text}\n{there.get('content', '')}"
        self.removed |= set(text.split())
        try:
            device.delete(note_id)
        except RolltopError:
            return

    @rule(which=DEVICES, accept=st.booleans())
    def sync(self, which: int, accept: bool) -> None:  # noqa: FBT001  # drawn
        self.devices[which].sync(accept=accept)

    @rule(which=DEVICES, steps=st.integers(0, 14))
    def sync_and_crash(self, which: int, steps: int) -> None:
        device = self.devices[which]
        device.fuse.left = steps
        try:
            device.sync()
        except Crash:
            pass
        finally:
            device.fuse.left = None

    @rule(which=DEVICES, pick=PICKS, place=PLACES_OF_EDITS, steps=st.integers(0, 9))
    def write_and_crash(self, which: int, pick: int, place: str, steps: int) -> None:
        device = self.devices[which]
        note_id = self.pick(device, pick)
        device.fuse.left = steps
        self.save(device, note_id, place, offline=False)
        device.fuse.left = None

    @rule(pick=PICKS, place=PLACES_OF_EDITS)
    def an_official_client_writes(self, pick: int, place: str) -> None:
        live = self.server.live()
        if not live:
            return
        note_id = sorted(live)[pick % len(live)]
        before = live[note_id]
        after = self.edited(before["content"], place, self.word())
        self.server.post(note_id, {**before, "content": after}, None, None)
        self.remember(before["content"], after)

    @rule(pick=PICKS)
    def an_official_client_deletes_for_good(self, pick: int) -> None:
        live = self.server.live()
        if live:
            note_id = sorted(live)[pick % len(live)]
            self.removed |= set(live[note_id]["content"].split())
            self.server.delete(note_id, None, None)

    @rule(fault=st.sampled_from(FAULTS))
    def something_will_go_wrong(self, fault: tuple[Kind, Route | None, int]) -> None:
        kind, route, status = fault
        if len(self.simperium.faults.planned) < 4:
            self.simperium.faults.add(kind, route, status=status or 500)

    @rule()
    def back_the_server_up(self) -> None:
        self.backup = copy.deepcopy(self.server)

    @precondition(lambda self: self.backup is not None)
    @rule()
    def the_server_goes_back(self) -> None:
        assert self.backup is not None
        had = self.words_at_the_server()
        self.server.go_back_to(self.backup)
        self.backup = None
        # What was made from words that are lost there may be overtaken; histories keep it.
        self.removed |= had - self.words_at_the_server()

    @rule(which=DEVICES)
    def reset(self, which: int) -> None:
        device = self.devices[which]
        if all(note.sync_state in {"synced", "local"} for note in device.notes().values()):
            device.forget()

    @rule(seconds=st.sampled_from([1, 60, 90_000, -5, -200_000]))
    def the_clock_jumps(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)
        self.devices[0].let_leases_age(seconds)

    @rule()
    def all_is_well_in_the_end(self) -> None:
        """Both devices and the server show the same, and every word is somewhere to be seen."""
        self.every_text_that_was_saved_can_be_read_where_it_was_saved()
        self.simperium.faults.clear()
        there = self.live()
        for _round in range(4):
            self.clock.advance(days=2)
            self.devices[0].let_leases_age(timedelta(days=2).total_seconds())
            for device in self.devices:
                done = device.sync(accept=True)
                assert done.status == "idle", done.error
            there = self.live()
            if all(self.shown(device) == there for device in self.devices):
                break
        for device in self.devices:
            assert self.shown(device) == there
        self.every_text_that_was_saved_can_be_read_where_it_was_saved()
        seen = {
            word
            for device in self.devices
            for note in device.notes().values()
            for word in note.text.split()
        }
        assert self.written - self.removed <= seen

    def live(self) -> dict[str, Any]:
        """Return what the server has."""
        return {
            note_id: (data["content"], sorted(data.get("tags", [])), bool(data.get("deleted")))
            for note_id, data in self.server.live().items()
        }

    def shown(self, device: Device) -> dict[str, Any]:
        """Return what a device shows of the notes that the server should have."""
        return {
            note.id: (note.text, sorted(note.content.tags), note.content.trash)
            for note in device.notes().values()
            if note.sync_state != "local"
        }

    def every_text_that_was_saved_can_be_read_where_it_was_saved(self) -> None:
        """A text that is gone does not come back, so looking now and then is enough."""
        for device in self.devices:
            texts = {note.text for note in device.notes().values()} | device.every_version()
            assert {text for owner, text in self.saved if owner is device} <= texts

    def teardown(self) -> None:
        try:
            self.all_is_well_in_the_end()
        finally:
            self.runner.close()


def test_no_word_is_lost_and_all_agree_in_the_end(database: Database, clock: Clock) -> None:
    is_thorough = database.url_kind == "sqlite" or factor() > 1
    runs = examples(RUNS) if is_thorough else 2
    run_histories(Desks, runs, STEPS, database=database, clock=clock)
