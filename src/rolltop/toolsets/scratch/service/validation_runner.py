"""Validation of drafts and of stored cells, outside any transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from rolltop.core import logging
from rolltop.core.context import CallContext
from rolltop.core.db import Tx
from rolltop.core.db.engine import batches
from rolltop.core.errors import InvalidArgument, RolltopError
from rolltop.toolsets.scratch.models import STRUCTURED_LANGUAGES, JsonObject, schema_uri
from rolltop.toolsets.scratch.models.records import (
    Cell,
    CellSelection,
    Draft,
    SchemaEntry,
    ValidationSummary,
)
from rolltop.toolsets.scratch.service.cursors import (
    CursorPosition,
    position_at,
    resume_index,
)
from rolltop.toolsets.scratch.service.pads import get_pad, select_cells
from rolltop.toolsets.scratch.service.schemas import referenced_name
from rolltop.toolsets.scratch.store import cell_rows, pad_rows
from rolltop.toolsets.scratch.syntax.results import (
    SCHEMAS_ALONE,
    TIMEOUT_CODE,
    CheckRequest,
    CheckResult,
)
from rolltop.toolsets.scratch.syntax.schema_check import is_costly
from rolltop.toolsets.scratch.syntax.validator import VERSION, Validator

_BATCH_BYTES: Final = 32 << 20
_IMPORTED_AT_ONCE: Final = 20  # each batch has a call's time
_SIMPLER_SCHEMAS: Final = "Send fewer or smaller schemas, or simpler patterns in them."
_GRACE_SECONDS: Final = 0.25  # the validator itself answers at the limit


@dataclass(frozen=True)
class CellBatch:
    """Selected cells from the position `first` on, their pad's schemas, and what follows."""

    first: int
    cells: list[Cell]
    schemas: list[SchemaEntry]
    following: CursorPosition | None


class ValidationRunner:
    """Validates cells by checking processes, within a time limit in seconds a call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.validator = Validator(timeout=seconds)

    def close(self) -> None:
        """End every checking process; checks under way answer that the server is stopping."""
        self.validator.close()

    async def check_drafts(
        self, call: CallContext, drafts: Sequence[Draft], entries: Sequence[SchemaEntry]
    ) -> tuple[list[Draft], list[JsonObject | None]]:
        """Validate the drafts that ask for it; return all drafts, and the results to answer.

        A result lacks the cell's index and id, and is None if the draft did not ask. A draft that
        was not checked in time has none of its own to store.
        """
        by_uri = _schemas_by_uri(entries)
        requests = [_check_request(draft, by_uri) for draft in drafts if draft.validate]
        if not requests:
            return list(drafts), [None] * len(drafts)
        found = iter(await self.validator.check(requests))
        pairs = [(draft, next(found) if draft.validate else None) for draft in drafts]
        if any(one and not one.valid for _draft, one in pairs):
            logging.event("validation failed", tool=call.tool, user=call.principal.user_id)
        checked = [replace(draft, finding=one and _summary(one, draft)) for draft, one in pairs]
        return checked, [one and _result_data(one, draft) for draft, one in pairs]

    async def require_schemas(self, schemas: Iterable[object]) -> None:
        """Judge JSON Schemas, of which addresses and None are none.

        Raises InvalidArgument for one that is not valid, VALIDATION_TIMEOUT.
        """
        judged: list[object] = [one for one in schemas if isinstance(one, dict | bool)]
        if not is_costly(judged):
            return  # they were judged as they came
        (found,) = await self.validator.check([CheckRequest(SCHEMAS_ALONE, "", judged)])
        if found.timed_out:
            message = f"Judging the schema passed the limit of {self._seconds:g} s"
            raise InvalidArgument(message, code=TIMEOUT_CODE, hint=_SIMPLER_SCHEMAS)
        if found.errors:
            wrong = found.errors[0]
            hint, path = wrong.details.get("hint", ""), wrong.details.get("details")
            raise InvalidArgument(
                wrong.message,
                code="VALIDATION_ERROR",
                hint=hint or _SIMPLER_SCHEMAS,
                data={"details": path} if path else {},
            )

    async def check_imported(
        self, cells: Sequence[Cell], entries: Sequence[SchemaEntry]
    ) -> tuple[Cell, ...]:
        """Validate the cells of a file, whatever it says of the texts that they have now.

        What it says of earlier texts is kept, which is shown as stale. Raises InvalidArgument, or
        VALIDATION_TIMEOUT, for a schema.
        """
        own = (one.json_schema for one in cells)
        await self.require_schemas([*(entry.schema for entry in entries), *own])
        by_uri = _schemas_by_uri(entries)
        asked = [
            cell
            for cell in cells
            if cell.validate or (cell.finding and cell.finding.sha256 == cell.stats.sha256)
        ]
        findings: dict[str, ValidationSummary | None] = {}
        for some in batches(asked, _IMPORTED_AT_ONCE):
            found = await self.validator.check([_check_request(cell, by_uri) for cell in some])
            for one, cell in zip(found, some, strict=True):
                findings[cell.cell_id] = _summary(one, cell)
        return tuple(
            replace(cell, finding=findings.get(cell.cell_id, cell.finding)) for cell in cells
        )

    async def validate_cells(
        self,
        call: CallContext,
        scratch_id: str,
        selection: CellSelection,
        position: CursorPosition | None,
    ) -> tuple[int, list[JsonObject]]:
        """Validate the selected stored cells from a position on; return it and the results.

        Raises NotFound, INVALID_INDEX, or VALIDATION_TIMEOUT for the whole call.
        """
        first: int | None = None
        results: list[JsonObject] = []
        try:
            async with asyncio.timeout(self._seconds + _GRACE_SECONDS):
                while True:
                    batch = await call.read(_read_batch, scratch_id, selection, position)
                    first = batch.first if first is None else first
                    by_uri = _schemas_by_uri(batch.schemas)
                    requests = [_check_request(cell, by_uri) for cell in batch.cells]
                    found = await self.validator.check(requests)
                    if any(one.timed_out for one in found):
                        raise self._timeout_error()
                    results += [
                        attach_cell(_result_data(one, cell), cell)
                        for one, cell in zip(found, batch.cells, strict=True)
                    ]
                    position = batch.following
                    if position is None:
                        return first, results
        except TimeoutError:
            raise self._timeout_error() from None

    def _timeout_error(self) -> RolltopError:
        return RolltopError(
            f"Validation passed its limit of {self._seconds:g} s",
            code=TIMEOUT_CODE,
            hint="Validate fewer cells at once, by cell_ids; or raise scratch.validation_timeout.",
        )


def uses_schema(cell: Draft | Cell) -> bool:
    """Whether validating a cell takes its pad's schemas."""
    return cell.language in STRUCTURED_LANGUAGES and cell.json_schema is not None


