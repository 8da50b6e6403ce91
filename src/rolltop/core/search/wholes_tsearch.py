"""Whole texts on PostgreSQL: short ones by one condition, long ones by one for each phrase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Float, cast, func, or_, select, union_all
from sqlalchemy.dialects.postgresql import TSQUERY

from rolltop.core.search.tables import search_whole_parts, search_wholes
from rolltop.core.search.terms import is_beginning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Select, Subquery

    from rolltop.core.db import Tx
    from rolltop.core.search.phrases import Asked, Phrase


def having(tx: Tx, phrases: Sequence[Phrase]) -> Select[int]:
    """Return the numbers of the texts that have one of the phrases, as a selection."""
    w, p = search_wholes.c, search_whole_parts.c
    query = _tsquery(" | ".join(map(_lexemes, phrases)))
    return select(w.id).where(
        w.user_id == tx.scope.tenant_id,
        or_(
            w.words.op("@@", is_comparison=True)(query),
            w.id.in_(
                select(p.whole_id).where(
                    p.user_id == tx.scope.tenant_id,
                    p.words.op("@@", is_comparison=True)(query),
                )
            ),
        ),
    )


def matched(tx: Tx, asked: Asked) -> Subquery:
    """Return `number` and `rank` (lower is better) of the texts that meet what is asked."""
    w = search_wholes.c
    any_wanted = _tsquery(" | ".join(map(_lexemes, asked.wanted)))
    all_wanted = " & ".join(map(_lexemes, asked.wanted))
    unwanted = "".join(f" & !({_lexemes(phrase)})" for phrase in asked.unwanted)
    rank = cast(-func.ts_rank(w.words, any_wanted, 1), Float)
    short = select(w.id.label("number"), rank.label("rank")).where(
        w.user_id == tx.scope.tenant_id,
        w.is_long.is_(False),
        w.words.op("@@", is_comparison=True)(_tsquery(f"{all_wanted}{unwanted}")),
    )
    p = search_whole_parts.c
    parts = select(cast(-func.max(func.ts_rank(p.words, any_wanted, 1)), Float)).where(
        p.whole_id == w.id, p.user_id == tx.scope.tenant_id
    )
    long = select(w.id, parts.scalar_subquery()).where(
        w.user_id == tx.scope.tenant_id,
        w.is_long.is_(True),
        *(_in_a_part(tx, phrase) for phrase in asked.wanted),
        *(~_in_a_part(tx, phrase) for phrase in asked.unwanted),
    )
    return union_all(short, long).subquery()


def _in_a_part(tx: Tx, phrase: Phrase) -> ColumnElement[bool]:
    p = search_whole_parts.c
    found = p.words.op("@@", is_comparison=True)(_tsquery(_lexemes(phrase)))
    return (
        select(p.part)
        .where(p.whole_id == search_wholes.c.id, p.user_id == tx.scope.tenant_id, found)
        .exists()
    )


def _tsquery(text: str) -> ColumnElement[Any]:
    return cast(text, TSQUERY)


def _lexemes(phrase: Phrase) -> str:
    """Return a phrase as a tsquery takes it: words hold no quotation marks or backslashes."""
    words = [f"'{word}':*" if is_beginning(word) else f"'{word}'" for word in phrase]
    return f"({' <-> '.join(words)})"
