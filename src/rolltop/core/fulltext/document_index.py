"""The index of whole texts: which of them have all that is asked for, and how well they answer.

Where `searching` finds the parts that answer a question best, this decides for each text: every
wanted phrase is in it and no unwanted one. What it answers is a selection to join with the
texts' own table, so that filters, counts and pages are part of the same statement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    select,
    update,
)

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, batches
from rolltop.core.db.url import DatabaseKind
from rolltop.core.fulltext import postgres_document_index
from rolltop.core.fulltext.analyzer import tokenize_lines
from rolltop.core.fulltext.filters import OWNER, is_only_tenant
from rolltop.core.fulltext.phrase_query import Phrase, PhraseQuery, expand_phrase, is_prefix
from rolltop.core.fulltext.tables import (
    MAX_POSITIONS,
    WHOLE_WORDS_TABLE,
    owner_of,
    search_whole_parts,
    search_whole_words,
    search_wholes,
    with_tenant_lexeme,
)

MAX_PART_WORDS: Final = 5000
"""Words of one tsvector at most: its positions end at 16,383 and its bytes at a MiB."""
OVERLAP_WORDS: Final = 64
"""Words that two parts share, so that a phrase is whole in one of them."""
ALL_OF_BONUS: Final = 1000.0
"""By how much texts that hold every word rank before others: more than any rank is."""
_w: Final = search_whole_words.c


def add(tx: Tx, texts: Sequence[str]) -> list[int]:
    """Return the numbers of new texts, in their order; the numbers are never given twice."""
    if not texts:
        return []
    split = [_parts(tx, text) for text in texts]
    rows = [_row(tx, parts) for parts in split]
    numbers = [number for (number,) in _ADD.rows_for_each(tx, rows)]
    _index(tx, dict(zip(numbers, split, strict=True)))
    return numbers


def replace(tx: Tx, number: int, text: str) -> None:
    """Index a text in place of what the number stood for."""
    _unindex(tx, [number])
    parts = _parts(tx, text)
    row = _row(tx, parts)
    changed = {"is_long": row["is_long"], "words": row["words"]}
    _update_statement(tx.kind).run(tx, {"owner": tx.scope.tenant_id, "it": number, **changed})
    _index(tx, {number: parts})


def remove(tx: Tx, numbers: Sequence[int]) -> None:
    """Forget texts."""
    for some in batches(numbers):
        _unindex(tx, some)
        _delete_statement(tx.kind).run(tx, {"owner": tx.scope.tenant_id, "some": some})


def remove_all(tx: Tx, user_id: str) -> None:
    """Forget all texts of one tenant."""
    if tx.kind == "sqlite":
        _UNINDEX_ALL.run(tx, {"owner": user_id})
    tx.execute(delete(search_wholes).where(search_wholes.c.user_id == user_id))


class PhraseShape(NamedTuple):
    """What of a question its statements depend on: how many phrases, SQLite takes 1 for any.

    Of what is excluded it is 1 for any everywhere.
    """

    required: int
    excluded: int
    any_of: int = 0
    all_of: int = 0


def shape_of(kind: DatabaseKind, phrase_query: PhraseQuery) -> PhraseShape:
    """Return the shape of a question."""
    asked = (phrase_query.required, phrase_query.any_of, phrase_query.all_of)
    wanted, any_of, every = (len(one) if kind != "sqlite" else min(len(one), 1) for one in asked)
    if kind == "sqlite":
        wanted = max(wanted, any_of)
    return PhraseShape(wanted, min(len(phrase_query.excluded), 1), any_of, every)


def values_of(tx: Tx, phrase_query: PhraseQuery) -> dict[str, Any]:
    """Return the values of the conditions of a question; `owner` is the tenant's besides."""
    if tx.kind != "sqlite":
        return postgres_document_index.values_of(tx, phrase_query)
    unwanted = _fts5_any(phrase_query.excluded)
    met = list(map(_fts5_phrase, phrase_query.required))
    if phrase_query.any_of:
        met.append(f"({_fts5_any(phrase_query.any_of)})")
    if not met:
        return {"unwanted": unwanted} if unwanted else {}
    values = {"wanted": " AND ".join(met)}
    if unwanted:
        values["wanted"] = f"({values['wanted']}) NOT ({unwanted})"
    if phrase_query.all_of:
        values["every"] = " AND ".join(map(_fts5_phrase, phrase_query.all_of))
    return values


