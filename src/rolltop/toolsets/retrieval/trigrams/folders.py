"""One directory of a root: what was decided about its names, and the states of its files."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.roots import Entry
from rolltop.core.roots.choice import GIT_DIRECTORY, GIT_IGNORE_FILE, OWN_IGNORE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.roots.choice import DirectoryRules
    from rolltop.toolsets.retrieval.trigrams.rulefiles import State

FileState = tuple[int, int, int, int, int, int]
"""A state, and the number of names the file has."""


@dataclass(slots=True)
class Below:
    """What lies in a directory and all below it; not to be changed once it is put together."""

    entries: list[Entry] = field(default_factory=list[Entry])
    """The chosen files, ordered by path components."""
    special: int = 0
    unreadable: int = 0
    links: list[str] = field(default_factory=list[str])
    """Paths from the root."""

    def count(self, folder: Folder) -> None:
        """Count what is no file in one directory."""
        self.special += folder.special
        self.unreadable += folder.unreadable
        self.links += [folder.prefix + name for name in folder.links]

    def add(self, other: Below) -> None:
        """Append what lies in the next directory and below it."""
        self.entries += other.entries
        self.special += other.special
        self.unreadable += other.unreadable
        self.links += other.links


_KEPT_DEPTH: Final = 8
"""Directories as deep as that keep no list of their own, or lists would be as many as levels."""


@dataclass(slots=True, eq=False)
class Folder:
    """One directory that is entered, with what was decided about the names in it.

    `state` is None until it has been listed and while it changed too lately; `files` are the
    names chosen, with their `states` and `entries`, `folders` the directories to enter.
    """

    relative: str
    name: str
    parent: DirectoryRules | None
    tracked_only: bool
    rules: DirectoryRules | None = None
    state: State | None = None
    rule_state: tuple[object, ...] = ()
    present: tuple[str, ...] = ()
    files: list[str] = field(default_factory=list[str])
    states: list[FileState] = field(default_factory=list[FileState])
    entries: list[Entry] = field(default_factory=list[Entry])
    folders: dict[str, Folder] = field(default_factory=dict[str, "Folder"])
    special: int = 0
    links: list[str] = field(default_factory=list[str])
    unreadable: int = 0
    passed_by: int = 0
    """How many other files it holds whose names are not hidden."""
    identity: tuple[int, int] = (0, 0)
    """Inode and device of the directory that was last looked at; zeros before."""
    watch: int | None = None
    linked: frozenset[int] = frozenset()
    """Inodes of files with another name, through which they may change unnoticed here."""
    gone: bool = False
    below: Below | None = None
    """What it and all below it hold; None where that is to be put together anew."""

    @property
    def prefix(self) -> str:
        """What the paths of all in it begin with."""
        return f"{self.relative}/" if self.relative else ""

    def listed(self) -> Below:
        """Return what lies in it and below it, put together from what has not changed."""
        changed: list[Folder] = []
        pending: list[Folder] = [self]
        while pending:
            folder = pending.pop()
            if folder.below is None and folder.relative.count("/") < _KEPT_DEPTH:
                changed.append(folder)
                pending.extend(folder.folders.values())
        for folder in reversed(changed):
            folder.below = _gathered(folder)
        return self.below or _gathered(self)

    def changed(self, folder: Folder) -> None:
        """Take note that the folder, which lies in this one or is it, holds something else."""
        folder.below = self.below = None
        above: Folder | None = self
        for name in folder.relative.removeprefix(self.prefix).split("/"):
            above = None if above is None else above.folders.get(name)
            if above is not None:
                above.below = None

    def note(self, states: list[FileState]) -> None:
        """Take the files' states; an entry stays the same object while its file is the same."""
        prefix = self.prefix
        before = {entry: entry for entry in self.entries}
        made = (
            Entry(prefix + name, *state[:5]) for name, state in zip(self.files, states, strict=True)
        )
        self.states = states
        self.linked = frozenset(state[3] for state in states if state[5] > 1)
        self.entries = [before.get(entry, entry) for entry in made]

    def rule_names(self) -> list[str]:
        """Return the names of the files with rules that it holds."""
        return [name for name in (GIT_IGNORE_FILE, OWN_IGNORE_FILE) if name in self.present]

    def all_states(self) -> list[State] | None:
        """Return its own state, its files' and its rule files'.

        None where they don't tell of every change: lately changed ones, or a repository's own
        rules.
        """
        if self.state is None or GIT_DIRECTORY in self.present:
            return None
        rules = self.rule_state[1:]
        if any(not isinstance(rule, tuple) for rule in rules):
            return None
        return [self.state, *(one[:5] for one in self.states), *cast("tuple[State, ...]", rules)]

    def all(self) -> Iterator[Folder]:
        """Yield it and all below it."""
        pending: list[Folder] = [self]
        while pending:
            folder = pending.pop()
            yield folder
            pending.extend(folder.folders.values())


def _gathered(top: Folder) -> Below:
    """Put together what lies in a directory and below it: deeper perhaps than calls may nest."""
    found = Below()
    found.count(top)
    around = [(top, iter(sorted(top.folders)), 0)]
    while around:
        folder, names, start = around.pop()
        name = next(names, None)
        if name is None:
            found.entries += folder.entries[start:]
            continue
        end = bisect_left(folder.files, name, start)
        found.entries += folder.entries[start:end]
        around.append((folder, names, end))
        inside = folder.folders[name]
        if inside.below is not None:
            found.add(inside.below)
        else:
            found.count(inside)
            around.append((inside, iter(sorted(inside.folders)), 0))
    return found
