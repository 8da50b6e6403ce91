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
from itertools import islice
from operator import attrgetter, itemgetter
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core import pagination, token_counter
from rolltop.core.addresses import AddressText, file_address, section_address
from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.fulltext.bm25 import B, TermStatistics
from rolltop.documents.extractors.formats import is_extracted
from rolltop.documents.outline import Section, with_gaps
from rolltop.toolsets.reader.models import JsonObject
from rolltop.toolsets.reader.passages import Passage, find_window, rising_passages
from rolltop.toolsets.reader.query_terms import MAX_HITS, TermFinder
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
_SATURATION: Final = 2.0
"""As of ranked search; chosen, as the weights, on half of the questions of `benchmarks.plans`."""
_TITLE_WEIGHT: Final = 3.0
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


def list_files(
    roots: Roots, paths: Sequence[str], query: str, max_bytes: int, seconds: float
) -> FileList:
    """List the documents that paths, folders and globs mean; of more than `max_bytes` none is read.

    Texts are searched for at most so many seconds; of files that remain, only their paths are.
    Raises NotFound: FILE_NOT_FOUND, a folder or glob has no document.
    """
    named: list[str] = []
    found: dict[str, tuple[Root, FileStat]] = {}
    large: dict[str, tuple[Root, FileStat]] = {}
    for path in paths:
        files = _expand(roots, path)
        if files is None:
            named.append(path)
            continue
        entries = [pair for pair in islice(files, _MAX_LISTED) if is_utf8_path(pair[1].relative)]
        for root, entry in entries:
            listed = found if entry.size <= max_bytes else large
            listed.setdefault(root.absolute_path(entry.relative), (root, entry))
        if not entries:
            raise NotFound(
                f"No document matches {value_preview(path)}",
                code="FILE_NOT_FOUND",
                hint="Name a folder, or a glob as in docs/**/*.md, matched from a root's top.",
            )
    searched = query if len(found) > MAX_EXPANDED else ""
    documents = _count_terms(roots, found, searched, monotonic() + seconds)
    scored = zip(_score(list(documents.values())), documents, strict=True)
    likely = sorted(scored, key=lambda pair: -pair[0])
    expanded = [path for _, path in likely[:MAX_EXPANDED]]
    unread = sum(_searched_text(roots, *one) is not None for one in large.values())
    return FileList(named, expanded, len(likely) - len(expanded) + unread)


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
    roots: Roots, files: Mapping[str, tuple[Root, FileStat]], query: str, deadline: float
) -> dict[str, _TermCounts]:
    """Count the terms in the path and text of each file that is a document, however long.

    Where no file has a term, the words that begin with one are counted.
    """
    exact, by_prefix = TermFinder(query), TermFinder(query, by_prefix=True)
    counted: dict[str, _TermCounts] = {}
    begun: dict[str, _TermCounts] = {}
    is_found = False
    for number, (path, (root, entry)) in enumerate(files.items()):
        is_searched = number < _MAX_SEARCHED and monotonic() < deadline
        text = _searched_text(roots, root, entry) if is_searched else ""
        if text is None:
            continue
        searched = f"{entry.relative}\n{text}"
        counted[path] = begun[path] = _TermCounts(1, {})
        if not is_found:
            begun[path] = _count_found(by_prefix, searched)
        if is_found or begun[path].counts:  # what has a term has a word that begins with it
            counted[path] = _count_found(exact, searched)
            is_found = is_found or bool(counted[path].counts)
    return counted if is_found else begun


def _count_found(finder: TermFinder, text: str) -> _TermCounts:
    return _TermCounts(1, {term: len(at) for term, at in finder.find(text).items()})


def _searched_text(roots: Roots, root: Root, entry: FileStat) -> str | None:
    """Read the beginning of a file, of a document that is extracted its bytes; None of others."""
    try:
        with roots.open_entry(root, entry) as file:
            data = file.read(_SEARCHED_BYTES)
    except (OSError, RolltopError):
        return None
    if not is_binary(data):
        return decode(data).text
    return data.decode("ascii", "ignore") if is_extracted(data, entry.relative) else None


class _Span(NamedTuple):
    """A section's offsets in its text, its title, and the titles above it."""

    title: str
    start: int
    end: int
    above: str


class _SearchedText(NamedTuple):
    """A document's sections and gaps, their places in its text, and the offsets of terms in it.

    A gap, lines that no section holds, is a section without an id.
    """

    sections: Sequence[Section]
    spans: Sequence[_Span]
    hits: Mapping[str, Sequence[int]]


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
        norm = _SATURATION * (1 - B + B * length / mean)
        scores.append(sum(idf[t] * n * (_SATURATION + 1) / (n + norm) for t, n in counts.items()))
    return scores


