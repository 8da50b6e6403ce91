"""Exact search: every line that matches, in order, read from the files as they are."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import closing, nullcontext
from functools import partial
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.roots import Marks, count_before, is_sendable
from rolltop.core.roots import Skipped as Passed
from rolltop.toolsets.retrieval.exact import resume, ripgrep
from rolltop.toolsets.retrieval.exact.expression import NUL, expression
from rolltop.toolsets.retrieval.exact.globs import FileGlob
from rolltop.toolsets.retrieval.exact.looking import Looks
from rolltop.toolsets.retrieval.exact.reading import LARGE, begins_binary
from rolltop.toolsets.retrieval.exact.sweeping import Sweep, Wanted
from rolltop.toolsets.retrieval.exact.tally import Tally
from rolltop.toolsets.retrieval.exact.verifying import Verifier
from rolltop.toolsets.retrieval.models import Found, Hit, Skipped

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.trees import Tree
    from rolltop.toolsets.retrieval.models import Query

MOST_BYTES: Final = 256 << 20
_CHECKED_EVERY: Final = 1024
"""Files listed between looks at the clock."""
_CHANGED: Final = -1
"""No sum of marks: files have changed already."""


def search(
    trees: Sequence[Tree],
    query: Query,
    *,
    limit: int,
    after: Sequence[Any] | None = None,
    deadline: float = math.inf,
    most_bytes: int = MOST_BYTES,
) -> Found:
    """Return the first `limit` matching lines, or those after a position.

    Trees are searched in the order given, files by path components, and matching is ripgrep's.
    `after` is a former answer's `resume`; `deadline` is on the monotonic clock; files larger
    than `most_bytes` are passed by. A spelling near by is not looked for: see `nearest`.

    Raises:
        Invalid: QUERY_EMPTY, QUERY_INVALID, FILE_GLOB_INVALID or CURSOR_INVALID.
        TimedOut: the deadline passed.

    """
    position = None if after is None else resume.Position.of(after)
    expressed = expression(query)
    verifier = Verifier(
        expressed,
        most=limit + 1 + (position.given if position else 0),
        context=query.context,
        deadline=deadline,
        most_bytes=most_bytes,
    )
    with ripgrep.Check(expressed) if query.regex else nullcontext() as check:
        work = _Search(trees, query, position, verifier, most_bytes, deadline, check)
        with closing(work):
            return work.found(limit)


class _Kept:
    """Files as they come, kept for the next to ask; any number may ask at a time."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._seen: Final[list[Entry]] = []
        self._rest: Final = entries

    def __iter__(self) -> Iterator[Entry]:
        seen, at = self._seen, 0
        while True:
            if at == len(seen):
                entry = next(self._rest, None)
                if entry is None:
                    return
                seen.append(entry)
            yield seen[at]
            at += 1


class _Listed:
    """A tree with its files: all that are chosen, and those of them that are to be searched."""

    def __init__(self, tree: Tree, passed: Passed) -> None:
        self.tree: Final = tree
        self.name: Final = tree.root.name
        self._passed: Final = passed
        self._files: Iterable[Entry] | None = None
        self.begun = False
        """Whether those to be searched were listed: what is passed by is counted then."""
        self.looks: Looks | None = None
        self.counted = False
        """Whether what listing them passed over is counted."""
        self.marks: Marks | None = None
        self.tally: Final = Tally()

    @property
    def files(self) -> Iterable[Entry]:
        """All files, listed as far as they were asked for."""
        if self._files is None:
            self.counted = True
            files = self.tree.files(self._passed)
            self._files = files if isinstance(files, list) else _Kept(iter(files))
        return self._files

    def count(self) -> None:
        """Count what listing them passed over: an index that was asked has listed all."""
        if self.looks is not None and not self.counted:
            _ = self.files


