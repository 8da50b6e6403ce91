"""Whole texts on PostgreSQL: short ones by one condition, long ones by one for each phrase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ColumnElement,
    Float,
    Select,
    Subquery,
    TableClause,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from rolltop.core.db import Tx
from rolltop.core.fulltext.bm25 import K1, B
from rolltop.core.fulltext.filters import OWNER
from rolltop.core.fulltext.phrase_query import Phrase, PhraseQuery, expand_phrase, is_prefix
from rolltop.core.fulltext.postgres_fts import occurrences_from_rank
from rolltop.core.fulltext.tables import tenant_lexeme, words_of_whole_parts, words_of_wholes

if TYPE_CHECKING:
    from rolltop.core.fulltext.document_index import PhraseShape

_ALL_OF_BONUS: Final = 1000.0


def values_of(tx: Tx, phrase_query: PhraseQuery) -> dict[str, Any]:
    """Return the values of the conditions of a question, each but the ranked for one tenant.

    Its words are asked for whose they are, so that the index finds no other tenant's.
    """
    mine = f"'{tenant_lexeme(tx.scope.tenant_id)}'"
    kinds = {"wanted": phrase_query.required, "every": phrase_query.all_of}
    values = {
        f"{name}_{at}": f"{mine} & {_lexemes(phrase)}"
        for name, some in kinds.items()
        for at, phrase in enumerate(some)
    }
    wanted, unwanted, any_of = (
        [_lexemes(one) for one in some]
        for some in (phrase_query.required, phrase_query.excluded, phrase_query.any_of)
    )
    if unwanted:
        values["unwanted"] = f"{mine} & ({' | '.join(unwanted)})"
    if any_of:
        values["any_of"] = f"{mine} & ({' | '.join(any_of)})"
        values |= {f"term_{at}": term for at, term in enumerate(any_of)}
        values |= {f"weight_{at}": weight for at, weight in enumerate(phrase_query.weights)}
    if wanted or any_of:
        values["ranked"] = " | ".join([*wanted, *any_of])
        either = [f"({' | '.join(any_of)})"] if any_of else []
        barred = [f"!({phrase})" for phrase in unwanted]
        values["all"] = " & ".join([mine, *wanted, *either, *barred])
    return values


def excluded_numbers() -> Select[int]:
    """Return the numbers of the texts that have one of the unwanted phrases, as a selection."""
    w, p = words_of_wholes.c, words_of_whole_parts.c
    in_a_part = select(p.whole_id).where(*_owner_clauses(words_of_whole_parts, "unwanted"))
    mine, matches = _owner_clauses(words_of_wholes, "unwanted")
    return select(w.id).where(mine, or_(matches, w.id.in_(in_a_part)))


def matching_texts(shape: PhraseShape) -> Subquery:
    """Return `number` and `rank` (lower is better) of the texts that meet what is asked."""
    w, p = words_of_wholes.c, words_of_whole_parts.c
    in_short = [_owner_clauses(words_of_wholes, f"every_{at}")[1] for at in range(shape.all_of)]
    in_long = [_matches_any_part(f"every_{at}") for at in range(shape.all_of)]
    mean = func.avg(func.length(w.words)).over()
    norm = K1 * (1 - B + B * func.length(w.words) / func.greatest(mean, 1))
    short = select(
        w.id.label("number"),
        _rank(_score(shape, w.words, norm), in_short).label("rank"),
    ).where(w.is_long.is_(False), *_owner_clauses(words_of_wholes, "all"))
    parts = select(func.max(_score(shape, p.words, literal(K1)))).where(
        p.whole_id == w.id, p.user_id == OWNER
    )
    long = select(w.id, _rank(parts.scalar_subquery(), in_long)).where(
        w.user_id == OWNER,
        w.is_long.is_(True),
        *(_matches_any_part(f"wanted_{at}") for at in range(shape.required)),
        *([_matches_any_part("any_of")] if shape.any_of else []),
        *([~_matches_any_part("unwanted")] if shape.excluded else []),
    )
    return union_all(short, long).subquery()


def _score(shape: PhraseShape, words: Any, norm: Any) -> Any:  # noqa: ANN401  # columns
    """Return BM25 of the words any of which is enough; without such, the server's own rank."""
    if not shape.any_of:
        return func.ts_rank(words, _tsquery("ranked"), 1)
    total: ColumnElement[float] = literal(0.0, Float)
    for at in range(shape.any_of):
        found = occurrences_from_rank(words, _tsquery(f"term_{at}"))
        total += bindparam(f"weight_{at}", type_=Float) * found / (found + norm)
    return total


def _matches_any_part(name: str) -> ColumnElement[bool]:
    p = words_of_whole_parts.c
    met = _owner_clauses(words_of_whole_parts, name)
    return select(p.part).where(p.whole_id == words_of_wholes.c.id, *met).exists()


def _owner_clauses(rows: TableClause, name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions on the tenant's rows that have the words of this name."""
    return rows.c.user_id == OWNER, rows.c.words.op("@@", is_comparison=True)(_tsquery(name))


def _rank(rank: Any, every: list[ColumnElement[bool]]) -> ColumnElement[float]:  # noqa: ANN401
    """Return a rank from the server's own: texts with every word come first."""
    first = case((and_(*every), _ALL_OF_BONUS), else_=0.0) if every else literal(0.0)
    return cast(-rank - first, Float)


def _tsquery(name: str) -> ColumnElement[Any]:
    return cast(bindparam(name, type_=Text), TSQUERY)


def _lexemes(phrase: Phrase) -> str:
    """Return a phrase as a tsquery takes it: words hold no quotation marks or backslashes."""
    either = (
        " <-> ".join(f"'{w.rstrip('*')}':*" if is_prefix(w) else f"'{w}'" for w in one)
        for one in expand_phrase(phrase)
    )
    return f"({' | '.join(either)})"
