"""The store: SQLite for one person, PostgreSQL for a team, behind one door.

Importing this package loads neither SQLAlchemy nor a driver; opening a `Database` does.
Statements run inside `Database.read` and `Database.write`, which hand a `Tx` to a plain function.
"""

from __future__ import annotations

from rolltop.core.db.database import SYSTEM, Database, Tx
from rolltop.core.db.url import redact_passwords

__all__ = ["SYSTEM", "Database", "Tx", "redact_passwords"]
