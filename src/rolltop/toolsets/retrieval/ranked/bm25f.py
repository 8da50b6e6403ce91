"""Scores chunks: BM25F over their fields, plus proximity, phrase and name matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.fulltext.analyzer import tokenize_joined, tokenize_parts
from rolltop.core.fulltext.bm25 import TermStatistics, is_prefix_term
from rolltop.toolsets.retrieval.index.chunk_index import (
    fields_of,
    path_stem,
    path_words,
    plain_name,
)
from rolltop.toolsets.retrieval.index.chunker import Chunk

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.ranked.rerank import ParsedQuery

    # Positions of the query's terms in a field.
    _Places = dict[str, list[int]]


class _FieldWeights(NamedTuple):
    """Weights of fields, chunks and files (docs/decisions/0025 says what each was chosen on).

    Of a file: its chunks add to each other, `file_mates` times the sum, each next best by
    `mates_decay` as much; `stem` is the share of its name's words that the query has, less for long
    queries, `whole_stem` for all of them; `aside` and `depth` are factors, of files that are no
    implementation (of tests twice) and of each folder.
    """

    name: float = 12.0
    path: float = 2.5
    body: float = 0.7
    length: float = 0.7
    saturation: float = 2.0
    near: float = 0.15
    phrase: float = 0.15
    named: float = 0.3
    spelled: float = 0.3
    file: float = 1.0
    file_mates: float = 0.4
    mates_decay: float = 0.7
    stem: float = 0.2
    whole_stem: float = 0.3
    aside: float = 0.7
    depth: float = 0.95


WEIGHTS: Final = _FieldWeights()

# Typical words per field: constants, so that other files do not influence a score.
_LENGTHS: Final = (3, 10, 150)

# Words of a query up to which the words of a file's name count in full.
_SHORT_QUERY: Final = 3

# Letters of a word of a file's name, or of a query's term, that may stand for a longer one.
_MIN_BEGINNING: Final = 4

# Code points of a chunk whose words are remembered: 20 MB at most.
_MAX_REMEMBERED: Final = 4_096

# Maximum distance, in words, of two query words that count as close.
_NEAR: Final = 4


def add_statistics(statistics: Iterable[TermStatistics]) -> TermStatistics:
    """Add up statistics of chunks."""
    chunks, counts = 0, Counter[str]()
    for one in statistics:
        chunks += one.parts
        counts.update(one.occurrences)
    return TermStatistics(chunks, 0.0, counts)


class Score(NamedTuple):
    """A chunk's score (0: no match) and what matched."""

    value: float
    why: tuple[str, ...]


