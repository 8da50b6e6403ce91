"""The tools of tasks, the task resource and its completions: what the model sees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import Field

from rolltop.core import addresses
from rolltop.core import cursor as cursors
from rolltop.core.argument_names import PARAMETER_SYNONYMS, canonical_names
from rolltop.core.arguments import Parameters, QueryText
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument
from rolltop.core.lazy_imports import lazy
from rolltop.core.pagination import Page, count_fitting, fits_budget
from rolltop.core.principal import ALL_PROJECTS, Principal
from rolltop.core.tools import Alias, ArgumentErrorCode, ResourceTemplate, Tool
from rolltop.toolsets.tasks import input_checks
from rolltop.toolsets.tasks.models import (
    COMMENTS_CURSOR,
    LOWEST_PRIORITY,
    MAX_LEASE_SECONDS,
    MAX_LIST_LENGTH,
    MAX_PAGE_SIZE,
    PLACES_OF_COMMENT,
    SERVICE,
    Comment,
    CommentPart,
    FilterInput,
    JsonObject,
    StatusFilter,
    Task,
    TaskDetailsAnswer,
    TaskInput,
    TaskListAnswer,
)

if TYPE_CHECKING:
    from rolltop.toolsets.tasks import evidence as proofs
    from rolltop.toolsets.tasks.service import TaskService
else:
    proofs = lazy("rolltop.toolsets.tasks.evidence")

_REFERENCES: Final = ("blocked_by", "parent_id")
"""The fields of an entry of `tasks` in which an index may stand for an earlier one."""
_SHARED: Final = frozenset(("project", "assignee", "parent_id", "priority", "due_at", "tags"))
"""What stands beside `tasks` for all of them that have none of their own."""
_LONG_FIELDS: Final = frozenset(
    {"description", "tags", "blocked_by", "links", "acceptance", "evidence"}
)
"""The fields of a task that are not repeated on each page of its comments."""
_AROUND_COMMENT: Final = 160
"""Tokens: what stands around a comment in an answer takes about as much; no budget is smaller."""

Priority = Annotated[int | None, Field(ge=-1, le=LOWEST_PRIORITY)]
Links = Annotated[list[str] | None, Field(description="rolltop:// or https://")]
Project = Annotated[str | None, Field(description="* is all")]
Proof = Annotated[list[str] | None, Field(description="addresses, one per acceptance")]
Assignee = Annotated[str | None, Field(description="a member or me")]
Requires = Annotated[bool | None, Field(description="to complete it")]
Reopens = Annotated[bool | None, Field(description="if evidence changes")]
Token = Annotated[str | None, Field(description="from claim_task")]


async def add_task(  # each is a field
    call: CallContext,
    title: str | None = None,
    description: str | None = None,
    priority: Annotated[Priority, Field(description="0 most urgent")] = None,
    due_at: Annotated[str | None, Field(description="ISO date or time")] = None,
    tags: list[str] | None = None,
    parent_id: str | None = None,
    blocked_by: Annotated[list[str] | None, Field(description="ids to finish first")] = None,
    links: Links = None,
    project: str | None = None,
    acceptance: list[str] | None = None,
    evidence: Proof = None,
    requires_evidence: Requires = None,
    reopen_on_change: Reopens = None,
    assignee: Assignee = None,
    tasks: Annotated[
        list[JsonObject] | None,
        Field(description="a plan; blocked_by takes indexes of earlier ones"),
    ] = None,
    user_id: str | None = None,
) -> JsonObject:
    """Add a task or a plan to the durable task list."""
    fields = (title, description, priority, due_at, tags, parent_id, blocked_by, links, project)
    given = TaskInput(*fields, acceptance, evidence, requires_evidence, reopen_on_change, assignee)
    if tasks is None:
        given = await proofs.resolve_input(call, user_id, given)
        added = await call.write_once(_task_answer, _service(call).add_task, given, user_id)
        return _write_answer(call, added, user_id)
    if own := sorted(_given_fields(given).keys() - _SHARED):
        raise InvalidArgument(
            f"tasks goes without {own[0]}, which is each task's own",
            hint="Put it into each entry of tasks.",
        )
    answer = partial(_plan_answer, call, user_id)
    parsed = [replace(given, **_given_fields(one)) for one in _parse_entries(tasks)]
    entries = [await proofs.resolve_input(call, user_id, one) for one in parsed]
    several = await call.write_once(answer, _service(call).add_tasks, entries, user_id)
    for task in several:
        _notify(call, task.id, user_id)
    return answer(several)


def _given_fields(given: TaskInput) -> dict[str, Any]:
    return {name: value for name, value in vars(given).items() if value is not None}


def _titles_as_tasks(given: JsonObject) -> JsonObject:
    """Return the arguments of add_task with tasks for entries of `tasks` that are titles alone."""
    entries: Any = given.get("tasks")
    if not isinstance(entries, list):
        return given
    tasks = [
        {"title": one} if isinstance(one, str) and not one.lstrip().startswith("{") else one
        for one in cast("list[object]", entries)
    ]
    return {**given, "tasks": tasks}


def _plan_answer(call: CallContext, user_id: str | None, tasks: Sequence[Task]) -> JsonObject:
    """Return the answer of a plan: all ids, or those that fit and the call that lists the tasks."""
    added = [_task_ref(task.id) for task in tasks]
    whole: JsonObject = {"success": True, "data": added}
    if fits_budget(whole, call.budget):
        return whole
    onward: JsonObject = {"project": ALL_PROJECTS, "limit": len(added)}
    onward |= {"user_id": user_id} if user_id else {}

    def render(count: int) -> JsonObject:
        return {
            "success": True,
            "data": added[:count],
            "hint": f"All {len(added)} tasks were added; list_tasks has the other ids.",
            "truncated": True,
            "next": {"tool": "list_tasks", "arguments": onward},
        }

    return render(count_fitting(len(added), call.budget, render))


def _parse_entries(entries: list[JsonObject]) -> list[TaskInput]:
    """Return the tasks of one call, each checked as if it were sent alone."""
    if not 1 <= len(entries) <= MAX_LIST_LENGTH:
        raise InvalidArgument(
            f"tasks must hold 1 to {MAX_LIST_LENGTH} tasks; got {len(entries)}",
            hint="Send the others in a second call.",
        )
    parsed: list[TaskInput] = []
    for index, entry in enumerate(entries):
        if not entry.keys().isdisjoint({"tasks", "user_id"}):
            raise InvalidArgument(
                f"tasks[{index}] may not hold tasks or user_id", hint="No task was added."
            )
        try:
            parsed.append(TaskInput(**_entry_parameters().validate(_name_references(entry))))
        except InvalidArgument as error:
            error.hint = f"tasks[{index}]: {error.hint} No task was added."
            raise
    return parsed


@cache
def _entry_parameters() -> Parameters:
    """Return what an entry of `tasks` may hold."""
    fields = tuple(field.name for field in dataclass_fields(TaskInput))
    tool = next(tool for tool in TOOLS if tool.function is add_task)
    return Parameters(
        tool, code=InvalidArgument.default_code, seed=Alias(tool.name, parameters=fields)
    )


def _name_references(entry: JsonObject) -> JsonObject:
    """Return the entry with indexes as texts, as which ids are checked."""
    named: JsonObject = {}
    for name, value in entry.items():
        own = canonical_names(name, _REFERENCES, PARAMETER_SYNONYMS)
        named[name] = _index_as_text(value) if own else value
    return named


def _index_as_text(value: object) -> object:
    """Return an index, or a list of them, also as JSON text, as ids are sent."""
    if isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, list):
        return [str(one) if type(one) is int else one for one in cast("list[object]", value)]
    return str(value) if type(value) is int else value


async def list_tasks(
    call: CallContext,
    status: StatusFilter = "all",
    q: QueryText | None = None,
    tag: str | None = None,
    ready: Annotated[bool | None, Field(description="not blocked, not claimed")] = None,
    parent_id: str | None = None,
    due_before: str | None = None,
    project: Project = None,
    assignee: str | None = None,
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)] = 50,
    user_id: str | None = None,
) -> Page:
    """List or search tasks of this project, newest or best first."""
    filters = FilterInput(status, tag, bool(ready), parent_id, due_before, project, q, assignee)
    kind = filters.cursor_kind(user_id)
    if q and q.strip():
        return await _search(call, filters, user_id, limit)
    found, more = await call.read(_service(call).list_tasks, filters, user_id, call.cursor, limit)

    def cursor_after(index: int) -> str:
        return cursors.encode(kind, [found[index].place])

    items = [task.data for task in await proofs.mark_tasks(call, user_id, found)]
    return Page(items, lambda data: {"success": True, "data": data}, cursor_after, more)


async def _search(call: CallContext, filters: FilterInput, user_id: str | None, limit: int) -> Page:
    found, marks, more, hint = await call.read(
        _service(call).search_tasks, filters, user_id, call.cursor, limit
    )
    envelope: JsonObject = {"success": True, "hint": hint} if hint else {"success": True}
    return Page(
        [task.data for task in await proofs.mark_tasks(call, user_id, found)],
        lambda data: {**envelope, "data": data},
        lambda index: marks[index + 1],
        more,
    )


async def get_task(call: CallContext, task_id: str, user_id: str | None = None) -> Page:
    """Get one task with its comments and last changes."""
    kind = cursors.filtered_kind(COMMENTS_CURSOR, task_id, user_id)
    version, left = divmod(input_checks.offset(call.cursor, kind), PLACES_OF_COMMENT)
    before = version + (left > 0)
    details = await call.read(_service(call).get_details, task_id, user_id, before)
    task, changes, comments, earlier = details
    parts = [
        part
        for comment in comments
        for part in _split_comment(comment, left if comment.version == version else 0, call.budget)
    ]
    # Of a first page the task itself is the first item: it is shown whole before any comment.
    head = (await proofs.mark_task(call, user_id, task)).details
    places = [part.place for part in parts]
    if call.cursor is None:
        newest = comments[0].version + 1 if comments else 0
        places = [newest * PLACES_OF_COMMENT, *places]
        if changes:
            fits = fits_budget({**head, "history": changes}, call.budget // 2)
            head |= {"history": changes} if fits else {"omitted": ["history"]}
    elif long := sorted(_LONG_FIELDS & head.keys()):
        head = {**{name: head[name] for name in head if name not in long}, "omitted": long}

    def envelope(items: list[JsonObject]) -> JsonObject:
        shown = parts[: len(items) - len(places) + len(parts)]
        lines = [part.data for part in _join_parts(shown)]
        ended = sum(part.end == len(part.comment.text) for part in shown)
        older = earlier + len(comments) - ended
        data = {**head, **({"comments": lines} if lines else {})}
        return {"success": True, "data": {**data, "earlier_comments": older} if older else data}

    return Page(
        [{"place": place} for place in places],  # the envelope has what stands for each
        envelope,
        lambda index: cursors.encode(kind, [places[index]]),
        earlier > 0,
    )


def _split_comment(comment: Comment, left: int, budget: int) -> list[CommentPart]:
    """Return the last `left` characters of a comment (0: all), in parts where they are long.

    Each part has room in an answer of that many tokens, beside what stands around it.
    """
    total = len(comment.text)
    start = max(total - left, 0) if left else 0
    size = total
    if budget and not fits_budget(comment.text[start:], (budget - _AROUND_COMMENT) // 4):
        size = budget // 25  # characters, of up to three tokens each
    return [CommentPart(comment, at, min(at + size, total)) for at in range(start, total, size)]


def _join_parts(parts: Sequence[CommentPart]) -> list[CommentPart]:
    """Return the parts with those of the same comment as one."""
    joined: list[CommentPart] = []
    for part in parts:
        if joined and joined[-1].comment is part.comment:
            joined[-1] = replace(joined[-1], end=part.end)
        else:
            joined.append(part)
    return joined


async def complete_task(
    call: CallContext,
    task_id: str,
    token: Token = None,
    force: bool = False,  # as the model sends it
    user_id: str | None = None,
    if_version: int | None = None,
) -> JsonObject:
    """Complete a task; safe to repeat."""
    service, checked = _service(call), None
    while True:
        try:
            done = await call.write(
                *(service.complete_task, task_id, user_id, if_version, token, checked),
                force=bool(force),
            )
        except proofs.EvidenceRequired as required:
            checked = await proofs.check_evidence(call, user_id, required.task)
        else:
            return _write_answer(call, done, user_id)


async def update_task(  # each is a field
    call: CallContext,
    task_id: str,
    title: str | None = None,
    description: str | None = None,
    priority: Priority = None,
    due_at: str | None = None,
    tags: list[str] | None = None,
    parent_id: str | None = None,
    blocked_by: list[str] | None = None,
    links: list[str] | None = None,
    project: str | None = None,
    acceptance: list[str] | None = None,
    evidence: list[str] | None = None,
    requires_evidence: bool | None = None,
    reopen_on_change: bool | None = None,
    assignee: str | None = None,
    comment: Annotated[str | None, Field(description="progress, kept dated")] = None,
    token: str | None = None,
    force: bool = False,  # as the model sends it
    user_id: str | None = None,
    if_version: int | None = None,
) -> JsonObject:
    """Change the given fields of a task; "", [] or priority -1 clears one."""
    fields = (title, description, priority, due_at, tags, parent_id, blocked_by, links, project)
    given = TaskInput(*fields, acceptance, evidence, requires_evidence, reopen_on_change, assignee)
    given = await proofs.resolve_input(call, user_id, given)
    task = await call.write_once(
        _task_answer,
        _service(call).update_task,
        task_id,
        given,
        user_id,
        if_version,
        token,
        comment,
        force=bool(force),
    )
    return _write_answer(call, task, user_id)


async def delete_task(
    call: CallContext,
    task_id: str,
    token: str | None = None,
    force: bool = False,  # as the model sends it
    user_id: str | None = None,
    if_version: int | None = None,
) -> JsonObject:
    """Delete a task; restore_task undoes it for 30 days."""
    service = _service(call)
    deleted = await call.write(
        service.delete_task, task_id, user_id, if_version, token, force=bool(force)
    )
    _notify(call, deleted, user_id)
    data = {**_task_ref(deleted), "message": "Task deleted successfully"}
    return {"success": True, "data": data}


async def next_task(
    call: CallContext,
    project: str | None = None,
    tag: str | None = None,
    assignee: Annotated[str | None, Field(description="else yours or nobody's")] = None,
    user_id: str | None = None,
) -> JsonObject:
    """Get the best ready task: most urgent, first due, oldest; else what is waiting."""
    service, filters = _service(call), FilterInput(project=project, tag=tag, assignee=assignee)
    found = await call.read(service.next_task, filters, user_id)
    if found is not None:
        found = await proofs.mark_task(call, user_id, found)
        return {"success": True, "data": found.data}
    waiting = await call.read(service.count_waiting, filters, user_id)
    answer: JsonObject = {"success": True, "data": None}
    return {**answer, "waiting": waiting} if waiting else answer


async def claim_task(
    call: CallContext,
    task_id: str,
    lease_seconds: Annotated[int, Field(ge=1, le=MAX_LEASE_SECONDS)] = 900,
    token: Annotated[str | None, Field(description="renews your claim")] = None,
    force: Annotated[bool, Field(description="take over another's claim")] = False,
    user_id: str | None = None,
) -> JsonObject:
    """Claim a ready task; during the lease, only calls with its token can change it."""
    service = _service(call)
    claim = await call.write(
        service.claim_task, task_id, lease_seconds, user_id, token, force=bool(force)
    )
    _notify(call, claim.task.id, user_id)
    return {"success": True, "data": claim.data}


async def reopen_task(
    call: CallContext, task_id: str, user_id: str | None = None, if_version: int | None = None
) -> JsonObject:
    """Make a completed task pending again."""
    task = await call.write(_service(call).reopen_task, task_id, user_id, if_version)
    return _write_answer(call, task, user_id)


async def restore_task(call: CallContext, task_id: str, user_id: str | None = None) -> JsonObject:
    """Bring back a task deleted within 30 days."""
    return _write_answer(
        call, await call.write(_service(call).restore_task, task_id, user_id), user_id
    )


async def read_resource(call: CallContext, **variables: str) -> str:
    """Return one of the caller's tasks as the JSON text of its TaskData."""
    task = await call.read(_service(call).get_task, variables["id"])
    return json.dumps(task.data, ensure_ascii=False, separators=(",", ":"))


