"""Exact search: every matching line, in order, read from the files as they are now."""

from __future__ import annotations

import marshal
import math
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final, NamedTuple

from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.retrieval.grep import ripgrep
from rolltop.toolsets.retrieval.grep.ripgrep import NUL, parse_query, scan
from rolltop.toolsets.retrieval.grep.verifier import Verifier, head_is_text
from rolltop.toolsets.retrieval.models import (
    Query,
    SearchMatch,
    SearchResults,
    SearchRoot,
    SkipCounts,
)
from rolltop.workspace import FileStat, is_utf8_path
from rolltop.workspace import SkippedEntries as Passed
from rolltop.workspace.globs import globs_by_root

MAX_FILE_BYTES: Final = 256 << 20
# Files listed between looks at the clock.
_CHECK_INTERVAL: Final = 1024
# From this size on, reading the head of a file costs less than scanning a binary.
_LARGE_BYTES: Final = 1 << 18
# Later versions write equal values in more than one way.
_MARSHAL_VERSION: Final = 2


def search(
    search_roots: Sequence[SearchRoot],
    query: Query,
    *,
    limit: int,
    after: Sequence[Any] | None = None,
    deadline: float = math.inf,
    most_bytes: int = MAX_FILE_BYTES,
) -> SearchResults:
    """Find the first `limit` matching lines, or those after a position.

    Roots are searched in the given order, files by path components; ripgrep does the matching.
    `after` is a previous result's `resume`; `deadline` is on the monotonic clock; files larger than
    `most_bytes` are skipped.

    Raises:
        InvalidArgument: QUERY_EMPTY, QUERY_INVALID, FILE_GLOB_INVALID or INVALID_CURSOR.
        DeadlineExceeded: the deadline passed.

    """
    position = None if after is None else SearchPosition.parse(after)
    return _Search(search_roots, query, position, deadline, most_bytes).run(limit)


