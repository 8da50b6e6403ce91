"""The earlier versions of notes; they outlive the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Integer, bindparam, delete, func, insert, select, update

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.toolsets.notes.models import Note, Version, VersionHead
from rolltop.toolsets.notes.store.reading import content_of, mine
from rolltop.toolsets.notes.store.tables import note_versions, notes
from rolltop.toolsets.notes.store.writing import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from rolltop.core.db import Tx

_AT_ONCE: Final = 400
_c: Final = note_versions.c
_OF_NOTE: Final = (
    _c.user_id == bindparam("owner", type_=Identifier),
    _c.account == bindparam("in_account", type_=CodePointString()),
    _c.note_id == bindparam("in_note", type_=CodePointString()),
)
_KEPT: Final = (
    select(_c.local_version)
    .where(*_OF_NOTE)
    .order_by(_c.local_version.desc())
    .limit(1)
    .offset(bindparam("passed", type_=Integer))
    .scalar_subquery()
)
_ADD: Final = Prepared(insert(note_versions))
_OLDER: Final = Prepared(delete(note_versions).where(*_OF_NOTE, _c.local_version < _KEPT))
_UP_TO_NEWEST: Final = Prepared(delete(note_versions).where(*_OF_NOTE, _c.local_version <= _KEPT))


def add(tx: Tx, gone: Sequence[Note]) -> None:
    """Keep what notes say now as versions of theirs."""
    rows = [
        {
            "user_id": tx.scope.user_id,
            "account": note.account,
            "note_id": note.id,
            "local_version": note.local_version,
            "server_version": note.server_version,
            "source": note.source,
            "size": len(note.text.encode()),
            "content": note.text,
            **columns_of(note.content),
        }
        for note in gone
    ]
    _ADD.run_each(tx, rows)


def get(tx: Tx, account: str, note_id: str, local_version: int) -> Version | None:
    """Return an earlier version of a note, or None."""
    statement = select(note_versions).where(
        *_mine(tx, account), _c.note_id == note_id, _c.local_version == local_version
    )
    row = tx.execute(statement).mappings().first()
    if row is None:
        return None
    return Version(
        note_id=row["note_id"],
        local_version=row["local_version"],
        server_version=row["server_version"],
        source=row["source"],
        content=content_of(row),
        gone_at=row["gone_at"],
    )


def heads(tx: Tx, account: str, note_id: str) -> list[VersionHead]:
    """Return the earlier versions of a note without their texts, newest first."""
    statement = (
        select(_c.local_version, _c.server_version, _c.modified, _c.size, _c.source)
        .where(*_mine(tx, account), _c.note_id == note_id)
        .order_by(_c.local_version.desc())
    )
    return [
        VersionHead(row.local_version, row.server_version, row.modified, row.size, row.source)
        for row in tx.execute(statement)
    ]


def latest(tx: Tx, account: str, note_ids: Sequence[str]) -> dict[str, int]:
    """Return the newest earlier version of each of the notes that has one, by the note's id."""
    found: dict[str, int] = {}
    for start in range(0, len(note_ids), _AT_ONCE):
        statement = (
            select(_c.note_id, func.max(_c.local_version).label("newest"))
            .where(*_mine(tx, account), _c.note_id.in_(note_ids[start : start + _AT_ONCE]))
            .group_by(_c.note_id)
        )
        found |= {row.note_id: row.newest for row in tx.execute(statement)}
    return found


def dropped(tx: Tx, account: str) -> list[str]:
    """Return the ids of notes that are not here any more, nor deleted for good."""
    here = select(notes.c.id).where(*mine(tx, account), notes.c.id == _c.note_id)
    statement = select(_c.note_id).where(*_mine(tx, account), ~here.exists(), _c.gone_at.is_(None))
    return list(tx.execute(statement.distinct()).scalars())


def trim(tx: Tx, account: str, note_id: str, keep: int) -> None:
    """Forget the oldest versions of a note but `keep`."""
    one = {"owner": tx.scope.user_id, "in_account": account, "in_note": note_id}
    trimmed = _OLDER if keep else _UP_TO_NEWEST
    trimmed.run(tx, {**one, "passed": max(keep - 1, 0)})


def mark_gone(tx: Tx, account: str, note_id: str, moment: float | None) -> None:
    """Say since when a note is deleted for good; None says that it is back."""
    statement = update(note_versions).where(*_mine(tx, account), _c.note_id == note_id)
    tx.execute(statement.values(gone_at=moment))


def purge(tx: Tx, before: float) -> int:
    """Forget, of all users, the versions of notes gone since before then; return how many."""
    statement: Any = delete(note_versions).where(_c.gone_at < before)
    return tx.execute(statement).rowcount


def _mine(tx: Tx, account: str) -> tuple[ColumnElement[bool], ...]:
    return (_c.user_id == tx.scope.user_id, _c.account == account)