async def complete_id(call: CallContext, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """Return ids of tasks whose id or title begins with what was typed, newest first."""
    return await call.read(_service(call).matching_ids, typed[1])


def _service(call: CallContext) -> TaskService:
    return call.app.load_service(SERVICE)


def _write_answer(call: CallContext, task: Task, user_id: str | None) -> JsonObject:
    """Return the answer of a call that wrote a task, after telling those who listen."""
    _notify(call, task.id, user_id)
    return _task_answer(task)


def _task_answer(task: Task) -> JsonObject:
    return {"success": True, "data": task.data}


def _task_ref(task_id: str) -> JsonObject:
    return {"task_id": task_id, "uri": addresses.record_address("task", task_id)}


def _notify(call: CallContext, task_id: str, user_id: str | None) -> None:
    scope = (
        call.principal
        if user_id is None
        else Principal.for_user(user_id.lower(), actor=call.principal.actor)
    )
    call.app.notify_changed(scope, addresses.full_address("task", task_id))


_STATUS_HINT: Final = "complete_task completes a task, and reopen_task makes it pending again."
_STATUS_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("status", "state", "completed", "done"), _STATUS_HINT
)
_ADD_HINTS: Final = {
    **_STATUS_HINTS,
    **dict.fromkeys(("todos", "items", "plan"), "tasks holds a plan, each with a title."),
    **dict.fromkeys(("content", "text", "notes"), "title says it in short, description at length."),
    "activeForm": "title is all that is needed.",
}
_COMMENT_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("comment", "note", "notes", "result", "evidence"), "update_task keeps a comment and evidence."
)
_UPDATE_HINTS: Final = {
    **_STATUS_HINTS,
    **dict.fromkeys(("note", "notes", "progress"), "comment keeps progress, dated."),
    **dict.fromkeys(("add_tags", "remove_tags"), "tags replaces all of them."),
}
_LIST_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("sort", "sort_by", "order", "order_by", "priority"),
    "The newest come first; next_task answers the most urgent one that is ready.",
)
_LIST_FAULTS: Final = {
    "status": ArgumentErrorCode(
        "INVALID_STATUS", "Invalid status. Must be one of: all, pending, completed"
    ),
    "limit": ArgumentErrorCode("INVALID_LIMIT"),
    "cursor": ArgumentErrorCode("INVALID_CURSOR"),
}


