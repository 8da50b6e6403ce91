"""Transactions on scratchpads, their cells and schemas, and their full-text documents."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from rolltop.core.accounts import lock_owner
from rolltop.core.db import Tx
from rolltop.core.db.engine import batches
from rolltop.core.db.types import id_range
from rolltop.core.errors import Conflict, InvalidArgument, NotFound, RolltopError
from rolltop.core.fulltext import indexer
from rolltop.core.fulltext.analyzer import chunks
from rolltop.core.fulltext.documents import IndexDocument
from rolltop.core.tags import has_any_tag
from rolltop.toolsets.scratch.models import (
    LABEL_KEYS,
    MAX_PAD_METADATA_BYTES,
)
from rolltop.toolsets.scratch.models.records import (
    Cell,
    CellSelection,
    Draft,
    Edit,
    Pad,
    PadChange,
    PadLimits,
    PadWrite,
    SchemaChange,
    SchemaEntry,
)
from rolltop.toolsets.scratch.service import schemas
from rolltop.toolsets.scratch.service.cell_input import (
    ID_LENGTH,
    capacity_error,
    check_metadata_size,
    id_conflict,
    identifier,
    invalid_value,
    measure_text,
    require_room,
)
from rolltop.toolsets.scratch.service.text_edits import apply_edits
from rolltop.toolsets.scratch.store import cell_rows, pad_rows

# The kinds of documents in the full-text index.
PAD_KIND: Final = "scratch_pad"
CELL_KIND: Final = "scratch_cell"
KINDS: Final = (PAD_KIND, CELL_KIND)
_INDEX_BATCH_SIZE: Final = 200  # cells
_NOT_FOUND_MESSAGE: Final = "Scratchpad not found"
_MAX_CANDIDATES: Final = 5  # ids that an error names
_NO_ID: Final = str(uuid.UUID(int=0))
_MAX_POSITION: Final = 1 << 31  # no database counts cells further than that


class CellOvertaken(Exception):
    """Another call wrote the cell between a read and a write."""


def create_pad(
    tx: Tx,
    scratch_id: str | None,
    change: PadChange,
    entries: Sequence[SchemaEntry],
    drafts: Sequence[Draft],
    limits: PadLimits,
    reads: Mapping[str, datetime],
) -> PadWrite:
    """Create a pad with its schemas and cells, evicting others if there is no room.

    Raises InvalidArgument if an id is taken or there is no room.
    """
    lock_owner(tx)
    pad_id = scratch_id or str(uuid.uuid4())
    _require_free(tx, pad_id)
    by_id = _assign_ids(tx, drafts)
    # On creation a null is stored, like any other value the pad does not interpret.
    nulls = dict.fromkeys(change.removed.difference(LABEL_KEYS))
    metadata = {**change.metadata, **nulls}
    check_metadata_size(metadata, MAX_PAD_METADATA_BYTES, "metadata")
    evicted = _make_room(tx, limits, reads)
    namespace = change.namespace or limits.namespace
    pad_rows.register_namespace(tx, namespace)
    pad = pad_rows.insert_pad(tx, pad_id, namespace, metadata, change.tags or (), len(by_id))
    pad_rows.put_schemas(tx, pad_id, entries)
    added = cell_rows.insert_cells(tx, pad_id, 0, by_id) if by_id else []
    _index_pad(tx, pad, new=True)
    _index_cells(tx, pad, added, new=True)
    return PadWrite(pad, tuple(added), tuple(evicted))


def update_pad(tx: Tx, scratch_id: str, change: PadChange, if_version: int | None) -> PadWrite:
    """Merge the given fields into a pad.

    Raises:
        NotFound: the pad does not exist.
        Conflict: it is not at `if_version`, or a schema's name is taken.
        InvalidArgument: the merged metadata is too long.

    """
    if change.namespace is not None:
        lock_owner(tx)
    pad = lock_pad(tx, scratch_id, if_version)
    kept = {key: value for key, value in pad.metadata.items() if key not in change.removed}
    changed = replace(
        pad,
        namespace=change.namespace or pad.namespace,
        metadata={**kept, **change.metadata},
        tags=pad.tags if change.tags is None else change.tags,
    )
    if change.metadata:
        check_metadata_size(changed.metadata, MAX_PAD_METADATA_BYTES, "metadata")
    if changed.namespace != pad.namespace:
        pad_rows.register_namespace(tx, changed.namespace)
    _merge_schemas(tx, scratch_id, change)
    has_same_filters = (changed.namespace, changed.tags) == (pad.namespace, pad.tags)
    pad = pad_rows.update_pad(tx, pad, changed)
    if not has_same_filters:
        update_filters(tx, pad)
    _index_pad(tx, pad)
    return PadWrite(pad)


def delete_pad(tx: Tx, scratch_id: str, version: int | None = None) -> bool:
    """Move a pad to the trash, out of the search index; False if it is not there at `version`."""
    pad = pad_rows.get_pad(tx, scratch_id, lock=True)
    if pad is None or version not in {None, pad.version}:
        return False
    unindex_pad(tx, pad)
    pad_rows.touch_pad(tx, pad, deleted=True)
    return True


def restore_pad(
    tx: Tx, scratch_id: str, limits: PadLimits, reads: Mapping[str, datetime]
) -> PadWrite:
    """Restore a pad from the trash. Raises NotFound, or InvalidArgument if there is no room."""
    lock_owner(tx)
    pad = pad_rows.get_trashed(tx, scratch_id, lock=True)
    if pad is None:
        raise NotFound(
            "No such scratchpad is in the trash",
            hint="scratch_restore without scratch_id lists it; pads stay there for 30 days.",
        )
    evicted = _make_room(tx, limits, reads)
    pad_rows.register_namespace(tx, pad.namespace)
    back = pad_rows.touch_pad(tx, pad)
    index_pad_with_cells(tx, back)
    return PadWrite(back, evicted=tuple(evicted))


def evict_idle_pads(tx: Tx, age: timedelta, reads: Mapping[str, datetime]) -> list[str]:
    """Move the caller's pads that were idle for longer to the trash; return their ids."""
    lock_owner(tx)
    pad_rows.update_access_times(tx, reads)
    idle = pad_rows.least_recently_used(tx, pad_rows.count_pads(tx), before=tx.now - age)
    return [pad.scratch_id for pad in idle if delete_pad(tx, pad.scratch_id, pad.version)]


