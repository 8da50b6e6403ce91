"""Notes: list, reading, editing with a preview, versions, conflicts side by side."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from rolltop.core.tools import JsonObject
from rolltop.toolsets.notes import TOOLSET
from rolltop.toolsets.notes.models import CONFLICT_TAG
from rolltop.toolsets.notes.service import NoteService
from rolltop.web.background import read_background
from rolltop.web.diff import compare_texts
from rolltop.web.form_texts import form_values, read_list, restore_line_breaks
from rolltop.web.markdown import render_markdown
from rolltop.web.visit import PageFailure, PageRoute, ToolFailure, Visit, parse_number

_PAGE_SIZE: Final = 50
_FILTERS: Final = ("q", "tag")
_FIELDS: Final = ("text", "tags", "version", "base_text", "base_tags")


async def show_notes(visit: Visit) -> Response:
    """Show notes, last modified first or, searched, best first."""
    filters = {name: visit.argument(name) for name in _FILTERS}
    tags = [filters["tag"]] if filters["tag"] else None
    page = await visit.call(
        "note_list",
        q=filters["q"],
        tags=tags,
        limit=_PAGE_SIZE,
        preview_lines=2,
        cursor=visit.argument("cursor"),
    )
    return visit.render("notes", page=page, filters=filters)


async def show_note(visit: Visit) -> Response:
    """Show a note, or one of its earlier versions."""
    note = await _get_note(visit, parse_number(visit.argument("version")))
    html = await visit.run_in_thread(render_markdown, note["text"])
    background = await read_background(visit, f"rolltop://note/{note['id']}")
    original, lines = None, list[str]()
    if not visit.argument("version"):
        original = await _find_original(visit, note)
    if original is not None:
        lines = await visit.run_in_thread(compare_texts, original["text"], note["text"])
    shown: JsonObject = {"note": note, "html": html, "original": original, "lines": lines}
    return visit.render("note", **shown, **background)


async def _find_original(visit: Visit, note: JsonObject) -> JsonObject | None:
    """Return the note that a sync could not merge with this one, which it made a copy."""
    service: NoteService = visit.app.load_service(TOOLSET.service)
    original = await visit.read(service.find_original, note["id"])
    return None if original is None else await visit.call("note_get", id=original)


async def _get_note(visit: Visit, version: int | None = None) -> JsonObject:
    return await visit.call("note_get", id=visit.request.path_params["id"], local_version=version)


async def show_editor(visit: Visit) -> Response:
    """Show a note's text, to change it; without an id, a new one."""
    visit.require("note_save")
    note = await _get_note(visit) if "id" in visit.request.path_params else None
    fields = {"text": "", "tags": ""} if note is None else _fields_of(note)
    values: JsonObject = await visit.run_in_thread(form_values, fields)
    values["version"] = "" if note is None else note["local_version"]
    return visit.render("note_editor", note=note, values=values, html=None, failure=None)


def _fields_of(note: JsonObject) -> dict[str, str]:
    return {"text": note["text"], "tags": "\n".join(note["tags"])}


async def save_note(visit: Visit) -> Response:
    """Preview a note, or save it: a conflict shows both sides, and what either changes."""
    values = {name: visit.form.get(name, "") for name in _FIELDS}
    note: JsonObject | None = None
    try:
        note = await _get_note(visit) if "id" in visit.request.path_params else None
        if visit.form.get("action") == "preview":
            html = await visit.run_in_thread(render_markdown, values["text"])
            return visit.render("note_editor", note=note, values=values, html=html, failure=None)
        saved = await _write_note(visit, note)
    except ToolFailure as failure:
        if failure.code == "VERSION_CONFLICT" and note is not None:
            return await _show_conflict(visit, values)
        return visit.render(
            "note_editor", failure.status, note=note, values=values, html=None, failure=failure
        )
    return visit.redirect(f"/notes/{saved['id']}")


async def _write_note(visit: Visit, note: JsonObject | None) -> JsonObject:
    """Save what a form sent. Raises PageFailure."""
    form, text = visit.form, visit.form.get("text", "")
    arguments: dict[str, Any] = {"confirm_shrink": bool(form.get("confirm_shrink"))}
    if note is not None:
        text = await visit.run_in_thread(restore_line_breaks, text, note["text"])
        version = parse_number(form.get("version", "")) or 0
        arguments |= {"id": note["id"], "local_version": version}
    tags = read_list(form.get("tags", ""), note["tags"] if note else ())
    return await visit.call_exactly("note_save", {**arguments, "text": text, "tags": tags})


async def _show_conflict(visit: Visit, values: dict[str, str]) -> Response:
    """Show both sides: the note as it is now, and with what this person changed of it."""
    note = await _get_note(visit)
    values |= await visit.run_in_thread(form_values, _fields_of(note), values)
    lines = await visit.run_in_thread(compare_texts, note["text"], values["text"])
    return visit.render("note_conflict", 409, note=note, values=values, lines=lines)


async def show_versions(visit: Visit) -> Response:
    """List a note's versions; with two numbers, show what changed from one to the other."""
    note = await _get_note(visit)
    history = await visit.call(
        "note_manage", action="history", id=note["id"], cursor=visit.argument("cursor")
    )
    old, new = parse_number(visit.argument("old")), parse_number(visit.argument("new"))
    lines = None
    if old and new:
        texts = [(await _get_note(visit, version))["text"] for version in (old, new)]
        lines = await visit.run_in_thread(compare_texts, *texts)
    return visit.render("note_versions", note=note, history=history, lines=lines, old=old, new=new)


async def _take_copy(visit: Visit) -> Response:
    """Give a note the text of the copy that a sync made of it, and delete the copy."""
    form = visit.form
    copy = await _get_note(visit)
    original = await _find_original(visit, copy)
    if original is None:
        raise PageFailure(404, "There is no other text any more")
    version = copy["local_version"]
    if parse_number(form.get("version", "")) != version:
        hint = "Load the page again, and take the text that is there now."
        raise PageFailure(409, "This text has changed since it was shown", hint)
    taken: JsonObject = {"id": original["id"], "text": copy["text"], "confirm_shrink": True}
    taken["tags"] = [tag for tag in copy["tags"] if tag != CONFLICT_TAG]
    taken["local_version"] = parse_number(form.get("original", "")) or 0
    await visit.call_exactly("note_save", taken)
    await visit.call("note_manage", action="trash", id=copy["id"], local_version=version)
    return visit.redirect(f"/notes/{original['id']}")


async def manage_note(visit: Visit) -> Response:
    """Restore a version, move a note to the trash or out of it, or settle a conflict."""
    note_id, form = visit.request.path_params["id"], visit.form
    action = form.get("action", "")
    if action == "take":
        return await _take_copy(visit)
    if action not in {"restore", "trash", "untrash", "delete_permanently"}:
        raise PageFailure(400, "No button of this page does that")
    await visit.call(
        "note_manage",
        action=action,
        id=note_id,
        local_version=parse_number(form.get("version", "")),
        version=parse_number(form.get("restore", "")),
    )
    is_gone = action in {"trash", "delete_permanently"}
    return visit.redirect("/notes" if is_gone else f"/notes/{note_id}")


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/notes", "GET", show_notes),
    ("/notes/new", "GET", show_editor),
    ("/notes/new", "POST", save_note),
    ("/notes/{id}", "GET", show_note),
    ("/notes/{id}/edit", "GET", show_editor),
    ("/notes/{id}/edit", "POST", save_note),
    ("/notes/{id}/versions", "GET", show_versions),
    ("/notes/{id}/manage", "POST", manage_note),
)
