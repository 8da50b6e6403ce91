"""Removal of what has expired (trash, versions of deleted notes): in small transactions.

Servers of an MCP host may live for minutes only, so the first run comes soon after the start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec

from rolltop.core import logging
from rolltop.core.db import SYSTEM, Tx

if TYPE_CHECKING:
    from rolltop.core.context import AppContext

P = ParamSpec("P")

FIRST_PURGE_DELAY: Final = 1.0  # seconds: the handshake is over by then
PURGE_INTERVAL: Final = 3600.0
MAX_PURGED_ROWS: Final = 50
"""Rows that one transaction deletes: a pad takes all its cells along, and calls wait for it."""
_BATCH_PAUSE: Final = 0.05  # seconds in which waiting writes of other processes get their turn


async def purge_expired(
    app: AppContext,
    what: str,
    delete_expired: Callable[Concatenate[Tx, P], int],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> None:
    """Delete the expired rows of all users; log how many, and of `what`.

    `delete_expired(tx, …)` deletes at most `MAX_PURGED_ROWS` and returns how many; on PostgreSQL it
    skips those that another process is deleting.
    """
    total = 0
    while count := await app.database.write(SYSTEM, delete_expired, *args, **kwargs):
        total += count
        await asyncio.sleep(_BATCH_PAUSE)
    if total:
        logging.event("expired rows deleted", of=what, count=total)
