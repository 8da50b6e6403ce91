"""Selects the names of a directory by the rules in force there, from git and `.ignore` files.

Precedence, strongest first: hidden names are excluded; `.ignore` files from the deepest directory
up to the root; files tracked by git are included; `.gitignore` files from the deepest directory
up to the repository's top; `info/exclude`; `core.excludesFile`. Nothing inside a directory that
git ignores is included, except tracked files. A nested repository starts its own rules. Outside
repositories, `.gitignore` files apply from the root down.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from enum import Enum
from pathlib import Path

from rolltop.workspace.file_stat import is_stable_state, state_of
from rolltop.workspace.git_repository import (
    Repository,
    enclosing_repository,
    global_rules,
    repository_at,
)
from rolltop.workspace.gitignore import IgnoreRules, read_ignore_file
from rolltop.workspace.wildmatch import byte_view

Check = Callable[[str], bool | None]

GIT_IGNORE_FILE = ".gitignore"
DOT_IGNORE_FILE = ".ignore"
GIT_DIRECTORY = ".git"
RULE_FILE_NAMES = frozenset({GIT_IGNORE_FILE, DOT_IGNORE_FILE, GIT_DIRECTORY})


class DirectoryStatus(Enum):
    """Whether a directory is entered."""

    INCLUDED = "chosen"
    TRACKED_ONLY = "tracked only"
    """Ignored, but git tracks something inside: that alone is chosen."""
    EXCLUDED = "left out"


class _RuleStack:
    """Rule lists that reach into one directory, the strongest first, each with its prefix."""

    __slots__ = ("_inside", "_lists", "directory_checks", "file_checks")

    def __init__(self, lists: tuple[tuple[IgnoreRules, str], ...] = ()) -> None:
        self._lists = lists
        self._inside = inside = [rules.for_directory(prefix) for rules, prefix in lists]
        self.file_checks: tuple[Check, ...] = tuple(rules.ignores_file for rules in inside)
        self.directory_checks: tuple[Check, ...] = tuple(
            rules.ignores_directory for rules in inside
        )

    def for_subdirectory(self, name: str) -> _RuleStack:
        """Narrow the rules to a subdirectory."""
        if not self._lists:
            return self
        return _RuleStack(tuple((rules, f"{prefix}{name}/") for rules, prefix in self._lists))

    def with_file(self, rules: IgnoreRules) -> _RuleStack:
        """Add the directory's own file in front."""
        return _RuleStack(((rules, ""), *self._lists)) if rules else self

    def __bool__(self) -> bool:
        return bool(self._lists)


class DirectoryRules:
    """The rules in force directly inside one directory."""

    __slots__ = (
        "_from_git",
        "_from_ignore",
        "_prefix",
        "_repository",
        "_tracked_only",
        "include_everything",
    )

    def __init__(
        self,
        repository: Repository | None,
        prefix: str,
        from_git: _RuleStack,
        from_ignore: _RuleStack,
        *,
        tracked_only: bool,
    ) -> None:
        self._repository = repository
        self._prefix = prefix
        self._from_git = from_git
        self._from_ignore = from_ignore
        self._tracked_only = tracked_only
        self.include_everything = not (from_git or from_ignore or tracked_only)
        """No rule can leave anything out here, except that hidden names are out."""

    def includes_file(self, name: str) -> bool:
        """Report whether the file is selected; the caller excludes hidden names."""
        view = name if name.isascii() else byte_view(name)
        for check in self._from_ignore.file_checks:
            ignored = check(view)
            if ignored is not None:
                return not ignored
        ignored = self._tracked_only
        if not ignored:
            # One call for each list and name: this is a walk's innermost loop.
            for check in self._from_git.file_checks:
                found = check(view)
                if found is not None:
                    ignored = found
                    break
        if not ignored:
            return True
        return self._repository is not None and self._repository.tracked_paths.has(
            self._prefix + view
        )

    def directory_status(self, name: str) -> DirectoryStatus:
        """Decide whether to enter a directory; the caller excludes hidden names."""
        view = byte_view(name)
        ignored = _first_match(self._from_ignore.directory_checks, view)
        if ignored is not None:
            return DirectoryStatus.EXCLUDED if ignored else DirectoryStatus.INCLUDED
        if not self._tracked_only and not _first_match(self._from_git.directory_checks, view):
            return DirectoryStatus.INCLUDED
        if self._repository is not None:
            path = self._prefix + view
            if self._repository.tracked_paths.has_submodule(path):
                return DirectoryStatus.INCLUDED
            if self._repository.tracked_paths.has_below(path):
                return DirectoryStatus.TRACKED_ONLY
        return DirectoryStatus.EXCLUDED

    def for_subdirectory(
        self,
        path: str,
        name: str,
        *,
        tracked_only: bool,
        present: Collection[str] = RULE_FILE_NAMES,
    ) -> DirectoryRules:
        """Build the rules inside the subdirectory `name`, whose full path is `path`.

        `present` lists which of `RULE_FILE_NAMES` the subdirectory may contain, to save opening
        them.
        """
        view = byte_view(name)
        repository, prefix = self._repository, f"{self._prefix}{view}/"
        from_git = self._from_git.for_subdirectory(view)
        if GIT_DIRECTORY in present and (nested := repository_at(path)) is not None:
            repository, prefix, tracked_only = nested, "", False
            from_git = _RuleStack(tuple((rules, "") for rules in nested.rules))
        from_ignore = self._from_ignore.for_subdirectory(view)
        inside = DirectoryRules(
            repository, prefix, from_git, from_ignore, tracked_only=tracked_only
        )
        return inside.with_files(path, present)

    def with_files(self, path: str, present: Collection[str]) -> DirectoryRules:
        """Add the rules of those files that are `present` in the directory itself."""
        from_git, from_ignore = self._from_git, self._from_ignore
        ignore_case = self._repository is not None and self._repository.ignore_case
        if GIT_IGNORE_FILE in present and not self._tracked_only:
            from_git = from_git.with_file(
                read_ignore_file(f"{path}/{GIT_IGNORE_FILE}", ignore_case=ignore_case)
            )
        if DOT_IGNORE_FILE in present:
            from_ignore = from_ignore.with_file(
                read_ignore_file(f"{path}/{DOT_IGNORE_FILE}", ignore_case=ignore_case)
            )
        return DirectoryRules(
            self._repository, self._prefix, from_git, from_ignore, tracked_only=self._tracked_only
        )


