"""Files that the index does not hold as they are: all are read where they are few.

Of many it is those that hold most of the query's rare words, which are found without the index.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain, islice
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.retrieval.rank.pieces import words_of
from rolltop.toolsets.retrieval.rank.proposing import Having, enough, having, in_turns
from rolltop.toolsets.retrieval.rank.trees import Proposal
from rolltop.toolsets.retrieval.rank.weighing import Statistics

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.rank.trees import Tree
    from rolltop.toolsets.retrieval.rank.words import Sought
    from rolltop.toolsets.retrieval.store import Stamp

_FEW_FILES: Final = 60
_FEW_BYTES: Final = 2 << 20
_MOST_LITERALS: Final = 8


class Read(NamedTuple):
    """A file that was read, and which words of the query its pieces have."""

    entry: Entry
    stamp: Stamp
    pieces: list[Having]


class Unkept(NamedTuple):
    """What was read, how rare the words are in it, and how many files were left out."""

    files: list[Read]
    statistics: Statistics
    unread: int


def looked_at(tree: Tree, sought: Sought, lacking: Sequence[Entry], deadline: float) -> Unkept:
    """Read of some files those that may answer, until the deadline on the monotonic clock."""
    wanted = list(filter(tree.chooses, lacking))
    few = next(filter(_are_few, (lacking, wanted)), None)
    if few is None:
        held = _held(tree, sought, wanted)
        reading = _likeliest(sought, wanted, held)
        unread = len(frozenset(chain.from_iterable(held.values())))
        units, counts = len(wanted), {term: len(entries) for term, entries in held.items()}
    else:  # the index will count the same of them
        reading, unread, units = few, len(wanted), 0
        counts = dict.fromkeys(sought.terms, 0)
    files: list[Read] = []
    for entry in reading:
        if time.monotonic() > deadline:
            break
        stamp, text = tree.read(entry)
        pieces = having(words_of(entry.relative, text), sought)
        if few is not None:
            units += len(pieces)
            for term in chain.from_iterable(piece.text for piece in pieces):
                counts[term] += 1
        if few is not lacking or tree.chooses(entry):
            unread -= 1
            files.append(Read(entry, stamp, pieces))
    return Unkept(files, Statistics(units, counts), unread)


def likely(files: Sequence[Read], sought: Sought, statistics: Statistics) -> list[Proposal]:
    """Return the pieces that may answer, by their files: those for which most speaks, and first.

    They are those that the index would propose if it held the files.
    """
    tied: dict[float, dict[int, list[int]]] = {}
    for number, file in enumerate(files):
        for place, piece in enumerate(file.pieces):
            worth = piece.worth(file.pieces[0].path, statistics)
            if worth > 0:
                tied.setdefault(worth, {}).setdefault(number, []).append(place)
    worths = (
        (worth, in_turns((files[at].entry.relative, files[at], some) for at, some in alike.items()))
        for worth, alike in sorted(tied.items(), reverse=True)
    )
    found: dict[Entry, Proposal] = {}
    for file, place in enough(worths, sought):
        proposal = found.setdefault(file.entry, Proposal(file.entry, file.stamp, None, []))
        proposal.places.append(place)
    return list(found.values())


class Holders(NamedTuple):
    """Files that hold texts which the index knows nothing of, how many have each, and are left."""

    entries: list[Entry]
    counts: dict[str, int]
    unread: int


def holders(tree: Tree, sought: Sought) -> Holders:
    """Return the files that may hold what no index proposes: a text without words, long numbers.

    Those with most of it come first.
    """
    if sought.terms and not sought.unkept:
        return Holders([], {}, 0)
    wanted = list(filter(tree.chooses, tree.entries))
    if sought.terms:
        texts = {term: sought.literals[term] for term in sorted(sought.unkept)[:_MOST_LITERALS]}
    else:  # the longest of its lines, for files are looked through by lines
        texts = {sought.phrase: max(sought.phrase.splitlines(), key=len)}
        if _are_few(wanted):
            return Holders(wanted, {}, 0)
    held = {term: tree.holding(literal, wanted) for term, literal in texts.items()}
    often = Counter(chain.from_iterable(held.values()))
    ordered = sorted(often, key=lambda entry: (-often[entry], entry.relative.split("/")))
    counts = {term: len(entries) for term, entries in held.items()}
    return Holders(ordered[:_FEW_FILES], counts, len(ordered[_FEW_FILES:]))


def _are_few(entries: Sequence[Entry]) -> bool:
    return len(entries) <= _FEW_FILES and sum(entry.size for entry in entries) <= _FEW_BYTES


def _held(tree: Tree, sought: Sought, entries: Sequence[Entry]) -> dict[str, Collection[Entry]]:
    """Return for words of the query the files that hold them in their text or their path.

    `holders` does for those that no index keeps.
    """
    literals = sought.literals or {sought.phrase: sought.phrase.split()[0]}
    literals = {term: text for term, text in literals.items() if term not in sought.unkept}
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
    for holders_of_word in held.values():
        rarity = log(1 + len(entries) / (1 + len(holders_of_word)))
        for entry in holders_of_word:
            named = any(plain in entry.relative.lower() for plain in sought.files)
            worth[entry] = worth.get(entry, 0.0) + rarity * (1 + named)
    ordered = sorted(worth, key=lambda entry: (-worth[entry], entry.relative.split("/")))
    return ordered[:_FEW_FILES]
