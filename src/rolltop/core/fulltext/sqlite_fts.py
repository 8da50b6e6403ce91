"""Words on SQLite: FTS5 proposes rows, and its vocabulary says how rare a word is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Float,
    Integer,
    Select,
    Text,
    bindparam,
    func,
    literal,
    literal_column,
    select,
)

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, batches
from rolltop.core.fulltext.bm25 import (
    Expression,
    TermStatistics,
    bm25_score,
    is_prefix_term,
    term_weights,
)
from rolltop.core.fulltext.filters import (
    OWNER,
    QueryFilter,
    QueryShape,
    filter_clauses,
    is_only_tenant,
)
from rolltop.core.fulltext.tables import (
    WORDS_TABLE,
    owner_of,
    search_parts,
    search_terms,
    search_texts,
    search_words,
)

MAX_RANKED_ROWS: Final = 20_000
"""Rows of all words together up to which FTS5 ranks: it looks at each of them, a tenth of a µs."""
MAX_READ_TEXTS: Final = 300
"""Texts that are read and weighed where it does not: those with the words that tell most."""
_MAX_COUNTED_ROWS: Final = 20_000  # rows looked at to tell one tenant's from another's


@dataclass
class SqliteWordIndex:
    """The words of one tenant's parts."""

    tx: Tx

    def occurrences(self, terms: Sequence[str]) -> dict[str, int]:
        """Return in how many of the tenant's parts each term occurs.

        Where there are other tenants, a term's rows are counted up to 20,000.
        """
        words = [term for term in terms if not is_prefix_term(term) and " " not in term]
        exact = words if self._is_only_tenant else []
        rows = _TERM_COUNTS.rows(self.tx, {"some": exact}) if exact else ()
        known = {term: int(number) for term, number in rows}
        return {
            term: known.get(term, 0) if term in exact else self.count(((term,),), _MAX_COUNTED_ROWS)
            for term in terms
        }

    def count(self, expression: Expression, most: int) -> int:
        """Return how many of the tenant's parts meet the expression, counting up to `most`."""
        values = {"expression": _fts5_expression(expression), "most": most}
        if not self._is_only_tenant:
            values["owner"] = self.tx.scope.tenant_id
        ((number,),) = _count_statement(is_alone=self._is_only_tenant).rows(self.tx, values)
        return int(number)

    def propose(
        self,
        expression: Expression,
        statistics: TermStatistics,
        query_filter: QueryFilter,
        most: tuple[int, int],
        *,
        newest: bool,
    ) -> list[int]:
        """Return the parts that answer best, best first.

        They are `most[1]` of the `most[0]` that meet the expression, the newest where it is met
        by more (`newest`).
        """
        ranked, wanted = most
        values = {**query_filter.values, "expression": _fts5_expression(expression), "most": ranked}
        terms = {term for clause in expression for term in clause}
        is_rankable = sum(statistics.occurrences[term] for term in terms) <= MAX_RANKED_ROWS

        def best(shape: QueryShape | None) -> list[int]:
            """Return the best of what a query may find, or without a shape of all."""
            if is_rankable:
                rows = _rank_statement(shape, newest=newest).rows(
                    self.tx, {**values, "wanted": wanted}
                )
                return [number for number, _rank in rows]
            met = [number for (number,) in _newest_statement(shape).rows(self.tx, values)]
            some = max(MAX_READ_TEXTS, wanted)
            if len(met) > some:
                met = self._rank_by_terms(met, expression, statistics)[:some]
            return self._rank_by_text(met, statistics)[:wanted]

        if self._is_only_tenant and not query_filter.filters:
            # All there is may be found as a rule, and asking for each row doubles the time.
            found = best(None)
            if self._count_allowed(found, query_filter) == len(found):
                return found
        return best(query_filter.shape)

    def _count_allowed(self, parts: Sequence[int], query_filter: QueryFilter) -> int:
        statement, values = _count_among_statement(query_filter.shape), query_filter.values
        rows = (statement.rows(self.tx, {**values, "some": list(some)}) for some in batches(parts))
        return sum(number for ((number,),) in rows)

    def _rank_by_terms(
        self, met: Sequence[int], expression: Expression, statistics: TermStatistics
    ) -> list[int]:
        """Return the parts that meet an expression, given newest first, by the words they have."""
        told = dict.fromkeys(met, 0.0)
        for term, number in statistics.occurrences.items():
            if number and not all(term in clause for clause in expression):
                both = f"({_fts5_phrase(term)}) AND ({_fts5_expression(expression)})"
                rows = _ROWS_WITH_TERM.rows(self.tx, {"expression": both, "oldest": met[-1]})
                weight = statistics.idf(term)
                for (part,) in rows:
                    if part in told:
                        told[part] += weight
        return sorted(met, key=lambda part: -told[part])

    def _rank_by_text(self, parts: Sequence[int], statistics: TermStatistics) -> list[int]:
        """Return the parts from the one that answers best down, by reading their words."""
        weighted, mean_length = (
            term_weights(statistics.occurrences, statistics),
            statistics.mean_length,
        )
        values = {"owner": self.tx.scope.tenant_id}
        ordered = sorted(
            (-bm25_score(words, length, weighted, mean_length), number)
            for some in batches(parts)
            for number, length, words in _PART_WORDS.rows(self.tx, {**values, "some": list(some)})
        )
        return [number for _relevance, number in ordered]

    @cached_property
    def _is_only_tenant(self) -> bool:
        return is_only_tenant(self.tx)


