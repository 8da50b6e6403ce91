"""Which notes a list is of, and how many they are.

How many is asked of the indexes where they can tell: they count ten times as fast as the notes'
own rows are looked at. Statements are put together once for each shape of a list.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Double,
    Integer,
    Text,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    true,
    union_all,
)

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import CodePointString
from rolltop.core.search import wholes
from rolltop.core.search.conditions import OWNER, is_alone
from rolltop.core.search.phrases import Asked
from rolltop.core.search.tables import owner_of
from rolltop.toolsets.notes.store.tables import note_tags, note_texts, notes
from rolltop.toolsets.notes.store.writing import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import BindParameter, FromClause, Select

    from rolltop.core.db import Tx
    from rolltop.core.db.address import Kind
    from rolltop.toolsets.notes.models import Wanted

SHAPES: Final = 256
"""Statements of each kind that are kept."""
_c: Final = notes.c
_FEW: Final = 4
"""Tags up to which each is a condition of its own: the faster way, while they are few."""
_ACCOUNT: Final = bindparam("in_account", type_=CodePointString())
_TAGS: Final[BindParameter[Any]] = bindparam("tags", expanding=True, type_=CodePointString())
_UNTAGGED: Final[BindParameter[Any]] = bindparam(
    "untagged", expanding=True, type_=CodePointString()
)
_ESCAPE: Final = "/"
_CHOOSING: Final = ("number", "id", "user_id", "account", "trash", "modified", "created")


class Shape(NamedTuple):
    """What of a list its statements depend on."""

    kind: Kind
    is_by_creation: bool
    trash: bool | None
    before: bool
    after: bool
    words: wholes.Shape
    tags: int
    untagged: bool
    symbols: int

    @property
    def is_searched(self) -> bool:
        """Whether words narrow the list."""
        return self.words.wanted > 0

    @property
    def is_dated(self) -> bool:
        """Whether only the notes' own rows tell which of them are meant."""
        return self.before or self.after


def shape_of(tx: Tx, wanted: Wanted) -> Shape:
    """Return the shape of a list."""
    return Shape(
        kind=tx.kind,
        is_by_creation=wanted.sort == "created",
        trash=wanted.trash,
        before=wanted.before is not None,
        after=wanted.after is not None,
        words=wholes.shape_of(tx.kind, Asked(wanted.phrases, wanted.unwanted)),
        tags=min(len(set(map(folded, wanted.tags))), _FEW + 1),
        untagged=bool(wanted.untagged),
        symbols=len(wanted.symbols),
    )


def values_of(tx: Tx, account: str, wanted: Wanted) -> dict[str, Any]:
    """Return the values of the statements that choose a list's notes."""
    tags = list(dict.fromkeys(map(folded, wanted.tags)))
    values: dict[str, Any] = {"owner": tx.scope.user_id, "in_account": account}
    values |= wholes.values_of(tx, Asked(wanted.phrases, wanted.unwanted))
    values |= {f"tag_{at}": tag for at, tag in enumerate(tags[: _FEW + 1])}
    values |= {f"symbol_{at}": _pattern(symbol) for at, symbol in enumerate(wanted.symbols)}
    if wanted.before is not None:
        values["before"] = wanted.before
    if wanted.after is not None:
        values["after"] = wanted.after
    if len(tags) > _FEW:
        values |= {"tags": tags, "many": len(tags)}
    if wanted.untagged:
        values["untagged"] = list(dict.fromkeys(map(folded, wanted.untagged)))
    return values


def total(tx: Tx, account: str, wanted: Wanted) -> int:
    """Return how many notes are wanted."""
    shape = shape_of(tx, wanted)
    by_index = told_by_indexes(tx, shape) and (shape.is_searched or shape.tags > 0)
    counted = (_counted_by_index if by_index else _counted)(shape)
    ((number,),) = counted.rows(tx, values_of(tx, account, wanted))
    return int(number)


def told_by_indexes(tx: Tx, shape: Shape) -> bool:
    """Whether a list is what an index finds, less the few notes that `others` names.

    Not where dates count or other tenants' words are in the index. Nothing but notes is indexed
    whole.
    """
    if shape.kind != "sqlite" or shape.is_dated:
        return False
    return not shape.is_searched or is_alone(tx)


def keys(shape: Shape, *, ranked: bool = False, to_count: bool = False) -> Select[*tuple[Any, ...]]:
    """Return the SELECT of all notes that are wanted, with what their order needs.

    Its columns are `number`, `id`, `latest` and, where `ranked`, `rank`: lower is better.
    `to_count`: all are read, not the first ones of an order.
    """
    source: FromClause = notes
    rows: FromClause = notes
    first, met = 0, list[ColumnElement[bool]]()
    found = wholes.matched(shape.kind, shape.words, ranked=ranked) if shape.is_searched else None
    if found is not None:
        source, rows = with_notes(shape, found)
    elif shape.tags:
        (source, rows), first = with_notes(shape, note_tags), 1
        met += _with_any(note_tags, _tag(0))
    columns = [*key_columns(shape, rows), *([found.c.rank] if found is not None and ranked else [])]
    met += of_account(shape, rows, is_narrowed=source is not notes)
    met += on_numbers(shape, rows.c.number, first, many=to_count and source is notes)
    return select(*columns).select_from(source).where(*met)


