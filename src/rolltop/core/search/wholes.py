"""The index of whole texts: which of them have all that is asked for, and how well they answer.

Where `searching` finds the parts that answer a question best, this decides for each text: every
wanted phrase is in it and no unwanted one. What it answers is a selection to join with the
texts' own table, so that filters, counts and pages are part of the same statement.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    Float,
    Integer,
    Text,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    select,
    update,
)

from rolltop.core.db.prepared import Prepared
from rolltop.core.lazy import lazy
from rolltop.core.search.batches import batches
from rolltop.core.search.conditions import OWNER
from rolltop.core.search.tables import (
    MOST_POSITIONS,
    WHOLE_WORDS_TABLE,
    owner_of,
    search_whole_parts,
    search_whole_words,
    search_wholes,
)
from rolltop.core.search.terms import is_beginning
from rolltop.core.search.words import joined_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import BindParameter, ColumnElement, FromClause, Select

    from rolltop.core.db import Tx
    from rolltop.core.db.address import Kind
    from rolltop.core.search import tsearch, wholes_tsearch
    from rolltop.core.search.phrases import Asked, Phrase
else:  # only where the store is PostgreSQL's
    tsearch = lazy("rolltop.core.search.tsearch")
    wholes_tsearch = lazy("rolltop.core.search.wholes_tsearch")

_PART: Final = 5000
"""Words of one tsvector at most: its positions end at 16,383 and its bytes at a MiB."""
_OVERLAP: Final = 64
"""Words that two parts share, so that a phrase is whole in one of them."""
_w: Final = search_whole_words.c


def add(tx: Tx, texts: Sequence[str]) -> list[int]:
    """Return the numbers of new texts, in their order; the numbers are never given twice."""
    if not texts:
        return []
    split = [_parts(tx, text) for text in texts]
    rows = [_row(tx, parts) for parts in split]
    numbers = [number for (number,) in _ADD.rows_of_each(tx, rows)]
    _index(tx, dict(zip(numbers, split, strict=True)))
    return numbers


def replace(tx: Tx, number: int, text: str) -> None:
    """Index a text in place of what the number stood for."""
    _unindex(tx, [number])
    parts = _parts(tx, text)
    row = _row(tx, parts)
    changed = {"is_long": row["is_long"], "words": row["words"]}
    _put(tx.kind).run(tx, {"owner": tx.scope.tenant_id, "it": number, **changed})
    _index(tx, {number: parts})


def remove(tx: Tx, numbers: Sequence[int]) -> None:
    """Forget texts."""
    for some in batches(numbers):
        _unindex(tx, some)
        _remove(tx.kind).run(tx, {"owner": tx.scope.tenant_id, "some": some})


def remove_all(tx: Tx, user_id: str) -> None:
    """Forget all texts of one tenant."""
    if tx.kind == "sqlite":
        _UNINDEX_ALL.run(tx, {"owner": user_id})
    tx.execute(delete(search_wholes).where(search_wholes.c.user_id == user_id))


class Shape(NamedTuple):
    """What of a question its statements depend on: how many phrases, SQLite takes 1 for any."""

    wanted: int
    unwanted: int


def shape_of(kind: Kind, asked: Asked) -> Shape:
    """Return the shape of a question."""
    most = 1 if kind == "sqlite" else len(asked.wanted) + len(asked.unwanted)
    return Shape(min(len(asked.wanted), most), min(len(asked.unwanted), most))


def values_of(tx: Tx, asked: Asked) -> dict[str, str]:
    """Return the values of the conditions of a question; `owner` is the tenant's besides."""
    if tx.kind != "sqlite":
        return wholes_tsearch.values_of(tx, asked)
    if not asked.wanted:
        return {"unwanted": _fts5_any(asked.unwanted)} if asked.unwanted else {}
    text = " AND ".join(map(_fts5_phrase, asked.wanted))
    return {"wanted": f"({text}) NOT ({_fts5_any(asked.unwanted)})" if asked.unwanted else text}


def matched(kind: Kind, shape: Shape, *, ranked: bool) -> FromClause:
    """Return the numbers of the texts that meet what is asked, as a table to join with.

    Its columns are `number` and, where `ranked`, `rank`: lower is better. Something must be
    wanted. On SQLite it holds other tenants' texts too: whoever joins names the tenant.
    """
    if kind == "sqlite":
        rank = func.bm25(literal_column(WHOLE_WORDS_TABLE, Integer), type_=Float)
        columns: list[Any] = [_w.rowid.label("number"), *([rank.label("rank")] if ranked else [])]
        return select(*columns).where(_fts5_match("wanted")).subquery("matched")
    chosen = wholes_tsearch.matched(shape.wanted, shape.unwanted)
    columns = [chosen.c.number, *([chosen.c.rank] if ranked else [])]
    return select(*columns).cte("matched").prefix_with("MATERIALIZED")


def found_numbers() -> Select[int]:
    """Return the numbers of the texts that meet what is asked, as a selection; SQLite only."""
    return select(_w.rowid).where(_fts5_match("wanted"))


