"""One query: rows proposed by words and by meaning, scored by both and fused into one order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import BindParameter, bindparam, func, or_, select

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, batches
from rolltop.core.db.types import Identifier
from rolltop.core.db.url import DatabaseKind
from rolltop.core.fulltext import postgres_fts, relevance, sqlite_fts
from rolltop.core.fulltext.analyzer import tokenize_lines
from rolltop.core.fulltext.bm25 import (
    MAX_PROPOSED_ROWS,
    Expression,
    TermStatistics,
    choose_expression,
    term_lists,
)
from rolltop.core.fulltext.documents import NO_EMBEDDING, IndexHit, QueryMode
from rolltop.core.fulltext.filters import (
    OWNER,
    QueryFilter,
    QueryShape,
    build_filter,
    filter_clauses,
)
from rolltop.core.fulltext.snippets import snippet
from rolltop.core.fulltext.tables import owner_of, search_items, search_parts, search_texts
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from rolltop.core.fulltext import vector_store
    from rolltop.core.fulltext.vector_cache import VectorQuery

    WordIndex = sqlite_fts.SqliteWordIndex | postgres_fts.PostgresWordIndex
else:  # numpy is needed only with an embedder
    vector_store = lazy("rolltop.core.fulltext.vector_store")

MAX_CANDIDATES: Final = 128
"""Parts that each kind of nearness may propose."""

MAX_READ_PARTS: Final = 32
"""Parts of one thing that are read: its first, and those that were proposed."""

_GROWTH_FACTOR: Final = 8
SEMANTIC_WEIGHT: Final = 0.3
"""What the meaning counts for beside the words; chosen on the tuning sets of the evaluation."""

MIN_COSINE: Final = 0.15
"""A cosine below which meaning alone is no reason to show something."""

_DIGITS: Final = 6  # a sum's last digits depend on the order it was made in
MAX_UNCACHED_PARTS: Final = 2000
"""Parts that are counted at every query, and from which on a word's are remembered."""

_DRIFT_DIVISOR: Final = 50
"""One part in so many may be new before all are counted again."""


_MAX_REMEMBERED_WORDS: Final = 10_000  # words of one tenant
_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)


class PartRow(NamedTuple):
    """A part that was proposed."""

    id: int
    item_id: int
    kind: str
    ref: str
    part: int


@dataclass(frozen=True)
class HybridQuery:
    """A query as it is asked of the store."""

    tx: Tx
    text: str
    query_filter: QueryFilter
    limit: int
    mode: QueryMode
    version: str


def query(  # noqa: PLR0913  # the seam's own parameters
    tx: Tx,
    text: str,
    *,
    kinds: Sequence[str],
    filters: Mapping[str, Sequence[str]],
    limit: int,
    mode: QueryMode = "hybrid",
    vector: vector_store.QueryVector | None = None,
    version: str = NO_EMBEDDING,
) -> list[IndexHit]:
    """Return at most `limit` things that answer `text` best, best first, each by its best part.

    `filters`: a thing must have one of the values of every name; an empty list filters nothing.
    They and the tenant apply before anything is cut. `vector` is the embedding of the query by
    the model `version`, or the future of it, which is awaited when the words have been looked
    up; without it the mode hybrid goes by words and meaning finds nothing.
    Equal scores are ordered by kind, id and part. No text makes it fail.
    """
    if vector is None and mode == "meaning":
        return []
    if tx.kind == "postgresql":
        postgres_fts.force_custom_plan(tx)
    open_to = build_filter(tx, kinds, filters)
    question = HybridQuery(tx, text, open_to, limit, mode, version)
    nearness = None
    if vector is not None and mode != "words":
        few = _filtered_parts(question) if open_to.items is not None else None
        nearness = vector_store.query_vectors(tx, version, vector, few)
    best: list[tuple[HybridCandidate, float]] = []
    for terms in term_lists(text) if mode != "meaning" else [()]:
        best = _search_terms(question, terms, nearness)
        if best:
            break
    texts = _read_texts(tx, [found for found, _score in best])
    return [_hit(question, found, score, texts[found.part.id]) for found, score in best]


