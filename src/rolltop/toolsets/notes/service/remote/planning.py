"""What a sync would do, found out without doing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rolltop.toolsets.notes.clients.objects import content_of
from rolltop.toolsets.notes.service.remote import applying, comparing
from rolltop.toolsets.notes.service.remote.pulling import DELTA_PAGE, FULL_PAGE, confirmed
from rolltop.toolsets.notes.store import accounts, reading
from rolltop.toolsets.notes.sync import allowance, is_harm

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Content, Note, Notebook
    from rolltop.toolsets.notes.service.remote.applying import Step, Told
    from rolltop.toolsets.notes.service.remote.link import Link

Act = Literal["new", "change", "trash", "cut", "merge", "conflict", "gone", "send"]
"""new, change: from Simplenote; trash, cut: a change that takes text away; merge: both sides
changed other lines; conflict: both changed the same, a copy is made; gone: deleted for good
elsewhere, goes to the trash; send: changed here."""

_TITLE: int = 60


@dataclass(frozen=True)
class Planned:
    """What would become of one note."""

    act: Act
    note_id: str
    title: str


@dataclass(frozen=True)
class Plan:
    """All a sync would do; one that takes away more than `allowed` notes asks first."""

    notes: tuple[Planned, ...]
    allowed: int

    @property
    def asks(self) -> bool:
        """Whether the sync would stop and ask."""
        taken = sum(planned.act in {"trash", "cut", "gone"} for planned in self.notes)
        return taken > self.allowed


async def plan(link: Link) -> Plan:
    """Return what a sync would do now. Raises as a sync fails; nothing is changed."""
    account = await link.read(accounts.get, link.notebook.account)
    since = None if account is None else account.cursor
    found: dict[str, Planned] = {}
    mark = None
    while True:
        size = FULL_PAGE if since is None else DELTA_PAGE
        page = await link.backend.index(limit=size, mark=mark, since=since, data=True)
        if page is None:
            since, mark = None, None
            continue
        told = await confirmed(link, page.notes)
        found |= await link.write(_pulled, link.notebook, told)
        mark = page.mark
        if mark is None:
            break
    for note_id in await comparing.deleted_elsewhere(link):
        note = await link.read(reading.get, link.notebook.account, note_id)
        if note is not None and note.sync_state == "synced":
            found[note_id] = _planned("gone", note_id, note.content)
    found |= await link.read(_sent, link.notebook, found)
    total = await link.read(reading.count, link.notebook.account)
    return Plan(tuple(found.values()), allowance(total))


def _pulled(tx: Tx, notebook: Notebook, told: Told) -> dict[str, Planned]:
    """Return what a page would do; the transaction only holds the notes."""
    planned = [_of_step(step) for step in applying.steps(tx, notebook, told)]
    return {one.note_id: one for one in planned if one is not None}


def _of_step(step: Step) -> Planned | None:
    remote = step.remote
    content = content_of(remote.data or {})
    if step.note is None:
        return _planned("new", remote.id, content)
    verdict = step.verdict
    if verdict is None or (verdict.content == step.note.content and verdict.copy is None):
        return None
    if verdict.copy is not None:
        return _planned("conflict", remote.id, content)
    if verdict.seen is not None:
        return _planned("merge", remote.id, verdict.content)
    if is_harm(step.note.content, verdict.content):
        act: Act = "trash" if verdict.content.trash else "cut"
        return _planned(act, remote.id, step.note.content)
    return _planned("change", remote.id, verdict.content)


def _sent(tx: Tx, notebook: Notebook, known: dict[str, Planned]) -> dict[str, Planned]:
    waiting: list[Note] = reading.in_state(tx, notebook.account, ["pending"], 1 << 20)
    return {
        note.id: _planned("send", note.id, note.content) for note in waiting if note.id not in known
    }


def _planned(act: Act, note_id: str, content: Content) -> Planned:
    lines = content.text.strip().splitlines()
    return Planned(act, note_id, lines[0].rstrip()[:_TITLE] if lines else "")