def append_cell(
    tx: Tx, scratch_id: str, draft: Draft, if_version: int | None, limits: PadLimits
) -> PadWrite:
    """Append a cell to a pad.

    Raises:
        NotFound: the pad does not exist.
        Conflict: it is not at `if_version`.
        InvalidArgument: the cell's id is taken, or there is no room.

    """
    if draft.cell_id is not None:
        lock_owner(tx)  # another call may give the same id to a cell of another pad
    pad = lock_pad(tx, scratch_id, if_version)
    require_room(pad.cell_count + 1, limits)
    added = cell_rows.insert_cells(tx, scratch_id, pad.cell_count, _assign_ids(tx, [draft]))
    _index_cells(tx, pad, added, new=True)
    return PadWrite(pad_rows.touch_pad(tx, pad, cells=1), tuple(added))


def replace_cell(
    tx: Tx,
    scratch_id: str,
    cell_id: str | None,
    position: int | None,
    draft: Draft,
    new_position: int | None,
    if_version: int | None,
) -> PadWrite:
    """Replace a cell, by its id or position, and move it; tags and metadata left out stay.

    Raises NotFound, Conflict, and InvalidArgument for an index or an id that does not fit.
    """
    pad = lock_pad(tx, scratch_id)
    cell = _find_cell(tx, scratch_id, cell_id, position)
    if draft.cell_id not in {None, cell.cell_id}:
        raise invalid_value(
            f"cell.cell_id is {draft.cell_id}, but the cell replaced is {cell.cell_id}",
            "Leave cell.cell_id out: a cell keeps its id.",
        )
    _require_version("cell", cell.version, if_version)
    if new_position is not None and not 0 <= new_position < pad.cell_count:
        raise _index_out_of_range(new_position, pad.cell_count)
    return _update_cell(tx, pad, cell, draft, new_position)


def get_cell(tx: Tx, scratch_id: str, cell_id: str, if_version: int | None) -> Cell:
    """Read a cell whole. Raises NotFound, or Conflict for another version."""
    get_pad(tx, scratch_id)
    cell = _find_cell(tx, scratch_id, cell_id)
    _require_version("cell", cell.version, if_version)
    return cell


