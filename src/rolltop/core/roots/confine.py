"""Roots, and what a path given by a caller names inside them.

Confinement compares real paths, component by component. A path that would leave its root is
refused the same way whether or not it names something, so nothing outside can be probed.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rolltop.core.roots.directories import real_root, usable_working_directory
from rolltop.core.roots.names import EVERY_ROOT, climbs_out, could_exist
from rolltop.core.roots.opening import NotAdmitted, NotRegularFile, OpenFile, open_admitted
from rolltop.core.roots.problems import PathProblem, RootProblem, not_found, quoted, unreadable
from rolltop.core.roots.stores import HiddenStores
from rolltop.core.roots.walk import Entry, Folder, Listed, Skipped, Walk, entry_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_FIRST_NAMES = ("docs", "code")
_NOT_FOUND = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL})
_GRAVEST_FIRST = ("PATH_OUT_OF_ROOT", "FILE_UNREADABLE", "FILE_NOT_FOUND")


@dataclass(frozen=True, slots=True)
class Root:
    """A named directory that may be read; `path` is its real path."""

    name: str
    path: Path

    def place(self, relative: str) -> str:
        """The path of what lies in it, as text: `Path` takes longer than opening a file."""
        return f"{str(self.path).rstrip('/')}/{relative}"


@dataclass(frozen=True, slots=True)
class Located:
    """A file or directory found inside an allowed directory.

    `path` is the real path; `relative` the same from `within`, `/`-separated and normalised
    (`.` for the directory itself). `root` is the named root that `within` is, None where only
    the reader may read there.
    """

    root: Root | None
    path: Path
    relative: str
    within: Path


@dataclass(frozen=True, slots=True)
class Roots:
    """Every directory that may be read, and the rules for reading there.

    `named` are retrieval's roots: docs, code, then the others by name. `extra` and
    `working_directory` are the reader's alone.
    """

    named: tuple[Root, ...]
    extra: tuple[Path, ...]
    working_directory: Path | None
    stores: HiddenStores
    allow_hidden: bool

    @classmethod
    def open(
        cls,
        named: Mapping[str, str | Path],
        *,
        base: Path,
        hidden_stores: Sequence[Path] = (),
        allow_hidden: bool = False,
        extra: Sequence[Path] = (),
        working_directory: Path | None = None,
    ) -> Roots:
        """The roots with their real paths; relative ones start from `base`, `~` is the home.

        A working directory that is `/` or the user's home is not taken up.

        Raises:
            RootProblem: a root is missing, no directory, cannot be listed, or is called `both`.
        """
        if EVERY_ROOT in named:
            raise RootProblem("ROOT_NAME_RESERVED", EVERY_ROOT, str(named[EVERY_ROOT]))
        order = sorted(named, key=lambda name: (name != "docs", name != "code", name))
        return cls(
            named=tuple(Root(name, real_root(name, named[name], base)) for name in order),
            extra=tuple(real_root("reader.roots", path, base) for path in extra),
            working_directory=usable_working_directory(working_directory),
            stores=HiddenStores(hidden_stores),
            allow_hidden=allow_hidden,
        )

    def root(self, name: str) -> Root | None:
        """The named root, None where there is none of that name."""
        return next((root for root in self.named if root.name == name), None)

    def locate(self, path: str, *, root: str | None = None, reader: bool = False) -> Located:
        """The file or directory that the path names.

        Without `root`, a leading root name selects that root; else the only root that has the
        path. The reader may also give absolute paths, and its working directory comes first.

        Raises:
            PathProblem: PATH_EMPTY, PATH_OUT_OF_ROOT, PATH_AMBIGUOUS, FILE_NOT_FOUND or
                FILE_UNREADABLE.
            KeyError: `root` names no root.
        """
        try:
            return self._locate(path, root, reader=reader)
        except PathProblem as problem:
            if problem.code != "FILE_NOT_FOUND":
                raise
            raise not_found(path, self._allowed(reader=reader)) from None

    def _locate(self, path: str, root: str | None, *, reader: bool) -> Located:
        if not path.strip():
            raise PathProblem(
                "PATH_EMPTY",
                "The path is empty.",
                hint=f"Give a path inside one of: {self._allowed(reader=reader)}.",
            )
        if not could_exist(path):
            raise not_found(path)
        if path.startswith("/"):
            if not reader:
                raise self._out_of_root(path, reader=reader)
            return self._resolve_for_reader(path, path)
        parts = [part for part in path.split("/") if part not in {"", "."}]
        selected = self._selected(root, parts)
        if selected is not None and root is None:
            parts = parts[1:]
        if reader:
            return self._locate_for_reader(path, "/".join(parts), selected)
        return self._locate_in_named(path, parts, selected)

    def open_regular(self, located: Located) -> OpenFile:
        """The file, open for reading; closing it is the caller's.

        Nothing is waited for, and a path that has come to name something else since it was
        located is judged anew.

        Raises:
            PathProblem: FILE_UNREADABLE for what is no regular file or may not be read,
                FILE_NOT_FOUND for what is no longer there.
        """
        shown = str(located.within) if located.relative == "." else located.relative
        return self._opened(str(located.path), located.root, located.within, shown)

    def open_entry(self, root: Root, entry: Entry) -> OpenFile:
        """What a walk came to, open for reading, as `open_regular` opens what was located."""
        return self._opened(root.place(entry.relative), root, root.path, entry.relative)

    def _opened(self, path: str, root: Root | None, within: Path, shown: str) -> OpenFile:
        """The file at a real path in a directory; `shown` is what errors call it."""
        inside = f"{str(within).rstrip('/')}/"

        def admits(actual: str, status: os.stat_result) -> bool:
            hidden = self.stores.hide(actual) or self.stores.own(status)
            if hidden or not actual.startswith(inside):
                return False
            if actual == path:
                return True
            return self._shows(Located(root, Path(actual), actual.removeprefix(inside), within))

        try:
            return open_admitted(path, admits)
        except NotRegularFile:
            raise unreadable(shown, "is not a regular file") from None
        except NotAdmitted:
            raise not_found(shown) from None
        except OSError as error:
            if error.errno in _NOT_FOUND:
                raise not_found(shown) from None
            raise unreadable(shown, "cannot be read") from None

    def walk(
        self, root: Root, *, under: str = "", skipped: Skipped | None = None
    ) -> Iterator[Entry]:
        """The root's chosen files, ordered by path components in code point order.

        `under` is a directory as `Located.relative` gives it. `skipped` is counted up as the
        walk goes on. Names that are no UTF-8 come too; their text holds surrogate escapes,
        which `is_sendable` finds, and which `os.fsencode` turns back into the name.
        """
        if self.stores.hide(str(root.path)):
            return iter(())
        return self._walk(root, skipped).entries("" if under == "." else under)

    def directories(
        self, root: Root, *, start: str = "", skipped: Skipped | None = None
    ) -> Iterator[Listed]:
        """The directories of a walk with their files by name only, from a file's path on.

        A directory comes before those in it. `skipped` is counted up as the walk goes on.
        """
        if self.stores.hide(str(root.path)):
            return iter(())
        return self._walk(root, skipped).directories(start)

    def likeliest(self, root: Root, names: frozenset[str]) -> Iterator[Listed]:
        """The directories of a walk, those first whose path has most of these names."""
        if self.stores.hide(str(root.path)):
            return iter(())
        return self._walk(root).likeliest(names)

    def state(self, root: Root, relative: str, skipped: Skipped) -> Entry | None:
        """A chosen file with its state; None, and counted in `skipped`, where it is gone."""
        return entry_at(str(root.path).rstrip("/"), relative, skipped)

    def listing(
        self, root: Root, *, under: str = "", depth: int = 1, skipped: Skipped | None = None
    ) -> Iterator[Entry | Folder]:
        """The chosen files and directories in a directory, down to a depth, ordered like a walk.

        A directory of which git tracks or ignores nothing is chosen too, empty or not.
        """
        if self.stores.hide(str(root.path)):
            return iter(())
        return self._walk(root, skipped).listing("" if under == "." else under, depth)

    def chosen(self, root: Root, relative: str) -> bool:
        """Whether git's rules and `.ignore` files let the path into a search or a listing.

        `relative` is a real path as `Located.relative` gives it.
        """
        return self._walk(root).chooses("" if relative == "." else relative)

    def _walk(self, root: Root, skipped: Skipped | None = None) -> Walk:
        return Walk(str(root.path), self.stores.names_by_directory, skipped)

    def _selected(self, name: str | None, parts: list[str]) -> Root | None:
        """The root that is asked for, by its name or by the path's first part."""
        if name is None:
            return self.root(parts[0]) if parts else None
        root = self.root(name)
        if root is None:
            raise KeyError(name)
        return root

    def _locate_in_named(self, path: str, parts: list[str], selected: Root | None) -> Located:
        """Retrieval's choice: the only root that has the path, which may not climb out of it."""
        if climbs_out(parts):
            raise self._out_of_root(path, reader=False)
        roots = self.named if selected is None else (selected,)
        return self._only_one(
            path,
            (partial(self._resolve_in, root, path, "/".join(parts)) for root in roots),
        )

    def _locate_for_reader(self, path: str, inside: str, selected: Root | None) -> Located:
        """The reader's choice: its working directory's own file, or the only directory's."""
        starts = [selected.path] if selected else [*(r.path for r in self.named), *self.extra]
        if selected is None and self.working_directory is not None:
            with suppress(PathProblem):
                own = self._resolve_for_reader(path, f"{self.working_directory}/{inside}")
                if own.path.is_file():
                    return own
            starts.append(self.working_directory)
        return self._only_one(
            path, (partial(self._resolve_for_reader, path, f"{start}/{inside}") for start in starts)
        )

    def _only_one(self, path: str, attempts: Iterable[Callable[[], Located]]) -> Located:
        """The one place that the attempts come to; else the gravest of their problems."""
        found: dict[Path, Located] = {}
        problems: dict[str, PathProblem] = {}
        for attempt in attempts:
            try:
                located = attempt()
                found.setdefault(located.path, located)
            except PathProblem as problem:
                problems.setdefault(problem.code, problem)
        if len(found) > 1:
            raise _ambiguous(path, found.values())
        for located in found.values():
            return located
        for code in _GRAVEST_FIRST:
            if code in problems:
                raise problems[code]
        raise not_found(path)

    def _resolve_in(self, root: Root, path: str, inside: str) -> Located:
        """What lies at `inside` in the root; `path` is how the caller put it."""
        return self._resolve(path, _real(path, f"{root.path}/{inside}"), root.path, root)

    def _resolve_for_reader(self, path: str, target: str) -> Located:
        """What the target names in any directory the reader may read."""
        real = _real(path, target)
        governing = self._governing(real)
        if governing is None:
            raise self._out_of_root(path, reader=True)
        return self._resolve(path, real, *governing)

    def _governing(self, real: Path) -> tuple[Path, Root | None] | None:
        """The configured directory closest around the real path, whose rules hold there.

        The working directory stands in only where nothing configured does.
        """
        configured: list[tuple[Path, Root | None]] = [(root.path, root) for root in self.named]
        configured += [(extra, None) for extra in self.extra]
        around = [pair for pair in configured if real.is_relative_to(pair[0])]
        if around:
            return max(around, key=lambda pair: (len(pair[0].parts), pair[1] is not None))
        here = self.working_directory
        return (here, None) if here is not None and real.is_relative_to(here) else None

    def _resolve(self, path: str, real: Path, within: Path, root: Root | None) -> Located:
        """The real path, if there is something that may be read."""
        if not real.is_relative_to(within):
            raise self._out_of_root(path, reader=root is None)
        if self.stores.hide(str(real)):
            raise not_found(path)
        try:
            real.stat()
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno not in _NOT_FOUND:
                raise unreadable(path, "cannot be read") from None
            raise not_found(path) from None
        located = Located(root, real, real.relative_to(within).as_posix(), within)
        if not self._shows(located):
            raise not_found(path)
        return located

    def _shows(self, located: Located) -> bool:
        """Whether hidden names and ignore rules let an explicit read through."""
        if located.root is None or self.allow_hidden:
            return True
        return self.chosen(located.root, located.relative)

    def _out_of_root(self, path: str, *, reader: bool) -> PathProblem:
        return PathProblem(
            "PATH_OUT_OF_ROOT",
            f"{quoted(path)} is not inside an allowed directory.",
            hint=f"Give a path inside {self._allowed(reader=reader)}.",
        )

    def _allowed(self, *, reader: bool) -> str:
        """The allowed directories as the caller may name them."""
        if not reader:
            return ", ".join(f"the root {root.name}" for root in self.named) or "a root"
        here = [self.working_directory] if self.working_directory else []
        allowed = [*(root.path for root in self.named), *self.extra, *here]
        return ", ".join(map(str, allowed)) or "a root (none is configured)"


def _real(path: str, target: str) -> Path:
    """The target with its links followed; need not exist."""
    try:
        return Path(os.path.realpath(target))
    except OSError:  # a link that became something else while it was being followed
        raise not_found(path) from None


def _ambiguous(path: str, found: Iterable[Located]) -> PathProblem:
    candidates = [
        str(PurePosixPath(at.root.name, at.relative)) if at.root else str(at.path) for at in found
    ]
    return PathProblem(
        "PATH_AMBIGUOUS",
        f"{quoted(path)} exists in {len(candidates)} places.",
        hint=f"Give one of: {', '.join(candidates)}.",
        candidates=candidates,
    )
