"""Words on PostgreSQL: an indexed tsvector proposes rows, ranked by BM25 made of its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Float,
    ScalarSelect,
    Subquery,
    case,
    cast,
    func,
    literal,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from rolltop.core.db import Tx
from rolltop.core.fulltext.bm25 import K1, B, Expression, TermStatistics, is_prefix_term
from rolltop.core.fulltext.filters import QueryFilter, filter_clauses
from rolltop.core.fulltext.tables import (
    search_parts,
    search_texts,
    tenant_lexeme,
    words_of_texts,
)

_MAX_COUNTED_ROWS: Final = 20_000  # rows with one word
_EQUAL_WEIGHTS: Final[ColumnClause[Any]] = literal_column("'{1,1,1,1}'::real[]")
_SATURATED: Final = 0.6079271  # 6 / π²: the rank of one occurrence
_FORCE_CUSTOM_PLAN: Final = text("SELECT set_config('plan_cache_mode', 'force_custom_plan', true)")


def force_custom_plan(tx: Tx) -> None:
    """Have the server plan each statement of the transaction for its own values.

    A plan for any word, filter and limit takes twice as long: it reads and sorts everything.
    """
    tx.execute(_FORCE_CUSTOM_PLAN)


@dataclass
class PostgresWordIndex:
    """The words of one tenant's parts."""

    tx: Tx

    def occurrences(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many of the tenant's parts each term occurs, counted up to 20,000."""
        if not terms:
            return {}
        counts: list[ScalarSelect[int]] = []
        for term in terms:
            met = (
                select(literal(1))
                .where(*self._match_clauses(((term,),)))
                .limit(_MAX_COUNTED_ROWS)
                .subquery()
            )
            counts.append(select(func.count()).select_from(met).scalar_subquery())
        return dict(zip(terms, map(int, self.tx.execute(select(*counts)).one()), strict=True))

    def propose(
        self,
        expression: Expression,
        statistics: TermStatistics,
        query_filter: QueryFilter,
        most: tuple[int, int],
        *,
        newest: bool,  # noqa: ARG002  # the order costs little here
    ) -> list[int]:
        """Return the parts that answer best, best first.

        They are `most[1]` of the `most[0]` that meet the expression, the newest of more.
        """
        ranked, wanted = most
        looked_at = self._newest_parts(expression, query_filter, ranked)
        norm = K1 * (1 - B + B * looked_at.c.length / max(statistics.mean_length, 1.0))
        total: ColumnElement[float] = literal(0.0, Float)
        for term in dict.fromkeys(term for clause in expression for term in clause):
            query, words = _tsquery(((term,),)), looked_at.c.words
            # To rank a row of words compares all places of theirs with each other.
            found = (
                case((words.bool_op("@@")(query), 1.0), else_=0.0)
                if " " in term
                else occurrences_from_rank(words, query)
            )
            total += statistics.idf(term) * found / (found + norm)
        best = select(looked_at.c.id).order_by(total.desc(), looked_at.c.id).limit(wanted)
        return list(self.tx.execute(best, query_filter.values).scalars())

    def _newest_parts(
        self, expression: Expression, query_filter: QueryFilter, count: int
    ) -> Subquery:
        """Return the newest parts that meet the expression and that a query may find."""
        c = search_parts.c
        # By itself: without statistics (a new store) a join asks the index for each of the parts.
        met = (
            select(words_of_texts.c.id)
            .where(*self._match_clauses(expression))
            .cte()
            .prefix_with("MATERIALIZED")
        )
        return (
            select(c.id, c.length, search_texts.c.words)
            .join(met, met.c.id == c.id)
            .join(search_texts, search_texts.c.id == c.id)
            .where(
                search_texts.c.user_id == self.tx.scope.tenant_id,
                *filter_clauses(query_filter.shape),
            )
            .order_by(c.id.desc())
            .limit(count)
            .subquery()
        )

    def _match_clauses(
        self, expression: Expression
    ) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        """Return the conditions on one of the tenant's texts.

        Its words are asked for whose they are, so that the index finds no other tenant's.
        """
        owner = self.tx.scope.tenant_id
        query = cast(f"'{tenant_lexeme(owner)}' & ({_tsquery_text(expression)})", TSQUERY)
        matches = words_of_texts.c.words.op("@@", is_comparison=True)(query)
        return words_of_texts.c.user_id == owner, matches


def occurrences_from_rank(
    words: ColumnElement[str], term: ColumnElement[str]
) -> ColumnElement[float]:
    """Return how often a word occurs, from the rank that PostgreSQL gives it.

    `ts_rank` of one word is (1 + 1/2² + … + 1/n²) · 6/π², which is 1 − 0.6079 / (n + ½) but for
    a fiftieth.
    """
    rank = cast(func.ts_rank(_EQUAL_WEIGHTS, words, term), Float)
    return func.greatest(0.0, _SATURATED / func.greatest(1.0 - rank, 0.002) - 0.5, type_=Float)


def _tsquery(expression: Expression) -> ColumnElement[str]:
    return cast(_tsquery_text(expression), TSQUERY)


def _tsquery_text(expression: Expression) -> str:
    clauses = (" & ".join(map(_lexeme, clause)) for clause in expression)
    return " | ".join(f"({clause})" for clause in clauses)


def _lexeme(term: str) -> str:
    """Return a term as a tsquery takes it: words hold no quotation marks or backslashes."""
    words = term.replace(" ", "' <-> '")
    return f"'{term}':*" if is_prefix_term(term) else f"('{words}')"