class _Search:
    def __init__(
        self,
        search_roots: Sequence[SearchRoot],
        query: Query,
        position: SearchPosition | None,
        deadline: float,
        most_bytes: int,
    ) -> None:
        self._query: Final = query
        self._pattern: Final = parse_query(query)
        self._globs: Final = globs_by_root(
            query.file_glob, [tree.root.name for tree in search_roots]
        )
        self._position: Final = position
        self._deadline: Final = deadline
        self._most_bytes: Final = most_bytes
        self._trees: Final = _remaining_roots(search_roots, position)
        # The files of each root to search, including known binary files.
        self._files: Final[dict[str, list[FileStat]]] = {}
        self._walked: Final = Passed()
        self._skipped: Final[Counter[str]] = Counter()
        self._dropped: Final[set[tuple[str, FileStat]]] = set()
        self._scanned = False

    def run(self, limit: int) -> SearchResults:
        hits: list[SearchMatch] = []
        if self._position is not None:
            self._check_expression()  # a query that does not compile has no cursor either
            repo, path, line, checksum = self._position
            if self._checksum(repo, path, line) != checksum:
                raise _invalid_cursor()
        with closing(self._hits(limit + 1)) as found:
            hits.extend(found)
        more = len(hits) > limit
        if not hits:
            self._count_binary()
        return self._answer(hits[:limit], more=more)

    def _hits(self, wanted: int) -> Generator[SearchMatch, None, None]:
        """Yield up to `wanted` matches, in order."""
        for tree in self._trees:
            entries = self._list_candidates(tree)
            root = str(tree.root.path)
            batches = scan(root, entries, self._pattern, self._deadline)
            with closing(batches):
                for batch in batches:
                    self._scanned = True
                    for entry in batch.unread:
                        is_file = ripgrep.is_regular_file(f"{root}/{entry.relative}")
                        self._drop(tree, entry, "unreadable" if is_file else "changed")
                    for hit in self._read(tree, batch.matched, wanted):
                        yield hit
                        wanted -= 1
                        if not wanted:
                            return
        self._check_expression()

    def _check_expression(self) -> None:
        """Compile an expression that no file was searched for. Raises QUERY_INVALID."""
        if self._pattern.is_regex and not self._scanned:
            ripgrep.check_expression(self._pattern, self._deadline)

    def _list_candidates(self, search_root: SearchRoot) -> Sequence[FileStat]:
        """List the files of a root that may match and are still to be searched, in order."""
        candidates = (
            None if search_root.index is None else search_root.index.candidates(self._query)
        )
        files = self._list(search_root) if candidates is None else candidates
        if self._position is not None and search_root.root.name == self._position.repo:
            files = files[_count_before(files, self._position.path) :]
        if candidates is not None:
            files = [entry for entry in files if self._is_searched(search_root, entry)]
        return [entry for entry in files if self._is_text(search_root, entry) is not False]

    def _is_text(self, search_root: SearchRoot, entry: FileStat) -> bool | None:
        """Report whether a file is text; None if that takes reading all of it."""
        known = None if search_root.index is None else search_root.index.is_text(entry)
        if known is None and entry.size >= _LARGE_BYTES:
            known = head_is_text(search_root, entry)
        if known is False:
            self._drop(search_root, entry, "binary")
        return known

    def _list(self, search_root: SearchRoot) -> list[FileStat]:
        """List the files of a root to search, in order; count those skipped."""
        name = search_root.root.name
        if name not in self._files:
            kept: list[FileStat] = []
            glob = self._globs[name]
            for number, entry in enumerate(search_root.files(self._walked)):
                if not number % _CHECK_INTERVAL:
                    ripgrep.check_deadline(self._deadline)
                if glob is not None and not glob.matches(entry.relative):
                    continue
                if not is_utf8_path(entry.relative):
                    self._skipped["unreadable"] += 1
                elif entry.size > self._most_bytes:
                    self._skipped["too_large"] += 1
                else:
                    kept.append(entry)
            self._files[name] = kept
        return self._files[name]

    def _is_searched(self, search_root: SearchRoot, entry: FileStat) -> bool:
        glob = self._globs[search_root.root.name]
        return (
            entry.size <= self._most_bytes
            and is_utf8_path(entry.relative)
            and (glob is None or glob.matches(entry.relative))
        )

    def _read(
        self, search_root: SearchRoot, entries: list[FileStat], wanted: int
    ) -> Iterator[SearchMatch]:
        for files, after in self._split_begun(search_root, entries):
            verifier = Verifier(
                search_root,
                self._pattern,
                context=self._query.context,
                max_bytes=self._most_bytes,
                deadline=self._deadline,
                after=after,
            )
            for hits in verifier.read(files, wanted, partial(self._drop, search_root)):
                if after and not hits.as_listed:
                    raise _invalid_cursor()
                yield from hits

    def _split_begun(
        self, search_root: SearchRoot, entries: list[FileStat]
    ) -> list[tuple[list[FileStat], int]]:
        """Split off the file in which the previous page ended, with its last line.

        That file is the first of all that are still to be searched.
        """
        position = self._position
        if position and entries and position[:2] == (search_root.root.name, entries[0].relative):
            return [(entries[:1], position.line), (entries[1:], 0)]
        return [(entries, 0)]

    def _drop(self, search_root: SearchRoot, entry: FileStat, reason: str) -> None:
        if (search_root.root.name, entry) not in self._dropped:
            self._dropped.add((search_root.root.name, entry))
            self._skipped[reason] += 1

    def _count_binary(self) -> None:
        """Count the binary files among those without a match."""
        for tree in self._trees:
            unknown = [entry for entry in self._list(tree) if self._is_text(tree, entry) is None]
            batches = scan(str(tree.root.path), unknown, NUL, self._deadline)
            with closing(batches):
                for batch in batches:
                    for entry in batch.matched:
                        if not head_is_text(tree, entry):
                            self._drop(tree, entry, "binary")
                    for entry in batch.unread:
                        self._drop(tree, entry, "unreadable")

    def _answer(self, hits: list[SearchMatch], *, more: bool) -> SearchResults:
        files = [(tree.root.name, entry) for tree in self._trees for entry in self._list(tree)]
        searched = [entry for name, entry in files if (name, entry) not in self._dropped]
        skipped, walked = self._skipped, self._walked
        return SearchResults(
            hits=tuple(hits),
            more=more,
            resume=partial(self._resume, hits),
            files=len(searched),
            bytes=sum(entry.size for entry in searched),
            skipped=SkipCounts(
                binary=skipped["binary"],
                unreadable=skipped["unreadable"] + walked.unreadable,
                special=walked.special if hits else walked.special_count,
                too_large=skipped["too_large"],
                changed=skipped["changed"] + walked.vanished,
            ),
        )

    def _resume(self, hits: list[SearchMatch], index: int) -> SearchPosition:
        last = hits[index]
        place = last.repo, last.path, last.line
        return SearchPosition(*place, self._checksum(*place))

    def _checksum(self, repo: str, path: str, line: int) -> int:
        """Compute the checksum of a line, its file and all files after it."""
        names = [tree.root.name for tree in self._trees]
        first, *others = self._trees[names.index(repo) :]
        files = self._list(first)
        rest = [(repo, files[_count_before(files, path) :])]
        rest += [(tree.root.name, self._list(tree)) for tree in others]
        return _listing_checksum(self._query, line, rest)


def _remaining_roots(
    search_roots: Sequence[SearchRoot], position: SearchPosition | None
) -> Sequence[SearchRoot]:
    if position is None:
        return search_roots
    names = [tree.root.name for tree in search_roots]
    if position.repo not in names:
        raise _invalid_cursor()
    return search_roots[names.index(position.repo) :]


def _count_before(files: Sequence[FileStat], path: str) -> int:
    return bisect_left(files, path.split("/"), key=lambda one: one.relative.split("/"))


class SearchPosition(NamedTuple):
    """The last line of a page; `checksum` covers it, the query, its file and all files after it.

    It is a cursor's values as they are.
    """

    repo: str
    path: str
    line: int
    checksum: int

    @classmethod
    def parse(cls, values: Sequence[Any]) -> SearchPosition:
        """Read a position from a cursor's JSON values. Raises InvalidArgument: INVALID_CURSOR."""
        match values:
            case [str(repo), str(path), int(line), int(checksum)]:
                return cls(repo, path, line, checksum)
            case _:
                raise _invalid_cursor()


def _listing_checksum(
    query: Query, line: int, roots: Iterable[tuple[str, Iterable[FileStat]]]
) -> int:
    """Compute a checksum of the query, a line and the listed states of the files."""
    asked = (line, query.text, query.regex, query.case, query.file_glob)
    files = [(name, [tuple(entry) for entry in entries]) for name, entries in roots]
    return zlib.crc32(marshal.dumps((asked, files), _MARSHAL_VERSION))


def _invalid_cursor() -> InvalidArgument:
    return InvalidArgument(
        "cursor belongs to another search, or files still to be searched have changed",
        code="INVALID_CURSOR",
        hint="Search again without cursor.",
    )
