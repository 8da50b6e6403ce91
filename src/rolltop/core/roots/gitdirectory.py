"""A repository's git directory: where it lies, and which branch its HEAD names."""

# ruff: noqa: PTH112, PTH115, PTH118 - os.path answers False where Path would raise, for any bytes
from __future__ import annotations

import os
import re
from os.path import isdir, join

from rolltop.core.roots.opening import rules_in

_MAX_POINTER_BYTES = 1 << 16
_MAX_HEAD_BYTES = 255
_SPACES = " \t\n\r"
_OWN_REFS = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""What each worktree has of its own, of all that begins with `refs/`."""
_MOST_REFS = 5
"""How many names git reads, each naming the next."""
_OBJECT = re.compile(r"[0-9a-fA-F]{40}")
_ONE_OBJECT = re.compile(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?(?![^ \t\n\r])")
_NO_REF_NAME = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\A[./]|[./]\Z|\A@?\Z"
)
"""What `git check-ref-format --allow-onelevel` refuses."""


class _Broken(Exception):
    """A ref is there, and says nothing that git understands."""


def git_directory(directory: str) -> str | None:
    """The git directory that `.git` in the directory is, or names; None where it is neither.

    The path that a file names is made real, as git does before it compares it with anything.
    """
    path = join(directory, ".git")
    pointed_at = _first_line(path)
    if pointed_at is not None:
        if not pointed_at.startswith("gitdir: "):
            return None
        path = join(directory, pointed_at.removeprefix("gitdir: "))
    common = shared_directory(path)
    if not (_has_head(path) and isdir(join(common, "objects")) and isdir(join(common, "refs"))):
        return None
    return path if pointed_at is None else os.path.realpath(path)


def shared_directory(git_dir: str) -> str:
    """Where a worktree shares its settings with the repository it belongs to."""
    pointed_at = _first_line(join(git_dir, "commondir"))
    return git_dir if pointed_at is None else join(git_dir, pointed_at)


def checked_out(git_dir: str) -> str:
    """The full name of what HEAD stands for; `HEAD` where that is a commit, "" where it is broken.

    A branch may be another name of a branch: then it is the last of them.
    """
    name = "HEAD"
    for _ in range(_MOST_REFS):
        try:
            named = _named(git_dir, name)
        except _Broken:
            return ""
        if named is None:
            return name
        if _NO_REF_NAME.search(named):
            return ""
        name = named
    return ""


def _has_head(git_dir: str) -> bool:
    """Whether HEAD is what git knows a git directory by."""
    path = join(git_dir, "HEAD")
    link = _link(path)
    if link is not None:
        return link.startswith("refs/")
    text = _text(path)[:_MAX_HEAD_BYTES]
    if text.startswith("ref:"):
        return text.removeprefix("ref:").lstrip(_SPACES).startswith("refs/")
    return _OBJECT.match(text) is not None


def _named(git_dir: str, name: str) -> str | None:
    """The ref that a ref names; None for one that is a commit's or not there. Raises _Broken."""
    shared = name.startswith("refs/") and not name.startswith(_OWN_REFS)
    path = join(shared_directory(git_dir) if shared else git_dir, name)
    link = _link(path)
    if link is not None and link.startswith("refs/") and not _NO_REF_NAME.search(link):
        return link
    if not os.path.isfile(path):  # noqa: PTH113 - as above
        return None
    text = _text(path).rstrip(_SPACES).partition("\0")[0]
    if text.startswith("ref:"):
        return text.removeprefix("ref:").lstrip(_SPACES)
    if not _ONE_OBJECT.match(text):
        raise _Broken
    return None


def _link(path: str) -> str | None:
    """Where a link leads, as it is written; None for what is no link."""
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None


def _text(path: str) -> str:
    return os.fsdecode(rules_in(path, _MAX_POINTER_BYTES) or b"")


def _first_line(path: str) -> str | None:
    """The text of a small pointer file without its line end; None where there is no such file."""
    text = rules_in(path, _MAX_POINTER_BYTES)
    return None if text is None else os.fsdecode(text).rstrip("\r\n")