class Scorer:
    """Scores chunks for a query."""

    def __init__(self, query: ParsedQuery, statistics: TermStatistics) -> None:
        self._query: Final = query
        self._idf: Final = {term: statistics.idf(term) for term in query.terms}
        self._beginnings: Final = [term for term in query.terms if is_prefix_term(term)]
        self._numbers: Final = [(term, term.split()) for term in query.terms if " " in term]
        self._most: Final = sum(self._idf.values()) or 1.0
        self._pairs: Final = [
            (first, second, min(self._idf[first], self._idf[second]))
            for first, second in pairwise(query.terms)
        ]
        self._most_near: Final = sum(worth for *_, worth in self._pairs) or 1.0

    def score(self, root: str, path: str, chunk: Chunk, own: str, *, is_first: bool) -> Score:
        """Score a chunk; a perfect match of all terms approaches 1.

        `path` is in the root of that name, which may stand before it in a query; `own` is the
        chunk's own text; `is_first` marks the first chunk of its file.
        """
        query = self._query
        fields = [field.split() for field in fields_of(path, chunk, _body_words(own))]
        name, place, body = map(self._find_terms, fields)
        # The context of a chunk: its file's path and the names of its enclosing scopes.
        in_path = self._find_terms(path_words(path).split()) if place else place
        lowered = f"{root}/{path}".lower()
        phrase = WEIGHTS.phrase * (query.phrase in own.lower())
        whole_name = self._whole_name(chunk)
        file = 0.0
        if any(ends_in(lowered, one) for one in query.files):
            file = WEIGHTS.file * (1.0 if is_first else 0.4)
        why = [
            kind
            for kind, found in (
                ("words", body or phrase > 0),
                ("name", name or place != in_path or whole_name > 0),
                ("path", in_path or file > 0),
            )
            if found
        ]
        if not why:
            return Score(0.0, ())
        score = self._bm25f((name, place, body), list(map(len, fields)))
        signs = self._nearness(name, body, len(fields[0])) + phrase + whole_name + file
        return Score(round(score + signs, 6), tuple(why))

    def score_stem(self, path: str) -> float:
        """Score the words of a file's name, without its ending."""
        words = set(tokenize_parts(path_stem(path)).split())
        found = {word: term for word in words if (term := self._term_like(word))}
        if not found:
            return 0.0
        short = min(1.0, _SHORT_QUERY / max(1, self._query.count))
        score = WEIGHTS.stem * short * len(found) / len(words)
        if len(found) == len(words):
            terms = sorted(set(found.values()))
            told = sum(self._idf[term] for term in terms) / self._most
            # A term tells little by itself where a folder around everything has it in its name.
            score += WEIGHTS.whole_stem * sqrt(max(told, len(terms) / len(self._idf)))
        return score

    def _term_like(self, word: str) -> str | None:
        """Return the term that a word of a file's name is, or else shortens or lengthens."""
        if word in self._idf:
            return word
        for term in self._idf:
            begins = word.startswith(term) or term.startswith(word)
            if begins and min(len(word), len(term)) >= _MIN_BEGINNING:
                return term
        return None

    def _find_terms(self, words: Sequence[str]) -> _Places:
        """Find the positions of the query's terms among words, from 0."""
        found: _Places = {}
        idf = self._idf
        for at, word in enumerate(words):
            if word in idf:
                found.setdefault(word, []).append(at)
        for term in self._beginnings:
            places = [at for at, word in enumerate(words) if word.startswith(term)]
            if places:
                found[term] = places
        for term, parts in self._numbers:
            begun = found.get(parts[0], ())
            places = [at for at in begun if words[at : at + len(parts)] == parts]
            if places:
                found[term] = places
        return found

    def _bm25f(self, fields: Sequence[_Places], lengths: Sequence[int]) -> float:
        """Compute BM25F (Robertson and Zaragoza 2009) as a share of its maximum."""
        often: dict[str, float] = {}
        for weight, places, length, middling in zip(
            WEIGHTS[:3], fields, lengths, _LENGTHS, strict=True
        ):
            share = weight / (1 - WEIGHTS.length + WEIGHTS.length * length / middling)
            for term, at in places.items():
                often[term] = often.get(term, 0.0) + share * len(at)
        return (
            sum(
                idf * often[term] / (WEIGHTS.saturation + often[term])
                for term, idf in self._idf.items()
                if term in often
            )
            / self._most
        )

    def _whole_name(self, chunk: Chunk) -> float:
        """Score a match of the chunk's whole name, with or without its class's.

        A name that is the whole query counts more for the declaration that is spelled like it.
        """
        name = plain_name(chunk.name)
        within = plain_name(chunk.scope.rpartition(" ")[2])
        found = next((one for one in (within + name, name) if one in self._query.names), "")
        # A constructor has the name of its class, which is what is meant.
        is_spelled = chunk.name in self._query.typed_words and name != within
        weight = WEIGHTS.named + WEIGHTS.spelled * is_spelled
        return weight * len(found) / self._query.length

    def _nearness(self, name: _Places, body: _Places, start: int) -> float:
        """Score terms adjacent in the query that are close here.

        The positions in the body follow the name's, of which there are `start`.
        """
        places = {
            term: [*name.get(term, ()), *(at + start for at in body.get(term, ()))]
            for term in name.keys() | body.keys()
        }
        total = sum(
            worth
            for first, second, worth in self._pairs
            if first in places and second in places and _meet(places[first], places[second])
        )
        return WEIGHTS.near * total / self._most_near


def _body_words(own: str) -> str:
    return _remember_words(own) if len(own) <= _MAX_REMEMBERED else tokenize_joined(own)


# Queries in a row look at the same chunks.
_remember_words = lru_cache(1 << 11)(tokenize_joined)


def ends_in(path: str, name: str) -> bool:
    """Report whether a path ends in a file's name or in whole last components."""
    return path == name or path.endswith(f"/{name}")


def _meet(first: Sequence[int], second: Sequence[int]) -> bool:
    """Report whether two ascending lists have positions at most a few words apart."""
    a = b = 0
    while a < len(first) and b < len(second):
        if abs(first[a] - second[b]) <= _NEAR:
            return True
        if first[a] < second[b]:
            a += 1
        else:
            b += 1
    return False
