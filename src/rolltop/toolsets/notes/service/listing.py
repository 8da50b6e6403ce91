"""Lists of notes, page by page."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rolltop.core import cursor as cursors
from rolltop.core.budget import Page
from rolltop.toolsets.notes.models import CURSOR, PREVIEW_LENGTH, Listed, Sort
from rolltop.toolsets.notes.service import notebooks, query
from rolltop.toolsets.notes.store import choosing, listing, reading

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.models import JsonObject
    from rolltop.toolsets.notes.service.query import Question

_FURTHEST: Final = 1 << 40
"""Notes that a page number may pass over: more than a store can hold."""
RANKED: Final = 5000
"""Notes with what is sought up to which the best come first, and not the newest, unasked.

To rank is to look at each of them: beyond, that takes longer than a person waits, and the words
tell little.
"""
_BROAD: Final = "broad"
"""In cursors, the order of a search that more notes than that answer."""
_NUMBERS: Final = {"modified": 1, "created": 1, _BROAD: 1, "rank": 2}
"""How many numbers the key of each order has."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HIGHEST: Final = 1e18
_CODE: Final = "INVALID_ARGUMENT"
_COMPLETED: Final = 100
_TITLES_READ: Final = 1000


@dataclass(frozen=True)
class Pages:
    """Which page of a list: by number, or by the cursor of the page before."""

    limit: int = 20
    page: int = 1
    cursor: str | None = None
    preview_lines: int = 0


def page(tx: Tx, settings: Settings, question: Question, pages: Pages) -> Page:
    """Return a page of the caller's notes. Raises Invalid for a date or a cursor."""
    wanted = query.wanted(question)
    notebook, _account = notebooks.current(tx, settings)
    total = choosing.total(tx, notebook.account, wanted)
    order, after, kind = wanted.sort, None, _kind(question)
    if pages.cursor is not None:
        order, after = _place(kind, pages.cursor, wanted.sort)
    elif question.sort is None and wanted.sort == "rank" and total > RANKED:
        order = _BROAD
    if order == _BROAD:
        wanted = replace(wanted, sort="modified")
    window = listing.Window(
        pages.limit + 1,
        after,
        0 if after else min((pages.page - 1) * pages.limit, _FURTHEST),
        pages.preview_lines > 0,
    )
    found = listing.page(tx, notebook.account, wanted, window, total) if total else []
    shown, more = found[: pages.limit], len(found) > pages.limit
    next_page = pages.page + 1 if more and after is None else None

    def envelope(items: list[JsonObject]) -> JsonObject:
        whole: JsonObject = {"items": items, "total_items": total}
        if next_page is not None and len(items) == len(shown):
            whole["next_page"] = next_page
        return whole

    items = [_item(one, pages.preview_lines) for one in shown]
    return Page(items, envelope, lambda index: _cursor(kind, order, shown[index]), more)


def matching_ids(tx: Tx, settings: Settings, prefix: str) -> list[str]:
    """Return ids of notes whose id or title begins so, in any case, last modified first."""
    notebook, _account = notebooks.current(tx, settings)
    sought = prefix.strip().casefold()
    newest = reading.newest_titles(tx, notebook.account, _TITLES_READ)
    found = [
        note_id
        for note_id, title in newest
        if note_id.casefold().startswith(sought) or title.casefold().startswith(sought)
    ]
    return found[:_COMPLETED]


def _item(note: Listed, preview_lines: int) -> JsonObject:
    item: JsonObject = {
        "id": note.id,
        "local_version": note.local_version,
        "title_prev": note.title,
        "tags": list(note.tags),
        "modified_at": int(note.modified // 1),
        "trash": note.trash,
        "sync_state": note.sync_state,
    }
    if preview_lines:
        item["preview"] = _preview(note.head or "", preview_lines)
    return item


def _preview(head: str, lines: int) -> str:
    """Return the first lines of a note's beginning, of at most 2,000 characters."""
    first = "\n".join(head.split("\n")[:lines])
    return first if len(first) <= PREVIEW_LENGTH else first[: PREVIEW_LENGTH - 1] + "…"


def _kind(question: Question) -> str:
    """Return the kind of the cursors of a list; its order stands in each of them."""
    given = (question.q, list(question.tags), question.trash_s)
    return cursors.narrowed(CURSOR, *given, question.dt_before, question.dt_after)


def _cursor(kind: str, order: str, note: Listed) -> str:
    """Return the cursor that goes on after a note: it stands twice in an answer, so it is short.

    Its bytes are the order's first letter, the note's key and its id. A UUID is told by a capital.
    """
    letter, last = order[0], note.id.encode()
    if _UUID.fullmatch(note.id):
        letter, last = letter.upper(), UUID(note.id).bytes
    key = note.key[: _NUMBERS[order]]
    raw = struct.pack(f">c{len(key)}d", letter.encode(), *key) + last
    return cursors.encode(kind, [cursors.packed(raw)])


def _place(kind: str, text: str, sort: Sort) -> tuple[str, listing.Place]:
    """Return in which order and where a list goes on.

    Raises Invalid for what is no cursor of this list.
    """
    orders = {sort, _BROAD} if sort == "rank" else {sort}
    try:
        (place,) = cursors.decode(kind, text, code=_CODE)
        order, key, note_id = _unpacked(cursors.unpacked(place))
    except (ValueError, TypeError, KeyError, struct.error):
        raise cursors.refused(_CODE) from None
    if order not in orders or "\x00" in note_id or not all(abs(one) < _HIGHEST for one in key):
        raise cursors.refused(_CODE)
    return order, listing.Place(key[0], key[-1] if order == "rank" else 0.0, note_id)


def _unpacked(raw: bytes) -> tuple[str, list[float], str]:
    """Return order, key and id of a cursor's bytes. Raises ValueError, KeyError, struct.error."""
    letter = raw[:1].decode()
    order = {one[0]: one for one in _NUMBERS}[letter.lower()]
    form = struct.Struct(f">c{_NUMBERS[order]}d")
    _letter, *key = form.unpack_from(raw)
    last = raw[form.size :]
    return order, key, str(UUID(bytes=last)) if letter.isupper() else last.decode()
