"""Writes that measure and validate first, outside any transaction, and then write once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from rolltop.core import logs
from rolltop.core.errors import Invalid, RolltopError
from rolltop.toolsets.scratch.models.records import Limits
from rolltop.toolsets.scratch.service import (
    accesses,
    cells,
    checking,
    checks,
    drafts,
    pads,
    schemas,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rolltop.core.call import Call
    from rolltop.toolsets.scratch.models import JsonObject
    from rolltop.toolsets.scratch.models.records import Written

P = ParamSpec("P")
T = TypeVar("T")

_LARGE: Final = 1 << 15
"""Characters above which a text is measured on a worker thread."""
_ATTEMPTS: Final = 5
"""How often an edit is validated again because another call was faster."""

Outcome = tuple["Written", "list[JsonObject]"]


def limits(call: Call) -> Limits:
    """Return the limits that the settings name."""
    settings = call.desk.settings
    return Limits(
        pads=settings["scratch.max_scratchpads"],
        cells=settings["scratch.max_cells_per_pad"],
        cell_bytes=settings["scratch.max_cell_bytes"],
        policy=settings["scratch.eviction_policy"],
        namespace=_default_namespace(settings["scratch.default_namespace"]),
    )


async def create(
    call: Call,
    scratch_id: str | None,
    metadata: Mapping[str, Any] | None,
    namespace: str | None,
    tags: Sequence[str] | None,
    given_cells: Sequence[object] | None,
) -> Outcome:
    """Return the new pad and what was found of its cells."""
    allowed = limits(call)
    wanted_id = None if scratch_id is None else checks.identifier(scratch_id)
    given = drafts.pad_fields(metadata, namespace, tags, allowed.namespace)
    made = await _measured(call, given_cells, drafts.drafts, given_cells, allowed)
    entries = schemas.merged([], given.schemas)
    ready, results = await checking.checked(call, made, entries)
    reads = accesses.unwritten(call.desk, call.scope.user_id)
    written = await call.write(pads.create, wanted_id, given, entries, ready, allowed, reads)
    _log_evicted(call, written)
    return written, _located(results, written)


async def restore(call: Call, scratch_id: str) -> Written:
    """Return the pad, out of the trash."""
    reads = accesses.unwritten(call.desk, call.scope.user_id)
    written = await call.write(pads.restore, scratch_id, limits(call), reads)
    _log_evicted(call, written)
    return written


async def append(call: Call, scratch_id: str, cell: object, if_version: int | None) -> Outcome:
    """Return the pad with one more cell, and what was found of it."""
    wanted_id, allowed = checks.identifier(scratch_id), limits(call)
    draft = await _measured(call, cell, drafts.draft, cell, allowed)
    entries = await checking.schemas_for(call, wanted_id, [draft])
    (ready,), results = await checking.checked(call, [draft], entries)
    written = await call.write(cells.append, wanted_id, ready, if_version, allowed)
    return written, _located(results, written)


async def replace_cell(  # what the tool takes
    call: Call,
    scratch_id: str,
    cell_id: str | None,
    position: int | None,
    cell: object,
    new_position: int | None,
    if_version: int | None,
) -> Outcome:
    """Return the pad with the cell replaced, and what was found of it."""
    wanted_id = checks.identifier(scratch_id)
    if (cell_id is None) == (position is None):
        raise checks.wrong(
            "Give either cell_id or index", "scratch_list_cells shows both for each cell."
        )
    named = None if cell_id is None else checks.identifier(cell_id, "cell_id")
    draft = await _measured(call, cell, drafts.draft, cell, limits(call))
    entries = await checking.schemas_for(call, wanted_id, [draft])
    (ready,), results = await checking.checked(call, [draft], entries)
    written = await call.write(
        cells.replace_cell, wanted_id, named, position, ready, new_position, if_version
    )
    return written, _located(results, written)


async def edit(
    call: Call, scratch_id: str, cell_id: str, given: Sequence[object], if_version: int | None
) -> Outcome:
    """Return the pad with the cell edited, and what was found of it.

    The edit is applied to the cell as it is when it is written: where another call was faster,
    it is applied and validated again, and in the end inside the transaction.
    """
    wanted_id, named = checks.identifier(scratch_id), checks.identifier(cell_id, "cell_id")
    edits, allowed = checks.edits(given), limits(call)
    for _ in range(_ATTEMPTS):
        found = await call.read(cells.cell_of, wanted_id, named, if_version)
        draft = await _measured(call, found.content, cells.edited_draft, found, edits, allowed)
        entries = await checking.schemas_for(call, wanted_id, [draft])
        (ready,), results = await checking.checked(call, [draft], entries)
        written = await call.write(cells.put_edited, wanted_id, named, ready, found.version)
        if written is not None:
            return written, _located(results, written)
    return await call.write(cells.edit_now, wanted_id, named, edits, if_version, allowed), []


def _default_namespace(setting: str) -> str:
    """Return the setting as a namespace. Raises CONFIG_ERROR where it cannot be one."""
    try:
        return checks.name(setting, "scratch.default_namespace")
    except Invalid as refused:
        hint = "Set scratch.default_namespace to 1 to 200 characters and start again."
        raise RolltopError(refused.message, code="CONFIG_ERROR", hint=hint) from None


def _located(results: Sequence[JsonObject | None], written: Written) -> list[JsonObject]:
    """Return the results with the places of the cells written, which are in the same order."""
    those = [cell for cell in written.cells if cell.cell_id in written.written]
    pairs = zip(results, those, strict=True)
    return [checking.located(result, cell) for result, cell in pairs if result is not None]


async def _measured(
    call: Call, given: object, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return `function(…)`, from a worker thread where what was given is large."""
    if _size(given) < _LARGE:
        return function(*args, **kwargs)
    return await call.work(function, *args, **kwargs)


def _size(given: object) -> int:
    """Return how many characters the contents among what was given have."""
    if isinstance(given, dict):
        return _size(cast("JsonObject", given).get("content"))
    if isinstance(given, list):
        return sum(_size(entry) for entry in cast("list[object]", given))
    return len(given) if isinstance(given, str) else 0


def _log_evicted(call: Call, written: Written) -> None:
    if written.evicted:
        logs.event(
            "scratchpads evicted",
            policy=call.desk.settings["scratch.eviction_policy"],
            user=call.scope.user_id,
            count=len(written.evicted),
        )