def _search_terms(
    question: HybridQuery, words: Sequence[str], nearness: VectorQuery | None
) -> list[tuple[HybridCandidate, float]]:
    """Rank by some words of the query, and by its meaning."""
    limit = question.limit
    terms = relevance.query_forms(words)
    index, statistics = _look_up(question.tx, [form for term in terms for form in term.forms])
    by_words: dict[int, PartRow] = {}
    by_meaning: dict[int, PartRow] = {}
    for wanted in (max(MAX_CANDIDATES, 3 * limit), MAX_PROPOSED_ROWS):
        by_words = _read_rows(question, _search_words(question, index, statistics, wanted))
        if nearness is not None:
            by_meaning = _vector_rows(question, nearness, wanted)
        rows = by_words | by_meaning
        if len(rows) < wanted or len({row.item_id for row in rows.values()}) >= limit:
            break  # otherwise a long text's parts leave no place for other things
    told, near = _first_items(by_words, limit), _first_items(by_meaning, limit)
    parts = _read_parts(question, dict.fromkeys([*told, *near]), by_words | by_meaning)
    texts = {item: [text for _row, text in some] for item, some in parts.items()}
    ranked = relevance.rank(terms, texts, [statistics.idf(*term.forms) for term in terms], told)
    ids = [row.id for some in parts.values() for row, _text in some]
    cosines = nearness.cosines_of(ids) if nearness is not None else {}
    candidates = (
        _candidate([row for row, _text in some], ranked[item], cosines)
        for item, some in parts.items()
    )
    return fuse_scores(candidates, question.mode, limit)


def _first_items(rows: Mapping[int, PartRow], limit: int) -> list[int]:
    """Return the things of the first rows, as many as are ranked."""
    most = max(relevance.MAX_RERANKED, limit)
    return list(dict.fromkeys(row.item_id for row in rows.values()))[:most]


def _candidate(
    rows: Sequence[PartRow], found: relevance.Relevance, cosines: Mapping[int, float]
) -> HybridCandidate:
    """Return a thing by its part that answers best: by its words, else by its meaning."""
    known = {row: cosines[row.id] for row in rows if row.id in cosines}
    best = max(known, key=known.__getitem__) if known and not found.score else rows[found.part]
    cosine = max(known.values(), default=None)
    is_pending = len(known) < len(rows)
    return HybridCandidate(best, found.score, cosine, is_pending)


def _look_up(tx: Tx, terms: Sequence[str]) -> tuple[WordIndex, TermStatistics]:
    """Return where words are looked up, and what is known of them."""
    index = (
        sqlite_fts.SqliteWordIndex(tx)
        if tx.kind == "sqlite"
        else postgres_fts.PostgresWordIndex(tx)
    )
    if not terms:
        return index, TermStatistics(0, 0.0, {})
    known = read_corpus_stats(tx)
    counted = index.occurrences([term for term in terms if term not in known.frequent_words])
    occurrences = {term: counted.get(term, known.frequent_words.get(term, 0)) for term in terms}
    known.remember(counted)
    return index, TermStatistics(known.parts, known.mean_length, occurrences)


def _search_words(
    question: HybridQuery, index: WordIndex, statistics: TermStatistics, wanted: int
) -> list[int]:
    """Return the parts that answer best by their words, of a bounded number that is looked at."""
    if not any(statistics.occurrences.values()):
        return []

    def ask(expression: Expression, *, newest: bool) -> list[int]:
        most = (MAX_PROPOSED_ROWS, wanted)
        return index.propose(expression, statistics, question.query_filter, most, newest=newest)

    count = statistics.estimate_matches
    if isinstance(index, sqlite_fts.SqliteWordIndex):  # PostgreSQL counts for longer than it ranks
        count = index.count
    expression, widest, is_cut = choose_expression(statistics.occurrences, count)
    if question.query_filter.items is not None:  # the filter leaves few: look at all of them
        return ask(widest, newest=True)
    found = ask(expression, newest=is_cut)
    if len(found) >= question.limit or expression == widest:
        return found
    return list(dict.fromkeys([*found, *ask(widest, newest=True)]))


def _vector_rows(question: HybridQuery, nearness: VectorQuery, wanted: int) -> dict[int, PartRow]:
    """Return enough of the nearest parts that the query may find, looking further where few are."""
    found: dict[int, PartRow] = {}
    seen, count = 0, wanted
    while len(found) < question.limit:
        best = nearness.best(count)
        if len(best) == seen:
            break
        found |= _read_rows(question, best[seen:])
        seen, count = len(best), count * _GROWTH_FACTOR
    if seen > 2 * wanted and len(found) < seen // 2 and not question.query_filter.filters:
        vector_store.invalidate_cache(question.tx, question.version)  # most of what is kept is gone
    return found


