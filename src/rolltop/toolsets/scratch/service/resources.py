"""Pads and cells as resources, and the completion of their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rolltop.core import pagination
from rolltop.core.context import CallContext
from rolltop.core.db import Tx
from rolltop.core.errors import NotFound
from rolltop.core.pagination import Continuation, add_continuation
from rolltop.toolsets.scratch.models import JsonObject
from rolltop.toolsets.scratch.models.records import Pad
from rolltop.toolsets.scratch.service import pad_lists
from rolltop.toolsets.scratch.service.pads import cells_not_found
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from rolltop.toolsets.scratch.store import cell_rows

_READ: Final = "scratch_read"
_MAX_PADS_SCANNED: Final = 1000
_MAX_PADS_WITH_CELLS: Final = 50


async def read_pad(call: CallContext, given: str) -> str:
    """Read a pad as JSON text, as much of it as the budget holds."""
    (pad_id,) = await call.app.service(ScratchService).find_ids(call, given)
    read = await _read(call, pad_id, [])
    return pagination.compact_json({**read.pop("scratchpad"), **read})


async def read_cell(call: CallContext, given: str) -> str:
    """Read a cell as JSON text, as much of it as the budget holds."""
    scratch_id, cell_id = await call.app.service(ScratchService).find_cell(call, given)
    try:
        read = await _read(call, scratch_id, [cell_id])
    except NotFound:  # its pad is in the trash
        raise cells_not_found([cell_id]) from None
    (shown,) = read.pop("scratchpad")["cells"]
    return pagination.compact_json({"scratch_id": scratch_id, **shown, **read})


async def _read(call: CallContext, scratch_id: str, cell_ids: Sequence[str]) -> JsonObject:
    """Read a pad, or one cell without the fields of its pad, as scratch_read does."""
    given: dict[str, Any] = {"scratch_id": scratch_id}
    if cell_ids:
        given["cell_ids"] = list(cell_ids)

    def finish(part: JsonObject, changed: dict[str, object], _cursor: str | None) -> JsonObject:
        return add_continuation(part, Continuation(_READ, {**given, **changed}))

    selector = (cell_ids, None, None, None)
    read = await call.app.service(ScratchService).read_pad(
        call, scratch_id, selector, with_header=not cell_ids
    )
    fitted = pagination.truncate(read, call.budget, finish)
    return {name: value for name, value in fitted.items() if name != "ok"}


def find_pad_ids(tx: Tx, typed: str) -> list[str]:
    """Find ids of pads by the start of an id or a title, last written first."""
    prefix = typed.strip().casefold()
    return [
        pad.scratch_id
        for pad in _newest_pads(tx, _MAX_PADS_SCANNED)
        if pad.scratch_id.startswith(prefix)
        or str(pad.metadata.get("title", "")).casefold().startswith(prefix)
    ]


def find_cell_ids(tx: Tx, typed: str) -> list[str]:
    """Find ids of cells of the pads written last by the start of an id."""
    prefix = typed.strip().casefold()
    return [
        cell.cell_id
        for pad in _newest_pads(tx, _MAX_PADS_WITH_CELLS)
        for cell in cell_rows.outlines(tx, pad.scratch_id)
        if cell.cell_id.startswith(prefix)
    ]


def _newest_pads(tx: Tx, limit: int) -> list[Pad]:
    return pad_lists.list_pads(tx, (), (), "recent", None, limit)[1]
