"""Which notes a list is of, and how many they are.

How many is asked of the indexes where they can tell: they count ten times as fast as the notes'
own rows are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Integer, exists, func, literal_column, select, union_all

from rolltop.core.search import wholes
from rolltop.core.search.conditions import is_alone
from rolltop.core.search.phrases import Asked
from rolltop.core.search.tables import owner_of
from rolltop.toolsets.notes.store.tables import note_tags, note_texts, notes
from rolltop.toolsets.notes.store.writing import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, FromClause, Select

    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Wanted

_c: Final = notes.c
_FEW: Final = 4
"""Tags up to which each is a condition of its own: the faster way, while they are few."""


def total(tx: Tx, account: str, wanted: Wanted) -> int:
    """Return how many notes are wanted."""
    counted = _of_indexes(tx, account, wanted)
    if counted is None:
        every = keys(tx, account, wanted, to_count=True)
        counted = select(func.count()).select_from(every.subquery())
    return int(tx.execute(counted).scalar_one())


def keys(
    tx: Tx, account: str, wanted: Wanted, *, ranked: bool = False, to_count: bool = False
) -> Select[*tuple[Any, ...]]:
    """Return the SELECT of all notes that are wanted, with what their order needs.

    Its columns are `number`, `id`, `latest` and, where `ranked`, `rank`: lower is better.
    `to_count`: all are read, not the first ones of an order.
    """
    columns, tags = key_columns(wanted), wanted.tags
    source: FromClause = notes
    met: list[ColumnElement[bool]] = []
    if wanted.phrases:
        found = wholes.matched(tx, asked(wanted), ranked=ranked)
        source = found.join(notes, _c.number == found.c.number)
        columns += [found.c.rank] if ranked else []
    elif tags:
        source = note_tags.join(notes, _c.number == note_tags.c.number)
        met += _with_any(tx, note_tags, [folded(tags[0])])
        tags = tags[1:]
    met += of_account(tx, account, wanted, is_narrowed=source is not notes)
    met += _on_numbers(tx, wanted, _c.number, tags, many=to_count and source is notes)
    return select(*columns).select_from(source).where(*met)


def key_columns(wanted: Wanted) -> list[Any]:
    """Return the columns of `notes` by which lists are put in order."""
    latest = _c.created if wanted.sort == "created" else _c.modified
    return [_c.number, _c.id, latest.label("latest")]


def asked(wanted: Wanted) -> Asked:
    """Return the words of what is wanted."""
    return Asked(wanted.phrases, wanted.unwanted)


def of_account(
    tx: Tx, account: str, wanted: Wanted, *, is_narrowed: bool
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on the rows of `notes` themselves.

    `is_narrowed`: another index finds the rows, so SQLite must not look for the owner's.
    """
    yield (owner_of(tx.kind, notes) if is_narrowed else _c.user_id) == tx.scope.user_id
    yield _c.account == account
    if wanted.trash is not None:
        yield _c.trash.is_(wanted.trash)
    if wanted.before is not None:
        yield _c.modified < wanted.before
    if wanted.after is not None:
        yield _c.modified > wanted.after


def _on_numbers(
    tx: Tx, wanted: Wanted, number: ColumnElement[int], tags: tuple[str, ...], *, many: bool
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions that other tables decide, and these tags.

    `many`: for all notes, so that it pays to look up first which of them have a tag.
    """
    sought = tuple(dict.fromkeys(map(folded, tags)))
    if len(sought) > _FEW:
        c = (tagged := note_tags.alias()).c
        counted = select(func.count()).where(*_with_any(tx, tagged, sought), c.number == number)
        yield counted.scalar_subquery() == len(sought)
    else:
        for tag in sought:
            yield _has_any(tx, number, [tag])
    if wanted.untagged:
        without = tuple(map(folded, wanted.untagged))
        yield number.not_in(_having(tx, without)) if many else ~_has_any(tx, number, without)
    if wanted.unwanted and not wanted.phrases:
        yield number.not_in(wholes.having(tx, wanted.unwanted))
    for symbol in wanted.symbols:
        yield number.in_(_holding(tx, symbol))


def _of_indexes(tx: Tx, account: str, wanted: Wanted) -> Select[int] | None:
    """Return the count of what an index finds less the few notes that are not of this list.

    None where that is not right, since dates count or other tenants' words are in the index, or
    not faster. Nothing but notes is indexed whole.
    """
    if tx.kind != "sqlite" or wanted.before is not None or wanted.after is not None:
        return None
    counted = select(func.count())
    if wanted.phrases:
        if not is_alone(tx):
            return None
        found = wholes.matched(tx, asked(wanted), ranked=False)
        number: ColumnElement[int] = literal_column("+matched.number", Integer)
        counted, tags = counted.select_from(found), wanted.tags
    elif wanted.tags:
        number, tags = note_tags.c.number, wanted.tags[1:]
        counted = counted.where(*_with_any(tx, note_tags, [folded(wanted.tags[0])]))
    else:
        return None
    others = number.not_in(_others(tx, account, wanted))
    return counted.where(others, *_on_numbers(tx, wanted, number, tags, many=False))


def _others(tx: Tx, account: str, wanted: Wanted) -> Any:  # noqa: ANN401  # a SELECT of numbers
    """Return the caller's notes that are of other accounts, or not of the trash that is meant."""
    mine = select(_c.number).where(_c.user_id == tx.scope.user_id)
    others = [mine.where(_c.account < account), mine.where(_c.account > account)]
    if wanted.trash is not None:
        others.append(mine.where(_c.account == account, _c.trash.is_(not wanted.trash)))
    return union_all(*others)


def _holding(tx: Tx, symbol: str) -> Any:  # noqa: ANN401  # a SELECT of numbers
    return select(note_texts.c.number).where(
        note_texts.c.user_id == tx.scope.user_id,
        note_texts.c.content.contains(symbol, autoescape=True),
    )


def _having(tx: Tx, tags: Sequence[str]) -> Any:  # noqa: ANN401  # as above
    return select(note_tags.c.number).where(*_with_any(tx, note_tags, tags))


def _has_any(tx: Tx, number: ColumnElement[int], tags: Sequence[str]) -> ColumnElement[bool]:
    """Return that a note has one of the tags, asked for each note: they may be in many."""
    other = note_tags.alias()
    return exists(select(other.c.tag).where(*_with_any(tx, other, tags), other.c.number == number))


def _with_any(tx: Tx, rows: FromClause, tags: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    is_one = rows.c.tag == tags[0] if len(tags) == 1 else rows.c.tag.in_(tags)
    return (rows.c.user_id == tx.scope.user_id, is_one)
