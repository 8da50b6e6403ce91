"""What is counted of a tenant, rarely: weights of words need no more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from sqlalchemy import bindparam, func, select

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import Identifier
from rolltop.core.search.tables import search_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Pool

    from rolltop.core.db import Tx

_SMALL: Final = 2000
"""Parts that are counted at every query, and from which on a word's are remembered."""

_DRIFT: Final = 50
"""One part in so many may be new before all are counted again."""


_REMEMBERED: Final = 10_000  # words of one tenant


@dataclass(frozen=True)
class Size:
    """A tenant's parts, their mean length in words, and how many parts have a frequent word."""

    newest: int
    parts: int
    mean_length: float
    frequent: dict[str, int] = field(default_factory=dict[str, int])

    def remember(self, occurrences: Mapping[str, int]) -> None:
        """Keep what takes long to count: in how many parts words occur that many have."""
        many = {term: number for term, number in occurrences.items() if number > _SMALL}
        if len(self.frequent) + len(many) <= _REMEMBERED:
            self.frequent.update(many)


_c: Final = search_parts.c
_OWNED: Final = _c.user_id == bindparam("owner", type_=Identifier)
_NEWEST: Final = Prepared(select(func.coalesce(func.max(_c.id), 0)).where(_OWNED))
_TOTALS: Final = Prepared(select(func.count(), func.coalesce(func.sum(_c.length), 0)).where(_OWNED))

_counted: Final[WeakKeyDictionary[Pool, dict[str, Size]]] = WeakKeyDictionary()


def size(tx: Tx) -> Size:
    """Return how much the tenant has.

    Of a large index it may be what was true a fiftieth of its parts ago.
    """
    known = _counted.setdefault(tx.connection.engine.pool, {})
    mine = {"owner": tx.scope.tenant_id}
    ((newest,),) = _NEWEST.rows(tx, mine)
    last = known.get(tx.scope.tenant_id)
    if last and last.parts > _SMALL and 0 <= newest - last.newest <= last.parts // _DRIFT:
        return last
    ((parts, total),) = _TOTALS.rows(tx, mine)
    known[tx.scope.tenant_id] = Size(newest, parts, int(total) / parts if parts else 0.0)
    return known[tx.scope.tenant_id]