_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)
_TERM_COUNTS: Final = CompiledStatement(
    select(search_terms.c.term, search_terms.c.doc).where(search_terms.c.term.in_(_SOME))
)
_MAX_ROWS: Final = bindparam("most", type_=Integer)
_MATCH_CLAUSE: Final = search_words.c[WORDS_TABLE].op("MATCH", is_comparison=True)(
    bindparam("expression", type_=Text)
)


@cache
def _count_statement(*, is_alone: bool) -> CompiledStatement:
    """Count the parts that meet an expression, up to `most`."""
    met = select(literal(1)).select_from(search_words).where(_MATCH_CLAUSE)
    if not is_alone:
        met = met.join(search_parts, search_parts.c.id == search_words.c.rowid).where(
            owner_of("sqlite", search_parts) == OWNER
        )
    return CompiledStatement(select(func.count()).select_from(met.limit(_MAX_ROWS).subquery()))


@cache
def _rank_statement(shape: QueryShape | None, *, newest: bool) -> CompiledStatement:
    """Let FTS5 rank `most` of the parts that meet an expression; read the best `wanted`.

    Without a shape they are any that are in the index.
    """
    rank: ColumnElement[float] = func.bm25(literal_column(WORDS_TABLE, Integer), type_=Float)
    met = _matching_rows(shape).add_columns(rank.label("rank"))
    if newest:
        met = met.order_by(search_words.c.rowid.desc())
    some = met.limit(_MAX_ROWS).subquery()
    wanted = bindparam("wanted", type_=Integer)
    return CompiledStatement(select(some).order_by(some.c.rank, some.c.id).limit(wanted))


@cache
def _newest_statement(shape: QueryShape | None) -> CompiledStatement:
    """Find the newest `most` parts that meet an expression.

    FTS5 would look at every row of each word to rank them.
    """
    return CompiledStatement(
        _matching_rows(shape).order_by(search_words.c.rowid.desc()).limit(_MAX_ROWS)
    )


def _matching_rows(shape: QueryShape | None) -> Select[Any]:
    """Find the parts that meet an expression, of those in the index or a shape."""
    if shape is None:
        return select(search_words.c.rowid.label("id")).where(_MATCH_CLAUSE)
    of_part = search_parts.c.id == search_words.c.rowid
    return (
        select(search_parts.c.id)
        .select_from(search_words.join(search_parts, of_part))
        .where(_MATCH_CLAUSE, *filter_clauses(shape))
    )


@cache
def _count_among_statement(shape: QueryShape) -> CompiledStatement:
    found = select(func.count()).where(search_parts.c.id.in_(_SOME), *filter_clauses(shape))
    return CompiledStatement(found)


_ROWS_WITH_TERM: Final = CompiledStatement(
    select(search_words.c.rowid).where(
        _MATCH_CLAUSE, search_words.c.rowid >= bindparam("oldest", type_=Integer)
    )
)
_PART_WORDS: Final = CompiledStatement(
    select(search_parts.c.id, search_parts.c.length, search_texts.c.words)
    .select_from(search_parts.join(search_texts, search_texts.c.id == search_parts.c.id))
    .where(
        search_parts.c.id.in_(_SOME),
        owner_of("sqlite", search_parts) == OWNER,
        owner_of("sqlite", search_texts) == OWNER,
    )
)


def _fts5_expression(expression: Expression) -> str:
    clauses = (" AND ".join(map(_fts5_phrase, clause)) for clause in expression)
    return " OR ".join(f"({clause})" for clause in clauses)


def _fts5_phrase(term: str) -> str:
    """Return a term as FTS5 takes it: words hold no quotation marks."""
    return f'"{term}" *' if is_prefix_term(term) else f'"{term}"'
