"""A process that writes to a store until it is killed, and says what was acknowledged.

Started with the store's URL, a name of its own, and the passphrase of an encrypted store. While
it writes, another thread looks at the data directory as retrieval would: an open and close of a
file there would drop SQLite's locks.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from typing import TYPE_CHECKING

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.db.encryption import Encryption
from tests.core.db.encrypted import ITERATIONS
from tests.forks import LOCK_PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

BETWEEN_LOOKS = 0.0005
"""Seconds: without a pause the looks of four writers take most of two processors' time."""


def add_pair(tx: Tx, name: str) -> None:
    """Write two rows that belong together."""
    add_user(tx, f"{name}-1@x")
    add_user(tx, f"{name}-2@x")


def look_around(folder: Path) -> None:
    """List and stat the folder, without end, some times during each write."""
    while not threading.Event().wait(BETWEEN_LOOKS):
        for entry in os.scandir(folder):
            try:
                entry.stat()
            except FileNotFoundError:  # the log of a store that was just closed
                continue


def say(line: str) -> None:
    """Print one line whole, past every buffer."""
    os.write(1, f"{line}\n".encode())


def write_for_ever(url: str, name: str, passphrase: str = "") -> None:
    """Add pair after pair; print each pair's name once it is on disk."""
    key = Encryption(passphrase, ITERATIONS) if passphrase else None
    database = Database(url, encryption=key, lock_timeout=LOCK_PATIENCE)
    say("opening")
    database.open()
    if database.path is not None:
        threading.Thread(target=look_around, args=(database.path.parent,), daemon=True).start()
    for number in itertools.count():
        pair = f"{name}-{number}"
        database.write_sync(SYSTEM, add_pair, pair)
        say(pair)


if __name__ == "__main__":
    write_for_ever(*sys.argv[1:])
