"""What the tools do, and what the toolset remembers between calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal
from uuid import UUID

from rolltop.core.addresses import record_address
from rolltop.core.context import AppContext, CallContext
from rolltop.core.cursor import filtered_kind
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.errors import InvalidArgument, RolltopError
from rolltop.core.fulltext.documents import FoundText, TextQuery
from rolltop.core.journal.history import Entry
from rolltop.core.pagination import Page, TextPage, format_timestamp
from rolltop.core.principal import ALL_PROJECTS, Principal
from rolltop.core.settings import DEFAULT_SOURCE
from rolltop.toolsets.scratch.models import (
    MAX_HITS,
    MAX_PAGE_SIZE,
    JsonObject,
    PadOrder,
    SearchMode,
)
from rolltop.toolsets.scratch.models.inputs import SchemaInput
from rolltop.toolsets.scratch.models.records import (
    CellSelection,
    Pad,
    PadLimits,
    SchemaEntry,
    ValidationSummary,
)
from rolltop.toolsets.scratch.service import (
    cell_input,
    cursors,
    namespaces,
    pad_lists,
    pad_search,
    pad_writer,
    pads,
    read_response,
    validation_runner,
)
from rolltop.toolsets.scratch.store import cell_rows, pad_rows

CellSelector = tuple[
    "Sequence[str] | None", "Sequence[int] | None", "Sequence[str] | None", "Sequence[str] | None"
]
"""cell_ids, indices, tags, namespaces."""


class ScratchService:
    """Scratchpads of one process: the tools' work, checking processes, model and access times."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self.search_index = pad_search.PadSearch(app)
        # Losing the last seconds of it costs a little of the order in which pads are evicted.
        self._access_times: dict[str, dict[str, datetime]] = {}

    @cached_property
    def limits(self) -> PadLimits:
        """The limits in the settings. Raises CONFIG_ERROR for a default namespace that is none."""
        settings = self._app.settings
        try:
            namespace = cell_input.name(
                settings["scratch.default_namespace"], "scratch.default_namespace"
            )
        except InvalidArgument as refused:
            hint = "Set scratch.default_namespace to 1 to 200 characters and start again."
            raise RolltopError(refused.message, code="CONFIG_ERROR", hint=hint) from None
        # A file that nobody trusts may keep pads from being made, but removes none.
        is_untrusted = "scratch.max_scratchpads" in settings.from_project
        return PadLimits(
            pads=settings["scratch.max_scratchpads"],
            cells=settings["scratch.max_cells_per_pad"],
            cell_bytes=settings["scratch.max_cell_bytes"],
            policy="fail" if is_untrusted else settings["scratch.eviction_policy"],
            namespace=namespace,
        )

    @cached_property
    def validation(self) -> validation_runner.ValidationRunner:
        """The checking processes."""
        return validation_runner.ValidationRunner(self._app.settings["scratch.validation_timeout"])

    def close(self) -> None:
        """End the checking processes, and write which pads were read last."""
        if "validation" in vars(self):
            self.validation.close()
        for user_id, moments in self._take_access_times():
            principal = Principal.for_user(user_id)
            self._app.database.write_sync(principal, pad_rows.update_access_times, moments)

    def writer(self, call: CallContext, *, verbose: bool) -> pad_writer.PadWriter:
        """Return what the writing tools do, for one call."""
        return pad_writer.PadWriter(self, call, verbose)

    async def list_trash(self, call: CallContext) -> Page:
        """List the pads in the trash."""
        position = cursors.parse_position("trash", call.cursor)
        ids, found = await call.read(pad_lists.list_trash, position, MAX_PAGE_SIZE)
        return pad_lists.pad_page("trash", ids, found)

    async def delete_pad(self, call: CallContext, scratch_id: str) -> JsonObject:
        """Move a pad to the trash."""
        (pad_id,) = await self.find_ids(call, scratch_id)
        deleted = await call.write(pads.delete_pad, pad_id)
        if deleted:
            pad_writer.notify_pad(call, pad_id)
        if not deleted:
            return {"ok": True, "scratch_id": scratch_id, "deleted": False}
        named = {"scratch_id": pad_id, "uri": record_address("pad", pad_id)}
        return {"ok": True, **named, "deleted": True}

    async def read_pad(
        self,
        call: CallContext,
        scratch_id: str,
        selector: CellSelector,
        lines: read_response.Lines = (None, None, None),
        *,
        with_metadata: bool = True,
        with_header: bool = True,
    ) -> Page | TextPage:
        """Read a pad with some of its cells; `with_header` False leaves its own fields out."""
        pad_id, *ids = await self.find_ids(call, scratch_id, selector[0])
        selection = cell_input.cell_selection(ids, *selector[1:])
        kind = read_response.cursor_kind(pad_id, selection)
        position, offset = None, 0
        # The call that continues in one cell by its lines still has the cursor that led to it.
        if call.cursor is not None and lines != (None, None, None):
            read_response.check_cursor(call.cursor)
        elif call.cursor is not None:
            position, (offset,) = cursors.decode(kind, call.cursor, 1)
        names = ("cell_ids", "indices", "tags", "namespaces", "line_start", "line_count")
        values = (*selector, *lines, call.cursor)
        given = {
            name: value
            for name, value in zip((*names, "char_start", "cursor"), values, strict=True)
            if value is not None
        }
        request = read_response.ReadRequest(
            cursor_kind=kind,
            arguments={"scratch_id": scratch_id, **given, "include_metadata": with_metadata},
            lines=lines,
            position=position,
            offset=offset,
            budget=call.budget,
            max_budget=call.max_budget,
            with_header=with_header and position is None,
            with_metadata=with_metadata,
        )
        view = await call.read(read_response.read_pad, pad_id, selection, request)
        self._note_access(call, pad_id, view.at)
        return read_response.ReadAnswer(view, request).build()

    async def list_cells(
        self,
        call: CallContext,
        scratch_id: str,
        cell_ids: Sequence[str] | None,
        tags: Sequence[str] | None,
    ) -> Page:
        """List a pad's cells without content."""
        pad_id, *ids = await self.find_ids(call, scratch_id, cell_ids)
        selection = cell_input.cell_selection(ids, None, tags)
        kind = filtered_kind("outline", pad_id, selection.cell_ids, selection.tags)
        pad, at, found = await call.read(pads.list_cells, pad_id, selection)
        self._note_access(call, pad_id, at)
        envelope = {"ok": True, "scratch_id": pad_id, "uri": pad.uri, "cell_count": pad.cell_count}
        return cursors.id_page(
            kind,
            call.cursor,
            [cell.cell_id for cell in found],
            [cell.outline for cell in found],
            lambda items: {**envelope, "cells": items},
        )

    async def list_pads(
        self,
        call: CallContext,
        given_namespaces: Sequence[str] | None,
        tags: Sequence[str] | None,
        limit: int,
        order: PadOrder,
    ) -> Page:
        """List pads."""
        selection = cell_input.cell_selection(None, None, tags, given_namespaces)
        kind = filtered_kind(f"pads-{order}", selection.namespaces, selection.tags)
        selection, left_out = await self._leave_out_others(call, selection, given_namespaces)
        position = cursors.parse_position(kind, call.cursor)
        ids, found = await call.read(
            pad_lists.list_pads, selection.namespaces, selection.tags, order, position, limit
        )
        return pad_lists.pad_page(kind, ids, found, left_out)

    async def list_tags(self, call: CallContext, given_namespaces: Sequence[str] | None) -> Page:
        """List the tags of pads and cells."""
        selection = cell_input.cell_selection(None, None, None, given_namespaces)
        kind = filtered_kind("tags", selection.namespaces)
        names = list(selection.namespaces)
        filtered: JsonObject = {"namespace_filter": names} if names else {}
        selection, left_out = await self._leave_out_others(call, selection, given_namespaces)
        filtered |= left_out
        of_pads, of_cells = await call.read(pad_rows.tags_in_use, selection.namespaces)
        items = [*({"pad": tag} for tag in of_pads), *({"cell": tag} for tag in of_cells)]
        ids = [f"{side} {tag}" for item in items for side, tag in item.items()]

        def envelope(some: list[JsonObject]) -> JsonObject:
            pad_tags, cell_tags = ([i[k] for i in some if k in i] for k in ("pad", "cell"))
            return {"ok": True, "scratchpad_tags": pad_tags, "cell_tags": cell_tags, **filtered}

        return cursors.id_page(kind, call.cursor, ids, items, envelope)

    async def validate_cells(
        self,
        call: CallContext,
        scratch_id: str,
        cell_ids: Sequence[str] | None,
        indices: Sequence[int] | None,
    ) -> Page:
        """Validate stored cells."""
        pad_id, *ids = await self.find_ids(call, scratch_id, cell_ids)
        selection = cell_input.cell_selection(ids, indices)
        kind = filtered_kind("results", pad_id, selection.cell_ids, selection.indices)
        position = cursors.parse_position(kind, call.cursor)
        first, results = await self.validation.validate_cells(call, pad_id, selection, position)
        ids = [result["cell_id"] for result in results]
        shown = [{**one, "uri": record_address("cell", one["cell_id"])} for one in results]
        return Page(
            shown,
            lambda items: {"ok": True, "scratch_id": pad_id, "results": items},
            lambda at: cursors.cursor_after(kind, ids, at, first),
        )

    async def search(
        self,
        call: CallContext,
        query: str,
        given_namespaces: Sequence[str] | None,
        tags: Sequence[str] | None,
        limit: int,
        mode: SearchMode,
    ) -> Page:
        """Search pads and cells."""
        selection = cell_input.cell_selection(None, None, tags, given_namespaces)
        kind = filtered_kind("hits", query, selection.namespaces, selection.tags, mode)
        page = pad_search.HitPage(limit, limit + 1)
        if call.cursor is not None:
            position, (window, by_words) = cursors.decode(kind, call.cursor, 2)
            page = pad_search.HitPage(limit, max(2, min(window, MAX_HITS + 1)), position)
            mode = "words" if by_words else mode  # a further page has the order of the first one
        selection, left_out = await self._leave_out_others(call, selection, given_namespaces)
        found = await self.search_index.search(call, query, selection, page, mode)
        places = {shown: at for at, shown in enumerate(found.ranked)}
        how: JsonObject = {"embedder": found.embedder, "mode": found.mode, **left_out}
        how |= found.nothing
        if found.pending:
            how["pending"] = found.pending

        ran = (page.window, int(found.mode == "words"))

        def cursor_after(index: int) -> str:
            hit = found.hits[index]
            at = places[hit["cell_id"] or hit["scratch_id"]] + 1
            return cursors.encode(kind, cursors.position_at(found.ranked, at), *ran)

        return Page(
            found.hits,
            lambda items: {"ok": True, "hits": items, **how},
            cursor_after,
            found.has_more,
        )

    async def find_texts(self, call: CallContext, query: TextQuery) -> list[FoundText]:
        """Return the pads and cells that answer a search best, for the desk's own search."""
        named = query.project if query.project != ALL_PROJECTS else None
        selection = cell_input.cell_selection(None, None, query.tags, [named] if named else None)
        if query.project is None:
            selection, _ = await self._leave_out_others(call, selection, None)
        return await self.search_index.find_texts(call, query, selection)

    async def manage_namespace(
        self,
        call: CallContext,
        action: Literal["list", "create", "rename", "delete"],
        given: Mapping[str, str | None],
        *,
        migrate: bool,
        with_pads: bool,
    ) -> Page | JsonObject:
        """List, create, rename or delete namespaces, given by the names of the parameters."""
        if action == "list":
            found = await call.read(pad_rows.list_namespaces)
            return cursors.id_page(
                "namespaces",
                call.cursor,
                [one["namespace"] for one in found],
                [{**one, "created_at": format_timestamp(one["created_at"])} for one in found],
                lambda some: {"ok": True, "namespaces": some},
            )
        if action == "rename":
            old = (
                "namespace"
                if given["namespace"] and not given["old_namespace"]
                else "old_namespace"
            )
            before, after = (
                namespaces.require_name(given[what], what) for what in (old, "new_namespace")
            )
            moved = await call.write(namespaces.rename_namespace, before, after, migrate=migrate)
            return {"ok": True, "namespace": after, "migrated_count": moved}
        named = namespaces.require_name(given["namespace"], "namespace")
        if action == "create":
            created = await call.write(pad_rows.register_namespace, named)
            return {"ok": True, "namespace": named, "created": created}
        deleted, removed = await call.write(namespaces.delete_namespace, named, with_pads=with_pads)
        outcome = {"deleted": deleted, "removed_scratchpads": removed}
        return {"ok": True, "namespace": named, **outcome}

    async def manage_schema(
        self,
        call: CallContext,
        action: Literal["list", "get", "upsert", "delete"],
        scratch_id: str,
        schema_id: str | None,
        given: SchemaInput | None,
    ) -> Page | JsonObject:
        """List, read, write or delete a pad's schemas."""
        (pad_id,) = await self.find_ids(call, scratch_id)
        done: JsonObject = {"ok": True, "uri": record_address("pad", pad_id)}
        if action == "list":
            kind = filtered_kind("schemas", pad_id)
            found = await call.read(pads.list_schemas, pad_id)
            items = [pad_writer.shown_whole(vars(one), "schema", call.budget) for one in found]
            ids = [entry.id for entry in found]
            return cursors.id_page(
                kind, call.cursor, ids, items, lambda some: {**done, "schemas": some}
            )

        def answer(entry: SchemaEntry) -> JsonObject:
            whole = pad_writer.shown_whole(vars(entry), "schema", call.budget)
            return {**done, "schema": whole}

        if action == "upsert":
            named = None if schema_id is None else cell_input.identifier(schema_id, "schema_id")
            if given is None:
                raise cell_input.invalid_value(
                    "schema is required", "Send schema as {id?, name?, schema}."
                )
            change = cell_input.parse_schema({"id": named, **given} if named else given)
            if named not in {None, change.id}:
                raise cell_input.invalid_value(
                    "schema_id and schema.id differ", "Send one of the two."
                )
            await self.validation.require_schemas([change.schema])
            entry = await call.write_once(answer, pads.upsert_schema, pad_id, change)
            pad_writer.notify_pad(call, pad_id)
        elif schema_id is None:
            raise cell_input.invalid_value(
                "schema_id is required", "scratch_schema with action list shows ids."
            )
        elif action == "delete":
            deleted = await call.write(pads.delete_schema, pad_id, schema_id)
            pad_writer.notify_pad(call, pad_id)
            return {**done, "schema_id": deleted, "deleted": True}
        else:
            entry = await call.read(pads.get_schema, pad_id, schema_id)
        return answer(entry)

    async def evict_idle_pads(self) -> None:
        """Evict every user's pads that were idle for longer than the setting allows."""
        age = timedelta(seconds=self._app.settings["scratch.preempt_age"])
        for user_id in await self._app.database.read(SYSTEM, pad_rows.idle_owners, age):
            reads = self.pending_access_times(user_id)
            principal = Principal.for_user(user_id)
            evicted = await self._app.database.write(principal, pads.evict_idle_pads, age, reads)
            if evicted:
                pad_writer.report_evicted(self._app, "preempt", user_id, len(evicted))

    def pending_access_times(self, user_id: str) -> dict[str, datetime]:
        """Copy when a user's pads were read, as far as that is not stored yet."""
        return dict(self._access_times.get(user_id, {}))

    async def write_access_times(self) -> None:
        """Store when pads were read; what fails to be written is dropped."""
        for user_id, moments in self._take_access_times():
            principal = Principal.for_user(user_id)
            await self._app.database.write(principal, pad_rows.update_access_times, moments)

    def limits_of(self, call: CallContext) -> PadLimits:
        """The limits for one call, whose project is the default namespace unless one is set."""
        is_set = self._app.settings.source("scratch.default_namespace") != DEFAULT_SOURCE
        project = self._project(call)
        return self.limits if is_set or not project else replace(self.limits, namespace=project)

    def _project(self, call: CallContext) -> str:
        """The call's project; under the seed's names there are none."""
        return "" if self._app.settings["names"] == "seed" else call.principal.project

    async def _leave_out_others(
        self, call: CallContext, selection: CellSelection, given: Sequence[str] | None
    ) -> tuple[CellSelection, JsonObject]:
        """Leave out other projects' namespaces where none is asked for; say how many those are."""
        project = self._project(call)
        if given or not project:
            return selection, {}
        own = (project, self.limits.namespace)
        in_view, others = await call.read(pad_rows.namespaces_in_view, *own)
        if not others:
            return selection, {}
        return replace(selection, namespaces=tuple(in_view)), {"other_projects": others}

    def _take_access_times(self) -> Iterable[tuple[str, dict[str, datetime]]]:
        taken, self._access_times = self._access_times, {}
        return taken.items()

    def _note_access(self, call: CallContext, scratch_id: str, moment: datetime) -> None:
        self._access_times.setdefault(call.principal.user_id, {})[scratch_id] = moment

    async def find_ids(
        self,
        call: CallContext,
        scratch_id: str,
        cell_ids: Sequence[str] | None = None,
        *,
        trashed: bool = False,
    ) -> list[str]:
        """Check the ids of a pad and of its cells; look up those of which only a beginning came."""
        given = cell_input.id_start(scratch_id)
        of_cells = [cell_input.id_start(one, "cell_id") for one in cell_ids or ()]
        if all(len(one) == cell_input.ID_LENGTH for one in (given, *of_cells)):
            return [given, *of_cells]
        return await call.read(pads.find_ids, given, of_cells, trashed=trashed)

    def find_titles(
        self, tx: Tx, scratch_ids: Sequence[str], project: str
    ) -> dict[str, str | None]:
        """Map pads, in the trash too, to their titles; None if another project's.

        No project stands for all.
        """
        in_view = self._in_view(tx, project)
        return {
            scratch_id: title if in_view is None or namespace in in_view else None
            for scratch_id, (title, namespace) in pad_rows.titles(tx, scratch_ids).items()
        }

    def _in_view(self, tx: Tx, project: str) -> list[str] | None:
        """List the namespaces that are seen from a project; None for all."""
        if not project:
            return None
        return pad_rows.namespaces_in_view(tx, project, self.limits.namespace)[0]

    def find_pads_of(self, tx: Tx, cell_ids: Sequence[str]) -> dict[str, str]:
        """Map cells to their pads."""
        found = cell_rows.pads_and_tags(tx, cell_ids)
        return {cell_id: scratch_id for cell_id, (scratch_id, _tags) in found.items()}

    def find_pads_of_entries(self, tx: Tx, entries: Sequence[Entry]) -> dict[str, str]:
        """Map the cells that entries of the journal are of to their pads, deleted ones too."""
        of_rows: dict[str, str] = {}
        for entry in entries:
            for change in entry.changes:
                row: JsonObject = change["before"] or change["after"] or {}
                if "scratch_id" in row:
                    of_rows[entry.ref] = str(UUID(row["scratch_id"]))
        return of_rows | self.find_pads_of(tx, [entry.ref for entry in entries])

    def list_failed(self, tx: Tx, project: str, limit: int) -> list[tuple[str, str, str]]:
        """List up to `limit` cells whose last validation failed: id, first line, what it found.

        Those that are seen from the project; no project stands for all.
        """
        found = cell_rows.failed_cells(tx, self._in_view(tx, project), limit)
        return [
            (cell_id, first_line, _describe_failure(language, finding, sha256))
            for cell_id, language, first_line, finding, sha256 in found
        ]

    async def find_pad(self, call: CallContext, scratch_id: str) -> Pad:
        """Find a pad, in the trash or outside, by its id or the start of it."""
        return await call.read(pads.find_pad, cell_input.id_start(scratch_id))

    async def find_cell(self, call: CallContext, cell_id: str) -> tuple[str, str]:
        """Find the ids of a cell's pad, in the trash or outside, and of the cell by its start."""
        return await call.read(pads.find_cell, cell_input.id_start(cell_id, "cell_id"))


def _describe_failure(language: str, finding: ValidationSummary, sha256: str) -> str:
    since = "" if finding.sha256 == sha256 else ", changed since"
    return f"{language}: {finding.errors} error{'s' if finding.errors > 1 else ''}{since}"
