"""Selects the chunks of a root that may answer a query.

FTS5's bm25() proposes chunks. Files that are not indexed in their current state go through the
same statement in an in-memory index: all of them if they are few, else the likeliest.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import accumulate, chain, groupby
from math import log
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.fulltext.bm25 import TermStatistics, is_prefix_term
from rolltop.documents.extractors.formats import has_document_name
from rolltop.toolsets.retrieval.index.chunk_index import (
    NAME,
    ChunkIndex,
    FoundChunk,
    IndexedFile,
    count_chunks,
    count_matches,
    count_term,
    find_chunks,
    first_chunk,
    index_file,
    index_in_memory,
    path_words,
)
from rolltop.toolsets.retrieval.index.chunker import Chunk, split_chunks
from rolltop.toolsets.retrieval.index.file_text import (
    DocumentFound,
    Unreadable,
    read_text,
    split_documents,
)
from rolltop.toolsets.retrieval.models import TermFiles
from rolltop.toolsets.retrieval.ranked.bm25f import add_statistics, ends_in
from rolltop.toolsets.retrieval.ranked.file_kinds import find_kinds
from rolltop.toolsets.retrieval.store import Connection, Stamp
from rolltop.workspace import FileStat, Root, Roots

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.index.chunk_indexes import RootState
    from rolltop.toolsets.retrieval.ranked.rerank import ParsedQuery

    _FileOf = Callable[[int], FileStat | None]
    # A chunk, the file, and the chunk's number in it.
    _Found = tuple[FileStat, int, Chunk]
    Holding = Callable[[str, Sequence[FileStat]], Collection[FileStat]]
    FindTermFiles = Callable[[Mapping[str, Sequence[str]], Sequence[FileStat], float], TermFiles]


# Chunks of a root that are scored by their text: the largest page.
MAX_CANDIDATES: Final = 100

# No more of one file, which may fill the page only if there are no others.
_MAX_OF_FILE: Final = 8

# Rows that bm25() ranks, unless they yield too few candidates.
MAX_MATCHES: Final = 20_000

_MAX_COUNTED: Final = 3_000
_MAX_NAMES: Final = 96
_MAX_FILES: Final = 60
_MAX_BYTES: Final = 2 << 20
# Share of the time for finding files that may match; the rest is for reading them.
_FIND_SHARE: Final = 0.6
# Files that are read even after the deadline, so that there is an answer.
_MIN_READ: Final = 8
# Files of one name: if more have it, a query with other words does not name them.
_MAX_NAMED: Final = 16


class Candidate(NamedTuple):
    """A chunk to score, with its own text; `is_first` in its file, which is of some `kinds`."""

    path: str
    chunk: Chunk
    own: str
    is_first: bool
    kinds: frozenset[str]


class Candidates(NamedTuple):
    """The chunks of a root that may answer, and the statistics of its terms.

    `named` maps paths to the boost for their file names. `unread` files may match and were not
    read; if there are any, `lacking` files are not indexed.
    """

    chunks: list[Candidate]
    statistics: TermStatistics
    named: Mapping[str, int]
    unread: int
    lacking: int


def find_candidates(tree: RankedTree, query: ParsedQuery, deadline: float) -> Candidates:
    """Select the chunks that may answer; `deadline` ends the reading of unindexed files."""
    if not query.terms:
        return _find_phrase(tree, query, deadline)
    named = _find_named(tree, query)
    statistics: list[TermStatistics] = []
    found: list[_Found] = []
    with tree.state.compare(tree.entries, tree.index) as (stale, db):
        if db is not None:
            counts = _count_terms(db, query)
            statistics.append(TermStatistics(count_chunks(db), 0.0, counts))
            found += _select(
                db, query, counts, lambda file: _if_chosen(tree, tree.state.entry(file))
            )
            found += _first_of(db, {one: tree.state.number(one) for one in named})
    now = time.monotonic()
    texts, documents = split_documents(stale)
    live = _read_stale(tree, query, texts, named, now + (deadline - now) / 2)
    # The text of a document takes too long to be extracted while somebody waits.
    waiting = sum(map(tree.chooses, documents)) if tree.has_index else 0
    if live.files:
        ids = list(accumulate((max(1, len(one.file.chunks)) for one in live.files), initial=1))
        by_id = dict(zip(ids, (one.entry for one in live.files), strict=False))
        with index_in_memory(one.file for one in live.files) as db:
            counts = _count_terms(db, query)
            statistics.append(live.statistics or TermStatistics(count_chunks(db), 0.0, counts))
            found += _select(db, query, counts, lambda file: _if_chosen(tree, by_id.get(file)))
            found += _first_of(db, {one: file for file, one in by_id.items() if one in named})
    return Candidates(
        list(_read(tree, found, {one.entry: one.text for one in live.files})),
        add_statistics(statistics),
        {entry.relative: steps for entry, steps in named.items()},
        live.unread + waiting,
        live.lacking + waiting,
    )


def _if_chosen(tree: RankedTree, entry: FileStat | None) -> FileStat | None:
    return entry if entry is not None and tree.chooses(entry) else None


def _count_terms(db: Connection, query: ParsedQuery) -> dict[str, int]:
    return {
        term: count_matches(db, _quote(term), _MAX_COUNTED)
        if is_prefix_term(term) or " " in term
        else count_term(db, term)
        for term in query.terms
    }


def _select(
    db: Connection, query: ParsedQuery, counts: Mapping[str, int], file_of: _FileOf
) -> list[_Found]:
    """Select the chunks to score: those with rare terms, and with any term if those are too few."""
    names = [f"{NAME}{name}" for name in query.names[:_MAX_NAMES]]
    names = [name for name in names if count_term(db, name)]
    terms = sorted((term for term in counts if counts[term]), key=lambda one: (counts[one], one))
    totals = accumulate(counts[term] for term in terms)
    rare = [term for term, total in zip(terms, totals, strict=True) if total <= MAX_MATCHES]
    found: list[_Found] = []
    for some in (rare, terms) if 0 < len(rare) < len(terms) else (terms,):
        if names or some:
            found = _best(find_chunks(db, " OR ".join(map(_quote, (*names, *some)))), file_of)
        if len(found) >= MAX_CANDIDATES:
            break
    return found


def _quote(term: str) -> str:
    """Quote a term for FTS5; a prefix term matches all its words."""
    return f'"{term}"{"*" * is_prefix_term(term)}'


def _best(found: Iterable[FoundChunk], file_of: _FileOf) -> list[_Found]:
    """Take the best chunks, a few of each file first; break ties by path."""
    best: list[_Found] = []
    more: list[_Found] = []
    often: Counter[FileStat] = Counter()
    for _, alike in groupby(found, attrgetter("score")):
        tied = [(entry, one.number, one.chunk) for one in alike if (entry := file_of(one.file))]
        for one in sorted(tied, key=lambda one: (one[0].relative.split("/"), one[1])):
            often[one[0]] += 1
            (best if often[one[0]] <= _MAX_OF_FILE else more).append(one)
        if len(best) >= MAX_CANDIDATES:
            break
    best = best[:MAX_CANDIDATES]
    return best + more[: MAX_CANDIDATES - len(best)]


def _first_of(db: Connection, files: Mapping[FileStat, int | None]) -> Iterator[_Found]:
    """Yield the first chunks of files by their ids."""
    for entry, file in files.items():
        if file is not None and (chunk := first_chunk(db, file)) is not None:
            yield entry, 0, chunk


def _read(
    tree: RankedTree, found: Iterable[_Found], texts: Mapping[FileStat, str]
) -> Iterator[Candidate]:
    """Yield chunks with the text they have now: all of a file that has changed meanwhile."""
    by_file: dict[FileStat, dict[int, Chunk]] = {}
    for entry, number, chunk in found:
        by_file.setdefault(entry, {})[number] = chunk
    for entry, known in by_file.items():
        stamp, text = (entry[1:5], texts[entry]) if entry in texts else tree.read(entry)
        is_same = stamp == entry[1:5]
        chunks = known.items() if is_same else enumerate(split_chunks(entry.relative, text))
        kinds = find_kinds(entry.relative, text)
        for number, chunk in chunks:
            yield Candidate(entry.relative, chunk, chunk.own(text), not number, kinds)


def _find_named(tree: RankedTree, query: ParsedQuery) -> dict[FileStat, int]:
    """Return files that a query names, and how many steps each comes before all others.

    It is two for a whole path, also one behind the root's name, one for the last parts of a longer
    one.
    """
    ends = query.files
    if not ends:
        return {}
    found = [
        (
            path not in ends and entry.relative.lower() not in ends,
            entry.relative.split("/"),
            entry,
        )
        for entry in tree.entries
        if (path := f"{tree.root.name}/{entry.relative}".lower()).endswith(ends)
        if any(ends_in(path, one) for one in ends) and tree.chooses(entry)
    ]
    of_a_part = int(len(found) <= _MAX_NAMED or not query.count)
    best = nsmallest(_MAX_NAMED, found)
    return {entry: of_a_part if is_longer else 2 for is_longer, _, entry in best}


class _LiveFile(NamedTuple):
    entry: FileStat
    text: str
    file: IndexedFile


class _Live(NamedTuple):
    """Files read for this search; `statistics` if they represent only a sample."""

    files: list[_LiveFile]
    statistics: TermStatistics | None
    unread: int
    lacking: int


def _read_stale(
    tree: RankedTree,
    query: ParsedQuery,
    stale: Sequence[FileStat],
    named: Iterable[FileStat],
    deadline: float,
) -> _Live:
    """Read files that are not indexed: all if they are few, else the likeliest in the time."""
    wanted = list(filter(tree.chooses, stale))
    reading = next(filter(_are_few, (stale, wanted)), None)
    unread, left, lacking, statistics = set(wanted), 0, 0, None
    if reading is None:
        now = time.monotonic()
        term_files = _find_holders(tree, query, wanted, now + _FIND_SHARE * (deadline - now))
        likeliest = _likeliest(query, wanted, term_files)
        reading = list(dict.fromkeys([*filter(unread.__contains__, named), *likeliest]))
        unread, left, lacking = (
            set(chain(*term_files.by_term.values())),
            term_files.left,
            len(wanted),
        )
        counts = {term: round(n) for term, n in term_files.counts.items()}
        statistics = TermStatistics(lacking, 0.0, counts)
    files: dict[FileStat, _LiveFile] = {}
    answers = False
    for number, entry in enumerate(
        reading
    ):  # including unselected ones, so that statistics match the index's
        late = number >= _MIN_READ and time.monotonic() > deadline
        if late or (number >= _MAX_FILES and answers):
            break
        stamp, text = tree.read(entry)
        file = index_file(entry.relative, stamp, text)
        answers = answers or any(
            f" {one} " in f" {terms} " for terms in file.terms for one in query.terms
        )
        files[entry] = _LiveFile(entry, text, file)
    return _Live(list(files.values()), statistics, len(unread - files.keys()) + left, lacking)


def _are_few(entries: Sequence[FileStat]) -> bool:
    return len(entries) <= _MAX_FILES and sum(entry.size for entry in entries) <= _MAX_BYTES


def _find_holders(
    tree: RankedTree, query: ParsedQuery, entries: Sequence[FileStat], deadline: float
) -> TermFiles:
    """Find the files that contain the query's terms in their text or path."""
    texts = query.spellings
    term_files = tree.find_term_files(texts, entries, deadline)
    for entry in entries:
        lowered = entry.relative.lower()
        if any(text in lowered for text in chain(*texts.values())):
            for term in texts.keys() & path_words(entry.relative).split():
                term_files.by_term[term].add(entry)
    counts = {
        term: max(len(found), term_files.counts[term]) for term, found in term_files.by_term.items()
    }
    return term_files._replace(counts=counts)


