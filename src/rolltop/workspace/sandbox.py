"""Roots, and the resolution of callers' paths inside them.

The sandbox compares real paths, component by component. A path that leaves its root is refused
the same way whether or not it exists, so nothing outside can be probed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from unicodedata import normalize
from urllib.parse import unquote

from rolltop.core.lazy_imports import lazy
from rolltop.workspace.errors import (
    PathError,
    RootError,
    path_not_found,
    path_unreadable,
    quote_path,
)
from rolltop.workspace.file_stat import FileStat
from rolltop.workspace.project import find_project
from rolltop.workspace.safe_open import FileNotAllowed, NotRegularFile, OpenFile, open_checked
from rolltop.workspace.walk import DirectoryEntry, SkippedEntries, Walk

if TYPE_CHECKING:
    from rolltop.core import addresses
else:  # indexing processes need none of what it imports
    addresses = lazy("rolltop.core.addresses")

_NOT_FOUND = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL})
_CODES_BY_SEVERITY = ("PATH_OUT_OF_ROOT", "FILE_UNREADABLE", "FILE_NOT_FOUND")
_SIBLING_SUFFIXES = ("", "-wal", "-shm", "-journal", ".lock", ".partial")
# Stands for all roots; no root may have this name.
ALL_ROOTS: Final = "both"
# The root that is there without a setting.
DEFAULT_ROOT: Final = "code"
_FILE_URL: Final = "file:///"
_URI_DELIMITERS: Final = frozenset("?#%")
_LINES_OF: Final = re.compile(r"(?s)(.+)[:#]L?([1-9][0-9]{0,8})(?:-L?([1-9][0-9]{0,8}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Root:
    """A named directory that may be read; `path` is its real path."""

    name: str
    path: Path

    def absolute_path(self, relative: str) -> str:
        """Join a path as text: building a `Path` takes longer than opening a file."""
        return f"{str(self.path).rstrip('/')}/{relative}"


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A file or directory inside an allowed directory.

    `path` is the real path; `relative` is relative to `base`, `/`-separated and normalised (`.` for
    the directory itself). `root` is the named root at `base`, None where only the reader may read.
    """

    root: Root | None
    path: Path
    relative: str
    base: Path


