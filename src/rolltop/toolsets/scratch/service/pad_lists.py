"""Lists of pads, and of those in the trash, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rolltop.core.db import Tx
from rolltop.core.pagination import Page
from rolltop.toolsets.scratch.models import PadOrder
from rolltop.toolsets.scratch.models.records import Pad
from rolltop.toolsets.scratch.service.cursors import CursorPosition, cursor_after, resume_index
from rolltop.toolsets.scratch.store import pad_rows

PadSlice = tuple[list[str], list[Pad]]
"""The ids of all pads of a list, and some of the pads."""


def list_pads(
    tx: Tx,
    namespaces: Sequence[str],
    tags: Sequence[str],
    order: PadOrder,
    position: CursorPosition | None,
    limit: int,
) -> PadSlice:
    """List pads, up to `limit` from a position on."""
    ids = pad_rows.ids_in_order(tx, namespaces, tags, order)
    return ids, _read_from(tx, ids, position, limit)


def list_trash(tx: Tx, position: CursorPosition | None, limit: int) -> PadSlice:
    """List the pads in the trash, up to `limit` from a position on."""
    ids = pad_rows.trashed_ids(tx)
    return ids, _read_from(tx, ids, position, limit, trashed=True)


def _read_from(
    tx: Tx,
    ids: list[str],
    position: CursorPosition | None,
    limit: int,
    *,
    trashed: bool = False,
) -> list[Pad]:
    first = resume_index(ids, position)
    some = ids[first : first + limit]
    found = pad_rows.get_pads(tx, some, trashed=trashed)
    return [found[scratch_id] for scratch_id in some if scratch_id in found]


def pad_page(
    kind: str,
    ids: Sequence[str],
    found: Sequence[Pad],
    more: Mapping[str, object] = MappingProxyType({}),
) -> Page:
    """Build the page of some pads of a list, of which `ids` are all."""
    places = {scratch_id: at for at, scratch_id in enumerate(ids)}
    return Page(
        [pad.entry for pad in found],
        lambda some: {"ok": True, "scratchpads": some, **more},
        lambda at: cursor_after(kind, ids, places[found[at].scratch_id]),
        bool(found) and found[-1].scratch_id != ids[-1],
    )
