"""What may happen to tasks: whose they are, which version, in which order, held by whom.

Whose: without `user_id` the caller's own. A caller of an unauthenticated server may name another
user; where anyone else does, or the user is unknown, the statements run all the same, for an
owner that nobody is, so that a refusal costs what a missing task costs.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from math import inf
from typing import Final

from rolltop.core import addresses, workspaces
from rolltop.core import cursor as cursors
from rolltop.core.context import AppContext, CallContext
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.db.types import canonical_id, id_range
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.fulltext.suggestions import suggest_word
from rolltop.core.principal import ALL_PROJECTS, IMPERSONATE, Principal
from rolltop.toolsets.tasks import (
    assignees,
    claims,
    earlier,
    errors,
    evidence,
    input_checks,
    ranking,
    store,
)
from rolltop.toolsets.tasks.dependencies import refuse_cycles, require_existing
from rolltop.toolsets.tasks.models import (
    ID_PREFIX,
    CheckedEvidence,
    Claim,
    ClaimAccess,
    Comment,
    FilterInput,
    JsonObject,
    OpenTasks,
    Task,
    TaskFilters,
    TaskInput,
    format_timestamp,
    hash_token,
    parse_id,
)
from rolltop.toolsets.tasks.store import comments, graph, overview

UNKNOWN_OWNER_ID: Final = "00000000-0000-0000-0000-000000000000"
"""The owner that nobody is."""
_INDEX: Final = re.compile(r"[0-9]{1,2}", re.ASCII)
_WIDER_HINT: Final = " project * searches all projects."
_TOKEN_BYTES: Final = 12
_DIGITS_OF_ID: Final = 32
_MAX_CANDIDATES: Final = 5
_MAX_TITLES_READ: Final = 1000
_MAX_SUGGESTION_TASKS: Final = 2000
MAX_LOOKED_AT: Final = 200
"""Tasks with evidence that are looked at, the last changed first."""


def resolve_owner(tx: Tx, user_id: str | None) -> str:
    """Return whose tasks a call is about; an owner that nobody is where it may not ask.

    A workspace's are asked for by its members, through their connection.
    """
    own = tx.scope.user_id
    if user_id is None:
        return own
    named = parse_id(user_id, "user_id")
    if named == own:
        return own
    if IMPERSONATE not in tx.scope.permissions or workspaces.is_workspace(tx, named):
        return UNKNOWN_OWNER_ID
    tx.widen()
    return named


class TaskService:
    """What callers can do with tasks, each within one transaction.

    Errors: InvalidArgument for a bad value, NotFound for a task, parent, blocker or user that is
    not the caller's, Conflict with the task as it is now.
    """

    def __init__(self, app: AppContext | None = None) -> None:
        """Keep no state but the id after which evidence is looked at, at first a random one."""
        self._has_projects = app is None or app.settings["names"] != "seed"
        self._last_id = secrets.token_hex(_DIGITS_OF_ID // 2)

    def add_task(self, tx: Tx, task_input: TaskInput, user_id: str | None = None) -> Task:
        """Return the new task. Raises InvalidArgument, or NotFound for a user or another task."""
        owner = resolve_owner(tx, user_id)
        return self._insert(tx, owner, task_input, user_id, _id_finder(tx, owner))

    def add_tasks(
        self, tx: Tx, task_inputs: Sequence[TaskInput], user_id: str | None = None
    ) -> list[Task]:
        """Return the new tasks, all or none, each older than the next; indexes stand for ids.

        Raises as add_task does, naming the one that is wrong.
        """
        owner = resolve_owner(tx, user_id)
        find_id, added = _id_finder(tx, owner), list[Task]()

        def find_id_or_index(text: str, name: str) -> str:
            if not _INDEX.fullmatch(text):
                return find_id(text, name)
            if int(text) < len(added):
                return added[int(text)].id
            raise InvalidArgument(
                f"{name} {text} is no index of an earlier task",
                hint="Indexes count from 0; put a task after those it waits for.",
            )

        for index, task_input in enumerate(task_inputs):
            try:
                added.append(self._insert(tx, owner, task_input, user_id, find_id_or_index))
                tx = replace(tx, now=tx.now + timedelta(microseconds=1))
            except (InvalidArgument, NotFound) as error:
                error.hint = f"tasks[{index}]: {error.hint} No task was added."
                raise
        return added

    def _insert(
        self,
        tx: Tx,
        owner: str,
        task_input: TaskInput,
        user_id: str | None,
        find_id: Callable[[str, str], str],
    ) -> Task:
        given = replace(task_input, title=task_input.title or "")
        fields = input_checks.task_fields(given, find_id, tx.now)
        if fields.get("project") is None and user_id is None and self._has_projects:
            fields["project"] = tx.scope.project or None
        require_existing(tx, owner, fields)
        added = store.insert_task(tx, owner, assignees.resolve_assignee(tx, owner, fields))
        if added is None:
            raise errors.user_not_found(user_id)
        return added

    def list_tasks(
        self,
        tx: Tx,
        filters: FilterInput,
        user_id: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> tuple[list[Task], bool]:
        """Return up to `limit` tasks, newest first, and whether others follow.

        Raises InvalidArgument, or NotFound for an unknown user or parent.
        """
        owner, wanted = self._filters(tx, filters, user_id)
        after = None if cursor is None else input_checks.place(cursor, filters.cursor_kind(user_id))
        found = store.read_page(tx, owner, wanted, after, limit + 1)
        if not found and not store.user_exists(tx, owner):
            raise errors.user_not_found(user_id)
        return found[:limit], len(found) > limit

    def search_tasks(
        self,
        tx: Tx,
        filters: FilterInput,
        user_id: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> tuple[list[Task], list[str], bool, str]:
        """Return up to `limit` tasks that answer `filters.q`, best first.

        With the cursors of these and of what follows, whether others do, and a hint where none
        does. Raises as list_tasks does.
        """
        owner, wanted = self._filters(tx, filters, user_id)
        kind, question = filters.cursor_kind(user_id), filters.q or ""
        mine = (tx, owner, wanted)
        ranked, searched = ranking.rank_tasks(
            partial(store.measure_texts, *mine), partial(store.read_texts, *mine), question
        )
        start = cursors.find_place(ranked, cursors.decode_place(kind, cursor))
        if not searched and not store.user_exists(tx, owner):
            raise errors.user_not_found(user_id)
        chosen = ranked[start : start + limit]
        found = store.read_tasks(tx, owner, chosen)
        shown, end = {task.id for task in found}, start + len(chosen)  # some are deleted since
        places = [place for place, task_id in enumerate(chosen, start) if task_id in shown]
        hint = ""
        if not ranked:
            newest = store.read_texts(*mine, limit=_MAX_SUGGESTION_TASKS)
            near = suggest_word((f"{title}\n{text or ''}" for _, title, text in newest), question)
            meant = f" Did you mean {near}?" if near else ""
            hint = f"None of the {searched} tasks searched matches q.{meant}{_WIDER_HINT}"
        marks = [cursors.encode_place(kind, ranked, place) for place in (*places, end)]
        return found, marks, end < len(ranked), hint

    def _filters(
        self, tx: Tx, filters: FilterInput, user_id: str | None
    ) -> tuple[str, TaskFilters]:
        owner = resolve_owner(tx, user_id)
        wanted = input_checks.task_filters(filters, _id_finder(tx, owner), tx.now)
        parent_id = wanted.parent_id
        if parent_id is not None and not store.existing_ids(tx, owner, [parent_id]):
            raise errors.not_found("parent_id")
        wanted = replace(wanted, assignee=assignees.parse_filter(tx, owner, filters.assignee))
        return owner, self._in_project(tx, wanted, filters.project, user_id)

    def _next_filters(
        self, tx: Tx, filters: FilterInput, user_id: str | None
    ) -> tuple[str, TaskFilters]:
        """Return whose tasks next_task chooses from; unless asked for, not those of others."""
        owner, wanted = self._filters(tx, filters, user_id)
        if filters.assignee is None:
            wanted = replace(wanted, others=assignees.list_others(tx, owner))
        return owner, wanted

    def _in_project(
        self, tx: Tx, wanted: TaskFilters, project: str | None, user_id: str | None
    ) -> TaskFilters:
        """Add the project's condition: the one that is named, else the connection's own.

        What is asked for by an id or a user is not filtered by a project that nobody named.
        """
        if project == ALL_PROJECTS:
            return wanted
        if project:
            return replace(wanted, project=input_checks.project(project))
        if wanted.parent_id is not None or user_id is not None or not self._has_projects:
            return wanted
        return replace(wanted, own_project=tx.scope.project or None)

    def get_task(
        self, tx: Tx, task_id: str, user_id: str | None = None, *, trash: bool = False
    ) -> Task:
        """Return one task, outside the trash or in it. Raises NotFound."""
        owner = resolve_owner(tx, user_id)
        found = _id_finder(tx, owner, trash=trash)(task_id, "task_id")
        return _get_or_raise(tx, owner, found, trash=trash)

    def get_details(
        self, tx: Tx, task_id: str, user_id: str | None = None, before: int = 0
    ) -> tuple[Task, list[str], list[Comment], int]:
        """Return one task, what was changed last, its newest comments and how many are older.

        With `before` those before a version, and no changes.
        """
        task = self.get_task(tx, task_id, user_id)
        owner = resolve_owner(tx, user_id)
        changes = [] if before else earlier.read_history(tx, owner, task.id)
        return task, changes, *comments.read_comments(tx, owner, task.id, before)

    def next_task(self, tx: Tx, filters: FilterInput, user_id: str | None = None) -> Task | None:
        """Return the best ready task: the most urgent, then the first due, then the oldest."""
        owner, wanted = self._next_filters(tx, filters, user_id)
        found = store.best_ready_tasks(tx, owner, wanted)
        if not found and not store.user_exists(tx, owner):
            raise errors.user_not_found(user_id)
        return found[0] if found else None

    def list_open(
        self, tx: Tx, project: str, *, ready: int, limit: int, for_caller: bool = False
    ) -> OpenTasks:
        """Return what is being worked on, what is next and what waits, of a project and of none.

        Up to `limit` tasks of each kind, the most urgent first. No project stands for all. What is
        next is `for_caller` where tasks that were given to other members are left out.
        """
        owner, wanted = tx.scope.user_id, TaskFilters(own_project=project or None)
        begun, blocked = store.begun_and_blocked_ids(tx, owner, wanted)
        mine = replace(wanted, others=assignees.list_others(tx, owner)) if for_caller else wanted
        free = store.best_ready_tasks(tx, owner, mine, ready + len(begun))
        waiting = store.read_tasks(tx, owner, blocked[:limit])
        blockers = list(dict.fromkeys(one for task in waiting for one in task.blocked_by))
        found = store.read_tasks(tx, owner, blockers)
        return OpenTasks(
            store.read_tasks(tx, owner, begun[:limit]),
            [task for task in free if task.id not in set(begun)][:ready],
            waiting,
            {task.id: task.title for task in found if task.status == "pending"},
            len(begun),
            len(blocked),
        )

    async def list_broken_evidence(
        self, call: CallContext, project: str, limit: int
    ) -> list[tuple[str, str, str]]:
        """List id and title of tasks whose evidence is another now or gone, and which it is.

        No project stands for all.
        """
        wanted = TaskFilters(own_project=project or None)
        found = await call.read(store.with_evidence, call.principal.user_id, wanted, MAX_LOOKED_AT)
        marked = await evidence.mark_tasks(call, None, found)
        broken = [(one.id, one.title, one.evidence_state) for one in marked if one.evidence_state]
        return broken[:limit]

    async def reopen_changed(self, app: AppContext) -> None:
        """Reopen some completed tasks of all users that ask for it, whose evidence changed.

        The next call goes on after them. What this server cannot look at is left to others.
        """
        for owner, task_id in await app.database.read(SYSTEM, store.ids_to_reopen, self._last_id):
            self._last_id = task_id
            caller = Principal.for_user(owner, actor="rolltop").during("reopen_task")
            call = CallContext(app, caller, "reopen_task", 0)
            found = await call.read(store.read_tasks, owner, [task_id])
            for task in await evidence.mark_tasks(call, None, found, inf):
                if task.evidence_state:
                    why = f"reopened: evidence {task.evidence_state}"
                    with suppress(RolltopError):  # somebody was faster
                        await call.write(self.reopen_task, task.id, None, task.version, why)
                        app.notify_changed(caller, addresses.full_address("task", task.id))

    def find_titles(self, tx: Tx, task_ids: Sequence[str], project: str) -> dict[str, str | None]:
        """Map the caller's tasks, in the trash too, to their titles; None if another project's.

        No project stands for all.
        """
        return overview.read_titles(tx, tx.scope.user_id, task_ids, project)

    def find_linking(self, tx: Tx, address: str) -> list[str]:
        """List the caller's tasks with a link to a thing, or to a place in it.

        The address has the whole id of a record, and no version and lines.
        """
        linking = overview.read_links(tx, tx.scope.user_id, addresses.shorten_address(address))
        return [
            task_id
            for task_id, links in linking
            if any(addresses.is_about(link, address) for link in links)
        ]

    def count_waiting(
        self, tx: Tx, filters: FilterInput, user_id: str | None = None
    ) -> JsonObject | None:
        """Return how many pending tasks next_task passes over, by why; None if there are none."""
        owner, wanted = self._next_filters(tx, filters, user_id)
        claimed, blocked, overdue, until = store.count_waiting(tx, owner, wanted)
        if not claimed and not blocked:
            return None
        waiting: JsonObject = {"claimed": claimed, "blocked": blocked, "overdue": overdue}
        return {**waiting, "lease_ends": format_timestamp(until)} if until else waiting

    def update_task(  # noqa: PLR0913  # every choice is the caller's
        self,
        tx: Tx,
        task_id: str,
        task_input: TaskInput,
        user_id: str | None = None,
        if_version: int | None = None,
        token: str | None = None,
        comment: str | None = None,
        *,
        force: bool = False,
    ) -> Task:
        """Return the task with the given fields; equal values change nothing.

        A comment is noted beside them.

        Raises:
            InvalidArgument: a field is wrong, none is given, or this closes a cycle (CYCLE).
            NotFound: the task, its new parent or a new blocker is not the caller's.
            Conflict: the task is not at `if_version`, or another holds it.

        """
        owner = resolve_owner(tx, user_id)
        find_id = _id_finder(tx, owner)
        wanted_id = find_id(task_id, "task_id")
        fields = input_checks.task_fields(task_input, find_id, tx.now)
        noted = input_checks.comment(comment or "")
        if not fields and noted is None:
            raise InvalidArgument(
                "At least one field (title or description) must be provided",
                code="NOTHING_TO_UPDATE",
                hint="Call update_task again with the fields to change, or a comment.",
            )
        if {"parent_id", "blocked_by"} & fields.keys():
            graph.lock_graph(tx, owner)
        task = store.get_for_update(tx, owner, wanted_id)
        if task is None:
            raise errors.not_found()
        errors.require_version(task, if_version)
        access = ClaimAccess.by(token, force=force)
        claims.require_access(tx, owner, task, access)
        fields = assignees.resolve_assignee(tx, owner, fields, task.assignee)
        changed = {name: value for name, value in fields.items() if getattr(task, name) != value}
        if not changed and noted is None:
            return task
        require_existing(tx, owner, changed)
        refuse_cycles(tx, owner, task, changed)
        store.update_fields(tx, owner, task.id, changed)
        lines = [noted] if noted else []
        if takeover := claims.takeover_line(tx, owner, task, access):
            lines.insert(0, takeover)
        claims.add_comment(tx, owner, task.id, task.version + 1, lines)
        return _get_or_raise(tx, owner, task.id)

    def complete_task(
        self,
        tx: Tx,
        task_id: str,
        user_id: str | None = None,
        if_version: int | None = None,
        token: str | None = None,
        checked: CheckedEvidence | None = None,
        *,
        force: bool = False,
    ) -> Task:
        """Return the task, completed now or before.

        Raises:
            EvidenceRequired: it takes evidence, which is to be checked first, or again.
            NotFound: it is not the caller's.
            Conflict: it is not at `if_version`, or another holds it, or the token's claim ran out
                or is another's.

        """
        owner = resolve_owner(tx, user_id)
        wanted_id = _id_finder(tx, owner)(task_id, "task_id")
        access = ClaimAccess.by(token, force=force)
        takeover = claims.find_takeover(tx, owner, wanted_id, access) if force else None
        done = store.complete_task(tx, owner, wanted_id, if_version, access, checked)
        task = _get_or_raise(tx, owner, wanted_id)
        if done:
            if takeover is not None:
                claims.note_takeover(tx, owner, takeover)
            return task
        errors.require_version(task, if_version)
        claims.require_access(tx, owner, task, access)
        if task.status == "completed":
            return task
        if task.requires_evidence and (checked is None or checked.version != task.version):
            raise evidence.EvidenceRequired(task)
        raise errors.concurrent_change(tx, owner, task)

    def reopen_task(
        self,
        tx: Tx,
        task_id: str,
        user_id: str | None = None,
        if_version: int | None = None,
        why: str = "",
    ) -> Task:
        """Return the task, pending; one that was completed loses its claim. `why` is noted."""
        owner = resolve_owner(tx, user_id)
        wanted_id = _id_finder(tx, owner)(task_id, "task_id")
        done = store.reopen_task(tx, owner, wanted_id, if_version)
        task = _get_or_raise(tx, owner, wanted_id)
        if done and why:
            claims.add_comment(tx, owner, wanted_id, task.version, [why])
        if not done:
            errors.require_version(task, if_version)
            if task.status == "completed":
                raise errors.concurrent_change(tx, owner, task)
        return task

    def claim_task(
        self,
        tx: Tx,
        task_id: str,
        lease_seconds: int,
        user_id: str | None = None,
        token: str | None = None,
        *,
        force: bool = False,
    ) -> Claim:
        """Return the task, claimed until the lease ends; with a token, its claim renewed.

        A claim that ran out is renewed as long as nobody else has claimed the task since. With
        force another's running claim is taken over, with a new token.

        Raises:
            NotFound: it is not the caller's.
            Conflict: it is completed, blocked or claimed, or the token is another claim's.

        """
        owner = resolve_owner(tx, user_id)
        wanted_id = _id_finder(tx, owner)(task_id, "task_id")
        access = ClaimAccess.by(token, force=force)
        takeover = claims.find_takeover(tx, owner, wanted_id, access, "took over")
        if token and force and not store.is_claim_holder(tx, owner, wanted_id, hash_token(token)):
            token = None  # it may be an earlier holder's, who would have the task again
        kept = token or secrets.token_urlsafe(_TOKEN_BYTES)
        values = {
            "claim_hash": hash_token(kept),
            "claimed_until": tx.now + timedelta(seconds=lease_seconds),
            "claimed_by": tx.scope.label,
        }
        if token is None or force:
            done = store.claim_task(tx, owner, wanted_id, values, force=force)
        else:
            done = store.renew_claim(tx, owner, wanted_id, values)
        task = _get_or_raise(tx, owner, wanted_id)
        if done:
            claims.note_takeover(tx, owner, takeover)
            return Claim(task, kept)
        if task.status == "completed":
            raise errors.conflict(
                task, "The task is completed", "reopen_task makes it pending again."
            )
        if token is not None and not force:
            raise errors.wrong_token(task)
        if task.claimed_until is not None and not force:
            raise errors.claimed_by_another(task)
        if task.blocked_by:
            raise errors.conflict(
                task, "The task waits for a pending task in blocked_by", errors.NEXT_TASK_HINT
            )
        raise errors.concurrent_change(tx, owner, task)

    def delete_task(
        self,
        tx: Tx,
        task_id: str,
        user_id: str | None = None,
        if_version: int | None = None,
        token: str | None = None,
        *,
        force: bool = False,
    ) -> str:
        """Return the id of the task, which is in the trash now. Raises NotFound or Conflict."""
        owner = resolve_owner(tx, user_id)
        wanted_id = _id_finder(tx, owner)(task_id, "task_id")
        access = ClaimAccess.by(token, force=force)
        takeover = claims.find_takeover(tx, owner, wanted_id, access)
        if not store.move_to_trash(tx, owner, wanted_id, if_version, access):
            task = _get_or_raise(tx, owner, wanted_id)
            errors.require_version(task, if_version)
            claims.require_access(tx, owner, task, access)
            raise errors.concurrent_change(tx, owner, task)
        claims.note_takeover(tx, owner, takeover)
        return wanted_id

    def restore_task(self, tx: Tx, task_id: str, user_id: str | None = None) -> Task:
        """Return the task, out of the trash, with what it waits for and what waits for it.

        What changed meanwhile wins: a parent or blocker that now hangs on the task is left out.
        """
        owner = resolve_owner(tx, user_id)
        wanted_id = _id_finder(tx, owner, trash=True)(task_id, "task_id")
        graph.lock_graph(tx, owner)
        if not store.restore_task(tx, owner, wanted_id):
            raise errors.not_found(hint=errors.TRASH_HINT)
        task = _get_or_raise(tx, owner, wanted_id)
        closing = graph.dependents(tx, owner, wanted_id, task.blocked_by)
        if closing:
            graph.drop_blockers(tx, owner, wanted_id, closing)
        if task.parent_id and graph.is_below(tx, owner, task.parent_id, wanted_id):
            graph.drop_parent(tx, owner, wanted_id)
        return _get_or_raise(tx, owner, wanted_id)

    def matching_ids(self, tx: Tx, prefix: str) -> list[str]:
        """Return ids of the caller's newest tasks whose id or title begins so, in any case."""
        start = prefix.strip().casefold()
        newest = overview.newest_titles(tx, tx.scope.user_id, _MAX_TITLES_READ)
        return [
            task_id
            for task_id, title in newest
            if task_id.startswith(start) or title.casefold().startswith(start)
        ]


def _get_or_raise(tx: Tx, owner: str, task_id: str, *, trash: bool = False) -> Task:
    task = store.get_task(tx, owner, task_id, trash=trash)
    if task is None:
        raise errors.not_found()
    return task


def _id_finder(tx: Tx, owner: str, *, trash: bool = False) -> Callable[[str, str], str]:
    """Return the function that finds the owner's one task whose id begins with a text."""

    def find_id(text: str, name: str) -> str:
        given = text.strip()
        if not ID_PREFIX.fullmatch(given):
            return parse_id(given, name)
        digits = given.replace("-", "").lower()
        if len(digits) == _DIGITS_OF_ID:
            return canonical_id(digits)
        found = store.ids_between(tx, owner, *id_range(digits), _MAX_CANDIDATES, trash=trash)
        if len(found) > 1:
            raise InvalidArgument(
                "Invalid ID format",
                code="INVALID_ID",
                hint=f"{name} {given} begins several ids: {', '.join(found)}.",
            )
        if not found:
            where = "" if name == "task_id" else name
            raise errors.not_found(where, errors.TRASH_HINT if trash else "")
        return found[0]

    return find_id