@dataclass(frozen=True, slots=True)
class Roots:
    """Every directory that may be read, and the rules for reading there.

    `named` are retrieval's roots: docs, code, then the others by name. `extra` and
    `working_directory` are the reader's alone.
    """

    named: tuple[Root, ...]
    extra: tuple[Path, ...]
    working_directory: Path | None
    hidden_paths: HiddenPaths
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
        """Resolve the roots to their real paths; relative ones start from `base`, `~` is the home.

        `working_directory` is the folder the process was started in, over stdio. The project around
        it is the root `code` where no root is named, and without a project it is not taken up.
        Raises RootError: a root is missing, no directory, cannot be listed, or is called `both`.
        """
        if ALL_ROOTS in named:
            raise RootError("ROOT_NAME_RESERVED", ALL_ROOTS, str(named[ALL_ROOTS]))
        order = sorted(named, key=lambda name: (name != "docs", name != "code", name))
        start = working_directory and Path(os.path.realpath(working_directory))
        project = find_project(start) if start else None
        roots = cls(
            named=tuple(Root(name, resolve_root(name, named[name], base)) for name in order),
            extra=tuple(resolve_root("reader.roots", path, base) for path in extra),
            working_directory=start if project else None,
            hidden_paths=HiddenPaths(hidden_stores),
            allow_hidden=allow_hidden,
        )
        return roots.with_default(project) if project and not named else roots

    def with_default(self, directory: Path) -> Roots:
        """Return the same with a directory, given by its real path, as the root `code`.

        Nothing changes where the server keeps its own files in it.
        """
        if self.hidden_paths.hides(str(directory)):
            return self
        return replace(self, named=(Root(DEFAULT_ROOT, directory),))

    def find_root(self, name: str) -> Root | None:
        """Look up a root by name; None if there is none."""
        return next((root for root in self.named if root.name == name), None)

    def relative_place(self, path: str) -> tuple[str, str] | None:
        """Return the innermost root of a file, by name, and its path there; None outside all."""
        inside = [root for root in self.named if path.startswith(root.absolute_path(""))]
        root = max(inside, key=lambda each: len(str(each.path)), default=None)
        return root and (root.name, path[len(root.absolute_path("")) :])

    def locate(self, path: str, *, root: str | None = None, reader: bool = False) -> ResolvedPath:
        """Resolve a path to a file or directory.

        Without `root`, a leading root name selects that root, unless it is the only one and has the
        path as it is written; else the only root that has the path.
        The address of a file or section is a path too. The reader also accepts absolute paths and
        file URLs, and tries its working directory first.

        Raises:
            PathError: PATH_EMPTY, PATH_OUT_OF_ROOT, PATH_AMBIGUOUS, FILE_NOT_FOUND or
                FILE_UNREADABLE.
            KeyError: `root` names no root.
        """
        try:
            return self._locate(*self._meant_place(path, root, reader=reader), reader=reader)
        except PathError as problem:
            if problem.code != "FILE_NOT_FOUND":
                raise
            raise path_not_found(path, self._describe_allowed(reader=reader)) from None

    def find_address(self, text: str) -> addresses.Address | None:
        """Return the address of the file in a named root that a plain path means, if one is there.

        Lines may follow it, as in `a.py:8-12` or `a.py#L8`.
        """
        attempts: list[tuple[str, tuple[int, int] | None]] = [(text, None)]
        if found := _LINES_OF.fullmatch(text):
            first, last = int(found[2]), int(found[3] or found[2])
            attempts.append((found[1], (first, max(first, last))))
        for path, lines in attempts:
            with suppress(PathError):
                located = self.locate(path, reader=True)
                if located.root is not None and located.path.is_file():
                    name = located.root.name
                    return addresses.Address("file", "", name, located.relative, lines=lines)
        return None

    def _meant_place(self, path: str, root: str | None, *, reader: bool) -> tuple[str, str | None]:
        """Return the path and root that an address or file URL stands for; any other path as it is.

        An address means a file in the root it names alone.
        """
        if reader and path[: len(_FILE_URL)].lower() == _FILE_URL:
            return unquote(path[len(_FILE_URL) - 1 :], errors="surrogateescape"), root
        address = addresses.parse_file_address(path)
        if address is None:
            return path, root
        selected = self._select_root(root, [])
        if self.find_root(address.root) is None:
            raise path_not_found(path)
        if selected is not None and selected.name != address.root:
            raise self._out_of_root_error(path, reader=reader)
        return f"./{address.path}", address.root

    def _locate(self, path: str, root: str | None, *, reader: bool) -> ResolvedPath:
        if not path.strip():
            raise PathError(
                "PATH_EMPTY",
                "path is empty",
                hint=f"Give a path inside one of: {self._describe_allowed(reader=reader)}.",
            )
        if not is_possible_path(path):
            raise path_not_found(path)
        if path.startswith("/"):
            if not reader:
                raise self._out_of_root_error(path, reader=reader)
            return self._resolve_for_reader(path, path)
        parts = [part for part in path.split("/") if part not in {"", "."}]
        selected = self._select_root(root, parts)
        if selected is not None and root is None:
            parts = self._below_root_name(selected, parts)
        if reader:
            return self._locate_for_reader(path, "/".join(parts), selected)
        return self._locate_in_named(path, parts, selected)

    def open_regular(self, located: ResolvedPath) -> OpenFile:
        """Open a resolved file for reading; the caller closes it.

        Never blocks, and checks again a path that names another file by now. Raises PathError:
        FILE_UNREADABLE if it is not a regular file or not readable, FILE_NOT_FOUND if it is gone.
        """
        name = located.root.name if located.root else located.base.name
        shown = name if located.relative == "." else located.relative
        return self._open_checked(str(located.path), located.root, located.base, shown)

    def open_entry(self, root: Root, entry: FileStat) -> OpenFile:
        """Open a walked file for reading, as `open_regular`."""
        return self._open_checked(
            root.absolute_path(entry.relative), root, root.path, entry.relative
        )

    def _open_checked(self, path: str, root: Root | None, within: Path, shown: str) -> OpenFile:
        """Open the file at a real path in a directory; errors call it `shown`."""
        inside = f"{str(within).rstrip('/')}/"

        def admits(actual: str, status: os.stat_result) -> bool:
            hidden = self.hidden_paths.hides(actual) or self.hidden_paths.hides_hard_link(status)
            if hidden or not actual.startswith(inside):
                return False
            if actual == path:
                return True
            return self._is_visible(
                ResolvedPath(root, Path(actual), actual.removeprefix(inside), within)
            )

        try:
            return open_checked(path, admits)
        except NotRegularFile:
            raise path_unreadable(shown, "is not a regular file") from None
        except FileNotAllowed:
            raise path_not_found(shown) from None
        except OSError as error:
            if error.errno in _NOT_FOUND:
                raise path_not_found(shown) from None
            raise path_unreadable(shown, "cannot be read") from None

    def walk(
        self, root: Root, *, under: str = "", skipped: SkippedEntries | None = None
    ) -> Iterator[FileStat]:
        """Walk the root's selected files, ordered by path components in code point order.

        `under` is a directory, as `ResolvedPath.relative`. `skipped` is updated during the walk.
        Names that are not UTF-8 are included: `is_utf8_path` detects their surrogate escapes, and
        `os.fsencode` restores their bytes.
        """
        if self.hidden_paths.hides(str(root.path)):
            return iter(())
        return self._walk(root, skipped).list_files("" if under == "." else under)

    def list_directory(
        self, root: Root, *, under: str = "", depth: int = 1, skipped: SkippedEntries | None = None
    ) -> Iterator[FileStat | DirectoryEntry]:
        """List a directory's selected files and directories down to a depth, in walk order."""
        if self.hidden_paths.hides(str(root.path)):
            return iter(())
        return self._walk(root, skipped).list_directory("" if under == "." else under, depth)

    def is_included(self, root: Root, relative: str) -> bool:
        """Report whether searches and listings include the path by the ignore rules."""
        return self._walk(root).includes("" if relative == "." else relative)

    def _walk(self, root: Root, skipped: SkippedEntries | None = None) -> Walk:
        return Walk(str(root.path), self.hidden_paths.names_by_directory, skipped)

    def _select_root(self, name: str | None, parts: list[str]) -> Root | None:
        if name is None:
            return self.find_root(parts[0]) if parts else None
        root = self.find_root(name)
        if root is None:
            raise KeyError(name)
        return root

    def _below_root_name(self, selected: Root, parts: list[str]) -> list[str]:
        """Return the part behind a root's name; all of it where the only root has that path.

        That root, which is called `code` without any setting, may have such a folder too, and
        answers give paths within it.
        """
        rest = parts[1:]
        if len(self.named) > 1 or escapes_root(parts):
            return rest
        return parts if os.path.lexists(selected.absolute_path("/".join(parts))) else rest

    def _locate_in_named(self, path: str, parts: list[str], selected: Root | None) -> ResolvedPath:
        """Retrieval's choice: the only root that has the path, which may not climb out of it."""
        if escapes_root(parts):
            raise self._out_of_root_error(path, reader=False)
        roots = self.named if selected is None else (selected,)
        return self._require_unique(
            path,
            (partial(self._resolve_in, root, path, "/".join(parts)) for root in roots),
        )

    def _locate_for_reader(self, path: str, inside: str, selected: Root | None) -> ResolvedPath:
        """Resolve in the working directory first, else in the only directory that has the path."""
        starts = [selected.path] if selected else [*(r.path for r in self.named), *self.extra]
        if selected is None and self.working_directory is not None:
            with suppress(PathError):
                own = self._resolve_for_reader(path, f"{self.working_directory}/{inside}")
                if own.path.is_file():
                    return own
            starts.append(self.working_directory)
        return self._require_unique(
            path, (partial(self._resolve_for_reader, path, f"{start}/{inside}") for start in starts)
        )

    def _require_unique(
        self, path: str, attempts: Iterable[Callable[[], ResolvedPath]]
    ) -> ResolvedPath:
        """Return the only success; else raise the most severe error."""
        found: dict[Path, ResolvedPath] = {}
        problems: dict[str, PathError] = {}
        for attempt in attempts:
            try:
                located = attempt()
                found.setdefault(located.path, located)
            except PathError as problem:
                problems.setdefault(problem.code, problem)
        if len(found) > 1:
            raise _ambiguous_path(path, found.values())
        for located in found.values():
            return located
        for code in _CODES_BY_SEVERITY:
            if code in problems:
                raise problems[code]
        raise path_not_found(path)

    def _resolve_in(self, root: Root, path: str, inside: str) -> ResolvedPath:
        return self._resolve(path, _real_path(path, f"{root.path}/{inside}"), root.path, root)

    def _resolve_for_reader(self, path: str, target: str) -> ResolvedPath:
        """Resolve the target in any directory the reader may read."""
        real = _real_path(path, target)
        governing = self._enclosing_root(real)
        if governing is None:
            raise self._out_of_root_error(path, reader=True)
        return self._resolve(path, real, *governing)

    def _enclosing_root(self, real: Path) -> tuple[Path, Root | None] | None:
        """Find the innermost configured directory around the real path, whose rules apply.

        The working directory counts only without a configured one.
        """
        configured: list[tuple[Path, Root | None]] = [(root.path, root) for root in self.named]
        configured += [(extra, None) for extra in self.extra]
        around = [pair for pair in configured if real.is_relative_to(pair[0])]
        if around:
            return max(around, key=lambda pair: (len(pair[0].parts), pair[1] is not None))
        here = self.working_directory
        return (here, None) if here is not None and real.is_relative_to(here) else None

    def _resolve(
        self, path: str, real: Path, within: Path, root: Root | None, *, as_spelled: bool = False
    ) -> ResolvedPath:
        """Resolve a real path that exists and may be read, in another spelling if need be."""
        if not real.is_relative_to(within):
            raise self._out_of_root_error(path, reader=root is None)
        if self.hidden_paths.hides(str(real)):
            raise path_not_found(path)
        try:
            real.stat()
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno not in _NOT_FOUND:
                raise path_unreadable(path, "cannot be read") from None
            meant = None if as_spelled else _same_in_unicode(within, real)
            if meant is None:
                raise path_not_found(path) from None
            return self._resolve(path, meant, within, root, as_spelled=True)
        located = ResolvedPath(root, real, real.relative_to(within).as_posix(), within)
        if not self._is_visible(located):
            raise path_not_found(path)
        return located

    def _is_visible(self, located: ResolvedPath) -> bool:
        """Report whether hidden names and ignore rules allow an explicit read."""
        if located.root is None or self.allow_hidden:
            return True
        return self.is_included(located.root, located.relative)

    def _out_of_root_error(self, path: str, *, reader: bool) -> PathError:
        return PathError(
            "PATH_OUT_OF_ROOT",
            f"{quote_path(path)} is not inside an allowed directory",
            hint=f"Give a path inside {self._describe_allowed(reader=reader)}.",
        )

    def _describe_allowed(self, *, reader: bool) -> str:
        """Name the allowed directories for the caller."""
        if not reader:
            return ", ".join(f"the root {root.name}" for root in self.named) or "a root"
        here = [self.working_directory] if self.working_directory else []
        allowed = [*(root.path for root in self.named), *self.extra, *here]
        return ", ".join(map(str, dict.fromkeys(allowed))) or "a root (none is configured)"


