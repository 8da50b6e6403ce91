"""Cells as evidence of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.addresses import Address, record_address
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument
from rolltop.core.evidence import EvidenceText
from rolltop.toolsets.scratch.models import SERVICE
from rolltop.toolsets.scratch.service import cell_input, pads

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService


async def resolve_cell(call: CallContext, address: Address, *, strictly: bool) -> EvidenceText:
    """Read a cell as it is now; `strictly`, one that validates.

    Raises NotFound and InvalidArgument.
    """
    service: ScratchService = call.app.load_service(SERVICE)
    pad_id, cell_id = await service.find_cell(call, address.id)
    cell = await call.read(pads.get_cell, pad_id, cell_id, None)
    if strictly:
        selection = cell_input.cell_selection([cell_id])
        _first, results = await service.validation.validate_cells(call, pad_id, selection, None)
        if not results[0]["valid"]:
            raise InvalidArgument(
                f"{record_address('cell', cell_id)} does not validate: "
                f"{results[0]['errors'][0]['message']}",
                hint="scratch_validate shows all that is wrong with the cell.",
            )
    data = (cell.content or "").encode("utf-8", "surrogatepass")
    return EvidenceText(cell_id, data, has_last_break=True)
