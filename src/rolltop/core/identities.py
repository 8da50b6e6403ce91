"""Whom an issuer of tokens means: its subjects, and the users they are."""

from __future__ import annotations

from sqlalchemy import select

from rolltop.core import accounts, audit
from rolltop.core.accounts import User
from rolltop.core.db import Tx
from rolltop.core.db.schema import identities
from rolltop.core.db.upsert import insert


def find_user(tx: Tx, issuer: str, subject: str) -> User | None:
    """Return the user that a subject of the issuer was found to be; None if none yet."""
    owner = tx.execute(
        select(identities.c.user_id).where(
            identities.c.issuer == issuer, identities.c.subject == subject
        )
    ).scalar_one_or_none()
    return owner and accounts.find_user_by_id(tx, owner)


def find_candidate(tx: Tx, issuer: str, subject: str, email: str) -> tuple[User | None, bool]:
    """Return the user that a subject is, and whether there is one with the address to become it."""
    known = find_user(tx, issuer, subject)
    return known, known is None and accounts.find_user_by_email(tx, email) is not None


def link_user(tx: Tx, issuer: str, subject: str, email: str, *, create: bool) -> User | None:
    """Return the user with the address, who is the subject from now on; None if there is none.

    With `create` a user is made where there is none. Raises Conflict where another transaction
    makes the same one just now.
    """
    known = find_user(tx, issuer, subject)
    if known is not None:
        return known
    user = accounts.find_user_by_email(tx, email)
    action = "user link"
    if user is None and create:
        user, action = accounts.add_user(tx, email), "user add"
    if user is None:
        return None
    linked = tx.execute(
        insert(tx.kind, identities)
        .values(issuer=issuer, subject=subject, user_id=user.id)
        .on_conflict_do_nothing()
        .returning(identities.c.user_id)
    )
    if linked.first():  # else another transaction did the same just now
        audit.record(tx, issuer, action, user.email)
    return find_user(tx, issuer, subject)
