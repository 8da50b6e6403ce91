"""Lists of notes: how many match, and one page of them at a time.

Counts and ranks come from the search index alone if it covers the filters: it counts ten times as
fast as rows of notes are read. Statements are compiled once for each shape of a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement
from rolltop.core.db.types import CodePointString
from rolltop.core.db.url import DatabaseKind
from rolltop.core.fulltext import document_index, relevance
from rolltop.core.fulltext.analyzer import tokenize_lines
from rolltop.core.fulltext.filters import OWNER, is_only_tenant
from rolltop.core.fulltext.tables import owner_of, search_wholes
from rolltop.toolsets.notes.models import MAX_PREVIEW_LENGTH, NoteFilters, NoteSummary
from rolltop.toolsets.notes.store.notebooks import Notebook, fold_tag
from rolltop.toolsets.notes.store.tables import note_tags, note_texts, notes

Row = tuple[Any, ...]

_MAX_SHAPES: Final = 256
# Up to so many tags, a condition for each is faster than one that counts them.
_MAX_TAG_CONDITIONS: Final = 4
# A scan of the newest notes reads so many times the notes expected to hold a page.
_SCAN_MARGIN: Final = 2
# Notes scanned in the time of sorting one.
SCAN_COST: Final = 1
# Rows of the index listed in the time of asking it about one note.
INDEX_ROWS_PER_LOOKUP: Final = 300
_WORST_RANK: Final = 1.0
# Characters of a note that its rank is made of: a longer one would cost all searches time.
_MAX_RANKED_TEXT: Final = 120_000
_ESCAPE: Final = "/"
_c: Final = notes.c
_FILTER_COLUMNS: Final = ("number", "id", "user_id", "account", "trash", "modified", "created")
_LISTED_COLUMNS: Final = ("id", "local_version", "title", "tags", "modified", "trash", "sync_state")
_ACCOUNT: Final = bindparam("in_account", type_=CodePointString())
_TAGS: Final[BindParameter[Any]] = bindparam("tags", expanding=True, type_=CodePointString())
_UNTAGGED: Final[BindParameter[Any]] = bindparam(
    "untagged", expanding=True, type_=CodePointString()
)
_FIRST: Final = bindparam("first", type_=Double)
_SECOND: Final = bindparam("second", type_=Double)
_AFTER_ID: Final = bindparam("after_id", type_=CodePointString())


class NoteSortKey(NamedTuple):
    """The position in a list after the note with this key and id."""

    first: float
    second: float
    id: str


class PageSpec(NamedTuple):
    """Which notes of a list to read: `limit` of them, after a key or after `offset` others."""

    limit: int
    after: NoteSortKey | None = None
    offset: int = 0
    with_head: bool = False


class _FilterShape(NamedTuple):
    """What the statements of a list depend on."""

    kind: DatabaseKind
    is_by_creation: bool
    trash: bool | None
    before: bool
    after: bool
    terms: document_index.PhraseShape
    tags: int
    untagged: bool
    symbols: int

    @property
    def has_terms(self) -> bool:
        return self.terms.required > 0 or self.terms.any_of > 0


class _PageShape(NamedTuple):
    """What the statements of a page depend on besides."""

    is_ranked: bool
    continues: bool
    with_head: bool


def count_matching(notebook: Notebook, filters: NoteFilters) -> int:
    """Count the notes that match."""
    shape = _shape_of(notebook.tx, filters)
    by_index = _is_covered_by_indexes(notebook.tx, shape) and (shape.has_terms or shape.tags > 0)
    statement = (_index_count_statement if by_index else _count_statement)(shape)
    ((number,),) = statement.rows(notebook.tx, _filter_values(notebook, filters))
    return int(number)


def read_page(
    notebook: Notebook, filters: NoteFilters, page: PageSpec, total: int
) -> list[NoteSummary]:
    """Read a page, in order; `total` notes match in all.

    The page is selected by what the order needs; only its own notes are then read.
    """
    tx = notebook.tx
    shape = _shape_of(tx, filters)
    view = _PageShape(filters.sort == "rank", page.after is not None, page.with_head)
    values = _filter_values(notebook, filters) | _page_values(page)
    rows = None if view.is_ranked else _scan_newest(tx, shape, view, values, total)
    if rows is None:
        by_index = view.is_ranked and _is_covered_by_indexes(tx, shape)
        rows = (_ranked_statement if by_index else _full_statement)(shape, view).rows(tx, values)
    return [_note_summary(row, view) for row in rows]


def follow_rank(notebook: Notebook, filters: NoteFilters, place: NoteSortKey) -> NoteSortKey:
    """Return where a note's place in a search by rank is now: every write moves all ranks.

    That of a note that was changed itself stays where it was.
    """
    shape = _shape_of(notebook.tx, filters)
    values = _filter_values(notebook, filters) | {"second": place.second, "after_id": place.id}
    rows = _rank_statement(shape).rows(notebook.tx, values) if shape.has_terms else ()
    return place._replace(first=rows[0][0]) if rows else place


@lru_cache(_MAX_SHAPES)
def _rank_statement(shape: _FilterShape) -> CompiledStatement:
    found = document_index.matching_texts(shape.kind, shape.terms, ranked=True)
    mine = (_c.user_id == OWNER, _c.account == _ACCOUNT)
    number = select(_c.number).where(*mine, _c.id == _AFTER_ID, _c.modified == _SECOND)
    return CompiledStatement(select(found.c.rank).where(found.c.number == number.scalar_subquery()))


def read_words(notebook: Notebook, ids: Sequence[str]) -> dict[str, str]:
    """Read the words of notes, line by line, as the ranking takes them; of long ones the first."""
    tx = notebook.tx
    values = {"owner": tx.scope.user_id, "in_account": notebook.account, "some": list(ids)}
    rows = _words_statement(tx.kind).rows(tx, values)
    return {one: text if tx.kind == "sqlite" else tokenize_lines(text) for one, text in rows}


def count_some(notebook: Notebook) -> int:
    """Count the account's notes as far as the ranking wants to know."""
    values = {"owner": notebook.tx.scope.user_id, "in_account": notebook.account}
    ((number,),) = _COUNT_SOME.rows(notebook.tx, values)
    return int(number)


