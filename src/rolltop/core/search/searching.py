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
from rolltop.core.search.tables import owner_of, search_items, search_parts, search_texts
from rolltop.core.search.terms import PROPOSED, Statistics, chosen, relevance, terms_of
from rolltop.core.search.words import joined_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Row

    from rolltop.core.db import Tx
    from rolltop.core.search import tsearch, vectors
    from rolltop.core.search.conditions import Allowed
    from rolltop.core.search.documents import Mode
    from rolltop.core.search.terms import Expression

    WordIndex = fts5.WordIndex | tsearch.WordIndex
else:  # a process needs one of the first two at most, and numpy only with an embedder
    tsearch = lazy("rolltop.core.search.tsearch")
    vectors = lazy("rolltop.core.search.vectors")

_WEIGHED: Final = 200
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

    @property
    def wanted(self) -> int:
        """Return how many parts are to be proposed."""
        return max(_WEIGHED, 4 * self.limit)


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
    weights, statistics, proposed = _by_words(question, few)
    rows = _rows(question, proposed)
    cosines: dict[int, float] = {}
    if vector is not None and mode != "words":
        nearness = vectors.nearest(tx, version, vector, few)
        rows |= _near_rows(question, nearness)
        cosines = nearness.cosines_of(list(rows))
    candidates = (
        _candidate(row, weights, statistics, cosines.get(row.id)) for row in rows.values()
    )
    return [_hit(question, best) for best in ranked(candidates, mode, limit)]


def _by_words(
    question: Question, few: Sequence[int] | None
) -> tuple[list[tuple[str, float]], Statistics, list[int]]:
    """Return the query's terms with their weights, what is known of words, proposed parts."""
    tx, terms = question.tx, terms_of(question.text)
    if not terms or question.mode == "meaning":
        return [], Statistics(0, 0.0, {}), []
    index = fts5.WordIndex(tx) if tx.kind == "sqlite" else tsearch.WordIndex(tx)
    parts, mean_length = size(tx)
    statistics = Statistics(parts, mean_length, index.occurrences(terms))
    weights = [(term, statistics.weight(term)) for term in terms]
    if not any(statistics.occurrences.values()):
        return weights, statistics, []
    if few is not None and len(few) <= _ALL_WEIGHED:
        return weights, statistics, list(few)
    return weights, statistics, _proposed(question, index, statistics)


def _proposed(question: Question, index: WordIndex, statistics: Statistics) -> list[int]:
    """Return the parts that answer best by their words, of a bounded number that is looked at."""

    def ask(expression: Expression) -> list[int]:
        most = (PROPOSED, question.wanted)
        return index.propose(expression, statistics, question.allowed, most)

    expression, widest = chosen(statistics.occurrences, index.count)
    if question.allowed.items is not None:  # the filter leaves few: look at all of them
        return ask(widest)
    found = ask(expression)
    if len(found) >= question.limit or expression == widest:
        return found
    return list(dict.fromkeys([*found, *ask(widest)]))


def _near_rows(question: Question, nearness: vectors.Nearness) -> dict[int, Row[Any]]:
    """Return enough of the nearest parts that the query may find, looking further where few are."""
    found: dict[int, Row[Any]] = {}
    seen, count = 0, question.wanted
    while seen < len(nearness.parts) and len(found) < question.limit:
        best = nearness.best(count)
        found |= _rows(question, best[seen:])
        seen, count = len(best), count * _GROWTH
    if seen > 2 * question.wanted and len(found) < seen // 2 and not question.allowed.filters:
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
    columns = [c.id, c.kind, search_items.c.ref, c.part, c.length, search_texts.c.text]
    if question.tx.kind == "sqlite":
        columns.append(search_texts.c.words)
    found: dict[int, Row[Any]] = {}
    for start in range(0, len(parts), _AT_ONCE):
        statement = (
            select(*columns)
            .select_from(search_parts)
            .join(search_items, search_items.c.id == c.item_id)
            .join(search_texts, search_texts.c.id == c.id)
            .where(
                c.id.in_(parts[start : start + _AT_ONCE]),
                owner_of(question.tx, search_items) == owner,
                owner_of(question.tx, search_texts) == owner,
                *question.allowed.conditions(),
            )
        )
        found |= {row.id: row for row in question.tx.execute(statement)}
    return found


def _candidate(
    row: Row[Any],
    weights: Sequence[tuple[str, float]],
    statistics: Statistics,
    cosine: float | None,
) -> Candidate:
    split = getattr(row, "words", None)
    if split is None:
        split = joined_words(row.text)
    words = relevance(split, row.length, weights, statistics.mean_length)
    return Candidate(row.id, row.kind, row.ref, row.part, row.text, words, cosine)


def _hit(question: Question, found: Candidate) -> Hit:
    nearness = found.meaning is not None and question.mode != "words"
    return Hit(
        kind=found.kind,
        id=found.ref,
        part=found.part,
        score=found.score(question.mode),
        snippet=snippet(found.text, question.text),
        words=found.words > 0,
        meaning=nearness,
        embedding_version=question.version if nearness else NO_EMBEDDING,
    )
