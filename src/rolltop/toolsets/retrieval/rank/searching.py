"""Ranked search: the units of files that answer best what a person typed.

The index proposes pieces of files, and so do the words of files that it does not hold as they
are. The units in these pieces are weighed by the text their files have now.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from heapq import nsmallest
from itertools import chain
from math import inf, ldexp
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.retrieval.models import Place
from rolltop.toolsets.retrieval.rank.named import named
from rolltop.toolsets.retrieval.rank.pieces import ends_of, span_of
from rolltop.toolsets.retrieval.rank.previews import preview
from rolltop.toolsets.retrieval.rank.proposing import enough, in_turns, occurring, proposed
from rolltop.toolsets.retrieval.rank.trees import Proposal, Tree
from rolltop.toolsets.retrieval.rank.units import units_of
from rolltop.toolsets.retrieval.rank.unkept import holders, likely, looked_at
from rolltop.toolsets.retrieval.rank.weighing import AHEAD, CHOSEN, Scale, Statistics
from rolltop.toolsets.retrieval.rank.words import Sought

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.rank.meaning import Meaning
    from rolltop.toolsets.retrieval.rank.proposing import Occurring
    from rolltop.toolsets.retrieval.rank.unitfile import UnitFile
    from rolltop.toolsets.retrieval.rank.units import Unit
    from rolltop.toolsets.retrieval.rank.weighing import Weighed, Weights

    _Telling = Sequence[tuple[str, float]]
    """Texts in small letters, and how much each tells."""

MOST: Final = 120
"""Places that an answer may reach; as many units of a root are weighed at most."""

_SURELY: Final = 4
"""Units of a file that is named that are weighed, whatever else there is."""


class Ranking(NamedTuple):
    """The best places, best first.

    `unread` files hold some of the words too, or may: ones that the index lacks where others were
    likelier or there was no time, or, of what it cannot propose, more than are looked into.
    `wanted` are the texts that were looked for, in small letters.
    """

    places: list[Place]
    unread: int = 0
    wanted: frozenset[str] = frozenset()

    def preview(self, place: Place) -> str:
        """Return the few lines that show what a place is and why it was found."""
        return preview(place.own, self.wanted)


class _Candidate(NamedTuple):
    """A unit to be weighed, with its own text, and whether none of its file comes before it."""

    path: str
    unit: Unit
    own: str
    is_first: bool


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
        for candidate, score, why in _weighed(one, scale, weights):
            path, unit, own, _ = candidate
            place = Place(tree.root.name, path, unit.line, unit.end_line, own, score, why)
            places.append(((-score, number, path.split("/"), unit.line), place))
    places.sort(key=lambda pair: pair[0])
    best = [place for _, place in places[:MOST]]
    if meaning is not None and sought.count > 1:
        best = meaning.reordered(best, [place.own for place in best])
    wanted = frozenset(sought.literals.values()) or frozenset({sought.phrase})
    return Ranking(best[:limit], sum(one.unread for one in found), wanted)


def _weighed(
    found: _Found, scale: Scale, weights: Weights
) -> Iterator[tuple[_Candidate, float, tuple[str, ...]]]:
    """Yield the units that answer, how well they do with the others of their files, and why."""
    weighed = [
        (one, scale.weigh(one.path, one.unit, one.own, is_first=one.is_first))
        for one in found.candidates
    ]
    worth = _files_worth(weighed)
    ahead = _ahead(weighed, found.named)
    for candidate, (score, why) in weighed:
        if score > 0:
            whole = score + weights.file_mates * worth[candidate.path] + ahead.get(candidate, 0.0)
            yield candidate, round(whole, 4), why


def _files_worth(weighed: Sequence[tuple[_Candidate, Weighed]]) -> dict[str, float]:
    """Return what the units of each file count for together: each next best one half as much."""
    scores: dict[str, list[float]] = {}
    for candidate, (score, _) in weighed:
        scores.setdefault(candidate.path, []).append(score)
    return {
        path: sum(ldexp(score, -at) for at, score in enumerate(sorted(of_file, reverse=True)))
        for path, of_file in scores.items()
    }


def _ahead(
    weighed: Sequence[tuple[_Candidate, Weighed]], named: Mapping[str, int]
) -> dict[_Candidate, float]:
    """Return what the best unit of each file that is named counts for on top."""
    best: dict[str, tuple[tuple[float, int], _Candidate]] = {}
    for candidate, (score, _) in weighed:
        if candidate.path in named:
            rank = score, -candidate.unit.line
            if candidate.path not in best or rank > best[candidate.path][0]:
                best[candidate.path] = rank, candidate
    return {candidate: AHEAD * named[path] for path, (_, candidate) in best.items()}


class _Found(NamedTuple):
    """The units of a tree that may answer, how rare the words are in it, and the files it left out.

    `named` says of files, by their paths, how many steps they come before others for their names.
    """

    candidates: list[_Candidate]
    statistics: Statistics
    unread: int
    named: Mapping[str, int]


def _of_tree(tree: Tree, sought: Sought, deadline: float) -> _Found:
    """Return the units of a tree that may answer, and how rare the words are in it."""
    beside = holders(tree, sought)
    if not sought.terms:
        whole = _whole(tree, beside.entries)
        candidates, left = _candidates(tree, whole, [(sought.phrase, 1.0)], deadline)
        return _Found(candidates, Statistics(0, {}), beside.unread + left, {})
    lacking, known, proposals = _asked(tree, sought, beside.counts)
    now = time.monotonic()
    unkept = looked_at(tree, sought, lacking, now + (deadline - now) / 2)
    statistics = _together([known, unkept.statistics]).at_least(beside.counts)
    proposals += likely(unkept.files, sought, statistics)
    telling = [(literal, statistics.rarity(term)) for term, literal in sought.literals.items()]
    meant = named(tree, sought)
    entire = dict.fromkeys([*meant, *beside.entries])
    proposals = [one for one in proposals if one.entry not in entire]
    proposals = [*_whole(tree, entire), *proposals]
    candidates, left = _candidates(tree, proposals, telling, deadline, meant)
    steps = {entry.relative: count for entry, count in meant.items()}
    return _Found(candidates, statistics, unkept.unread + beside.unread + left, steps)


def _whole(tree: Tree, entries: Iterable[Entry]) -> list[Proposal]:
    """Return all of some files as what may answer."""
    return [Proposal(entry, entry[1:5], tree.units.number(entry), []) for entry in entries]


def _together(statistics: Sequence[Statistics]) -> Statistics:
    """Return what holds for all trees."""
    occurrences: dict[str, int] = {}
    for one in statistics:
        for term, count in one.occurrences.items():
            occurrences[term] = occurrences.get(term, 0) + count
    return Statistics(sum(one.units for one in statistics), occurrences)


def _asked(
    tree: Tree, sought: Sought, beside: Mapping[str, int]
) -> tuple[list[Entry], Statistics, list[Proposal]]:
    """Return the files that the index lacks, and what it says of the others at the same time."""
    with tree.units.compared(tree.entries, tree.file) as lacking:
        if tree.file is None:
            return lacking, Statistics(0, {}), []
        known = occurring(tree.file, sought, beside)
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
    tree: Tree,
    proposals: Sequence[Proposal],
    telling: _Telling,
    deadline: float,
    meant: Collection[Entry] = (),
) -> tuple[list[_Candidate], int]:
    """Return the likeliest units in pieces of files, with the text they have now.

    Of files that are meant some surely are among them. At the deadline files are left out that
    have to be cut first: the second is their number.
    """
    late: list[Proposal] = []
    found = (
        (-likely, one.path.split("/"), one.unit.line, one)
        for proposal in proposals
        for likely, one in _likeliest(
            _units(tree, proposal, deadline, late), telling, are_meant=proposal.entry in meant
        )
    )
    return [one for *_, one in nsmallest(MOST, found)], len(late)


def _likeliest(
    units: Iterable[_Candidate], telling: _Telling, *, are_meant: bool
) -> Iterable[tuple[float, _Candidate]]:
    """Return units of a file, and how likely they answer; of those meant some more than any."""
    rated = ((_likely(telling, one.unit, one.own), one) for one in units)
    if not are_meant:
        return rated
    ordered = sorted(rated, key=lambda pair: (not pair[1].is_first, -pair[0], pair[1].unit.line))
    surely = [(inf, one) for _, one in ordered[:_SURELY]]
    return chain(surely, ordered[_SURELY:])


def _units(
    tree: Tree, proposal: Proposal, deadline: float, late: list[Proposal]
) -> Iterator[_Candidate]:
    """Yield the units in pieces of a file and their texts, or add it to what comes too late."""
    entry, stamp, number, places = proposal
    kept = None if number is None or tree.file is None else tree.file.units_of(number)
    if kept is None and time.monotonic() > deadline:
        late.append(proposal)
        return
    now, text = tree.read(entry)
    units = units_of(entry.relative, text) if kept is None or now != stamp else kept
    if now != stamp or not places:
        spans = [(0, len(text))]
    else:
        ends = ends_of(text)
        spans = [span_of(ends, place) for place in places if place < len(ends)]
    for unit in _within(units, spans):
        yield _Candidate(entry.relative, unit, unit.own(text), unit is units[0])


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
