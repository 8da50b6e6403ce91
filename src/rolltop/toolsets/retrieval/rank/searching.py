"""Ranked search: the units of files that answer best what a person typed.

The index proposes units; they are weighed by the text their files have now. Files that the index
does not hold as they are, are cut anew: all where they are few, else those that hold most of the
query's words.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice
from math import ldexp, log
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.retrieval.models import Place
from rolltop.toolsets.retrieval.rank.pieces import ends_of, span_of, words_of
from rolltop.toolsets.retrieval.rank.previews import preview
from rolltop.toolsets.retrieval.rank.proposing import Occurring, occurring, occurring_in, proposed
from rolltop.toolsets.retrieval.rank.reading import Unreadable, read
from rolltop.toolsets.retrieval.rank.units import units_of
from rolltop.toolsets.retrieval.rank.weighing import CHOSEN, Scale, Statistics, Weighed, Weights
from rolltop.toolsets.retrieval.rank.words import Fields, Sought, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from rolltop.core.roots import Entry, Root, Roots
    from rolltop.toolsets.retrieval.rank.index import RootUnits
    from rolltop.toolsets.retrieval.rank.meaning import Meaning
    from rolltop.toolsets.retrieval.rank.unitfile import UnitFile
    from rolltop.toolsets.retrieval.rank.units import Unit
    from rolltop.toolsets.retrieval.store import Stamp

    Holding = Callable[[str, Sequence[Entry]], Collection[Entry]]

MOST: Final = 120
"""Places that an answer may reach; as many units of a root are weighed at least."""

_PROPOSED: Final = 120
"""Pieces of files that are looked into, of those that the index proposes."""

_SURELY_PROPOSED: Final = 40
"""Pieces that are looked into although much less speaks for them than for the first."""

_MUCH_LESS: Final = 0.4

_FEW_FILES: Final = 60
_FEW_BYTES: Final = 2 << 20
_MOST_LITERALS: Final = 8


@dataclass(frozen=True)
class Tree:
    """A root at the time of a search.

    `entries` are its chosen files as they are now, `units` what is known of them, and `file` what
    is kept on disk, None where nothing is. `chooses(entry)` says which files are wanted, and
    `holding(text, entries)` which of some files hold a text in any case.
    """

    roots: Roots
    units: RootUnits
    file: UnitFile | None
    entries: Sequence[Entry]
    chooses: Callable[[Entry], bool]
    holding: Holding

    @property
    def root(self) -> Root:
        """The root."""
        return self.units.root


class Ranking(NamedTuple):
    """The best places, best first.

    `unread` files hold some of the words too, or may; the index lacks them, and others were
    likelier, or there was no time. `wanted` are the texts that were looked for, in small letters.
    """

    places: list[Place]
    unread: int = 0
    wanted: frozenset[str] = frozenset()

    def preview(self, place: Place) -> str:
        """Return the few lines that show what a place is and why it was found."""
        return preview(place.own, self.wanted)


class _Candidate(NamedTuple):
    """A unit to be weighed, with its own text and its words."""

    path: str
    unit: Unit
    own: str
    fields: Fields


def search(
    trees: Sequence[Tree],
    text: str,
    *,
    limit: int,
    deadline: float,
    weights: Weights = CHOSEN,
    meaning: Meaning | None = None,
) -> Ranking:
    """Return the first `limit` places, best first; at most `MOST`. No text makes it fail.

    Equal scores are ordered by tree, path components and line. `deadline`, on the monotonic
    clock, ends the reading of files that the index does not hold. `meaning` orders the first
    places anew where the text is more than one word and the names of files.

    Raises:
        Unusable: what is kept on disk cannot be read.

    """
    sought = Sought.of(text)
    if not sought.phrase:
        return Ranking([])
    found = [_of_tree(tree, sought, deadline) for tree in trees]
    scale = Scale(sought, _together([one.statistics for one in found]), weights)
    places: list[tuple[tuple[object, ...], Place]] = []
    for number, (tree, one) in enumerate(zip(trees, found, strict=True)):
        weighed = [(candidate, scale.weigh(*candidate)) for candidate in one.candidates]
        worth = _files_worth(weighed)
        for (path, unit, own, _), (score, why) in weighed:
            if score > 0:
                whole = round(score + weights.file_mates * worth[path], 4)
                place = Place(tree.root.name, path, unit.line, unit.end_line, own, whole, why)
                places.append(((-whole, number, path.split("/"), unit.line), place))
    places.sort(key=lambda pair: pair[0])
    best = [place for _, place in places[:MOST]]
    if meaning is not None and sought.count > 1:
        best = meaning.reordered(best, [place.own for place in best])
    wanted = frozenset(sought.literals.values()) or frozenset({sought.phrase})
    return Ranking(best[:limit], sum(one.unread for one in found), wanted)


def _files_worth(weighed: Sequence[tuple[_Candidate, Weighed]]) -> dict[str, float]:
    """Return what the units of each file count for together: each next best one half as much."""
    scores: dict[str, list[float]] = {}
    for candidate, (score, _) in weighed:
        scores.setdefault(candidate.path, []).append(score)
    return {
        path: sum(ldexp(score, -at) for at, score in enumerate(sorted(of_file, reverse=True)))
        for path, of_file in scores.items()
    }


class _Indexed(NamedTuple):
    """What the index says of a query: how often words occur, and pieces of files, by these."""

    file: UnitFile
    known: Occurring
    pieces: dict[tuple[int, Entry], list[int]]


class _Found(NamedTuple):
    candidates: list[_Candidate]
    statistics: Statistics
    unread: int


def _of_tree(tree: Tree, sought: Sought, deadline: float) -> _Found:
    """Return the units of a tree that may answer, and how rare the words are in it."""
    lacking, indexed = _asked(tree, sought)
    occurrences: dict[str, int] = {}
    units = 0
    candidates: list[_Candidate] = []
    if indexed is not None:
        units, occurrences = indexed.known.pieces, dict(indexed.known.words)
        candidates += _candidates(tree, sought, indexed)
    wanted = [entry for entry in (lacking if sought.terms else tree.entries) if tree.chooses(entry)]
    few = len(wanted) <= _FEW_FILES and sum(entry.size for entry in wanted) <= _FEW_BYTES
    unread = len(wanted)
    if not few:
        held = _held(tree, sought, wanted)
        units += len(wanted)
        for term, entries in held.items():
            occurrences[term] = occurrences.get(term, 0) + len(entries)
        unread = len(frozenset(chain.from_iterable(held.values())))
        wanted = _likeliest(sought, wanted, held)
    for entry in wanted:
        if time.monotonic() > deadline:
            break
        unread -= 1
        text = _read(tree, entry)[1]
        candidates += _units(entry.relative, text)
        if few:  # the index will count the same of them
            counted = occurring_in(words_of(entry.relative, text), sought)
            units += counted.pieces
            for term, count in counted.words.items():
                occurrences[term] = occurrences.get(term, 0) + count
    return _Found(candidates, Statistics(units, occurrences), unread)


def _together(statistics: Sequence[Statistics]) -> Statistics:
    """Return what holds for all trees."""
    occurrences: dict[str, int] = {}
    for one in statistics:
        for term, count in one.occurrences.items():
            occurrences[term] = occurrences.get(term, 0) + count
    return Statistics(sum(one.units for one in statistics), occurrences)


def _asked(tree: Tree, sought: Sought) -> tuple[list[Entry], _Indexed | None]:
    """Return the files that the index lacks, and what it says of the others at the same time."""
    with tree.units.compared(tree.entries, tree.file) as lacking:
        if tree.file is None:
            return lacking, None
        known = occurring(tree.file, sought)
        return lacking, _Indexed(tree.file, known, _pieces(tree, tree.file, sought, known))


def _candidates(tree: Tree, sought: Sought, indexed: _Indexed) -> Iterator[_Candidate]:
    """Yield the likeliest units that the index proposes, with the text they have now."""
    file, known, pieces = indexed
    found: list[tuple[float, list[str], Unit, str, str]] = []
    telling = [(literal, known.rarity(term)) for term, literal in sought.literals.items()]
    for (number, entry), places in pieces.items():
        stamp, text = _read(tree, entry)
        if stamp != entry[1:5]:
            units, spans = units_of(entry.relative, text), [(0, len(text))]
        else:
            ends = ends_of(text)
            spans = [span_of(ends, place) for place in places if place < len(ends)]
            kept = file.units_of(number)
            units = units_of(entry.relative, text) if kept is None else kept
        for unit in _within(units, spans):
            own = unit.own(text)
            likely, path = _likely(telling, unit, own), entry.relative
            found.append((-likely, path.split("/"), unit, own, path))
    for _, _, unit, own, path in sorted(found)[:MOST]:
        yield _Candidate(path, unit, own, fields_of(path, unit, own))


def _pieces(
    tree: Tree, file: UnitFile, sought: Sought, known: Occurring
) -> dict[tuple[int, Entry], list[int]]:
    """Return the files of the pieces that are proposed, and which pieces of them."""
    found: dict[tuple[int, Entry], list[int]] = {}
    count, best = 0, 0.0
    for score, tied in proposed(file, sought, known):
        for number, entry, place in _first(tree, tied):
            best = best or score
            if count >= (_PROPOSED if score > _MUCH_LESS * best else _SURELY_PROPOSED):
                return found
            found.setdefault((number, entry), []).append(place)
            count += 1
    return found


def _first(tree: Tree, pieces: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Entry, int]]:
    """Yield the first of some pieces, by the path of their files and by their place there."""
    places: dict[int, list[int]] = {}
    for number, place in pieces:
        places.setdefault(number, []).append(place)
    wanted = [
        (entry.relative.split("/"), number, entry)
        for number in places
        if (entry := tree.units.entry(number)) is not None and tree.chooses(entry)
    ]
    for _, number, entry in nsmallest(_PROPOSED, wanted):
        for place in sorted(places[number]):
            yield number, entry, place


def _within(units: Iterable[Unit], spans: Sequence[tuple[int, int]]) -> Iterator[Unit]:
    """Yield the units, given in the order of their text, that have some in one of the spans."""
    ordered = sorted(spans)
    starts = [start for start, _ in ordered]
    for unit in units:
        for start, end in unit.spans:
            at = bisect_left(starts, end) - 1
            if at >= 0 and ordered[at][1] > start:
                yield unit
                break


def _likely(telling: Sequence[tuple[str, float]], unit: Unit, own: str) -> float:
    """Return roughly how well a unit answers: how much the words tell that are in it."""
    lowered, name = own.lower(), f"{unit.scope} {unit.name}".lower()
    total = 0.0
    for literal, rarity in telling:
        if literal in lowered:
            total += rarity
        if literal in name:
            total += 2 * rarity
    return total


def _read(tree: Tree, entry: Entry) -> tuple[Stamp, str]:
    """Return a file's state and text: no text where it cannot be read."""
    try:
        return read(tree.roots, tree.root, entry)
    except Unreadable:
        return (-1, 0, 0, 0), ""


