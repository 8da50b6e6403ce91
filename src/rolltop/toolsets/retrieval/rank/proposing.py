"""Which pieces of files may answer a query, by the words that are kept of them."""

from __future__ import annotations

from bisect import bisect_right
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.search.terms import chosen, is_beginning
from rolltop.toolsets.retrieval.rank.pieces import NAME, PATH
from rolltop.toolsets.retrieval.rank.unitfile import quoted, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rolltop.toolsets.retrieval.rank.unitfile import UnitFile
    from rolltop.toolsets.retrieval.rank.words import Sought

MOST: Final = 3_000
"""Pieces that an expression may propose to be compared."""

_NAME_COUNTS: Final = 1.5
_PATH_COUNTS: Final = 0.5
_MOST_FILES: Final = 400
"""Files that are proposed for a word of their path."""


class Occurring(NamedTuple):
    """How many pieces there are, and how many have each word in their text and in a name."""

    pieces: int
    words: Mapping[str, int]
    names: Mapping[str, int]

    def rarity(self, word: str) -> float:
        """Return how much a word tells, above 0."""
        having = min(self.words[word], self.pieces)
        return log(1 + (self.pieces - having + 0.5) / (having + 0.5))


def occurring(file: UnitFile, sought: Sought) -> Occurring:
    """Return how often the words of a query occur.

    A name that is kept by its parts alone occurs at most where all of them do.
    """
    terms = sought.terms
    words = file.occurrences(terms)
    for term in terms:
        if term in sought.wholes or is_beginning(term):
            words[term] += len(file.meeting(_sought(sought, term), MOST))
    named = file.occurrences(f"{NAME}{term}" for term in terms)
    return Occurring(file.pieces(), words, {term: named[f"{NAME}{term}"] for term in terms})


def occurring_in(pieces: Sequence[str], sought: Sought) -> Occurring:
    """Return how often the words of a query occur in pieces, by the words of each: as `occurring`.

    Names are not looked for.
    """
    counts = dict.fromkeys(sought.terms, 0)
    for held in pieces:
        words = frozenset(held.split())
        for term in sought.terms:
            counts[term] += term in words
            if term in sought.wholes:
                counts[term] += words.issuperset(sought.wholes[term])
            elif is_beginning(term):
                counts[term] += any(word.startswith(term) for word in words)
    return Occurring(len(pieces), counts, {})


def proposed(
    file: UnitFile, sought: Sought, known: Occurring
) -> Iterator[tuple[float, list[tuple[int, int]]]]:
    """Yield what speaks for pieces, the most first, and the file and place there of each of these.

    Their order among themselves says nothing: it is the one that files happened to be read in.
    """
    scores = _by_text(file, sought, known)
    _add_paths(file, known, scores)
    tied: dict[float, list[int]] = {}
    for piece, score in scores.items():
        tied.setdefault(score, []).append(piece)
    for score in sorted(tied, reverse=True):
        yield score, file.files_of(tied[score])


def _by_text(file: UnitFile, sought: Sought, known: Occurring) -> dict[int, float]:
    """Return what pieces count for by their text and the names in it."""
    texts = {term: count for term, count in known.words.items() if term not in sought.wholes}
    text, everywhere = _chosen(file, texts, "")
    names, _ = _chosen(file, known.names, NAME)
    # Of words that are everywhere the names tell enough, where there are any.
    expressions = [one for one in ("" if everywhere and names else text, names) if one]
    if not expressions:
        return {}
    within = " OR ".join(f"({one})" for one in expressions)
    scores: dict[int, float] = {}
    for term, count in known.words.items():
        rarity = known.rarity(term)
        if count:
            _add(file, f"({within}) AND ({_sought(sought, term)})", rarity, scores)
        if known.names[term]:
            named = quoted(f"{NAME}{term}")
            _add(file, f"({within}) AND {named}", _NAME_COUNTS * rarity, scores)
    return scores


def _chosen(file: UnitFile, occurrences: Mapping[str, int], mark: str) -> tuple[str, bool]:
    """Return an expression that `MOST` pieces meet, or else more do; "" where no word occurs."""
    marked = {f"{mark}{term}": count for term, count in occurrences.items()}
    if not any(marked.values()):
        return "", False
    expression, _, cut = chosen(marked, lambda one, most: len(file.meeting(said(one), most)), MOST)
    return said(expression), cut


def _add(file: UnitFile, expression: str, worth: float, scores: dict[int, float]) -> None:
    for piece in file.meeting(expression):
        scores[piece] = scores.get(piece, 0.0) + worth


def _sought(sought: Sought, term: str) -> str:
    """Return what finds a word: all the parts of a name that is kept by them."""
    return said((sought.wholes[term],)) if term in sought.wholes else quoted(term)


def _add_paths(file: UnitFile, known: Occurring, scores: dict[int, float]) -> None:
    """Add what pieces count for by their files' paths; a file's first piece speaks for it."""
    worth: dict[int, float] = {}
    for term in known.words:
        found = file.meeting(quoted(f"{PATH}{term}"), _MOST_FILES + 1)
        if len(found) <= _MOST_FILES:
            for number in found:
                worth[number] = worth.get(number, 0.0) + _PATH_COUNTS * known.rarity(term)
    if not worth:
        return
    numbers = sorted(worth)
    spans = file.pieces_of(numbers)
    for piece in scores:
        at = bisect_right(numbers, piece) - 1
        if at >= 0 and piece in spans[at]:
            scores[piece] += worth[numbers[at]]
    for number in numbers:
        scores.setdefault(number, worth[number])
