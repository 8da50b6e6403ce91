"""The reading plan: the sections that answer a query best, within a budget of tokens.

Lines that no section holds, as those before the first heading, are candidates too. All are scored
by BM25 (Robertson and Zaragoza 2009) over the sections of all documents together, with words of
titles counted more: how much a word tells must not depend on which of the documents has it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple
from unicodedata import is_normalized, normalize

from rolltop.core import pagination, token_counter
from rolltop.core.addresses import AddressText, file_address, section_address
from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.fulltext.bm25 import K1, B, TermStatistics
from rolltop.documents.extractors.formats import is_extracted
from rolltop.documents.outline import Section, with_gaps
from rolltop.toolsets.reader.models import JsonObject
from rolltop.toolsets.reader.passages import Passage, find_window, rising_passages
from rolltop.toolsets.reader.query_terms import (
    MAX_HITS,
    FoundTerm,
    base_form,
    fold,
    is_in_title,
    query_terms,
    word_starts,
)
from rolltop.workspace import FileStat, PathError, Root, Roots, is_utf8_path
from rolltop.workspace.encoding import decode, is_binary
from rolltop.workspace.glob_paths import GlobResolver
from rolltop.workspace.globs import FileGlob

if TYPE_CHECKING:
    from rolltop.toolsets.reader.document_cache import OpenDocument

MAX_EXPANDED: Final = 50
"""Documents of folders and globs that one plan reads: those with most terms of the query."""
_MAX_LISTED: Final = 50_000
_MAX_SEARCHED: Final = 2_000
"""Files whose text is searched for the terms; of others, only their paths are."""
_SEARCHED_BYTES: Final = 1 << 20

_GLOB: Final = re.compile(r"[*?\[{\\,]")
_WORD: Final = re.compile(r"\w+")
_TITLE_WEIGHT: Final = 2.0
"""Occurrences that a term in the title counts for."""
_ANCESTOR_WEIGHT: Final = 1.0
"""Occurrences that a term in the titles above counts for, where the section has none."""

_MAX_LEFT_OUT: Final = 20
_MIN_LEFT_OUT: Final = 3
_ENTRY_TOKENS: Final = 50
"""About what an entry of left_out costs."""
_SHARE_OF_LEFT_OUT: Final = 4
"""Entries beyond the fewest cost at most this part of the budget, on top of it."""
_MIN_STEP_SHARE: Final = 32
"""The search for the most content that fits ends at this part of the budget."""
_MIN_PART_TOKENS: Final = 100
"""A smaller part of a section is not worth reading."""
_WHOLE_SECTION_THRESHOLD: Final = 0.5
"""A whole section scoring below this share of one that did not fit gives way to a part of that."""
_MAX_TITLE_LENGTH: Final = 80
_NO_MATCH_NOTE: Final = "No section holds a word of the query; left_out lists what there is."
_TOO_LARGE_NOTE: Final = "The section that answers best does not fit; left_out names it first."


class FileList(NamedTuple):
    """Paths of documents: those named, the likeliest of folders and globs, how many are unread."""

    named: list[str]
    expanded: list[str]
    unread: int


def list_files(roots: Roots, paths: Sequence[str], query: str, max_bytes: int) -> FileList:
    """List the documents of at most `max_bytes` that paths, folders and globs mean.

    Raises NotFound: FILE_NOT_FOUND, a folder or glob has no document.
    """
    terms = query_terms(query)
    named: list[str] = []
    found: dict[str, tuple[Root, FileStat]] = {}
    for path in paths:
        files = _expand(roots, path)
        if files is None:
            named.append(path)
            continue
        before = len(found)
        for root, entry in islice(files, _MAX_LISTED):
            if is_utf8_path(entry.relative) and entry.size <= max_bytes:
                found.setdefault(root.absolute_path(entry.relative), (root, entry))
        if len(found) == before:
            raise NotFound(
                f"No document matches {value_preview(path)}",
                code="FILE_NOT_FOUND",
                hint="Name a folder, or a glob as in docs/**/*.md, matched from a root's top.",
            )
    counted = {
        path: _count_terms(roots, root, entry, terms, read=number < _MAX_SEARCHED)
        for number, (path, (root, entry)) in enumerate(found.items())
    }
    documents = {path: counts for path, counts in counted.items() if counts is not None}
    scored = zip(_score(list(documents.values())), documents, strict=True)
    likely = sorted(scored, key=lambda pair: -pair[0])
    expanded = [path for _, path in likely[:MAX_EXPANDED]]
    return FileList(named, expanded, len(likely) - len(expanded))


def _expand(roots: Roots, path: str) -> Iterator[tuple[Root, FileStat]] | None:
    """List the files of a folder or glob; None for a path to open as it is."""
    try:
        located = roots.locate(path, reader=True)
    except PathError as problem:
        is_glob = problem.code == "FILE_NOT_FOUND" and _GLOB.search(path)
        return _match_glob(roots, path) if is_glob else None
    if not located.path.is_dir():
        return None
    root = located.root or Root("", located.base)
    return ((root, entry) for entry in roots.walk(root, under=located.relative))


def _match_glob(roots: Roots, glob: str) -> Iterator[tuple[Root, FileStat]]:
    """Yield the files that a glob selects in all directories that may be read."""
    here = [roots.working_directory] if roots.working_directory else []
    named = {root.path for root in roots.named}
    unnamed = [Root("", path) for path in (*roots.extra, *here) if path not in named]
    names = [root.name for root in roots.named]
    glob = GlobResolver(roots, roots.named).resolve(glob) if names else glob
    for root in (*roots.named, *unnamed):
        top = re.escape(root.absolute_path(""))
        inside, count = re.subn(rf"(^|,\s*)(!?){top}", r"\1\2/", glob)
        if glob.removeprefix("!").startswith("/") and not count:
            continue
        try:
            selected = FileGlob(inside, root.name, names)
        except InvalidArgument:
            return
        if selected.selects_root:
            for entry in roots.walk(root):
                if selected.matches(entry.relative):
                    yield root, entry


def _count_terms(
    roots: Roots, root: Root, entry: FileStat, terms: Sequence[str], *, read: bool
) -> _TermCounts | None:
    """Count the terms in a file's path and text, however long; None if it is no document."""
    text = ""
    if read:
        try:
            with roots.open_entry(root, entry) as file:
                data = file.read(_SEARCHED_BYTES)
        except (OSError, RolltopError):
            return None
        if not is_binary(data):
            text = fold(normalize("NFC", decode(data).text))
        elif is_extracted(data, entry.relative):
            text = fold(data.decode("utf-8", "replace"))
        else:
            return None
    text = f"{fold(normalize('NFC', entry.relative))}\n{text}"
    counts = {term: text.count(term) or text.count(base_form(term)) for term in terms}
    return _TermCounts(1, {term: count for term, count in counts.items() if count})


