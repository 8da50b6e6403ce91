"""What a document offers to a summary: ranked sentences, metadata, and what else it holds."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.core.text.lines import line_starts as starts_of_lines
from rolltop.toolsets.reader.summary.comments import FURTHER_SOURCES
from rolltop.toolsets.reader.summary.metadata import DocumentMetadata, TextSpan, read_metadata
from rolltop.toolsets.reader.summary.prose import (
    DATA_KINDS,
    ContentKinds,
    ProseReader,
    Sentence,
    truncate_sentence,
    visible_text,
)
from rolltop.toolsets.reader.summary.ranking import SentenceRanking, detect_genre

if TYPE_CHECKING:
    from rolltop.documents.outline import Section

KINDS_OF_TEXT: Final = {
    **dict.fromkeys(("csv", "tsv"), "csv"),
    **dict.fromkeys(("jsonl", "ndjson"), "json"),
    **{ending: ending for ending in FURTHER_SOURCES},
}
"""What texts without an outline of their own are, by their extensions: rows of data or programs."""
SAMPLE_CHARACTERS: Final = 160_000
"""A longer document is sampled evenly for sentences."""
_WINDOWS: Final = 40
_MAX_SENTENCES: Final = 6_000
_MAX_KEYWORDS: Final = 8
_OPENING_LINES: Final = 40
_OPENING_CHARACTERS: Final = 20_000
_GENRE_CHARACTERS: Final = 40_000
_SENTENCE_END: Final = re.compile(r"[.!?]\s|[\u3002\uff01\uff1f]")
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
    """What summaries of a document are made from.

    `costs` are the tokens of the sections, `opening` the first lines. `citing` are the lines of
    sentences that cite, and 0 for a list of references; `methods` those in sections on methods.
    """

    sections: Sequence[Section]
    costs: Sequence[int]
    metadata: DocumentMetadata
    terms: Sequence[str]
    ranking: SentenceRanking
    has_sentences: bool
    opening: Sequence[Sentence]
    seen: ContentKinds
    citing: frozenset[int]
    methods: frozenset[int]
    sampled: bool


def analyze(
    text: str,
    kind: str,
    sections: Sequence[Section],
    costs: Sequence[int],
    line_starts: Sequence[int],
) -> Material:
    """Read a document for what summaries of it are made from."""
    titles = [section.title for section in sections]
    lines = [section.start_line for section in sections]
    genre = detect_genre(kind, text[:_GENRE_CHARACTERS].split("\n"), titles)
    is_code = kind in DATA_KINDS - {"csv"} or "```" in text
    seen = ContentKinds(code=is_code, tables=kind == "csv", figures="![" in text)
    opening = list(islice(_first_lines(text), _OPENING_LINES))
    visible = visible_text(text, kind, seen)
    if visible is not text:
        text, line_starts = visible, starts_of_lines(visible + ".")  # the last line may be blank
    offsets = [line_starts[line - 1] for line in lines]
    spans = [
        TextSpan(section.title, section.level, section.start_line, start, end)
        for section, start, end in zip(sections, offsets, [*offsets[1:], len(text)], strict=False)
    ]
    reader = ProseReader(kind, seen, frozenset(lines), by_line=genre in {"log", "transcript"})
    sentences: list[Sentence] = []
    cites = any(map(_REFERENCES.match, titles))
    for line, part, is_sample in _parts(text, offsets):
        if is_sample:
            sentences += reader.sentences(part, line)
        elif prose := reader.skip(part, line):
            cites = cites or (genre != "source" and _CITATION.search(prose) is not None)
    del sentences[_MAX_SENTENCES:]
    ranking = SentenceRanking(sentences, genre, titles, lines)
    citing = {s.line for s in sentences if genre != "source" and _CITATION.search(s.text)}
    on_methods = {at for at, title in enumerate(titles) if _METHODS.search(title)}
    methods = {s.line for s in sentences if bisect_right(lines, s.line) - 1 in on_methods}
    is_sampled = len(text) > SAMPLE_CHARACTERS
    return Material(
        sections=sections,
        costs=costs,
        metadata=read_metadata(text, kind, spans),
        terms=ranking.key_terms(_MAX_KEYWORDS),
        ranking=ranking,
        has_sentences=bool(sentences),
        opening=opening,
        seen=seen,
        citing=frozenset(citing | {0} if cites else citing),
        methods=frozenset(methods | {0} if is_sampled and on_methods else methods),
        sampled=is_sampled,
    )


def _parts(text: str, section_offsets: Sequence[int]) -> Iterator[tuple[int, str, bool]]:
    """Yield the first line and the text of each part in order, and whether it is sampled."""
    line, at = 1, 0
    for start, end in _windows(text, section_offsets):
        for stop, is_sampled in ((start, False), (end, True)):
            if at < stop:
                part = text[at:stop]
                yield line, part, is_sampled
                line += part.count("\n")
                at = stop


def _windows(text: str, section_offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield start and end of what is sampled, even windows of a long text; at last its end twice.

    Each begins with the next section, else the next line.
    """
    if len(text) <= SAMPLE_CHARACTERS:
        yield 0, len(text)
        return
    step, width = len(text) // _WINDOWS, SAMPLE_CHARACTERS // _WINDOWS
    for place in range(0, step * _WINDOWS, step):
        at = bisect_left(section_offsets, place)
        if at < len(section_offsets) and section_offsets[at] < place + step:
            start = section_offsets[at]
        else:
            start = _first_start(text, place, place + step) if place else 0
        yield start, _last_end(text, start, start + width)
    yield len(text), len(text)


def _first_start(text: str, start: int, end: int) -> int:
    """Return where the first line begins between two offsets, in a long line a sentence."""
    if line := text.find("\n", start, end) + 1:
        return line
    found = _SENTENCE_END.search(text, start, end)
    return found.end() if found else start


def _last_end(text: str, start: int, end: int) -> int:
    """Return where the last line ends between two offsets, in a long line a sentence."""
    sentences = (found.end() for found in _SENTENCE_END.finditer(text, start, end))
    return text.rfind("\n", start, end) + 1 or max(sentences, default=end)


def _first_lines(text: str) -> Iterator[Sentence]:
    for number, line in enumerate(text[:_OPENING_CHARACTERS].split("\n"), 1):
        if line.strip():
            yield Sentence(truncate_sentence(line.strip()), number, opens=True)
