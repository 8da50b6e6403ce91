"""A first look at a tree of which nothing is known: ripgrep reads whole directories.

A walk names the chosen files, and ripgrep is given the directories of which it would read just
those: it lists them faster than it takes names. What the states of files cost is a fifth of the
search, so they are asked for only where they matter: of files that may match, of those in other
directories, and of those that by their names may be large. How many files ripgrep says it has
searched tells whether it has seen the same ones; where it has not, they are looked at by name.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from rolltop.core.roots import Listed, is_sendable
from rolltop.core.roots import Skipped as Passed
from rolltop.toolsets.retrieval.exact import ripgrep
from rolltop.toolsets.retrieval.exact.looking import (
    ARGUMENT_BYTES,
    POINTER,
    READ_AT_ONCE,
    Looks,
    encoded,
    is_torn,
    result_of,
)
from rolltop.toolsets.retrieval.exact.reading import LARGE, begins_binary
from rolltop.toolsets.retrieval.exact.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.expression import Expression
    from rolltop.toolsets.retrieval.exact.globs import FileGlob
    from rolltop.toolsets.retrieval.exact.trees import Tree

_LOOKED_AT_ONCE: Final = (4096, 12_288)
"""Files of the first run, of all others: what is wanted is often near the start."""
_AHEAD: Final = 1
"""Runs under way while the next group is listed: each uses all cores."""
_WRITTEN: Final = frozenset(
    name
    for names in (
        "S adoc asm awk bat c cc cfg clj cmake conf cpp cs css cxx dart dts dtsi el erl ex exs fs",
        "go gradle groovy h hh hpp hs htm html hxx ini java jl js jsx kt less lua m md mjs mk ml",
        "mm nim php pl pm proto ps1 py pyi pyx r rb rs rst s sass scala scss sh swift tcl tex tf",
        "toml ts tsx txt vim vue yaml yml zig",
        "CMakeLists COPYING Dockerfile Kbuild Kconfig LICENSE MAINTAINERS Makefile README TODO",
    )
    for name in names.split()
)
"""Endings and names of what people write, so neither large nor binary as a rule. Where one is, the
answer is the same: it is only read for nothing."""
_BY_PATH: Final = itemgetter(0)


@dataclass(slots=True)
class _Group:
    """What is looked at together, and the run that does."""

    names: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])
    """The files, sorted, by their directories."""
    paths: list[bytes] = field(default_factory=list[bytes])
    """What ripgrep is given: directories as such, or files."""
    files: int = 0
    length: int = 0
    before: list[str] | None = None
    """Whatever comes before this path was listed up to here; None after the last group."""
    large: list[Entry] = field(default_factory=list["Entry"])
    """Those of the files that are known to be large, as they were before they are looked at."""
    run: ripgrep.Run | None = None
    begun: int = 0
    """When, in nanoseconds since 1970."""

    def add(self, listed: Listed, large: Mapping[str, Entry]) -> None:
        """Add files of a directory that come after those that are there."""
        prefix = _prefix(listed.relative)
        paths = [listed.relative] if listed.whole else [prefix + name for name in listed.names]
        added = list(map(encoded, paths))
        self.paths += added
        self.length += sum(map(len, added)) + POINTER * len(added)
        self.names.setdefault(listed.relative, []).extend(listed.names)
        self.files += len(listed.names)
        self.large += [large[name] for name in listed.names if name in large]


@dataclass(frozen=True)
class Wanted:
    """Which files a search is about, from the path `start` on, and until when it may take."""

    glob: FileGlob | None
    start: str
    most_bytes: int
    deadline: float
    """On the monotonic clock."""


class Sweep:
    """A look at a tree's directories.

    `tally` and `passed` gather what it goes over and passes by: where it does not `count`, not
    which files are binary, nor how many bytes there are.
    """

    def __init__(
        self,
        tree: Tree,
        folders: Iterable[Listed],
        passed: Passed,
        found: Expression,
        wanted: Wanted,
    ) -> None:
        """Look at nothing yet; see `of`."""
        self.tally: Final = Tally()
        self.passed: Final = passed
        self.counts: Final = found.in_bytes is not None
        self._tree: Final = tree
        self._folders: Final = folders
        self._expression: Final = found
        self._asked: Final = found.in_bytes or found
        self._wanted: Final = wanted
        self._start: Final = wanted.start.split("/")
        self._waiting: Final[list[tuple[list[str], Entry | None]]] = []
        """Files to be read before which others may come: where they are, or as they were."""

    @classmethod
    def of(cls, tree: Tree, found: Expression, wanted: Wanted) -> Sweep | None:
        """Return a look at a tree of which nothing is known; None where its files are."""
        passed = Passed()
        folders = None if tree.folders is None else tree.folders(wanted.start, passed)
        return None if folders is None else cls(tree, folders, passed, found, wanted)

    def batches(self) -> Generator[list[Entry], None, None]:
        """Yield the files to be read, a batch at a time, in order."""
        begun: deque[_Group] = deque()
        try:
            for group in self._groups():
                self._begin(group)
                begun.append(group)
                if len(begun) > _AHEAD:
                    yield from self._decided(begun.popleft())
            while begun:
                yield from self._decided(begun.popleft())
        finally:
            for group in begun:
                if group.run is not None:
                    group.run.stop()

    def _decided(self, group: _Group) -> Iterator[list[Entry]]:
        """Yield what may match and nothing later comes before: of the group, and what waited."""
        waiting = self._waiting
        for item in self._matching(group):
            relative = item if isinstance(item, str) else item.relative
            waiting.append((relative.split("/"), None if isinstance(item, str) else item))
        waiting.sort(key=_BY_PATH)
        end = len(waiting)
        if group.before is not None:
            end = bisect_left(waiting, group.before, key=_BY_PATH)
        ready = iter(waiting[:end])
        del waiting[:end]
        while some := list(islice(ready, READ_AT_ONCE)):
            states = (entry or self._state("/".join(parts)) for parts, entry in some)
            yield [entry for entry in states if entry is not None]

    def _groups(self) -> Iterator[_Group]:
        """Yield what is looked at together: growing, and short to name."""
        sizes = iter((READ_AT_ONCE, *_LOOKED_AT_ONCE))
        size = next(sizes)
        group = _Group()
        for folder in self._folders:
            ripgrep.check_time(self._wanted.deadline)
            names, large = self._fitting(folder)
            for listed in _parts(folder, names):
                if group.files >= size or group.length > ARGUMENT_BYTES:
                    group.before = listed.relative.split("/") if listed.relative else []
                    yield group
                    group, size = _Group(), next(sizes, size)
                group.add(listed, large)
        yield group

    def _fitting(self, listed: Listed) -> tuple[list[str], dict[str, Entry]]:
        """Return a directory's files that are to be searched, and those known to be large.

        Binary ones that are large are left out, and what is too large; both are counted.
        """
        roots, root, prefix = self._tree.roots, self._tree.root, _prefix(listed.relative)
        names = self._names(listed, prefix)
        unsure = [name for name in names if name.rpartition(".")[2] not in _WRITTEN]
        states = ((name, roots.state(root, prefix + name, Passed())) for name in unsure)
        large = {name: entry for name, entry in states if entry and entry.size >= LARGE}
        unfit = {name for name, entry in large.items() if not self._is_fit(entry)}
        return [name for name in names if name not in unfit] if unfit else names, large

    def _names(self, listed: Listed, prefix: str) -> list[str]:
        """Return those of a directory's files that are asked for."""
        names, glob = listed.names, self._wanted.glob
        if self._wanted.start:
            folder = prefix.split("/")[:-1]
            if folder == self._start[: len(folder)]:
                names = [name for name in names if [*folder, name] >= self._start]
        if glob is not None:
            names = [name for name in names if glob.chooses(prefix + name)]
        if not is_sendable(prefix + "".join(names)):
            sent = [name for name in names if is_sendable(prefix + name)]
            self.tally.unreadable += len(names) - len(sent)
            return sent
        return names

    def _admitted(self, prefix: str, names: Iterable[str]) -> Iterator[Entry]:
        """Yield the files that are to be searched; count the others."""
        states = (self._state(prefix + name) for name in names)
        return (entry for entry in states if entry is not None and self._is_fit(entry))

    def _is_fit(self, entry: Entry) -> bool:
        """Return whether a file is to be searched, as far as little tells; else count it."""
        if entry.size > self._wanted.most_bytes:
            self.tally.too_large += 1
        elif entry.size >= LARGE and begins_binary(self._tree.roots, self._tree.root, entry):
            self.tally.binary += 1
        else:
            return True
        return False

    def _state(self, relative: str) -> Entry | None:
        return self._tree.roots.state(self._tree.root, relative, self.passed)

    def _begin(self, group: _Group) -> None:
        """Start looking at a group, unless it is to be read at once."""
        if group.files > READ_AT_ONCE:
            group.begun = time.time_ns()
            group.run = ripgrep.folders_run(
                self._asked,
                group.paths,
                str(self._tree.root.path),
                to_the_end=self.counts,
            )

    def _matching(self, group: _Group) -> Iterable[str | Entry]:
        """Return a group's files that may match, those that could not be read among them."""
        ended = result_of(group.run, self._wanted.deadline)
        if ended is None:
            return self._all(group)
        written, _ = ended
        swept = ripgrep.swept(written, to_the_end=self.counts)
        if swept is None or swept.files != group.files:
            return self._by_name(self._all(group))
        if swept.bytes <= self._wanted.most_bytes:
            self.tally.files += swept.files
            self.tally.bytes += swept.bytes
            return self._chosen(group, swept.names)
        entries = self._all(group)
        if len(entries) == swept.files:
            return self._chosen(group, swept.names)
        return self._by_name(entries)  # some are too large

    def _chosen(self, group: _Group, names: Iterable[bytes]) -> Iterator[str]:
        """Yield those of the files that ripgrep named which the walk chose."""
        tree, begun = self._tree, group.begun
        torn = {entry.relative for entry in group.large if is_torn(tree, entry, begun)}
        yield from torn
        for relative in map(os.fsdecode, names):
            folder, _, name = relative.rpartition("/")
            if relative not in torn and _holds(group.names.get(folder, []), name):
                yield relative

    def _by_name(self, entries: list[Entry]) -> list[Entry]:
        """Return what may match where ripgrep has not surely read the very files."""
        entries.sort(key=lambda entry: entry.relative.split("/"))
        looks = Looks(self._tree, self._expression, self._wanted.deadline)
        with closing(looks.batches(entries)) as batches:
            return list(chain.from_iterable(batches))

    def _all(self, group: _Group) -> list[Entry]:
        """Return a group's files as they are now, and count them."""
        entries: list[Entry] = []
        for folder, names in group.names.items():
            entries += self._admitted(_prefix(folder), names)
        self.tally.files += len(entries)
        self.tally.bytes += sum(entry.size for entry in entries)
        return entries


def _holds(names: list[str], name: str) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name


def _parts(listed: Listed, names: list[str]) -> Iterator[Listed]:
    """Yield a directory as a whole where ripgrep may have all of it, else some names at a time."""
    if listed.whole and len(names) == len(listed.names) <= _LOOKED_AT_ONCE[-1]:
        yield listed
        return
    for start in range(0, len(names), READ_AT_ONCE):
        yield Listed(listed.relative, names[start : start + READ_AT_ONCE], whole=False)


def _prefix(folder: str) -> str:
    return f"{folder}/" if folder else ""