class HiddenPaths:
    """The server's own files, which every root hides.

    They must not even be opened and closed: that drops this process's locks on its store. Each path
    hides itself, its siblings and everything below it.

    The siblings are files of SQLite and the server beside a store: `-wal`, `-shm`, `-journal`,
    `.lock` and `.partial`. The store need not exist yet.
    """

    def __init__(self, stores: Sequence[Path]) -> None:
        named = {Path(os.path.realpath(store.parent), store.name) for store in stores}
        real = {Path(os.path.realpath(store)) for store in stores}
        self._paths = frozenset(
            path.with_name(path.name + ending)
            for path in named | real
            if path.name
            for ending in _SIBLING_SUFFIXES
        )
        self._prefixes = tuple(f"{path}/" for path in self._paths)
        names: dict[str, set[str]] = {}
        for path in self._paths:
            names.setdefault(str(path.parent).rstrip("/"), set()).add(path.name)
        self.names_by_directory = {directory: frozenset(held) for directory, held in names.items()}
        """Directory (without a trailing slash) → names in it that are not there."""

    def hides(self, path: str) -> bool:
        """Report whether the real path is one of the stores, or inside one."""
        return f"{path}/".startswith(self._prefixes)

    def hides_hard_link(self, status: os.stat_result) -> bool:
        """Report whether the file is a hard link to one of the stores."""
        return status.st_nlink > 1 and any(
            os.path.samestat(status, held) for path in self._paths for held in _walk_stats(path)
        )


