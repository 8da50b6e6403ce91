"""Validation of drafts and of stored cells, outside any transaction."""

from __future__ import annotations

import asyncio
import atexit
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import logs
from rolltop.core.errors import RolltopError
from rolltop.toolsets.scratch.models import SCHEMA_URI, STRUCTURED
from rolltop.toolsets.scratch.models.records import Finding
from rolltop.toolsets.scratch.service import reading, schemas
from rolltop.toolsets.scratch.validate import VERSION, Cell, Timeout, Validator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.call import Call
    from rolltop.toolsets.scratch.models import JsonObject, records
    from rolltop.toolsets.scratch.models.records import Draft, SchemaEntry, Wanted
    from rolltop.toolsets.scratch.service.places import Place
    from rolltop.toolsets.scratch.validate import Checked

_BATCH_BYTES: Final = 32 << 20
_GRACE: Final = 0.25  # seconds: the validator itself answers at the limit
_TIMEOUT: Final = "VALIDATION_TIMEOUT"


_validators: Final[dict[float, Validator]] = {}


def validator(timeout: float) -> Validator:
    """Return the process's validator of that time limit, in seconds."""
    if timeout not in _validators:
        _validators[timeout] = Validator(timeout=timeout)
    return _validators[timeout]


@atexit.register
def close() -> None:
    """End every checking process; checks under way answer that the server is stopping."""
    while _validators:
        _validators.popitem()[1].close()


async def checked(
    call: Call, drafts: Sequence[Draft], entries: Sequence[SchemaEntry]
) -> tuple[list[Draft], list[JsonObject | None]]:
    """Return drafts with what was found of those to be validated, and the results to answer.

    A result lacks the cell's index and id, and is None where the cell is not to be validated.
    """
    due = [draft for draft in drafts if draft.validate]
    if not due:
        return list(drafts), [None] * len(drafts)
    addresses = _addresses(entries)
    found = iter(await _check(call, [_cell(draft, addresses) for draft in due]))
    results = [_result(next(found), draft) if draft.validate else None for draft in drafts]
    with_findings = [
        draft if result is None else replace(draft, finding=_finding(result, draft))
        for draft, result in zip(drafts, results, strict=True)
    ]
    if any(result and not result["valid"] for result in results):
        logs.event("validation failed", tool=call.tool, user=call.scope.user_id)
    return with_findings, results


async def schemas_for(
    call: Call, scratch_id: str, drafts: Sequence[Draft]
) -> Sequence[SchemaEntry]:
    """Return the schemas of a pad where one of the drafts needs them. Raises NotFound."""
    if any(draft.validate and _uses_schema(draft) for draft in drafts):
        return await call.read(schemas.list_schemas, scratch_id)
    return ()


async def validate(
    call: Call, scratch_id: str, wanted: Wanted, place: Place | None
) -> tuple[int, list[JsonObject]]:
    """Return the results of stored cells from a place among those wanted on, and its position.

    Raises NotFound, INVALID_INDEX, or VALIDATION_TIMEOUT for the whole call.
    """
    limit: float = call.desk.settings["scratch.validation_timeout"]
    first: int | None = None
    results: list[JsonObject] = []
    try:
        async with asyncio.timeout(limit + _GRACE):
            while True:
                batch = await call.read(reading.batch, scratch_id, wanted, place, _BATCH_BYTES)
                first = batch.first if first is None else first
                addresses = _addresses(batch.schemas)
                found = await _check(call, [_cell(cell, addresses) for cell in batch.cells])
                for cell, one in zip(batch.cells, found, strict=True):
                    if isinstance(one, Timeout):
                        raise _too_slow(limit)
                    results.append(located(_result(one, cell), cell))
                if batch.following is None:
                    return first, results
                place = batch.following
    except TimeoutError:
        raise _too_slow(limit) from None


def located(result: JsonObject, cell: records.Cell | records.Place) -> JsonObject:
    """Return a result with the cell it is about."""
    return {"cell_index": cell.index, "cell_id": cell.cell_id, **result}


async def _check(call: Call, cells: Sequence[Cell]) -> list[Checked | Timeout]:
    return await validator(call.desk.settings["scratch.validation_timeout"]).check(cells)


def _addresses(entries: Sequence[SchemaEntry]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return schemas by their addresses, and names by addresses."""
    by_address = {
        f"{SCHEMA_URI}{label}": entry for entry in entries for label in (entry.id, entry.name)
    }
    registry = {address: entry.schema for address, entry in by_address.items()}
    return registry, {address: entry.name for address, entry in by_address.items()}


def _cell(
    cell: Draft | records.Cell, addresses: tuple[Mapping[str, Any], Mapping[str, str]]
) -> Cell:
    if not _uses_schema(cell):
        return Cell(cell.language, cell.content or "")
    registry, labels = addresses
    given = cell.json_schema
    label = labels.get(given) if isinstance(given, str) else None
    return Cell(cell.language, cell.content or "", given, label, registry)


def _uses_schema(cell: Draft | records.Cell) -> bool:
    return cell.language in STRUCTURED and cell.json_schema is not None


def _result(found: Checked | Timeout, cell: Draft | records.Cell) -> JsonObject:
    if isinstance(found, Timeout):
        warning: JsonObject = {
            "message": f"Validation passed its limit of {found.seconds:g} s; the cell is stored",
            "code": _TIMEOUT,
            "line": 1,
            "column": 1,
            "details": {},
        }
        return _shaped(cell.language, [], [warning], found.details)
    errors = [asdict(diagnostic) for diagnostic in found.errors]
    warnings = [asdict(diagnostic) for diagnostic in found.warnings]
    return _shaped(cell.language, errors, warnings, found.details)


def _shaped(
    language: str, errors: list[JsonObject], warnings: list[JsonObject], details: JsonObject
) -> JsonObject:
    return {
        "language": language,
        "valid": not errors,
        "errors": errors,
        "warnings": warnings,
        "details": details,
    }


def _finding(result: JsonObject, draft: Draft) -> Finding:
    return Finding(
        result["valid"],
        len(result["errors"]),
        len(result["warnings"]),
        VERSION,
        draft.measured.sha256,
    )


def _too_slow(limit: float) -> RolltopError:
    return RolltopError(
        f"Validation passed its limit of {limit:g} s",
        code=_TIMEOUT,
        hint="Validate fewer cells at once, by cell_ids; or raise scratch.validation_timeout.",
    )
