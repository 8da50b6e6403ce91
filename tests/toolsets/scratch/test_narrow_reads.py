"""A cell that nearly fits its budget is shown whole or goes on: never with a part missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.toolsets.scratch.caller import cell
from tests.toolsets.scratch.test_reading import followed

if TYPE_CHECKING:
    from tests.toolsets.scratch.caller import Caller

CHEAP, DEAR = "00000000-0000-0000-0000-000000000000", "9e3c5ab1-70f6-4d82-b1c9-6f03a87de254"
"""Ids that cost few and many tokens in a cursor."""


def test_a_cell_that_just_fits_loses_nothing(local: Caller) -> None:
    contents = {CHEAP: "a word, " * 60, DEAR: "b " * 900}
    cells = [cell(content, "txt", cell_id=cell_id) for cell_id, content in contents.items()]
    pad = local.ok("scratch_create", cells=cells)["scratchpad"]["scratch_id"]
    for limit in range(455, 700, 4):
        assert followed(local, pad, limit) == contents, limit
