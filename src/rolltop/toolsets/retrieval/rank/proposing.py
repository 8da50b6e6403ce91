"""Which pieces of files may answer a query, by the words that are kept of them.

What speaks for a piece follows from its words and from how rare these are, so the same pieces of
a file are proposed whether the index holds it or it is read for the search.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from rolltop.core.search.terms import chosen, is_beginning
from rolltop.toolsets.retrieval.rank.pieces import NAME, PATH
from rolltop.toolsets.retrieval.rank.unitfile import quoted, said
from rolltop.toolsets.retrieval.rank.weighing import Statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rolltop.core.search.terms import Expression
    from rolltop.toolsets.retrieval.rank.unitfile import UnitFile
    from rolltop.toolsets.retrieval.rank.words import Sought

Piece = TypeVar("Piece")
File = TypeVar("File")

MOST: Final = 3_000
"""Pieces that an expression may propose to be compared, as long as those are enough."""

_COUNTED: Final = 3_000
"""Pieces with a word that has no count of its own that are counted, to tell how rare it is."""

PROPOSED: Final = 120
"""Pieces of files that are looked into, of those that are proposed."""

_SURELY_PROPOSED: Final = 40
"""Pieces that are looked into although much less speaks for them than for the first."""

_MUCH_LESS: Final = 0.4

_IN_TURN: Final = 8
"""Pieces of a file that are taken before those that answer alike in the next ones."""

_NAME_COUNTS: Final = 1.5
_PATH_COUNTS: Final = 0.5
_MOST_FILES: Final = 400
"""Files that a word of their path speaks for: one that more have tells next to nothing."""

_DIGITS: Final = 6
"""Decimals of what speaks for a piece, so that it does not show in which order it was added up."""


class Occurring(NamedTuple):
    """How many pieces there are, and how many have each word of a query: text, names, paths.

    `wholes` counts those that have a name of several parts as one word; `beside` the files with
    words of which the index keeps but what stands beside other scripts or in longer names.
    """

    pieces: int
    words: Mapping[str, int]
    names: Mapping[str, int]
    paths: Mapping[str, int]
    wholes: Mapping[str, int]
    beside: Mapping[str, int]

    @property
    def statistics(self) -> Statistics:
        """How rare the words are."""
        return Statistics(self.pieces, self.words).at_least(self.beside)


class Having(NamedTuple):
    """Which words of a query a piece has in its text, in the names it declares, in its path."""

    text: frozenset[str]
    names: frozenset[str]
    path: frozenset[str]

    def worth(self, path: frozenset[str], statistics: Statistics) -> float:
        """Return what speaks for a piece of a file whose path has these words.

        The path alone speaks for the first piece, which has its words.
        """
        if not (self.text or self.names or self.path):
            return 0.0
        total = 0.0
        for words, counts in ((self.text, 1.0), (self.names, _NAME_COUNTS), (path, _PATH_COUNTS)):
            total += sum(counts * statistics.rarity(word) for word in words)
        return round(total, _DIGITS)


def occurring(file: UnitFile, sought: Sought, beside: Mapping[str, int]) -> Occurring:
    """Return how often the words of a query occur; files with some of them are counted beside.

    A name that is kept by its parts alone occurs at most where all of them do.
    """
    terms = sought.terms
    words = file.occurrences(terms)
    wholes = {term: words[term] for term in sought.wholes}
    for term in terms:
        if term in sought.wholes or is_beginning(term):
            words[term] = max(words[term], len(file.meeting(_sought(sought, term), _COUNTED)))
    names = _marked(file, NAME, terms)
    return Occurring(file.pieces(), words, names, _marked(file, PATH, terms), wholes, beside)


def having(pieces: Iterable[str], sought: Sought) -> list[Having]:
    """Return which words of a query pieces have, by the words that would be kept of each."""
    return [_having(frozenset(held.split()), sought) for held in pieces]


def proposed(
    file: UnitFile, sought: Sought, known: Occurring
) -> Iterator[tuple[float, list[tuple[int, int]]]]:
    """Yield what speaks for pieces, the most first, and the file and place there of each of these.

    Their order among themselves says nothing: it is the one that files happened to be read in.
    Pieces with nothing but common words are looked up when those with others are used up.
    """
    given: set[int] = set()
    waiting: dict[int, float] = {}
    for found, most_of_others in _stages(file, sought, known):
        for piece in found.keys() - given:
            waiting[piece] = round(found[piece], _DIGITS)
        tied: dict[float, list[int]] = {}
        for piece, worth in waiting.items():
            if worth > round(most_of_others, _DIGITS):
                tied.setdefault(worth, []).append(piece)
        for worth in sorted(tied, reverse=True):
            given.update(tied[worth])
            yield worth, file.files_of(tied[worth])
        waiting = {piece: worth for piece, worth in waiting.items() if piece not in given}


def enough(worths: Iterable[tuple[float, Iterable[Piece]]], sought: Sought) -> Iterator[Piece]:
    """Yield the pieces that are looked into, by what speaks for them, given with the most first.

    Of several words the rare ones may say so much more that the others are left out: not so where
    there is but one.
    """
    count, best = 0, 0.0
    for worth, pieces in worths:
        for piece in pieces:
            best = best or worth
            is_near = len(sought.terms) == 1 or worth >= _MUCH_LESS * best
            if count >= (PROPOSED if is_near else _SURELY_PROPOSED):
                return
            yield piece
            count += 1


def in_turns(tied: Iterable[tuple[str, File, list[int]]]) -> Iterator[tuple[File, int]]:
    """Yield files with the places of pieces in them that answer alike: some of each, then more.

    The files come by their paths, which are given with them.
    """
    parted = ((path.split("/"), file, places) for path, file, places in tied)
    ordered = nsmallest(PROPOSED, parted, key=itemgetter(0))
    most = max((len(places) for _, _, places in ordered), default=0)
    for at in range(0, most, _IN_TURN):
        for _, file, places in ordered:
            for place in sorted(places)[at : at + _IN_TURN]:
                yield file, place


def _has(words: frozenset[str], term: str, sought: Sought) -> bool:
    """Return whether a piece of these words has a word of a query: as `_sought` finds it."""
    if is_beginning(term):
        return any(word.startswith(term) for word in words)
    return term in words or (term in sought.wholes and words.issuperset(sought.wholes[term]))


def _having(words: frozenset[str], sought: Sought) -> Having:
    terms = sought.terms
    return Having(
        frozenset(term for term in terms if _has(words, term, sought)),
        frozenset(term for term in terms if f"{NAME}{term}" in words),
        frozenset(term for term in terms if f"{PATH}{term}" in words),
    )


def _stages(
    file: UnitFile, sought: Sought, known: Occurring
) -> Iterator[tuple[dict[int, float], float]]:
    """Yield what speaks for pieces, and what speaks at most for any that did not come yet.

    First come those with a name, a rare word or several common ones, then those with a common
    word, from the rarest on, at last those whose file's path has a word that many have.
    """
    paths, telling = _Paths.of(file, known), _Telling.of(file, sought, known)
    others = [*telling.first, *paths.expressions]
    text = telling.text
    if telling.everywhere and others:  # names and paths may suffice
        text = ()
    first = " OR ".join(f"({one})" for one in (*others, said(text)) if one)
    if first:
        found = _by_text(file, sought, known, first)
        yield paths.added(found, alone=True), telling.most_beside(text) + paths.most
    later = [(telling.text, said(telling.text))] if text != telling.text else []
    alone = [
        (((term,),), f"({_sought(sought, term)}) OR {quoted(f'{NAME}{term}')}")
        for term in telling.common
    ]
    for clauses, within in (*later, *alone):
        text = (*text, *clauses)
        found = _by_text(file, sought, known, within)
        yield paths.added(found), telling.most_beside(text) + paths.most
    yield {}, -1.0
    yield from paths.frequent(file)


class _Telling(NamedTuple):
    """The expressions that tell most of a query: by `text`, and `first` others as FTS5 says them.

    `everywhere`: more pieces than are compared meet that by text. `common` are words that these do
    not find wherever they are, the rarest first; `worths` say how much each word tells, and
    `beside` what the names and words do that neither `first` nor `text` finds.
    """

    first: list[str]
    text: Expression
    everywhere: bool
    common: list[str]
    worths: Mapping[str, float]
    beside: float

    @classmethod
    def of(cls, file: UnitFile, sought: Sought, known: Occurring) -> _Telling:
        rarity = known.statistics.rarity
        words = {term: count for term, count in known.words.items() if count}
        wholes = [term for term in words if term in sought.wholes]
        few = [term for term in wholes if words[term] < min(MOST, _COUNTED)]
        counts = {term: count for term, count in words.items() if term not in sought.wholes}
        text, everywhere = _chosen(file, counts)
        named = {f"{NAME}{term}": count for term, count in known.names.items() if count}
        names, _ = _chosen(file, named)
        first = [*([said(names)] if names else []), *(_sought(sought, term) for term in few)]
        common = [
            term
            for term in sorted(known.words, key=lambda term: (known.words[term], term))
            if (term in words and term not in few and (term,) not in text)
            or (f"{NAME}{term}" in named and (f"{NAME}{term}",) not in names)
        ]
        by_name = {f"{NAME}{term}": _NAME_COUNTS * rarity(term) for term in known.names}
        beside = _most_beside(names, {name: by_name[name] for name in named})
        beside += sum(rarity(term) for term in wholes if term not in few)
        return cls(first, text, everywhere, common, {term: rarity(term) for term in counts}, beside)

    def most_beside(self, text: Expression) -> float:
        """Return what speaks at most for a piece that meets neither this expression nor `first`."""
        return self.beside + _most_beside(text, self.worths)


def _most_beside(expression: Expression, worths: Mapping[str, float]) -> float:
    """Return the most that words of a piece tell which does not meet an expression of `chosen`."""
    alone = {clause[0] for clause in expression if len(clause) == 1}
    together = [clause for clause in expression if len(clause) > 1 and alone.isdisjoint(clause)]
    rest = {word: worth for word, worth in worths.items() if word not in alone}
    if len(together) > 1:  # any two of them
        return max(rest.values())
    least = min((rest[word] for clause in together for word in clause), default=0.0)
    return sum(rest.values()) - least


def _chosen(file: UnitFile, occurrences: Mapping[str, int]) -> tuple[Expression, bool]:
    """Return an expression that `MOST` pieces meet, or else more do; none where no word occurs."""
    if not occurrences:
        return (), False
    expression, _, cut = chosen(
        occurrences, lambda one, most: len(file.meeting(said(one), most)), MOST
    )
    return expression, cut


def _by_text(file: UnitFile, sought: Sought, known: Occurring, within: str) -> dict[int, float]:
    """Return what pieces that meet an expression count for by their text and the names in it."""
    rarity, worths = known.statistics.rarity, dict[int, float]()
    for term, count in known.words.items():
        if count:
            _add(file, f"({within}) AND ({_sought(sought, term)})", rarity(term), worths)
        if known.names[term]:
            named = quoted(f"{NAME}{term}")
            _add(file, f"({within}) AND {named}", _NAME_COUNTS * rarity(term), worths)
    return worths


def _add(file: UnitFile, expression: str, worth: float, worths: dict[int, float]) -> None:
    for piece in file.meeting(expression):
        worths[piece] = worths.get(piece, 0.0) + worth


def _sought(sought: Sought, term: str) -> str:
    """Return what finds a word: a name of several parts by all of them as well."""
    return said(((term,), sought.wholes[term])) if term in sought.wholes else quoted(term)


def _marked(file: UnitFile, mark: str, terms: Iterable[str]) -> dict[str, int]:
    """Return how many pieces have words with a mark."""
    found = file.occurrences(f"{mark}{term}" for term in terms)
    return {word.removeprefix(mark): count for word, count in found.items()}


class _Paths(NamedTuple):
    """What pieces count for by the paths of their files; a file's first piece speaks for it.

    `worths` are by the files' numbers, `spans` their pieces, both in order; `expressions` find
    the first pieces. `many` says how much words tell that too many paths have.
    """

    worths: dict[int, float]
    spans: list[range]
    expressions: list[str]
    many: dict[str, float]

    @classmethod
    def of(cls, file: UnitFile, known: Occurring) -> _Paths:
        worths: dict[int, float] = {}
        expressions: list[str] = []
        many: dict[str, float] = {}
        for term, count in known.paths.items():
            word, worth = quoted(f"{PATH}{term}"), _PATH_COUNTS * known.statistics.rarity(term)
            if count > _MOST_FILES:
                many[word] = worth
            elif count:
                expressions.append(word)
                for number in file.meeting(word):
                    worths[number] = worths.get(number, 0.0) + worth
        worths = dict(sorted(worths.items()))
        return cls(worths, file.pieces_of(worths), expressions, many)

    @property
    def most(self) -> float:
        """What a path counts for at most."""
        return max(self.worths.values(), default=0.0)

    def added(self, worths: dict[int, float], *, alone: bool = False) -> dict[int, float]:
        """Return what pieces count for, that by their paths added; `alone`: files by it alone."""
        numbers = list(self.worths)
        if alone:
            worths = dict.fromkeys(numbers, 0.0) | worths
        for piece in worths if numbers else ():
            at = bisect_right(numbers, piece) - 1
            if at >= 0 and piece in self.spans[at]:
                worths[piece] += self.worths[numbers[at]]
        return worths

    def frequent(self, file: UnitFile) -> Iterator[tuple[dict[int, float], float]]:
        """Yield what first pieces count for by words that are in many paths, the rarest first."""
        for word in sorted(self.many, key=lambda word: (-self.many[word], word)):
            yield dict.fromkeys(file.meeting(word), self.many[word]), -1.0
