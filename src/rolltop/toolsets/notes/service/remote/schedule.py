"""When accounts are synced: at once at the start, then some time after each end."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Final

from rolltop.core.accounts import ensure_default
from rolltop.core.db import SYSTEM
from rolltop.core.scope import Scope
from rolltop.toolsets.notes.clients.failures import NotAccepted
from rolltop.toolsets.notes.service import notebooks
from rolltop.toolsets.notes.service.remote import access, cycle
from rolltop.toolsets.notes.service.remote.link import Record
from rolltop.toolsets.notes.store import accounts
from rolltop.toolsets.notes.sync import pause_after

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.desk import Desk
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.models import Account

_LOOK_EVERY: Final = 10.0
"""Seconds between looks into the store for accounts that are due."""

_looked: Final[weakref.WeakKeyDictionary[Desk, float]] = weakref.WeakKeyDictionary()


async def sync_due(desk: Desk) -> None:
    """Sync every account that is due, one after another; all of them the first time."""
    now = time.monotonic()
    last = _looked.get(desk)
    if last is not None and now < last + _LOOK_EVERY:
        return
    _looked[desk] = now
    if last is None and desk.settings["notes.simplenote.username"] and not desk.settings["user"]:
        await desk.database.write(SYSTEM, ensure_default)  # whose account it is
    for user_id in await desk.database.read(SYSTEM, _users, desk.settings):
        scope = Scope.of(user_id, actor="sync")
        account = await desk.database.read(scope, _due, desk.settings, at_start=last is None)
        if account is not None:
            await _sync(desk, scope, account)


async def _sync(desk: Desk, scope: Scope, account: Account) -> None:
    async with access.linked(desk, scope, account) as link:
        done = await cycle.sync(link, float(desk.settings["notes.sync_interval"]))
    if isinstance(done.error, NotAccepted):
        access.forget_tokens()


def _users(tx: Tx, settings: Settings) -> list[str]:
    """Return the ids of the users who have an account."""
    found = set(accounts.owners(tx))
    local = notebooks.local_user(tx, settings)
    if settings["notes.simplenote.username"] and local is not None:
        found.add(local)
    return sorted(found)


def _due(tx: Tx, settings: Settings, *, at_start: bool) -> Account | None:
    """Return the caller's account if it is to be synced now."""
    _notebook, account = notebooks.current(tx, settings)
    if account is None or at_start:
        return account
    now, at = tx.now.timestamp(), Record.of(account).next_at
    longest = pause_after(1 << 10, float(settings["notes.sync_interval"]))
    # A moment too far off was written by a clock that ran ahead.
    return account if at is None or not now < at <= now + longest else None