class _Search:
    """One search at work."""

    def __init__(
        self,
        trees: Sequence[Tree],
        query: Query,
        position: resume.Position | None,
        verifier: Verifier,
        most_bytes: int,
        deadline: float,
        check: ripgrep.Check | None,
    ) -> None:
        self._query: Final = query
        self._check_of_query: Final = check
        self._position: Final = position
        self._verifier: Final = verifier
        self._most_bytes: Final = most_bytes
        self._deadline: Final = deadline
        self._glob: Final = None if query.file_glob is None else FileGlob(query.file_glob)
        self._expression: Final = expression(query)
        self._passed: Final = Passed()
        self._sweeps: Final[dict[str, Sweep]] = {}
        self._read: Final[dict[tuple[str, str], Entry]] = {}
        """Files with hits, as they were before they were read, where all are listed only later."""
        self._checks: Final[dict[tuple[str, str], int]] = {}
        self._listed: Final = [
            _Listed(tree, self._passed) for tree in _still_to_read(trees, position)
        ]
        self._wanted: Final = {listed.name: self._choose(listed) for listed in self._listed}

    def found(self, limit: int) -> Found:
        """Return the answer."""
        position = self._position
        if position is not None:
            self._await_check()  # a query that cannot be read has no cursor either
            if self._check(position.repo, position.path) != position.check:
                raise resume.invalid()
        hits: list[Hit] = []
        with closing(self._matches()) as matches:
            for of_file in matches:
                if position is not None and not self._goes_on(of_file[0], position):
                    raise resume.invalid()
                hits += [hit for hit in of_file if not _was_given(hit, position)]
                if len(hits) > limit:
                    break
        if len(hits) > limit:
            return self._answer(hits[:limit], more=True)
        return self._answer(hits, more=False)

    def close(self) -> None:
        """Let go of lists that were begun, which refer to this, and of texts in memory."""
        for wanted in self._wanted.values():
            wanted.close()
        for listed in self._listed:
            listed.looks = None

    def _goes_on(self, hit: Hit, position: resume.Position) -> bool:
        """Return whether a file that was given in part was read in the state that was checked.

        Lines that were given are told by their numbers, which in another state are others'.
        """
        if (hit.repo, hit.path) != (position.repo, position.path):
            return True
        listed = self._listed[0]
        tree = listed.tree
        now = tree.roots.state(tree.root, hit.path, Passed())
        return now is not None and self._marks(listed).hold(now)

    def _matches(self) -> Generator[list[Hit], None, None]:
        """Yield the hits of each file that has some, in order."""
        some = False
        for listed in self._listed:
            batches, tally = self._begin(listed)
            self._await_check()
            lines = None if listed.looks is None else listed.looks.lines
            with closing(batches) as proposed:
                for batch in proposed:
                    matched = 0
                    for hits in self._verifier.matched(listed.tree, batch, tally, lines):
                        matched += 1
                        if listed.name in self._sweeps:
                            self._remember(hits[0], batch)
                        yield hits
                    some = some or matched > 0
                    if listed.looks is not None:
                        listed.looks.told(len(batch), matched)
        self._await_check()  # of no root, too
        if not some:
            self._count_all()

    def _await_check(self) -> None:
        """Return once ripgrep has read the expression. Raises QUERY_INVALID."""
        if self._check_of_query is not None:
            self._check_of_query.passed(self._deadline)

    def _remember(self, hit: Hit, batch: list[Entry]) -> None:
        """Note the state that a file was in before it was read."""
        entry = next(one for one in batch if one.relative == hit.path)
        self._read[hit.repo, hit.path] = entry

    def _begin(self, listed: _Listed) -> tuple[Generator[list[Entry], None, None], Tally]:
        """Return the files to be read, a batch at a time and in order, and what counts them."""
        tree = listed.tree
        candidates = None if tree.index is None else tree.index.candidates(self._query)
        if candidates is not None:
            entries = filter(self._is_wanted, self._from_position(listed.name, candidates))
        else:
            sweep = Sweep.of(tree, self._expression, self._bounds(listed.name))
            if sweep is not None:
                self._sweeps[listed.name] = sweep
                return sweep.batches(), sweep.tally
            texts = None
            if tree.index is not None and self._glob is None:
                texts = tree.index.texts(self._most_bytes)
            files = self._wanted[listed.name] if texts is None else texts
            entries = self._from_position(listed.name, files)
        listed.looks = Looks(tree, self._expression, self._deadline, self._verifier.most)
        return listed.looks.batches(self._without_large_binaries(listed, entries)), listed.tally

    def _bounds(self, name: str) -> Wanted:
        """Return which of a tree's files are still to be read."""
        position = self._position
        start = position.path if position is not None and name == position.repo else ""
        return Wanted(self._glob, start, self._most_bytes, self._deadline)

    def _without_large_binaries(self, listed: _Listed, entries: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the files but for large ones whose head says that they are no text."""
        tree = listed.tree
        for entry in entries:
            large = entry.size >= LARGE and _known(tree, entry) is None
            if large and begins_binary(tree.roots, tree.root, entry):
                listed.tally.find_out(entry)
            else:
                yield entry

    def _from_position(self, name: str, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield those of a tree's files that are still to be read."""
        position = self._position
        if position is None or name != position.repo:
            return iter(entries)
        return _starting_at(position.path, entries)

    def _count_all(self) -> None:
        """Count all that was searched, and the binary files that nobody has looked into."""
        for listed in self._listed:
            if listed.name in self._sweeps:
                self._count_swept(listed)
                continue
            if not listed.begun and listed.tree.index is not None and self._glob is None:
                listed.counted = True
                totals, texts = listed.tree.index.totals(self._passed, self._most_bytes)
                listed.tally.add(totals, texts)
                self._count_binary(listed, among=texts)
            else:
                deque(self._wanted[listed.name], maxlen=0)
                self._count_binary(listed)

    def _count_swept(self, listed: _Listed) -> None:
        """Sweep a tree again for what is binary, unless that was told by the first time."""
        if self._sweeps[listed.name].counts:
            return
        sweep = Sweep.of(listed.tree, NUL, self._bounds(listed.name))
        if sweep is None:
            return
        self._sweeps[listed.name] = sweep
        with closing(sweep.batches()) as with_nul:
            for batch in with_nul:
                self._verifier.count_binary(listed.tree, batch, sweep.tally)

    def _count_binary(self, listed: _Listed, among: Sequence[Entry] | None = None) -> None:
        """Count the binary files among those that were counted as text and nobody looked into."""
        tree, looks = listed.tree, listed.looks
        unlooked = [] if looks is None else looks.unlooked
        unknown = [entry for entry in unlooked if _known(tree, entry) is not True]
        if unknown and among is not None:
            counted = set(among)
            unknown = [entry for entry in unknown if entry in counted]
        if unknown:
            with closing(Looks(tree, NUL, self._deadline).batches(unknown)) as with_nul:
                for batch in with_nul:
                    self._verifier.count_binary(tree, batch, listed.tally)

    def _choose(self, listed: _Listed) -> Generator[Entry, None, None]:
        """Yield the files to be searched; count them and those that are passed by."""
        listed.begun = True
        tally, tree = listed.tally, listed.tree
        for entry in self._in_glob(listed.files):
            if not is_sendable(entry.relative):
                tally.unreadable += 1
            elif entry.size > self._most_bytes:
                tally.too_large += 1
            elif _known(tree, entry) is False:
                tally.binary += 1
            else:
                tally.files += 1
                tally.bytes += entry.size
                yield entry

    def _in_glob(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the files that the glob chooses. Raises TimedOut past the deadline."""
        for number, entry in enumerate(entries):
            if not number % _CHECKED_EVERY:
                ripgrep.check_time(self._deadline)
            if self._glob is None or self._glob.chooses(entry.relative):
                yield entry

    def _is_wanted(self, entry: Entry) -> bool:
        """Return whether a file is one of those to be searched."""
        return (
            entry.size <= self._most_bytes
            and is_sendable(entry.relative)
            and (self._glob is None or self._glob.chooses(entry.relative))
        )

    def _check(self, repo: str, path: str) -> int:
        """Return a number for the state of the file and of all that come after it."""
        if (repo, path) in self._checks:
            return self._checks[repo, path]
        names = [listed.name for listed in self._listed]
        first, *others = self._listed[names.index(repo) :]
        read = self._read.get((repo, path))
        changed = read is not None and not self._marks(first).hold(read)
        marks = [(repo, _CHANGED if changed else self._marks(first).since(path))]
        marks += [(listed.name, self._marks(listed).since("")) for listed in others]
        return self._checks.setdefault((repo, path), resume.check(self._query, marks))

    def _marks(self, listed: _Listed) -> Marks:
        """Return the marks of a tree's files in the glob."""
        index = listed.tree.index
        if listed.marks is None and index is not None and self._glob is None:
            listed.marks = index.marks(self._most_bytes)
        if listed.marks is None:
            listed.marks = Marks(self._in_glob(listed.files), self._most_bytes)
        return listed.marks

    def _answer(self, hits: list[Hit], *, more: bool) -> Found:
        tally, passed = Tally(), self._passed
        for listed in self._listed:
            listed.count()
            tally.merge(listed.tally)
        for sweep in self._sweeps.values():
            tally.merge(sweep.tally)
            passed.add(sweep.passed)
        skipped = Skipped(
            binary=tally.binary,
            unreadable=tally.unreadable + passed.unreadable,
            special=passed.special if hits else passed.no_files,  # only told of no hits
            too_large=tally.too_large,
            changed=tally.changed + passed.vanished,
        )
        return Found(
            hits=tuple(hits),
            more=more,
            resume=partial(self._resume, hits),
            files=tally.files,
            bytes=tally.bytes,
            skipped=skipped,
        )

    def _resume(self, hits: list[Hit], index: int) -> tuple[Any, ...]:
        """Return where to go on after one of the hits."""
        last, before = hits[index], self._position
        given = sum((hit.repo, hit.path) == (last.repo, last.path) for hit in hits[: index + 1])
        if before is not None and (before.repo, before.path) == (last.repo, last.path):
            given += before.given
        check = self._check(last.repo, last.path)
        return resume.Position(last.repo, last.path, last.line, given, check).values()


def _starting_at(path: str, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the files from the one at `path` on."""
    if isinstance(entries, Sequence):
        return islice(entries, count_before(entries, path), None)
    first = path.split("/")
    return dropwhile(lambda entry: entry.relative.split("/") < first, entries)


def _known(tree: Tree, entry: Entry) -> bool | None:
    """Return whether a file is text, None where that is not known."""
    return None if tree.index is None else tree.index.is_text(entry)


def _was_given(hit: Hit, position: resume.Position | None) -> bool:
    return (
        position is not None
        and (hit.repo, hit.path) == (position.repo, position.path)
        and hit.line <= position.line
    )


def _still_to_read(trees: Sequence[Tree], position: resume.Position | None) -> Sequence[Tree]:
    """Return the trees from the position's on."""
    if position is None:
        return trees
    names = [tree.root.name for tree in trees]
    if position.repo not in names:
        raise resume.invalid()
    return trees[names.index(position.repo) :]
