"""Errors of paths and roots."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final, Literal

from rolltop.core.errors import InvalidConfig, NotFound, Unavailable

PathCode = Literal[
    "PATH_EMPTY", "PATH_OUT_OF_ROOT", "PATH_AMBIGUOUS", "FILE_NOT_FOUND", "FILE_UNREADABLE"
]
RootReason = Literal[
    "ROOT_NOT_FOUND", "ROOT_NOT_DIRECTORY", "ROOT_NOT_READABLE", "ROOT_NAME_RESERVED"
]

_REASON_TEXTS: dict[RootReason, str] = {
    "ROOT_NOT_FOUND": "does not exist",
    "ROOT_NOT_DIRECTORY": "is not a directory",
    "ROOT_NOT_READABLE": "cannot be read",
    "ROOT_NAME_RESERVED": "has a reserved name: it stands for all roots",
}
_DIRECTORY_HINT: Final = "Point {name!r} at a directory that exists and can be read, or remove it."
# The process lacks resources; the file is not at fault.
_EXHAUSTION_ERRNOS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_HIDDEN_HINT: Final = (
    "Hidden files are not read, as they are not searched, unless retrieval.allow_hidden is on."
)
_RENAME_HINT: Final = "Give the root {name!r} another name."
# Characters of a path that a message repeats, ellipsis included.
_MAX_PATH_LENGTH: Final = 200


class PathError(NotFound):
    """A path that names no readable file.

    `code` is one of `PathCode`; `candidates` lists, for PATH_AMBIGUOUS, the unambiguous paths.
    """

    def __init__(
        self, code: PathCode, message: str, *, hint: str, candidates: Sequence[str] = ()
    ) -> None:
        self.candidates = tuple(candidates)
        data = {"candidates": list(candidates)} if candidates else {}
        super().__init__(message, hint=hint, code=code, data=data)


class RootError(InvalidConfig):
    """An unusable root in the configuration; stops the start.

    `reason` is one of `RootReason`, `name` the root's name, `path` its path as configured.
    """

    def __init__(self, reason: RootReason, name: str, path: str) -> None:
        self.reason = reason
        self.name = name
        self.path = path
        super().__init__(
            f"CONFIG_INVALID ({reason}): the root {name!r} is set to {path!r}, "
            f"which {_REASON_TEXTS[reason]}",
            hint=(_RENAME_HINT if reason == "ROOT_NAME_RESERVED" else _DIRECTORY_HINT).format(
                name=name
            ),
            data={"reason": reason, "repo": name, "path": path},
        )


def quote_path(path: str) -> str:
    """Quote a path for a message, truncated if it is long."""
    return repr(path if len(path) <= _MAX_PATH_LENGTH else path[: _MAX_PATH_LENGTH - 1] + "…")


def path_not_found(path: str, allowed: str = "the roots") -> PathError:
    """Create the error for a path that does not exist or is hidden from the caller."""
    return PathError(
        "FILE_NOT_FOUND",
        f"File {quote_path(path)} does not exist",
        hint=f"Send the path of a file in {allowed}, exactly as it is written."
        + explain_hidden(path),
    )


def explain_hidden(path: str) -> str:
    """Return a sentence for a hint if the path is hidden, whether or not it exists."""
    hidden = [part for part in path.split("/") if part.startswith(".") and part.strip(".")]
    return f" {_HIDDEN_HINT}" if hidden else ""


def path_unreadable(path: str, why: str) -> PathError:
    """Create the error for a path that cannot be read as a file."""
    return PathError(
        "FILE_UNREADABLE",
        f"{quote_path(path)} {why}",
        hint="Send the path of a regular file that the server may read.",
    )


def raise_if_exhausted(error: OSError) -> None:
    """Raise Unavailable if an error means that the process ran out of descriptors or memory.

    Counting the file as unreadable would leave a readable file out of the answer.
    """
    if error.errno in _EXHAUSTION_ERRNOS:
        raise Unavailable(
            "Too many open files, or not enough memory to open another",
            hint="Retry in a moment with fewer calls at a time, or raise the server's limit on "
            "open files (ulimit -n).",
        ) from error
