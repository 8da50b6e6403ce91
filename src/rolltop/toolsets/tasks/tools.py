"""The tools of tasks, the task resource and its completions: what the model sees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core import cursor as cursors
from rolltop.core.budget import Page
from rolltop.core.call import Call
from rolltop.core.lazy import lazy
from rolltop.core.scope import Scope
from rolltop.core.toolset import MISSING, Fault, Reference, Tool
from rolltop.toolsets.tasks.models import (
    LONGEST_LEASE,
    LONGEST_PAGE,
    LOWEST_PRIORITY,
    DeletedAnswer,
    Filters,
    Given,
    JsonObject,
    Listed,
    NextTaskAnswer,
    Task,
    TaskAnswer,
    TaskListAnswer,
)

if TYPE_CHECKING:
    from rolltop.toolsets.tasks import service
else:
    service = lazy("rolltop.toolsets.tasks.service")

Priority = Annotated[int | None, Field(ge=-1, le=LOWEST_PRIORITY, description="0 most urgent")]
DueAt = Annotated[str | None, Field(description="ISO 8601 with offset")]


async def add_task(
    call: Call,
    title: str,
    description: str | None = None,
    priority: Priority = None,
    due_at: DueAt = None,
    tags: list[str] | None = None,
    parent_id: str | None = None,
    blocked_by: Annotated[list[str] | None, Field(description="task ids to finish first")] = None,
    links: Annotated[list[str] | None, Field(description="rolltop://… references")] = None,
    user_id: str | None = None,
) -> JsonObject:
    """Add a pending task to the caller's durable task list."""
    given = Given(title, description, priority, due_at, tags, parent_id, blocked_by, links)
    return _one(call, await call.write(service.add_task, given, user_id), user_id)


async def list_tasks(
    call: Call,
    status: Listed = "all",
    tag: str | None = None,
    ready: Annotated[bool, Field(description="only pending, not blocked, not claimed")] = False,
    parent_id: str | None = None,
    due_before: str | None = None,
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE)] = 50,
    user_id: str | None = None,
) -> Page:
    """List tasks, newest first."""
    filters = Filters(status, tag, ready, parent_id, due_before)
    kind = filters.cursor_kind(user_id)
    found, more = await call.read(service.list_tasks, filters, user_id, call.cursor, limit)

    def cursor_after(index: int) -> str:
        return cursors.encode(kind, [found[index].place.packed])

    items = [task.data for task in found]
    return Page(items, lambda data: {"success": True, "data": data}, cursor_after, more)


async def complete_task(
    call: Call,
    task_id: str,
    token: Annotated[str | None, Field(description="from claim_task")] = None,
    user_id: str | None = None,
    if_version: int | None = None,
) -> JsonObject:
    """Mark a task completed; safe to repeat."""
    done = await call.write(service.complete_task, task_id, user_id, if_version, token)
    return _one(call, done, user_id)


async def update_task(
    call: Call,
    task_id: str,
    title: str | None = None,
    description: str | None = None,
    priority: Priority = None,
    due_at: DueAt = None,
    tags: list[str] | None = None,
    parent_id: str | None = None,
    blocked_by: list[str] | None = None,
    links: list[str] | None = None,
    user_id: str | None = None,
    if_version: int | None = None,
) -> JsonObject:
    """Change the given fields of a task; "", [] and priority -1 clear."""
    given = Given(title, description, priority, due_at, tags, parent_id, blocked_by, links)
    task = await call.write(service.update_task, task_id, given, user_id, if_version)
    return _one(call, task, user_id)


async def delete_task(
    call: Call, task_id: str, user_id: str | None = None, if_version: int | None = None
) -> JsonObject:
    """Delete a task; restore_task undoes it for 30 days."""
    deleted = await call.write(service.delete_task, task_id, user_id, if_version)
    _notify(call, deleted, user_id)
    data = {"task_id": deleted, "message": "Task deleted successfully"}
    return {"success": True, "data": data}


async def next_task(call: Call, user_id: str | None = None) -> JsonObject:
    """Get the best ready task: most urgent, first due, oldest; null if none is ready."""
    found = await call.read(service.next_task, user_id)
    return {"success": True, "data": None if found is None else found.data}


