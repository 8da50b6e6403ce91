"""Whole texts on PostgreSQL: short ones by one condition, long ones by one for each phrase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, Text, bindparam, cast, func, or_, select, union_all
from sqlalchemy.dialects.postgresql import TSQUERY

from rolltop.core.search.conditions import OWNER
from rolltop.core.search.tables import search_whole_parts, search_wholes
from rolltop.core.search.terms import is_beginning
from rolltop.core.search.tsearch import mark

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select, Subquery, Table

    from rolltop.core.db import Tx
    from rolltop.core.search.phrases import Asked, Phrase


def values_of(tx: Tx, asked: Asked) -> dict[str, str]:
    """Return the values of the conditions of a question, each but the ranked for one tenant.

    Its words are asked for whose they are, so that the index finds no other tenant's.
    """
    mine = f"'{mark(tx.scope.tenant_id)}'"
    wanted, unwanted = ([_lexemes(one) for one in some] for some in (asked.wanted, asked.unwanted))
    values = {f"wanted_{at}": f"{mine} & {phrase}" for at, phrase in enumerate(wanted)}
    values |= {f"unwanted_{at}": f"{mine} & {phrase}" for at, phrase in enumerate(unwanted)}
    if unwanted:
        values["unwanted"] = f"{mine} & ({' | '.join(unwanted)})"
    if wanted:
        values["ranked"] = " | ".join(wanted)
        values["all"] = " & ".join([mine, *wanted, *(f"!({phrase})" for phrase in unwanted)])
    return values


def having() -> Select[int]:
    """Return the numbers of the texts that have one of the unwanted phrases, as a selection."""
    w, p = search_wholes.c, search_whole_parts.c
    in_a_part = select(p.whole_id).where(*_mine(search_whole_parts, "unwanted"))
    mine, matches = _mine(search_wholes, "unwanted")
    return select(w.id).where(mine, or_(matches, w.id.in_(in_a_part)))


def matched(wanted: int, unwanted: int) -> Subquery:
    """Return `number` and `rank` (lower is better) of the texts that meet what is asked.

    The numbers of phrases are given.
    """
    w, p = search_wholes.c, search_whole_parts.c
    short = select(
        w.id.label("number"), _rank(func.ts_rank(w.words, *_RANKED)).label("rank")
    ).where(w.is_long.is_(False), *_mine(search_wholes, "all"))
    parts = select(_rank(func.max(func.ts_rank(p.words, *_RANKED)))).where(
        p.whole_id == w.id, p.user_id == OWNER
    )
    long = select(w.id, parts.scalar_subquery()).where(
        w.user_id == OWNER,
        w.is_long.is_(True),
        *(_in_a_part(f"wanted_{at}") for at in range(wanted)),
        *(~_in_a_part(f"unwanted_{at}") for at in range(unwanted)),
    )
    return union_all(short, long).subquery()


def _in_a_part(name: str) -> ColumnElement[bool]:
    p = search_whole_parts.c
    met = _mine(search_whole_parts, name)
    return select(p.part).where(p.whole_id == search_wholes.c.id, *met).exists()


def _mine(rows: Table, name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return what rows of the tenant's meet that have the words of this name."""
    return rows.c.user_id == OWNER, rows.c.words.op("@@", is_comparison=True)(_tsquery(name))


def _rank(rank: ColumnElement[Any]) -> ColumnElement[float]:
    return cast(-rank, Float)


def _tsquery(name: str) -> ColumnElement[Any]:
    return cast(bindparam(name, type_=Text), TSQUERY)


_RANKED: Final = (_tsquery("ranked"), 1)


def _lexemes(phrase: Phrase) -> str:
    """Return a phrase as a tsquery takes it: words hold no quotation marks or backslashes."""
    words = [f"'{word}':*" if is_beginning(word) else f"'{word}'" for word in phrase]
    return f"({' <-> '.join(words)})"
