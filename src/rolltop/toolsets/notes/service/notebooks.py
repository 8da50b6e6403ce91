"""Which notes a call is about: those of the account the caller works with, or the local ones."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from rolltop.core.accounts import DEFAULT_EMAIL, user_by_email
from rolltop.toolsets.notes.models import LOCAL, Account, Notebook
from rolltop.toolsets.notes.store import accounts

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings

_CONSTANT: Final = "rolltop notes account 1\n"


def current(tx: Tx, settings: Settings) -> tuple[Notebook, Account | None]:
    """Return the notes the caller works with, and their account; None for the local ones.

    An account that the settings name goes before one that was logged in to.
    """
    account = _named(tx, settings) or accounts.active(tx)
    key = LOCAL if account is None else account.account
    return Notebook(key, settings["notes.history"]), account


def key_of(email: str) -> str:
    """Return the key of the account with this e-mail."""
    return hashlib.sha256((_CONSTANT + email.strip().lower()).encode()).hexdigest()


def local_user(tx: Tx, settings: Settings) -> str | None:
    """Return the id of the user whom the settings' credentials serve: of nobody else."""
    found = user_by_email(tx, settings["user"] or DEFAULT_EMAIL)
    return None if found is None else found.id


def _named(tx: Tx, settings: Settings) -> Account | None:
    """Return the account that the settings name, if they name one and serve the caller."""
    username: str = settings["notes.simplenote.username"]
    if not username or local_user(tx, settings) != tx.scope.user_id:
        return None
    key = key_of(username)
    return accounts.get(tx, key) or Account(key, is_active=False, username=username)