def _walk_stats(path: Path) -> Iterator[os.stat_result]:
    try:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            yield status
            return
        for child in path.iterdir():
            yield from _walk_stats(child)
    except OSError:
        return  # it went away, or is not ours to read: then it is no open store of ours


def resolve_root(name: str, given: str | Path, base: Path) -> Path:
    """Resolve the real path of a configured root, which must be a listable directory."""
    try:
        path = Path(os.path.realpath(base / Path(given).expanduser()))
        status = path.stat()
        if not str(given).strip():
            raise RootError("ROOT_NOT_FOUND", name, str(given))
        if not stat.S_ISDIR(status.st_mode):
            raise RootError("ROOT_NOT_DIRECTORY", name, str(given))
        with os.scandir(path) as listing:
            next(listing, None)
    except PermissionError:
        raise RootError("ROOT_NOT_READABLE", name, str(given)) from None
    except (OSError, ValueError, RuntimeError):  # RuntimeError: `~user` of nobody
        raise RootError("ROOT_NOT_FOUND", name, str(given)) from None
    return path


def _real_path(path: str, target: str) -> Path:
    """Follow the links of a target, which need not exist."""
    try:
        return Path(os.path.realpath(target))
    except OSError:  # a link that became something else while it was being followed
        raise path_not_found(path) from None