def meets(number: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that the text of that number meets what is asked; SQLite only.

    Each look takes as long as some hundred rows of `found_numbers`: it is for a few numbers.
    """
    return exists(select(_w.rowid).where(_fts5_match("wanted"), _w.rowid == number))


def last_number(tx: Tx) -> int:
    """Return the highest number a text has here, 0 where there is none; SQLite only."""
    row = _LAST.first(tx, {})
    return row[0] if row else 0


def having(kind: Kind) -> Select[int]:
    """Return the numbers of the texts that have one of the unwanted phrases, as a selection."""
    if kind == "sqlite":
        return select(_w.rowid).where(_fts5_match("unwanted"))
    return wholes_tsearch.having()


def _fts5_match(name: str) -> ColumnElement[bool]:
    text = bindparam(name, type_=Text)
    return _w[WHOLE_WORDS_TABLE].op("MATCH", is_comparison=True)(text)


def _fts5_any(phrases: Sequence[Phrase]) -> str:
    return " OR ".join(map(_fts5_phrase, phrases))


def _fts5_phrase(phrase: Phrase) -> str:
    """Return a phrase as FTS5 takes it: words hold no quotation marks."""
    joined = f'"{" ".join(phrase)}"'
    return f"{joined} *" if is_beginning(phrase[-1]) else joined


def _row(tx: Tx, parts: Sequence[str]) -> dict[str, object]:
    is_long = len(parts) > 1
    kept = "" if is_long else _marked(tx, parts[0])
    return {"user_id": tx.scope.tenant_id, "is_long": is_long, "words": kept}


def _marked(tx: Tx, words: str) -> str:
    """Return the words of a text with the one that says whose it is, where the index has it."""
    return words if tx.kind == "sqlite" else f"{words} {tsearch.mark(tx.scope.tenant_id)}"


def _index(tx: Tx, texts: dict[int, Sequence[str]]) -> None:
    """Make the words of texts findable that have a row."""
    if tx.kind == "sqlite":
        _ADD_WORDS.run_each(tx, [{"rowid": n, "words": words} for n, (words,) in texts.items()])
        return
    rows = [
        {
            "whole_id": number,
            "part": part,
            "user_id": tx.scope.tenant_id,
            "words": _marked(tx, words),
        }
        for number, parts in texts.items()
        if len(parts) > 1
        for part, words in enumerate(parts)
    ]
    if rows:
        tx.execute(insert(search_whole_parts), rows)


def _parts(tx: Tx, text: str) -> list[str]:
    """Return the words of a text, cut into what one row of the index can keep: as a rule all."""
    words = joined_words(text)
    if tx.kind == "sqlite":
        return [words]
    split, parts, start, end = words.split(" "), list[str](), 0, 0
    while end < len(split):
        end = _end_of_part(split, start)
        parts.append(" ".join(split[start:end]))
        start = end - _OVERLAP
    return parts


def _end_of_part(split: Sequence[str], start: int) -> int:
    """Return where the part ends that begins there: it is full, or a word would lose a place.

    Where a place is missing, no phrase with the word is found there, such as a name by its parts.
    """
    last = min(start + _PART, len(split))
    counts: defaultdict[str, int] = defaultdict(int)
    for at in range(start, last):
        word = split[at]
        if counts[word] == MOST_POSITIONS:
            return at
        counts[word] += 1
    return last


def _unindex(tx: Tx, numbers: Sequence[int]) -> None:
    some = {"owner": tx.scope.tenant_id, "some": list(numbers)}
    if tx.kind == "sqlite":
        _UNINDEX.run(tx, some)
        return
    parts = search_whole_parts.c
    tx.execute(
        delete(search_whole_parts).where(parts.user_id == OWNER, parts.whole_id.in_(_SOME)), some
    )


@cache
def _put(kind: Kind) -> Prepared:
    mine = (owner_of(kind, search_wholes) == OWNER, search_wholes.c.id == bindparam("it"))
    new = {name: bindparam(name, type_=search_wholes.c[name].type) for name in ("is_long", "words")}
    return Prepared(update(search_wholes).where(*mine).values(new))


@cache
def _remove(kind: Kind) -> Prepared:
    mine = (owner_of(kind, search_wholes) == OWNER, search_wholes.c.id.in_(_SOME))
    return Prepared(delete(search_wholes).where(*mine))


def _told(rows: Any) -> Prepared:  # noqa: ANN401  # a SELECT of three columns
    """Return what gives FTS5 the words of rows that are about to go: it keeps none itself."""
    names = [WHOLE_WORDS_TABLE, "rowid", "words"]
    return Prepared(insert(search_whole_words).from_select(names, rows))


_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)
_ADD: Final = Prepared(
    insert(search_wholes).returning(search_wholes.c.id, sort_by_parameter_order=True)
)
_LAST: Final = Prepared(select(_w.rowid).order_by(_w.rowid.desc()).limit(1))
_ADD_WORDS: Final = Prepared(insert(search_whole_words))
_GOING: Final = select(literal("delete"), search_wholes.c.id, search_wholes.c.words)
_UNINDEX: Final = _told(
    _GOING.where(owner_of("sqlite", search_wholes) == OWNER, search_wholes.c.id.in_(_SOME))
)
_UNINDEX_ALL: Final = _told(_GOING.where(search_wholes.c.user_id == OWNER))