def _units(path: str, text: str) -> Iterator[_Candidate]:
    """Yield the units of a file by its text."""
    for unit in units_of(path, text):
        own = unit.own(text)
        yield _Candidate(path, unit, own, fields_of(path, unit, own))


def _held(tree: Tree, sought: Sought, entries: Sequence[Entry]) -> dict[str, Collection[Entry]]:
    """Return for words of the query the files that hold them in their text or their path."""
    literals = sought.literals or {sought.phrase: sought.phrase.split()[0]}
    held: dict[str, Collection[Entry]] = {}
    for term, literal in islice(literals.items(), _MOST_LITERALS):
        named = {entry for entry in entries if literal in entry.relative.lower()}
        held[term] = named.union(tree.holding(literal, entries))
    return held


def _likeliest(
    sought: Sought, entries: Sequence[Entry], held: dict[str, Collection[Entry]]
) -> list[Entry]:
    """Return the files with most of the rare words, in order: the first by path of those alike."""
    worth: dict[Entry, float] = {}
    for holders in held.values():
        rarity = log(1 + len(entries) / (1 + len(holders)))
        for entry in holders:
            named = any(plain in entry.relative.lower() for plain in sought.files)
            worth[entry] = worth.get(entry, 0.0) + rarity * (1 + named)
    ordered = sorted(worth, key=lambda entry: (-worth[entry], entry.relative.split("/")))
    return ordered[:_FEW_FILES]
