"""The journal: what was changed, by whom, what exactly, and taking it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from starlette.responses import Response

from rolltop.core.db import Tx
from rolltop.core.journal import history
from rolltop.core.journal.history import Entry, EntryFilter
from rolltop.core.principal import ALL_PROJECTS
from rolltop.core.tools import JsonObject
from rolltop.toolsets.desk.history import describe
from rolltop.web.diff import compare_texts
from rolltop.web.visit import PageFailure, PageRoute, Visit, find_number, parse_number

_FILTERS: Final = ("actor", "tool", "project", "since", "uri")
_UNDO_FIELDS: Final = ("operation", "since", "actor")


async def show_journal(visit: Visit) -> Response:
    """Show the journal, newest first, by who, with what, in which project and since when."""
    filters = {name: visit.argument(name) for name in _FILTERS}
    page = await visit.call("desk_history", **filters, cursor=visit.argument("cursor"))
    changes, cursor = page["changes"], page.get("next_cursor", "")
    return visit.render("journal", changes=changes, filters=filters, cursor=cursor)


async def show_change(visit: Visit) -> Response:
    """Show what one entry of the journal changed, field by field."""
    visit.require("desk_history")
    sequence = parse_number(visit.request.path_params["sequence"])
    found = await visit.read(_read_change, sequence)
    if found is None:
        raise PageFailure(404, f"The journal has no entry {sequence} of yours")
    change, fields = found
    return visit.render("change", change=change, fields=fields)


def _read_change(tx: Tx, sequence: int | None) -> tuple[JsonObject, list[JsonObject]] | None:
    found = history.read_entries(tx, EntryFilter(sequences=[sequence or 0]), limit=1)
    if not found:
        return None
    texts = history.read_texts(tx, history.text_digests(found))
    return describe(tx, found)[0], list(_changed_fields(found[0], texts))


def _changed_fields(entry: Entry, texts: Mapping[str, str]) -> Iterator[JsonObject]:
    """Yield each changed field, of a text its lines as a diff."""
    for change in entry.changes:
        before: Mapping[str, Any] = change["before"] or {}
        after: Mapping[str, Any] = change["after"] or {}
        for name in {**before, **after}:
            old, new = (_field_text(row.get(name), texts) for row in (before, after))
            if old == new:
                continue
            field: JsonObject = {"table": change["table"], "name": name, "old": old, "new": new}
            if "\n" in old or "\n" in new:
                field["lines"] = compare_texts(old, new)
            yield field


def _field_text(value: object, texts: Mapping[str, str]) -> str:
    digest = history.digest_of(value)
    if digest is not None:
        return texts.get(digest, "(no longer kept)")
    return "" if value is None else str(value)


async def show_undo(visit: Visit) -> Response:
    """Show what an undo would take back; nothing is changed yet."""
    wanted = {name: visit.argument(name) for name in _UNDO_FIELDS}
    since = find_number(wanted["since"])
    if since is not None:
        wanted["since"] = str(await visit.read(_before_operation, since, wanted["actor"]))
    return await _render_undo(visit, wanted, await _list_undone(visit, wanted))


def _before_operation(tx: Tx, since: int, actor: str) -> int:
    """Return the number after which all of the operation stands that comes next or goes on."""
    wanted = EntryFilter(after=since, client=actor or None)
    after = history.read_entries(tx, wanted, limit=1, heads_only=True)
    whole = EntryFilter(operations=[entry.operation for entry in after])
    first = history.read_entries(tx, whole, limit=1, heads_only=True)
    return min([since, *(entry.sequence - 1 for entry in first)])


async def _list_undone(visit: Visit, wanted: Mapping[str, str]) -> JsonObject:
    """Return what a client did since then, newest first; nothing for one operation."""
    if not wanted["since"]:
        return {"changes": []}
    return await visit.call(
        "desk_history", since=wanted["since"], actor=wanted["actor"], project=ALL_PROJECTS
    )


async def _render_undo(
    visit: Visit, wanted: Mapping[str, str], done: JsonObject, *, moved_on: bool = False
) -> Response:
    tried = await visit.call("desk_undo", **wanted, project=ALL_PROJECTS, dry_run=True)
    return visit.render(
        "undo",
        409 if moved_on else 200,
        wanted=wanted,
        tried=tried,
        changes=done["changes"],
        older=done.get("next_cursor"),
        newest=_newest(done),
        moved_on=moved_on,
    )


def _newest(done: JsonObject) -> str:
    return str(done["changes"][0]["sequence"]) if done["changes"] else ""


async def undo(visit: Visit) -> Response:
    """Take it back; if the client did more since it was shown, show that instead."""
    wanted = {name: visit.form.get(name, "") for name in _UNDO_FIELDS}
    done = await _list_undone(visit, wanted)
    if visit.form.get("newest", "") != _newest(done):
        return await _render_undo(visit, wanted, done, moved_on=True)
    await visit.call("desk_undo", **wanted, project=ALL_PROJECTS)
    return visit.redirect("/journal")


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/journal", "GET", show_journal),
    ("/journal/{sequence}", "GET", show_change),
    ("/undo", "GET", show_undo),
    ("/undo", "POST", undo),
)
