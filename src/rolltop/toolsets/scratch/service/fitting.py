"""A write's answer within its budget: what was written is always answered, never refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolltop.core import budget
from rolltop.core.budget import Continuation
from rolltop.toolsets.scratch.models import LEAST_OF_PAD, continued

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.toolsets.scratch.models import JsonObject
    from rolltop.toolsets.scratch.models.records import Written


def fitted(written: Written, results: Sequence[JsonObject], limit: int, *, one: bool) -> JsonObject:
    """Return the answer of a write, with as many of its cells and findings as fit (0: all).

    `one` names the cell that was written. A cut answer names the call that shows the rest.
    """
    whole = _answer(written, results, len(results) + len(written.cells), one=one)
    if budget.within(whole, limit):
        return whole
    low, high = 0, max([len(written.cells), *(_findings(result) for result in results)])
    while low < high:
        middle = (low + high + 1) // 2
        if budget.within(_cut(written, results, middle, one=one), limit):
            low = middle
        else:
            high = middle - 1
    cut = _cut(written, results, low, one=one)
    return cut if budget.within(cut, limit) else _least(cut)


def cuttable(thing: JsonObject, name: str, limit: int) -> JsonObject:
    """Return a thing whose field `name` can be cut to a budget: as its JSON text where it cannot.

    Texts and lists of texts can be cut; of numbers, flags and keys there may be too many.
    """
    if budget.within(thing, limit) or budget.shorten(thing, limit // 2) is not None:
        return thing
    return {**thing, name: budget.compact(thing[name])}


def _answer(
    written: Written, results: Sequence[JsonObject], count: int, *, one: bool
) -> JsonObject:
    shown = written.shown
    optional: JsonObject = {
        "cell_id": next(iter(written.written)) if one else None,
        "validation": list(results[:count]),
        "evicted_scratchpads": list(written.evicted),
    }
    given = {name: value for name, value in optional.items() if value}
    return {"ok": True, "scratchpad": {**shown, "cells": shown["cells"][:count]}, **given}


def _cut(written: Written, results: Sequence[JsonObject], count: int, *, one: bool) -> JsonObject:
    """Return the answer with the first `count` cells, results and findings of each."""
    kinds = ("errors", "warnings")
    some = [{**result, **{kind: result[kind][:count] for kind in kinds}} for result in results]
    answer = _answer(written, some, count, one=one)
    arguments: dict[str, Any] = {"scratch_id": written.pad.scratch_id}
    tool = "scratch_list_cells"
    if results:
        tool = "scratch_validate"
        if one:
            arguments["cell_ids"] = list(written.written)
    return continued(answer, Continuation(tool, arguments))


def _findings(result: JsonObject) -> int:
    return max(len(result["errors"]), len(result["warnings"]))


def _least(cut: JsonObject) -> JsonObject:
    """Return what fits any budget: which pad, at which version, and where to see more."""
    pad = {name: cut["scratchpad"][name] for name in LEAST_OF_PAD}
    named = {name: cut[name] for name in ("cell_id",) if name in cut}
    arguments = {"scratch_id": pad["scratch_id"]}
    least: JsonObject = {"ok": True, "scratchpad": {**pad, "cells": []}, **named}
    return continued(least, Continuation("scratch_list_cells", arguments))