def counts(tx: Tx, phrases: Iterable[Phrase], limit: int) -> dict[Phrase, int]:
    """Return how many of the tenant's texts hold each of the phrases, counted up to `limit`."""
    asked = dict.fromkeys(phrases)
    if not asked:
        return {}
    statement = _count_statement(tx.kind, alone=tx.kind == "sqlite" and is_only_tenant(tx))
    bounds, found = {"owner": tx.scope.tenant_id, "most": limit}, dict[Phrase, int]()
    for phrase in asked:
        ((number,),) = statement.rows(tx, bounds | values_of(tx, PhraseQuery((phrase,))))
        found[phrase] = int(number)
    return found


def matching_texts(kind: DatabaseKind, shape: PhraseShape, *, ranked: bool) -> FromClause:
    """Return the numbers of the texts that meet what is asked, as a table to join with.

    Its columns are `number` and, where `ranked`, `rank`: lower is better. Something must be
    wanted. On SQLite it holds other tenants' texts too: whoever joins names the tenant.
    """
    if kind == "sqlite":
        rank: Any = func.bm25(literal_column(WHOLE_WORDS_TABLE, Integer), type_=Float)
        if shape.all_of:
            has_every = _w.rowid.in_(select(_w.rowid).where(_fts5_match("every")))
            rank -= case((has_every, ALL_OF_BONUS), else_=0.0)
        columns: list[Any] = [_w.rowid.label("number"), *([rank.label("rank")] if ranked else [])]
        return select(*columns).where(_fts5_match("wanted")).subquery("matched")
    chosen = postgres_document_index.matching_texts(shape)
    columns = [chosen.c.number, *([chosen.c.rank] if ranked else [])]
    return select(*columns).cte("matched").prefix_with("MATERIALIZED")


def matching_numbers() -> Select[int]:
    """Return the numbers of the texts that meet what is asked, as a selection; SQLite only."""
    return select(_w.rowid).where(_fts5_match("wanted"))


