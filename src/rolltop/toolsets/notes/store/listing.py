"""Lists of notes, one page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, func, or_, select

from rolltop.core.search import wholes
from rolltop.core.search.tables import owner_of
from rolltop.toolsets.notes.models import PREVIEW_LENGTH, Listed, Wanted
from rolltop.toolsets.notes.store import choosing
from rolltop.toolsets.notes.store.tables import note_texts, notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Row

    from rolltop.core.db import Tx

_c: Final = notes.c
_SHOWN: Final = (
    *(_c.id, _c.local_version, _c.title, _c.tags, _c.modified, _c.trash, _c.sync_state),
)
_BROAD: Final = 30_000
"""Notes with the words wanted from which on they may be so dense that few others lie between."""
_SPREAD: Final = 4
"""Numbers given for each of them, at most, for that to be so."""
_LOOKED_AT: Final = 500


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


def page(tx: Tx, account: str, wanted: Wanted, window: Window, total: int) -> list[Listed]:
    """Return the notes of a page, in order; `total` is how many are wanted in all.

    The page is chosen by what the order needs; only its own notes are then read.
    """
    rows = _dense(tx, account, wanted, window, total)
    if rows is None:
        ranked = wanted.sort == "rank"
        chosen = choosing.keys(tx, account, wanted, ranked=ranked)
        if ranked and tx.kind == "sqlite":
            chosen = chosen.limit(-1)  # else SQLite works the rank out wherever it is named
        rows = _rows(tx, account, window, _cut(chosen.subquery(), wanted, window))
    return [_listed(row, wanted) for row in rows]


def _dense(
    tx: Tx, account: str, wanted: Wanted, window: Window, total: int
) -> Sequence[Row[Any]] | None:
    """Return the rows of a page from among the next notes of the account; None for too few.

    Where much has the words wanted, it is faster to ask a few notes for them than to put all
    that have them in order.
    """
    if tx.kind != "sqlite" or total < _BROAD or wanted.sort == "rank" or not wanted.phrases:
        return None
    spread = wholes.last_number(tx) / total
    looked_at = round(2 * spread * (window.offset + window.limit))
    simple = not (wanted.tags or wanted.untagged or wanted.symbols)
    if not simple or spread > _SPREAD or looked_at > _LOOKED_AT:
        return None
    mine = choosing.of_account(tx, account, wanted, is_narrowed=False)
    following = select(*choosing.key_columns(wanted)).where(*mine)
    nearest = _cut(following.subquery(), wanted, Window(looked_at, window.after))
    having = select(nearest).where(wholes.meets(choosing.asked(wanted), nearest.c.number))
    rows = _rows(tx, account, window, _cut(having.subquery(), wanted, window))
    return rows if len(rows) == window.limit else None


def _cut(chosen: Any, wanted: Wanted, window: Window) -> Any:  # noqa: ANN401  # tables of keys
    """Return the keys of one page."""
    statement = select(chosen)
    if window.after is not None:
        statement = statement.where(_after(window.after, chosen.c, is_ranked=wanted.sort == "rank"))
    ordered = statement.order_by(*_order(chosen.c))
    return ordered.limit(window.limit).offset(window.offset).subquery()


def _rows(
    tx: Tx,
    account: str,
    window: Window,
    keys: Any,  # noqa: ANN401  # a table of keys
) -> Sequence[Row[Any]]:
    """Return what is shown of the notes of a page, in order."""
    key = [column for column in keys.c if column.name in {"latest", "rank"}]
    head = [_head(tx)] if window.with_head else []
    statement = (
        select(*_SHOWN, *key, *head)
        .select_from(keys.join(notes, _c.number == keys.c.number))
        .where(owner_of(tx.kind, notes) == tx.scope.user_id, _c.account == account)
        .order_by(*_order(keys.c))
    )
    return tx.execute(statement).all()


def _order(columns: Any) -> list[Any]:  # noqa: ANN401  # the columns of a table of keys
    ranked = [columns.rank.asc()] if "rank" in columns else []
    return [*ranked, columns.latest.desc(), columns.id.asc()]


def _listed(row: Row[Any], wanted: Wanted) -> Listed:
    return Listed(
        id=row.id,
        local_version=row.local_version,
        title=row.title,
        tags=tuple(row.tags),
        modified=row.modified,
        trash=row.trash,
        sync_state=row.sync_state,
        key=(row.rank, row.latest) if wanted.sort == "rank" else (row.latest, 0.0),
        head=getattr(row, "head", None),
    )


def _after(place: Place, columns: Any, *, is_ranked: bool) -> ColumnElement[bool]:  # noqa: ANN401  # as above
    """Return what follows a place: the first comparison is one that an index can use."""
    moment = place.second if is_ranked else place.first
    later = and_(columns.latest <= moment, or_(columns.latest < moment, columns.id > place.id))
    if not is_ranked:
        return later
    return and_(columns.rank >= place.first, or_(columns.rank > place.first, later))


def _head(tx: Tx) -> Any:  # noqa: ANN401  # a column
    """Return the beginning of the text of a row of `notes`."""
    head = select(func.substr(note_texts.c.content, 1, PREVIEW_LENGTH + 1)).where(
        note_texts.c.user_id == tx.scope.user_id, note_texts.c.number == _c.number
    )
    return head.correlate(notes).scalar_subquery().label("head")
