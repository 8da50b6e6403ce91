"""What a running tool may use: the caller, the store, the roots, the settings, the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope

P = ParamSpec("P")
T = TypeVar("T")
Report = Callable[[float, float | None, str], None]
"""`report(done, total, message)`: shows progress of long work, if the caller asked for it."""


def silent(_done: float, _total: float | None, _message: str) -> None:
    """Report to nobody."""


@dataclass(frozen=True)
class Call:
    """One call of one tool.

    `budget` is in tokens, 0 for none; `cursor` is as the caller sent it.
    """

    desk: Desk
    scope: Scope
    tool: str
    budget: int
    cursor: str | None = None
    report: Report = silent

    async def read(
        self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return `function(tx, …)` of one read transaction, run on a worker thread."""
        return await self.desk.database.read(self.scope, function, *args, **kwargs)

    async def write(
        self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return `function(tx, …)` of one write transaction, once it is on disk."""
        return await self.desk.database.write(self.scope, function, *args, **kwargs)

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return `function(…)`, run on a worker thread with no transaction."""
        return await self.desk.work(function, *args, **kwargs)
