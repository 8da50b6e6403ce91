"""One query: rows proposed by words and by meaning, each weighed by both, in one order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import bindparam, select

from rolltop.core.db.prepared import Prepared
from rolltop.core.lazy import lazy
from rolltop.core.search import fts5
from rolltop.core.search.batches import batches
from rolltop.core.search.conditions import OWNER, allowed, conditions
from rolltop.core.search.documents import NO_EMBEDDING, Hit
from rolltop.core.search.ranking import Candidate, ranked
from rolltop.core.search.sizes import size
from rolltop.core.search.snippets import snippet
from rolltop.core.search.tables import owner_of, search_items, search_parts, search_texts
from rolltop.core.search.terms import PROPOSED, Statistics, chosen, relevance, terms_of, weights
from rolltop.core.search.words import joined_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import BindParameter

    from rolltop.core.db import Tx
    from rolltop.core.db.address import Kind
    from rolltop.core.search import matrices, pgvector, tsearch, vectors
    from rolltop.core.search.conditions import Allowed, Shape
    from rolltop.core.search.documents import Mode
    from rolltop.core.search.terms import Expression, Weights

    Nearness = matrices.Nearness | pgvector.ServerNearness
    WordIndex = fts5.WordIndex | tsearch.WordIndex
else:  # a process needs one of the first two at most, and numpy only with an embedder
    tsearch = lazy("rolltop.core.search.tsearch")
    vectors = lazy("rolltop.core.search.vectors")

_WEIGHED: Final = 64
"""Parts that each kind of nearness may propose."""

_ALL_WEIGHED: Final = 500
"""Parts that are all weighed where a filter leaves no more."""

_GROWTH: Final = 8
_SOME: Final[BindParameter[Any]] = bindparam("some", expanding=True)


class Part(NamedTuple):
    """A part that was proposed; `weighed` holds its words, on PostgreSQL its text."""

    id: int
    item_id: int
    kind: str
    ref: str
    part: int
    length: int
    weighed: str


@dataclass(frozen=True)
class Question:
    """A query as it is asked of the store."""

    tx: Tx
    text: str
    allowed: Allowed
    limit: int
    mode: Mode
    version: str


@dataclass(frozen=True)
class Sought:
    """The words of a query: where they are looked up, what is known of them, what they weigh."""

    index: WordIndex
    statistics: Statistics
    weights: Weights

    @property
    def mean_length(self) -> float:
        """The mean length of the tenant's parts, in words."""
        return self.statistics.mean_length


def query(  # noqa: PLR0913  # the seam's own parameters
    tx: Tx,
    text: str,
    *,
    kinds: Sequence[str],
    filters: Mapping[str, Sequence[str]],
    limit: int,
    mode: Mode,
    vector: vectors.Asked | None,
    version: str,
) -> list[Hit]:
    """Return what answers the query best, best first: see `rolltop.core.search.query`."""
    if vector is None and mode == "meaning":
        return []
    if tx.kind == "postgresql":
        tsearch.plan_each(tx)
    open_to = allowed(tx, kinds, filters)
    question = Question(tx, text, open_to, limit, mode, version)
    few = _parts_of(question) if open_to.items is not None else None
    nearness = None
    if vector is not None and mode != "words":
        nearness = vectors.nearest(open_to, version, vector, few)
    words = _sought(question)
    for wanted in (max(_WEIGHED, 3 * limit), PROPOSED):
        rows = _rows(question, _by_words(question, words, few, wanted))
        if nearness is not None:
            rows |= _near_rows(question, nearness, wanted)
        if len(rows) < wanted or len({row.item_id for row in rows.values()}) >= limit:
            break  # otherwise a long text's parts leave no place for other things
    cosines = nearness.cosines_of(list(rows)) if nearness is not None else {}
    candidates = (_candidate(tx, row, words, cosines.get(row.id)) for row in rows.values())
    best = ranked(candidates, mode, limit)
    texts = _texts(tx, best)
    return [_hit(question, found, texts[found.number]) for found in best]


def _sought(question: Question) -> Sought:
    """Return the words to look for, none where the query is to go by meaning alone."""
    tx, terms = question.tx, terms_of(question.text)
    index = fts5.WordIndex(tx) if tx.kind == "sqlite" else tsearch.WordIndex(tx)
    if not terms or question.mode == "meaning":
        return Sought(index, Statistics(0, 0.0, {}), ())
    known = size(tx)
    counted = index.occurrences([term for term in terms if term not in known.frequent])
    occurrences = {term: counted.get(term, known.frequent.get(term, 0)) for term in terms}
    known.remember(counted)
    statistics = Statistics(known.parts, known.mean_length, occurrences)
    return Sought(index, statistics, weights(terms, statistics))


