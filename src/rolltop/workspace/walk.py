"""A root's chosen files, in a fixed order, at nearly the speed of reading its directories."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from rolltop.workspace.errors import raise_if_exhausted
from rolltop.workspace.file_stat import FileStat, StatState, state_of
from rolltop.workspace.ignore_rules import (
    RULE_FILE_NAMES,
    DirectoryRules,
    DirectoryStatus,
    root_rules,
)
from rolltop.workspace.symlinks import count_dangling

_BY_NAME = attrgetter("name")
_VANISHED_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


@dataclass(slots=True)
class SkippedEntries:
    """Entries that a walk skipped although no rule excludes them."""

    unreadable: int = 0
    """Directories that cannot be listed and files without a stat."""
    vanished: int = 0
    """Files and directories that disappeared during the walk."""
    special: int = 0
    """FIFOs, sockets and devices."""
    links: list[str] = field(default_factory=list[str])
    """Absolute paths of symbolic links; dangling ones are counted on demand."""

    @property
    def special_count(self) -> int:
        """FIFOs, sockets, devices, and links that lead nowhere now."""
        return self.special + count_dangling(self.links)

    def add(self, other: SkippedEntries) -> None:
        """Add another walk's counts."""
        self.unreadable += other.unreadable
        self.vanished += other.vanished
        self.special += other.special
        self.links += other.links

    def count_special(self, entry: os.DirEntry[str], path: str) -> None:
        """Count an entry that is neither file nor directory."""
        if entry.is_symlink():
            self.links.append(path)
        else:
            self.special += 1

    def count_error(self, error: OSError) -> None:
        """Count a file or directory that failed with this error.

        Raises Unavailable if this process lacks resources.
        """
        raise_if_exhausted(error)
        if error.errno in _VANISHED_ERRNOS:
            self.vanished += 1
        else:
            self.unreadable += 1


class DirectoryEntry(NamedTuple):
    """A chosen directory, by its path from the root."""

    relative: str


class _PendingDirectory(NamedTuple):
    """A directory still to be listed."""

    relative: str
    name: str
    parent: DirectoryRules
    tracked_only: bool


