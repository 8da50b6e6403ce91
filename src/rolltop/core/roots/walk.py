"""A root's chosen files, in a fixed order, at nearly the speed of reading its directories."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from dataclasses import dataclass, field
from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from rolltop.core.roots.choice import RULE_NAMES, DirectoryRules, Standing, rules_at_root
from rolltop.core.roots.links import leading_nowhere
from rolltop.core.roots.problems import require_means

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BY_NAME = attrgetter("name")
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class Entry(NamedTuple):
    """A chosen regular file, with what tells one state of it from another."""

    relative: str
    """Path from the root, `/`-separated; a name that is no UTF-8 holds surrogate escapes."""
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    @property
    def mark(self) -> int:
        """A number of 32 bits for the path and the state; every process comes to the same.

        Not a CRC of all: the differences that a change makes to those of two files may cancel out.
        """
        path = zlib.crc32(self.relative.encode("utf-8", "surrogateescape"))
        return hash((path, *self[1:])) & 0xFFFFFFFF  # of numbers alone, so not seeded


@dataclass(slots=True)
class Skipped:
    """What a walk passed over although no rule leaves it out."""

    unreadable: int = 0
    """Directories that cannot be listed and files that cannot be looked at."""
    vanished: int = 0
    """Files and directories that went away during the walk."""
    special: int = 0
    """FIFOs, sockets and devices."""
    links: list[str] = field(default_factory=list[str])
    """Absolute paths of symbolic links: which of them lead nowhere is asked where that counts."""

    @property
    def no_files(self) -> int:
        """FIFOs, sockets, devices, and links that lead nowhere now."""
        return self.special + leading_nowhere(self.links)

    def add(self, other: Skipped) -> None:
        """Count what another walk passed over too."""
        self.unreadable += other.unreadable
        self.vanished += other.vanished
        self.special += other.special
        self.links += other.links

    def count(self, error: OSError) -> None:
        """Count a file or directory that this error kept out.

        Raises Unavailable where it is this process that lacks something, not the file.
        """
        require_means(error)
        if error.errno in _GONE:
            self.vanished += 1
        else:
            self.unreadable += 1


class Folder(NamedTuple):
    """A chosen directory, by its path from the root."""

    relative: str


class Listed(NamedTuple):
    """The chosen files of one directory by their names, in order; of their states nothing."""

    relative: str
    """The directory's path from the root, "" for the root itself."""
    names: list[str]
    whole: bool
    """Whether they are all the files in it whose names are not hidden."""


class _Directory(NamedTuple):
    """A directory still to be listed."""

    relative: str
    name: str
    parent: DirectoryRules
    tracked_only: bool


