"""A process that takes one step on a store for each line on stdin, and says how it went.

Started with the store's URL. With `early` it acknowledges a write before it commits, as no
product may: a schedule that crashes it has to notice.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rolltop.core.accounts import list_users
from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.errors import Unavailable
from tests.torture.writer import add_pair, say

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_TIMEOUT = 0.02
"""Seconds: only one process moves at a time, so a lock that is held stays held."""


class RolledBack(Exception):
    """The transaction's function gave up."""


class Stepper:
    """One process's store, driven by lines."""

    def __init__(self, url: str, *, early: bool) -> None:
        self._url = url
        self._early = early
        self._lines: Iterator[str] = iter(sys.stdin.readline, "")
        self._database: Database | None = None

    def run(self) -> None:
        """Take steps until stdin ends."""
        for line in self._lines:
            step, _, argument = line.strip().partition(" ")
            try:
                answer = getattr(self, step)(argument)
            except Unavailable:
                answer = "refused"
            except RolledBack:
                answer = "rolled-back"
            say(answer)

    def open(self, _argument: str) -> str:
        """Open the store, making it where there is none."""
        self._database = Database(self._url, lock_timeout=LOCK_TIMEOUT)
        self._database.open()
        return "opened"

    def close(self, _argument: str) -> str:
        """Close the store."""
        self._store.close()
        return "closed"

    def begin(self, name: str) -> str:
        """Write the two halves of a pair, wait within the transaction, and do what is said."""
        self._store.write_sync(SYSTEM, self._hold, name)
        return "committed"

    def read(self, _argument: str) -> str:
        """Return the names of all rows."""
        return " ".join(self._store.read_sync(SYSTEM, _names)) or "-"

    def snapshot(self, _argument: str) -> str:
        """Begin a read transaction, and return what it sees when the next line comes."""
        return self._store.read_sync(SYSTEM, self._look_later)

    def checkpoint(self, mode: str) -> str:
        """Write the log back into the store."""
        self._store.read_sync(SYSTEM, _checkpoint, mode)
        return "checkpointed"

    @property
    def _store(self) -> Database:
        assert self._database is not None
        return self._database

    def _hold(self, tx: Tx, name: str) -> None:
        add_pair(tx, name)
        say("begun")
        if next(self._lines).strip() != "commit":
            raise RolledBack
        if self._early:
            say("committed")
            next(self._lines)

    def _look_later(self, tx: Tx) -> str:
        before = _names(tx)
        say("looking")
        next(self._lines)
        after = _names(tx)
        return " ".join(after) or "-" if before == after else "torn"


def _checkpoint(tx: Tx, mode: str) -> None:
    # No other library, nor this one in another way, may open the file in this process.
    for statement in ("COMMIT", f"PRAGMA wal_checkpoint({mode})", "BEGIN"):
        tx.connection.exec_driver_sql(statement)


def _names(tx: Tx) -> list[str]:
    return sorted(user.email for user in list_users(tx))


if __name__ == "__main__":
    Stepper(sys.argv[1], early="early" in sys.argv[2:]).run()