def _by_words(
    question: Question, words: Sought, few: Sequence[int] | None, wanted: int
) -> Sequence[int]:
    """Return the parts that the words propose."""
    if not any(words.statistics.occurrences.values()):
        return []
    if few is not None and len(few) <= _ALL_WEIGHED:
        return few
    return _proposed(question, words, wanted)


def _proposed(question: Question, words: Sought, wanted: int) -> list[int]:
    """Return the parts that answer best by their words, of a bounded number that is looked at."""

    def ask(expression: Expression, *, newest: bool) -> list[int]:
        most = (PROPOSED, wanted)
        return words.index.propose(
            expression, words.statistics, question.allowed, most, newest=newest
        )

    index, count = words.index, words.statistics.expected
    if isinstance(index, fts5.WordIndex):  # PostgreSQL counts for longer than it ranks
        count = index.count
    expression, widest, is_cut = chosen(words.statistics.occurrences, count)
    if question.allowed.items is not None:  # the filter leaves few: look at all of them
        return ask(widest, newest=True)
    found = ask(expression, newest=is_cut)
    if len(found) >= question.limit or expression == widest:
        return found
    return list(dict.fromkeys([*found, *ask(widest, newest=True)]))


def _near_rows(question: Question, nearness: Nearness, wanted: int) -> dict[int, Part]:
    """Return enough of the nearest parts that the query may find, looking further where few are."""
    found: dict[int, Part] = {}
    seen, count = 0, wanted
    while len(found) < question.limit:
        best = nearness.best(count)
        if len(best) == seen:
            break
        found |= _rows(question, best[seen:])
        seen, count = len(best), count * _GROWTH
    if seen > 2 * wanted and len(found) < seen // 2 and not question.allowed.filters:
        vectors.forget(question.tx, question.version)  # most of what is kept is gone
    return found


def _parts_of(question: Question) -> list[int]:
    """Return the parts of the few things that the filters let through."""
    found = _numbers(question.allowed.shape).rows(question.tx, question.allowed.values)
    return [number for (number,) in found]


def _rows(question: Question, parts: Sequence[int]) -> dict[int, Part]:
    """Return the rows of the parts that the query may find, by their numbers."""
    allowed = question.allowed
    statement, values = _parts(allowed.shape), allowed.values
    found: dict[int, Part] = {}
    for some in batches(parts):
        rows = statement.rows(question.tx, {**values, "some": list(some)})
        found |= {row[0]: Part(*row) for row in rows}
    return found


@cache
def _numbers(shape: Shape) -> Prepared:
    """Return what reads the numbers of all parts that a query may find."""
    return Prepared(select(search_parts.c.id).where(*conditions(shape)))


@cache
def _parts(shape: Shape) -> Prepared:
    """Return what reads some of the parts, as far as a query may find them."""
    c, texts = search_parts.c, search_texts.c
    # PostgreSQL's words are not read: they are made of the text again.
    weighed = texts.words if shape.kind == "sqlite" else texts.text
    return Prepared(
        select(c.id, c.item_id, c.kind, search_items.c.ref, c.part, c.length, weighed)
        .select_from(search_parts)
        .join(search_items, search_items.c.id == c.item_id)
        .join(search_texts, texts.id == c.id)
        .where(
            c.id.in_(_SOME),
            owner_of(shape.kind, search_items) == OWNER,
            owner_of(shape.kind, search_texts) == OWNER,
            *conditions(shape),
        )
    )


@cache
def _shown(kind: Kind) -> Prepared:
    """Return what reads the texts of some parts."""
    texts = search_texts.c
    return Prepared(
        select(texts.id, texts.text).where(
            texts.id.in_(_SOME), owner_of(kind, search_texts) == OWNER
        )
    )


def _candidate(tx: Tx, row: Part, words: Sought, cosine: float | None) -> Candidate:
    split = row.weighed if tx.kind == "sqlite" else joined_words(row.weighed)
    relevant = relevance(split, row.length, words.weights, words.mean_length)
    return Candidate(row.id, row.kind, row.ref, row.part, relevant, cosine)


def _texts(tx: Tx, candidates: Sequence[Candidate]) -> dict[int, str]:
    if not candidates:
        return {}
    some = [candidate.number for candidate in candidates]
    rows = _shown(tx.kind).rows(tx, {"owner": tx.scope.tenant_id, "some": some})
    return {number: text for number, text in rows}  # noqa: C416  # rows of any values


def _hit(question: Question, found: Candidate, text: str) -> Hit:
    by_meaning = found.meaning is not None and question.mode != "words"
    return Hit(
        kind=found.kind,
        id=found.ref,
        part=found.part,
        score=found.score(question.mode),
        snippet=snippet(text, question.text),
        words=found.words > 0,
        meaning=by_meaning,
        embedding_version=question.version if by_meaning else NO_EMBEDDING,
    )
