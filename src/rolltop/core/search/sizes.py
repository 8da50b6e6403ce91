"""How much a tenant has in the index, counted rarely: weights of words need no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import func, select

from rolltop.core.search.tables import fetched, search_parts

if TYPE_CHECKING:
    from sqlalchemy import Pool

    from rolltop.core.db import Tx

_SMALL: Final = 2000
"""Parts that are counted at every query."""

_DRIFT: Final = 50
"""One part in so many may be new before all are counted again."""


class _Counted(NamedTuple):
    newest: int
    parts: int
    mean_length: float


_counted: Final[WeakKeyDictionary[Pool, dict[str, _Counted]]] = WeakKeyDictionary()


def size(tx: Tx) -> tuple[int, float]:
    """Return the tenant's number of parts and their mean length in words.

    Of a large index it may be what was true a fiftieth of its parts ago.
    """
    c = search_parts.c
    known = _counted.setdefault(tx.connection.engine.pool, {})
    owned = c.user_id == tx.scope.tenant_id
    latest = select(func.coalesce(func.max(c.id), 0)).where(owned)
    newest = int(tx.execute(latest).scalar_one())
    last = known.get(tx.scope.tenant_id)
    if last and last.parts > _SMALL and 0 <= newest - last.newest <= last.parts // _DRIFT:
        return last.parts, last.mean_length
    counted = select(func.count(), func.coalesce(func.sum(c.length), 0)).where(owned)
    ((parts, total),) = fetched(tx, counted)
    known[tx.scope.tenant_id] = _Counted(newest, parts, int(total) / parts if parts else 0.0)
    return parts, known[tx.scope.tenant_id].mean_length
