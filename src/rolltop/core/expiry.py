"""Removal of what has expired (trash, versions of deleted notes): in small transactions.

Servers of an MCP host may live for minutes only, so the first run comes soon after the start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec

from rolltop.core import logging
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from rolltop.core import leases
    from rolltop.core.context import AppContext
else:
    leases = lazy("rolltop.core.leases")

P = ParamSpec("P")

FIRST_PURGE_DELAY: Final = 1.0  # seconds: the handshake is over by then
PURGE_INTERVAL: Final = 3600.0
MAX_PURGED_ROWS: Final = 50
"""Rows that one transaction deletes: a pad takes all its cells along, and calls wait for it."""
_BATCH_PAUSE: Final = 0.05  # seconds in which waiting writes of other processes get their turn


class _NothingExpired(Exception):
    """Rolls the lease back with the first transaction: what deletes nothing writes nothing."""


async def purge_expired(
    app: AppContext,
    what: str,
    delete_expired: Callable[Concatenate[Tx, P], int],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> None:
    """Delete the expired rows of all users; log how many, and of `what`.

    `delete_expired(tx, …)` deletes at most `MAX_PURGED_ROWS` and returns how many. One process at a
    time deletes, which holds a lease. Raises LeaseLost if that ran out in between.
    """

    def delete(tx: Tx, lease: leases.JobLease | None) -> tuple[leases.JobLease | None, int]:
        is_first = lease is None
        if lease is None:
            lease = leases.acquire(tx, f"purge {what}")
        else:
            leases.renew(tx, lease)
        if lease is None:
            return None, 0
        count = delete_expired(tx, *args, **kwargs)
        if not count:
            if is_first:
                raise _NothingExpired
            leases.release(tx, lease)
        return lease, count

    total, lease = 0, None
    with suppress(_NothingExpired):
        while True:
            lease, count = await app.database.write(SYSTEM, delete, lease)
            if not count:
                break
            total += count
            await asyncio.sleep(_BATCH_PAUSE)
    if total:
        logging.event("expired rows deleted", of=what, count=total)
