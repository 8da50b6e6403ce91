"""A root's selected files, cached between searches and compared with the disk at each.

A walk applies git's rules to every name; a catalog remembers the result. A changed directory is
listed again, and changed rules are applied again to all they cover. The stat of every directory
and file shows what changed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Final

from rolltop.core.errors import Unavailable
from rolltop.workspace.file_stat import (
    LIST_FLAGS,
    STAT_FLAGS,
    FileStat,
    StatBuffer,
    StatState,
    by_components,
    is_stable_state,
    state_of,
)
from rolltop.workspace.ignore_rules import (
    DOT_IGNORE_FILE,
    GIT_DIRECTORY,
    GIT_IGNORE_FILE,
    DirectoryRules,
    directory_state,
    root_rules,
    root_state,
)
from rolltop.workspace.sandbox import Root, Roots
from rolltop.workspace.walk import SkippedEntries, select_entries, visible_entries


class Catalog:
    """The selected files of one root. Thread-safe."""

    def __init__(self, roots: Roots, root: Root) -> None:
        self._root: Final = str(root.path).rstrip("/")
        self._excluded_names: Final = roots.hidden_paths.names_by_directory
        self._hidden: Final = roots.hidden_paths.hides(str(root.path))
        self._lock: Final = Lock()
        self._buffer: Final = StatBuffer() if StatBuffer.is_supported() else None
        self._top: CatalogDirectory | None = None
        self._top_state: tuple[object, ...] = ()
        self._listed: tuple[list[FileStat], SkippedEntries] | None = None
        """All files, and what is skipped; None after a change."""

    def files(self, skipped: SkippedEntries) -> list[FileStat]:
        """List the current files, ordered by path components.

        Returns the same list of the same objects while nothing changes; callers must not modify it.
        Unreadable directories and special files are counted in `skipped`.
        """
        if self._hidden:
            return []
        with self._lock:
            folders = self._refresh()
            if self._listed is None:
                passed = SkippedEntries()
                for folder in folders:
                    passed.add(folder.skipped)
                entries = [entry for folder in folders for entry in folder.entries]
                entries.sort(key=by_components)
                self._listed = entries, passed
            skipped.add(self._listed[1])
            return self._listed[0]

    def _refresh(self) -> list[CatalogDirectory]:
        """Bring all directories up to date, and return them."""
        state = root_state(self._root or "/")
        top = self._top
        if top is None or state != self._top_state:
            top = self._top = CatalogDirectory("", "", None, tracked_only=False)
            self._top_state, self._listed = state, None
        folders = [top]
        for folder in folders:  # which grows meanwhile
            if not self._is_unchanged(folder):
                self._update(folder)
            folders.extend(folder.subdirectories.values())
        return folders

    def _is_unchanged(self, folder: CatalogDirectory) -> bool:
        """Report whether the stats of the directory and its files are unchanged.

        Runs for every directory at every search.
        """
        if folder.stat_bytes is None or self._buffer is None:
            return False
        try:
            opened = os.open(self._path(folder), STAT_FLAGS)
        except OSError:
            return False
        try:
            return self._buffer.read(opened, folder.raw_names) == folder.stat_bytes
        finally:
            os.close(opened)

    def _path(self, folder: CatalogDirectory) -> str:
        return f"{self._root}/{folder.relative}" if folder.relative else self._root or "/"

    def _update(self, folder: CatalogDirectory) -> None:
        path = self._path(folder)
        try:
            opened = os.open(path, LIST_FLAGS)
        except OSError as error:
            self._clear(folder, error)
            return
        try:
            state = state_of(os.fstat(opened))
            if folder.identity != state[3:5]:
                folder.identity, folder.state = state[3:5], None
            seen = self._read_stats(folder, opened)
            if state != folder.state or folder.rule_state != directory_state(path, folder.present):
                self._list(folder, path, opened, state)
            else:
                self._compare(folder, path, opened, state)
            # Nothing changed between the two, or the next look compares again.
            now = self._read_stats(folder, opened)
            folder.stat_bytes = now if now is not None and now == seen else None
        except (OSError, Unavailable) as error:
            self._clear(folder, error)
        finally:
            os.close(opened)

    def _read_stats(self, folder: CatalogDirectory, opened: int) -> bytes | None:
        """Read the stats that cover every change in a directory; None if they cannot."""
        if self._buffer is None or not self._buffer.covers(folder.identity[1]):
            return None
        if folder.parent is None or not folder.is_covered_by_stats():
            return None
        return self._buffer.read(opened, folder.raw_names)

    def _compare(self, folder: CatalogDirectory, path: str, opened: int, state: StatState) -> None:
        """Update the stats of changed files; list the directory again if one is gone."""
        look = partial(os.stat, dir_fd=opened, follow_symlinks=False)
        try:
            states = list(map(state_of, map(look, folder.files)))
            if states == [entry[1:] for entry in folder.entries]:
                return
            folder.set_states(states)
        except OSError:
            self._list(folder, path, opened, state)
        self._listed = None

    def _list(self, folder: CatalogDirectory, path: str, opened: int, state: StatState) -> None:
        """List the directory and apply the rules; reuse subdirectories under unchanged rules."""
        with os.scandir(opened) as listing:
            found, present = visible_entries(list(listing), self._excluded_names.get(path, ()))
        known, folder.subdirectories, self._listed = folder.subdirectories, {}, None
        rule_state = directory_state(path, present)
        if folder.rules is None or rule_state != folder.rule_state:
            folder.rules, known = self._rules(folder, path, present), {}
        folder.present, folder.rule_state = present, rule_state
        folder.skipped = SkippedEntries()
        chosen: list[tuple[str, StatState]] = []
        for entry, one, tracked_only in select_entries(
            found, f"{path.rstrip('/')}/", folder.rules, folder.skipped
        ):
            if one is not None:
                chosen.append((entry.name, one))
            else:
                folder.subdirectories[entry.name] = _reuse_or_create(
                    known.get(entry.name), folder, entry, tracked_only=tracked_only
                )
        folder.skipped.vanished = 0  # what is gone is no longer here to be counted
        folder.files = [name for name, _ in chosen]
        folder.set_states([one for _, one in chosen])
        folder.state = state if is_stable_state(state) else None

    def _rules(
        self, folder: CatalogDirectory, path: str, present: tuple[str, ...]
    ) -> DirectoryRules:
        if folder.parent is None:
            return root_rules(self._root or "/")
        return folder.parent.for_subdirectory(
            path, folder.name, tracked_only=folder.tracked_only, present=present
        )

    def _clear(self, folder: CatalogDirectory, error: OSError | Unavailable) -> None:
        """Forget the contents of a directory that cannot be listed.

        Raises Unavailable if this process lacks resources.
        """
        folder.files, folder.subdirectories = [], {}
        folder.set_states([])
        folder.state = None
        folder.skipped = SkippedEntries()
        self._listed = None
        if isinstance(error, Unavailable):
            raise error
        folder.skipped.count_error(error)
        folder.skipped.vanished = 0


def _reuse_or_create(
    known: CatalogDirectory | None,
    parent: CatalogDirectory,
    entry: os.DirEntry[str],
    *,
    tracked_only: bool,
) -> CatalogDirectory:
    """Reuse the cached subdirectory unless it was replaced."""
    same = known is not None and known.identity[0] in {0, entry.inode()}
    if known is not None and same and known.tracked_only is tracked_only:
        return known
    relative = f"{parent.relative}/{entry.name}" if parent.relative else entry.name
    return CatalogDirectory(relative, entry.name, parent.rules, tracked_only)


@dataclass(slots=True, eq=False)
class CatalogDirectory:
    """A cached directory, with the selection of its names.

    `state` is None until it has been listed and while its last change is racy; `files` are the
    selected names, with their `entries`; `subdirectories` are entered.
    """

    relative: str
    name: str
    parent: DirectoryRules | None
    tracked_only: bool
    rules: DirectoryRules | None = None
    state: StatState | None = None
    rule_state: tuple[object, ...] = ()
    present: tuple[str, ...] = ()
    files: list[str] = field(default_factory=list[str])
    entries: list[FileStat] = field(default_factory=list[FileStat])
    subdirectories: dict[str, CatalogDirectory] = field(
        default_factory=dict[str, "CatalogDirectory"]
    )
    skipped: SkippedEntries = field(default_factory=SkippedEntries)
    raw_names: list[bytes] = field(default_factory=list[bytes])
    """Names of its files and of its rule files."""
    identity: tuple[int, int] = (0, 0)
    """Inode and device at the last comparison; zeros before."""
    stat_bytes: bytes | None = None
    """The `StatBuffer` contents of the last known state."""

    def set_states(self, states: list[StatState]) -> None:
        """Update the files' states; unchanged files keep their entry objects."""
        prefix = f"{self.relative}/" if self.relative else ""
        before = {entry: entry for entry in self.entries}
        made = (
            FileStat(prefix + name, *state) for name, state in zip(self.files, states, strict=True)
        )
        self.stat_bytes = None
        self.raw_names = [os.fsencode(name) for name in (*self.files, *self.rule_names())]
        self.entries = [before.get(entry, entry) for entry in made]

    def rule_names(self) -> list[str]:
        """List the rule files present."""
        return [name for name in (GIT_IGNORE_FILE, DOT_IGNORE_FILE) if name in self.present]

    def is_covered_by_stats(self) -> bool:
        """Report whether stats of the directory, files and rule files show every change.

        They do not after a racy change or in a repository with rules of its own.
        """
        return (
            self.state is not None
            and GIT_DIRECTORY not in self.present
            and all(isinstance(rule, tuple) for rule in self.rule_state[1:])
        )
