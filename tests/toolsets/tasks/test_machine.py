"""Random histories of two users' tasks, compared step by step with the model."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
)

from rolltop.core import cursor as cursors
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.models import FilterInput, Task, TaskInput
from rolltop.toolsets.tasks.service import TaskService
from tests.campaign import examples
from tests.toolsets.histories import outcome, run_histories
from tests.toolsets.tasks.model import Access, Entry, Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database, Tx
    from tests.databases import Clock

TASKS = TaskService()
CONNECTIONS = {"me": ("me", "kite"), "also me": ("me", "swift"), "them": ("them", "")}
USERS = st.sampled_from(["me", "me", "also me", "them"])
PROJECTS = st.sampled_from([None, "", "kite", "swift"])
TITLES = st.sampled_from(["a", "b", "ß", "😀"])
PRIORITIES = st.sampled_from([-1, 0, 4])
TAGS = st.lists(st.sampled_from(["x", "X", "y z"]), max_size=3)
NOTHING: MultipleResults[str] = multiple()
COMMENTS = st.sampled_from([None, None, "", " done so far\n"])
FORCE = st.sampled_from([False, False, True])
VERSIONS = st.sampled_from(["none", "none", "right", "stale"])


def seen(tx: Tx, project: str | None) -> tuple[list[Task], Task | None, dict[str, Any] | None]:
    """Return all that a connection sees of a project."""
    found, more = TASKS.list_tasks(tx, FilterInput(project=project), limit=200)
    assert not more
    best = TASKS.next_task(tx, FilterInput(project=project))
    return found, best, TASKS.count_waiting(tx, FilterInput(project=project))


class Histories(RuleBasedStateMachine):
    """Two users who also try each other's tasks."""

    database: Database
    clock: Clock
    ids = Bundle("ids")
    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.model = Model(self.clock)
        owners = {name: self._new_user() for name in ("me", "them")}
        self.users = {
            name: Principal.for_user(owners[owner], actor=name, project=project, session="ab")
            for name, (owner, project) in CONNECTIONS.items()
        }

    def _new_user(self) -> str:
        return self.database.write_sync(SYSTEM, add_user, f"{uuid.uuid4()}@example.org").id

    def owner(self, user: str) -> str:
        """Return whose connection it is."""
        return CONNECTIONS[user][0]

    def write(self, user: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return what the product answers, or its code."""
        call = partial(self.database.write_sync, self.users[user], function, *arguments, **named)
        return outcome(call)

    def version(self, task: str, choice: str) -> int | None:
        """Return the if_version that a choice stands for."""
        entry = self.model.entries.get(task)
        right = entry.version if entry else 1
        return {"none": None, "right": right, "stale": right - 1}[choice]

    def same(self, real: Any, expected: Any) -> None:
        """Compare two outcomes: codes, or a task with its entry."""
        if isinstance(real, Task) and isinstance(expected, Entry):
            self.same_task(real, expected)
        else:
            assert real == expected

    def same_task(self, real: Task, entry: Entry) -> None:
        """Compare all that a task shows."""
        claimed, pending = self.model.is_claimed(entry), not entry.completed
        assert real == Task(
            id=entry.id,
            title=entry.title,
            description=None,
            status="pending" if pending else "completed",
            created_at=entry.created,
            updated_at=entry.updated,
            version=entry.version,
            priority=entry.priority,
            tags=tuple(sorted(entry.tags)),
            parent_id=self.model.parent(entry),
            blocked_by=tuple(sorted(self.model.blockers(entry))),
            claimed_until=entry.until if claimed else None,
            lapsed_at=entry.until if pending and not claimed else None,
            claimed_by=entry.holder if pending else None,
            project=entry.project,
        )

    @rule(
        target=ids,
        user=USERS,
        title=TITLES,
        priority=PRIORITIES,
        tags=TAGS,
        parent=st.none() | ids,
        blockers=st.lists(ids, max_size=2),
        project=PROJECTS,
    )
    def add(  # drawn
        self,
        user: str,
        title: str,
        priority: int,
        tags: list[str],
        parent: str | None,
        blockers: list[str],
        project: str | None,
    ) -> Any:
        given = TaskInput(
            title,
            priority=priority,
            tags=tags,
            parent_id=parent or "",
            blocked_by=blockers,
            project=project,
        )
        fields = {
            "title": title,
            "priority": None if priority < 0 else priority,
            "tags": set(tags),
            "parent": parent,
            "blockers": set(blockers),
            "project": project or CONNECTIONS[user][1] or None,
        }
        owner = self.owner(user)
        real = self.write(user, TASKS.add_task, given)
        refusal = outcome(self.model.require, owner, fields)
        if refusal is not None:
            assert real == refusal
            return NOTHING
        self.same_task(real, self.model.add(owner, real.id, fields))
        return real.id

    @rule(
        user=USERS,
        task=ids,
        title=TITLES,
        priority=PRIORITIES,
        tags=TAGS,
        project=PROJECTS,
        comment=COMMENTS,
        version=VERSIONS,
        token=st.none() | tokens,
        force=FORCE,
    )
    def update(  # noqa: PLR0913, PLR0917  # drawn
        self,
        user: str,
        task: str,
        title: str,
        priority: int,
        tags: list[str],
        project: str | None,
        comment: str | None,
        version: str,
        token: str | None,
        force: bool,  # noqa: FBT001  # drawn
    ) -> None:
        at = self.version(task, version)
        given = TaskInput(title=title, priority=priority, tags=tags, project=project)
        fields: dict[str, Any] = {
            "title": title,
            "priority": None if priority < 0 else priority,
            "tags": set(tags),
            "comment": (comment or "").strip(),
        }
        if project is not None:
            fields["project"] = project or None
        access = Access(token, force)
        expected = outcome(self.model.update, self.owner(user), task, fields, at, access)
        real = self.write(
            user, TASKS.update_task, task, given, None, at, token, comment, force=force
        )
        self.same(real, expected)

    @rule(user=USERS, task=ids, comment=COMMENTS)
    def note(self, user: str, task: str, comment: str | None) -> None:
        line = (comment or "").strip()
        expected = "NOTHING_TO_UPDATE"
        if line:
            fields = {"comment": line}
            expected = outcome(self.model.update, self.owner(user), task, fields, None)
        real = self.write(user, TASKS.update_task, task[:8], TaskInput(), comment=comment)
        self.same("NOTHING_TO_UPDATE" if not line and real == "NOT_FOUND" else real, expected)

    @rule(user=USERS, task=ids, blockers=st.lists(ids, max_size=3))
    def wait_for(self, user: str, task: str, blockers: list[str]) -> None:
        expected = outcome(
            self.model.update, self.owner(user), task, {"blockers": set(blockers)}, None
        )
        given = TaskInput(blocked_by=blockers)
        self.same(self.write(user, TASKS.update_task, task, given), expected)

    @rule(user=USERS, task=ids, parent=st.none() | ids)
    def move(self, user: str, task: str, parent: str | None) -> None:
        expected = outcome(self.model.update, self.owner(user), task, {"parent": parent}, None)
        given = TaskInput(parent_id=parent or "")
        self.same(self.write(user, TASKS.update_task, task, given), expected)

    @rule(user=USERS, task=ids, version=VERSIONS, token=st.none() | tokens, force=FORCE)
    def complete(self, user: str, task: str, version: str, token: str | None, force: bool) -> None:  # noqa: FBT001  # drawn
        at, access = self.version(task, version), Access(token, force)
        expected = outcome(self.model.complete, self.owner(user), task, at, access)
        real = self.write(user, TASKS.complete_task, task[:13], None, at, token, force=force)
        self.same(real, expected)

    @rule(user=USERS, task=ids, version=VERSIONS)
    def reopen(self, user: str, task: str, version: str) -> None:
        at = self.version(task, version)
        expected = outcome(self.model.reopen, self.owner(user), task, at)
        self.same(self.write(user, TASKS.reopen_task, task, None, at), expected)

    @rule(
        target=tokens,
        user=USERS,
        task=ids,
        lease=st.sampled_from([1, 60, 86_400]),
        token=st.none() | tokens,
        force=FORCE,
    )
    def claim(self, user: str, task: str, lease: int, token: str | None, force: bool) -> Any:  # noqa: FBT001  # drawn
        access = Access(token, force)
        expected = outcome(self.model.claim, self.owner(user), task, access)
        real = self.write(user, TASKS.claim_task, task, lease, None, token, force=force)
        if isinstance(expected, str):
            assert real == expected
            return NOTHING
        assert (real.token == token) is (token is not None and token == expected.token)
        self.model.claimed(expected, access, real.token, lease, f"{user} (ab)")
        self.same_task(real.task, expected)
        return real.token

    @rule(user=USERS, task=ids, version=VERSIONS, token=st.none() | tokens, force=FORCE)
    def delete(self, user: str, task: str, version: str, token: str | None, force: bool) -> None:  # noqa: FBT001  # drawn
        at, access = self.version(task, version), Access(token, force)
        expected = outcome(self.model.discard, self.owner(user), task, at, access)
        real = self.write(user, TASKS.delete_task, task, None, at, token, force=force)
        assert real == (expected or task)

    @rule(
        holder=USERS,
        user=USERS,
        task=ids,
        write=st.sampled_from(["update", "complete", "delete", "claim"]),
        force=FORCE,
        holds=st.booleans(),
    )
    def contest(  # drawn
        self,
        holder: str,
        user: str,
        task: str,
        write: str,
        force: bool,  # noqa: FBT001  # drawn
        holds: bool,  # noqa: FBT001  # drawn
    ) -> None:
        claimed = self.claim(holder, task, 60, None, force=False)
        token = claimed if holds and isinstance(claimed, str) else None
        if write == "update":
            self.update(user, task, "a", 0, [], None, "mine now", "none", token, force)
        elif write == "claim":
            self.claim(user, task, 60, token, force)
        else:
            getattr(self, write)(user, task, "none", token, force)

    @rule(user=USERS, task=ids)
    def restore(self, user: str, task: str) -> None:
        expected = outcome(self.model.restore, self.owner(user), task)
        self.same(self.write(user, TASKS.restore_task, task[:18]), expected)

    @rule(seconds=st.sampled_from([1, 59, 60, 15 * 86_400, 30 * 86_400]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)

    @rule()
    def purge(self) -> None:
        mine = {scope.user_id for scope in self.users.values()}
        assert len(mine) == 2
        assert self.database.write_sync(SYSTEM, store.purge_trash) >= self.model.purge()

    @rule(user=USERS, tag=st.none() | st.just("x"), ready=st.booleans(), limit=st.integers(1, 4))
    def page_through(self, user: str, tag: str | None, ready: bool, limit: int) -> None:  # noqa: FBT001  # drawn
        expected = [
            entry.id
            for entry in self.model.shown(self.owner(user), CONNECTIONS[user][1] or None)
            if (tag is None or tag in map(str.casefold, entry.tags))
            and (not ready or self.model.is_ready(entry))
        ]
        filters, cursor, shown = FilterInput(tag=tag, ready=ready), None, list[str]()
        while True:
            found, more = self.database.read_sync(
                self.users[user], TASKS.list_tasks, filters, None, cursor, limit
            )
            shown += [task.id for task in found]
            if not more:
                break
            cursor = cursors.encode(filters.cursor_kind(), [found[-1].place])
        assert shown == expected

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        for user, scope in self.users.items():
            owner, project = CONNECTIONS[user]
            for asked, of in ((None, project or None), ("*", None)):
                found, best, waiting = self.database.read_sync(scope, seen, asked)
                expected = self.model.shown(owner, of)
                assert [task.id for task in found] == [entry.id for entry in expected]
                assert (best.id if best else None) == self.model.best(owner, of)
                counts = self.model.waiting(owner, of)
                assert (waiting is None) == (counts == (0, 0))
                if waiting:
                    assert (waiting["claimed"], waiting["blocked"]) == counts
            for task, entry in zip(found, expected, strict=True):
                self.same_task(task, entry)
                if entry.comments:
                    _, _, shown, older = self.database.read_sync(scope, TASKS.get_details, entry.id)
                    assert [line.text for line in reversed(shown)] == entry.comments[older:]


def test_any_history_of_tasks_is_the_model_s(database: Database, clock: Clock) -> None:
    run_histories(Histories, examples(10), database=database, clock=clock)