def get_language(tx: Tx, scratch_id: str, cell_id: str | None, position: int | None) -> str:
    """Read a cell's language. Raises NotFound, or InvalidArgument for an index that is none."""
    get_pad(tx, scratch_id)
    return _find_cell(tx, scratch_id, cell_id, position).language


def edit_draft(cell: Cell, edits: Sequence[Edit], limits: PadLimits) -> Draft:
    """Apply edits to a cell's content. Raises InvalidArgument."""
    content = apply_edits(cell.content or "", edits, limits.cell_bytes)
    return Draft(
        language=cell.language,
        content=content,
        stats=measure_text(content, limits),
        validate=cell.validate,
        json_schema=cell.json_schema,
    )


def put_edited_cell(tx: Tx, scratch_id: str, cell_id: str, draft: Draft, version: int) -> PadWrite:
    """Write an edited cell. Raises CellOvertaken if the cell is no longer at that version."""
    pad = lock_pad(tx, scratch_id)
    cell = _find_cell(tx, scratch_id, cell_id)
    if cell.version != version:
        raise CellOvertaken
    return _update_cell(tx, pad, cell, draft)


def edit_cell(
    tx: Tx,
    scratch_id: str,
    cell_id: str,
    edits: Sequence[Edit],
    if_version: int | None,
    limits: PadLimits,
) -> PadWrite:
    """Edit a cell within one transaction, which no other call can overtake."""
    pad = lock_pad(tx, scratch_id)
    cell = _find_cell(tx, scratch_id, cell_id)
    _require_version("cell", cell.version, if_version)
    return _update_cell(tx, pad, cell, edit_draft(cell, edits, limits))


def delete_cell(tx: Tx, scratch_id: str, cell_id: str, if_version: int | None) -> PadWrite:
    """Delete a cell; the cells after it move up. Raises NotFound or Conflict."""
    pad = lock_pad(tx, scratch_id)
    cell = _find_cell(tx, scratch_id, cell_id)
    _require_version("cell", cell.version, if_version)
    unindex_cells(tx, [cell_id])
    cell_rows.delete_cell(tx, pad, cell)
    return PadWrite(pad_rows.touch_pad(tx, pad, cells=-1))


def list_cells(
    tx: Tx, scratch_id: str, selection: CellSelection
) -> tuple[Pad, datetime, list[Cell]]:
    """Read a pad, the time, and the selected cells without content. Raises NotFound."""
    pad = get_pad(tx, scratch_id)
    return pad, tx.now, select_cells(cell_rows.outlines(tx, scratch_id), selection)


def list_schemas(tx: Tx, scratch_id: str) -> list[SchemaEntry]:
    """List a pad's schemas, by description, then by name. Raises NotFound."""
    get_pad(tx, scratch_id)
    return pad_rows.schemas_of(tx, scratch_id)


def get_schema(tx: Tx, scratch_id: str, given: str) -> SchemaEntry:
    """Read a schema of a pad by its id, its name or its address.

    Raises NotFound for an id that is none of the pad's, INVALID_ID for any other text.
    """
    entries, named = list_schemas(tx, scratch_id), schemas.referenced_name(given) or given
    chosen = [entry for entry in entries if entry.id == named.lower()]
    for entry in chosen or (one for one in entries if one.name == named.strip()):
        return entry
    raise NotFound(f"The pad has no schema {identifier(given, 'schema_id')}", hint=schemas.HINT)


def upsert_schema(tx: Tx, scratch_id: str, change: SchemaChange) -> SchemaEntry:
    """Add or change a schema of a pad. Raises NotFound, or Conflict for a name that is taken."""
    pad = lock_pad(tx, scratch_id)
    (entry,) = schemas.merge_entries(pad_rows.schemas_of(tx, scratch_id), [change])
    pad_rows.put_schemas(tx, scratch_id, [entry])
    pad_rows.touch_pad(tx, pad)
    return entry