class Walk:
    """One look at a root: `entries()` lists it, `chooses()` judges single paths.

    `left_out` maps a directory's full path to names in it that are treated as not there.
    What `chooses()` has learnt of a directory's rules it keeps for the object's life.
    """

    def __init__(
        self, root: str, left_out: Mapping[str, frozenset[str]], skipped: Skipped | None = None
    ) -> None:
        self._root = root.rstrip("/")
        self._left_out = left_out
        self._skipped = Skipped() if skipped is None else skipped
        self._at_root = rules_at_root(root)
        self._known: dict[str, DirectoryRules | None] = {"": self._at_root}

    def entries(self, under: str = "") -> Iterator[Entry]:
        """The chosen files below the directory `under`, ordered by path components.

        Components compare by code point. Symbolic links are left out; what cannot be read, goes
        away or is no file is counted, and never ends the walk.
        """
        rules = self._rules_inside(under)
        if rules is None:
            return
        visible, _ = self._visible(f"{self._root}/{under}" if under else self._root)
        stack = [iter(self._judge(visible, f"{under}/" if under else "", rules))]
        while stack:
            for item in stack[-1]:
                if isinstance(item, Entry):
                    yield item
                else:
                    stack.append(iter(self._list(item)))
                    break
            else:
                stack.pop()

    def directories(self, start: str = "") -> Iterator[Listed]:
        """The directories with their chosen files, each before those in it, ordered by components.

        For a search that need not know the files' states, which cost more than their names. A
        directory without any is left out, and so is one that lies as a whole before the path
        `start`. What cannot be listed and what is no file is counted.
        """
        first = start.split("/")
        pending: list[_Directory | None] = [None]
        while pending:
            directory = pending.pop()
            listed, inside = self._names(directory)
            if listed.names:
                yield listed
            pending.extend(
                child
                for child in reversed(inside)
                if not start or (parts := child.relative.split("/")) >= first[: len(parts)]
            )

    def likeliest(self, names: frozenset[str]) -> Iterator[Listed]:
        """All directories, those first whose path has most of these names, then the upper ones.

        The names are in lower case. For a look that is broken off: what it seeks comes early.
        """
        count = 0
        pending: list[tuple[int, int, _Directory | None]] = [(0, count, None)]
        while pending:
            likelihood, _, directory = heappop(pending)
            listed, inside = self._names(directory)
            yield listed
            for child in inside:
                count += 1
                own = likelihood - (child.name.lower() in names)
                heappush(pending, (own, count, child))

    def listing(self, under: str = "", depth: int = 1) -> Iterator[Entry | Folder]:
        """The chosen files and directories in the directory `under`, down to that depth.

        In the order of `entries()`, a directory before what it holds; what cannot be had is
        treated alike.
        """
        rules = self._rules_inside(under)
        if rules is None:
            return
        visible, _ = self._visible(f"{self._root}/{under}" if under else self._root)
        stack = [iter(self._judge(visible, f"{under}/" if under else "", rules))]
        while stack:
            for item in stack[-1]:
                yield item if isinstance(item, Entry) else Folder(item.relative)
                if isinstance(item, _Directory) and len(stack) < depth:
                    stack.append(iter(self._list(item)))
                    break
            else:
                stack.pop()

    def chooses(self, relative: str) -> bool:
        """Whether the rules let a walk come to this file, or enter this directory.

        `relative` is a real path, without links, `.` or `..`; "" is the root.
        """
        directory, _, name = relative.rpartition("/")
        rules = self._rules_inside(directory)
        if not name:
            return True
        if rules is None or self._is_left_out(directory, name):
            return False
        try:
            mode = os.lstat(f"{self._root}/{relative}").st_mode
        except (OSError, ValueError):
            return False
        if stat.S_ISDIR(mode):
            return rules.standing(name) is not Standing.LEFT_OUT
        return not stat.S_ISLNK(mode) and rules.chooses_file(name)

    def _rules_inside(self, directory: str) -> DirectoryRules | None:
        """The rules inside a directory, None where the walk would not enter it."""
        if directory in self._known:
            return self._known[directory]
        rules = self._known[""]
        at = ""
        for name in directory.split("/") if directory else ():
            above, parent, at = rules, at, f"{at}/{name}" if at else name
            if at not in self._known:
                self._known[at] = self._step(above, parent, name)
            rules = self._known[at]
            if rules is None:
                return None
        return rules

    def _step(self, above: DirectoryRules | None, parent: str, name: str) -> DirectoryRules | None:
        path = f"{self._root}/{parent}/{name}" if parent else f"{self._root}/{name}"
        if above is None or self._is_left_out(parent, name) or not _is_real_directory(path):
            return None
        standing = above.standing(name)
        if standing is Standing.LEFT_OUT:
            return None
        return above.inside(path, name, tracked_only=standing is Standing.TRACKED_ONLY)

    def _is_left_out(self, directory: str, name: str) -> bool:
        path = f"{self._root}/{directory}" if directory else self._root
        return name.startswith(".") or name in self._left_out.get(path, ())

    def _list(self, directory: _Directory) -> list[Entry | _Directory]:
        path = f"{self._root}/{directory.relative}"
        visible, present = self._visible(path)
        if not visible:
            return []
        rules = directory.parent.inside(
            path, directory.name, tracked_only=directory.tracked_only, present=present
        )
        return self._judge(visible, f"{directory.relative}/", rules)

    def _names(self, directory: _Directory | None) -> tuple[Listed, list[_Directory]]:
        """What is chosen in a directory, None for the root: its files, and directories in order."""
        relative = "" if directory is None else directory.relative
        path = f"{self._root}/{relative}" if relative else self._root
        files, folders, others, present = self._kinds(path)
        rules = (
            self._at_root
            if directory is None
            else directory.parent.inside(
                path, directory.name, tracked_only=directory.tracked_only, present=present
            )
        )
        left_out = self._left_out.get(path, ())
        kept = [name for name in files if name not in left_out] if left_out else files
        chosen = rules.chosen_files(kept)
        chosen.sort()
        for entry in others:
            if entry.name not in left_out and rules.chooses_file(entry.name):
                self._pass_by(entry)
        prefix = f"{relative}/" if relative else ""
        inside: list[_Directory] = []
        for name in sorted(folders):
            standing = rules.standing(name)
            if standing is not Standing.LEFT_OUT and name not in left_out:
                tracked_only = standing is Standing.TRACKED_ONLY
                inside.append(_Directory(prefix + name, name, rules, tracked_only))
        return Listed(relative, chosen, len(chosen) == len(files)), inside

    def _kinds(self, path: str) -> tuple[list[str], list[str], list[os.DirEntry[str]], list[str]]:
        """What a directory shows: files, directories, what is neither; and its rule files."""
        files: list[str] = []
        folders: list[str] = []
        others: list[os.DirEntry[str]] = []
        present: list[str] = []
        for entry in self._scanned(path):
            name = entry.name
            try:
                # This runs for every file of a search that knows nothing.
                if name[0] == ".":
                    if name in RULE_NAMES:
                        present.append(name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                else:
                    others.append(entry)
            except OSError as error:
                self._skipped.count(error)
        return files, folders, others, present

    def _scanned(self, path: str) -> list[os.DirEntry[str]]:
        """What a directory holds, nothing and counted where it cannot be listed."""
        try:
            with os.scandir(path or "/") as listing:
                return list(listing)
        except OSError as error:
            self._skipped.count(error)
            return []

    def _pass_by(self, entry: os.DirEntry[str]) -> None:
        """Take note of what is chosen, and neither file nor directory."""
        if entry.is_symlink():
            self._skipped.links.append(entry.path)
        else:
            self._skipped.special += 1

    def _visible(self, path: str) -> tuple[list[os.DirEntry[str]], list[str]]:
        """What a directory holds under a name that is not hidden, sorted, and its rule files."""
        found = self._scanned(path)
        visible: list[os.DirEntry[str]] = []
        present: list[str] = []
        for entry in found:
            name = entry.name
            if name[0] != ".":
                visible.append(entry)
            elif name in RULE_NAMES:
                present.append(name)
        left_out = self._left_out.get(path)
        if left_out:
            visible = [entry for entry in visible if entry.name not in left_out]
        visible.sort(key=_BY_NAME)
        return visible, present

    def _judge(
        self, found: list[os.DirEntry[str]], prefix: str, rules: DirectoryRules
    ) -> list[Entry | _Directory]:
        """The chosen files and the directories to enter, in order."""
        chosen: list[Entry | _Directory] = []
        free = rules.free
        for entry in found:
            try:
                name = entry.name
                if entry.is_file(follow_symlinks=False):
                    if free or rules.chooses_file(name):
                        status = entry.stat(follow_symlinks=False)
                        chosen.append(_entry(prefix + name, status))
                elif entry.is_dir(follow_symlinks=False):
                    standing = rules.standing(name)
                    if standing is not Standing.LEFT_OUT:
                        tracked_only = standing is Standing.TRACKED_ONLY
                        chosen.append(_Directory(prefix + name, name, rules, tracked_only))
                elif rules.chooses_file(name):
                    self._pass_by(entry)
            except OSError as error:
                self._skipped.count(error)
        return chosen


def entry_at(root: str, relative: str, skipped: Skipped) -> Entry | None:
    """A file that was chosen, in its state; None, and counted, where there is none any more."""
    try:
        status = os.lstat(f"{root}/{relative}")
    except OSError as error:
        skipped.count(error)
        return None
    if stat.S_ISREG(status.st_mode):
        return _entry(relative, status)
    skipped.vanished += 1
    return None


def _entry(relative: str, status: os.stat_result) -> Entry:
    return Entry(
        relative,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
    )


def _is_real_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