def _count_in_spans(
    spans: Sequence[_Span], hits: Mapping[str, Sequence[int]], finder: TermFinder
) -> list[_TermCounts]:
    """Count the terms in each section.

    A term in the titles above a section counts only where the section itself has another.
    """
    counted: list[_TermCounts] = []
    for span in spans:
        title, above = finder.find_in_title(span.title), finder.find_in_title(span.above)
        counts = {
            term: count
            for term in finder.terms
            if (count := _count_between(hits.get(term, ()), span) + _TITLE_WEIGHT * (term in title))
        }
        if counts:
            counts |= {t: _ANCESTOR_WEIGHT for t in finder.terms if t in above and t not in counts}
        counted.append(_TermCounts(span.end - span.start, counts))
    return counted


def _count_between(offsets: Sequence[int], span: _Span) -> int:
    return bisect_left(offsets, span.end) - bisect_left(offsets, span.start)


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
    hits: Mapping[str, Sequence[int]]

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
        return find_window(self.document, self.section, self._passages, room)

    @cached_property
    def _passages(self) -> list[Passage]:
        return rising_passages(self.hits, self.span.start, self.span.end)

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
    finder = TermFinder(query)
    if not finder.terms:
        raise InvalidArgument(
            "query holds no word", hint="Give the words the sections should hold."
        )
    candidates = _rank(documents, finder, tools)
    if not candidates or not candidates[0].score:
        candidates = _rank(documents, TermFinder(query, by_prefix=True), tools)
    entries = room // (_SHARE_OF_LEFT_OUT * _ENTRY_TOKENS)
    entries = max(_MIN_LEFT_OUT, min(_MAX_LEFT_OUT, entries))
    notes = {d.path: d.document.note for d, _ in documents if d.document.note}
    answer = _answer(_choose_parts(candidates, room), candidates, notes, entries)
    if not limit or pagination.count_tokens(answer) <= limit:
        return answer
    return _fit_plan(candidates, notes, min(room, limit), limit)


def _fit_plan(
    candidates: Sequence[_SectionCandidate], notes: Mapping[str, str], room: int, limit: int
) -> JsonObject:
    """Return the plan with nearly the most content that fits into `limit`."""
    needed, without_content = 0, None
    for entries in (_MIN_LEFT_OUT, 0):
        low, high, best = 0, room, None
        while low <= high and (best is None or high - low > room // _MIN_STEP_SHARE):
            middle = (low + high) // 2
            parts = _choose_parts(candidates, middle)
            answer = _answer(parts, candidates, notes, entries, truncated=True)
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


def _rank(
    documents: Sequence[tuple[OpenDocument, tuple[str, str] | None]],
    finder: TermFinder,
    tools: Sequence[str],
) -> list[_SectionCandidate]:
    """List all sections, and the gaps in which a term occurs, best first."""
    candidates: list[_SectionCandidate] = []
    whole: list[_TermCounts] = []
    own: list[_TermCounts] = []
    texts: list[_SearchedText] = []
    for document, _ in documents:
        texts.append(searched := _search(document, finder))
        whole += _count_in_spans(searched.spans, searched.hits, finder)
        own += _count_in_spans(_own_spans(document.text, searched.spans), searched.hits, finder)
    scores = zip(_score(whole), _score(own), strict=True)
    section_tool = next(iter(tools), None)
    gap_tool = "smart_read" if "smart_read" in tools else None
    for (document, place), (sections, spans, hits) in zip(documents, texts, strict=True):
        costs = iter(document.costs)
        for section, span in zip(sections, spans, strict=True):
            score = next(scores)
            if section.id:
                read_on = next(costs), section_tool
            elif score[0]:
                read_on = _count_gap(document, section), gap_tool
            else:
                continue
            candidates.append(
                _SectionCandidate(document, place, section, span, *score, *read_on, hits)
            )
    return sorted(candidates, key=lambda candidate: -candidate.score)


def _count_gap(document: OpenDocument, gap: Section) -> int:
    start, end = document.offsets(gap)
    is_all = end - start == len(document.text)
    return document.tokens if is_all else token_counter.count(document.text[start:end])


def _search(document: OpenDocument, finder: TermFinder) -> _SearchedText:
    """Find the terms in a document and in its sections and gaps. No gap is without words.

    Of terms that occur too often to be found everywhere none is said to occur, if others do.
    """
    text, sections = document.text, with_gaps(document.document.outline)
    sections = [s for s in sections if s.id or _WORD.search(text, *document.offsets(s))]
    spans = [_Span(s.title, *document.offsets(s), " ".join(s.title_path[:-1])) for s in sections]
    hits = finder.find(text)
    hits = {t: offsets for t, offsets in hits.items() if len(offsets) < MAX_HITS} or hits
    return _SearchedText(sections, spans, hits)


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
    notes: Mapping[str, str],
    entries: int,
    *,
    truncated: bool = False,
) -> JsonObject:
    """Return the plan; a truncated one with the call that reads what it had no room for.

    That is the rest of the section it began, else the best section it gives nothing of. `notes`,
    by path, say what documents leave out.
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
    if notes and entries:
        answer["notes"] = dict(islice(notes.items(), entries))
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