def _filtered_parts(question: HybridQuery) -> list[int]:
    """Return the parts of the few things that the filters let through."""
    found = _ids_statement(question.query_filter.shape).rows(
        question.tx, question.query_filter.values
    )
    return [number for (number,) in found]


def _read_rows(question: HybridQuery, parts: Sequence[int]) -> dict[int, PartRow]:
    """Return the rows of the parts that the query may find, by their numbers and in their order."""
    allowed = question.query_filter
    statement, values = _rows_statement(allowed.shape), allowed.values
    found: dict[int, PartRow] = {}
    for some in batches(parts):
        rows = statement.rows(question.tx, {**values, "some": list(some)})
        found |= {row[0]: PartRow(*row) for row in rows}
    return {number: found[number] for number in parts if number in found}


def _read_parts(
    question: HybridQuery, items: Collection[int], proposed: Mapping[int, PartRow]
) -> dict[int, list[tuple[PartRow, str]]]:
    """Return the first parts of things, and those that were proposed, each with its words."""
    tx = question.tx
    late = [row.id for row in proposed.values() if row.part >= MAX_READ_PARTS]
    values = {"owner": tx.scope.tenant_id, "proposed": late or [0]}
    found: dict[int, list[tuple[PartRow, str]]] = {item: [] for item in items}
    for some in batches(list(items)):
        for *row, text in _parts_statement(tx.kind).rows(tx, {**values, "some": list(some)}):
            words = text if tx.kind == "sqlite" else tokenize_lines(text)
            part = PartRow(*row)
            found[part.item_id].append((part, words))
    return {item: some for item, some in found.items() if some}


@cache
def _ids_statement(shape: QueryShape) -> CompiledStatement:
    return CompiledStatement(select(search_parts.c.id).where(*filter_clauses(shape)))


_PART_COLUMNS: Final = (
    search_parts.c.id,
    search_parts.c.item_id,
    search_parts.c.kind,
    search_items.c.ref,
    search_parts.c.part,
)


@cache
def _rows_statement(shape: QueryShape) -> CompiledStatement:
    """Read some of the parts, as far as a query may find them."""
    return CompiledStatement(
        select(*_PART_COLUMNS)
        .select_from(search_parts)
        .join(search_items, search_items.c.id == search_parts.c.item_id)
        .where(
            search_parts.c.id.in_(_SOME),
            owner_of(shape.kind, search_items) == OWNER,
            *filter_clauses(shape),
        )
    )


@cache
def _parts_statement(kind: DatabaseKind) -> CompiledStatement:
    """Read the parts of some things with their words, on PostgreSQL with their texts."""
    c, texts = search_parts.c, search_texts.c
    proposed: BindParameter[Any] = bindparam("proposed", expanding=True)
    return CompiledStatement(
        select(*_PART_COLUMNS, texts.words if kind == "sqlite" else texts.text)
        .select_from(search_parts)
        .join(search_items, search_items.c.id == c.item_id)
        .join(search_texts, texts.id == c.id)
        .where(
            c.item_id.in_(_SOME),
            or_(c.part < MAX_READ_PARTS, c.id.in_(proposed)),
            owner_of(kind, search_parts) == OWNER,
            owner_of(kind, search_items) == OWNER,
            owner_of(kind, search_texts) == OWNER,
        )
        .order_by(c.item_id, c.part)
    )


@cache
def _texts_statement(kind: DatabaseKind) -> CompiledStatement:
    texts = search_texts.c
    return CompiledStatement(
        select(texts.id, texts.text).where(
            texts.id.in_(_SOME), owner_of(kind, search_texts) == OWNER
        )
    )


def _read_texts(tx: Tx, candidates: Sequence[HybridCandidate]) -> dict[int, str]:
    if not candidates:
        return {}
    some = [candidate.part.id for candidate in candidates]
    rows = _texts_statement(tx.kind).rows(tx, {"owner": tx.scope.tenant_id, "some": some})
    return {number: text for number, text in rows}  # noqa: C416  # rows of any values