def delete_schema(tx: Tx, scratch_id: str, given: str) -> str:
    """Delete a schema of a pad; return its id. Raises as `get_schema` does."""
    pad = lock_pad(tx, scratch_id)
    schema_id = get_schema(tx, scratch_id, given).id
    pad_rows.delete_schemas(tx, scratch_id, [schema_id])
    pad_rows.touch_pad(tx, pad)
    return schema_id


def find_ids(
    tx: Tx, scratch_id: str, cell_ids: Sequence[str], *, trashed: bool = False
) -> list[str]:
    """Find the ids of a pad, in the trash or outside, and of its cells, given by their beginnings.

    Raises NotFound for the beginning of no cell, INVALID_ID for one of several ids. That of no pad
    is filled up to an id, so that each tool answers as it does for a pad that is missing.
    """
    candidates = pad_rows.ids_starting(tx, scratch_id, _MAX_CANDIDATES, trashed=trashed)
    pad_id = only_id("scratch_id", scratch_id, candidates) or scratch_id + _NO_ID[len(scratch_id) :]
    known = cell_rows.outlines(tx, pad_id) if candidates and cell_ids else ()
    found: list[str] = []
    for given in cell_ids:
        some = [cell.cell_id for cell in known if cell.cell_id.startswith(given)]
        found.append(only_id("cell_id", given, some) or given)
    if known and (unknown := [one for one in found if len(one) < ID_LENGTH]):
        raise cells_not_found(unknown)
    return [pad_id, *(one + _NO_ID[len(one) :] for one in found)]


def find_pad(tx: Tx, given: str) -> Pad:
    """Find the caller's pad, outside the trash or else in it, by the start of its id.

    Raises NotFound, or INVALID_ID for the beginning of several ids.
    """
    for trashed, read in ((False, pad_rows.get_pad), (True, pad_rows.get_trashed)):
        found = pad_rows.ids_starting(tx, given, _MAX_CANDIDATES, trashed=trashed)
        pad_id = only_id("scratch_id", given, found)
        if pad_id is not None and (pad := read(tx, pad_id)) is not None:
            return pad
    raise _pad_not_found()


def find_cell(tx: Tx, given: str) -> tuple[str, str]:
    """Find the pad, in the trash or outside, and the whole id of a cell by the start of its id.

    Raises NotFound, or INVALID_ID for the beginning of several ids.
    """
    found = cell_rows.ids_between(tx, *id_range(given), _MAX_CANDIDATES)
    cell_id = only_id("cell_id", given, found)
    if cell_id is None:
        raise NotFound(
            f"There is no cell {given}", hint="scratch_list_cells shows the ids of a pad's cells."
        )
    scratch_id, _tags = cell_rows.pads_and_tags(tx, [cell_id])[cell_id]
    return scratch_id, cell_id


def get_pad(tx: Tx, scratch_id: str, namespaces: Sequence[str] = ()) -> Pad:
    """Read the caller's pad.

    Raises:
        NotFound: it is missing, in the trash or another's.
        RolltopError: UNAUTHORIZED; it is outside the namespaces.

    """
    pad = pad_rows.get_pad(tx, scratch_id)
    if pad is None:
        raise _pad_not_found()
    if namespaces and pad.namespace not in namespaces:
        raise RolltopError(
            _NOT_FOUND_MESSAGE,
            code="UNAUTHORIZED",
            hint="It is yours, but outside the given namespaces; leave namespaces out.",
        )
    return pad


def lock_pad(tx: Tx, scratch_id: str, if_version: int | None = None) -> Pad:
    """Read and lock the caller's pad. Raises NotFound, or Conflict for another version."""
    pad = pad_rows.get_pad(tx, scratch_id, lock=True)
    if pad is None:
        raise _pad_not_found()
    _require_version("pad", pad.version, if_version)
    return pad


def select_cells(cells: Sequence[Cell], selection: CellSelection) -> list[Cell]:
    """Select cells in the order asked for, each once.

    Ids and indices name cells; with both, a cell must be among both. Raises NotFound for an
    unknown id, INVALID_INDEX for an unknown index.
    """
    chosen = list(cells)
    if selection.cell_ids is not None:
        by_id = {cell.cell_id: cell for cell in cells}
        unknown = [cell_id for cell_id in selection.cell_ids if cell_id not in by_id]
        if unknown:
            raise cells_not_found(unknown)
        chosen = [by_id[cell_id] for cell_id in selection.cell_ids]
    if selection.indices is not None:
        for at in selection.indices:
            if not 0 <= at < len(cells):
                raise _index_out_of_range(at, len(cells))
        if selection.cell_ids is None:
            chosen = [cells[at] for at in selection.indices]
        else:
            chosen = [cell for cell in chosen if cell.index in selection.indices]
    if selection.tags:
        chosen = [cell for cell in chosen if has_any_tag(cell.tags, selection.tags)]
    return chosen


