"""What may happen to scratchpads as wholes."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rolltop.core.errors import NotFound
from rolltop.toolsets.scratch import index
from rolltop.toolsets.scratch.models import LABELS, OTHER_CELLS
from rolltop.toolsets.scratch.models.records import Written
from rolltop.toolsets.scratch.service import schemas
from rolltop.toolsets.scratch.service.capacity import discard, make_room
from rolltop.toolsets.scratch.service.checks import wrong
from rolltop.toolsets.scratch.service.drafts import id_taken
from rolltop.toolsets.scratch.service.finding import held
from rolltop.toolsets.scratch.store import cells, names, pads, trash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models import Order
    from rolltop.toolsets.scratch.models.records import (
        Cell,
        Draft,
        GivenPad,
        Limits,
        Pad,
        Place,
        SchemaEntry,
    )
    from rolltop.toolsets.scratch.service.places import TitlePlace


def create(
    tx: Tx,
    scratch_id: str | None,
    given: GivenPad,
    entries: Sequence[SchemaEntry],
    drafts: Sequence[Draft],
    limits: Limits,
    reads: Mapping[str, datetime],
) -> Written:
    """Return the new pad with its schemas and cells, and what made room for it: all or nothing.

    Raises Invalid: an id is taken, or there is no room.
    """
    pads.lock_tenant(tx)
    pad_id = scratch_id or str(uuid.uuid4())
    _require_free(tx, pad_id)
    by_id = new_cells(tx, drafts)
    evicted = make_room(tx, limits, reads)
    # On creation a null is kept, as any other value the pad does not interpret.
    nulls = dict.fromkeys(given.removed.difference(LABELS))
    namespace = given.namespace or limits.namespace
    names.register(tx, namespace)
    metadata = {**given.metadata, **nulls}
    pad = pads.insert_pad(tx, pad_id, namespace, metadata, given.tags or (), len(by_id))
    names.put_schemas(tx, pad_id, entries)
    added = cells.add(tx, pad_id, 0, by_id) if by_id else []
    index.put_pad(tx, pad, new=True)
    index.put_cells(tx, pad, added, new=True)
    tags = tuple(sorted({tag for cell in added for tag in cell.tags}))
    places = tuple(cell.place for cell in added)
    return Written(pad, places, _hashes(added), tags, tuple(evicted))


def new_cells(tx: Tx, drafts: Sequence[Draft]) -> dict[str, Draft]:
    """Return drafts by their ids, made where none is given. Raises Invalid for one taken."""
    by_id = {draft.cell_id or str(uuid.uuid4()): draft for draft in drafts}
    given = [draft.cell_id for draft in drafts if draft.cell_id is not None]
    taken = cells.taken(tx, given) if given else set[str]()
    if taken:
        raise id_taken("cell_id", min(taken))
    return by_id


def update(tx: Tx, scratch_id: str, given: GivenPad, if_version: int | None) -> Written:
    """Return the pad with the given fields merged in.

    Raises:
        Invalid: nothing is given.
        NotFound: the pad is not there.
        Conflict: it is not at `if_version`, or a schema's name is taken.

    """
    if given.namespace is not None:
        pads.lock_tenant(tx)
    pad = held(tx, scratch_id, if_version)
    kept = {key: value for key, value in pad.metadata.items() if key not in given.removed}
    changed = replace(
        pad,
        namespace=given.namespace or pad.namespace,
        metadata={**kept, **given.metadata},
        tags=pad.tags if given.tags is None else given.tags,
    )
    if changed.namespace != pad.namespace:
        names.register(tx, changed.namespace)
    _merge_schemas(tx, scratch_id, given)
    is_filtered_alike = (changed.namespace, changed.tags) == (pad.namespace, pad.tags)
    pad = pads.put_fields(tx, pad, changed)
    if not is_filtered_alike:
        index.refilter(tx, pad)
    index.put_pad(tx, pad)
    return written(tx, pad, ())


def delete(tx: Tx, scratch_id: str) -> bool:
    """Whether the pad was there; it is in the trash now."""
    pad = pads.hold(tx, scratch_id)
    if pad is not None:
        discard(tx, pad)
    return pad is not None


def restore(tx: Tx, scratch_id: str, limits: Limits, reads: Mapping[str, datetime]) -> Written:
    """Return the pad, out of the trash. Raises NotFound, or Invalid where there is no room."""
    pads.lock_tenant(tx)
    pad = trash.hold(tx, scratch_id)
    if pad is None:
        raise NotFound(
            "No such scratchpad is in the trash",
            hint="scratch_restore without scratch_id lists it; pads stay there for 30 days.",
        )
    evicted = make_room(tx, limits, reads)
    names.register(tx, pad.namespace)
    back = pads.touch(tx, pad)
    index.put_whole(tx, back)
    listed = written(tx, back, ())
    return Written(back, listed.cells, {}, listed.cell_tags, tuple(evicted))


def page(
    tx: Tx,
    namespaces: Sequence[str],
    tags: Sequence[str],
    order: Order,
    after: Sequence[Any] | None,
    limit: int,
) -> tuple[list[Pad], bool]:
    """Return up to `limit` pads after a place, and whether others follow."""
    found = pads.page(tx, namespaces, tags, order, after, limit + 1)
    return found[:limit], len(found) > limit


def titled_page(
    tx: Tx,
    namespaces: Sequence[str],
    tags: Sequence[str],
    place: TitlePlace | None,
    limit: int,
) -> tuple[list[Pad], bool]:
    """Return up to `limit` pads by title after a place, and whether others follow."""
    after = None if place is None else pads.title_place(tx, place.scratch_id)
    beyond = None
    if place is not None and (after is None or not place.has(after[1])):
        # It has another title now: what came up to it is told by number.
        after, beyond = None, (place.scratch_id, max(0, place.position - 1))
    found = pads.page(tx, namespaces, tags, "title", after, limit + 1, beyond)
    return found[:limit], len(found) > limit


def trash_page(tx: Tx, after: tuple[datetime, str] | None, limit: int) -> tuple[list[Pad], bool]:
    """Return up to `limit` pads of the trash after a place, and whether others follow."""
    found = trash.page(tx, after, limit + 1)
    return found[:limit], len(found) > limit


def tags_in_use(tx: Tx, namespaces: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the tags of pads and those of cells, sorted."""
    return pads.tags_in_use(tx, namespaces)


