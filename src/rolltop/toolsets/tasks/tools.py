"""The tools of tasks, the task resource and its completions: what the model sees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core import cursor as cursors
from rolltop.core.context import CallContext
from rolltop.core.pagination import Page
from rolltop.core.principal import Principal
from rolltop.core.tools import MISSING, ArgumentErrorCode, ResourceTemplate, Tool
from rolltop.toolsets.tasks.models import (
    LOWEST_PRIORITY,
    MAX_LEASE_SECONDS,
    MAX_PAGE_SIZE,
    FilterInput,
    JsonObject,
    NextTaskAnswer,
    StatusFilter,
    Task,
    TaskAnswer,
    TaskDeletedAnswer,
    TaskInput,
    TaskListAnswer,
)

if TYPE_CHECKING:
    from rolltop.toolsets.tasks.service import TaskService

SERVICE: Final = "rolltop.toolsets.tasks.service:TaskService"

Priority = Annotated[int | None, Field(ge=-1, le=LOWEST_PRIORITY, description="0 most urgent")]
DueAt = Annotated[str | None, Field(description="ISO 8601 with offset")]


async def add_task(
    call: CallContext,
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
    given = TaskInput(title, description, priority, due_at, tags, parent_id, blocked_by, links)
    return _write_answer(call, await call.write(_service(call).add_task, given, user_id), user_id)


async def list_tasks(
    call: CallContext,
    status: StatusFilter = "all",
    tag: str | None = None,
    ready: Annotated[bool, Field(description="only pending, not blocked, not claimed")] = False,
    parent_id: str | None = None,
    due_before: str | None = None,
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)] = 50,
    user_id: str | None = None,
) -> Page:
    """List tasks, newest first."""
    filters = FilterInput(status, tag, ready, parent_id, due_before)
    kind = filters.cursor_kind(user_id)
    found, more = await call.read(_service(call).list_tasks, filters, user_id, call.cursor, limit)

    def cursor_after(index: int) -> str:
        return cursors.encode(kind, [found[index].sort_key.text])

    items = [task.data for task in found]
    return Page(items, lambda data: {"success": True, "data": data}, cursor_after, more)


async def complete_task(
    call: CallContext,
    task_id: str,
    token: Annotated[str | None, Field(description="from claim_task")] = None,
    user_id: str | None = None,
    if_version: int | None = None,
) -> JsonObject:
    """Mark a task completed; safe to repeat."""
    done = await call.write(_service(call).complete_task, task_id, user_id, if_version, token)
    return _write_answer(call, done, user_id)


async def update_task(
    call: CallContext,
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
    given = TaskInput(title, description, priority, due_at, tags, parent_id, blocked_by, links)
    task = await call.write(_service(call).update_task, task_id, given, user_id, if_version)
    return _write_answer(call, task, user_id)


async def delete_task(
    call: CallContext, task_id: str, user_id: str | None = None, if_version: int | None = None
) -> JsonObject:
    """Delete a task; restore_task undoes it for 30 days."""
    deleted = await call.write(_service(call).delete_task, task_id, user_id, if_version)
    _notify(call, deleted, user_id)
    data = {"task_id": deleted, "message": "Task deleted successfully"}
    return {"success": True, "data": data}


async def next_task(call: CallContext, user_id: str | None = None) -> JsonObject:
    """Get the best ready task: most urgent, first due, oldest; null if none is ready."""
    found = await call.read(_service(call).next_task, user_id)
    return {"success": True, "data": None if found is None else found.data}


async def claim_task(
    call: CallContext,
    task_id: str,
    lease_seconds: Annotated[int, Field(ge=1, le=MAX_LEASE_SECONDS)] = 900,
    token: Annotated[str | None, Field(description="renews your claim")] = None,
    user_id: str | None = None,
) -> JsonObject:
    """Claim a ready task so that no other agent takes it; answers a token."""
    claim = await call.write(_service(call).claim_task, task_id, lease_seconds, user_id, token)
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
    return {"success": True, "data": task.data}


def _notify(call: CallContext, task_id: str, user_id: str | None) -> None:
    scope = (
        call.principal
        if user_id is None
        else Principal.for_user(user_id.lower(), actor=call.principal.actor)
    )
    call.app.notify_changed(scope, f"rolltop://task/{task_id}")


_TITLE_FAULTS: Final = {
    "title": ArgumentErrorCode(
        "TITLE_REQUIRED", "Task title is required", when=frozenset({MISSING})
    )
}
_STATUS_HINT: Final = "complete_task completes a task, and reopen_task makes it pending again."
_STATUS_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("status", "state", "completed", "done"), _STATUS_HINT
)
_LIST_HINT: Final = (
    "Tasks are chosen by status, tag, ready, parent_id and due_before, not by words."
)
_LIST_FAULTS: Final = {
    "status": ArgumentErrorCode(
        "INVALID_STATUS", "Invalid status. Must be one of: all, pending, completed"
    ),
    "limit": ArgumentErrorCode("INVALID_LIMIT"),
    "cursor": ArgumentErrorCode("INVALID_CURSOR"),
}

TOOLS: Final = (
    Tool(
        "add_task",
        add_task,
        "Add a task",
        TaskAnswer,
        argument_errors=_TITLE_FAULTS,
        argument_hints=_STATUS_HINTS,
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
        argument_hints=dict.fromkeys(("query", "q", "search", "text"), _LIST_HINT),
    ),
    Tool("complete_task", complete_task, "Complete a task", TaskAnswer, idempotent=True),
    Tool(
        "update_task",
        update_task,
        "Change a task",
        TaskAnswer,
        destructive=True,
        idempotent=True,
        argument_hints=_STATUS_HINTS,
        blank_values=frozenset({"title", "description", "due_at", "parent_id"}),
    ),
    Tool(
        "delete_task",
        delete_task,
        "Delete a task",
        TaskDeletedAnswer,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "next_task",
        next_task,
        "Next ready task",
        NextTaskAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
    ),
    Tool("claim_task", claim_task, "Claim a task", TaskAnswer),
    Tool("reopen_task", reopen_task, "Reopen a task", TaskAnswer, idempotent=True),
    Tool("restore_task", restore_task, "Restore a deleted task", TaskAnswer, idempotent=True),
)

RESOURCE_TEMPLATES: Final = (
    ResourceTemplate(
        "task",
        "rolltop://task/{id}",
        "Task",
        "One task as JSON.",
        "application/json",
        read_resource,
        complete_id,
    ),
)