def cells_not_found(cell_ids: Sequence[str]) -> NotFound:
    """Create the error of cells that a pad does not have."""
    return NotFound(
        f"The scratchpad has no cell {', '.join(cell_ids)}",
        hint="scratch_list_cells shows the ids of its cells.",
    )


def _make_room(tx: Tx, limits: PadLimits, reads: Mapping[str, datetime]) -> list[str]:
    """Evict so many pads that one more has room; return their ids.

    The tenant is locked; `reads` are accesses that are not stored yet.
    """
    evicted: list[str] = []
    while limits.pads and (count := pad_rows.count_pads(tx)) >= limits.pads:
        if limits.policy == "fail":
            raise capacity_error(
                f"There are {count} scratchpads, and the limit is {limits.pads}",
                "`rolltop config` shows where scratch.max_scratchpads is set, to raise it; or "
                "scratch_delete pads that are done with, which scratch_list shows.",
            )
        pad_rows.update_access_times(tx, reads)
        # One that was written while this waited for it is no longer among the oldest.
        oldest = pad_rows.least_recently_used(tx, count + 1 - limits.pads)
        evicted += [one.scratch_id for one in oldest if delete_pad(tx, one.scratch_id, one.version)]
    return evicted


def _merge_schemas(tx: Tx, scratch_id: str, change: PadChange) -> None:
    if not (change.schemas or change.removed_schemas or change.removes_all_schemas):
        return
    before = pad_rows.schemas_of(tx, scratch_id)
    removed = [
        entry.id
        for entry in before
        if change.removes_all_schemas or entry.name in change.removed_schemas
    ]
    pad_rows.delete_schemas(tx, scratch_id, removed)
    kept = [entry for entry in before if entry.id not in removed]
    pad_rows.put_schemas(tx, scratch_id, schemas.merge_entries(kept, change.schemas))


def _require_free(tx: Tx, scratch_id: str) -> None:
    taken = pad_rows.get_including_trash(tx, scratch_id)
    if taken is None:
        return
    if taken.deleted_at is None:
        raise id_conflict("scratch_id", scratch_id, "scratch_read reads it; leave scratch_id out.")
    if pad_rows.get_trashed(tx, scratch_id) is not None:
        raise id_conflict(
            "scratch_id", scratch_id, "It is in the trash: scratch_restore brings it back."
        )
    pad_rows.delete_pad(tx, scratch_id)  # its 30 days are over


def _assign_ids(tx: Tx, drafts: Sequence[Draft]) -> dict[str, Draft]:
    """Give an id to each draft without one. Raises InvalidArgument for one taken."""
    by_id = {draft.cell_id or str(uuid.uuid4()): draft for draft in drafts}
    given = [draft.cell_id for draft in drafts if draft.cell_id is not None]
    taken = cell_rows.pads_and_tags(tx, given)
    if taken:
        raise id_conflict("cell_id", min(taken))
    return by_id


def _find_cell(tx: Tx, scratch_id: str, cell_id: str | None, position: int | None = None) -> Cell:
    """Read a cell by its id or position. Raises NotFound or INVALID_INDEX."""
    if cell_id is not None:
        found = cell_rows.get_cells(tx, scratch_id, [cell_id])
        if not found:
            raise cells_not_found([cell_id])
        return found[0]
    at = position or 0
    cell = cell_rows.get_cell_at(tx, scratch_id, at) if 0 <= at < _MAX_POSITION else None
    if cell is None:
        raise _index_out_of_range(at)
    return cell


