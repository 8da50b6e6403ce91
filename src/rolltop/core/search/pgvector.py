"""Vectors on a PostgreSQL server that has pgvector: an index for each tenant who has many.

`search_near` holds a copy of such a tenant's vectors, oldest first, and one HNSW index over them
alone, so that no other tenant's are looked at. The index proposes parts; what they are ranked by
is as exact as in memory. What is newer than the last copy is compared in memory.
Both are made at run time (`pgvector_upkeep`), not by a revision: a server may gain the extension
or lose it, and a store without it lacks nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import (
    BigInteger,
    Float,
    any_,
    bindparam,
    cast,
    column,
    exists,
    func,
    literal_column,
    select,
    table,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import UserDefinedType

from rolltop.core.search.conditions import conditions
from rolltop.core.search.tables import fetched, search_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Pool, Select

    from rolltop.core.db import Tx
    from rolltop.core.search.conditions import Allowed, Shape
    from rolltop.core.search.matrices import Nearness

TABLE: Final = "search_near"
OLDEST_VERSION: Final = (0, 8)
"""Of pgvector: it goes on with an index while a filter lets too few through."""

INDEXED_FROM: Final = 100_000
"""Vectors of one tenant from which on the server's index is asked, not memory."""

_LOOKED_AT: Final = 100  # candidates of the index at the least: ef_search
_MORE_LOOKED_AT: Final = 4  # times
_MOST_LOOKED_AT: Final = 1000  # the most that pgvector takes
_STATEMENTS: Final = 256  # kept, a few for each tenant

_near: Final = table(
    TABLE, column("id"), column("part_id"), column("user_id"), column("embedding"), column("near")
)
_READY: Final = text(
    "SELECT a.atttypmod FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid"
    " WHERE i.indexrelid = to_regclass(:name) AND i.indisvalid"
)
_SERVED: Final = text(
    "SELECT e.extversion FROM pg_extension e JOIN pg_available_extensions a ON a.name = e.extname"
    " WHERE e.extname = 'vector' AND to_regtype('halfvec') IS NOT NULL"
)
_SET: Final = text(
    "SELECT set_config('hnsw.ef_search', :looked_at, true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true)"
)
_served: Final[WeakKeyDictionary[Pool, bool]] = WeakKeyDictionary()


class VectorText(UserDefinedType[str]):
    """A vector of 32-bit (`vector`) or 16-bit floats (`halfvec`), sent as text."""

    cache_ok = True

    def __init__(self, name: str, dims: int) -> None:
        """Take the type's name and how many numbers a value has."""
        self.name: Final = name
        self.dims: Final = dims

    def get_col_spec(self, **_options: object) -> str:
        """Return the type as the server names it."""
        return f"{self.name}({self.dims})"


@dataclass(frozen=True)
class Indexed:
    """The vectors of one tenant by one model that the server has indexed."""

    user_id: str
    version: str
    dims: int = 0
    last: int = field(default=0, compare=False)
    """The number of the newest vector in the index."""

    @property
    def name(self) -> str:
        """The name of the index."""
        key = f"{self.user_id} {self.version}"
        return f"ix_{TABLE}_{hashlib.sha256(key.encode()).hexdigest()[:16]}"

    @property
    def condition(self) -> str:
        """What a row of the table has to meet to be one of them, as SQL without parameters.

        The server uses an index of some rows only where it can tell so from the statement.
        """
        version = self.version.replace("'", "''")
        return f"user_id = '{self.user_id}'::uuid AND embedding = '{version}'"

    @property
    def expression(self) -> str:
        """What is indexed."""
        return f"(near::halfvec({self.dims}))"


def indexed(tx: Tx, version: str) -> Indexed | None:
    """Return what the server has indexed of the tenant's vectors; None where it has no index."""
    owned = Indexed(str(tx.scope.tenant_id), version)
    dims = dims_of(tx, owned)
    if dims is None or not is_served(tx):
        return None
    return replace(owned, dims=dims, last=newest(tx, owned))


def dims_of(tx: Tx, owned: Indexed) -> int | None:
    """Return how many numbers the indexed vectors have; None where there is no finished index."""
    dims: int | None = tx.execute(_READY, {"name": owned.name}).scalar()
    return dims