class _Span(NamedTuple):
    """A section's offsets in its text, its title, and the titles above it."""

    title: str
    start: int
    end: int
    above: str


class _ComposedText(NamedTuple):
    """A document's text in NFC, its sections and gaps, their places in it, and where it has terms.

    A gap, lines that no section holds, is a section without an id.
    """

    text: str
    sections: Sequence[Section]
    spans: Sequence[_Span]
    hits: Mapping[str, FoundTerm]


class _TermCounts(NamedTuple):
    """How often terms occur in a text, and its length: the same for all where that is no matter."""

    length: int
    counts: Mapping[str, float]


def _score(texts: Sequence[_TermCounts]) -> list[float]:
    """Score texts beside each other; 0 where no term occurs."""
    mean = sum(text.length for text in texts) / max(1, len(texts)) or 1.0
    occurrences = Counter(term for text in texts for term in text.counts)
    statistics = TermStatistics(len(texts), mean, occurrences)
    idf = {term: statistics.idf(term) for term in occurrences}
    scores: list[float] = []
    for length, counts in texts:
        norm = K1 * (1 - B + B * length / mean)
        scores.append(sum(idf[t] * n * (K1 + 1) / (n + norm) for t, n in counts.items()))
    return scores


def _count_in_spans(spans: Sequence[_Span], hits: Mapping[str, FoundTerm]) -> list[_TermCounts]:
    """Count the terms in each section.

    A term in the titles above a section counts only where the section itself has another.
    """
    counted: list[_TermCounts] = []
    for span in spans:
        title, above = fold(span.title), fold(span.above)
        counts = {
            term: count
            for term, (form, offsets) in hits.items()
            if (
                count := bisect_left(offsets, span.end)
                - bisect_left(offsets, span.start)
                + _TITLE_WEIGHT * is_in_title(form, title)
            )
        }
        if counts:
            for term, (form, _) in hits.items():
                if term not in counts and is_in_title(form, above):
                    counts[term] = _ANCESTOR_WEIGHT
        counted.append(_TermCounts(span.end - span.start, counts))
    return counted


