"""Lists of notes, one page at a time."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import BigInteger, Double, Integer, and_, bindparam, func, or_, select

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import CodePointString
from rolltop.core.search import wholes
from rolltop.core.search.conditions import OWNER
from rolltop.core.search.tables import owner_of
from rolltop.toolsets.notes.models import PREVIEW_LENGTH, Listed, Wanted
from rolltop.toolsets.notes.store import choosing
from rolltop.toolsets.notes.store.choosing import SHAPES, Shape
from rolltop.toolsets.notes.store.tables import note_texts, notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from rolltop.core.db import Tx

    Row = tuple[Any, ...]

_c: Final = notes.c
_SHOWN: Final = ("id", "local_version", "title", "tags", "modified", "trash", "sync_state")
_MARGIN: Final = 2
"""So many times the notes are walked over that should hold a page."""
_WALKED: Final = 1
"""Notes that are walked over while one is put in order."""
_ASKED: Final = 300
"""Rows of the index of words that are listed as fast as one note is asked whether it is in it."""
_WORST: Final = 1.0
"""A rank that is behind all there are."""
_FIRST: Final = bindparam("first", type_=Double)
_SECOND: Final = bindparam("second", type_=Double)
_AFTER_ID: Final = bindparam("after_id", type_=CodePointString())


class Place(NamedTuple):
    """Where a list goes on: after the note with this key and id."""

    first: float
    second: float
    id: str


class Window(NamedTuple):
    """Which of the notes are read: `limit` of them, after a place or after `offset` others."""

    limit: int
    after: Place | None = None
    offset: int = 0
    with_head: bool = False


class _View(NamedTuple):
    """What of a window its statements depend on."""

    is_ranked: bool
    goes_on: bool
    with_head: bool


def page(tx: Tx, account: str, wanted: Wanted, window: Window, total: int) -> list[Listed]:
    """Return the notes of a page, in order; `total` is how many are wanted in all.

    The page is chosen by what the order needs; only its own notes are then read.
    """
    shape = choosing.shape_of(tx, wanted)
    view = _View(wanted.sort == "rank", window.after is not None, window.with_head)
    values = choosing.values_of(tx, account, wanted) | _bounds(window)
    rows = None if view.is_ranked else _walked(tx, shape, view, values, total)
    if rows is None:
        is_told = view.is_ranked and choosing.told_by_indexes(tx, shape)
        rows = (_best if is_told else _all)(shape, view).rows(tx, values)
    return [_listed(row, view) for row in rows]


def _bounds(window: Window) -> dict[str, Any]:
    """Return the values of a window."""
    bounds: dict[str, Any] = {"most": window.limit, "skipped": window.offset}
    bounds["last"] = window.offset + window.limit - 1
    if window.after is not None:
        place = window.after
        bounds |= {"first": place.first, "second": place.second, "after_id": place.id}
    return bounds


def _walked(
    tx: Tx, shape: Shape, view: _View, values: dict[str, Any], total: int
) -> Sequence[Row] | None:
    """Return the rows of a page from among the next notes of the account; None for too few.

    Where much is wanted, it is faster to ask the next notes whether they are than to put all
    that are in order.
    """
    if shape.kind != "sqlite" or not (shape.is_searched or shape.tags):
        return None
    expected = wholes.last_number(tx) * (values["last"] + 1) // total
    looked_at = _MARGIN * expected
    if looked_at > _WALKED * total:
        return None
    asks = expected * _ASKED < total
    values = {**values, "looked_at": looked_at}
    rows = _nearest(shape, view, asks=asks).rows(tx, values)
    return rows if len(rows) == values["most"] else None


@lru_cache(SHAPES)
def _nearest(shape: Shape, view: _View, *, asks: bool) -> Prepared:
    """Return what reads a page from among the next `looked_at` notes.

    `asks`: each is asked for the words; else all notes with the words are listed for that.
    """
    following = select(*choosing.key_columns(shape)).where(
        *choosing.of_account(shape, is_narrowed=False)
    )
    near = _cut(following.subquery(), view, bindparam("looked_at", type_=Integer)).subquery()
    met = list(choosing.on_numbers(shape, near.c.number))
    if shape.is_searched:
        met.append(
            wholes.meets(near.c.number) if asks else near.c.number.in_(wholes.found_numbers())
        )
    again = view._replace(goes_on=False)
    return Prepared(_rows(shape, view, _page(select(near).where(*met).subquery(), again)))


@lru_cache(SHAPES)
def _all(shape: Shape, view: _View) -> Prepared:
    """Return what reads a page from among all notes that are wanted."""
    chosen = choosing.keys(shape, ranked=view.is_ranked)
    if view.is_ranked and shape.kind == "sqlite":
        chosen = chosen.limit(-1)  # else SQLite works the rank out wherever it is named
    return Prepared(_rows(shape, view, _page(chosen.subquery(), view)))


@lru_cache(SHAPES)
def _best(shape: Shape, view: _View) -> Prepared:
    """Return what reads a page of what answers best, where indexes tell all that is wanted.

    Only the notes with the ranks of the page are looked at themselves.
    """
    matched = wholes.matched(shape.kind, shape.words, ranked=True)
    number = matched.c.number
    met = (number.not_in(choosing.others(shape)), *choosing.on_numbers(shape, number))
    ranks = select(number, matched.c.rank).where(*met).limit(-1)  # as above
    found = ranks.cte("found").prefix_with("MATERIALIZED")
    later = select(found.c.rank).order_by(found.c.rank).limit(1)
    if view.goes_on:
        later = later.where(found.c.rank > _FIRST)
    last = later.offset(bindparam("last", type_=BigInteger)).scalar_subquery()
    best = (
        select(*choosing.key_columns(shape), found.c.rank)
        .select_from(found.join(notes, _c.number == found.c.number))
        .where(
            found.c.rank <= func.coalesce(last, _WORST),
            *choosing.of_account(shape, is_narrowed=True),
        )
    )
    return Prepared(_rows(shape, view, _page(best.subquery(), view)))


def _page(chosen: Any, view: _View) -> Any:  # noqa: ANN401  # tables of keys
    """Return the keys of one page."""
    skipped = bindparam("skipped", type_=BigInteger)
    return _cut(chosen, view, bindparam("most", type_=Integer)).offset(skipped).subquery()


def _cut(chosen: Any, view: _View, most: Any) -> Any:  # noqa: ANN401  # as above
    """Return the first keys after the place."""
    statement = select(chosen)
    if view.goes_on:
        statement = statement.where(_after(chosen.c, is_ranked=view.is_ranked))
    return statement.order_by(*_order(chosen.c)).limit(most)


def _rows(shape: Shape, view: _View, keys: Any) -> Any:  # noqa: ANN401  # a table of keys, a SELECT
    """Return what reads what is shown of the notes of a page, in order."""
    joined, rows = choosing.with_notes(shape, keys, *_SHOWN)
    key = [keys.c.rank, keys.c.latest] if view.is_ranked else [keys.c.latest]
    head = [_head(rows)] if view.with_head else []
    owner = owner_of(shape.kind, notes) if rows is notes else rows.c.user_id
    return (
        select(*(rows.c[name] for name in _SHOWN), *head, *key)
        .select_from(joined)
        .where(owner == OWNER)
        .order_by(*_order(keys.c))
    )


def _order(columns: Any) -> list[Any]:  # noqa: ANN401  # the columns of a table of keys
    ranked = [columns.rank.asc()] if "rank" in columns else []
    return [*ranked, columns.latest.desc(), columns.id.asc()]


def _listed(row: Row, view: _View) -> Listed:
    note_id, version, title, tags, modified, trash, state, *rest = row
    return Listed(
        id=note_id,
        local_version=version,
        title=title,
        tags=tuple(tags),
        modified=modified,
        trash=trash,
        sync_state=state,
        head=rest[0] if view.with_head else None,
        key=(rest[-2], rest[-1]) if view.is_ranked else (rest[-1], 0.0),
    )


def _after(columns: Any, *, is_ranked: bool) -> ColumnElement[bool]:  # noqa: ANN401  # as above
    """Return what follows a place: the first comparison is one that an index can use."""
    moment = _SECOND if is_ranked else _FIRST
    later = and_(columns.latest <= moment, or_(columns.latest < moment, columns.id > _AFTER_ID))
    if not is_ranked:
        return later
    return and_(columns.rank >= _FIRST, or_(columns.rank > _FIRST, later))


def _head(rows: Any) -> Any:  # noqa: ANN401  # rows of notes, a column
    """Return the beginning of the text of a note."""
    head = select(func.substr(note_texts.c.content, 1, PREVIEW_LENGTH + 1)).where(
        note_texts.c.user_id == OWNER, note_texts.c.number == rows.c.number
    )
    return head.correlate(rows).scalar_subquery().label("head")
