"""Ranked search: parses the query, scores candidates by their text, reorders by embeddings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Final, NamedTuple

from rolltop.core.embedding import Matrix
from rolltop.core.fulltext.analyzer import tokenize
from rolltop.core.fulltext.bm25 import joined_numbers, query_terms
from rolltop.toolsets.retrieval.index.chunk_index import plain_name
from rolltop.toolsets.retrieval.index.vectors import Vectors, cosines, key_of, text_to_embed
from rolltop.toolsets.retrieval.models import RankedResult
from rolltop.toolsets.retrieval.ranked.bm25f import WEIGHTS, Score, Scorer, add_statistics
from rolltop.toolsets.retrieval.ranked.candidates import (
    MAX_CANDIDATES,
    Candidate,
    Candidates,
    RankedTree,
    find_candidates,
)
from rolltop.toolsets.retrieval.ranked.file_kinds import (
    DOCUMENT,
    TEST,
    find_superseded,
    wanted_kinds,
)
from rolltop.toolsets.retrieval.ranked.snippets import snippet

# Results of all pages together.
MAX_RESULTS: Final = MAX_CANDIDATES

_DOCUMENTS_ROOT: Final = "docs"
# Exceeds any score of a file that the query does not name: 1.6 a chunk, thrice that at most for
# the others (0.4 × the sum of each next by 0.7 as much), and 0.5 for its name.
_AHEAD: Final = 5.0
# Files that are shown by one result each before any has a second.
FILES_FIRST: Final = 10
# Further results of a file whose lines its first one lists.
_MAX_ALSO: Final = 5
# Results that embeddings reorder.
HEAD: Final = 20
# Weight of a cosine beside the score by words, between chunks of different files.
_AMONG_FILES: Final = 0.3
# The same between chunks of one file: words distinguish files well, their parts less so. Both were
# chosen on the evaluation's tuning sets.
_IN_A_FILE: Final = 1.2
# Vectors needed for a comparison.
_MIN_RERANKED: Final = 2
WHY: Final = "meaning"
# Code points of a query that are used.
MAX_QUERY: Final = 2_000
# File names in a query that are searched for.
_MAX_FILES: Final = 32
_MIN_LITERAL: Final = 2
_WORD: Final = re.compile(r"\w+")
# Names of Ruby may end with a sign.
_TYPED: Final = re.compile(r"[\w$]+[!?]?")
_FILE_NAME: Final = re.compile(
    r"(?<![\w./-])"  # without it, long runs take quadratic time
    r"(?:/*[\w.-]+(?:/+[\w.-]+)+|/*[\w.-]*\w\.\w{1,10}(?!\w))"
)


class Ranking(NamedTuple):
    """The best results, best first.

    `unread` files may match and were not read: they are not indexed, and others were likelier or
    time ran out; if there are any, `lacking` files are not indexed. `terms` are the texts searched
    for, in lower case. `limited`: others may answer too, behind the best.
    """

    places: list[RankedResult]
    unread: int = 0
    terms: frozenset[str] = frozenset()
    lacking: int = 0
    limited: bool = False

    def preview(self, place: RankedResult) -> str:
        """Build the lines that represent a result."""
        return snippet(place.own, self.terms)


def search(
    trees: Sequence[RankedTree],
    text: str,
    *,
    limit: int,
    deadline: float,
    meaning: Meaning | None = None,
) -> Ranking:
    """Find the first `limit` results, best first, at most `MAX_RESULTS`; no text makes it fail.

    Equal scores are ordered by root, path components and line. `deadline`, on the monotonic clock,
    ends the reading of unindexed files. `meaning` reorders the first results if the query has
    several words besides file names. If no content word matches, the remaining words are searched
    for. Raises Unusable: an index on disk cannot be read.
    """
    query = ParsedQuery.of(text)
    ranking = _search(trees, query, limit, deadline, meaning)
    while not ranking.places and query.terms and (others := query.others):
        query = ParsedQuery.of(others)
        ranking = _search(trees, query, limit, deadline, meaning)
    return ranking


def _search(
    trees: Sequence[RankedTree],
    query: ParsedQuery,
    limit: int,
    deadline: float,
    meaning: Meaning | None,
) -> Ranking:
    if not query.phrase:
        return Ranking([])
    found = [find_candidates(tree, query, deadline) for tree in trees]
    scorer = Scorer(query, add_statistics(one.statistics for one in found))
    places: list[tuple[tuple[object, ...], RankedResult]] = []
    kinds = wanted_kinds(query.terms)
    words = frozenset(tokenize(query.text))
    for number, (tree, one) in enumerate(zip(trees, found, strict=True)):
        # What is looked for in a root of documents are documents.
        wanted = kinds | {DOCUMENT} if tree.root.name == _DOCUMENTS_ROOT else kinds
        for candidate, value, why in _rerank(one, scorer, tree.root.name, wanted, words):
            path, chunk, own = candidate[:3]
            place = RankedResult(
                tree.root.name, path, chunk.line, chunk.end_line, own, value, why, chunk.titles
            )
            places.append(((-value, number, path.split("/"), chunk.line), place))
    places.sort(key=lambda pair: pair[0])
    best = [place for _, place in places[:MAX_RESULTS]]
    if meaning is not None and query.count > 1:
        best = meaning.reorder(best, [place.own for place in best])
    terms = frozenset(query.literals.values()) or frozenset({query.phrase})
    unread, lacking = sum(one.unread for one in found), sum(one.lacking for one in found)
    limited = len(places) > MAX_RESULTS or any(len(one.chunks) >= MAX_CANDIDATES for one in found)
    return Ranking(_by_file(best)[:limit], unread, terms, lacking, limited)


def _by_file(places: Sequence[RankedResult]) -> list[RankedResult]:
    """Let the best result of each file come first until `FILES_FIRST` files have one.

    It lists the lines of the file's next ones. All other results follow in their order, with scores
    that descend.
    """
    of_files: dict[tuple[str, str], list[int]] = {}
    for at, place in enumerate(places):
        of_files.setdefault((place.repo, place.path), []).append(at)
    first = list(islice(of_files.values(), FILES_FIRST))
    shown = {best for best, *_ in first}
    found: list[RankedResult] = []
    for best, *others in first:
        lines = [f"{places[at].line}-{places[at].end_line}" for at in others[:_MAX_ALSO]]
        found.append(replace(places[best], also=tuple(lines)))
    least = found[-1].score if found else 0.0
    rest = [place for at, place in enumerate(places) if at not in shown]
    return found + [replace(place, score=min(place.score, least)) for place in rest]


def _rerank(
    found: Candidates,
    scorer: Scorer,
    root: str,
    wanted: frozenset[str],
    words: frozenset[str],
) -> Iterator[tuple[Candidate, float, tuple[str, ...]]]:
    """Yield the matching chunks, their scores and what matched.

    What speaks for a file speaks for each of its chunks; files of kinds that are not wanted follow.
    The best chunk of a file that the query names precedes the files that it does not name.
    """
    by_file: dict[str, list[tuple[Candidate, Score]]] = {}
    for one in found.chunks:
        score = scorer.score(root, one.path, one.chunk, one.own, is_first=one.is_first)
        if score.value > 0:
            by_file.setdefault(one.path, []).append((one, score))
    superseded = find_superseded(by_file, words)
    for path, scored in by_file.items():
        scored.sort(key=lambda pair: (-pair[1].value, pair[0].chunk.line))
        mates = sum(score.value * WEIGHTS.mates_decay**at for at, (_, score) in enumerate(scored))
        file = WEIGHTS.file_mates * mates + scorer.score_stem(path)
        kinds = scored[0][0].kinds - wanted
        # The name of a test tells in many words what the implementation is called in few.
        steps = bool(kinds) + (TEST in kinds) + (path in superseded)
        factor = WEIGHTS.depth ** path.count("/") * WEIGHTS.aside**steps
        for at, (candidate, score) in enumerate(scored):
            ahead = 0.0 if at else _AHEAD * found.named.get(path, 0)
            yield candidate, round((score.value + file) * factor + ahead, 4), score.why


class Meaning:
    """Compares the first results of one search with the query by embeddings.

    `only` is a bit set of results: a continued search compares the same results as before, even if
    more have vectors by now. None compares all that have vectors.
    """

    def __init__(
        self,
        version: str,
        vector: Callable[[], Matrix | None],
        kept: Mapping[str, Vectors],
        only: int | None = None,
    ) -> None:
        """Take the model's version, the query's vector (on demand) and each root's vectors."""
        self._version: Final = version
        self._vector: Final = vector
        self._kept: Final = kept
        self._only: Final = only
        self.compared = 0
        """The results that were compared, as a bit set."""
        self.used: Final[dict[str, list[bytes]]] = {}
        """Keys of the vectors found, by root name."""
        self.lacking: Final[dict[str, list[str]]] = {}
        """Texts without a vector, best first, by root name."""

    def reorder(self, places: Sequence[RankedResult], texts: Sequence[str]) -> list[RankedResult]:
        """Order the results by words and embeddings; `texts` are the chunks' texts.

        The scores stay in their order. A result that moves up gets `meaning` as one more reason.
        """
        head = places[:HEAD]
        order = _order(head, self._near(head, texts[:HEAD]))
        found = [
            replace(place, score=head[now].score, why=(*place.why, WHY) if at > now else place.why)
            for now, at in enumerate(order)
            for place in (head[at],)
        ]
        return [*found, *places[HEAD:]]

    def _near(self, places: Sequence[RankedResult], owns: Sequence[str]) -> dict[int, float]:
        """Compute the cosine of each result that has a vector and takes part."""
        texts = [text_to_embed(own) for own in owns]
        keys = [key_of(self._version, text) for text in texts]
        of_roots: dict[str, list[int]] = {}
        for at, place in enumerate(places):
            of_roots.setdefault(place.repo, []).append(at)
        kept: dict[int, bytes] = {}
        for name, members in of_roots.items():
            found = self._kept[name].of(keys[at] for at in members)
            self.used[name] = list(found)
            self.lacking[name] = [texts[at] for at in members if keys[at] not in found]
            kept |= {at: found[keys[at]] for at in members if keys[at] in found}
        if self._only is not None:
            kept = {at: one for at, one in kept.items() if self._only >> at & 1}
        vector = self._vector() if len(kept) >= _MIN_RERANKED else None
        if vector is None:
            return {}
        self.compared = sum(1 << at for at in kept)
        return dict(zip(kept, cosines(vector, list(kept.values())), strict=True))


