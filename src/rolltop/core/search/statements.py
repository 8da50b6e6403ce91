"""The statements of the index's writes, made once. Each names the tenant, `:owner`.

They are about `one` thing or part, `:it`, or about several, `:some`: with a list SQLAlchemy takes
half as long again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, bindparam, delete, insert, literal, select, update

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.core.db.upsert import insert as upsert
from rolltop.core.search.tables import (
    WORDS_TABLE,
    owner_of,
    search_filters,
    search_items,
    search_parts,
    search_texts,
    search_words,
)

if TYPE_CHECKING:
    from sqlalchemy import BindParameter, ColumnElement

    from rolltop.core.db.address import Kind

_OWNER: Final = bindparam("owner", type_=Identifier)
_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)
_IT: Final[BindParameter[Any]] = bindparam("it")

PART_COLUMNS: Final = ("user_id", "item_id", "kind", "part", "digest", "length")

_OF_KIND: Final = (
    search_items.c.user_id == _OWNER,
    search_items.c.kind == bindparam("kind", type_=CodePointString()),
)
ADD_FILTERS: Final = Prepared(insert(search_filters))
ADD_PARTS: Final = Prepared(
    insert(search_parts).returning(search_parts.c.id, search_parts.c.item_id, search_parts.c.part)
)
ADD_TEXTS: Final = Prepared(insert(search_texts))
ADD_WORDS: Final = Prepared(insert(search_words))
DELETE_ALL: Final = Prepared(delete(search_items).where(search_items.c.user_id == _OWNER))


def _unindexed(*conditions: ColumnElement[bool]) -> Prepared:
    """Return what takes words of parts that are about to go out of SQLite's index."""
    gone = (
        select(literal("delete"), search_texts.c.id, search_texts.c.words)
        .join(search_parts, search_parts.c.id == search_texts.c.id)
        .where(*conditions)
    )
    return Prepared(insert(search_words).from_select([WORDS_TABLE, "rowid", "words"], gone))


_OWN_PARTS: Final = (
    owner_of("sqlite", search_parts) == _OWNER,
    owner_of("sqlite", search_texts) == _OWNER,
)
UNINDEX_ALL: Final = _unindexed(
    search_parts.c.user_id == _OWNER, owner_of("sqlite", search_texts) == _OWNER
)


def _among(values: ColumnElement[Any], *, one: bool) -> ColumnElement[bool]:
    return values == _IT if one else values.in_(_SOME)


@cache
def items(*, one: bool) -> Prepared:
    """Return what reads the numbers of things."""
    c = search_items.c
    return Prepared(select(c.id).where(*_OF_KIND, _among(c.ref, one=one)))


@cache
def unindex_items(*, one: bool) -> Prepared:
    """Return what takes the words of things that are about to go out of SQLite's index."""
    return _unindexed(*_OWN_PARTS, _among(search_parts.c.item_id, one=one))


@cache
def unindex_parts(*, one: bool) -> Prepared:
    """Return what takes the words of parts that are about to go out of SQLite's index."""
    return _unindexed(*_OWN_PARTS, _among(search_parts.c.id, one=one))


@cache
def add_items(kind: Kind) -> Prepared:
    """Return what gives things numbers, and answers those it gave: others have theirs."""
    added = upsert(kind, search_items).on_conflict_do_nothing()
    return Prepared(added.returning(search_items.c.id, search_items.c.kind, search_items.c.ref))


@cache
def delete_items(kind: Kind, *, one: bool) -> Prepared:
    """Return what deletes things, with all that belongs to them."""
    return Prepared(
        delete(search_items).where(
            owner_of(kind, search_items) == _OWNER, _among(search_items.c.id, one=one)
        )
    )


@cache
def stored_filters(kind: Kind, *, one: bool) -> Prepared:
    """Return what reads the filters of things."""
    f = search_filters.c
    return Prepared(
        select(f.item_id, f.name, f.value).where(
            owner_of(kind, search_filters) == _OWNER, _among(f.item_id, one=one)
        )
    )


@cache
def delete_filters(kind: Kind) -> Prepared:
    """Return what deletes one filter."""
    f = search_filters.c
    return Prepared(
        delete(search_filters).where(
            owner_of(kind, search_filters) == _OWNER,
            f.item_id == bindparam("gone_item"),
            f.name == bindparam("gone_name"),
            f.value == bindparam("gone_value"),
        )
    )


@cache
def stored_parts(kind: Kind, *, one: bool) -> Prepared:
    """Return what reads the numbers of things and their parts, without texts, the last first."""
    c = search_parts.c
    return Prepared(
        select(search_items.c.ref, search_items.c.id, c.digest, c.id.label("part_id"), c.part)
        .select_from(search_items)
        .outerjoin(
            search_parts,
            and_(c.item_id == search_items.c.id, owner_of(kind, search_parts) == _OWNER),
        )
        .where(*_OF_KIND, _among(search_items.c.ref, one=one))
        .order_by(c.part.desc(), c.id.desc())
    )


@cache
def delete_parts(kind: Kind, *, one: bool) -> Prepared:
    """Return what deletes parts, with their texts and vectors."""
    return Prepared(
        delete(search_parts).where(
            owner_of(kind, search_parts) == _OWNER, _among(search_parts.c.id, one=one)
        )
    )


@cache
def move_parts(kind: Kind) -> Prepared:
    """Return what gives one part another place."""
    return Prepared(
        update(search_parts)
        .where(owner_of(kind, search_parts) == _OWNER, search_parts.c.id == bindparam("moved"))
        .values(part=bindparam("moved_part"))
    )
