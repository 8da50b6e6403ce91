"""The answer to a write within a budget: a write that happened is never refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolltop.core import pagination
from rolltop.core.pagination import Continuation, add_continuation
from rolltop.toolsets.scratch.models import MINIMAL_PAD_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.toolsets.scratch.models import JsonObject
    from rolltop.toolsets.scratch.models.records import PadWrite


def fit_answer(
    written: PadWrite, results: Sequence[JsonObject], limit: int, *, one: bool
) -> JsonObject:
    """Build the answer with as many cells and diagnostics as fit into `limit` tokens (0: all).

    `one` names the cell that was written. A truncated answer names the call that shows the rest.
    """
    whole = _answer(written, results, len(results) + len(written.cells), one=one)
    if pagination.fits_budget(whole, limit):
        return whole
    low, high = 0, max([len(written.cells), *(_count_findings(result) for result in results)])
    while low < high:
        middle = (low + high + 1) // 2
        if pagination.fits_budget(_truncate(written, results, middle, one=one), limit):
            low = middle
        else:
            high = middle - 1
    cut = _truncate(written, results, low, one=one)
    return cut if pagination.fits_budget(cut, limit) else _minimal_answer(cut)


def truncatable(thing: JsonObject, name: str, limit: int) -> JsonObject:
    """Replace the field `name` by its JSON text if only that can be truncated to a budget.

    Texts and lists of texts can be truncated; numbers, flags and keys may be too many.
    """
    if (
        pagination.fits_budget(thing, limit)
        or pagination.truncate_texts(thing, limit // 2) is not None
    ):
        return thing
    return {**thing, name: pagination.compact_json(thing[name])}


def _answer(
    written: PadWrite, results: Sequence[JsonObject], count: int, *, one: bool
) -> JsonObject:
    shown = written.data
    optional: JsonObject = {
        "cell_id": next(iter(written.written)) if one else None,
        "validation": list(results[:count]),
        "evicted_scratchpads": list(written.evicted),
    }
    given = {name: value for name, value in optional.items() if value}
    return {"ok": True, "scratchpad": {**shown, "cells": shown["cells"][:count]}, **given}


def _truncate(
    written: PadWrite, results: Sequence[JsonObject], count: int, *, one: bool
) -> JsonObject:
    """Build the answer with the first `count` cells, results and diagnostics of each."""
    kinds = ("errors", "warnings")
    some = [{**result, **{kind: result[kind][:count] for kind in kinds}} for result in results]
    answer = _answer(written, some, count, one=one)
    arguments: dict[str, Any] = {"scratch_id": written.pad.scratch_id}
    tool = "scratch_list_cells"
    if results:
        tool = "scratch_validate"
        if one:
            arguments["cell_ids"] = list(written.written)
    return add_continuation(answer, Continuation(tool, arguments))


def _count_findings(result: JsonObject) -> int:
    return max(len(result["errors"]), len(result["warnings"]))


def _minimal_answer(cut: JsonObject) -> JsonObject:
    """Keep what fits any budget: the pad, its version, and the call that shows more."""
    pad = {name: cut["scratchpad"][name] for name in MINIMAL_PAD_FIELDS}
    named = {name: cut[name] for name in ("cell_id",) if name in cut}
    arguments = {"scratch_id": pad["scratch_id"]}
    least: JsonObject = {"ok": True, "scratchpad": {**pad, "cells": []}, **named}
    return add_continuation(least, Continuation("scratch_list_cells", arguments))
