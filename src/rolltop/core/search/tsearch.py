"""Words on PostgreSQL: an indexed tsvector proposes rows, ranked by BM25 made of its ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, cast, func, literal, literal_column, select
from sqlalchemy.dialects.postgresql import TSQUERY

from rolltop.core.search.tables import search_parts, search_texts
from rolltop.core.search.terms import K1, B, is_beginning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnClause, ColumnElement

    from rolltop.core.db import Tx
    from rolltop.core.search.conditions import Allowed
    from rolltop.core.search.terms import Expression, Statistics

_EQUAL_WEIGHTS: Final[ColumnClause[Any]] = literal_column("'{1,1,1,1}'::real[]")
_SATURATED: Final = 0.6079271  # 6 / π²: the rank of one occurrence


@dataclass
class WordIndex:
    """The words of one tenant's parts."""

    tx: Tx

    def occurrences(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many of the tenant's parts each term occurs."""
        if not terms:
            return {}
        owned = search_texts.c.user_id == self.tx.scope.tenant_id
        counts = [
            select(func.count()).where(owned, _match(((term,),))).scalar_subquery()
            for term in terms
        ]
        return dict(zip(terms, map(int, self.tx.execute(select(*counts)).one()), strict=True))

    def count(self, expression: Expression, most: int) -> int:
        """Return how many of the tenant's parts meet the expression, counting up to `most`."""
        owned = search_texts.c.user_id == self.tx.scope.tenant_id
        met = select(literal(1)).where(owned, _match(expression)).limit(most).subquery()
        return int(self.tx.execute(select(func.count()).select_from(met)).scalar_one())

    def propose(
        self,
        expression: Expression,
        statistics: Statistics,
        allowed: Allowed,
        most: tuple[int, int],
        *,
        newest: bool,  # noqa: ARG002  # the order costs little here
    ) -> list[int]:
        """Return the parts that answer best, best first.

        They are `most[1]` of the `most[0]` that meet the expression, the newest of more.
        """
        ranked, wanted = most
        c = search_parts.c
        looked_at = (
            select(c.id, c.length, search_texts.c.words)
            .join(search_texts, search_texts.c.id == c.id)
            .where(
                search_texts.c.user_id == self.tx.scope.tenant_id,
                _match(expression),
                *allowed.conditions(),
            )
            .order_by(c.id.desc())
            .limit(ranked)
            .subquery()
        )
        norm = K1 * (1 - B + B * looked_at.c.length / max(statistics.mean_length, 1.0))
        total: ColumnElement[float] = literal(0.0, Float)
        for term in dict.fromkeys(term for clause in expression for term in clause):
            found = _occurrences_from_rank(looked_at.c.words, term)
            total += statistics.weight(term) * found / (found + norm)
        best = select(looked_at.c.id).order_by(total.desc(), looked_at.c.id).limit(wanted)
        return list(self.tx.execute(best).scalars())


def _occurrences_from_rank(words: ColumnElement[str], term: str) -> ColumnElement[float]:
    """Return how often a word occurs, from the rank that PostgreSQL gives it.

    `ts_rank` of one word is (1 + 1/2² + … + 1/n²) · 6/π², which is 1 − 0.6079 / (n + ½) but for
    a fiftieth.
    """
    rank = cast(func.ts_rank(_EQUAL_WEIGHTS, words, _query(((term,),))), Float)
    return func.greatest(0.0, _SATURATED / func.greatest(1.0 - rank, 0.002) - 0.5, type_=Float)


def _match(expression: Expression) -> ColumnElement[bool]:
    return search_texts.c.words.op("@@", is_comparison=True)(_query(expression))


def _query(expression: Expression) -> ColumnElement[str]:
    clauses = (" & ".join(map(_lexeme, clause)) for clause in expression)
    return cast(" | ".join(f"({clause})" for clause in clauses), TSQUERY)


def _lexeme(term: str) -> str:
    """Return a term as a tsquery takes it: words hold no quotation marks or backslashes."""
    return f"'{term}':*" if is_beginning(term) else f"'{term}'"
