"""One query: rows proposed by words and by meaning, each weighed by both, in one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from rolltop.core.lazy import lazy
from rolltop.core.search import fts5
from rolltop.core.search.conditions import allowed
from rolltop.core.search.documents import NO_EMBEDDING, Hit
from rolltop.core.search.ranking import Candidate, ranked
from rolltop.core.search.sizes import size
from rolltop.core.search.snippets import snippet
from rolltop.core.search.tables import fetched, owner_of, search_items, search_parts, search_texts
from rolltop.core.search.terms import PROPOSED, Statistics, chosen, relevance, terms_of, weights
from rolltop.core.search.words import joined_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Row

    from rolltop.core.db import Tx
    from rolltop.core.search import tsearch, vectors
    from rolltop.core.search.conditions import Allowed
    from rolltop.core.search.documents import Mode
    from rolltop.core.search.terms import Expression, Weights

    WordIndex = fts5.WordIndex | tsearch.WordIndex
else:  # a process needs one of the first two at most, and numpy only with an embedder
    tsearch = lazy("rolltop.core.search.tsearch")
    vectors = lazy("rolltop.core.search.vectors")

_WEIGHED: Final = 64
"""Parts that each kind of nearness may propose."""

_ALL_WEIGHED: Final = 500
"""Parts that are all weighed where a filter leaves no more."""

_GROWTH: Final = 8
_AT_ONCE: Final = 400


@dataclass(frozen=True)
class Question:
    """A query as it is asked of the store."""

    tx: Tx
    text: str
    allowed: Allowed
    limit: int
    mode: Mode
    version: str
    vector: vectors.Matrix | None


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
    vector: vectors.Matrix | None,
    version: str,
) -> list[Hit]:
    """Return what answers the query best, best first: see `rolltop.core.search.query`."""
    if vector is None and mode == "meaning":
        return []
    open_to = allowed(tx, kinds, filters)
    question = Question(tx, text, open_to, limit, mode, version, vector)
    few = _parts_of(question) if open_to.items is not None else None
    nearness = None
    if vector is not None and mode != "words":
        nearness = vectors.nearest(tx, version, vector, few)
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

    expression, widest, is_cut = chosen(words.statistics.occurrences, words.index.count)
    if question.allowed.items is not None:  # the filter leaves few: look at all of them
        return ask(widest, newest=True)
    found = ask(expression, newest=is_cut)
    if len(found) >= question.limit or expression == widest:
        return found
    return list(dict.fromkeys([*found, *ask(widest, newest=True)]))


def _near_rows(question: Question, nearness: vectors.Nearness, wanted: int) -> dict[int, Row[Any]]:
    """Return enough of the nearest parts that the query may find, looking further where few are."""
    found: dict[int, Row[Any]] = {}
    seen, count = 0, wanted
    while seen < len(nearness.parts) and len(found) < question.limit:
        best = nearness.best(count)
        found |= _rows(question, best[seen:])
        seen, count = len(best), count * _GROWTH
    if seen > 2 * wanted and len(found) < seen // 2 and not question.allowed.filters:
        vectors.forget(question.tx, question.version)  # most of what is kept is gone
    return found


def _parts_of(question: Question) -> list[int]:
    """Return the parts of the few things that the filters let through."""
    return list(
        question.tx.execute(
            select(search_parts.c.id).where(*question.allowed.conditions())
        ).scalars()
    )


def _rows(question: Question, parts: Sequence[int]) -> dict[int, Row[Any]]:
    """Return the rows of the parts that the query may find, by their numbers."""
    c, owner = search_parts.c, question.tx.scope.tenant_id
    columns = [
        c.id,
        c.item_id,
        c.kind,
        search_items.c.ref,
        c.part,
        c.length,
        _weighed_text(question.tx),
    ]
    found: dict[int, Row[Any]] = {}
    for start in range(0, len(parts), _AT_ONCE):
        statement = (
            select(*columns)
            .select_from(search_parts)
            .join(search_items, search_items.c.id == c.item_id)
            .join(search_texts, search_texts.c.id == c.id)
            .where(
                c.id.in_(parts[start : start + _AT_ONCE]),
                owner_of(question.tx.kind, search_items) == owner,
                owner_of(question.tx.kind, search_texts) == owner,
                *question.allowed.conditions(),
            )
        )
        found |= {row.id: row for row in question.tx.execute(statement)}
    return found


def _weighed_text(tx: Tx) -> ColumnElement[str]:
    """Return the column that holds a part's words, or on PostgreSQL the text they are made of."""
    texts = search_texts.c
    return (texts.words if tx.kind == "sqlite" else texts.text).label("weighed")


def _candidate(tx: Tx, row: Row[Any], words: Sought, cosine: float | None) -> Candidate:
    split = row.weighed if tx.kind == "sqlite" else joined_words(row.weighed)
    relevant = relevance(split, row.length, words.weights, words.mean_length)
    return Candidate(row.id, row.kind, row.ref, row.part, relevant, cosine)


def _texts(tx: Tx, candidates: Sequence[Candidate]) -> dict[int, str]:
    texts = search_texts.c
    statement = select(texts.id, texts.text).where(
        texts.id.in_([candidate.number for candidate in candidates]),
        owner_of(tx.kind, search_texts) == tx.scope.tenant_id,
    )
    return dict(fetched(tx, statement))


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