def _update_cell(
    tx: Tx, pad: Pad, before: Cell, draft: Draft, new_position: int | None = None
) -> PadWrite:
    cell = cell_rows.update_cell(tx, before, draft)
    if new_position not in {None, cell.index}:
        cell = cell_rows.move_cell(tx, cell, new_position or 0)
    pad = pad_rows.touch_pad(tx, pad)
    if cell.content != before.content or cell.tags != before.tags:
        _index_cells(tx, pad, [cell], same_tags=cell.tags == before.tags)
    return PadWrite(pad, (cell,))


def only_id(what: str, given: str, found: Sequence[str]) -> str | None:
    """Return the one id of those that begin so, None of none. Raises INVALID_ID for several."""
    if len(found) > 1:
        raise InvalidArgument(
            f"{what} {given} is the beginning of several ids: {', '.join(found[:_MAX_CANDIDATES])}",
            code="INVALID_ID",
            hint=f"Send one of them as {what}.",
        )
    return found[0] if found else None


def _require_version(what: str, version: int, if_version: int | None) -> None:
    if if_version is not None and version != if_version:
        raise Conflict(
            f"if_version is {if_version}; the {what} is at version {version}",
            hint=f"Read it again, then retry with if_version {version}.",
            data={"details": {"version": version}},
        )


def _pad_not_found() -> NotFound:
    return NotFound(_NOT_FOUND_MESSAGE, hint="scratch_list shows pads, scratch_restore the trash.")


def _index_out_of_range(position: int, count: int | None = None) -> InvalidArgument:
    has = "" if count is None else f"; it has {count}"
    return InvalidArgument(
        f"The scratchpad has no cell at index {position}{has}",
        code="INVALID_INDEX",
        hint="scratch_list_cells shows the indices, from 0.",
    )


def _index_pad(tx: Tx, pad: Pad, *, new: bool = False) -> None:
    """Index a pad's own texts, replacing its document unless it is `new`."""
    words = [str(label) for label in pad.labels.values()]
    text = "\n".join([*words, *pad.tags])
    indexer.put(
        tx, [IndexDocument(PAD_KIND, pad.scratch_id, 0, text, _filters(pad, pad.tags))], new=new
    )


def _index_cells(
    tx: Tx, pad: Pad, cells: Iterable[Cell], *, new: bool = False, same_tags: bool = False
) -> None:
    """Index cells' contents, replacing their documents unless they are `new`.

    `same_tags` promises that the tags of the pad and of the cells have not changed.
    """
    documents: list[IndexDocument] = []
    for cell in cells:
        filters = _filters(pad, (*pad.tags, *cell.tags))
        parts = enumerate(chunks(cell.content or ""))
        documents += [
            IndexDocument(CELL_KIND, cell.cell_id, at, part, filters) for at, part in parts
        ]
    indexer.put(tx, documents, new=new, same_filters=same_tags)


def index_pad_with_cells(tx: Tx, pad: Pad) -> None:
    """Index a pad and all its cells, in batches."""
    _index_pad(tx, pad)
    ids = [cell.cell_id for cell in cell_rows.outlines(tx, pad.scratch_id)]
    for some in batches(ids, _INDEX_BATCH_SIZE):
        _index_cells(tx, pad, cell_rows.get_cells(tx, pad.scratch_id, some))


def update_filters(tx: Tx, pad: Pad) -> None:
    """Update the filters of a pad's documents and those of its cells."""
    indexer.update_filters(tx, PAD_KIND, [pad.scratch_id], _filters(pad, pad.tags))
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for cell in cell_rows.outlines(tx, pad.scratch_id):
        alike[cell.tags].append(cell.cell_id)
    for tags, ids in alike.items():
        indexer.update_filters(tx, CELL_KIND, ids, _filters(pad, (*pad.tags, *tags)))


def unindex_cells(tx: Tx, cell_ids: Sequence[str]) -> None:
    """Remove cells from the index."""
    indexer.drop(tx, CELL_KIND, cell_ids)


def unindex_pad(tx: Tx, pad: Pad) -> None:
    """Remove a pad and its cells from the index."""
    indexer.drop(tx, PAD_KIND, [pad.scratch_id])
    indexer.drop(tx, CELL_KIND, [cell.cell_id for cell in cell_rows.outlines(tx, pad.scratch_id)])


def _filters(pad: Pad, tags: Iterable[str]) -> dict[str, str | Sequence[str]]:
    return {"namespace": pad.namespace, "tags": tuple(dict.fromkeys(tags))}