def _seed_parameters(name: str, *parameters: str, required: tuple[str, ...] = ()) -> Alias:
    """Return the alias that lists the parameters which a tool has in its seed."""
    return Alias(name, parameters=(*parameters, "user_id"), required=required)


TOOLS: Final = (
    Tool(
        "add_task",
        add_task,
        "Add a task",
        accepts_idempotency_key=True,
        adapt=_titles_as_tasks,
        argument_hints=_ADD_HINTS,
        aliases=(_seed_parameters("add_task", "title", "description", required=("title",)),),
        is_core=True,
    ),
    Tool(
        "list_tasks",
        list_tasks,
        "List tasks",
        TaskListAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        argument_errors=_LIST_FAULTS,
        argument_hints=_LIST_HINTS,
        aliases=(_seed_parameters("list_tasks", "status", "cursor", "max_tokens"),),
        search_hint="todo list, plan, backlog",
        view="board",
    ),
    Tool(
        "get_task",
        get_task,
        "Get a task",
        TaskDetailsAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        argument_errors={"cursor": ArgumentErrorCode("INVALID_CURSOR")},
    ),
    Tool(
        "complete_task",
        complete_task,
        "Complete a task",
        idempotent=True,
        argument_hints=_COMMENT_HINTS,
        aliases=(_seed_parameters("complete_task", "task_id"),),
    ),
    Tool(
        "update_task",
        update_task,
        "Change a task",
        destructive=True,
        idempotent=True,
        accepts_idempotency_key=True,
        argument_hints=_UPDATE_HINTS,
        blank_values=frozenset(
            {"title", "description", "due_at", "parent_id", "project", "assignee"}
        ),
        aliases=(_seed_parameters("update_task", "task_id", "title", "description"),),
    ),
    Tool(
        "delete_task",
        delete_task,
        "Delete a task",
        destructive=True,
        idempotent=True,
        aliases=(_seed_parameters("delete_task", "task_id"),),
    ),
    Tool(
        "next_task",
        next_task,
        "Next ready task",
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
    ),
    Tool("claim_task", claim_task, "Claim a task"),
    Tool("reopen_task", reopen_task, "Reopen a task", idempotent=True),
    Tool("restore_task", restore_task, "Restore a deleted task", idempotent=True),
)

RESOURCE_TEMPLATES: Final = (
    ResourceTemplate(
        "task",
        addresses.TEMPLATES["task"],
        "Task",
        "One task as JSON.",
        "application/json",
        read_resource,
        complete_id,
    ),
)