@dataclass(frozen=True)
class _SectionCandidate:
    """A section or gap with its score; `own` is that of its text before the first subsection.

    `cost` is in tokens. `tool` can read on: `read_section`, `smart_read` or None.
    """

    document: OpenDocument
    place: tuple[str, str] | None
    section: Section
    span: _Span
    score: float
    own: float
    cost: int
    tool: str | None
    composed: _ComposedText

    @property
    def uri(self) -> AddressText | None:
        """The address of the section or of the gap's lines; None outside all named roots."""
        if self.place is None:
            return None
        if self.section.id:
            return section_address(*self.place, self.section.id)
        return file_address(*self.place, (self.section.start_line, self.section.end_line))

    def window(self, room: int) -> tuple[int, int]:
        """Choose the part of the section that answers best within `room` tokens."""
        composed = (self.composed.text, self.span.start)
        return find_window(self.document, self.section, composed, self._passages, room)

    @cached_property
    def _passages(self) -> list[Passage]:
        return rising_passages(self.composed.hits, self.span.start, self.span.end)

    def next(self, char_start: int = 0) -> JsonObject:
        """Return the field `next`, the call that reads on from a character, if there is a tool."""
        if self.tool is None:
            return {}
        arguments: JsonObject = {"file_path": self.document.path}
        if self.tool == "read_section":
            arguments["section_heading"] = self.section.id
        else:
            arguments["line_start"] = self.section.start_line
        if char_start:
            arguments["char_start"] = char_start
        return {"next": {"tool": self.tool, "arguments": arguments}}


@dataclass(frozen=True)
class _SectionPart:
    """A candidate with as much of its text as the plan gives: from one offset to another."""

    candidate: _SectionCandidate
    start: int
    end: int
    whole: bool

    @property
    def text(self) -> str:
        return self.candidate.document.text[self.start : self.end]

    @property
    def start_line(self) -> int:
        """The first line of which anything is given."""
        section = self.candidate.section
        return section.start_line if self.whole else self._line_at(self.start)

    @property
    def end_line(self) -> int:
        """The last line of which anything is given."""
        return self.candidate.section.end_line if self.whole else self._line_at(self.end - 1)

    def _line_at(self, offset: int) -> int:
        return bisect_right(self.candidate.document.starts, offset)

    def next(self) -> JsonObject:
        """Return the field `next`: what follows, or all of the section if only that is left."""
        if self.whole:
            return {}
        start, end = self.candidate.document.offsets(self.candidate.section)
        return self.candidate.next(self.end - start if self.end < end else 0)


class _TakenLines:
    """The lines of each document that a plan gives: spans that never overlap, in order."""

    def __init__(self, parts: Sequence[_SectionPart] = ()) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = {}
        for part in parts:
            self.add(part)

    def add(self, part: _SectionPart) -> None:
        spans = self._spans.setdefault(part.candidate.document.path, [])
        insort(spans, (part.start_line, part.end_line))

    def overlaps(self, candidate: _SectionCandidate) -> bool:
        spans = self._spans.get(candidate.document.path, [])
        before = bisect_right(spans, candidate.section.end_line, key=itemgetter(0))
        return before > 0 and spans[before - 1][1] >= candidate.section.start_line


def make_plan(
    documents: Sequence[tuple[OpenDocument, tuple[str, str] | None]],
    query: str,
    room: int,
    limit: int,
    tools: Sequence[str],
) -> JsonObject:
    """Return the plan: content of at most `room` tokens, all of it within `limit` (0: no bound).

    `tools`, best first, are those that may be named to read on.

    Raises InvalidArgument: the query holds no word, or `limit` is too small for any plan.
    """
    terms = query_terms(query)
    if not terms:
        raise InvalidArgument(
            "query holds no word", hint="Give the words the sections should hold."
        )
    found = _candidates(documents, terms, tools)
    candidates = sorted(found, key=lambda candidate: -candidate.score)
    entries = room // (_SHARE_OF_LEFT_OUT * _ENTRY_TOKENS)
    entries = max(_MIN_LEFT_OUT, min(_MAX_LEFT_OUT, entries))
    answer = _answer(_choose_parts(candidates, room), candidates, entries)
    if not limit or pagination.count_tokens(answer) <= limit:
        return answer
    return _fit_plan(candidates, min(room, limit), limit)


