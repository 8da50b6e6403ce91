"""What the tools that write a pad do, and their answers within a budget.

A write that happened is never refused for its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from rolltop.core import logging, pagination
from rolltop.core.addresses import full_address, record_address
from rolltop.core.context import AppContext, CallContext
from rolltop.core.db import Tx
from rolltop.core.pagination import Continuation, add_continuation
from rolltop.toolsets.scratch.models import MINIMAL_PAD_FIELDS, JsonObject
from rolltop.toolsets.scratch.models.inputs import CellInput, EditInput, ReplacementInput
from rolltop.toolsets.scratch.models.records import Cell, Draft, PadChange, PadWrite, SchemaEntry
from rolltop.toolsets.scratch.service import cell_input, pads, schemas, undo, validation_runner
from rolltop.toolsets.scratch.service.read_response import read_whole

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService

P = ParamSpec("P")
T = TypeVar("T")
Results = list["JsonObject | None"]

_LARGE_CHARACTERS: Final = 1 << 15  # longer texts are measured on a worker thread
_MAX_ATTEMPTS: Final = 5  # how often an edit is validated again because another call overtook it
_ENVELOPE_TOKENS: Final = 120  # what stands around a thing, with the call that continues
_FINDINGS: Final = ("errors", "warnings")


@dataclass(frozen=True)
class _Shown:
    """What an answer shows of a write beside the pad: results by cell, its one cell, an outcome."""

    results: Sequence[JsonObject | None] = ()
    one: bool = False
    outcome: JsonObject = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class PadWriter:
    """The writing tools for one call; a `verbose` one answers all of the pad's own fields."""

    service: ScratchService
    call: CallContext
    verbose: bool

    async def create_pad(
        self,
        scratch_id: str | None,
        metadata: Mapping[str, Any] | None,
        namespace: str | None,
        tags: Sequence[str] | None,
        cells: Sequence[CellInput] | None,
    ) -> JsonObject:
        """Create a pad."""
        limits = self.service.limits_of(self.call)
        pad_id = None if scratch_id is None else cell_input.identifier(scratch_id)
        change = cell_input.parse_pad_fields(metadata, namespace, tags, limits.namespace)
        size = sum(len(cell["content"]) for cell in cells or ())
        drafts = await self._run_sized(size, cell_input.parse_cells, cells, limits)
        own = (draft.json_schema for draft in drafts)
        await self.service.validation.require_schemas([*_schemas_of(change), *own])
        entries = schemas.merge_entries([], change.schemas)
        drafts, results = await self.service.validation.check_drafts(self.call, drafts, entries)
        reads = self.service.pending_access_times(self.call.principal.user_id)
        fields = (change, entries, drafts, limits, reads)
        return await self._write(_Shown(results), pads.create_pad, pad_id, *fields)

    async def update_pad(
        self,
        scratch_id: str,
        metadata: Mapping[str, Any] | None,
        tags: Sequence[str] | None,
        namespace: str | None,
        if_version: int | None,
    ) -> JsonObject:
        """Change a pad's own fields."""
        default = self.service.limits_of(self.call).namespace
        change = cell_input.parse_pad_fields(metadata, namespace, tags, default)
        if change == PadChange():
            raise cell_input.invalid_value(
                "Nothing to update: give metadata, tags or namespace",
                "Call scratch_update again with what to change.",
            )
        await self.service.validation.require_schemas(_schemas_of(change))
        (pad_id,) = await self.service.find_ids(self.call, scratch_id)
        return await self._write(_Shown(), pads.update_pad, pad_id, change, if_version)

    async def restore(self, scratch_id: str | None, cell_id: str | None) -> JsonObject:
        """Restore a pad from the trash, or a deleted cell."""
        find_ids, limits = self.service.find_ids, self.service.limits
        pad_id = None
        if scratch_id is not None:
            (pad_id,) = await find_ids(self.call, scratch_id, trashed=cell_id is None)
        if cell_id is not None:
            given = cell_input.id_start(cell_id, "cell_id")
            return await self._write(_Shown(one=True), undo.restore_cell, given, pad_id, limits)
        assert pad_id is not None  # noqa: S101  # one of the two is given
        reads = self.service.pending_access_times(self.call.principal.user_id)
        return await self._write(_Shown(), pads.restore_pad, pad_id, limits, reads)

    async def append_cell(
        self, scratch_id: str, cell: CellInput, if_version: int | None
    ) -> JsonObject:
        """Append a cell to a pad."""
        (pad_id,) = await self.service.find_ids(self.call, scratch_id)
        draft, results = await self._parse_cell(pad_id, cell)
        fields = (draft, if_version, self.service.limits)
        return await self._write(_Shown(results, one=True), pads.append_cell, pad_id, *fields)

    async def replace_cell(
        self,
        scratch_id: str,
        cell_id: str | None,
        position: int | None,
        cell: ReplacementInput,
        new_position: int | None,
        if_version: int | None,
    ) -> JsonObject:
        """Replace a cell, named by its id or its index."""
        if (cell_id is None) == (position is None):
            raise cell_input.invalid_value(
                "Give either cell_id or index", "scratch_list_cells shows both for each cell."
            )
        ids = await self.service.find_ids(self.call, scratch_id, [cell_id] if cell_id else [])
        pad_id, named = ids[0], ids[-1] if cell_id else None
        language = cell.get("language")
        if language is None:
            language = await self.call.read(pads.get_language, pad_id, named, position)
        draft, results = await self._parse_cell(pad_id, {**cell, "language": language})
        fields = (named, position, draft, new_position, if_version)
        return await self._write(_Shown(results, one=True), pads.replace_cell, pad_id, *fields)

    async def edit_cell(
        self, scratch_id: str, cell_id: str, given: Sequence[EditInput], if_version: int | None
    ) -> JsonObject:
        """Edit a cell's content.

        The edits apply to the cell as it is when it is written: if another call overtakes this
        one, they are applied and validated again, and in the end without validation.
        """
        pad_id, named = await self.service.find_ids(self.call, scratch_id, [cell_id])
        edits, limits = cell_input.parse_edits(given), self.service.limits
        for _ in range(_MAX_ATTEMPTS):
            cell = await self.call.read(pads.get_cell, pad_id, named, if_version)
            # Edits can make a long text of a short one.
            edited = await self.call.run_in_thread(pads.edit_draft, cell, edits, limits)
            draft, results = await self._validate_draft(pad_id, edited)
            shown, fields = _Shown(results, one=True), (named, draft, cell.version)
            with suppress(pads.CellOvertaken):
                return await self._write(shown, pads.put_edited_cell, pad_id, *fields)
        fallback = (named, edits, if_version, limits)
        return await self._write(_Shown(one=True), pads.edit_cell, pad_id, *fallback)

    async def delete_cell(
        self, scratch_id: str, cell_id: str, if_version: int | None
    ) -> JsonObject:
        """Delete a cell."""
        pad_id, named = await self.service.find_ids(self.call, scratch_id, [cell_id])
        shown = _Shown(outcome={"cell_id": named, "deleted": True})
        answer = await self._write(shown, pads.delete_cell, pad_id, named, if_version)
        self.call.app.notify_changed(self.call.principal, full_address("cell", named))
        return answer

    async def _parse_cell(self, scratch_id: str, cell: CellInput) -> tuple[Draft, Results]:
        """Check a cell that is to be stored, and validate it if it asks for that."""
        limits = self.service.limits
        draft = await self._run_sized(len(cell["content"]), cell_input.parse_cell, cell, limits)
        if draft.json_schema is not None:
            await self.service.validation.require_schemas([draft.json_schema])
        return await self._validate_draft(scratch_id, draft)

    async def _validate_draft(self, scratch_id: str, draft: Draft) -> tuple[Draft, Results]:
        """Validate a draft that asks for it, against its pad's schemas."""
        if not draft.validate:
            return draft, []
        entries: Sequence[SchemaEntry] = ()
        if validation_runner.uses_schema(draft):
            entries = await self.call.read(pads.list_schemas, scratch_id)
        checked = await self.service.validation.check_drafts(self.call, [draft], entries)
        return checked[0][0], checked[1]

    async def _run_sized(
        self, characters: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function, on a worker thread if its text is large."""
        if characters < _LARGE_CHARACTERS:
            return function(*args, **kwargs)
        return await self.call.run_in_thread(function, *args, **kwargs)

    async def _write(
        self,
        shown: _Shown,
        write: Callable[Concatenate[Tx, P], PadWrite],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> JsonObject:
        """Write, notify listeners and log evictions, then render the write's answer."""
        render = partial(self._render, shown)
        written = await self.call.write_once(render, self._reading_back(write), *args, **kwargs)
        app, caller = self.call.app, self.call.principal
        notify_pad(self.call, written.pad.scratch_id)
        for cell in written.cells:
            app.notify_changed(caller, full_address("cell", cell.cell_id))
        if written.evicted:
            policy = app.settings["scratch.eviction_policy"]
            report_evicted(app, policy, caller.user_id, len(written.evicted))
        return render(written)

    def _reading_back(
        self, write: Callable[Concatenate[Tx, P], PadWrite]
    ) -> Callable[Concatenate[Tx, P], PadWrite]:
        """Return a write that reads the pad back in its transaction if all of it is answered."""
        settings = self.call.app.settings
        with_cells = settings["names"] == "seed"
        if not (with_cells or self.verbose or settings["scratch.write_answers"] == "full"):
            return write

        def write_and_read(tx: Tx, *args: P.args, **kwargs: P.kwargs) -> PadWrite:
            written = write(tx, *args, **kwargs)
            whole = read_whole(tx, written.pad, with_cells=with_cells)
            if not with_cells:
                whole["cells"] = [_cell_data(cell) for cell in written.cells]
            return replace(written, whole=whole)

        return write_and_read

    def _render(self, shown: _Shown, written: PadWrite) -> JsonObject:
        """Render a write's answer around its outcome."""
        located = [
            validation_runner.attach_cell(result, cell)
            for result, cell in zip(shown.results, written.cells, strict=False)
            if result is not None
        ]
        outcome = {"cell_id": written.cells[0].cell_id} if shown.one else shown.outcome
        return _fit_answer(written, outcome, located, self.call.budget)


def report_evicted(app: AppContext, policy: str, user_id: str, count: int) -> None:
    """Log and count how many pads were evicted."""
    logging.event("scratchpads evicted", policy=policy, user=user_id, count=count)
    app.count("evictions", policy, count)


def _schemas_of(change: PadChange) -> list[object]:
    return [one.schema for one in change.schemas]


def notify_pad(call: CallContext, scratch_id: str) -> None:
    """Tell listeners that a pad has changed."""
    call.app.notify_changed(call.principal, full_address("pad", scratch_id))


def shown_whole(thing: JsonObject, name: str, limit: int) -> JsonObject:
    """Replace the field `name` by its JSON text, which can be cut, where all of it does not fit."""
    if not limit or pagination.fits_budget(thing, max(1, limit - _ENVELOPE_TOKENS)):
        return thing
    return {**thing, name: pagination.compact_json(thing[name])}


def _fit_answer(
    written: PadWrite, outcome: JsonObject, results: Sequence[JsonObject], limit: int
) -> JsonObject:
    """Build the answer with as many cells and diagnostics as fit into `limit` tokens (0: all).

    `outcome` goes with it whatever is cut. A truncated answer names the call that shows the rest.
    """
    if written.whole is None:
        results = [_lean(result) for result in results]
    cells: list[JsonObject] = _pad_data(written)["cells"]
    whole = _build(written, outcome, results, len(results) + len(cells))
    if pagination.fits_budget(whole, limit):
        return whole

    def render(count: int) -> JsonObject:
        return _truncate(written, outcome, results, count)

    most = max([len(cells), *(len(result[kind]) for result in results for kind in _FINDINGS)])
    if count := pagination.count_fitting(most, limit, render):
        return render(count)
    pad = {name: getattr(written.pad, name) for name in MINIMAL_PAD_FIELDS}
    arguments = {"scratch_id": pad["scratch_id"]}
    return pagination.truncate_texts(render(0 if written.whole else 1), limit) or add_continuation(
        {"ok": True, "scratchpad": pad, **outcome}, Continuation("scratch_list_cells", arguments)
    )


def _lean(result: JsonObject) -> JsonObject:
    """Leave out what is empty or as ever: a valid cell's details but why it was not checked."""
    details = {name: _drop_empty(part) for name, part in result["details"].items()}
    syntax = details["syntax"]
    if result["valid"]:
        details = {} if syntax["checked"] else {"syntax": syntax}
    elif not details["schema"]["performed"]:
        del details["schema"]
    lean = {**result, **{kind: [_drop_empty(one) for one in result[kind]] for kind in _FINDINGS}}
    return {**lean, "details": _drop_empty(details)} if details else _without(lean, "details")


def _drop_empty(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _without(fields: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in fields.items() if key != name}


def _pad_data(written: PadWrite) -> JsonObject:
    """Render the pad as the write answers it: without content, nulls and defaults if not whole."""
    if written.whole is not None:
        return written.whole
    pad = written.pad
    title = {"title": pad.metadata["title"]} if pad.metadata.get("title") else {}
    return {
        "scratch_id": pad.scratch_id,
        "uri": record_address("pad", pad.scratch_id),
        "namespace": pad.namespace,
        "version": pad.version,
        **title,
        "cell_count": pad.cell_count,
        "cells": [_cell_data(cell) for cell in written.cells],
    }


def _cell_data(cell: Cell) -> JsonObject:
    named = {"cell_id": cell.cell_id, "uri": record_address("cell", cell.cell_id)}
    shown = {name: getattr(cell, name) for name in ("index", "language", "version")}
    return {
        **named,
        **shown,
        **_drop_empty({"tags": list(cell.tags), "validate": cell.validate or None}),
    }


def _build(
    written: PadWrite, outcome: JsonObject, results: Sequence[JsonObject], count: int
) -> JsonObject:
    shown = _pad_data(written)
    cells = shown["cells"][:count]
    pad = {**shown, "cells": cells} if cells or written.whole else _without(shown, "cells")
    more = {"validation": list(results[:count]), "evicted_scratchpads": list(written.evicted)}
    return {"ok": True, "scratchpad": pad, **outcome, **_drop_empty(more)}


def _truncate(
    written: PadWrite, outcome: JsonObject, results: Sequence[JsonObject], count: int
) -> JsonObject:
    """Build the answer with the first `count` cells, results and diagnostics of each."""
    some = [{**result, **{kind: result[kind][:count] for kind in _FINDINGS}} for result in results]
    answer = _build(written, outcome, some, count)
    arguments: dict[str, Any] = {"scratch_id": written.pad.scratch_id}
    tool = "scratch_list_cells"
    if written.whole:
        tool = "scratch_read"
        if "metadata" in written.whole:
            pad = _without(answer["scratchpad"], "metadata")
            answer["scratchpad"] = {**pad, "omitted": ["metadata"]}
    elif results:
        tool = "scratch_validate"
        if "cell_id" in outcome:
            arguments["cell_ids"] = [outcome["cell_id"]]
    return add_continuation(answer, Continuation(tool, arguments))
