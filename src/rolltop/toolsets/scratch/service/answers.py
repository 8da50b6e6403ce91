"""What the tools answer: calls put together, results in their envelopes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from rolltop.core import budget
from rolltop.core.budget import Page
from rolltop.core.cursor import narrowed
from rolltop.toolsets.scratch.models import LONGEST_PAGE, moment
from rolltop.toolsets.scratch.service import (
    accesses,
    cells,
    checking,
    checks,
    drafts,
    fitting,
    heads,
    namespaces,
    pads,
    parts,
    places,
    reading,
    schemas,
    searching,
    writing,
)
from rolltop.toolsets.scratch.store.pads import title_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.budget import Text
    from rolltop.core.call import Call
    from rolltop.toolsets.scratch.models import JsonObject, Mode, Order
    from rolltop.toolsets.scratch.models.records import Written

Texts = "Sequence[str] | None"
Which = tuple[
    "Sequence[str] | None", "Sequence[int] | None", "Sequence[str] | None", "Sequence[str] | None"
]
"""cell_ids, indices, tags, namespaces."""


async def create(
    call: Call,
    scratch_id: str | None,
    metadata: Mapping[str, Any] | None,
    namespace: str | None,
    tags: Sequence[str] | None,
    given_cells: Sequence[object] | None,
) -> JsonObject:
    """Return the answer of scratch_create."""
    outcome = await writing.create(call, scratch_id, metadata, namespace, tags, given_cells)
    return _written(call, *outcome)


async def append(call: Call, scratch_id: str, cell: object, if_version: int | None) -> JsonObject:
    """Return the answer of scratch_append_cell."""
    outcome = await writing.append(call, scratch_id, cell, if_version)
    return _written(call, *outcome, one=True)


async def replace_cell(  # what the tool takes
    call: Call,
    scratch_id: str,
    cell_id: str | None,
    position: int | None,
    cell: object,
    new_position: int | None,
    if_version: int | None,
) -> JsonObject:
    """Return the answer of scratch_replace_cell."""
    outcome = await writing.replace_cell(
        call, scratch_id, cell_id, position, cell, new_position, if_version
    )
    return _written(call, *outcome, one=True)


async def edit(
    call: Call, scratch_id: str, cell_id: str, edits: Sequence[object], if_version: int | None
) -> JsonObject:
    """Return the answer of scratch_edit_cell."""
    outcome = await writing.edit(call, scratch_id, cell_id, edits, if_version)
    return _written(call, *outcome, one=True)


async def delete_cell(
    call: Call, scratch_id: str, cell_id: str, if_version: int | None
) -> JsonObject:
    """Return the answer of scratch_delete_cell."""
    wanted_id, named = checks.identifier(scratch_id), checks.identifier(cell_id, "cell_id")
    written = await call.write(cells.delete_cell, wanted_id, named, if_version)
    call.desk.changed(call.scope, f"rolltop://cell/{named}")
    told: JsonObject = {"cell_id": named, "deleted": True}
    room = replace(call, budget=max(1, call.budget - budget.count(told))) if call.budget else call
    return {**_written(room, written, []), **told}


async def update(
    call: Call,
    scratch_id: str,
    metadata: Mapping[str, Any] | None,
    tags: Sequence[str] | None,
    namespace: str | None,
    if_version: int | None,
) -> JsonObject:
    """Return the answer of scratch_update."""
    default = writing.limits(call).namespace
    given = drafts.pad_fields(metadata, namespace, tags, default)
    pads.require_something(given)
    wanted_id = checks.identifier(scratch_id)
    return _written(call, await call.write(pads.update, wanted_id, given, if_version), [])


async def delete(call: Call, scratch_id: str) -> JsonObject:
    """Return the answer of scratch_delete."""
    wanted_id = checks.identifier(scratch_id)
    deleted = await call.write(pads.delete, wanted_id)
    if deleted:
        call.desk.changed(call.scope, f"rolltop://pad/{wanted_id}")
    return {"ok": True, "scratch_id": wanted_id, "deleted": deleted}


async def restore(call: Call, scratch_id: str | None) -> Page | JsonObject:
    """Return the answer of scratch_restore: the pad, or the trash."""
    if scratch_id is not None:
        return _written(call, await writing.restore(call, checks.identifier(scratch_id)), [])
    after = places.by_time("trash", call.cursor)
    found, more = await call.read(pads.trash_page, after, LONGEST_PAGE)

    def cursor_after(at: int) -> str:
        pad = found[at]
        return places.after_time("trash", pad.deleted_at or pad.updated_at, pad.scratch_id)

    items = [{**pad.entry, "deleted_at": moment(pad.deleted_at)} for pad in found if pad.deleted_at]
    return Page(items, lambda some: {"ok": True, "scratchpads": some}, cursor_after, more)


async def read(
    call: Call,
    scratch_id: str,
    which: Which,
    lines: parts.Lines,
    *,
    with_metadata: bool = True,
    cells_alone: bool = False,
) -> Page | Text | JsonObject:
    """Return the answer of scratch_read; with `cells_alone` without what the pad says of itself."""
    wanted_id, wanted = checks.identifier(scratch_id), checks.wanted(*which)
    mark = narrowed("", wanted_id, wanted.cell_ids, wanted.indices, wanted.tags)
    # The call that goes on in one cell by its lines still has the cursor that led to the cell.
    parts.check(call.cursor)
    going_on = call.cursor if lines == (None, None, None) else None
    part = heads.place(mark, going_on)
    start = parts.start(mark, going_on) if part is None else None
    start = parts.FIRST if cells_alone else start
    position = start and start.place
    # The first answer holds the metadata; those that go on do not repeat it.
    first = with_metadata and start is None
    found = await call.read(
        reading.read, wanted_id, wanted, position, call.budget, with_metadata=first
    )
    accesses.note(call.desk, call.scope.user_id, wanted_id, found.at)
    names = ("cell_ids", "indices", "tags", "namespaces")
    asked = {name: value for name, value in zip(names, which, strict=True) if value is not None}
    sent = {"scratch_id": scratch_id, **asked, "include_metadata": with_metadata}
    limits = parts.Limits(call.budget, call.desk.settings["max_result_tokens"])
    return parts.answer(replace(found, mark=mark), lines, start, part, limits, sent)


async def list_cells(
    call: Call, scratch_id: str, cell_ids: Sequence[str] | None, tags: Sequence[str] | None
) -> Page:
    """Return the answer of scratch_list_cells."""
    wanted_id, wanted = checks.identifier(scratch_id), checks.wanted(cell_ids, None, tags)
    kind = narrowed("outline", wanted_id, wanted.cell_ids, wanted.tags)
    place = places.following(kind, call.cursor)
    pad, at, found = await call.read(cells.list_cells, wanted_id, wanted)
    accesses.note(call.desk, call.scope.user_id, wanted_id, at)
    envelope = {"ok": True, "scratch_id": wanted_id, "cell_count": pad.cell_count}
    ids = [cell.cell_id for cell in found]
    first = places.resumed(ids, place)
    return Page(
        [cell.outline for cell in found[first:]],
        lambda some: {**envelope, "cells": some},
        lambda index: places.after(kind, ids, first + index),
    )


async def list_pads(
    call: Call,
    given_namespaces: Sequence[str] | None,
    tags: Sequence[str] | None,
    limit: int,
    order: Order,
) -> Page:
    """Return the answer of scratch_list."""
    wanted = checks.wanted(None, None, tags, given_namespaces)
    filters = (wanted.namespaces, wanted.tags)
    kind = narrowed(f"pads-{order}", *filters)
    if order == "title":
        return await _list_titles(call, kind, filters, limit)
    after = places.by_time(kind, call.cursor)
    found, more = await call.read(pads.page, *filters, order, after, limit)

    def cursor_after(at: int) -> str:
        pad = found[at]
        moved = pad.updated_at if order == "recent" else pad.created_at
        return places.after_time(kind, moved, pad.scratch_id)

    items = [pad.entry for pad in found]
    return Page(items, lambda some: {"ok": True, "scratchpads": some}, cursor_after, more)


async def list_tags(call: Call, given_namespaces: Sequence[str] | None) -> Page:
    """Return the answer of scratch_list_tags."""
    wanted = checks.wanted(None, None, None, given_namespaces)
    kind = narrowed("tags", wanted.namespaces)
    place = places.following(kind, call.cursor)
    of_pads, of_cells = await call.read(pads.tags_in_use, wanted.namespaces)
    tagged = [("pad", tag) for tag in of_pads] + [("cell", tag) for tag in of_cells]
    ids = [places.label(kind, tag) for kind, tag in tagged]
    first = places.resumed(ids, place)
    filtered = {"namespace_filter": list(wanted.namespaces)} if wanted.namespaces else {}

    def envelope(some: list[JsonObject]) -> JsonObject:
        of = {kind: [tag[kind] for tag in some if kind in tag] for kind in ("pad", "cell")}
        return {"ok": True, "scratchpad_tags": of["pad"], "cell_tags": of["cell"], **filtered}

    listed: list[JsonObject] = [{kind: tag} for kind, tag in tagged[first:]]
    return Page(listed, envelope, lambda at: places.after(kind, ids, first + at))


async def validate(
    call: Call,
    scratch_id: str,
    cell_ids: Sequence[str] | None,
    indices: Sequence[int] | None,
) -> Page:
    """Return the answer of scratch_validate."""
    wanted_id, wanted = checks.identifier(scratch_id), checks.wanted(cell_ids, indices)
    kind = narrowed("results", wanted_id, wanted.cell_ids, wanted.indices)
    place = places.following(kind, call.cursor)
    first, results = await checking.validate(call, wanted_id, wanted, place)
    ids = [result["cell_id"] for result in results]
    return Page(
        results,
        lambda some: {"ok": True, "scratch_id": wanted_id, "results": some},
        lambda at: places.after(kind, ids, at, first),
    )


async def search(
    call: Call,
    query: str,
    given_namespaces: Sequence[str] | None,
    tags: Sequence[str] | None,
    limit: int,
    mode: Mode,
) -> Page:
    """Return the answer of scratch_search."""
    wanted = checks.wanted(None, None, tags, given_namespaces)
    kind = narrowed("hits", query, wanted.namespaces, wanted.tags, mode)
    first = places.number(kind, call.cursor)
    found = await searching.find(call, query, wanted, limit, mode)
    return Page(
        found.hits[first:],
        lambda some: {"ok": True, "hits": some, "embedder": found.embedder, "mode": found.mode},
        lambda at: places.written(kind, first + at + 1, ""),
    )


async def schema(
    call: Call,
    action: Literal["list", "get", "upsert", "delete"],
    scratch_id: str,
    schema_id: str | None,
    given: Mapping[str, Any] | None,
) -> Page | JsonObject:
    """Return the answer of scratch_schema."""
    wanted_id = checks.identifier(scratch_id)
    if action == "list":
        return await _list_schemas(call, wanted_id)
    named = None if schema_id is None else checks.identifier(schema_id, "schema_id")
    if action == "upsert":
        if given is None:
            raise checks.wrong("schema is required", "Send schema as {id?, name?, schema}.")
        entry = drafts.schema_entry({"id": named, **given} if named else given)
        if named not in {None, entry.id}:
            raise checks.wrong("schema_id and schema.id differ", "Send one of the two.")
        kept = await call.write(schemas.upsert_schema, wanted_id, entry)
        shown = fitting.cuttable(kept.shown, "schema", call.budget)
        return _changed(call, wanted_id, {"schema": shown})
    if named is None:
        raise checks.wrong("schema_id is required", "scratch_schema with action list shows ids.")
    if action == "delete":
        gone = await call.write(schemas.delete_schema, wanted_id, named)
        return _changed(call, wanted_id, {"schema_id": gone, "deleted": True})
    found = await call.read(schemas.get_schema, wanted_id, named)
    return {"ok": True, "schema": fitting.cuttable(found.shown, "schema", call.budget)}


async def list_namespaces(call: Call) -> Page:
    """Return the answer of scratch_namespace with action list."""
    after = places.by_time("namespaces", call.cursor)
    found, more = await call.read(namespaces.page, after, LONGEST_PAGE)
    items = [
        {"namespace": name, "scratchpad_count": used, "created_at": moment(created)}
        for name, used, created in found
    ]
    return Page(
        items,
        lambda some: {"ok": True, "namespaces": some},
        lambda at: places.after_time("namespaces", found[at][2], places.name_id(found[at][0])),
        more,
    )


async def rename_namespace(
    call: Call, old: str | None, new: str | None, *, migrate: bool
) -> JsonObject:
    """Return the answer of scratch_namespace with action rename."""
    before, after = _namespace(old, "old_namespace"), _namespace(new, "new_namespace")
    moved = await call.write(namespaces.rename, before, after, migrate=migrate)
    return {"ok": True, "namespace": after, "migrated_count": moved}


async def namespace(
    call: Call, action: Literal["create", "delete"], name: str | None, *, with_pads: bool
) -> JsonObject:
    """Return the answer of scratch_namespace with action create or delete."""
    wanted = _namespace(name, "namespace")
    if action == "create":
        created = await call.write(namespaces.create, wanted)
        return {"ok": True, "namespace": wanted, "created": created}
    deleted, removed = await call.write(namespaces.delete, wanted, with_pads=with_pads)
    return {
        "ok": True,
        "namespace": wanted,
        "deleted": deleted,
        "removed_scratchpads": removed,
    }


def _written(
    call: Call, written: Written, results: Sequence[JsonObject], *, one: bool = False
) -> JsonObject:
    """Return a write's answer, after telling those who listen."""
    call.desk.changed(call.scope, f"rolltop://pad/{written.pad.scratch_id}")
    for cell_id in written.written:
        call.desk.changed(call.scope, f"rolltop://cell/{cell_id}")
    return fitting.fitted(written, results, call.budget, one=one)


