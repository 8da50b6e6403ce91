"""One directory of a root: what was decided about its names, and the states of its files."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from rolltop.core.roots import Entry
from rolltop.core.roots.choice import GIT_DIRECTORY, GIT_IGNORE_FILE, OWN_IGNORE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.roots.choice import DirectoryRules
    from rolltop.toolsets.retrieval.trigrams.rulefiles import State

FileState = tuple[int, int, int, int, int, int]
"""A state, and the number of names the file has."""


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
    identity: tuple[int, int] = (0, 0)
    """Inode and device of the directory that was last looked at; zeros before."""
    watch: int | None = None
    linked: frozenset[int] = frozenset()
    """Inodes of files with another name, through which they may change unnoticed here."""
    gone: bool = False

    @property
    def prefix(self) -> str:
        """What the paths of all in it begin with."""
        return f"{self.relative}/" if self.relative else ""

    def listed(self) -> Iterator[list[Entry]]:
        """Yield the files in it and below it in runs, ordered by path components."""
        start = 0
        for name in sorted(self.folders):
            end = bisect_left(self.files, name, start)
            yield self.entries[start:end]
            yield from self.folders[name].listed()
            start = end
        yield self.entries[start:]

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
        yield self
        for folder in self.folders.values():
            yield from folder.all()