def matches(number: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that the text of that number meets what is asked; SQLite only.

    Each look takes as long as some hundred rows of `matching_numbers`: it is for a few numbers.
    """
    return exists(select(_w.rowid).where(_fts5_match("wanted"), _w.rowid == number))


def last_number(tx: Tx) -> int:
    """Return the highest number of a text, or 0; SQLite only."""
    row = _LAST.first(tx, {})
    return row[0] if row else 0


def excluded_numbers(kind: DatabaseKind) -> Select[int]:
    """Return the numbers of the texts that have one of the unwanted phrases, as a selection."""
    if kind == "sqlite":
        return select(_w.rowid).where(_fts5_match("unwanted"))
    return postgres_document_index.excluded_numbers()


def _fts5_match(name: str) -> ColumnElement[bool]:
    text = bindparam(name, type_=Text)
    return _w[WHOLE_WORDS_TABLE].op("MATCH", is_comparison=True)(text)


def _fts5_any(phrases: Sequence[Phrase]) -> str:
    return " OR ".join(map(_fts5_phrase, phrases))


def _fts5_phrase(phrase: Phrase) -> str:
    """Return a phrase as FTS5 takes it: words hold no quotation marks."""
    return f"({' OR '.join(map(_fts5_words, expand_phrase(phrase)))})"


def _fts5_words(phrase: Phrase) -> str:
    joined = f'"{" ".join(phrase).rstrip("*")}"'
    return f"{joined} *" if is_prefix(phrase[-1]) else joined


def _row(tx: Tx, parts: Sequence[str]) -> dict[str, object]:
    is_long = len(parts) > 1
    kept = "" if is_long else with_tenant_lexeme(tx, parts[0])
    return {"user_id": tx.scope.tenant_id, "is_long": is_long, "words": kept}


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
            "words": with_tenant_lexeme(tx, words),
        }
        for number, parts in texts.items()
        if len(parts) > 1
        for part, words in enumerate(parts)
    ]
    if rows:
        tx.execute(insert(search_whole_parts), rows)


def _parts(tx: Tx, text: str) -> list[str]:
    """Return the words of a text, cut into what one row of the index can keep: as a rule all."""
    words = tokenize_lines(text)
    if tx.kind == "sqlite":
        return [words]
    split, parts, start, end = words.replace("\n", " ").split(" "), list[str](), 0, 0
    while end < len(split):
        end = _end_of_part(split, start)
        parts.append(" ".join(split[start:end]))
        start = end - OVERLAP_WORDS
    return parts


def _end_of_part(split: Sequence[str], start: int) -> int:
    """Return where the part ends that begins there: it is full, or a word would lose a place.

    Where a place is missing, no phrase with the word is found there, such as a name by its parts.
    """
    last = min(start + MAX_PART_WORDS, len(split))
    counts: defaultdict[str, int] = defaultdict(int)
    for at in range(start, last):
        word = split[at]
        if counts[word] == MAX_POSITIONS:
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
def _count_statement(kind: DatabaseKind, *, alone: bool) -> CompiledStatement:
    found: Any = matching_texts(kind, PhraseShape(1, 0), ranked=False)
    number = select(literal(1)).select_from(found)
    if kind == "sqlite" and not alone:
        mine = (search_wholes.c.id == found.c.number, owner_of(kind, search_wholes) == OWNER)
        number = number.join(search_wholes, and_(*mine))
    limited = number.limit(bindparam("most", type_=Integer)).subquery()
    return CompiledStatement(select(func.count()).select_from(limited))


@cache
def _update_statement(kind: DatabaseKind) -> CompiledStatement:
    mine = (owner_of(kind, search_wholes) == OWNER, search_wholes.c.id == bindparam("it"))
    new = {name: bindparam(name, type_=search_wholes.c[name].type) for name in ("is_long", "words")}
    return CompiledStatement(update(search_wholes).where(*mine).values(new))


@cache
def _delete_statement(kind: DatabaseKind) -> CompiledStatement:
    mine = (owner_of(kind, search_wholes) == OWNER, search_wholes.c.id.in_(_SOME))
    return CompiledStatement(delete(search_wholes).where(*mine))


def _unindex_statement(rows: Any) -> CompiledStatement:  # noqa: ANN401  # a SELECT of three columns
    """Give FTS5 the words of rows that are about to go: it stores none itself."""
    names = [WHOLE_WORDS_TABLE, "rowid", "words"]
    return CompiledStatement(insert(search_whole_words).from_select(names, rows))


_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)
_ADD: Final = CompiledStatement(
    insert(search_wholes).returning(search_wholes.c.id, sort_by_parameter_order=True)
)
_LAST: Final = CompiledStatement(select(_w.rowid).order_by(_w.rowid.desc()).limit(1))
_ADD_WORDS: Final = CompiledStatement(insert(search_whole_words))
_WORDS_TO_DELETE: Final = select(literal("delete"), search_wholes.c.id, search_wholes.c.words)
_UNINDEX: Final = _unindex_statement(
    _WORDS_TO_DELETE.where(
        owner_of("sqlite", search_wholes) == OWNER, search_wholes.c.id.in_(_SOME)
    )
)
_UNINDEX_ALL: Final = _unindex_statement(_WORDS_TO_DELETE.where(search_wholes.c.user_id == OWNER))