async def claim_task(
    call: Call,
    task_id: str,
    lease_seconds: Annotated[int, Field(ge=1, le=LONGEST_LEASE)] = 900,
    token: Annotated[str | None, Field(description="renews your claim")] = None,
    user_id: str | None = None,
) -> JsonObject:
    """Claim a ready task so that no other agent takes it; answers a token."""
    claim = await call.write(service.claim_task, task_id, lease_seconds, user_id, token)
    _notify(call, claim.task.id, user_id)
    return {"success": True, "data": claim.data}


async def reopen_task(
    call: Call, task_id: str, user_id: str | None = None, if_version: int | None = None
) -> JsonObject:
    """Make a completed task pending again."""
    task = await call.write(service.reopen_task, task_id, user_id, if_version)
    return _one(call, task, user_id)


async def restore_task(call: Call, task_id: str, user_id: str | None = None) -> JsonObject:
    """Bring back a task deleted within 30 days."""
    return _one(call, await call.write(service.restore_task, task_id, user_id), user_id)


async def read_resource(call: Call, **variables: str) -> str:
    """Return one of the caller's tasks as the JSON text of its TaskData."""
    task = await call.read(service.get_task, variables["id"])
    return json.dumps(task.data, ensure_ascii=False, separators=(",", ":"))


async def complete_id(call: Call, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """Return ids of tasks whose id or title begins with what was typed, newest first."""
    return await call.read(service.matching_ids, typed[1])


def _one(call: Call, task: Task, user_id: str | None) -> JsonObject:
    """Return the answer of a call that wrote a task, after telling those who listen."""
    _notify(call, task.id, user_id)
    return {"success": True, "data": task.data}


def _notify(call: Call, task_id: str, user_id: str | None) -> None:
    scope = call.scope if user_id is None else Scope.of(user_id.lower(), actor=call.scope.actor)
    call.desk.changed(scope, f"rolltop://task/{task_id}")


_TITLE: Final = {
    "title": Fault("TITLE_REQUIRED", "Task title is required", when=frozenset({MISSING}))
}
_STATUS: Final = "complete_task completes a task, and reopen_task makes it pending again."
_OF_STATUS: Final[dict[str, str]] = dict.fromkeys(("status", "state", "completed", "done"), _STATUS)
_TO_FIND: Final = "Tasks are chosen by status, tag, ready, parent_id and due_before, not by words."
_LIST: Final = {
    "status": Fault("INVALID_STATUS", "Invalid status. Must be one of: all, pending, completed"),
    "limit": Fault("INVALID_LIMIT"),
    "cursor": Fault("INVALID_CURSOR"),
}

TOOLS: Final = (
    Tool("add_task", add_task, "Add a task", TaskAnswer, faults=_TITLE, elsewhere=_OF_STATUS),
    Tool(
        "list_tasks",
        list_tasks,
        "List tasks",
        TaskListAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
        faults=_LIST,
        elsewhere=dict.fromkeys(("query", "q", "search", "text"), _TO_FIND),
    ),
    Tool("complete_task", complete_task, "Complete a task", TaskAnswer, idempotent=True),
    Tool(
        "update_task",
        update_task,
        "Change a task",
        TaskAnswer,
        destructive=True,
        idempotent=True,
        elsewhere=_OF_STATUS,
    ),
    Tool(
        "delete_task",
        delete_task,
        "Delete a task",
        DeletedAnswer,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "next_task",
        next_task,
        "Next ready task",
        NextTaskAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
    ),
    Tool("claim_task", claim_task, "Claim a task", TaskAnswer),
    Tool("reopen_task", reopen_task, "Reopen a task", TaskAnswer, idempotent=True),
    Tool("restore_task", restore_task, "Restore a deleted task", TaskAnswer, idempotent=True),
)

REFERENCES: Final = (
    Reference(
        "task",
        "rolltop://task/{id}",
        "Task",
        "One task as JSON.",
        "application/json",
        read_resource,
        complete_id,
    ),
)