def with_notes(shape: Shape, found: FromClause, *shown: str) -> tuple[FromClause, FromClause]:
    """Return what was found joined with its rows of notes, and those rows.

    PostgreSQL is made to look each up by its number: while it has no statistics it takes the
    notes of an account for one row, and would go through all of them for each that was found.
    The rows have the columns that choose and order notes, and those that are `shown`.
    """
    if shape.kind == "sqlite":
        return found.join(notes, _c.number == found.c.number), notes
    columns = (_c[name] for name in dict.fromkeys((*_CHOOSING, *shown)))
    by_number = select(*columns).where(_c.number == found.c.number)
    rows = by_number.offset(0).lateral("note_rows")
    return found.join(rows, true()), rows


def key_columns(shape: Shape, rows: FromClause = notes) -> list[Any]:
    """Return the columns of rows of `notes` by which lists are put in order."""
    latest = rows.c.created if shape.is_by_creation else rows.c.modified
    return [rows.c.number, rows.c.id, latest.label("latest")]


def of_account(
    shape: Shape, rows: FromClause = notes, *, is_narrowed: bool
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on the rows of `notes` themselves.

    `is_narrowed`: another index finds the rows, so SQLite must not look for the owner's.
    """
    hides = is_narrowed and shape.kind == "sqlite"
    yield (owner_of(shape.kind, notes) if hides else rows.c.user_id) == OWNER
    yield rows.c.account == _ACCOUNT
    if shape.trash is not None:
        yield rows.c.trash.is_(shape.trash)
    if shape.before:
        yield rows.c.modified < bindparam("before", type_=Double)
    if shape.after:
        yield rows.c.modified > bindparam("after", type_=Double)


def on_numbers(
    shape: Shape, number: ColumnElement[int], first: int = 0, *, many: bool = False
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions that other tables decide, those of tags from `first` on.

    `many`: for all notes, so that it pays to look up first which of them have a tag.
    """
    if shape.tags > _FEW:
        c = (tagged := note_tags.alias()).c
        counted = select(func.count()).where(*_with_any(tagged, _TAGS), c.number == number)
        yield counted.scalar_subquery() == bindparam("many", type_=Integer)
    else:
        for at in range(first, shape.tags):
            yield _has_any(shape, number, _tag(at))
    if shape.untagged:
        without = select(note_tags.c.number).where(*_with_any(note_tags, _UNTAGGED))
        yield number.not_in(without) if many else ~_has_any(shape, number, _UNTAGGED)
    if shape.words.unwanted and not shape.is_searched:
        yield number.not_in(wholes.having(shape.kind))
    for at in range(shape.symbols):
        holds = note_texts.c.content.like(bindparam(f"symbol_{at}", type_=Text), escape=_ESCAPE)
        yield number.in_(select(note_texts.c.number).where(note_texts.c.user_id == OWNER, holds))


def others(shape: Shape) -> Any:  # noqa: ANN401  # a SELECT of numbers
    """Return the caller's notes that are of other accounts, or not of the trash that is meant."""
    mine = select(_c.number).where(_c.user_id == OWNER)
    found = [mine.where(_c.account < _ACCOUNT), mine.where(_c.account > _ACCOUNT)]
    if shape.trash is not None:
        found.append(mine.where(_c.account == _ACCOUNT, _c.trash.is_(not shape.trash)))
    return union_all(*found)


@lru_cache(SHAPES)
def _counted(shape: Shape) -> Prepared:
    every = keys(shape, to_count=True)
    return Prepared(select(func.count()).select_from(every.subquery()))


@lru_cache(SHAPES)
def _counted_by_index(shape: Shape) -> Prepared:
    """Return the count of what an index finds less the few notes that are not of this list."""
    counted = select(func.count())
    if shape.is_searched:
        found = wholes.matched(shape.kind, shape.words, ranked=False)
        number: ColumnElement[int] = literal_column("+matched.number", Integer)
        counted, first = counted.select_from(found), 0
    else:
        number, first = note_tags.c.number, 1
        counted = counted.where(*_with_any(note_tags, _tag(0)))
    mine = number.not_in(others(shape))
    return Prepared(counted.where(mine, *on_numbers(shape, number, first)))


def _tag(at: int) -> BindParameter[str]:
    return bindparam(f"tag_{at}", type_=CodePointString())


def _pattern(symbol: str) -> str:
    """Return what a text that holds the symbol is like."""
    for mark in (_ESCAPE, "%", "_"):
        symbol = symbol.replace(mark, _ESCAPE + mark)
    return f"%{symbol}%"


def _has_any(
    shape: Shape, number: ColumnElement[int], tags: BindParameter[Any]
) -> ColumnElement[bool]:
    """Return that a note has one of the tags, asked for each note: they may be in many."""
    other = note_tags.alias()
    having = select(other.c.tag).where(*_with_any(other, tags), other.c.number == number)
    # An offset keeps PostgreSQL from making a join of it, which it would begin with all that
    # has the tag.
    return exists(having if shape.kind == "sqlite" else having.offset(0))


def _with_any(rows: FromClause, tags: BindParameter[Any]) -> Sequence[ColumnElement[bool]]:
    is_one = rows.c.tag.in_(tags) if tags.expanding else rows.c.tag == tags
    return (rows.c.user_id == OWNER, is_one)
