"""Notes by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, func, select

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.toolsets.notes.models import Content, Note
from rolltop.toolsets.notes.store.tables import note_texts, notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Select

    from rolltop.core.db import Tx

_AT_ONCE: Final = 400
_c: Final = notes.c
_OWNER: Final = bindparam("owner", type_=Identifier)
_MINE: Final = (
    _c.user_id == _OWNER,
    _c.account == bindparam("in_account", type_=CodePointString()),
)
_NAMED: Final = _c.id == bindparam("note_id", type_=CodePointString())
_JOINED: Final[Select[Any]] = select(notes, note_texts.c.content, note_texts.c.base).select_from(
    notes.join(note_texts, note_texts.c.number == _c.number)
)
_WHOLE: Final = tuple(column.name for column in _JOINED.selected_columns)
_ONE: Final = Prepared(_JOINED.where(*_MINE, _NAMED, note_texts.c.user_id == _OWNER))
_HELD: Final = Prepared(select(_c.number).where(*_MINE, _NAMED).with_for_update(key_share=True))


def get(tx: Tx, account: str, note_id: str) -> Note | None:
    """Return a note, or None."""
    row = _ONE.first(tx, {"owner": tx.scope.user_id, "in_account": account, "note_id": note_id})
    return None if row is None else note_of(dict(zip(_WHOLE, row, strict=True)))


def hold(tx: Tx, account: str, note_id: str) -> Note | None:
    """Return a note as `get` does, its row locked to the transaction's end.

    Two statements: PostgreSQL would read the text as it was before the wait.
    """
    _HELD.rows(tx, {"owner": tx.scope.user_id, "in_account": account, "note_id": note_id})
    return get(tx, account, note_id)


def some(tx: Tx, account: str, note_ids: Sequence[str]) -> dict[str, Note]:
    """Return those of the notes that exist, by their ids."""
    found: dict[str, Note] = {}
    for start in range(0, len(note_ids), _AT_ONCE):
        wanted = _c.id.in_(note_ids[start : start + _AT_ONCE])
        rows = tx.execute(_whole(tx, account).where(wanted)).mappings()
        found |= {row["id"]: note_of(row) for row in rows}
    return found


def after(tx: Tx, account: str, note_id: str, limit: int) -> list[Note]:
    """Return up to `limit` notes whose ids follow that one, by id: a walk over all of them."""
    statement = _whole(tx, account).where(_c.id > note_id).order_by(_c.id)
    return [note_of(row) for row in tx.execute(statement.limit(limit)).mappings()]


def in_state(tx: Tx, account: str, states: Sequence[str], limit: int) -> list[Note]:
    """Return up to `limit` notes in one of these sync states, longest unchanged first."""
    statement = (
        _whole(tx, account)
        .where(_c.sync_state.in_(states))
        .order_by(_c.modified, _c.id)
        .limit(limit)
    )
    return [note_of(row) for row in tx.execute(statement).mappings()]


def server_versions(tx: Tx, account: str) -> dict[str, int | None]:
    """Return each note's version at the backend by the note's id; None for those it never had."""
    rows = tx.execute(select(_c.id, _c.server_version).where(*mine(tx, account)))
    return {row.id: row.server_version for row in rows}


def count(tx: Tx, account: str, *states: str) -> int:
    """Return how many notes there are, in these sync states where any are given."""
    conditions = [*mine(tx, account)]
    if states:
        conditions.append(_c.sync_state.in_(states))
    return int(tx.execute(select(func.count()).select_from(notes).where(*conditions)).scalar_one())


def numbers(tx: Tx, account: str) -> Iterator[list[int]]:
    """Return the numbers of all notes of an account, in batches."""
    found = list(tx.execute(select(_c.number).where(*mine(tx, account))).scalars())
    for start in range(0, len(found), _AT_ONCE):
        yield found[start : start + _AT_ONCE]


def newest_titles(tx: Tx, account: str, limit: int) -> list[tuple[str, str]]:
    """Return id and title of the notes outside the trash that were modified last."""
    statement = (
        select(_c.id, _c.title)
        .where(*mine(tx, account), _c.trash.is_(False))
        .order_by(_c.modified.desc(), _c.id)
        .limit(limit)
    )
    return [(row.id, row.title) for row in tx.execute(statement)]


def mine(tx: Tx, account: str) -> tuple[ColumnElement[bool], ...]:
    """Return what makes a note one of the caller's account."""
    return (_c.user_id == tx.scope.user_id, _c.account == account)


def note_of(row: Mapping[Any, Any]) -> Note:
    """Return the note of a whole row."""
    return Note(
        number=row["number"],
        account=row["account"],
        id=row["id"],
        content=content_of(row),
        local_version=row["local_version"],
        server_version=row["server_version"],
        sync_state=row["sync_state"],
        source=row["source"],
        base=row["base"],
    )


def content_of(row: Mapping[Any, Any]) -> Content:
    """Return what a row of a note or of a version says."""
    return Content(
        text=row["content"],
        tags=tuple(row["tags"]),
        trash=row["trash"],
        modified=row["modified"],
        created=row["created"],
        system_tags=tuple(row["system_tags"]),
        extra=row["extra"],
    )


def _whole(tx: Tx, account: str) -> Select[Any]:
    """Return the SELECT of whole notes of an account."""
    return _JOINED.where(*mine(tx, account), note_texts.c.user_id == tx.scope.user_id)
