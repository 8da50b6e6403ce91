"""Logins at the page for people: links that work once, and the sessions that begin with them.

Both are 32 random bytes, of which the store keeps the SHA-256. They are in the store, so that any
process serves a session and a link works once, whichever process it is opened at.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import delete, select

from rolltop.core.accounts import (
    TOKEN_COLUMNS,
    Access,
    choose_workspace,
    find_user_by_id,
    hash_token,
    token_from_row,
    valid_token_clause,
)
from rolltop.core.db import Tx
from rolltop.core.db.schema import access_tokens, page_sessions
from rolltop.core.errors import NotFound

LINK_LIFETIME: Final = timedelta(minutes=10)
SESSION_LIFETIME: Final = timedelta(days=7)
_SECRET_BYTES: Final = 32
_c: Final = page_sessions.c


def create_link(tx: Tx, user_id: str, workspace_id: str = "") -> str:
    """Return the secret of a link that lets its holder in once, as the user.

    It is of use where `use_link` is given the same shared workspace.
    """
    return _add(tx, user_id, None, guard=workspace_id, is_link=True)


def open_session(tx: Tx, user_id: str, token_id: str | None = None, *, guard: str = "") -> str:
    """Return the secret of a new session, which ends with the token it is opened for.

    `guard` is a secret that `find_session` must be given too: a changed one ends the session.
    """
    tx.execute(delete(page_sessions).where(_c.expires_at <= tx.now))
    return _add(tx, user_id, token_id, guard=guard)


def use_link(tx: Tx, secret: str, workspace_id: str = "") -> str | None:
    """Return whose the link is and make it worthless; None if it is used, expired or unknown."""
    used = delete(page_sessions).where(
        _c.secret_hash == hash_token(secret + workspace_id), _c.is_link, _c.expires_at > tx.now
    )
    return tx.execute(used.returning(_c.user_id)).scalar_one_or_none()


def find_session(tx: Tx, secret: str, guard: str = "") -> tuple[str, Access | None] | None:
    """Return the user's id, and what the token opens if the session is one's; None if it is over.

    It is over too once the user has left the token's workspaces.
    """
    joined = select(_c.user_id, _c.token_id, *TOKEN_COLUMNS).outerjoin(
        access_tokens, (access_tokens.c.id == _c.token_id) & valid_token_clause(tx)
    )
    by_token = _c.token_id.is_not(None) & (_c.secret_hash == hash_token(secret))
    by_guard = _c.token_id.is_(None) & (_c.secret_hash == hash_token(secret + guard))
    row = tx.execute(
        joined.where(by_token | by_guard, ~_c.is_link, _c.expires_at > tx.now)
    ).one_or_none()
    if row is None:
        return None
    token: tuple[Any, ...] = tuple(row[2:])
    if row.token_id is None:
        return row.user_id, None
    user = find_user_by_id(tx, row.user_id)
    if token[0] is None or user is None:
        return None
    try:
        return user.id, choose_workspace(tx, user, token_from_row(token))
    except NotFound:
        return None


def close_session(tx: Tx, secret: str, guard: str = "") -> None:
    """End a session; one that is over already is no error."""
    tx.execute(
        delete(page_sessions).where(
            _c.secret_hash.in_((hash_token(secret), hash_token(secret + guard)))
        )
    )


def _add(
    tx: Tx, user_id: str, token_id: str | None, *, guard: str = "", is_link: bool = False
) -> str:
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    tx.execute(
        page_sessions.insert().values(
            secret_hash=hash_token(secret + guard),
            user_id=user_id,
            token_id=token_id,
            is_link=is_link,
            expires_at=tx.now + (LINK_LIFETIME if is_link else SESSION_LIFETIME),
        )
    )
    return secret
