"""Which parts a query may find: the tenant's own, of some kinds, whose filters match."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import bindparam, exists, literal_column, select

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.schema import users
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.core.search.documents import storable
from rolltop.core.search.tables import owner_of, search_filters, search_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import BindParameter, ColumnElement

    from rolltop.core.db import Tx
    from rolltop.core.db.address import Kind

OWNER: Final = bindparam("owner", type_=Identifier)
_KINDS: Final[BindParameter[Any]] = bindparam("kinds", expanding=True, type_=CodePointString())

NARROW: Final = 5000
"""Things that a filter may let through to be listed; a wider one is asked row by row."""


class Shape(NamedTuple):
    """What of a query its statements depend on: they are put together once for each."""

    kind: Kind
    is_narrow: bool
    filters: int


@dataclass(frozen=True)
class Allowed:
    """What a query may find.

    `items` are the things its narrowest filter lets through, None where there are many.
    """

    tx: Tx
    kinds: tuple[str, ...]
    filters: Mapping[str, tuple[str, ...]]
    items: frozenset[int] | None

    @property
    def shape(self) -> Shape:
        """What the conditions depend on."""
        return Shape(self.tx.kind, self.items is not None, len(self.filters))

    @property
    def values(self) -> dict[str, Any]:
        """The values of the conditions."""
        values: dict[str, Any] = {"owner": self.tx.scope.tenant_id, "kinds": list(self.kinds)}
        for at, (name, wanted) in enumerate(self.filters.items()):
            values[f"name_{at}"], values[f"wanted_{at}"] = name, list(wanted)
        return values


@cache
def conditions(shape: Shape) -> tuple[ColumnElement[bool], ...]:
    """Return what a row of `search_parts` has to meet: see `Allowed.values`."""
    c, f = search_parts.c, search_filters.c
    met = [owner_of(shape.kind, search_parts) == OWNER, c.kind.in_(_KINDS)]
    for at in range(shape.filters):
        if shape.is_narrow:
            mine = select(f.item_id).where(f.user_id == OWNER, *_matching(at))
            met.append(c.item_id.in_(mine))
        else:  # asked for each row that the words propose, by the filters' key
            owned = owner_of(shape.kind, search_filters) == OWNER
            own = select(f.item_id).where(f.item_id == c.item_id, owned, *_matching(at))
            if shape.kind == "postgresql":
                # No offset at all, but none that a plan may turn into a join: without statistics
                # (a new store) that reads all filters for each of the rows.
                own = own.offset(literal_column("0"))
            met.append(exists(own.correlate(search_parts)))
    return tuple(met)


def _matching(at: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    wanted: BindParameter[Any] = bindparam(f"wanted_{at}", expanding=True, type_=CodePointString())
    return (
        search_filters.c.name == bindparam(f"name_{at}", type_=CodePointString()),
        search_filters.c.value.in_(wanted),
    )


def allowed(tx: Tx, kinds: Sequence[str], filters: Mapping[str, Sequence[str]]) -> Allowed:
    """Return what a query may find; an empty list of values filters nothing."""
    asked = {name: tuple(map(storable, values)) for name, values in filters.items() if values}
    narrowest: frozenset[int] | None = None
    f = search_filters.c
    for name, values in asked.items():
        found = tx.execute(
            select(f.item_id)
            .where(f.user_id == tx.scope.tenant_id, f.name == name, f.value.in_(values))
            .limit(NARROW + 1)
        ).scalars()
        items = frozenset(found)
        if len(items) <= NARROW and (narrowest is None or len(items) < len(narrowest)):
            narrowest = items
    return Allowed(tx, tuple(kinds), asked, narrowest)


def is_alone(tx: Tx) -> bool:
    """Return whether the store has no other tenant, so that all its words are this one's."""
    return len(_TWO_USERS.rows(tx, {})) <= 1


_TWO_USERS: Final = Prepared(select(users.c.id).limit(2))
