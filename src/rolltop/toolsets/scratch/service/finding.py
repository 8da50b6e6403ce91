"""Finding what a call is about, and saying what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from rolltop.core.errors import Conflict, Invalid, NotFound, RolltopError
from rolltop.toolsets.scratch.store import cells, pads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.records import Cell, Pad, Place, Wanted

P = TypeVar("P", "Place", "Cell")

MISSING = "Scratchpad not found"
_FARTHEST: Final = 1 << 31
"""No database counts cells further than that."""


def living(tx: Tx, scratch_id: str, namespaces: Sequence[str] = ()) -> Pad:
    """Return the caller's pad.

    Raises:
        NotFound: it is missing, in the trash or another's.
        RolltopError: UNAUTHORIZED; it is outside the namespaces.

    """
    pad = pads.get(tx, scratch_id)
    if pad is None:
        raise missing()
    if namespaces and pad.namespace not in namespaces:
        raise RolltopError(
            MISSING,
            code="UNAUTHORIZED",
            hint="It is yours, but outside the given namespaces; leave namespaces out.",
        )
    return pad


def held(tx: Tx, scratch_id: str, if_version: int | None = None) -> Pad:
    """Return the caller's pad, locked. Raises NotFound, or Conflict for another version."""
    pad = pads.hold(tx, scratch_id)
    if pad is None:
        raise missing()
    require_version("pad", pad.version, if_version)
    return pad


def held_cell(tx: Tx, scratch_id: str, cell_id: str | None, position: int | None) -> Cell:
    """Return a cell of a held pad by its id or position. Raises NotFound or INVALID_INDEX."""
    if cell_id is not None:
        found = cells.whole(tx, scratch_id, [cell_id])
        if not found:
            raise missing_cells([cell_id])
        return found[0]
    at = position or 0
    cell = cells.at(tx, scratch_id, at) if 0 <= at < _FARTHEST else None
    if cell is None:
        raise wrong_index(at)
    return cell


def selected(places: Sequence[P], wanted: Wanted) -> list[P]:
    """Return the cells a caller wants, in the order asked for, each once.

    Ids and indices name cells; with both, a cell must be among both. Raises NotFound for an
    unknown id, INVALID_INDEX for an unknown index.
    """
    chosen = list(places)
    if wanted.cell_ids is not None:
        by_id = {place.cell_id: place for place in places}
        unknown = [cell_id for cell_id in wanted.cell_ids if cell_id not in by_id]
        if unknown:
            raise missing_cells(unknown)
        chosen = [by_id[cell_id] for cell_id in wanted.cell_ids]
    if wanted.indices is not None:
        outside = [at for at in wanted.indices if not 0 <= at < len(places)]
        if outside:
            raise wrong_index(outside[0], len(places))
        if wanted.cell_ids is None:
            chosen = [places[at] for at in wanted.indices]
        else:
            chosen = [place for place in chosen if place.index in wanted.indices]
    if wanted.tags:
        chosen = [place for place in chosen if not set(wanted.tags).isdisjoint(place.tags)]
    return chosen


def require_version(what: str, version: int, if_version: int | None) -> None:
    """Raise Conflict where a thing is not at the version the caller read."""
    if if_version is not None and version != if_version:
        raise Conflict(
            f"if_version is {if_version}; the {what} is at version {version}",
            hint=f"Read it again, then call again with if_version {version}.",
            data={"details": {"version": version}},
        )


def missing() -> NotFound:
    """Return the error of a pad that is not there, or not the caller's."""
    return NotFound(MISSING, hint="scratch_list shows pads, scratch_restore the trash.")


def missing_cells(cell_ids: Sequence[str]) -> NotFound:
    """Return the error of cells that a pad does not have."""
    return NotFound(
        f"The scratchpad has no cell {', '.join(cell_ids)}",
        hint="scratch_list_cells shows the ids of its cells.",
    )


def wrong_index(position: int, count: int | None = None) -> Invalid:
    """Return the error of an index that no cell has."""
    has = "" if count is None else f"; it has {count}"
    return Invalid(
        f"The scratchpad has no cell at index {position}{has}",
        code="INVALID_INDEX",
        hint="scratch_list_cells shows the indices, from 0.",
    )
