"""Scratchpads: the list, and one pad with its cells, their diagnostics and schemas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from itertools import accumulate
from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from rolltop.core.db import Tx
from rolltop.core.journal import history
from rolltop.core.journal.history import EntryFilter
from rolltop.core.principal import ALL_PROJECTS
from rolltop.core.tools import JsonObject
from rolltop.toolsets.desk.history import PAGE_SIZE, describe
from rolltop.toolsets.scratch import TOOLSET
from rolltop.toolsets.scratch.service.read_response import cursor_at
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from rolltop.web.background import read_links
from rolltop.web.colours import colour
from rolltop.web.form_texts import form_values, one_line, restore_line_breaks
from rolltop.web.pages.address import show_opened
from rolltop.web.visit import PageFailure, PageRoute, ToolFailure, Visit, parse_number

_PAGE_SIZE: Final = 50
_PAD_TOKENS: Final = 40_000
"""Of cells on one page."""
_PAD_LINES: Final = 2000
"""Of cells on one page, each an element of its own; a longer cell's are none."""
_NEW_CELL: Final = {"language": "md", "content": ""}


async def show_pads(visit: Visit) -> Response:
    """Show pads, last written first, or those that a search finds."""
    q = visit.argument("q")
    page = await visit.call(
        "scratch_search" if q else "scratch_list",
        query=q,
        namespaces=[ALL_PROJECTS],
        limit=_PAGE_SIZE,
        cursor=visit.argument("cursor"),
    )
    return visit.render("pads", page=page, q=q)


async def show_pad(visit: Visit) -> Response:
    """Show a pad with its cells, as many as fit a page; where one is named, that one is there."""
    pad_id, asked = visit.request.path_params["id"], visit.argument("cell")
    try:
        pad, cursor = await _read_page(visit, pad_id, visit.argument("cursor"))
    except ToolFailure as failure:
        if failure.status != HTTPStatus.NOT_FOUND or not visit.offers("desk_read"):
            raise
        opened = await visit.call("desk_read", uri=f"rolltop://pad/{pad_id}")
        return await show_opened(visit, opened)
    if asked and not any(cell["cell_id"].startswith(asked) for cell in pad["cells"]):
        with suppress(PageFailure):  # the cell is gone
            found = await visit.call("scratch_list_cells", scratch_id=pad_id, cell_ids=[asked])
            begin = cursor_at(pad["scratch_id"], found["cells"][0]["cell_id"])
            rest, cursor = await _read_page(visit, pad_id, begin)
            pad |= rest
    cells: list[JsonObject] = pad["cells"]
    is_plain = len(cells) == 1 and _count_lines(cells[0]) > _PAD_LINES
    invalid = [
        cell["cell_id"]
        for cell in cells
        if (found := cell.get("validation")) and (found["errors"] or found["warnings"])
    ]
    diagnostics = await _find_diagnostics(visit, pad["scratch_id"], invalid)
    changes: list[JsonObject] = []
    if visit.offers("desk_history"):
        refs = [pad["scratch_id"], *(cell["cell_id"] for cell in cells)]
        changes = await visit.read(_read_changes, refs)
    metadata: JsonObject = pad.get("metadata") or {}
    service: ScratchService = visit.app.load_service(TOOLSET.service)
    titles = await visit.read(service.find_titles, [pad["scratch_id"]], "")
    return visit.render(
        "pad",
        pad=pad,
        fields=form_values({"title": one_line(titles.get(pad["scratch_id"]) or "")}),
        cursor=cursor,
        is_plain=is_plain,
        colours={} if is_plain else await colour(visit, cells),
        diagnostics=diagnostics,
        schemas=metadata.get("schemas") or {},
        changes=changes,
        links=await read_links(visit, f"rolltop://pad/{pad['scratch_id']}"),
    )


async def _read_page(visit: Visit, pad_id: str, cursor: str) -> tuple[JsonObject, str]:
    """Return a pad with as many of its cells as fit a page, and the cursor of the next one."""
    page = await visit.call(
        "scratch_read", scratch_id=pad_id, max_tokens=_PAD_TOKENS, cursor=cursor
    )
    pad: JsonObject = page["scratchpad"]
    cells: list[JsonObject] = pad.get("cells", [])
    ends = accumulate(map(_count_lines, cells))
    fitting = max(1, sum(1 for end in ends if end <= _PAD_LINES))
    # Where a cell is cut, `next` has its cursor alone; by lines of a cell it has the one sent.
    onward: JsonObject = page.get("next", {}).get("arguments", {})
    following = page.get("next_cursor") or onward.get("cursor", "")
    if following == cursor:
        following = ""
    if cells[fitting:]:
        following = cursor_at(pad["scratch_id"], cells[fitting]["cell_id"])
    return {**pad, "cells": cells[:fitting]}, following


def _count_lines(cell: JsonObject) -> int:
    return cell.get("content", "").count("\n") + 1


def _read_changes(tx: Tx, refs: list[str]) -> list[JsonObject]:
    """Return the newest changes of a pad and of its cells."""
    wanted = EntryFilter(kinds=("pad", "cell"), refs=refs)
    return describe(tx, history.read_entries(tx, wanted, limit=PAGE_SIZE, newest_first=True))


async def _find_diagnostics(
    visit: Visit, pad_id: str, cell_ids: list[str]
) -> dict[str, dict[int, list[JsonObject]]]:
    """Return what is wrong in these cells, by cell and line."""
    found: dict[str, dict[int, list[JsonObject]]] = {}
    if not cell_ids or not visit.offers("scratch_validate"):
        return found
    checked = await visit.call("scratch_validate", scratch_id=pad_id, cell_ids=cell_ids)
    for result in checked["results"]:
        by_line = found[result["cell_id"]] = defaultdict(list)
        for one in (*result["errors"], *result["warnings"]):
            by_line[one["line"]].append(one)
    return found


