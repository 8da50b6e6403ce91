"""Ranked search: the units of files that answer best what a person typed.

The index proposes pieces of files, and so do the words of files that it does not hold as they
are. The units in these pieces are weighed by the text their files have now.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from heapq import nsmallest
from math import ldexp
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.retrieval.models import Place
from rolltop.toolsets.retrieval.rank.pieces import ends_of, span_of
from rolltop.toolsets.retrieval.rank.previews import preview
from rolltop.toolsets.retrieval.rank.proposing import enough, in_turns, occurring, proposed
from rolltop.toolsets.retrieval.rank.trees import Proposal, Tree
from rolltop.toolsets.retrieval.rank.units import units_of
from rolltop.toolsets.retrieval.rank.unkept import holders, likely, looked_at
from rolltop.toolsets.retrieval.rank.weighing import CHOSEN, Scale, Statistics, Weighed, Weights
from rolltop.toolsets.retrieval.rank.words import Fields, Sought, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.rank.meaning import Meaning
    from rolltop.toolsets.retrieval.rank.proposing import Occurring
    from rolltop.toolsets.retrieval.rank.unitfile import UnitFile
    from rolltop.toolsets.retrieval.rank.units import Unit

    _Telling = Sequence[tuple[str, float]]
    """Texts in small letters, and how much each tells."""

MOST: Final = 120
"""Places that an answer may reach; as many units of a root are weighed at most."""


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


class _Found(NamedTuple):
    candidates: list[_Candidate]
    statistics: Statistics
    unread: int


def _of_tree(tree: Tree, sought: Sought, deadline: float) -> _Found:
    """Return the units of a tree that may answer, and how rare the words are in it."""
    if not sought.terms:
        entries, unread = holders(tree, sought.phrase)
        whole = [Proposal(entry, entry[1:5], None, []) for entry in entries]
        candidates, left = _candidates(tree, whole, [(sought.phrase, 1.0)], deadline)
        return _Found(candidates, Statistics(0, {}), unread + left)
    lacking, known, proposals = _asked(tree, sought)
    now = time.monotonic()
    unkept = looked_at(tree, sought, lacking, now + (deadline - now) / 2)
    statistics = _together([known, unkept.statistics])
    proposals += likely(unkept.files, sought, statistics)
    telling = [(literal, statistics.rarity(term)) for term, literal in sought.literals.items()]
    candidates, left = _candidates(tree, proposals, telling, deadline)
    return _Found(candidates, statistics, unkept.unread + left)


def _together(statistics: Sequence[Statistics]) -> Statistics:
    """Return what holds for all trees."""
    occurrences: dict[str, int] = {}
    for one in statistics:
        for term, count in one.occurrences.items():
            occurrences[term] = occurrences.get(term, 0) + count
    return Statistics(sum(one.units for one in statistics), occurrences)


def _asked(tree: Tree, sought: Sought) -> tuple[list[Entry], Statistics, list[Proposal]]:
    """Return the files that the index lacks, and what it says of the others at the same time."""
    with tree.units.compared(tree.entries, tree.file) as lacking:
        if tree.file is None:
            return lacking, Statistics(0, {}), []
        known = occurring(tree.file, sought)
        return lacking, known.statistics, _proposals(tree, tree.file, sought, known)


def _proposals(tree: Tree, file: UnitFile, sought: Sought, known: Occurring) -> list[Proposal]:
    """Return the pieces that the index proposes, by their files."""
    found: dict[int, Proposal] = {}
    worths = ((worth, _first(tree, tied)) for worth, tied in proposed(file, sought, known))
    for (number, entry), place in enough(worths, sought):
        proposal = found.setdefault(number, Proposal(entry, entry[1:5], number, []))
        proposal.places.append(place)
    return list(found.values())


def _first(
    tree: Tree, pieces: Sequence[tuple[int, int]]
) -> Iterator[tuple[tuple[int, Entry], int]]:
    """Yield the first of some pieces that answer alike: number and file, and the place there."""
    places: dict[int, list[int]] = {}
    for number, place in pieces:
        places.setdefault(number, []).append(place)
    return in_turns(
        (entry.relative, (number, entry), some)
        for number, some in places.items()
        if (entry := tree.units.entry(number)) is not None and tree.chooses(entry)
    )


def _candidates(
    tree: Tree, proposals: Sequence[Proposal], telling: _Telling, deadline: float
) -> tuple[list[_Candidate], int]:
    """Return the likeliest units in pieces of files, with the text they have now.

    At the deadline files are left out that have to be cut first: the second is their number.
    """
    late: list[Proposal] = []
    found = (
        (-_likely(telling, unit, own), proposal.entry.relative.split("/"), unit, own)
        for proposal in proposals
        for unit, own in _units(tree, proposal, deadline, late)
    )
    likeliest = nsmallest(MOST, found)
    paths = ("/".join(parts) for _, parts, _, _ in likeliest)
    return [
        _Candidate(path, unit, own, fields_of(path, unit, own))
        for path, (_, _, unit, own) in zip(paths, likeliest, strict=True)
    ], len(late)


def _units(
    tree: Tree, proposal: Proposal, deadline: float, late: list[Proposal]
) -> Iterator[tuple[Unit, str]]:
    """Yield the units in pieces of a file and their texts, or add it to what comes too late."""
    entry, stamp, number, places = proposal
    kept = None if number is None or tree.file is None else tree.file.units_of(number)
    if kept is None and time.monotonic() > deadline:
        late.append(proposal)
        return
    now, text = tree.read(entry)
    if now != stamp or not places:
        units, spans = units_of(entry.relative, text), [(0, len(text))]
    else:
        ends = ends_of(text)
        spans = [span_of(ends, place) for place in places if place < len(ends)]
        units = units_of(entry.relative, text) if kept is None else kept
    for unit in _within(units, spans):
        yield unit, unit.own(text)


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


def _likely(telling: _Telling, unit: Unit, own: str) -> float:
    """Return roughly how well a unit answers: how much the words tell that are in it."""
    lowered, name = own.lower(), f"{unit.scope} {unit.name}".lower()
    total = 0.0
    for literal, rarity in telling:
        if literal in lowered:
            total += rarity
        if literal in name:
            total += 2 * rarity
    return total