def _hit(question: HybridQuery, found: HybridCandidate, score: float, text: str) -> IndexHit:
    by_meaning = found.cosine is not None and question.mode != "words"
    return IndexHit(
        kind=found.part.kind,
        id=found.part.ref,
        part=found.part.part,
        score=score,
        snippet=snippet(text, question.text),
        words=found.word_score > 0,
        meaning=by_meaning,
        embedding_version=question.version if by_meaning else NO_EMBEDDING,
    )


@dataclass(frozen=True, slots=True)
class HybridCandidate:
    """A thing that may be shown, by its best part: `cosine` is None without a vector.

    `is_pending`: a part of it has none yet.
    """

    part: PartRow
    word_score: float
    cosine: float | None
    is_pending: bool = False

    def score(self, mode: QueryMode) -> float:
        """Return how well it answers, higher is better."""
        meaning = max(self.cosine or 0.0, 0.0)
        if mode == "words":
            return round(self.word_score, _DIGITS)
        if mode == "meaning":
            return round(meaning, _DIGITS)
        both = (self.word_score + SEMANTIC_WEIGHT * meaning) / (1 + SEMANTIC_WEIGHT)
        return round(both, _DIGITS)

    def is_relevant(self, mode: QueryMode) -> bool:
        """Whether there is a reason to show it."""
        by_words = self.word_score > 0 and mode != "meaning"
        return by_words or (mode != "words" and (self.cosine or 0.0) >= MIN_COSINE)


def fuse_scores(
    candidates: Iterable[HybridCandidate], mode: QueryMode, limit: int
) -> list[tuple[HybridCandidate, float]]:
    """Return the best things with their scores, best first; equal ones by kind, id, part.

    Where a thing that the words find has no vector yet, all of those go by their words alone, and
    what only the meaning finds comes after them: nothing is put back for want of a vector.
    """
    answering = [c for c in candidates if c.is_relevant(mode)]
    by_words = [c for c in answering if c.word_score > 0]
    is_lacking = mode == "hybrid" and any(c.is_pending for c in by_words)
    least = min((c.word_score for c in by_words), default=1.0)

    def score(c: HybridCandidate) -> float:
        if not is_lacking:
            return c.score(mode)
        return round(c.word_score or least * max(c.cosine or 0.0, 0.0) / 2, _DIGITS)

    scored = [(c, score(c)) for c in answering]
    scored.sort(key=lambda pair: (-pair[1], *pair[0].part[2:]))  # by kind, ref and part
    return scored[:limit]


@dataclass(frozen=True)
class CorpusStats:
    """A tenant's parts, their mean length in words, and how many parts have a frequent word."""

    newest: int
    parts: int
    mean_length: float
    frequent_words: dict[str, int] = field(default_factory=dict[str, int])

    def remember(self, occurrences: Mapping[str, int]) -> None:
        """Keep what takes long to count: in how many parts words occur that many have."""
        many = {term: number for term, number in occurrences.items() if number > MAX_UNCACHED_PARTS}
        if len(self.frequent_words) + len(many) <= _MAX_REMEMBERED_WORDS:
            self.frequent_words.update(many)


_c: Final = search_parts.c
_OWNER_CLAUSE: Final = _c.user_id == bindparam("owner", type_=Identifier)
_NEWEST: Final = CompiledStatement(select(func.coalesce(func.max(_c.id), 0)).where(_OWNER_CLAUSE))
_TOTALS: Final = CompiledStatement(
    select(func.count(), func.coalesce(func.sum(_c.length), 0)).where(_OWNER_CLAUSE)
)


class _StatsByTenant(dict[str, CorpusStats]):
    """What was counted last of each tenant of a database."""


def read_corpus_stats(tx: Tx) -> CorpusStats:
    """Return how much the tenant has.

    Of a large index it may be what was true a fiftieth of its parts ago.
    """
    known = tx.service(_StatsByTenant)
    mine = {"owner": tx.scope.tenant_id}
    ((newest,),) = _NEWEST.rows(tx, mine)
    last = known.get(tx.scope.tenant_id)
    if (
        last
        and last.parts > MAX_UNCACHED_PARTS
        and 0 <= newest - last.newest <= last.parts // _DRIFT_DIVISOR
    ):
        return last
    ((parts, total),) = _TOTALS.rows(tx, mine)
    known[tx.scope.tenant_id] = CorpusStats(newest, parts, int(total) / parts if parts else 0.0)
    return known[tx.scope.tenant_id]
