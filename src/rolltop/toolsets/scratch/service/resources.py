"""Pads and cells as resources, and the completion of their ids."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import budget
from rolltop.core.budget import Continuation
from rolltop.core.errors import NotFound
from rolltop.toolsets.scratch.models import continued
from rolltop.toolsets.scratch.service import answers, checks
from rolltop.toolsets.scratch.service.finding import missing_cells
from rolltop.toolsets.scratch.store import cells, pads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.call import Call
    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models import JsonObject

_READ: Final = "scratch_read"
_COMPLETED: Final = 100
_PADS_LOOKED_AT: Final = 1000
_PADS_OF_CELLS: Final = 50


async def pad(call: Call, given: str) -> str:
    """Return a pad as JSON text, as much of it as a read answers; a cut one says so."""
    read = await _read(call, checks.identifier(given), [])
    return budget.compact({**read.pop("scratchpad"), **read})


async def cell(call: Call, given: str) -> str:
    """Return a cell as JSON text, as much of it as a read answers; a cut one says so."""
    cell_id = checks.identifier(given, "cell_id")
    scratch_id = await call.read(cells.pad_of, cell_id)
    if scratch_id is None:
        raise missing_cells([cell_id])
    try:
        read = await _read(call, scratch_id, [cell_id])
    except NotFound:  # its pad is in the trash
        raise missing_cells([cell_id]) from None
    (shown,) = read.pop("scratchpad")["cells"]
    return budget.compact({"scratch_id": scratch_id, **shown, **read})


async def pad_ids(call: Call, typed: str) -> list[str]:
    """Return ids of pads whose id or title begins with what was typed, last written first."""
    return await call.read(_pad_ids, typed.strip().casefold())


async def cell_ids(call: Call, typed: str) -> list[str]:
    """Return ids of cells that begin with what was typed, of the pads written last."""
    return await call.read(_cell_ids, typed.strip().casefold())


async def _read(call: Call, scratch_id: str, cell_ids: Sequence[str]) -> JsonObject:
    """Return what scratch_read answers, without `ok`."""
    given: dict[str, Any] = {"scratch_id": scratch_id}
    if cell_ids:
        given["cell_ids"] = list(cell_ids)

    def finish(part: JsonObject, changed: dict[str, object], _cursor: str | None) -> JsonObject:
        return continued(part, Continuation(_READ, {**given, **changed}))

    which = (cell_ids, None, None, None)
    # A cell does not show what its pad says of itself, which would come before it where it is long.
    lines = (None, None, None)
    result = await answers.read(call, scratch_id, which, lines, cells_alone=bool(cell_ids))
    if isinstance(result, dict):
        fitted = budget.fit_object(result, call.budget)
    else:
        fitted = budget.fit(result, call.budget, finish)
    return {name: value for name, value in fitted.items() if name != "ok"}


def _pad_ids(tx: Tx, sought: str) -> list[str]:
    found = (
        pad.scratch_id
        for pad in pads.newest(tx, _PADS_LOOKED_AT)
        if pad.scratch_id.startswith(sought)
        or str(pad.metadata.get("title", "")).casefold().startswith(sought)
    )
    return list(islice(found, _COMPLETED))


def _cell_ids(tx: Tx, sought: str) -> list[str]:
    found = (
        place.cell_id
        for pad in pads.newest(tx, _PADS_OF_CELLS)
        for place in cells.places(tx, pad.scratch_id)
        if place.cell_id.startswith(sought)
    )
    return list(islice(found, _COMPLETED))