def newest(tx: Tx, owned: Indexed) -> int:
    """Return the number of the newest vector that has been copied, 0 where there is none."""
    last = select(func.coalesce(func.max(_near.c.id), 0)).where(literal_column(owned.condition))
    return int(tx.execute(last).scalar_one())


@dataclass(frozen=True)
class ServerNearness:
    """A tenant's parts by their cosine to one vector: what `matrices.Nearness` is.

    `newer` are those that the index lacks. Where the query has filters the index goes on until it
    has found enough parts that meet them.
    """

    allowed: Allowed
    owned: Indexed
    newer: Nearness
    among: Sequence[int] | None

    def best(self, count: int) -> list[int]:
        """Return the nearest parts, nearest first."""
        near = dict(self._among) if self.among is not None else self._proposed(count)
        near |= self.newer.cosines_of(self.newer.best(count))
        return sorted(near, key=lambda part: (-near[part], part))[:count]

    def cosines_of(self, parts: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each of these parts that has a vector."""
        return self._measured(parts) | self.newer.cosines_of(parts)

    @cached_property
    def _among(self) -> dict[int, float]:
        return self._measured(self.among or ())

    def _proposed(self, count: int) -> dict[int, float]:
        """Return the nearest parts that the query may find, with about their cosines."""
        tx = self.allowed.tx
        # Fewer rounds: with filters most of what is looked at is passed over.
        more = _MORE_LOOKED_AT if self.allowed.filters else 1
        looked_at = min(max(_LOOKED_AT, count * more), _MOST_LOOKED_AT)
        tx.execute(_SET, {"looked_at": str(looked_at)})
        values = {**self.allowed.values, "vector": self._sought, "count": count}
        for exactly in (False, True):  # the index gives up after a while: then look at all
            query = _proposing(self.owned, self.allowed.shape, exactly=exactly)
            found = fetched(tx, query, values)
            if len(found) == count:
                break
        return {part: -distance for part, distance in found}

    def _measured(self, parts: Sequence[int]) -> dict[int, float]:
        """Return the cosines of those of the parts that have been copied."""
        values = {"vector": self._sought, "parts": list(parts)}
        found = fetched(self.allowed.tx, _measuring(self.owned), values) if parts else ()
        return {part: -distance for part, distance in found}

    @property
    def _sought(self) -> str:
        return f"[{','.join(map(str, self.newer.vector.tolist()))}]"


@lru_cache(_STATEMENTS)
def _proposing(owned: Indexed, shape: Shape, *, exactly: bool) -> Select[Any, float]:
    """Return what reads the nearest parts that a query may find, by the index or by all rows."""
    sought = cast(bindparam("vector"), VectorText("halfvec", owned.dims))
    near: ColumnElement[Any] = literal_column(owned.expression)
    distance = near.op("<#>", return_type=Float())(sought)
    query = select(_near.c.part_id, distance).where(literal_column(owned.condition))
    if shape.filters:
        of_part = search_parts.c.id == _near.c.part_id
        query = query.where(exists().where(of_part, *conditions(shape)))
    order = distance + literal_column("0.0") if exactly else distance
    return query.order_by(order).limit(bindparam("count"))


@lru_cache(_STATEMENTS)
def _measuring(owned: Indexed) -> Select[Any, float]:
    """Return what compares some parts, as exactly as in memory."""
    whole = VectorText("vector", owned.dims)
    distance = cast(_near.c.near, whole).op("<#>", return_type=Float())
    return select(_near.c.part_id, distance(cast(bindparam("vector"), whole))).where(
        literal_column(owned.condition),
        _near.c.part_id == any_(bindparam("parts", type_=ARRAY(BigInteger))),
    )


def is_served(tx: Tx) -> bool:
    """Whether the server has the extension, as it was when the process first asked."""
    pool = tx.connection.engine.pool
    if pool not in _served:
        version = tx.execute(_SERVED).scalar()
        _served[pool] = version is not None and is_new_enough(version)
    return _served[pool]


def is_new_enough(version: str) -> bool:
    """Whether a version of pgvector has what is asked of it."""
    return tuple(int(part) for part in version.split(".")[:2]) >= OLDEST_VERSION
