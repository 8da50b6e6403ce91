"""Words on SQLite: FTS5 proposes rows, and its vocabulary says how rare a word is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from sqlalchemy import Float, Integer, func, literal, literal_column, select

from rolltop.core.db.schema import users
from rolltop.core.search.tables import (
    WORDS_TABLE,
    fetched,
    owner_of,
    search_parts,
    search_terms,
    search_texts,
    search_words,
)
from rolltop.core.search.terms import is_beginning, relevance, weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from rolltop.core.db import Tx
    from rolltop.core.search.conditions import Allowed
    from rolltop.core.search.terms import Expression, Statistics

_RANKED: Final = 20_000
"""Rows of all words together up to which FTS5 ranks: it looks at each of them, a tenth of a µs."""
_READ: Final = 40_000  # words of the texts that are read where it does not
_LEAST: Final = 500  # texts
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
        found = select(search_terms.c.term, search_terms.c.doc)
        rows = fetched(self.tx, found.where(search_terms.c.term.in_(exact))) if exact else ()
        known = {term: int(number) for term, number in rows}
        return {
            term: known.get(term, 0) if term in exact else self.count(((term,),), _COUNTED)
            for term in terms
        }

    def count(self, expression: Expression, most: int) -> int:
        """Return how many of the tenant's parts meet the expression, counting up to `most`."""
        met = select(literal(1)).select_from(search_words).where(_match(expression))
        if not self._is_alone:
            met = met.join(search_parts, search_parts.c.id == search_words.c.rowid).where(
                owner_of(self.tx.kind, search_parts) == self.tx.scope.tenant_id
            )
        counted = select(func.count()).select_from(met.limit(most).subquery())
        return int(self.tx.execute(counted).scalar_one())

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
        terms = tuple(dict.fromkeys(term for clause in expression for term in clause))
        if sum(statistics.occurrences[term] for term in terms) > _RANKED:
            some = max(_LEAST, round(_READ / max(statistics.mean_length, 1.0)))
            return self._weighed(
                terms, expression, statistics, allowed, (min(ranked, some), wanted)
            )
        c = search_parts.c
        rank: ColumnElement[float] = func.bm25(literal_column(WORDS_TABLE, Integer), type_=Float)
        met = (
            select(c.id, rank.label("rank"))
            .select_from(search_words.join(search_parts, c.id == search_words.c.rowid))
            .where(_match(expression), *allowed.conditions())
        )
        if newest:
            met = met.order_by(search_words.c.rowid.desc())
        looked_at = met.limit(ranked).subquery()
        best = select(looked_at.c.id).order_by(looked_at.c.rank, looked_at.c.id).limit(wanted)
        return list(self.tx.execute(best).scalars())

    def _weighed(
        self,
        terms: Sequence[str],
        expression: Expression,
        statistics: Statistics,
        allowed: Allowed,
        most: tuple[int, int],
    ) -> list[int]:
        """Return what `propose` does, by reading the parts' words: FTS5 looks at every row of each.

        A query's frequent words tell little, and there are enough parts that have them.
        """
        read, wanted = most
        c, texts = search_parts.c, search_texts.c
        met = (
            select(c.id, c.length, texts.words)
            .select_from(
                search_words.join(search_parts, c.id == search_words.c.rowid).join(
                    search_texts, texts.id == search_words.c.rowid
                )
            )
            .where(
                _match(expression),
                owner_of(self.tx.kind, search_texts) == self.tx.scope.tenant_id,
                *allowed.conditions(),
            )
            .order_by(search_words.c.rowid.desc())
            .limit(read)
        )
        weighted = weights(terms, statistics)
        ordered = sorted(
            (-relevance(words, length, weighted, statistics.mean_length), number)
            for number, length, words in fetched(self.tx, met)
        )
        return [number for _relevance, number in ordered[:wanted]]

    @cached_property
    def _is_alone(self) -> bool:
        """Whether there is no other tenant."""
        return len(fetched(self.tx, select(users.c.id).limit(2))) <= 1


def _match(expression: Expression) -> ColumnElement[bool]:
    clauses = (" AND ".join(map(_phrase, clause)) for clause in expression)
    text = " OR ".join(f"({clause})" for clause in clauses)
    return search_words.c[WORDS_TABLE].op("MATCH", is_comparison=True)(text)


def _phrase(term: str) -> str:
    """Return a term as FTS5 takes it: words hold no quotation marks."""
    return f'"{term}" *' if is_beginning(term) else f'"{term}"'
