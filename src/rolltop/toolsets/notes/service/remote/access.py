"""Which account a user's notes belong to, and the way to its backend."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from rolltop.toolsets.notes.clients.failures import NotAccepted
from rolltop.toolsets.notes.clients.http import Bounds, Exchange
from rolltop.toolsets.notes.clients.simperium import Credentials, Places, Simplenote
from rolltop.toolsets.notes.clients.tokens import Tokens
from rolltop.toolsets.notes.models import LOCAL, Account, Notebook
from rolltop.toolsets.notes.service import notebooks
from rolltop.toolsets.notes.service.remote.link import Link, this_process
from rolltop.toolsets.notes.store import accounts, reading, syncing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rolltop.core.db import Tx
    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope
    from rolltop.core.settings import Settings

_tokens: Final[dict[str, str]] = {}
_guard: Final = threading.Lock()


def notebook_of(account: Account, history: int) -> Notebook:
    """Return an account's notes, of which so many versions are kept."""
    return Notebook(account.account, history)


def keep_account(tx: Tx, account: Account) -> None:
    """Make sure that there is a row for the account, however it came to be known."""
    if accounts.get(tx, account.account) is None:
        accounts.put(tx, account)


def token_name(scope: Scope, account: str) -> str:
    """Return the name under which an account's token is kept."""
    return f"{scope.user_id}/{account}"


def connect(tx: Tx, email: str, *, with_local: bool) -> tuple[Account, int]:
    """Return the account, now the one the caller works with, and how many notes it takes over.

    `with_local` makes the local notes the account's, to be sent; otherwise they stay as they are.
    """
    key = notebooks.key_of(email)
    account = accounts.get(tx, key) or Account(key)
    account = replace(account, is_active=True, username=email.strip())
    accounts.put(tx, account)
    return account, syncing.move_local(tx, key) if with_local else 0


def local_notes(tx: Tx) -> int:
    """Return how many notes belong to no account."""
    return reading.count(tx, LOCAL)


@asynccontextmanager
async def linked(desk: Desk, scope: Scope, account: Account) -> AsyncGenerator[Link]:
    """Return the link to an account's backend for as long as it is needed.

    Nothing is asked yet: without a token the first request raises NotAccepted.
    """
    settings = desk.settings
    if await desk.database.read(scope, accounts.get, account.account) is None:
        await desk.database.write(scope, keep_account, account)
    credentials = await asyncio.to_thread(_credentials, settings, scope, account)
    exchange = Exchange(Bounds(timeout=float(settings["notes.api_timeout"])))

    def changed(note_id: str) -> None:
        desk.changed(scope, f"rolltop://note/{quote(note_id, safe='')}")

    backend = Simplenote(
        Places.of(settings),
        credentials,
        exchange,
        f"rolltop-{this_process()[:8]}",
        partial(_keep_token, token_name(scope, account.account)),
    )
    try:
        notebook = notebook_of(account, settings["notes.history"])
        yield Link(desk.database, scope, notebook, backend, this_process(), changed)
    except NotAccepted:
        forget_tokens()
        raise
    finally:
        await exchange.close()


def forget_tokens() -> None:
    """Get tokens anew, from where they are kept or for a password, when they are next needed."""
    with _guard:
        _tokens.clear()


def _keep_token(name: str, token: str) -> None:
    with _guard:
        _tokens[name] = token


def _credentials(settings: Settings, scope: Scope, account: Account) -> Credentials:
    """Return what the settings hold for this account, else the token that a login kept."""
    username = account.username or ""
    name = token_name(scope, account.account)
    named: str = settings["notes.simplenote.username"]
    if named and notebooks.key_of(named) == account.account:
        with _guard:
            token = _tokens.get(name) or settings["notes.simplenote.token"]
        return Credentials(named, token, settings["notes.simplenote.password"])
    with _guard:
        token = _tokens.get(name) or Tokens(settings["data_dir"]).get(name) or ""
        if token:
            _tokens[name] = token
    return Credentials(username, token)
