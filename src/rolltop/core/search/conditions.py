"""Which parts a query may find: the tenant's own, of some kinds, whose filters match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import exists, select

from rolltop.core.search.documents import storable
from rolltop.core.search.tables import owner_of, search_filters, search_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement

    from rolltop.core.db import Tx

NARROW: Final = 5000
"""Things that a filter may let through to be listed; a wider one is asked row by row."""


@dataclass(frozen=True)
class Allowed:
    """What a query may find.

    `items` are the things its narrowest filter lets through, None where there are many.
    """

    tx: Tx
    kinds: tuple[str, ...]
    filters: Mapping[str, tuple[str, ...]]
    items: frozenset[int] | None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return what a row of `search_parts` has to meet."""
        c = search_parts.c
        met = [
            owner_of(self.tx.kind, search_parts) == self.tx.scope.tenant_id,
            c.kind.in_(self.kinds),
        ]
        if self.items is None:
            # Asked for each row that the words propose, by the filters' key.
            met += [
                exists().where(
                    search_filters.c.item_id == c.item_id,
                    owner_of(self.tx.kind, search_filters) == self.tx.scope.tenant_id,
                    *_matching(name, values),
                )
                for name, values in self.filters.items()
            ]
        else:
            met += [
                c.item_id.in_(
                    select(search_filters.c.item_id).where(
                        search_filters.c.user_id == self.tx.scope.tenant_id,
                        *_matching(name, values),
                    )
                )
                for name, values in self.filters.items()
            ]
        return met


def _matching(name: str, values: Sequence[str]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return search_filters.c.name == name, search_filters.c.value.in_(values)


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