def _likeliest(
    query: ParsedQuery, entries: Sequence[FileStat], term_files: TermFiles
) -> list[FileStat]:
    """List the files with most of the rare terms; break ties by path."""
    scores: dict[FileStat, float] = {}
    for term, holders in term_files.by_term.items():
        idf = log(1 + len(entries) / (1 + term_files.counts[term]))
        for entry in holders:
            named = any(plain in entry.relative.lower() for plain in query.files)
            scores[entry] = scores.get(entry, 0.0) + idf * (1 + named)
    return sorted(scores, key=lambda entry: (-scores[entry], entry.relative.split("/")))


def _find_phrase(tree: RankedTree, query: ParsedQuery, deadline: float) -> Candidates:
    """Find the chunks that contain a query without terms literally."""
    files = list(filter(tree.chooses, tree.entries))
    if not _are_few(files):  # files are searched by lines
        line = max(filter(str.strip, query.phrase.splitlines()), key=len)
        matching = tree.holding(line, files)
        files = sorted(matching, key=lambda entry: entry.relative.split("/"))
    chunks: list[Candidate] = []
    unread = len(files)
    for number, entry in enumerate(files[:_MAX_FILES]):
        if number >= _MIN_READ and time.monotonic() > deadline:
            break
        path = entry.relative
        stamp, text = tree.read(entry)
        found, kinds = enumerate(split_chunks(path, text)), find_kinds(path, text)
        candidates = (Candidate(path, one, one.own(text), not at, kinds) for at, one in found)
        chunks += (one for one in candidates if query.phrase in one.own.lower())
        is_waiting = stamp[0] < 0 and has_document_name(path) and tree.has_index
        unread -= not is_waiting
    return Candidates(chunks[:MAX_CANDIDATES], TermStatistics(0, 0.0, {}), {}, unread, 0)


@dataclass(frozen=True)
class RankedTree:
    """A root during a search.

    `entries` are its current files, `state` compares them with `index` (None without one).
    `chooses(entry)` selects files; `holding(text, entries)` finds those that contain a text in any
    case; `find_term_files(texts, entries, deadline)` finds the files of each term by texts for it.
    `has_index` says that there is an index, or will be one.
    """

    roots: Roots
    state: RootState
    index: ChunkIndex | None
    entries: Sequence[FileStat]
    chooses: Callable[[FileStat], bool]
    holding: Holding
    find_term_files: FindTermFiles
    has_index: bool = True

    @property
    def root(self) -> Root:
        """The root itself."""
        return self.state.root

    def read(self, entry: FileStat) -> tuple[Stamp, str]:
        """Read a file's state and text; no text if it cannot be read, or is not indexed."""
        try:
            return read_text(self.roots, self.root, entry)
        except DocumentFound as found:
            text = self.index and self.index.find_document(entry.relative, found.stamp)
            if text is not None:
                return found.stamp, text
        except Unreadable:
            pass
        return (-1, 0, 0, 0), ""
