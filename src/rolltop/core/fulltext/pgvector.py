"""Vectors on a PostgreSQL server that has pgvector: an index for each tenant who has many.

`search_near` holds a copy of such a tenant's vectors, oldest first, and one HNSW index over them
alone, so that no other tenant's are looked at. The index proposes parts; what they are ranked by
is as exact as in memory. What is newer than the last copy is compared in memory.
Both are made at run time (`pgvector_upkeep`), not by a revision: a server may gain the extension
or lose it, and a store without it lacks nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    Select,
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

from rolltop.core.db import Tx
from rolltop.core.fulltext.filters import QueryFilter, QueryShape, filter_clauses
from rolltop.core.fulltext.tables import fetch_rows, search_parts

if TYPE_CHECKING:
    from rolltop.core.fulltext.vector_cache import VectorQuery

TABLE: Final = "search_near"
MIN_PGVECTOR_VERSION: Final = (0, 8)
"""Of pgvector: it goes on with an index while a filter lets too few through."""

MIN_INDEXED_VECTORS: Final = 100_000
"""Vectors of one tenant from which on the server's index is asked, not memory."""

_MIN_EF_SEARCH: Final = 100  # candidates of the index at the least: ef_search
_FILTERED_EF_FACTOR: Final = 4  # times
_MAX_EF_SEARCH: Final = 1000  # the most that pgvector takes
_STATEMENT_CACHE_SIZE: Final = 256  # kept, a few for each tenant

_copies: Final = table(
    TABLE, column("id"), column("part_id"), column("user_id"), column("embedding"), column("near")
)
_INDEX_DIMS: Final = text(
    "SELECT a.atttypmod FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid"
    " WHERE i.indexrelid = to_regclass(:name) AND i.indisvalid"
)
_EXTENSION_VERSION: Final = text(
    "SELECT e.extversion FROM pg_extension e JOIN pg_available_extensions a ON a.name = e.extname"
    " WHERE e.extname = 'vector' AND to_regtype('halfvec') IS NOT NULL"
)
_SET_EF_SEARCH: Final = text(
    "SELECT set_config('hnsw.ef_search', :looked_at, true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true)"
)


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
class ServerVectorIndex:
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


class PgvectorSupport:
    """What a process has found out about its database server."""

    is_usable: bool | None = None
    """Whether queries can use pgvector, as it was when the process first asked."""
    is_missing = False
    """Whether the server can't have pgvector: only the next process asks again."""


def find_index(tx: Tx, version: str) -> ServerVectorIndex | None:
    """Return the server's index of the tenant's vectors, or None."""
    owned = ServerVectorIndex(str(tx.scope.tenant_id), version)
    dims = index_dims(tx, owned)
    if dims is None or not has_pgvector(tx):
        return None
    return replace(owned, dims=dims, last=newest_copied_id(tx, owned))


def index_dims(tx: Tx, index: ServerVectorIndex) -> int | None:
    """Return the dimensions of the indexed vectors; None if no index is finished."""
    dims: int | None = tx.execute(_INDEX_DIMS, {"name": index.name}).scalar()
    return dims


def newest_copied_id(tx: Tx, index: ServerVectorIndex) -> int:
    """Return the number of the newest vector that has been copied, or 0."""
    last = select(func.coalesce(func.max(_copies.c.id), 0)).where(literal_column(index.condition))
    return int(tx.execute(last).scalar_one())


@dataclass(frozen=True)
class ServerVectorQuery:
    """A tenant's parts by their cosine to one vector: what `vector_cache.VectorQuery` is.

    `newer` are those that the index lacks. Where the query has filters the index goes on until it
    has found enough parts that meet them.
    """

    query_filter: QueryFilter
    index: ServerVectorIndex
    newer: VectorQuery
    among: Sequence[int] | None

    def best(self, count: int) -> list[int]:
        """Return the nearest parts, nearest first."""
        near = dict(self._among) if self.among is not None else self._search_index(count)
        near |= self.newer.cosines_of(self.newer.best(count))
        return sorted(near, key=lambda part: (-near[part], part))[:count]

    def cosines_of(self, parts: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each of these parts that has a vector."""
        return self._compare_copies(parts) | self.newer.cosines_of(parts)

    @cached_property
    def _among(self) -> dict[int, float]:
        return self._compare_copies(self.among or ())

    def _search_index(self, count: int) -> dict[int, float]:
        """Return the nearest parts that the query may find, with about their cosines."""
        tx = self.query_filter.tx
        # Fewer rounds: with filters most of what is looked at is passed over.
        more = _FILTERED_EF_FACTOR if self.query_filter.filters else 1
        looked_at = min(max(_MIN_EF_SEARCH, count * more), _MAX_EF_SEARCH)
        tx.execute(_SET_EF_SEARCH, {"looked_at": str(looked_at)})
        values = {**self.query_filter.values, "vector": self._query_text, "count": count}
        for exactly in (False, True):  # the index gives up after a while: then look at all
            query = _search_statement(self.index, self.query_filter.shape, exactly=exactly)
            found = fetch_rows(tx, query, values)
            if len(found) == count:
                break
        return {part: -distance for part, distance in found}

    def _compare_copies(self, parts: Sequence[int]) -> dict[int, float]:
        """Return the cosines of those of the parts that have been copied."""
        values = {"vector": self._query_text, "parts": list(parts)}
        found = (
            fetch_rows(self.query_filter.tx, _compare_statement(self.index), values)
            if parts
            else ()
        )
        return {part: -distance for part, distance in found}

    @property
    def _query_text(self) -> str:
        return f"[{','.join(map(str, self.newer.vector.tolist()))}]"


@lru_cache(_STATEMENT_CACHE_SIZE)
def _search_statement(
    index: ServerVectorIndex, shape: QueryShape, *, exactly: bool
) -> Select[Any, float]:
    """Read the nearest parts that a query may find, by the index or by all rows."""
    vector = cast(bindparam("vector"), VectorText("halfvec", index.dims))
    near: ColumnElement[Any] = literal_column(index.expression)
    distance = near.op("<#>", return_type=Float())(vector)
    query = select(_copies.c.part_id, distance).where(literal_column(index.condition))
    if shape.filters:
        of_part = search_parts.c.id == _copies.c.part_id
        query = query.where(exists().where(of_part, *filter_clauses(shape)))
    order = distance + literal_column("0.0") if exactly else distance
    return query.order_by(order).limit(bindparam("count"))


@lru_cache(_STATEMENT_CACHE_SIZE)
def _compare_statement(index: ServerVectorIndex) -> Select[Any, float]:
    """Compare some parts, as exactly as in memory."""
    whole = VectorText("vector", index.dims)
    distance = cast(_copies.c.near, whole).op("<#>", return_type=Float())
    return select(_copies.c.part_id, distance(cast(bindparam("vector"), whole))).where(
        literal_column(index.condition),
        _copies.c.part_id == any_(bindparam("parts", type_=ARRAY(BigInteger))),
    )


def has_pgvector(tx: Tx) -> bool:
    """Whether the server has the extension, as it was when the process first asked."""
    support = tx.service(PgvectorSupport)
    if support.is_usable is None:
        version = tx.execute(_EXTENSION_VERSION).scalar()
        support.is_usable = version is not None and is_supported_version(version)
    return support.is_usable


def is_supported_version(version: str) -> bool:
    """Whether a version of pgvector has what is asked of it."""
    return tuple(int(part) for part in version.split(".")[:2]) >= MIN_PGVECTOR_VERSION