_COUNT_SOME: Final = CompiledStatement(
    select(func.count()).select_from(
        select(_c.number)
        .where(_c.user_id == OWNER, _c.account == _ACCOUNT)
        .limit(relevance.MAX_COUNTED)
        .subquery()
    )
)


@lru_cache(2)
def _words_statement(kind: DatabaseKind) -> CompiledStatement:
    """Read the words that SQLite's index keeps; PostgreSQL's lacks the lines."""
    if kind == "sqlite":
        text, number = search_wholes.c.words, search_wholes.c.id
    else:
        text, number = note_texts.c.content, note_texts.c.number
    some: BindParameter[Any] = bindparam("some", expanding=True, type_=CodePointString())
    return CompiledStatement(
        select(_c.id, func.substr(text, 1, _MAX_RANKED_TEXT))
        .select_from(notes.join(number.table, number == _c.number))
        .where(
            _c.user_id == OWNER,
            owner_of(kind, number.table) == OWNER,
            _c.account == _ACCOUNT,
            _c.id.in_(some),
        )
    )


def _shape_of(tx: Tx, filters: NoteFilters) -> _FilterShape:
    return _FilterShape(
        kind=tx.kind,
        is_by_creation=filters.sort == "created",
        trash=filters.trash,
        before=filters.before is not None,
        after=filters.after is not None,
        terms=document_index.shape_of(tx.kind, filters.phrases),
        tags=min(len(set(map(fold_tag, filters.tags))), _MAX_TAG_CONDITIONS + 1),
        untagged=bool(filters.untagged),
        symbols=len(filters.symbols),
    )


