"""What a store function gets: one open transaction, for whom, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, CursorResult, Executable

    from rolltop.core.db.address import Kind

SYSTEM: Final = Scope(user_id="", tenant_id="", actor="system")
"""The scope of work that spans tenants: accounts, migrations, jobs. It owns no rows."""


@dataclass(frozen=True, slots=True)
class Tx:
    """One transaction. It ends when the function that was given it returns or raises."""

    connection: Connection
    scope: Scope
    now: datetime
    """The transaction's one moment, aware, in UTC."""
    kind: Kind

    def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> CursorResult[Any]:
        """Return the result of one statement; a sequence of parameters runs it once for each."""
        return self.connection.execute(statement, parameters)
