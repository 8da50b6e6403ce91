"""The login by a mailed code, and what becomes of the local notes then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolltop.toolsets.notes.clients import simperium
from rolltop.toolsets.notes.clients.http import Bounds, Exchange
from rolltop.toolsets.notes.clients.simperium import Places
from rolltop.toolsets.notes.clients.tokens import Tokens
from rolltop.toolsets.notes.service import notebooks
from rolltop.toolsets.notes.service.remote import access

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope
    from rolltop.core.settings import Settings


@dataclass(frozen=True)
class Connected:
    """Where the token is kept, in words, and how many local notes the account took over."""

    kept: str
    moved: int


async def request_code(settings: Settings, email: str) -> None:
    """Let Simplenote mail a code. Raises NotAccepted and BackendFailed."""
    exchange = _exchange(settings)
    try:
        await simperium.request_code(Places.of(settings), email, exchange)
    finally:
        await exchange.close()


async def exchange_code(settings: Settings, email: str, code: str) -> str:
    """Return a token for the code. Raises NotAccepted and BackendFailed."""
    exchange = _exchange(settings)
    try:
        return await simperium.exchange_code(Places.of(settings), email, code, exchange)
    finally:
        await exchange.close()


async def connect(
    desk: Desk, scope: Scope, email: str, token: str, *, with_local: bool
) -> Connected:
    """Return what was done to make this account the one the caller works with.

    The token is kept before the account is connected: an account without one could do nothing.
    """
    name = access.token_name(scope, notebooks.key_of(email))
    kept = await asyncio.to_thread(Tokens(desk.settings["data_dir"]).keep, name, token)
    access.forget_tokens()
    _account, moved = await desk.database.write(scope, access.connect, email, with_local=with_local)
    return Connected(kept, moved)


def _exchange(settings: Settings) -> Exchange:
    return Exchange(Bounds(timeout=float(settings["notes.api_timeout"])))
