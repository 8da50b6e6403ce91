"""A second, plain account of what tasks do: lists and sets in memory, one user's beside another's.

It is written from the promises, not from the product: `test_machine` compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.toolsets.histories import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

NEVER_SET = 9
"""Sorts after every priority."""


class Access(NamedTuple):
    """What a caller shows to write a claimed task."""

    token: str | None = None
    force: bool = False


@dataclass
class Entry:
    """One task, with what it keeps while it or its targets are in the trash."""

    id: str
    owner: str
    created: datetime
    updated: datetime
    version: int = 1
    completed: bool = False
    deleted: datetime | None = None
    token: str | None = None
    until: datetime | None = None
    holder: str | None = None
    project: str | None = None
    comments: list[str] = field(default_factory=list[str])
    title: str = ""
    priority: int | None = None
    tags: set[str] = field(default_factory=set[str])
    parent: str | None = None
    blockers: set[str] = field(default_factory=set[str])


class Model:
    """Every user's tasks."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.entries: dict[str, Entry] = {}
        self.now = clock

    def living(self, owner: str) -> list[Entry]:
        """Return the owner's tasks outside the trash, newest first."""
        mine = (e for e in self.entries.values() if e.owner == owner and e.deleted is None)
        return sorted(mine, key=lambda e: (e.created, e.id), reverse=True)

    def find(self, owner: str, task: str) -> Entry:
        """Return the owner's task, or refuse."""
        found = self.entries.get(task)
        if found is None or found.owner != owner or found.deleted is not None:
            raise Refused("NOT_FOUND")
        return found

    def lives(self, task: str | None) -> bool:
        """Whether the task is outside the trash."""
        return task in self.entries and self.entries[task].deleted is None

    def blockers(self, entry: Entry) -> set[str]:
        """Return what the task is shown to wait for."""
        return {task for task in entry.blockers if self.lives(task)}

    def parent(self, entry: Entry) -> str | None:
        """Return the parent that is shown."""
        return entry.parent if self.lives(entry.parent) else None

    def is_claimed(self, entry: Entry) -> bool:
        """Whether a claim of the task runs."""
        return not entry.completed and entry.until is not None and entry.until > self.now()

    def is_blocked(self, entry: Entry) -> bool:
        """Whether the task waits for a pending one."""
        return any(not self.entries[task].completed for task in self.blockers(entry))

    def is_ready(self, entry: Entry) -> bool:
        """Whether the task may be begun."""
        return not (entry.completed or self.is_claimed(entry) or self.is_blocked(entry))

    def shown(self, owner: str, project: str | None) -> list[Entry]:
        """Return what a connection of the project sees unasked, newest first; None sees all."""
        return [e for e in self.living(owner) if project is None or e.project in (project, None)]

    def waiting(self, owner: str, project: str | None) -> tuple[int, int]:
        """Count pending tasks that are claimed, and those that are only blocked."""
        pending = [e for e in self.shown(owner, project) if not e.completed]
        claimed = [e for e in pending if self.is_claimed(e)]
        blocked = [e for e in pending if self.is_blocked(e) and not self.is_claimed(e)]
        return len(claimed), len(blocked)

    def best(self, owner: str, project: str | None) -> str | None:
        """Return the id that next_task answers."""
        ready = [e for e in self.shown(owner, project) if self.is_ready(e)]
        order = sorted(
            ready,
            key=lambda e: (NEVER_SET if e.priority is None else e.priority, e.created, e.id),
        )
        return order[0].id if order else None

    def add(self, owner: str, task: str, fields: dict[str, Any]) -> Entry:
        """Add a task whose id the product chose."""
        entry = Entry(task, owner, self.now(), self.now())
        self._put(entry, fields)
        self.entries[task] = entry
        return entry

    def require(self, owner: str, fields: dict[str, Any]) -> None:
        """Refuse parents and blockers that the owner does not have."""
        for task in [fields.get("parent"), *fields.get("blockers", ())]:
            if task:
                self.find(owner, task)

    def update(
        self,
        owner: str,
        task: str,
        fields: dict[str, Any],
        version: int | None,
        access: Access | None = None,
    ) -> Entry:
        """Change fields; those that show as they are given are left alone. Note the comment."""
        entry = self._at(owner, task, version)
        lines = self._open(entry, access)
        fields = dict(fields)
        if comment := fields.pop("comment", None):
            lines.append(comment)
        shown = {
            "project": entry.project,
            "title": entry.title,
            "priority": entry.priority,
            "tags": entry.tags,
            "parent": self.parent(entry),
            "blockers": self.blockers(entry),
        }
        changed = {name: value for name, value in fields.items() if shown[name] != value}
        self.require(owner, changed)
        if self._reaches(changed.get("blockers", ()), task, self.blockers):
            raise Refused("CYCLE")
        if changed.get("parent") and self._reaches([changed["parent"]], task, self._above):
            raise Refused("CYCLE")
        if changed or comment:
            self._put(entry, changed)
            self._touch(entry, lines)
        return entry

    def complete(
        self, owner: str, task: str, version: int | None, access: Access | None = None
    ) -> Entry:
        """Complete; with a token only while its claim runs, or again afterwards."""
        entry = self._at(owner, task, version)
        lines = self._open(entry, access)
        if not entry.completed:
            entry.completed = True
            self._touch(entry, lines)
        return entry

    def reopen(self, owner: str, task: str, version: int | None) -> Entry:
        """Make pending and unclaimed."""
        entry = self._at(owner, task, version)
        if entry.completed:
            entry.completed, entry.token, entry.until, entry.holder = False, None, None, None
            self._touch(entry)
        return entry

    def claim(self, owner: str, task: str, access: Access) -> Entry:
        """Refuse, or return the entry to be claimed."""
        entry = self.find(owner, task)
        allowed = self.is_ready(entry)
        if access.force:
            allowed = not entry.completed and not self.is_blocked(entry)
        elif access.token is not None:
            allowed = access.token == entry.token and not entry.completed
        if not allowed:
            raise Refused("CONFLICT")
        return entry

    def claimed(self, entry: Entry, access: Access, token: str, lease: float, holder: str) -> None:
        """Note a claim."""
        lines = self._open(entry, access, "took over") if access.force else []
        entry.token, entry.until = token, self.now() + timedelta(seconds=lease)
        entry.holder = holder
        self._touch(entry, lines)

    def discard(
        self, owner: str, task: str, version: int | None, access: Access | None = None
    ) -> None:
        """Put into the trash."""
        entry = self._at(owner, task, version)
        lines = self._open(entry, access)
        entry.deleted = self.now()
        self._touch(entry, lines)

    def _open(self, entry: Entry, access: Access | None, verb: str = "overrode") -> list[str]:
        """Refuse who does not hold a claimed task; return what is noted of a take-over."""
        token, force = access or Access()
        if force:
            taken = self.is_claimed(entry) and token != entry.token
            return [f"{verb} the claim of {entry.holder}"] if taken else []
        held = self.is_claimed(entry)
        if (token is None and held) or (
            token is not None and not (token == entry.token and (entry.completed or held))
        ):
            raise Refused("CONFLICT")
        return []

    def restore(self, owner: str, task: str) -> Entry:
        """Take out of the trash, without what would now close a cycle."""
        entry = self.entries.get(task)
        if entry is None or entry.owner != owner or entry.deleted is None:
            raise Refused("NOT_FOUND")
        if entry.deleted <= self.now() - timedelta(days=30):
            raise Refused("NOT_FOUND")
        entry.deleted = None
        for blocker in self.blockers(entry):
            if self._reaches([blocker], task, self.blockers):
                entry.blockers.discard(blocker)
        if self.parent(entry) and self._reaches([entry.parent or ""], task, self._above):
            entry.parent = None
        self._touch(entry)
        return entry

    def purge(self) -> int:
        """Forget what has been in the trash for 30 days."""
        end = self.now() - timedelta(days=30)
        gone = {e.id for e in self.entries.values() if e.deleted is not None and e.deleted <= end}
        for task in gone:
            del self.entries[task]
        for entry in self.entries.values():
            entry.blockers -= gone
            entry.parent = None if entry.parent in gone else entry.parent
        return len(gone)

    def _at(self, owner: str, task: str, version: int | None) -> Entry:
        entry = self.find(owner, task)
        if version is not None and version != entry.version:
            raise Refused("CONFLICT")
        return entry

    def _touch(self, entry: Entry, lines: list[str] | None = None) -> None:
        if lines:
            entry.comments.append("\n".join(lines))
        entry.version += 1
        entry.updated = self.now()

    def _put(self, entry: Entry, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            setattr(entry, name, value)

    def _above(self, entry: Entry) -> set[str]:
        parent = self.parent(entry)
        return {parent} if parent else set()

    def _reaches(
        self, starts: Iterable[str], target: str, follow: Callable[[Entry], set[str]]
    ) -> bool:
        """Whether following edges from any of the starts comes to the target."""
        ahead, seen = list(starts), set[str]()
        while ahead:
            task = ahead.pop()
            if task == target:
                return True
            if task not in seen:
                seen.add(task)
                ahead += follow(self.entries[task])
        return False