class Walk:
    """One pass over a root: lists its files, or checks single paths.

    `hidden_names` maps a directory's full path to names in it that are hidden. The rules of
    directories are cached for the object's life.
    """

    def __init__(
        self,
        root: str,
        hidden_names: Mapping[str, frozenset[str]],
        skipped: SkippedEntries | None = None,
    ) -> None:
        self._root = root.rstrip("/")
        self._hidden_names = hidden_names
        self._skipped = SkippedEntries() if skipped is None else skipped
        self._root_rules = root_rules(root)
        self._rules_by_directory: dict[str, DirectoryRules | None] = {"": self._root_rules}

    def list_files(self, under: str = "") -> Iterator[FileStat]:
        """List the selected files below the directory `under`, ordered by path components.

        Components compare by code point. Symbolic links are left out; entries that are unreadable,
        vanished or special are counted and never end the walk.
        """
        return (
            item for item in self.list_directory(under, sys.maxsize) if isinstance(item, FileStat)
        )

    def list_directory(
        self, under: str = "", depth: int = 1
    ) -> Iterator[FileStat | DirectoryEntry]:
        """List chosen files and directories, `depth` levels deep, each directory before its files.

        Order and errors are those of `list_files`.
        """
        rules = self._rules_inside(under)
        if rules is None:
            return
        visible, _ = self._visible_entries(f"{self._root}/{under}" if under else self._root)
        stack = [iter(self._select_entries(visible, f"{under}/" if under else "", rules))]
        while stack:
            for item in stack[-1]:
                if isinstance(item, FileStat):
                    yield item
                    continue
                yield DirectoryEntry(item.relative)
                if len(stack) < depth:
                    stack.append(iter(self._list(item)))
                    break
            else:
                stack.pop()

    def includes(self, relative: str) -> bool:
        """Report whether the rules include this file or directory.

        `relative` is a real path, without links, `.` or `..`; "" is the root.
        """
        directory, _, name = relative.rpartition("/")
        rules = self._rules_inside(directory)
        if not name:
            return True
        if rules is None or self._is_hidden(directory, name):
            return False
        try:
            mode = os.lstat(f"{self._root}/{relative}").st_mode
        except (OSError, ValueError):
            return False
        if stat.S_ISDIR(mode):
            return rules.directory_status(name) is not DirectoryStatus.EXCLUDED
        return not stat.S_ISLNK(mode) and rules.includes_file(name)

    def _rules_inside(self, directory: str) -> DirectoryRules | None:
        """Build the rules inside a directory, None if the walk does not enter it."""
        if directory in self._rules_by_directory:
            return self._rules_by_directory[directory]
        rules = self._rules_by_directory[""]
        at = ""
        for name in directory.split("/") if directory else ():
            above, parent, at = rules, at, f"{at}/{name}" if at else name
            if at not in self._rules_by_directory:
                self._rules_by_directory[at] = self._enter(above, parent, name)
            rules = self._rules_by_directory[at]
            if rules is None:
                return None
        return rules

    def _enter(self, above: DirectoryRules | None, parent: str, name: str) -> DirectoryRules | None:
        path = f"{self._root}/{parent}/{name}" if parent else f"{self._root}/{name}"
        if above is None or self._is_hidden(parent, name) or not _is_real_directory(path):
            return None
        standing = above.directory_status(name)
        if standing is DirectoryStatus.EXCLUDED:
            return None
        return above.for_subdirectory(
            path, name, tracked_only=standing is DirectoryStatus.TRACKED_ONLY
        )

    def _is_hidden(self, directory: str, name: str) -> bool:
        path = f"{self._root}/{directory}" if directory else self._root
        return name.startswith(".") or name in self._hidden_names.get(path, ())

    def _list(self, directory: _PendingDirectory) -> list[FileStat | _PendingDirectory]:
        path = f"{self._root}/{directory.relative}"
        visible, present = self._visible_entries(path)
        if not visible:
            return []
        rules = directory.parent.for_subdirectory(
            path, directory.name, tracked_only=directory.tracked_only, present=present
        )
        return self._select_entries(visible, f"{directory.relative}/", rules)

    def _visible_entries(self, path: str) -> tuple[list[os.DirEntry[str]], tuple[str, ...]]:
        """List a directory as `visible_entries` does; nothing of one that cannot be listed."""
        try:
            with os.scandir(path or "/") as listing:
                return visible_entries(list(listing), self._hidden_names.get(path, ()))
        except OSError as error:
            self._skipped.count_error(error)
            return [], ()

    def _select_entries(
        self, found: list[os.DirEntry[str]], prefix: str, rules: DirectoryRules
    ) -> list[FileStat | _PendingDirectory]:
        """Select the files and the directories to enter, in order."""
        return [
            _PendingDirectory(prefix + entry.name, entry.name, rules, tracked_only)
            if state is None
            else FileStat(prefix + entry.name, *state)
            for entry, state, tracked_only in select_entries(
                found, f"{self._root}/{prefix}", rules, self._skipped
            )
        ]


def select_entries(
    found: Iterable[os.DirEntry[str]],
    prefix: str,
    rules: DirectoryRules,
    skipped: SkippedEntries,
) -> Iterator[tuple[os.DirEntry[str], StatState | None, bool]]:
    """Yield the files that the rules select, with their states, and the directories to enter.

    Of these the state is None, and the third value says whether only tracked files in them count.
    `prefix` is that of the entries' absolute paths.
    """
    free = rules.include_everything
    for entry in found:
        try:
            if entry.is_file(follow_symlinks=False):
                if free or rules.includes_file(entry.name):
                    yield entry, state_of(entry.stat(follow_symlinks=False)), False
            elif entry.is_dir(follow_symlinks=False):
                standing = rules.directory_status(entry.name)
                if standing is not DirectoryStatus.EXCLUDED:
                    yield entry, None, standing is DirectoryStatus.TRACKED_ONLY
            elif rules.includes_file(entry.name):
                skipped.count_special(entry, prefix + entry.name)
        except OSError as error:
            skipped.count_error(error)


def visible_entries(
    found: list[os.DirEntry[str]], left_out: Collection[str]
) -> tuple[list[os.DirEntry[str]], tuple[str, ...]]:
    """Return the entries of a directory that are not hidden, sorted, and its rule files."""
    present = sorted(entry.name for entry in found if entry.name in RULE_FILE_NAMES)
    visible = [entry for entry in found if entry.name[0] != "." and entry.name not in left_out]
    visible.sort(key=_BY_NAME)
    return visible, tuple(present)


def _is_real_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
