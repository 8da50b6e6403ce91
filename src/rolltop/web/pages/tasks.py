"""Tasks: the board, the table, one task with what was noted on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from starlette.responses import Response

from rolltop.core.context import CallContext
from rolltop.core.db import Tx
from rolltop.core.errors import NotFound
from rolltop.core.principal import ALL_PROJECTS
from rolltop.core.tools import JsonObject
from rolltop.toolsets.tasks import TOOLSET, assignees
from rolltop.toolsets.tasks.evidence import mark_task
from rolltop.toolsets.tasks.models import Task
from rolltop.toolsets.tasks.service import TaskService
from rolltop.toolsets.tasks.store import overview
from rolltop.web.background import read_background
from rolltop.web.form_texts import form_values, one_line, read_list, restore_line_breaks
from rolltop.web.visit import PageFailure, PageRoute, ToolFailure, Visit, parse_number

_MAX_CARDS: Final = 50
_MAX_DONE: Final = 20
_EVIDENCE_SECONDS: Final = 1.0
"""For looking at the evidence of a board's open tasks."""
_PAGE_SIZE: Final = 50
_FILTERS: Final = ("q", "status", "tag", "project", "assignee", "due_before")


@dataclass(frozen=True)
class Column:
    """A column of the board; `total` counts what is not shown too."""

    name: str
    title: str
    total: int
    tasks: list[JsonObject]


async def show_board(visit: Visit, failure: ToolFailure | None = None) -> Response:
    """Show open tasks by how far they are, and the newest that are done."""
    service: TaskService = visit.app.load_service(TOOLSET.service)
    project = visit.argument("project")
    visit.require("list_tasks")
    found, blockers = await visit.read(_read_board, service, project)
    columns = [
        Column(name, title, total, [task.data for task in tasks])
        for name, title, total, tasks in found
    ]
    call = CallContext(visit.app, visit.principal, "list_tasks", 0)
    with suppress(TimeoutError):  # cards after those that were looked at in time stay unmarked
        async with asyncio.timeout(_EVIDENCE_SECONDS):
            for column, (*_, tasks) in zip(columns, found, strict=True):
                for place, task in enumerate(tasks):
                    column.tasks[place] = (await mark_task(call, None, task)).data
    done = await visit.call(
        "list_tasks", status="completed", project=project or ALL_PROJECTS, limit=_MAX_DONE
    )
    columns[-1].tasks.extend(done["data"])
    status = failure.status if failure else 200
    shown = {"columns": columns, "blockers": blockers, "project": project, "failure": failure}
    return visit.render("board", status, **shown)


def _read_board(
    tx: Tx, service: TaskService, project: str
) -> tuple[list[tuple[str, str, int, list[Task]]], Mapping[str, str]]:
    """Return each column, with its tasks, and the titles of what others wait for."""
    found = service.list_open(tx, project, ready=_MAX_CARDS, limit=_MAX_CARDS)
    pending, completed = overview.count_tasks(tx, project)
    ready = pending - found.begun_count - found.blocked_count
    columns = [
        ("ready", "Ready", ready, found.ready),
        ("in_work", "In work", found.begun_count, found.begun),
        ("blocked", "Blocked", found.blocked_count, found.blocked),
        ("done", "Done", completed, list[Task]()),
    ]
    return columns, found.blockers


async def show_table(visit: Visit) -> Response:
    """Show tasks as a list, newest first or, searched, best first."""
    filters = {name: visit.argument(name) for name in _FILTERS}
    wanted = {**filters, "project": filters["project"] or ALL_PROJECTS}
    page = await visit.call(
        "list_tasks", **wanted, limit=_PAGE_SIZE, cursor=visit.argument("cursor")
    )
    return visit.render("table", page=page, filters=filters)


async def show_task(visit: Visit) -> Response:
    """Show one task, to read and to change."""
    task = await _get_task(visit)
    return await _render_task(visit, task, form_values(_fields_of(task)))


async def _get_task(visit: Visit) -> JsonObject:
    """Return the task; one in the trash has `deleted`."""
    task_id = visit.request.path_params["id"]
    try:
        return (await visit.call("get_task", task_id=task_id))["data"]
    except ToolFailure as failure:
        if failure.code != "NOT_FOUND":
            raise
        service: TaskService = visit.app.load_service(TOOLSET.service)
        try:
            found = await visit.read(service.get_task, task_id, trash=True)
        except NotFound:
            raise failure from None
        return {**found.details, "deleted": True}


async def _render_task(
    visit: Visit,
    task: JsonObject,
    fields: Mapping[str, str],
    failure: PageFailure | None = None,
) -> Response:
    criteria: list[str] = task.get("acceptance", [])
    evidence: list[JsonObject] = task.get("evidence", [])
    background = await read_background(visit, f"rolltop://task/{task['task_id']}")
    now = _fields_of(task)
    service: TaskService = visit.app.load_service(TOOLSET.service)
    named = [one for one in (*task.get("blocked_by", ()), task.get("parent_id")) if one]
    titles, members = await visit.read(_read_names, service, named)
    return visit.render(
        "task",
        failure.status if failure else 200,
        task=task,
        fields=fields,
        now=now,
        titles=titles,
        members=members,
        proofs=list(zip_longest(criteria, evidence)),
        failure=failure,
        is_stale=failure is not None and visit.form.get("version") != str(task["version"]),
        **background,
    )


