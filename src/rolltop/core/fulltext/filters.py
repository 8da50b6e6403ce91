"""Which parts a query may find: the tenant's own, of some kinds, whose filters match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, bindparam, exists, literal_column, select

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement
from rolltop.core.db.schema import users
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.core.db.url import DatabaseKind
from rolltop.core.fulltext.analyzer import replace_unstorable
from rolltop.core.fulltext.tables import owner_of, search_filters, search_parts

OWNER: Final = bindparam("owner", type_=Identifier)
_KINDS: Final[BindParameter[Any]] = bindparam("kinds", expanding=True, type_=CodePointString())

MAX_LISTED_ITEMS: Final = 5000
"""Things that a filter may let through to be listed; a wider one is asked row by row."""


class QueryShape(NamedTuple):
    """What of a query its statements depend on: they are put together once for each."""

    kind: DatabaseKind
    is_narrow: bool
    filters: int


@dataclass(frozen=True)
class QueryFilter:
    """What a query may find.

    `items` are the things its narrowest filter lets through, None if there are many.
    """

    tx: Tx
    kinds: tuple[str, ...]
    filters: Mapping[str, tuple[str, ...]]
    items: frozenset[int] | None

    @property
    def shape(self) -> QueryShape:
        """What the conditions depend on."""
        return QueryShape(self.tx.kind, self.items is not None, len(self.filters))

    @property
    def values(self) -> dict[str, Any]:
        """The values of the conditions."""
        values: dict[str, Any] = {"owner": self.tx.scope.tenant_id, "kinds": list(self.kinds)}
        for at, (name, wanted) in enumerate(self.filters.items()):
            values[f"name_{at}"], values[f"wanted_{at}"] = name, list(wanted)
        return values


@cache
def filter_clauses(shape: QueryShape) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on a row of `search_parts`; `QueryFilter.values` has their values."""
    c, f = search_parts.c, search_filters.c
    met = [owner_of(shape.kind, search_parts) == OWNER, c.kind.in_(_KINDS)]
    for at in range(shape.filters):
        if shape.is_narrow:
            mine = select(f.item_id).where(f.user_id == OWNER, *_filter_join(at))
            met.append(c.item_id.in_(mine))
        else:  # asked for each row that the words propose, by the filters' key
            owned = owner_of(shape.kind, search_filters) == OWNER
            own = select(f.item_id).where(f.item_id == c.item_id, owned, *_filter_join(at))
            if shape.kind == "postgresql":
                # No offset at all, but none that a plan may turn into a join: without statistics
                # (a new store) that reads all filters for each of the rows.
                own = own.offset(literal_column("0"))
            met.append(exists(own.correlate(search_parts)))
    return tuple(met)


def _filter_join(at: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    wanted: BindParameter[Any] = bindparam(f"wanted_{at}", expanding=True, type_=CodePointString())
    return (
        search_filters.c.name == bindparam(f"name_{at}", type_=CodePointString()),
        search_filters.c.value.in_(wanted),
    )


def build_filter(tx: Tx, kinds: Sequence[str], filters: Mapping[str, Sequence[str]]) -> QueryFilter:
    """Build the filter of a query; an empty list of values filters nothing."""
    asked = {
        name: tuple(map(replace_unstorable, values)) for name, values in filters.items() if values
    }
    narrowest: frozenset[int] | None = None
    f = search_filters.c
    for name, values in asked.items():
        found = tx.execute(
            select(f.item_id)
            .where(f.user_id == tx.scope.tenant_id, f.name == name, f.value.in_(values))
            .limit(MAX_LISTED_ITEMS + 1)
        ).scalars()
        items = frozenset(found)
        if len(items) <= MAX_LISTED_ITEMS and (narrowest is None or len(items) < len(narrowest)):
            narrowest = items
    return QueryFilter(tx, tuple(kinds), asked, narrowest)


def is_only_tenant(tx: Tx) -> bool:
    """Return whether the store has no other tenant, so that all its words are this one's."""
    return len(_TWO_USERS.rows(tx, {})) <= 1


_TWO_USERS: Final = CompiledStatement(select(users.c.id).limit(2))