def _filter_values(notebook: Notebook, filters: NoteFilters) -> dict[str, Any]:
    tags = list(dict.fromkeys(map(fold_tag, filters.tags)))
    values: dict[str, Any] = {"owner": notebook.tx.scope.user_id, "in_account": notebook.account}
    values |= document_index.values_of(notebook.tx, filters.phrases)
    values |= {f"tag_{at}": tag for at, tag in enumerate(tags[: _MAX_TAG_CONDITIONS + 1])}
    values |= {f"symbol_{at}": _like_pattern(symbol) for at, symbol in enumerate(filters.symbols)}
    if filters.before is not None:
        values["before"] = filters.before
    if filters.after is not None:
        values["after"] = filters.after
    if len(tags) > _MAX_TAG_CONDITIONS:
        values |= {"tags": tags, "many": len(tags)}
    if filters.untagged:
        values["untagged"] = list(dict.fromkeys(map(fold_tag, filters.untagged)))
    return values


def _page_values(page: PageSpec) -> dict[str, Any]:
    values: dict[str, Any] = {"most": page.limit, "skipped": page.offset}
    values["last"] = page.offset + page.limit - 1
    if page.after is not None:
        key = page.after
        values |= {"first": key.first, "second": key.second, "after_id": key.id}
    return values


def _is_covered_by_indexes(tx: Tx, shape: _FilterShape) -> bool:
    """Whether the search index finds the list, less the notes of `_excluded_notes`.

    Not if dates are bounded, or if other tenants' notes are in the index.
    """
    if shape.kind != "sqlite" or shape.before or shape.after:
        return False
    return not shape.has_terms or is_only_tenant(tx)


def _scan_newest(
    tx: Tx, shape: _FilterShape, view: _PageShape, values: dict[str, Any], total: int
) -> Sequence[Row] | None:
    """Find a page among the next notes of the account; None if they hold too few.

    If many notes match, that is faster than sorting all of them.
    """
    if shape.kind != "sqlite" or not (shape.has_terms or shape.tags):
        return None
    expected = document_index.last_number(tx) * (values["last"] + 1) // total
    scanned = _SCAN_MARGIN * expected
    if scanned > SCAN_COST * total:
        return None
    asks_index = expected * INDEX_ROWS_PER_LOOKUP < total
    statement = _scan_statement(shape, view, asks_index=asks_index)
    rows = statement.rows(tx, {**values, "scanned": scanned})
    return rows if len(rows) == values["most"] else None


@lru_cache(_MAX_SHAPES)
def _scan_statement(
    shape: _FilterShape, view: _PageShape, *, asks_index: bool
) -> CompiledStatement:
    """Read a page from among the next `scanned` notes.

    `asks_index` looks each of them up in the index; otherwise all matches are listed first.
    """
    following = select(*_key_columns(shape)).where(*_account_conditions(shape, is_narrowed=False))
    near = _first_keys(following.subquery(), view, bindparam("scanned", type_=Integer)).subquery()
    met = list(_related_conditions(shape, near.c.number))
    if shape.has_terms:
        listed = near.c.number.in_(document_index.matching_numbers())
        met.append(document_index.matches(near.c.number) if asks_index else listed)
    keys = select(near).where(*met).subquery()
    page = _select_page(keys, view._replace(continues=False))
    return CompiledStatement(_select_rows(shape, view, page))


@lru_cache(_MAX_SHAPES)
def _full_statement(shape: _FilterShape, view: _PageShape) -> CompiledStatement:
    keys = _select_keys(shape, ranked=view.is_ranked)
    if view.is_ranked and shape.kind == "sqlite":
        keys = keys.limit(-1)  # else SQLite computes the rank wherever it is named
    return CompiledStatement(_select_rows(shape, view, _select_page(keys.subquery(), view)))


