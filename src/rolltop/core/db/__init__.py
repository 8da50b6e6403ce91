"""The store: SQLite for one person, PostgreSQL for a team, behind one door.

Importing this package loads neither SQLAlchemy nor a driver; opening a `Database` does.
Statements run inside `Database.read` and `Database.write`, which hand a `Tx` to a plain function.
"""

from __future__ import annotations

from rolltop.core.db.address import redact
from rolltop.core.db.database import Database
from rolltop.core.db.transaction import SYSTEM, Tx

__all__ = ["SYSTEM", "Database", "Tx", "redact"]
