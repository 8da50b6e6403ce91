"""A process that opens a store, writes pairs, closes it, and again, whatever fails.

Started with the store's URL. It says the name of each pair that was acknowledged, else "refused",
the pair and why.
"""

from __future__ import annotations

import sys

from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import RolltopError
from tests.torture.writer import add_pair, say

LIVES = 3
PAIRS = 5


def attempt(url: str) -> None:
    """Write for a few lives of the store."""
    for life in range(LIVES):
        database = Database(url)
        for number in range(PAIRS):
            pair = f"p{life}-{number}"
            try:
                database.write_sync(SYSTEM, add_pair, pair)
            except RolltopError as error:
                say(f"refused {pair} {error.message}")
            else:
                say(pair)
        database.close()


if __name__ == "__main__":
    attempt(sys.argv[1])