def _read_names(
    tx: Tx, service: TaskService, ids: list[str]
) -> tuple[Mapping[str, str | None], list[str]]:
    """Return the titles of tasks, and who may be given one."""
    return service.find_titles(tx, ids, ""), assignees.list_members(tx, tx.scope.user_id)


def _fields_of(task: JsonObject) -> dict[str, str]:
    fields = {name: one_line(str(task.get(name, ""))) for name in _TEXTS}
    fields["description"] = task.get("description", "")
    fields |= {name: "\n".join(_entries(task, name)) for name in _LISTS}
    return fields | {name: "1" if task.get(name) else "" for name in _SWITCHES}


_TEXTS: Final = ("title", "description", "priority", "due_at", "project", "assignee", "parent_id")
_LISTS: Final = ("tags", "blocked_by", "links", "acceptance", "evidence")
_SWITCHES: Final = ("requires_evidence", "reopen_on_change")


def _entries(task: JsonObject, name: str) -> list[str]:
    """Return the entries of a list, each as the line of the form that it is."""
    entries: list[Any] = task.get(name, [])
    texts = [entry["uri"] for entry in entries] if name == "evidence" else entries
    return [one_line(text) for text in texts] if name == "acceptance" else texts


async def change_task(visit: Visit) -> Response:
    """Do what a button of a task's form says."""
    task_id, form = visit.request.path_params["id"], visit.form
    action = form.get("action", "save")
    arguments: JsonObject = {"task_id": task_id}
    if form.get("version"):
        arguments["if_version"] = parse_number(form["version"])
    if form.get("force"):
        arguments["force"] = True
    match action:
        case "complete" | "reopen" | "delete" | "restore":
            if action in {"reopen", "restore"}:
                arguments.pop("force", None)
            if action == "restore":
                arguments.pop("if_version", None)
            await visit.call_exactly(f"{action}_task", arguments)
            return visit.redirect("/tasks" if action == "delete" else f"/tasks/{task_id}")
        case "save":
            try:
                changes = _changes(form, await _get_task(visit))
                await visit.call_exactly("update_task", {**arguments, **changes})
            except PageFailure as failure:
                task = await _get_task(visit)
                fields = form_values(_fields_of(task), form)
                fields["comment"] = form.get("comment", "")
                return await _render_task(visit, task, fields, failure)
        case _:
            raise PageFailure(400, "No button of this page does that")
    return visit.redirect(f"/tasks/{task_id}")


def _changes(form: Mapping[str, str], task: JsonObject) -> dict[str, Any]:
    """Return the fields that a form changes, as a tool takes them: those empty are cleared."""
    shown = _fields_of(task)
    sent = [name for name in _TEXTS if form.get(name, shown[name]) != shown[name]]
    changes: dict[str, Any] = {name: form[name].strip() for name in sent}
    if "description" in sent:
        old = task.get("description", "")
        changes["description"] = restore_line_breaks(form["description"], old)
    if "priority" in changes:
        number = parse_number(changes["priority"])
        changes["priority"] = -1 if number is None else number
    changes |= {name: _read_entries(form, task, name) for name in _LISTS if name in form}
    if changes.get("evidence") == _entries(task, "evidence"):
        del changes["evidence"]  # sent again it would be kept as it is now, changed or not
    if "switches" in form:
        changes |= {name: name in form for name in _SWITCHES}
    if form.get("comment", "").strip():
        changes["comment"] = form["comment"].strip()
    return changes


def _read_entries(form: Mapping[str, str], task: JsonObject, name: str) -> list[str]:
    """Return a list of the form; criteria of several lines, which it shows in one, as they are."""
    shown = _entries(task, name)
    lines = read_list(form[name], shown)
    if name != "acceptance":
        return lines
    whole = dict(zip(shown, task.get(name, ()), strict=True))
    return [whole.get(line, line) for line in lines]


async def add_task(visit: Visit) -> Response:
    """Add a task."""
    form = visit.form
    try:
        added = await visit.call(
            "add_task", title=form.get("title", ""), project=form.get("project", "").strip()
        )
    except ToolFailure as failure:
        return await show_board(visit, failure)
    return visit.redirect(f"/tasks/{added['data']['task_id']}")


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/tasks", "GET", show_board),
    ("/tasks/add", "GET", show_board),  # a reload of what was refused
    ("/tasks/add", "POST", add_task),
    ("/tasks/table", "GET", show_table),
    ("/tasks/{id}", "GET", show_task),
    ("/tasks/{id}", "POST", change_task),
)