def attach_cell(result: JsonObject, cell: Cell) -> JsonObject:
    """Put the cell's index and id in front of its result."""
    return {"cell_index": cell.index, "cell_id": cell.cell_id, **result}


def _read_batch(
    tx: Tx, scratch_id: str, selection: CellSelection, position: CursorPosition | None
) -> CellBatch:
    """Read selected cells from a position on, up to 32 MiB. Raises NotFound, INVALID_INDEX."""
    get_pad(tx, scratch_id)
    selected = select_cells(cell_rows.outlines(tx, scratch_id), selection)
    all_ids = [cell.cell_id for cell in selected]
    first = resume_index(all_ids, position)
    ids: list[str] = []
    size = _BATCH_BYTES
    for cell in selected[first:]:
        size -= cell.stats.bytes
        if ids and size < 0:
            break
        ids.append(cell.cell_id)
    end = first + len(ids)
    following = position_at(all_ids, end) if end < len(all_ids) else None
    schemas = pad_rows.schemas_of(tx, scratch_id)
    return CellBatch(first, cell_rows.get_cells(tx, scratch_id, ids), schemas, following)


def _schemas_by_uri(entries: Sequence[SchemaEntry]) -> dict[str, SchemaEntry]:
    return {schema_uri(label): entry for entry in entries for label in (entry.id, entry.name)}


def _check_request(cell: Draft | Cell, by_uri: Mapping[str, SchemaEntry]) -> CheckRequest:
    if not uses_schema(cell):
        return CheckRequest(cell.language, cell.content or "")
    registry: dict[str, Any] = {uri: entry.schema for uri, entry in by_uri.items()}
    applied = by_uri.get(schema_uri(referenced_name(cell.json_schema)))
    name = applied and applied.name
    return CheckRequest(cell.language, cell.content or "", cell.json_schema, name, registry)


def _result_data(found: CheckResult, cell: Draft | Cell) -> JsonObject:
    return {
        "language": cell.language,
        "valid": found.valid,
        "errors": [asdict(diagnostic) for diagnostic in found.errors],
        "warnings": [asdict(diagnostic) for diagnostic in found.warnings],
        "details": found.details,
    }


def _summary(found: CheckResult, cell: Draft | Cell) -> ValidationSummary | None:
    if found.timed_out:
        return None
    errors, warnings = len(found.errors), len(found.warnings)
    return ValidationSummary(found.valid, errors, warnings, VERSION, cell.stats.sha256)
