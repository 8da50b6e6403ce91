"""Background work of the desk."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rolltop.core.expiry import FIRST_PURGE_DELAY, PURGE_INTERVAL, purge_expired
from rolltop.core.tools import Job

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx


async def purge_journal(app: AppContext) -> None:
    """Delete entries of the journal older than desk.history_days, texts over desk.history_bytes."""
    from rolltop.core.journal import history  # noqa: PLC0415  # loads SQLAlchemy

    kept = timedelta(days=app.settings["desk.history_days"])

    def purge(tx: Tx) -> int:
        return history.purge_journal(tx, tx.now - kept)

    await purge_expired(app, "entries of the journal", purge)
    if max_bytes := app.settings["desk.history_bytes"]:
        await purge_expired(app, "texts of the journal", history.purge_texts, max_bytes)


async def purge_answers(app: AppContext) -> None:
    """Delete the idempotency keys that are no longer kept, with their answers."""
    from rolltop.core import idempotency  # noqa: PLC0415  # loads SQLAlchemy

    await purge_expired(app, "idempotency keys", idempotency.purge_answers)


JOBS: Final = (
    Job("desk.purge_journal", PURGE_INTERVAL, purge_journal, FIRST_PURGE_DELAY),
    Job("desk.purge_answers", PURGE_INTERVAL, purge_answers, FIRST_PURGE_DELAY),
)
