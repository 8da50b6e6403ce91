"""Statements of the sync: the account's row held, and the local notes moved into an account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select, update

from rolltop.toolsets.notes.models import LOCAL
from rolltop.toolsets.notes.store.accounts import account_of
from rolltop.toolsets.notes.store.tables import note_accounts, note_tags, note_versions, notes

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Account

_a: Final = note_accounts.c


def hold(tx: Tx, account: str) -> Account | None:
    """Return an account, its row locked to the transaction's end; None if there is none."""
    statement = select(note_accounts).where(_a.user_id == tx.scope.user_id, _a.account == account)
    row = tx.execute(statement.with_for_update()).mappings().first()
    return None if row is None else account_of(row)


def move_local(tx: Tx, account: str) -> int:
    """Make the local notes the account's, to be sent, with their versions; return how many.

    A note whose id the account has already stays where it is.
    """
    taken = select(notes.c.id).where(
        notes.c.user_id == tx.scope.user_id, notes.c.account == account
    )
    known = select(note_versions.c.note_id).where(
        note_versions.c.user_id == tx.scope.user_id, note_versions.c.account == account
    )
    mine = (
        notes.c.user_id == tx.scope.user_id,
        notes.c.account == LOCAL,
        notes.c.id.not_in(taken),
        notes.c.id.not_in(known),
    )
    moved = list(tx.execute(select(notes.c.id).where(*mine)).scalars())
    for note_id in moved:
        one = (notes.c.user_id == tx.scope.user_id, notes.c.account == LOCAL)
        tx.execute(
            update(notes)
            .where(*one, notes.c.id == note_id)
            .values(account=account, sync_state="pending")
        )
        tx.execute(
            update(note_versions)
            .where(
                note_versions.c.user_id == tx.scope.user_id,
                note_versions.c.account == LOCAL,
                note_versions.c.note_id == note_id,
            )
            .values(account=account)
        )
    return len(moved)


def tagged(tx: Tx, account: str, tag: str) -> int:
    """Return how many notes outside the trash have the tag, which is written in lower case."""
    statement = (
        select(func.count())
        .select_from(notes.join(note_tags, note_tags.c.number == notes.c.number))
        .where(
            notes.c.user_id == tx.scope.user_id,
            notes.c.account == account,
            notes.c.trash.is_(False),
            note_tags.c.user_id == tx.scope.user_id,
            note_tags.c.tag == tag,
        )
    )
    return int(tx.execute(statement).scalar_one())