def _same_in_unicode(within: Path, real: Path) -> Path | None:
    """Find the path that is spelled as another in Unicode, composed or decomposed, if one is there.

    Both are below a directory, which is left by no link whose end would be looked for.
    """
    at = within
    for part in real.relative_to(within).parts:
        name: str | None = part
        if not part.isascii() and not os.path.lexists(at / part):
            wanted = normalize("NFC", part)
            with suppress(OSError), os.scandir(at) as listing:
                names = sorted(each.name for each in listing)
                name = next((one for one in names if normalize("NFC", one) == wanted), None)
        if name is None:
            return None
        at = Path(os.path.realpath(at / name))
        if not at.is_relative_to(within):
            return at
    return at if at != real else None


def _ambiguous_path(path: str, found: Iterable[ResolvedPath]) -> PathError:
    candidates = [
        str(PurePosixPath(at.root.name, at.relative)) if at.root else str(at.path) for at in found
    ]
    return PathError(
        "PATH_AMBIGUOUS",
        f"{quote_path(path)} exists in {len(candidates)} roots",
        hint=f"Give one of: {', '.join(candidates)}.",
        candidates=candidates,
    )


_MAX_PATH_BYTES = 4096


def is_utf8_path(relative: str) -> bool:
    """Report whether a path is valid UTF-8, so that an answer can contain it."""
    return relative.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in relative)


def is_possible_path(path: str) -> bool:
    """Report whether the system could have a file of that name."""
    try:
        return "\0" not in path and len(os.fsencode(path)) <= _MAX_PATH_BYTES
    except UnicodeEncodeError:
        return False


def escapes_root(parts: Iterable[str]) -> bool:
    """Report whether `..` leads above the start anywhere."""
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def is_uri_safe(path: str) -> bool:
    """Report whether a resource URI can contain the path unescaped."""
    return is_utf8_path(path) and not _URI_DELIMITERS.intersection(path)