def purge_trash(tx: Tx) -> int:
    """Return how many pads left the trash for good, 30 days after they came there."""
    return trash.purge(tx)


def idle_owners(tx: Tx, age: timedelta) -> list[str]:
    """Return the users who have pads that were not written for that long."""
    return trash.idle_owners(tx, tx.now - age)


def written(tx: Tx, pad: Pad, own: Sequence[Cell]) -> Written:
    """Return the pad as a write's answer shows it, with the cells written and some others."""
    ids = {cell.cell_id for cell in own}
    first = cells.first_places(tx, pad.scratch_id, OTHER_CELLS + len(own))
    others = [place for place in first if place.cell_id not in ids][:OTHER_CELLS]
    listed = sorted((*others, *(cell.place for cell in own)), key=lambda place: place.index)
    return Written(pad, tuple(listed), _hashes(own), _tags(tx, pad, first))


def _tags(tx: Tx, pad: Pad, places: Sequence[Place]) -> tuple[str, ...]:
    """Return the tags of a pad's cells, of which some places are known."""
    if len(places) == pad.cell_count:
        return tuple(sorted({tag for place in places for tag in place.tags}))
    return tuple(pads.cell_tags_of(tx, pad.scratch_id))


def _hashes(own: Sequence[Cell]) -> dict[str, str]:
    return {cell.cell_id: cell.measured.sha256 for cell in own}


def require_something(given: GivenPad) -> None:
    """Raise Invalid where an update names nothing to change."""
    if given == type(given)():
        raise wrong(
            "Nothing to update: give metadata, tags or namespace",
            "Call scratch_update again with what to change.",
        )


def _require_free(tx: Tx, scratch_id: str) -> None:
    taken = trash.is_taken(tx, scratch_id)
    if taken is None:
        return
    if taken.deleted_at is None:
        raise id_taken("scratch_id", scratch_id, "scratch_read reads it; leave scratch_id out.")
    if trash.hold(tx, scratch_id) is None:
        trash.forget(tx, scratch_id)  # its 30 days are over
        return
    raise id_taken("scratch_id", scratch_id, "It is in the trash: scratch_restore brings it back.")


def _merge_schemas(tx: Tx, scratch_id: str, given: GivenPad) -> None:
    if not (given.schemas or given.removed_schemas or given.removes_all_schemas):
        return
    before = names.schemas_of(tx, scratch_id)
    gone = [
        entry.id
        for entry in before
        if given.removes_all_schemas or entry.name in given.removed_schemas
    ]
    names.drop_schemas(tx, scratch_id, gone)
    kept = [entry for entry in before if entry.id not in gone]
    names.put_schemas(tx, scratch_id, schemas.merged(kept, given.schemas))
