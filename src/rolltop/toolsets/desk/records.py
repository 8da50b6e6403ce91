"""Opening the addresses of what the store keeps: notes, pads, cells and tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rolltop.core.addresses import record_address, short_id
from rolltop.core.errors import NotFound
from rolltop.core.pagination import MIN_BUDGET
from rolltop.toolsets.desk.opened import (
    Opened,
    file_name,
    find_titles,
    first_line,
    text_lines,
    use_tool,
)
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.scratch import TOOLSET as SCRATCH
from rolltop.toolsets.tasks import TOOLSET as TASKS

if TYPE_CHECKING:
    from rolltop.core.addresses import Address
    from rolltop.core.context import CallContext
    from rolltop.core.pagination import Page, TextPage
    from rolltop.toolsets.desk.models import JsonObject
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService
    from rolltop.toolsets.tasks.service import TaskService

_HEAD_TOKENS: Final = 100
"""What stands around a task in an answer."""


def _without_budget(call: CallContext) -> CallContext:
    """Return a context in which a tool reads all: the desk cuts what it shows."""
    return replace(call, budget=0, cursor=None)


async def open_note(call: CallContext, address: Address) -> Opened:
    """Open a note, or one of its earlier versions while it is kept."""
    get = use_tool(NOTES, "note_get")
    whole, became = _without_budget(call), list[str]()
    try:
        data = _whole_note(await get(whole, address.id))
    except NotFound:
        history: Page = await use_tool(NOTES, "note_manage")(whole, "history", address.id)
        newest = history.items[0]["local_version"]
        data = _whole_note(await get(whole, address.id, newest))
        became.append(
            f"deleted for good (restore: note_manage with action restore and version {newest})"
        )
    now = data["local_version"]
    if data["trash"] and not became:
        became.append("deleted (restore: note_manage with action untrash)")
    if address.version and int(address.version) != now:
        try:
            data = _whole_note(await get(whole, address.id, int(address.version)))
            became.insert(0, f"changed since @{address.version}, which is shown: now @{now}")
        except NotFound:
            became.insert(0, _describe_change(address, now))
    version, note_id = data["local_version"], data["id"]
    page, lines, gone = text_lines(
        data["text"],
        address.lines,
        lambda line, char, left: {
            "range_line_start": line,
            "char_start": char,
            **({"range_line_count": left} if left else {}),
        },
    )
    return Opened(
        replace(address, id=short_id(note_id), version=str(version), lines=lines),
        first_line(data["text"]),
        {"heading": await _titles(call, data["text"], "note.md", lines), "tags": data["tags"]},
        (*became, *filter(None, [gone])),
        page,
        "note_get",
        {"id": note_id, "local_version": version},
        note_id,
    )


async def open_pad(call: CallContext, address: Address) -> Opened:
    """Open a pad: its title and its cells; of one in the trash the title."""
    pad = await _scratch(call).find_pad(call, address.id)
    opened = Opened(
        replace(address, id=short_id(pad.scratch_id), version=str(pad.version), lines=None),
        str(pad.metadata.get("title") or ""),
        {"tags": list(pad.tags)},
        _changes(address, pad.version),
        record_id=pad.scratch_id,
        changed_at=pad.updated_at,
    )
    if pad.deleted_at is not None:
        return replace(opened, became=(*opened.became, "deleted (restore: scratch_restore)"))
    listed: Page = await use_tool(SCRATCH, "scratch_list_cells")(call, pad.scratch_id)
    items = [
        {name: value for name, value in item.items() if name != "cell_id" and value != []}
        for item in listed.items
    ]

    def envelope(some: list[JsonObject]) -> JsonObject:
        return {"cells": some}

    source = replace(listed, items=items, envelope=envelope)
    arguments = {"scratch_id": pad.scratch_id}
    cell_ids = tuple(item["cell_id"] for item in listed.items)
    return replace(
        opened,
        cell_ids=cell_ids,
        source=source,
        tool="scratch_list_cells",
        arguments=arguments,
    )


async def open_cell(call: CallContext, address: Address) -> Opened:
    """Open a cell, with its pad; of one in the trash the pad."""
    scratch = _scratch(call)
    pad_id, cell_id = await scratch.find_cell(call, address.id)
    pad = await scratch.find_pad(call, pad_id)
    title = pad.metadata.get("title")
    shown_pad = {
        "uri": record_address("pad", pad_id),
        **({"title": title} if isinstance(title, str) else {}),
    }
    at = replace(address, id=short_id(cell_id))
    if pad.deleted_at is not None:
        gone = "deleted with its pad (restore: scratch_restore)"
        return Opened(replace(at, version=""), "", {"pad": shown_pad}, (gone,), record_id=cell_id)
    read: Page = await use_tool(SCRATCH, "scratch_read")(
        _without_budget(call), pad_id, [cell_id], include_metadata=False
    )
    (cell,) = read.items
    text: str = cell["content"]
    page, lines, gone = text_lines(
        text,
        address.lines,
        lambda line, char, left: {
            "line_start": line,
            "char_start": char,
            **({"line_count": left} if left else {}),
        },
    )
    language = cell["language"]
    name = file_name(language)
    return Opened(
        replace(at, version=str(cell["version"]), lines=lines),
        first_line(text),
        {
            "pad": shown_pad,
            "heading": await _titles(call, text, name, lines),
            "language": language,
            "tags": cell["tags"],
        },
        (*_changes(address, cell["version"]), *filter(None, [gone])),
        page,
        "scratch_read",
        {"scratch_id": pad_id, "cell_ids": [cell_id], "include_metadata": False},
        cell_id,
    )


async def open_task(call: CallContext, address: Address) -> Opened:
    """Open a task with its comments; also one in the trash."""
    room = max(call.budget - _HEAD_TOKENS, MIN_BUDGET) if call.budget else 0
    try:
        page: Page = await use_tool(TASKS, "get_task")(
            replace(call, budget=room, cursor=None), address.id
        )
    except NotFound:
        service: TaskService = call.app.load_service(TASKS.service)
        task = await call.read(service.get_task, address.id, trash=True)
        opened = _opened_task(address, task.data)
        became = (*opened.became, "deleted (restore: restore_task)")
        return replace(opened, became=became, fields={"task": _without_uri(task.data)})
    data: JsonObject = page.render(page.size)["data"]

    def envelope(items: list[JsonObject]) -> JsonObject:
        return {"task": _without_uri(page.envelope(items)["data"])}

    return replace(
        _opened_task(address, data),
        source=replace(page, envelope=envelope),
        tool="get_task",
        arguments={"task_id": data["task_id"]},
    )


def _opened_task(address: Address, data: JsonObject) -> Opened:
    version = data["version"]
    at = replace(address, id=short_id(data["task_id"]), version=str(version), lines=None)
    became = _changes(address, version)
    return Opened(at, data["title"], became=became, record_id=data["task_id"])


def _without_uri(data: JsonObject) -> JsonObject:
    return {name: value for name, value in data.items() if name != "uri"}


def _whole_note(page: TextPage) -> JsonObject:
    return {**page.envelope(""), "text": page.text}


def _changes(address: Address, now: int) -> tuple[str, ...]:
    is_stale = address.version and int(address.version) != now
    return (_describe_change(address, now),) if is_stale else ()


def _describe_change(address: Address, now: int) -> str:
    if int(address.version) > now:
        return f"there is no @{address.version}: now @{now}"
    return f"changed since @{address.version}: now @{now}"


async def _titles(
    call: CallContext, text: str, name: str, lines: tuple[int, int] | None
) -> list[str]:
    if lines is None:
        return []
    return await call.run_in_thread(find_titles, text, name, lines[0])


def _scratch(call: CallContext) -> ScratchService:
    return call.app.load_service(SCRATCH.service)
