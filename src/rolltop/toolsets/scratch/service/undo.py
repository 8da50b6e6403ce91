"""Taking back what was done to pads and their cells: by an operation, or the deletion of a cell."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rolltop.core.accounts import lock_owner
from rolltop.core.context import AppContext
from rolltop.core.db import Tx
from rolltop.core.db.types import canonical_id
from rolltop.core.errors import NotFound
from rolltop.core.fulltext import indexer
from rolltop.core.journal import history, undo
from rolltop.core.journal.history import Entry, EntryFilter
from rolltop.toolsets.scratch.models import SERVICE
from rolltop.toolsets.scratch.models.records import Pad, PadLimits, PadWrite
from rolltop.toolsets.scratch.service import pads
from rolltop.toolsets.scratch.service.cell_input import measure_text, require_room
from rolltop.toolsets.scratch.store import cell_rows, pad_rows
from rolltop.toolsets.scratch.store.tables import cells, namespaces

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService


def restore_cell(tx: Tx, given: str, scratch_id: str | None, limits: PadLimits) -> PadWrite:
    """Put a deleted cell, given by the start of its id, back to its place in its pad.

    Raises NotFound, INVALID_ID for the beginning of several ids, CAPACITY_LIMIT_REACHED.
    """
    lock_owner(tx)
    known = history.find_refs(tx, EntryFilter(kind="cell", ref=given))
    there = cell_rows.pads_and_tags(tx, known)
    gone = [one for one in known if one not in there]
    cell_id = pads.only_id("cell_id", given, gone) or given
    last = [*history.latest_entries(tx, [("cell", cell_id)]).values()]
    pad_id = _pad_of_deletion(last)
    if pad_id is None or scratch_id not in {None, pad_id}:
        raise _not_kept(f"There is no deleted cell {given}")
    pad = pads.lock_pad(tx, pad_id)
    require_room(pad.cell_count + 1, limits)
    deletion = EntryFilter(operations=[last[0].operation], kind="pad", ref=pad_id)
    moved = history.read_entries(tx, deletion, limit=1)
    try:
        texts = history.read_texts(tx, history.text_digests(last))
        with guard(tx, last):
            _put_back(tx, last, texts, limits, moved)
    except undo.UndoConflict as conflict:
        raise _not_kept(f"Cell {given} cannot be put back: {conflict.reason}") from None
    return PadWrite(pads.get_pad(tx, pad_id), tuple(cell_rows.get_cells(tx, pad_id, [cell_id])))


def _pad_of_deletion(entries: Sequence[Entry]) -> str | None:
    """Return the pad of the cell that the entries deleted; None if they deleted none."""
    for change in (change for entry in entries for change in entry.changes):
        if change["table"] == cells.name and change["after"] is None:
            return canonical_id(change["before"]["scratch_id"])
    return None


def _not_kept(message: str) -> NotFound:
    return NotFound(
        message,
        hint="Deleted cells are kept for desk.history_days, as far as desk.history_bytes holds "
        "their texts; those of a deleted pad come back with it, by scratch_id.",
    )


@contextmanager
def guard(tx: Tx, entries: Sequence[Entry]) -> Generator[None]:
    """Have the index hold what is left of the pads and cells of all these entries, once for all."""
    yield
    cell_ids = _cells_of(entries)
    pads.unindex_cells(tx, cell_ids)
    for scratch_id in _named_pads(entries) | _pads_of(tx, cell_ids):
        pad = pad_rows.get_including_trash(tx, scratch_id)
        if pad is None:
            indexer.drop(tx, pads.PAD_KIND, [scratch_id])
        elif pad.deleted_at is None:
            pads.index_pad_with_cells(tx, pad)
        else:
            pads.unindex_pad(tx, pad)


def take_back(app: AppContext, tx: Tx, entries: Sequence[Entry], texts: Mapping[str, str]) -> None:
    """Give the pads and cells that one operation changed their state before it, but in the index.

    Raises UndoConflict, also where there is no room for what comes back. A namespace that the
    operation made stays while a pad is in it.
    """
    service: ScratchService = app.load_service(SERVICE)
    lock_owner(tx)
    before = pad_rows.count_pads(tx)
    _put_back(tx, entries, texts, service.limits)
    things = sorted((entry.thing for entry in entries), key=lambda thing: thing[0] != "pad")
    _require_room(things[0], before, pad_rows.count_pads(tx), service.limits.pads)


def _require_room(thing: undo.Thing, before: int, after: int, limit: int) -> None:
    """Raise UndoConflict where there are more than before, and more than the limit, 0 for none."""
    if limit and after > max(before, limit):
        reason = f"there is no room for more than {limit} {thing[0]}s"
        raise undo.UndoConflict(thing, reason, by_others=True)


def _put_back(
    tx: Tx,
    entries: Sequence[Entry],
    texts: Mapping[str, str],
    limits: PadLimits,
    moved: Sequence[Entry] = (),
) -> None:
    """Take entries back; `moved` tell as well in what order cells were, and are not taken back."""
    others = [change for entry in entries for change in entry.changes if _is_of_namespace(change)]
    things = [
        replace(entry, changes=[one for one in entry.changes if not _is_of_namespace(one)])
        for entry in entries
    ]
    cell_ids = _cells_of(things)
    named = _named_pads(things)
    owners = named | _pads_of(tx, cell_ids)
    undo.take_back(tx, things, texts)
    settled = [
        _settle_pad(tx, scratch_id, [*things, *moved], limits, is_new_version=scratch_id in named)
        for scratch_id in owners | _pads_of(tx, cell_ids)
    ]
    for change in others:
        name = change["key"]["namespace"]
        is_there = pad_rows.is_registered(tx, name)
        if change["before"] is None and (not is_there or pad_rows.has_pads(tx, name)):
            continue
        if change["after"] is not None or not is_there:
            undo.take_back(tx, [replace(entries[0], changes=[change])], texts)
    for pad in settled:
        if pad is not None and pad.deleted_at is None:
            pad_rows.register_namespace(tx, pad.namespace)  # it may have been deleted since


def _is_of_namespace(change: Mapping[str, Any]) -> bool:
    return change["table"] == namespaces.name


def _named_pads(entries: Iterable[Entry]) -> dict[str, None]:
    return dict.fromkeys(entry.ref for entry in entries if entry.kind == "pad")


def _cells_of(entries: Iterable[Entry]) -> list[str]:
    return [entry.ref for entry in entries if entry.kind == "cell"]


def _pads_of(tx: Tx, cell_ids: Sequence[str]) -> dict[str, None]:
    found = cell_rows.pads_and_tags(tx, cell_ids).values()
    return dict.fromkeys(scratch_id for scratch_id, _tags in found)


def _settle_pad(
    tx: Tx, scratch_id: str, entries: Sequence[Entry], limits: PadLimits, *, is_new_version: bool
) -> Pad | None:
    """Make what follows from a pad's rows true again after some were put back or taken away.

    That is the order and number of its cells, and the figures of the cells that entries are of.
    Returns the pad, if there is one. Raises UndoConflict where there is no room for cells.
    """
    cell_ids = _cells_of(entries)
    pad = pad_rows.get_including_trash(tx, scratch_id)
    if pad is None:
        return None
    count, end = cell_rows.count_places(tx, scratch_id)
    moves = [*_moves(entries)]
    if moves or count != end:
        places = cell_rows.places(tx, scratch_id)
        cell_rows.set_order(tx, scratch_id, _order_before(places, moves), places)
    if cell_ids:
        _require_room(("cell", cell_ids[0]), pad.cell_count, count, limits.cells)
    pad = pad_rows.set_cell_count(tx, pad, count)
    for cell in cell_rows.get_cells(tx, scratch_id, cell_ids):
        stats = measure_text(cell.content or "", limits)
        if stats != cell.stats:
            cell_rows.set_stats(tx, cell, stats)
    if not is_new_version:
        undo.touch(tx, ("pad", scratch_id))
    return pad


def _moves(entries: Iterable[Entry]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the changes of cells that were moved or deleted, each with its entry's kind."""
    for kind, change in ((entry.kind, change) for entry in entries for change in entry.changes):
        if change["table"] == cells.name and "position" in (change["before"] or ()):
            yield kind, change


def _order_before(
    places: Mapping[str, int], moves: Iterable[tuple[str, Mapping[str, Any]]]
) -> list[str]:
    """Return a pad's cells in the order before what was moved; `places` are those of now.

    Where others came, went or moved since, what was moved or is put back stands before what
    followed it then, and nothing else moves.
    """
    then, left, loose = dict[str, int](), dict[str, int](), set[str]()
    for kind, change in moves:
        before, after = change["before"], change["after"]
        cell_id = canonical_id(change["key"]["cell_id"])
        if cell_id not in places:
            continue
        then.setdefault(cell_id, before["position"])
        if after is not None:
            left[cell_id] = after["position"]
        if kind == "cell":
            loose.add(cell_id)
    if all(places[one] == place for one, place in left.items()):
        return sorted(places, key=lambda one: (then.get(one, places[one]), one not in loose))
    order = sorted(places.keys() - loose, key=places.__getitem__)
    for one in sorted(loose, key=then.__getitem__):
        known = [(at, then[other]) for at, other in enumerate(order) if other in then]
        ahead = [at + 1 for at, place in known if place < then[one]]
        behind = (at for at, place in known if place > then[one])
        order.insert(next(behind, ahead[-1] if ahead else then[one]), one)
    return order