def _fit_plan(candidates: Sequence[_SectionCandidate], room: int, limit: int) -> JsonObject:
    """Return the plan with nearly the most content that fits into `limit`."""
    needed, without_content = 0, None
    for entries in (_MIN_LEFT_OUT, 0):
        low, high, best = 0, room, None
        while low <= high and (best is None or high - low > room // _MIN_STEP_SHARE):
            middle = (low + high) // 2
            parts = _choose_parts(candidates, middle)
            answer = _answer(parts, candidates, entries, truncated=True)
            needed = pagination.count_tokens(answer)
            if needed <= limit:
                low, best = middle + 1, answer
            else:
                high = middle - 1
        if best is not None and best["sections"]:
            return best
        without_content = without_content or best
    if without_content is not None:
        return without_content
    raise pagination.BudgetTooSmall(needed, "a plan")


def _candidates(
    documents: Sequence[tuple[OpenDocument, tuple[str, str] | None]],
    terms: Sequence[str],
    tools: Sequence[str],
) -> Iterator[_SectionCandidate]:
    """Yield all sections, and the gaps in which a term occurs."""
    whole: list[_TermCounts] = []
    own: list[_TermCounts] = []
    texts: list[_ComposedText] = []
    for document, _ in documents:
        texts.append(composed := _compose(document, terms))
        whole += _count_in_spans(composed.spans, composed.hits)
        own += _count_in_spans(_own_spans(composed.text, composed.spans), composed.hits)
    scores = zip(_score(whole), _score(own), strict=True)
    section_tool = next(iter(tools), None)
    gap_tool = "smart_read" if "smart_read" in tools else None
    for (document, place), composed in zip(documents, texts, strict=True):
        costs = iter(document.costs)
        for section, span in zip(composed.sections, composed.spans, strict=True):
            score = next(scores)
            if section.id:
                read_on = next(costs), section_tool
            elif score[0]:
                read_on = _count_gap(document, section), gap_tool
            else:
                continue
            yield _SectionCandidate(document, place, section, span, *score, *read_on, composed)


def _count_gap(document: OpenDocument, gap: Section) -> int:
    start, end = document.offsets(gap)
    is_all = end - start == len(document.text)
    return document.tokens if is_all else token_counter.count(document.text[start:end])


def _find_terms(text: str, spans: Sequence[_Span], terms: Sequence[str]) -> dict[str, FoundTerm]:
    """Find each term as it is, or else words that differ from it by their endings alone.

    Of terms that occur too often to be found everywhere none is said to occur, if others do.
    """
    lowered = fold(text)
    titles = fold("\n".join(span.title for span in spans))
    hits: dict[str, FoundTerm] = {}
    for term in terms:
        for form in dict.fromkeys((term, base_form(term))):
            found = word_starts(lowered, form)
            if found or is_in_title(form, titles):
                hits[term] = FoundTerm(form, found)
                break
    return {t: found for t, found in hits.items() if len(found.offsets) < MAX_HITS} or hits


def _compose(document: OpenDocument, terms: Sequence[str]) -> _ComposedText:
    """Compose a document's text, as the terms are, and find them in it. No gap is without words."""
    text, sections = document.text, with_gaps(document.document.outline)
    sections = [s for s in sections if s.id or _WORD.search(text, *document.offsets(s))]
    places = [document.offsets(section) for section in sections]
    if not is_normalized("NFC", text):
        ends = sorted({0, len(text), *chain.from_iterable(places)})
        pieces = [normalize("NFC", text[start:end]) for start, end in pairwise(ends)]
        moved = dict(zip(ends, accumulate(map(len, pieces), initial=0), strict=True))
        text, places = "".join(pieces), [(moved[start], moved[end]) for start, end in places]
    spans = [
        _Span(normalize("NFC", s.title), *place, normalize("NFC", " ".join(s.title_path[:-1])))
        for s, place in zip(sections, places, strict=True)
    ]
    return _ComposedText(text, sections, spans, _find_terms(text, spans, terms))


def _own_spans(text: str, spans: Sequence[_Span]) -> list[_Span]:
    """Return each section up to its first subsection, or with that if its heading stands alone.

    The title of a heading that stands alone counts only as text: it is about more than that.
    """
    own: list[_Span] = []
    next_start = next_end = len(text)
    for span in reversed(spans):
        title, end = span.title, min(span.end, next_start)
        if next_start < span.end and _is_heading_alone(text, span, end):
            title, end = "", next_end
        own.append(span._replace(title=title, end=end))
        next_start, next_end = span.start, end
    return own[::-1]


def _is_heading_alone(text: str, span: _Span, end: int) -> bool:
    """Whether there is no word between a section's heading and `end`."""
    title = max(span.start, text.find(span.title, span.start, end))
    after = text.find("\n", title, end)
    return after < 0 or not _WORD.search(text, after, end)


def _choose_parts(candidates: Sequence[_SectionCandidate], room: int) -> list[_SectionPart]:
    """Choose whole sections, best first, while they fit; then a part of the best that did not.

    Sections that score much lower than that one leave it the room.
    """
    parts: list[_SectionPart] = []
    too_large: list[_SectionCandidate] = []
    largest: _SectionCandidate | None = None  # the best of those too large, by its own text
    taken = _TakenLines()
    for candidate in candidates:
        if not candidate.score or room < 1:
            break
        if taken.overlaps(candidate):
            continue
        enough = largest.own * _WHOLE_SECTION_THRESHOLD if largest else 0.0
        if room >= _MIN_PART_TOKENS and candidate.score < enough:
            break
        if candidate.cost > room:
            too_large.append(candidate)
            largest = max(largest or candidate, candidate, key=attrgetter("own"))
            continue
        room -= candidate.cost
        start, end = candidate.document.offsets(candidate.section)
        parts.append(_SectionPart(candidate, start, end, whole=True))
        taken.add(parts[-1])
        if largest and taken.overlaps(largest):
            too_large = [other for other in too_large if not taken.overlaps(other)]
            largest = max(too_large, key=attrgetter("own"), default=None)
    if largest and room >= _MIN_PART_TOKENS:
        parts.append(_SectionPart(largest, *largest.window(room), whole=False))
    return parts


def _answer(
    parts: Sequence[_SectionPart],
    candidates: Sequence[_SectionCandidate],
    entries: int,
    *,
    truncated: bool = False,
) -> JsonObject:
    """Return the plan; a truncated one with the call that reads what it had no room for.

    That is the rest of the section it began, else the best section it gives nothing of.
    """
    taken = _TakenLines(parts)
    left = [candidate for candidate in candidates if not taken.overlaps(candidate)]
    answer: JsonObject = {
        "type": "plan",
        "sections": [_planned_section(part) for part in parts],
        "tokens": sum(token_counter.count(part.text) for part in parts),
        "left_out": [_omitted_section(candidate) for candidate in left[:entries]],
        "left_out_count": len(left),
        "left_out_tokens": _total_cost(left),
    }
    if not candidates or not candidates[0].score:
        answer["note"] = _NO_MATCH_NOTE
    elif candidates[0] in left[:entries]:
        answer["note"] = _TOO_LARGE_NOTE
    unread = next((candidate for candidate in left if candidate.score), None)
    if truncated and parts and not parts[-1].whole:
        return {**answer, "truncated": True, **parts[-1].next()}
    if truncated and unread:
        return {**answer, "truncated": True, **unread.next()}
    return answer


def _total_cost(candidates: Sequence[_SectionCandidate]) -> int:
    """Add up the tokens of sections, subsections counted once."""
    total, path, covered = 0, "", 0
    for candidate in sorted(
        candidates, key=lambda c: (c.document.path, c.section.start_line, -c.cost)
    ):
        if candidate.document.path != path:
            path, covered = candidate.document.path, 0
        if candidate.section.start_line > covered:
            total += candidate.cost
            covered = candidate.section.end_line
    return total


def _omitted_section(candidate: _SectionCandidate) -> JsonObject:
    section = candidate.section
    entry: JsonObject = {"path": candidate.document.path}
    if section.id:
        entry |= {"id": section.id, "title": section.title}
    else:
        entry["lines"] = [section.start_line, section.end_line]
    if len(section.title_path) > 1:
        entry["heading_path"] = " > ".join(
            title if len(title) <= _MAX_TITLE_LENGTH else f"{title[: _MAX_TITLE_LENGTH - 1]}…"
            for title in section.title_path
        )
    return {**entry, "tokens": candidate.cost}


def _planned_section(part: _SectionPart) -> JsonObject:
    section, uri = part.candidate.section, part.candidate.uri
    return {
        **_omitted_section(part.candidate),
        **({"uri": uri} if uri else {}),
        "start_line": part.start_line,
        "end_line": part.end_line,
        "whole": part.whole,
        **({} if part.whole else {"section_lines": [section.start_line, section.end_line]}),
        "content": part.text,
        **part.next(),
    }