def _changed(call: Call, scratch_id: str, answer: JsonObject) -> JsonObject:
    call.desk.changed(call.scope, f"rolltop://pad/{scratch_id}")
    return {"ok": True, **answer}


async def _list_titles(
    call: Call, kind: str, filters: tuple[Sequence[str], Sequence[str]], limit: int
) -> Page:
    """Return pads by title, narrowed to namespaces and tags."""
    place = places.by_title(kind, call.cursor)
    found, more = await call.read(pads.titled_page, *filters, place, limit)
    before = 0 if place is None else place.position

    def cursor_after(at: int) -> str:
        pad = found[at]
        return places.after_title(kind, pad.scratch_id, title_key(pad.metadata), before + at + 1)

    items = [pad.entry for pad in found]
    return Page(items, lambda some: {"ok": True, "scratchpads": some}, cursor_after, more)


async def _list_schemas(call: Call, scratch_id: str) -> Page:
    kind = narrowed("schemas", scratch_id)
    place = places.following(kind, call.cursor)
    found = await call.read(schemas.list_schemas, scratch_id)
    ids = [entry.id for entry in found]
    first = places.resumed(ids, place)
    return Page(
        [fitting.cuttable(entry.shown, "schema", call.budget) for entry in found[first:]],
        lambda some: {"ok": True, "schemas": some},
        lambda at: places.after(kind, ids, first + at),
    )


def _namespace(given: str | None, what: str) -> str:
    if given is None:
        raise checks.wrong(f"{what} is required", f"Call again with {what}.")
    return checks.name(given, what)
