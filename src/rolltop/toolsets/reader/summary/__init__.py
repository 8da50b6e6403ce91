"""Summaries in the document's own sentences, each with its line, within a token bound.

`analyse` reads a document once; `compose` writes a summary of any style and bound from what
was found. Both are functions of the text alone: the same bytes give the same summary.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.reader.summary import cues
from rolltop.toolsets.reader.summary.composing import Entry, Summary, compose, short_title
from rolltop.toolsets.reader.summary.prose import DATA_KINDS, Seen, paragraphs
from rolltop.toolsets.reader.summary.ranking import Ranking
from rolltop.toolsets.reader.summary.sampling import open_fences, windows
from rolltop.toolsets.reader.summary.sentences import Sentence, clipped, is_telling, sentences
from rolltop.toolsets.reader.summary.stated import Stated, Stretch, stated
from rolltop.toolsets.reader.summary.words import key_terms, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "SAMPLE",
    "Entry",
    "Material",
    "Sentence",
    "Summary",
    "analyse",
    "compose",
    "is_telling",
    "short_title",
]

SAMPLE: Final = 160_000
"""Characters of a document that are read for sentences; a longer one is sampled evenly."""
_WINDOWS: Final = 40
_MOST_SENTENCES: Final = 6_000
_KEYWORDS: Final = 8
_OPENING: Final = 40
_BEGINNING: Final = 20_000
"""Characters at the start of a document that count as its beginning."""
_CITATION: Final = re.compile(
    r"\[\d{1,3}(?: ?[,\u2013-] ?\d{1,3}){0,20}\](?![(:])|"
    r"\([A-Z][\w'\u2019-]{1,40}(?: et al\.?| (?:and|&) [A-Z][\w'\u2019-]{1,40})?"
    r",? (?:19|20)\d\d[a-z]?\)"
)
_REFERENCES: Final = re.compile(r"(?i)\W*(?:[\divx]+[.)]? +)?(?:references|bibliography|literatur)")
_METHODS: Final = re.compile(
    r"(?i)\b(?:methods?|methodology|materials|procedures?|approach|implementation|experiments?|"
    r"usage|installation|setup|configuration|algorithm|protocol)\b"
)


@dataclass(frozen=True)
class Material:
    """What a summary of a document may be made of, and what the document holds besides."""

    entries: Sequence[Entry]
    stated: Stated
    terms: tuple[str, ...]
    ranking: Ranking
    sentences: int
    opening: tuple[Sentence, ...]
    """The first lines, for a document without a sentence."""
    seen: Seen
    citing: frozenset[int]
    """Lines of sentences that cite; holds 0 where there is a list of references."""
    methods: frozenset[int]
    """Lines of sentences in sections on how something is done."""
    sampled: bool


def analyse(text: str, kind: str, entries: Sequence[Entry], starts: Sequence[int]) -> Material:
    """Return what the document may be summarised by.

    `entries` are its sections in order and `starts` the offsets of their first lines.
    """
    stretches = _stretches(text, entries, starts)
    seen = Seen(code=kind in DATA_KINDS or "```" in text, figures="![" in text)
    titles = [entry.title for entry in entries]
    found = _sentences(text, kind, entries, starts, seen)
    words = words_of(sentence.text for sentence in found)
    genre = cues.genre_of(kind, text[:40_000].split("\n"), titles)
    firsts = [entry.start_line for entry in entries]
    ranking = Ranking(found, words, _bonus(genre, titles, firsts))
    citing = {s.line for s in found if genre != "source" and _cites(s.text)}
    if any(_REFERENCES.match(title) for title in titles):
        citing.add(0)
    return Material(
        entries=entries,
        stated=stated(text, kind, stretches),
        terms=tuple(key_terms(words, ranking.weights, _KEYWORDS)),
        ranking=ranking,
        sentences=len(found),
        opening=tuple(islice(_first_lines(text), _OPENING)),
        seen=seen,
        citing=frozenset(citing),
        methods=frozenset(_lines_on_methods(found, titles, firsts)),
        sampled=len(text) > SAMPLE,
    )


def _cites(text: str) -> bool:
    """Whether a sentence names a source."""
    return ("[" in text or "(" in text) and _CITATION.search(text) is not None


def _lines_on_methods(
    found: Sequence[Sentence], titles: Sequence[str], firsts: Sequence[int]
) -> set[int]:
    """Return the lines of the sentences in sections on how something is done."""
    methods = {at for at, title in enumerate(titles) if _METHODS.search(title)}
    if not methods:
        return set()
    return {s.line for s in found if bisect_right(firsts, s.line) - 1 in methods}


def _first_lines(text: str) -> Iterator[Sentence]:
    """Yield the lines of a document's beginning that are not blank."""
    for number, line in enumerate(text[:_BEGINNING].split("\n"), 1):
        if line.strip():
            yield Sentence(clipped(line.strip()), number, opens=True)


def _stretches(text: str, entries: Sequence[Entry], starts: Sequence[int]) -> list[Stretch]:
    """Return each section's own text, up to the next title."""
    ends = [*starts[1:], len(text)] if starts else []
    return [
        Stretch(entry.title, entry.level, entry.start_line, start, end)
        for entry, start, end in zip(entries, starts, ends, strict=True)
    ]


def _sentences(
    text: str, kind: str, entries: Sequence[Entry], starts: Sequence[int], seen: Seen
) -> list[Sentence]:
    """Return the document's telling sentences, from an even sample where it is long."""
    stretches = windows(text, SAMPLE, _WINDOWS, list(starts))
    headings = {entry.start_line for entry in entries}
    by_line = cues.genre_of(kind, text[:40_000].split("\n"), []) in {"log", "transcript"}
    fences = [""] * len(stretches)
    if len(stretches) > 1 and kind == "markdown":
        fences = open_fences(text, [window.start for window in stretches])

    def every() -> Iterator[Sentence]:
        for (line, _, part), fence in zip(stretches, fences, strict=True):
            for paragraph in paragraphs(
                part, kind, first_line=line, headings=headings, seen=seen, fence=fence,
                by_line=by_line,
            ):  # fmt: skip
                yield from sentences(paragraph)

    return list(islice(every(), _MOST_SENTENCES))


def _bonus(
    genre: cues.Genre, titles: Sequence[str], firsts: Sequence[int]
) -> Callable[[Sentence], float]:
    """Return the factor for what marks a sentence as telling, besides its words."""
    telling = {at for at, title in enumerate(titles) if cues.is_telling_section(title)}

    def bonus(sentence: Sentence) -> float:
        factor = cues.OPENING_BONUS if sentence.opens else 1.0
        if cues.has_cue(genre, sentence.text):
            factor *= cues.CUE_BONUS
        if bisect_right(firsts, sentence.line) - 1 in telling:
            factor *= cues.SECTION_BONUS
        return factor

    return bonus
