"""Open files with their surveys: what a read uses, kept while a file stays as it is."""

from __future__ import annotations

import os
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from rolltop.core.arguments import shown
from rolltop.core.errors import Invalid, NotFound
from rolltop.core.roots import PathProblem
from rolltop.core.roots.opening import names_still
from rolltop.core.roots.problems import unreadable
from rolltop.core.roots.settling import is_settled
from rolltop.core.roots.writers import is_held_for_writing
from rolltop.toolsets.retrieval.formats import Binary, Changed, Survey, Windows, survey
from rolltop.toolsets.retrieval.service.places import explained, name_of, read_by_reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.desk import Desk
    from rolltop.core.roots import Located

T = TypeVar("T")

_ATTEMPTS: Final = 3
_MOST_BLOCKS_KEPT: Final = 1 << 18
"""Blocks of all surveys kept: some 8 MB."""


class _State(NamedTuple):
    """What tells one state of a file from another without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, file: BinaryIO) -> _State:
        status = os.fstat(file.fileno())
        return cls(
            status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
        )

    @property
    def settled(self) -> bool:
        """Whether the last change is so long ago that the next one would show."""
        return is_settled(self.mtime_ns, self.ctime_ns)


class _Surveys:
    """The surveys of the files last read, within a bound; the very last in any case."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[_State, Survey]] = OrderedDict()
        self._blocks = 0

    def find(self, path: str, state: _State) -> Survey | None:
        """Return the survey of the file in that state."""
        with self._lock:
            found = self._kept.get(path)
            if found is None or found[0] != state:
                return None
            self._kept.move_to_end(path)
            return found[1]

    def keep(self, path: str, state: _State, found: Survey) -> None:
        """Keep a survey, and forget the longest unused of the others over the bound."""
        with self._lock:
            self._forget(path)
            self._kept[path] = state, found
            self._blocks += _weight(found)
            while self._blocks > _MOST_BLOCKS_KEPT and len(self._kept) > 1:
                self._blocks -= _weight(self._kept.popitem(last=False)[1][1])

    def forget(self, path: str) -> None:
        """Forget what is known of a file."""
        with self._lock:
            self._forget(path)

    def _forget(self, path: str) -> None:
        before = self._kept.pop(path, None)
        self._blocks -= _weight(before[1]) if before else 0


_surveys: Final[WeakKeyDictionary[Desk, _Surveys]] = WeakKeyDictionary()


def read_file(desk: Desk, located: Located, use: Callable[[Survey, Windows], T]) -> T:
    """Return `use(survey, windows)` of a file as it is now.

    What `use` reads of the windows is part of the bytes that the survey hashed, or is asked for
    again.

    Raises:
        NotFound: FILE_NOT_FOUND or FILE_UNREADABLE.
        Invalid: FILE_BINARY or FILE_TOO_LARGE.

    """
    repo, path, real_path = name_of(located), located.relative, str(located.path)
    if located.path.is_dir():
        raise NotFound(
            f"{shown(path)} is a directory",
            code="FILE_UNREADABLE",
            hint=f"Call repo_list_dir with repo {repo} and path {shown(path)}.",
            data={"repo": repo, "path": path},
        )
    for left in reversed(range(_ATTEMPTS)):
        try:
            with desk.roots.open_regular(located) as file:
                found = _survey(desk, located, file, again=left > 0)
                used = use(found, Windows(file.fileno(), found))
                if _State.of(file).settled or file.is_unwritten() or names_still(real_path, file):
                    return used
        except PathProblem as problem:
            raise explained(problem, desk.roots, repo, path) from None
        except OSError:
            problem = unreadable(path, "may not be read")
            raise explained(problem, desk.roots, repo, path) from None
        except Changed:
            _known(desk).forget(str(located.path))
    raise NotFound(
        f"{shown(path)} changes faster than it can be read",
        code="FILE_UNREADABLE",
        hint="Call again in a moment.",
        data={"repo": repo, "path": path, "reason": "CHANGING"},
    )


def _survey(desk: Desk, located: Located, file: BinaryIO, *, again: bool) -> Survey:
    """Return the file's survey, made now unless the one that is kept still holds.

    Raises Changed for a file that changes meanwhile; where it may not be asked for `again`, one
    that only grows is read up to where it ended.
    """
    key = str(located.path)
    state = _State.of(file)
    kept = _known(desk).find(key, state)
    if kept is not None:
        return kept
    details = {"repo": name_of(located), "path": located.relative}
    limit: int = desk.settings["retrieval.max_file_bytes"]
    if state.size > limit:
        raise Invalid(
            f"The file has {state.size} bytes; at most {limit} are read",
            code="FILE_TOO_LARGE",
            hint="Raise the setting retrieval.max_file_bytes, or read another file.",
            data={**details, "size": state.size, "limit": limit},
        )
    was_settled = state.settled
    try:
        found = survey(file, state.size)
        after = _State.of(file)
        # Losing the name, to a new file put in its place, changes the last of its times only.
        if after[:2] != state[:2] and (again or after.size <= state.size):
            raise Changed  # its size and its bytes, or some of these, may be of different times
    except Binary:
        raise Invalid(
            f"{shown(located.relative)} is not text",
            code="FILE_BINARY",
            hint=read_by_reader(desk, located)
            or "repo_list_dir and the searches show text files only; read one of those.",
            data=details,
        ) from None
    if was_settled and after == state and not is_held_for_writing(file.fileno()):
        _known(desk).keep(key, state, found)
    return found


def _known(desk: Desk) -> _Surveys:
    return _surveys.setdefault(desk, _Surveys())


def _weight(found: Survey) -> int:
    return 1 + len(found.offsets)