def _first_match(checks: tuple[Check, ...], view: str) -> bool | None:
    for check in checks:
        answer = check(view)
        if answer is not None:
            return answer
    return None


def root_rules(root: str) -> DirectoryRules:
    """Build the rules inside a root, including those of the repository around it.

    A root is named explicitly, so it is included even if that repository ignores it; its contents
    are still subject to the outer rules.
    """
    root = root.rstrip("/")
    repository = enclosing_repository(root or "/")
    lists = repository.rules if repository else global_rules(root)
    from_git = _RuleStack(tuple((rules, "") for rules in lists))
    rules = DirectoryRules(repository, "", from_git, _RuleStack(), tracked_only=False)
    top = repository.top.rstrip("/") if repository else root
    if top == root:
        return rules.with_files(root, {DOT_IGNORE_FILE, GIT_IGNORE_FILE})
    rules = rules.with_files(top, {GIT_IGNORE_FILE})
    path = top
    for name in root[len(top) + 1 :].split("/"):
        path = f"{path}/{name}"
        present = {GIT_IGNORE_FILE} if path != root else {GIT_IGNORE_FILE, DOT_IGNORE_FILE}
        rules = rules.for_subdirectory(path, name, tracked_only=False, present=present)
    return rules


def file_state(path: str) -> object:
    """Return a value equal to another only where the file has not changed between the two."""
    try:
        state = state_of(os.lstat(path))
    except (OSError, ValueError):
        return "absent"
    return state if is_stable_state(state) else object()


def root_state(root: str) -> tuple[object, ...]:
    """Return the state of the rules that reach into a root from above it."""
    above = [str(parent) for parent in Path(root).parents]
    ignoring = [file_state(f"{folder.rstrip('/')}/{GIT_IGNORE_FILE}") for folder in above]
    around = enclosing_repository(root)
    if around is None:
        return (*ignoring, *global_rules(root))
    return (*ignoring, *repository_state(around.top))


def repository_state(top: str) -> tuple[object, ...]:
    """Return the state of a repository's own rules and of the list of what it tracks.

    Lists of rules read from the same content are the same object.
    """
    found = repository_at(top)
    if found is None:
        return (file_state(f"{top}/{GIT_DIRECTORY}"),)
    pointer = f"{top}/{GIT_DIRECTORY}"
    place = top if Path(pointer).is_dir() else file_state(pointer)
    return place, file_state(f"{found.git_dir}/index"), found.ignore_case, *found.rules


def directory_state(path: str, present: tuple[str, ...]) -> tuple[object, ...]:
    """Return the state of the rules that begin in a directory; `present` names their files."""
    if not present:
        return ()
    states: list[object] = [present]
    states += [
        file_state(f"{path}/{name}")
        for name in (GIT_IGNORE_FILE, DOT_IGNORE_FILE)
        if name in present
    ]
    if GIT_DIRECTORY in present:
        states += repository_state(path)
    return tuple(states)
