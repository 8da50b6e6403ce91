"""What can be wrong with a path or a root."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, Literal

from rolltop.core.errors import ConfigInvalid, NotFound, Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

PathCode = Literal[
    "PATH_EMPTY", "PATH_OUT_OF_ROOT", "PATH_AMBIGUOUS", "FILE_NOT_FOUND", "FILE_UNREADABLE"
]
RootReason = Literal[
    "ROOT_NOT_FOUND", "ROOT_NOT_DIRECTORY", "ROOT_NOT_READABLE", "ROOT_NAME_RESERVED"
]

_WHAT_IS_WRONG: dict[RootReason, str] = {
    "ROOT_NOT_FOUND": "does not exist",
    "ROOT_NOT_DIRECTORY": "is not a directory",
    "ROOT_NOT_READABLE": "cannot be read",
    "ROOT_NAME_RESERVED": "cannot have that name: it stands for all roots",
}
_POINT: Final = "Point {name!r} at a directory that exists and can be read, or remove it."
_MEANS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What this process lacks, not the file it was about to open."""
_RENAME: Final = "Give the root {name!r} another name."
_LONGEST_SHOWN: Final = 200
"""Characters of a path that a message repeats, the mark of a cut counted."""


class PathProblem(NotFound):
    """A path that names no file the caller may read.

    `code` is one of `PathCode`; `candidates` lists, for PATH_AMBIGUOUS, every path that would
    be unambiguous, ready to send.
    """

    def __init__(
        self, code: PathCode, message: str, *, hint: str, candidates: Sequence[str] = ()
    ) -> None:
        self.candidates = tuple(candidates)
        data = {"candidates": list(candidates)} if candidates else {}
        super().__init__(message, hint=hint, code=code, data=data)


class RootProblem(ConfigInvalid):
    """A configured root that cannot serve; stops the start.

    `reason` is one of `RootReason`, `name` the root's name, `path` its path as configured.
    """

    def __init__(self, reason: RootReason, name: str, path: str) -> None:
        self.reason = reason
        self.name = name
        self.path = path
        super().__init__(
            f"CONFIG_INVALID ({reason}): the root {name!r} is set to {path!r}, "
            f"which {_WHAT_IS_WRONG[reason]}.",
            hint=(_RENAME if reason == "ROOT_NAME_RESERVED" else _POINT).format(name=name),
            data={"reason": reason, "repo": name, "path": path},
        )


def quoted(path: str) -> str:
    """A path as a message repeats it: in quotes, and of a long one the beginning."""
    return repr(path if len(path) <= _LONGEST_SHOWN else path[: _LONGEST_SHOWN - 1] + "…")


def not_found(path: str, allowed: str = "the roots") -> PathProblem:
    """The problem of a path that names nothing, or nothing the caller may know of."""
    return PathProblem(
        "FILE_NOT_FOUND",
        f"There is no file {quoted(path)}.",
        hint=f"Call again with the path of a file in {allowed}, exactly as it is written.",
    )


def unreadable(path: str, why: str) -> PathProblem:
    """The problem of a path that names something which cannot be read as a file."""
    return PathProblem(
        "FILE_UNREADABLE",
        f"{quoted(path)} {why}.",
        hint="Give the path of a regular file that the server may read.",
    )


def require_means(error: OSError) -> None:
    """Raise Unavailable where an error says that there is no room for one more open file.

    To count the file as unreadable would give an answer that lacks it, and says so of a good file.
    """
    if error.errno in _MEANS:
        raise Unavailable(
            "There is no room to open one more file.",
            hint="Call again in a moment, with fewer calls at a time; or let the server open more "
            "files (ulimit -n).",
        ) from error
