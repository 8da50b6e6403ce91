"""Words on SQLite: FTS5 proposes rows, and its vocabulary says how rare a word is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, Integer, Text, bindparam, func, literal, literal_column, select

from rolltop.core.db.prepared import Prepared
from rolltop.core.search.batches import batches
from rolltop.core.search.conditions import OWNER, conditions, is_alone
from rolltop.core.search.tables import (
    WORDS_TABLE,
    owner_of,
    search_parts,
    search_terms,
    search_texts,
    search_words,
)
from rolltop.core.search.terms import is_beginning, relevance, weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import BindParameter, ColumnElement, Select

    from rolltop.core.db import Tx
    from rolltop.core.search.conditions import Allowed, Shape
    from rolltop.core.search.terms import Expression, Statistics

_RANKED: Final = 20_000
"""Rows of all words together up to which FTS5 ranks: it looks at each of them, a tenth of a µs."""
_READ: Final = 300
"""Texts that are read and weighed where it does not: those with the words that tell most."""
_COUNTED: Final = 20_000  # rows looked at to tell one tenant's from another's


@dataclass
class WordIndex:
    """The words of one tenant's parts."""

    tx: Tx

    def occurrences(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many of the tenant's parts each term occurs.

        Where there are other tenants, a term's rows are counted up to 20,000.
        """
        exact = [term for term in terms if not is_beginning(term)] if self._is_alone else []
        rows = _KNOWN.rows(self.tx, {"some": exact}) if exact else ()
        known = {term: int(number) for term, number in rows}
        return {
            term: known.get(term, 0) if term in exact else self.count(((term,),), _COUNTED)
            for term in terms
        }

    def count(self, expression: Expression, most: int) -> int:
        """Return how many of the tenant's parts meet the expression, counting up to `most`."""
        values = {"expression": _text(expression), "most": most}
        if not self._is_alone:
            values["owner"] = self.tx.scope.tenant_id
        ((number,),) = _counted(is_alone=self._is_alone).rows(self.tx, values)
        return int(number)

    def propose(
        self,
        expression: Expression,
        statistics: Statistics,
        allowed: Allowed,
        most: tuple[int, int],
        *,
        newest: bool,
    ) -> list[int]:
        """Return the parts that answer best, best first.

        They are `most[1]` of the `most[0]` that meet the expression, the newest where it is met
        by more (`newest`).
        """
        ranked, wanted = most
        values = {**allowed.values, "expression": _text(expression), "most": ranked}
        terms = {term for clause in expression for term in clause}
        is_rankable = sum(statistics.occurrences[term] for term in terms) <= _RANKED

        def best(shape: Shape | None) -> list[int]:
            """Return the best of what a query may find, or without a shape of all."""
            if is_rankable:
                rows = _ranked(shape, newest=newest).rows(self.tx, {**values, "wanted": wanted})
                return [number for number, _rank in rows]
            met = [number for (number,) in _met(shape).rows(self.tx, values)]
            some = max(_READ, wanted)
            if len(met) > some:
                met = self._likeliest(met, expression, statistics)[:some]
            return self._weighed(met, statistics)[:wanted]

        if self._is_alone and not allowed.filters:
            # All there is may be found as a rule, and asking for each row doubles the time.
            found = best(None)
            if self._count_allowed(found, allowed) == len(found):
                return found
        return best(allowed.shape)

    def _count_allowed(self, parts: Sequence[int], allowed: Allowed) -> int:
        """Return how many of the parts a query may find."""
        statement, values = _counted_among(allowed.shape), allowed.values
        rows = (statement.rows(self.tx, {**values, "some": list(some)}) for some in batches(parts))
        return sum(number for ((number,),) in rows)

    def _likeliest(
        self, met: Sequence[int], expression: Expression, statistics: Statistics
    ) -> list[int]:
        """Return the parts that meet an expression, given newest first, by the words they have."""
        told = dict.fromkeys(met, 0.0)
        for term, number in statistics.occurrences.items():
            if number and not all(term in clause for clause in expression):
                both = f"({_phrase(term)}) AND ({_text(expression)})"
                rows = _HAVING.rows(self.tx, {"expression": both, "oldest": met[-1]})
                weight = statistics.weight(term)
                for (part,) in rows:
                    if part in told:
                        told[part] += weight
        return sorted(met, key=lambda part: -told[part])

    def _weighed(self, parts: Sequence[int], statistics: Statistics) -> list[int]:
        """Return the parts from the one that answers best down, by reading their words."""
        weighted, mean_length = weights(statistics.occurrences, statistics), statistics.mean_length
        values = {"owner": self.tx.scope.tenant_id}
        ordered = sorted(
            (-relevance(words, length, weighted, mean_length), number)
            for some in batches(parts)
            for number, length, words in _WORDS.rows(self.tx, {**values, "some": list(some)})
        )
        return [number for _relevance, number in ordered]

    @cached_property
    def _is_alone(self) -> bool:
        return is_alone(self.tx)


_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)
_KNOWN: Final = Prepared(
    select(search_terms.c.term, search_terms.c.doc).where(search_terms.c.term.in_(_SOME))
)
_MOST: Final = bindparam("most", type_=Integer)
_MET: Final = search_words.c[WORDS_TABLE].op("MATCH", is_comparison=True)(
    bindparam("expression", type_=Text)
)