@lru_cache(_MAX_SHAPES)
def _ranked_statement(shape: _FilterShape, view: _PageShape) -> CompiledStatement:
    """Read a page of the best matches, looking only at the notes with the ranks of the page."""
    matched = document_index.matching_texts(shape.kind, shape.terms, ranked=True)
    number = matched.c.number
    met = (number.not_in(_excluded_notes(shape)), *_related_conditions(shape, number))
    ranks = select(number, matched.c.rank).where(*met).limit(-1)  # as above
    found = ranks.cte("found").prefix_with("MATERIALIZED")
    later = select(found.c.rank).order_by(found.c.rank).limit(1)
    if view.continues:
        later = later.where(found.c.rank > _FIRST)
    last = later.offset(bindparam("last", type_=BigInteger)).scalar_subquery()
    best = (
        select(*_key_columns(shape), found.c.rank)
        .select_from(found.join(notes, _c.number == found.c.number))
        .where(
            found.c.rank <= func.coalesce(last, _WORST_RANK),
            *_account_conditions(shape, is_narrowed=True),
        )
    )
    return CompiledStatement(_select_rows(shape, view, _select_page(best.subquery(), view)))


@lru_cache(_MAX_SHAPES)
def _count_statement(shape: _FilterShape) -> CompiledStatement:
    every = _select_keys(shape, to_count=True)
    return CompiledStatement(select(func.count()).select_from(every.subquery()))


@lru_cache(_MAX_SHAPES)
def _index_count_statement(shape: _FilterShape) -> CompiledStatement:
    """Count what an index finds, less the few notes that are not of this list."""
    counted = select(func.count())
    if shape.has_terms:
        found = document_index.matching_texts(shape.kind, shape.terms, ranked=False)
        number: ColumnElement[int] = literal_column("+matched.number", Integer)
        counted, first = counted.select_from(found), 0
    else:
        number, first = note_tags.c.number, 1
        counted = counted.where(*_tag_conditions(note_tags, _tag_parameter(0)))
    mine = number.not_in(_excluded_notes(shape))
    return CompiledStatement(counted.where(mine, *_related_conditions(shape, number, first)))


def _select_keys(
    shape: _FilterShape, *, ranked: bool = False, to_count: bool = False
) -> Select[*tuple[Any, ...]]:
    """Select `number`, `id`, `latest` and, if `ranked`, `rank` (lower is better) of all matches.

    `to_count`: all of them are read, not only the first of an order.
    """
    source: FromClause = notes
    rows: FromClause = notes
    first, met = 0, list[ColumnElement[bool]]()
    found = None
    if shape.has_terms:
        found = document_index.matching_texts(shape.kind, shape.terms, ranked=ranked)
        source, rows = _join_notes(shape, found)
    elif shape.tags:
        (source, rows), first = _join_notes(shape, note_tags), 1
        met += _tag_conditions(note_tags, _tag_parameter(0))
    columns = [
        *_key_columns(shape, rows),
        *([found.c.rank] if found is not None and ranked else []),
    ]
    met += _account_conditions(shape, rows, is_narrowed=source is not notes)
    met += _related_conditions(shape, rows.c.number, first, many=to_count and source is notes)
    return select(*columns).select_from(source).where(*met)


def _join_notes(
    shape: _FilterShape, found: FromClause, *shown: str
) -> tuple[FromClause, FromClause]:
    """Join what was found with its notes; return the join, and the rows of the notes in it.

    PostgreSQL is forced to look each note up by its number: without statistics it takes the notes
    of an account for one row, and would read all of them for each match.
    """
    if shape.kind == "sqlite":
        return found.join(notes, _c.number == found.c.number), notes
    columns = (_c[name] for name in dict.fromkeys((*_FILTER_COLUMNS, *shown)))
    by_number = select(*columns).where(_c.number == found.c.number)
    rows = by_number.offset(0).lateral("note_rows")
    return found.join(rows, true()), rows


