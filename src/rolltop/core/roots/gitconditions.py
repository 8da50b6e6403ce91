"""The conditions under which git's configuration includes a file (`includeIf`)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rolltop.core.roots.gitdirectory import checked_out
from rolltop.core.roots.wildcard import NeverMatches, byte_view, fold, wildcard_regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_BRANCH = "refs/heads/"
_REMOTE = "hasconfig:remote.*.url:"


class Conditions:
    """What can be asked of a repository, None for none; `urls` gives its remotes' addresses."""

    def __init__(self, git_dir: str | None, urls: Callable[[], Iterable[str]]) -> None:
        self._git_dir = git_dir
        self._urls = urls

    def hold(self, condition: str, file: str) -> bool:
        """Whether a condition is true that stands in this file; git takes others for false."""
        kind, colon, pattern = condition.partition(":")
        if colon and kind in {"gitdir", "gitdir/i"}:
            return self._lies_in(pattern, file, ignore_case=kind == "gitdir/i")
        if colon and kind == "onbranch":
            return self._is_on(pattern)
        if condition.startswith(_REMOTE):
            return any(_matches(condition.removeprefix(_REMOTE), url) for url in self._urls())
        return False

    def _lies_in(self, pattern: str, file: str, *, ignore_case: bool) -> bool:
        """Whether the git directory, with its links followed or as it was found, fits."""
        if self._git_dir is None:
            return False
        pattern, start = _from_home(pattern), ""
        if pattern.startswith("./"):
            start = os.path.realpath(file).rpartition("/")[0]
            pattern = pattern[1:]
        elif not pattern.startswith("/"):
            pattern = f"**/{pattern}"
        pattern = _below(pattern)
        return any(
            _matches(pattern, path[len(start) :], ignore_case=ignore_case)
            for path in (os.path.realpath(self._git_dir), self._git_dir)
            if _same(path[: len(start)], start, ignore_case=ignore_case)
        )

    def _is_on(self, pattern: str) -> bool:
        """Whether the branch that is checked out fits."""
        if self._git_dir is None:
            return False
        ref = checked_out(self._git_dir)
        return ref.startswith(_BRANCH) and _matches(_below(pattern), ref.removeprefix(_BRANCH))


def _from_home(pattern: str) -> str:
    """The pattern with the home for `~` at its start: the real path of one's own, as git has it."""
    name, _, _ = pattern.partition("/")
    if name != "~":
        return os.path.expanduser(pattern)  # noqa: PTH111  # as in `expanded`
    home = os.environ.get("HOME")
    return os.path.realpath(home) + pattern.removeprefix("~") if home else pattern


def _below(pattern: str) -> str:
    """The pattern with what lies below, where it names a folder."""
    return f"{pattern}**" if pattern.endswith("/") else pattern


def _same(text: str, other: str, *, ignore_case: bool) -> bool:
    if ignore_case:
        return fold(byte_view(text)) == fold(byte_view(other))
    return text == other


def _matches(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    try:
        regex = wildcard_regex(byte_view(pattern), ignore_case=ignore_case)
    except NeverMatches:
        return False
    view = fold(byte_view(text)) if ignore_case else byte_view(text)
    return re.fullmatch(regex, view, re.DOTALL) is not None
