"""Which documents the search keeps of pads and cells, and what they are filtered by."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from rolltop.core import search
from rolltop.core.search import Document
from rolltop.toolsets.scratch.store import cells as cell_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.records import Cell, Pad

PAD: Final = "scratch_pad"
CELL: Final = "scratch_cell"
KINDS: Final = (PAD, CELL)
_BATCH: Final = 200


def put_pad(tx: Tx, pad: Pad, *, new: bool = False) -> None:
    """Keep a pad's own words, in place of what was kept of it; of a `new` one nothing was."""
    words = [str(label) for label in pad.labels.values()]
    text = "\n".join([*words, *pad.tags])
    search.put(tx, [Document(PAD, pad.scratch_id, 0, text, _filters(pad, pad.tags))], new=new)


def put_cells(
    tx: Tx, pad: Pad, cells: Iterable[Cell], *, new: bool = False, same_tags: bool = False
) -> None:
    """Keep cells' contents, in place of what was kept of them; of `new` ones nothing was.

    `same_tags` promises that the pad's and the cells' are those that were kept.
    """
    documents: list[Document] = []
    for cell in cells:
        filters = _filters(pad, (*pad.tags, *cell.tags))
        parts = enumerate(search.chunks(cell.content or ""))
        documents += [Document(CELL, cell.cell_id, at, part, filters) for at, part in parts]
    search.put(tx, documents, new=new, same_filters=same_tags)


def put_whole(tx: Tx, pad: Pad) -> None:
    """Keep a pad and all its cells, batch by batch."""
    put_pad(tx, pad)
    ids = [place.cell_id for place in cell_store.places(tx, pad.scratch_id)]
    for start in range(0, len(ids), _BATCH):
        put_cells(tx, pad, cell_store.whole(tx, pad.scratch_id, ids[start : start + _BATCH]))


def refilter(tx: Tx, pad: Pad) -> None:
    """Let what is kept of a pad and its cells be found by the pad's present fields."""
    search.update_filters(tx, PAD, [pad.scratch_id], _filters(pad, pad.tags))
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for place in cell_store.places(tx, pad.scratch_id):
        alike[place.tags].append(place.cell_id)
    for tags, ids in alike.items():
        search.update_filters(tx, CELL, ids, _filters(pad, (*pad.tags, *tags)))


def drop_cells(tx: Tx, cell_ids: Sequence[str]) -> None:
    """Forget cells."""
    search.drop(tx, CELL, cell_ids)


def drop_pad(tx: Tx, pad: Pad) -> None:
    """Forget a pad and its cells."""
    search.drop(tx, PAD, [pad.scratch_id])
    search.drop(tx, CELL, [place.cell_id for place in cell_store.places(tx, pad.scratch_id)])


def _filters(pad: Pad, tags: Iterable[str]) -> dict[str, str | Sequence[str]]:
    return {"namespace": pad.namespace, "tags": tuple(dict.fromkeys(tags))}