def _key_columns(shape: _FilterShape, rows: FromClause = notes) -> list[Any]:
    latest = rows.c.created if shape.is_by_creation else rows.c.modified
    return [rows.c.number, rows.c.id, latest.label("latest")]


def _account_conditions(
    shape: _FilterShape, rows: FromClause = notes, *, is_narrowed: bool
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on the rows of `notes` themselves.

    `is_narrowed`: another index finds the rows, so SQLite must not use the owner's.
    """
    hides_owner = is_narrowed and shape.kind == "sqlite"
    yield (owner_of(shape.kind, notes) if hides_owner else rows.c.user_id) == OWNER
    yield rows.c.account == _ACCOUNT
    if shape.trash is not None:
        yield rows.c.trash.is_(shape.trash)
    if shape.before:
        yield rows.c.modified < bindparam("before", type_=Double)
    if shape.after:
        yield rows.c.modified > bindparam("after", type_=Double)


def _related_conditions(
    shape: _FilterShape, number: ColumnElement[int], first: int = 0, *, many: bool = False
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on other tables, those on tags from `first` on.

    `many`: all notes are tested, so it pays to list those with an excluded tag first.
    """
    if shape.tags > _MAX_TAG_CONDITIONS:
        c = (tagged := note_tags.alias()).c
        counted = select(func.count()).where(*_tag_conditions(tagged, _TAGS), c.number == number)
        yield counted.scalar_subquery() == bindparam("many", type_=Integer)
    else:
        for at in range(first, shape.tags):
            yield _has_any_tag(shape, number, _tag_parameter(at))
    if shape.untagged:
        without = select(note_tags.c.number).where(*_tag_conditions(note_tags, _UNTAGGED))
        yield number.not_in(without) if many else ~_has_any_tag(shape, number, _UNTAGGED)
    if shape.terms.excluded and not shape.has_terms:
        yield number.not_in(document_index.excluded_numbers(shape.kind))
    for at in range(shape.symbols):
        holds = note_texts.c.content.like(bindparam(f"symbol_{at}", type_=Text), escape=_ESCAPE)
        yield number.in_(select(note_texts.c.number).where(note_texts.c.user_id == OWNER, holds))


def _excluded_notes(shape: _FilterShape) -> Any:  # noqa: ANN401  # a SELECT of numbers
    """Select the caller's notes of other accounts, and those on the wrong side of the trash."""
    mine = select(_c.number).where(_c.user_id == OWNER)
    found = [mine.where(_c.account < _ACCOUNT), mine.where(_c.account > _ACCOUNT)]
    if shape.trash is not None:
        found.append(mine.where(_c.account == _ACCOUNT, _c.trash.is_(not shape.trash)))
    return union_all(*found)


def _has_any_tag(
    shape: _FilterShape, number: ColumnElement[int], tags: BindParameter[Any]
) -> ColumnElement[bool]:
    other = note_tags.alias()
    having = select(other.c.tag).where(*_tag_conditions(other, tags), other.c.number == number)
    # An offset keeps PostgreSQL from making a join that starts with all notes of the tag.
    return exists(having if shape.kind == "sqlite" else having.offset(0))


def _tag_conditions(rows: FromClause, tags: BindParameter[Any]) -> Sequence[ColumnElement[bool]]:
    is_one = rows.c.tag.in_(tags) if tags.expanding else rows.c.tag == tags
    return (rows.c.user_id == OWNER, is_one)


def _tag_parameter(at: int) -> BindParameter[str]:
    return bindparam(f"tag_{at}", type_=CodePointString())


def _like_pattern(symbol: str) -> str:
    for wildcard in (_ESCAPE, "%", "_"):
        symbol = symbol.replace(wildcard, _ESCAPE + wildcard)
    return f"%{symbol}%"


def _select_page(keys: Any, view: _PageShape) -> Any:  # noqa: ANN401  # tables of keys
    skipped = bindparam("skipped", type_=BigInteger)
    return _first_keys(keys, view, bindparam("most", type_=Integer)).offset(skipped).subquery()


def _first_keys(keys: Any, view: _PageShape, most: Any) -> Any:  # noqa: ANN401  # as above
    statement = select(keys)
    if view.continues:
        statement = statement.where(_after_condition(keys.c, is_ranked=view.is_ranked))
    return statement.order_by(*_ordering(keys.c)).limit(most)


def _after_condition(columns: Any, *, is_ranked: bool) -> ColumnElement[bool]:  # noqa: ANN401  # as above
    # The first comparison of each is one that an index can use.
    moment = _SECOND if is_ranked else _FIRST
    later = and_(columns.latest <= moment, or_(columns.latest < moment, columns.id > _AFTER_ID))
    if not is_ranked:
        return later
    return and_(columns.rank >= _FIRST, or_(columns.rank > _FIRST, later))


def _ordering(columns: Any) -> list[Any]:  # noqa: ANN401  # the columns of a table of keys
    ranked = [columns.rank.asc()] if "rank" in columns else []
    return [*ranked, columns.latest.desc(), columns.id.asc()]


def _select_rows(shape: _FilterShape, view: _PageShape, keys: Any) -> Any:  # noqa: ANN401  # as above, a SELECT
    """Select what is shown of the notes of a page, in order."""
    joined, rows = _join_notes(shape, keys, *_LISTED_COLUMNS)
    key = [keys.c.rank, keys.c.latest] if view.is_ranked else [keys.c.latest]
    head = [_text_head(rows)] if view.with_head else []
    owner = owner_of(shape.kind, notes) if rows is notes else rows.c.user_id
    return (
        select(*(rows.c[name] for name in _LISTED_COLUMNS), *head, *key)
        .select_from(joined)
        .where(owner == OWNER)
        .order_by(*_ordering(keys.c))
    )


def _text_head(rows: Any) -> Any:  # noqa: ANN401  # rows of notes, a column
    head = select(func.substr(note_texts.c.content, 1, MAX_PREVIEW_LENGTH + 1)).where(
        note_texts.c.user_id == OWNER, note_texts.c.number == rows.c.number
    )
    return head.correlate(rows).scalar_subquery().label("head")


def _note_summary(row: Row, view: _PageShape) -> NoteSummary:
    note_id, version, title, tags, modified, trash, state, *rest = row
    return NoteSummary(
        id=note_id,
        local_version=version,
        title=title,
        tags=tuple(tags),
        modified=modified,
        trash=trash,
        sync_state=state,
        head=rest[0] if view.with_head else None,
        key=(rest[-2], rest[-1]) if view.is_ranked else (rest[-1], 0.0),
    )


def titles(notebook: Notebook, note_ids: Sequence[str]) -> list[tuple[str, str]]:
    """List id and title of those of the notes that exist, in the trash too."""
    return _titles(notebook, notes.c.id.in_(note_ids))


def conflict_titles(notebook: Notebook, tag: str, limit: int) -> list[tuple[str, str]]:
    """List id and title of notes that the backend refused, or with a tag, last modified first.

    Notes in the trash are left out.
    """
    tagged = select(note_tags.c.number).where(
        note_tags.c.user_id == notebook.tx.scope.user_id, note_tags.c.tag == tag
    )
    is_open = (notes.c.sync_state == "conflict") | notes.c.number.in_(tagged)
    return _titles(notebook, is_open, notes.c.trash.is_(False), limit=limit)


def _titles(
    notebook: Notebook, *conditions: ColumnElement[bool], limit: int | None = None
) -> list[tuple[str, str]]:
    mine = (notes.c.user_id == notebook.tx.scope.user_id, notes.c.account == notebook.account)
    found = select(notes.c.id, notes.c.title).where(*mine, *conditions)
    rows = notebook.tx.execute(found.order_by(notes.c.modified.desc(), notes.c.id).limit(limit))
    return [(row.id, row.title) for row in rows]
