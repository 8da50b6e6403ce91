"""The accounts whose notes are kept here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, select, update

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import Identifier
from rolltop.core.db.upsert import insert as upsert
from rolltop.toolsets.notes.models import Account
from rolltop.toolsets.notes.store.tables import note_accounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement

    from rolltop.core.db import Tx

_c: Final = note_accounts.c
_NAMES: Final = tuple(column.name for column in _c)
_ACTIVE: Final = Prepared(
    select(note_accounts).where(
        _c.user_id == bindparam("owner", type_=Identifier), _c.is_active.is_(True)
    )
)


def active(tx: Tx) -> Account | None:
    """Return the account the caller works with; None for the local notes."""
    row = _ACTIVE.first(tx, {"owner": tx.scope.user_id})
    return None if row is None else account_of(dict(zip(_NAMES, row, strict=True)))


def get(tx: Tx, account: str) -> Account | None:
    """Return one account, or None."""
    statement = select(note_accounts).where(_mine(tx), _c.account == account)
    row = tx.execute(statement).mappings().first()
    return None if row is None else account_of(row)


def put(tx: Tx, account: Account) -> None:
    """Keep an account; an active one is the only active one."""
    if account.is_active:
        others = update(note_accounts).where(_mine(tx), _c.account != account.account)
        tx.execute(others.values(is_active=False))
    values = {
        "is_active": account.is_active,
        "username": account.username,
        "cursor": account.cursor,
        "status": account.status,
        "error_count": account.error_count,
        "last_sync_at": account.last_sync_at,
        "sync_duration_ms": account.sync_duration_ms,
        "state": dict(account.state),
    }
    key = {"user_id": tx.scope.user_id, "account": account.account}
    statement = upsert(tx.kind, note_accounts).values(**key, **values)
    tx.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))


def owners(tx: Tx) -> list[str]:
    """Return the ids of all users who work with an account of a backend."""
    return list(tx.execute(select(_c.user_id).where(_c.is_active.is_(True))).scalars())


def _mine(tx: Tx) -> ColumnElement[bool]:
    return _c.user_id == tx.scope.user_id


def account_of(row: Mapping[Any, Any]) -> Account:
    """Return the account of a whole row."""
    return Account(**{name: value for name, value in row.items() if name != "user_id"})