def _order(places: Sequence[RankedResult], near: Mapping[int, float]) -> list[int]:
    """Compute the new order of the results; those without a cosine stay.

    The others swap among themselves: first between files, then within each file.
    """
    order = list(range(len(places)))

    def arrange(ranks: Sequence[int], weight: float) -> None:
        """Sort the results at some ranks."""
        members = [order[rank] for rank in ranks]
        members.sort(key=lambda at: (-(places[at].score + weight * near[at]), at))
        for rank, at in zip(ranks, members, strict=True):
            order[rank] = at

    arrange(sorted(near), _AMONG_FILES)
    of_files: dict[tuple[str, str], list[int]] = {}
    for rank in sorted(near):
        place = places[order[rank]]
        of_files.setdefault((place.repo, place.path), []).append(rank)
    for ranks in of_files.values():
        arrange(ranks, _IN_A_FILE)
    return order


@dataclass(frozen=True)
class ParsedQuery:
    """A parsed query: its terms, its text, and the names and files it may name.

    A dotted name may be a file's or a declaration's. `length` counts the characters of the words
    outside file names, `count` these words; `literals` maps a term to a lower-case text that every
    file with the term contains.
    """

    text: str
    terms: Sequence[str]
    phrase: str
    names: tuple[str, ...]
    files: tuple[str, ...]
    length: int = 1
    count: int = 0
    literals: dict[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def typed_words(self) -> frozenset[str]:
        """The parts of a query that is a single name, as they were typed."""
        return frozenset(_TYPED.findall(self.text) if self.count <= 1 else ())

    @property
    def spellings(self) -> dict[str, tuple[str, ...]]:
        """How a term may be spelled where files are searched for it: most by its literal.

        One without is as typed or without diacritics. An `i` at a stem's end may be of a `y`.
        """
        typed = {word: name for name in _WORD.findall(self.phrase) for word in tokenize(name)}
        found: dict[str, tuple[str, ...]] = {}
        for term in self.terms:
            literal = self.literals.get(term)
            texts = [literal] if literal else [typed.get(term, term), term]
            texts += [f"{term[:-1]}y"] * term.endswith("i")
            found[term] = tuple(dict.fromkeys(texts))
        return found

    @property
    def others(self) -> str:
        """The words that are not searched for: function words and very common ones."""
        terms = set(self.terms)
        names = _WORD.findall(self.text)
        return " ".join(name for name in names if terms.isdisjoint(tokenize(name)))

    @classmethod
    def of(cls, text: str) -> ParsedQuery:
        """Parse any text; never fails."""
        text = text[:MAX_QUERY].strip()
        terms = query_terms(text)
        lowered = text.lower()
        raw = _WORD.findall(_FILE_NAME.sub(" ", lowered))
        pairs = [a + b for a, b in pairwise(raw)]
        triples = [a + b for a, b in zip(pairs, raw[2:], strict=False)]
        paths: list[str] = [one[0].strip("./") for one in _FILE_NAME.finditer(lowered)]
        dotted = [one.split(".")[-2:] for one in paths if "." in one and "/" not in one]
        lasts = [(within + name, name) for within, name in dotted]
        names = map(plain_name, (*raw, *chain.from_iterable(lasts), *pairs, *triples))
        length = max(1, len("".join([*raw, *(whole for whole, _ in lasts)])))
        if paths or "/" in lowered:  # the whole of it may be one, with signs of any kind
            paths.append(lowered.strip("./"))
        files = tuple(path for path in dict.fromkeys(paths) if path)[:_MAX_FILES]
        known = tuple(name for name in dict.fromkeys(names) if name)
        literals = _literals(terms, text, lowered)
        return cls(text, terms, lowered, known, files, length, len(raw), literals)


def _literals(terms: Sequence[str], text: str, lowered: str) -> dict[str, str]:
    """Map each term to a text that every file with it contains in some case, if there is one.

    Stemming changes at most the last letter. A name of too many parts is searched for as written.
    """
    found = {term: text for term, text in joined_numbers(lowered).items() if term in terms}
    for term in terms:
        literal = term if term in lowered else term[:-1]
        if len(literal) >= min(_MIN_LITERAL, len(term)) and literal in lowered:
            found[term] = literal
    for name in _WORD.findall(text):
        whole, *parts = tokenize(name) or [""]
        if not parts and whole in terms and name.isascii():
            found.setdefault(whole, name.lower())
    return found