@cache
def _counted(*, is_alone: bool) -> Prepared:
    """Return what counts the parts that meet an expression, up to `most`."""
    met = select(literal(1)).select_from(search_words).where(_MET)
    if not is_alone:
        met = met.join(search_parts, search_parts.c.id == search_words.c.rowid).where(
            owner_of("sqlite", search_parts) == OWNER
        )
    return Prepared(select(func.count()).select_from(met.limit(_MOST).subquery()))


@cache
def _ranked(shape: Shape | None, *, newest: bool) -> Prepared:
    """Return what lets FTS5 rank `most` of the parts that meet an expression: the best `wanted`.

    Without a shape they are any that are in the index.
    """
    rank: ColumnElement[float] = func.bm25(literal_column(WORDS_TABLE, Integer), type_=Float)
    met = _having_met(shape).add_columns(rank.label("rank"))
    if newest:
        met = met.order_by(search_words.c.rowid.desc())
    some = met.limit(_MOST).subquery()
    wanted = bindparam("wanted", type_=Integer)
    return Prepared(select(some).order_by(some.c.rank, some.c.id).limit(wanted))


@cache
def _met(shape: Shape | None) -> Prepared:
    """Return what finds the newest `most` parts that meet an expression.

    FTS5 would look at every row of each word to rank them.
    """
    return Prepared(_having_met(shape).order_by(search_words.c.rowid.desc()).limit(_MOST))


def _having_met(shape: Shape | None) -> Select[Any]:
    """Return what finds the parts that meet an expression, of those in the index or a shape."""
    if shape is None:
        return select(search_words.c.rowid.label("id")).where(_MET)
    of_part = search_parts.c.id == search_words.c.rowid
    return (
        select(search_parts.c.id)
        .select_from(search_words.join(search_parts, of_part))
        .where(_MET, *conditions(shape))
    )


@cache
def _counted_among(shape: Shape) -> Prepared:
    """Return what counts those of some parts that a query may find."""
    found = select(func.count()).where(search_parts.c.id.in_(_SOME), *conditions(shape))
    return Prepared(found)


_HAVING: Final = Prepared(
    select(search_words.c.rowid).where(
        _MET, search_words.c.rowid >= bindparam("oldest", type_=Integer)
    )
)
_WORDS: Final = Prepared(
    select(search_parts.c.id, search_parts.c.length, search_texts.c.words)
    .select_from(search_parts.join(search_texts, search_texts.c.id == search_parts.c.id))
    .where(
        search_parts.c.id.in_(_SOME),
        owner_of("sqlite", search_parts) == OWNER,
        owner_of("sqlite", search_texts) == OWNER,
    )
)


def _text(expression: Expression) -> str:
    """Return an expression as FTS5 takes it."""
    clauses = (" AND ".join(map(_phrase, clause)) for clause in expression)
    return " OR ".join(f"({clause})" for clause in clauses)


def _phrase(term: str) -> str:
    """Return a term as FTS5 takes it: words hold no quotation marks."""
    return f'"{term}" *' if is_beginning(term) else f'"{term}"'