async def show_cell(visit: Visit) -> Response:
    """Lead to a cell in its pad."""
    cell_id = visit.request.path_params["id"]
    opened = await visit.call("desk_read", uri=f"rolltop://cell/{cell_id}")
    if "pad" not in opened:
        return await show_opened(visit, opened)
    pad_id = opened["pad"]["uri"].rpartition("/")[2]
    return visit.redirect(f"/pads/{pad_id}?cell={quote(cell_id)}#cell-{quote(cell_id[:8])}")


async def show_editor(visit: Visit) -> Response:
    """Show a cell's text, to change it; without a cell, a new one."""
    visit.require("scratch_replace_cell")
    cell = await _get_cell(visit)
    values = await visit.run_in_thread(_values_of, cell)
    return visit.render("cell_editor", cell=cell, values=values, failure=None)


def _values_of(cell: JsonObject, sent: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the values of a cell's form; of fields that were changed in one, as `sent`."""
    fields: dict[str, str] = {name: cell.get(name, new) for name, new in _NEW_CELL.items()}
    return form_values(fields, sent) | {"version": str(cell.get("version", ""))}


async def _get_cell(visit: Visit) -> JsonObject:
    params = visit.request.path_params
    if "cell" not in params:
        return {"scratch_id": params["id"]}
    page = await visit.call("scratch_read", scratch_id=params["id"], cell_ids=[params["cell"]])
    pad = page["scratchpad"]
    return {**pad["cells"][0], "scratch_id": pad["scratch_id"]}


async def save_cell(visit: Visit) -> Response:
    """Write a cell; its tags, metadata, schema and checks stay."""
    current: JsonObject = {"scratch_id": visit.request.path_params["id"]}
    values = {name: visit.form.get(name, "") for name in _values_of(current)}
    gone = ""
    try:
        current = await _get_cell(visit)
        await _write_cell(visit, current)
    except ToolFailure as failure:
        if failure.code == "CONFLICT":  # the page shows what is there now
            current = await _get_cell(visit)
            values = await visit.run_in_thread(_values_of, current, values)
        elif failure.code == "NOT_FOUND" and "cell_id" not in current:
            gone = "cell" if await _has_pad(visit, current["scratch_id"]) else "pad"
        return visit.render(
            "cell_editor", failure.status, cell=current, values=values, failure=failure, gone=gone
        )
    return visit.redirect(f"/pads/{current['scratch_id']}")


async def _has_pad(visit: Visit, pad_id: str) -> bool:
    try:
        await visit.call("scratch_read", scratch_id=pad_id, max_tokens=_PAD_TOKENS)
    except ToolFailure:
        return False
    return True


async def _write_cell(visit: Visit, current: JsonObject) -> None:
    """Write what a form sent. Raises PageFailure."""
    form = visit.form
    content = await visit.run_in_thread(
        restore_line_breaks, form.get("content", ""), current.get("content", "")
    )
    cell: JsonObject = {"language": form.get("language", "").strip(), "content": content}
    cell |= {name: current[name] for name in ("validate", "json_schema") if name in current}
    arguments: JsonObject = {"scratch_id": current["scratch_id"], "cell": cell}
    if "cell_id" not in current:
        await visit.call_exactly("scratch_append_cell", arguments)
        return
    version = parse_number(form.get("version", "")) or 0
    arguments |= {"cell_id": current["cell_id"], "if_version": version}
    await visit.call_exactly("scratch_replace_cell", arguments)


async def manage_pad(visit: Visit) -> Response:
    """Delete a pad or a cell, bring a pad back, or change its title."""
    pad_id, form = visit.request.path_params["id"], visit.form
    match form.get("action"):
        case "delete":
            await visit.call("scratch_delete", scratch_id=pad_id)
            return visit.redirect("/pads")
        case "restore":
            await visit.call("scratch_restore", scratch_id=pad_id)
        case "delete_cell":
            await visit.call(
                "scratch_delete_cell",
                scratch_id=pad_id,
                cell_id=form.get("cell_id", ""),
                if_version=parse_number(form.get("version", "")),
            )
        case "title":
            await _save_title(visit, pad_id)
        case _:
            raise PageFailure(400, "No button of this page does that")
    return visit.redirect(f"/pads/{pad_id}")


async def _save_title(visit: Visit, pad_id: str) -> None:
    """Give a pad the title that was typed, unless somebody gave it another meanwhile."""
    page = await visit.call("scratch_read", scratch_id=pad_id, max_tokens=_PAD_TOKENS)
    pad: JsonObject = page["scratchpad"]
    now = one_line(pad.get("title") or "")
    values = form_values({"title": now}, visit.form)
    if values["title"] == now:
        return
    if values["base_title"] != visit.form.get("base_title"):
        hint = "Load the pad again to change it."
        raise PageFailure(409, f"The title is {now!r} now" if now else "The title is gone", hint)
    metadata = {"title": values["title"].strip() or None}
    version = pad["version"]
    await visit.call("scratch_update", scratch_id=pad_id, metadata=metadata, if_version=version)


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/pads", "GET", show_pads),
    ("/pads/{id}", "GET", show_pad),
    ("/pads/{id}/manage", "POST", manage_pad),
    ("/pads/{id}/new", "GET", show_editor),
    ("/pads/{id}/new", "POST", save_cell),
    ("/pads/{id}/cells/{cell}", "GET", show_editor),
    ("/pads/{id}/cells/{cell}", "POST", save_cell),
    ("/cells/{id}", "GET", show_cell),
)
