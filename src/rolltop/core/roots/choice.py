"""Which names of a directory are chosen: the rules in force there, from git and `.ignore` files.

The order of say, strongest first: hidden names are out; `.ignore` files from the deepest
directory up to the root; the files git tracks are in; `.gitignore` files from the deepest
directory up to the repository's top; `info/exclude`; `core.excludesFile`. Nothing inside a
directory that git ignores can come back, except what git tracks. A repository inside a tree
starts its own rules. In a tree that is no repository, `.gitignore` files count from the root
down.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rolltop.core.roots.gitignore import read_ignore_file
from rolltop.core.roots.repository import (
    Repository,
    repository_around,
    repository_at,
    rules_without_repository,
)
from rolltop.core.roots.wildcard import byte_view

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rolltop.core.roots.gitignore import RuleList

    Check = Callable[[str], bool | None]

GIT_IGNORE_FILE = ".gitignore"
OWN_IGNORE_FILE = ".ignore"
GIT_DIRECTORY = ".git"
RULE_NAMES = frozenset({GIT_IGNORE_FILE, OWN_IGNORE_FILE, GIT_DIRECTORY})


class Standing(Enum):
    """What becomes of a directory."""

    CHOSEN = "chosen"
    TRACKED_ONLY = "tracked only"
    """Ignored, but git tracks something inside: that alone is chosen."""
    LEFT_OUT = "left out"


class _Rules:
    """Rule lists that reach into one directory, the strongest first, each with its prefix."""

    __slots__ = ("_inside", "_lists", "directory_checks", "file_checks")

    def __init__(self, lists: tuple[tuple[RuleList, str], ...] = ()) -> None:
        self._lists = lists
        self._inside = inside = [rules.inside(prefix) for rules, prefix in lists]
        self.file_checks: tuple[Check, ...] = tuple(rules.ignores_file for rules in inside)
        self.directory_checks: tuple[Check, ...] = tuple(
            rules.ignores_directory for rules in inside
        )

    def below(self, name: str) -> _Rules:
        """The same lists one directory further down."""
        if not self._lists:
            return self
        return _Rules(tuple((rules, f"{prefix}{name}/") for rules, prefix in self._lists))

    def with_file(self, rules: RuleList) -> _Rules:
        """The lists with the directory's own file in front."""
        return _Rules(((rules, ""), *self._lists)) if rules else self

    def may_match(self, names: Collection[str]) -> bool:
        """Whether a rule may speak about any of these files: False where none does."""
        return any(rules.may_match(names) for rules in self._inside)

    def __bool__(self) -> bool:
        return bool(self._lists)


class DirectoryRules:
    """The rules in force directly inside one directory."""

    __slots__ = ("_from_git", "_from_ignore", "_prefix", "_repository", "_tracked_only", "free")

    def __init__(
        self,
        repository: Repository | None,
        prefix: str,
        from_git: _Rules,
        from_ignore: _Rules,
        *,
        tracked_only: bool,
    ) -> None:
        self._repository = repository
        self._prefix = prefix
        self._from_git = from_git
        self._from_ignore = from_ignore
        self._tracked_only = tracked_only
        self.free = not (from_git or from_ignore or tracked_only)
        """No rule can leave anything out here, except that hidden names are out."""

    def chosen_files(self, names: list[str]) -> list[str]:
        """Those of the files that are chosen: the same list where all are."""
        if self.free or not names:
            return names
        silent = not self._tracked_only and "".join(names).isascii()
        if silent and not (self._from_ignore.may_match(names) or self._from_git.may_match(names)):
            return names
        chosen = [name for name in names if self.chooses_file(name)]
        return names if len(chosen) == len(names) else chosen

    def chooses_file(self, name: str) -> bool:
        """Whether the file is chosen; the caller leaves out hidden names."""
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
        return self._repository is not None and self._repository.tracked.has(self._prefix + view)

    def standing(self, name: str) -> Standing:
        """What becomes of the directory; the caller leaves out hidden names."""
        view = byte_view(name)
        ignored = _first_answer(self._from_ignore.directory_checks, view)
        if ignored is not None:
            return Standing.LEFT_OUT if ignored else Standing.CHOSEN
        if not self._tracked_only and not _first_answer(self._from_git.directory_checks, view):
            return Standing.CHOSEN
        if self._repository is not None:
            path = self._prefix + view
            if self._repository.tracked.has_submodule(path):
                return Standing.CHOSEN
            if self._repository.tracked.has_below(path):
                return Standing.TRACKED_ONLY
        return Standing.LEFT_OUT

    def inside(
        self, path: str, name: str, *, tracked_only: bool, present: Collection[str] = RULE_NAMES
    ) -> DirectoryRules:
        """The rules inside the subdirectory `name`, whose full path is `path`.

        `present` says which of `RULE_NAMES` the subdirectory may hold, to save looking.
        """
        view = byte_view(name)
        repository, prefix = self._repository, f"{self._prefix}{view}/"
        from_git = self._from_git.below(view)
        if GIT_DIRECTORY in present and (nested := repository_at(path)) is not None:
            repository, prefix, tracked_only = nested, "", False
            from_git = _Rules(tuple((rules, "") for rules in nested.rules))
        ignore_case = repository is not None and repository.ignore_case
        if GIT_IGNORE_FILE in present and not tracked_only:
            from_git = from_git.with_file(
                read_ignore_file(f"{path}/{GIT_IGNORE_FILE}", ignore_case=ignore_case)
            )
        from_ignore = self._from_ignore.below(view)
        if OWN_IGNORE_FILE in present:
            from_ignore = from_ignore.with_file(
                read_ignore_file(f"{path}/{OWN_IGNORE_FILE}", ignore_case=ignore_case)
            )
        return DirectoryRules(repository, prefix, from_git, from_ignore, tracked_only=tracked_only)


def _first_answer(checks: tuple[Check, ...], view: str) -> bool | None:
    for check in checks:
        answer = check(view)
        if answer is not None:
            return answer
    return None


def rules_at_root(root: str) -> DirectoryRules:
    """The rules in force directly inside a root, the repository around it included.

    A root is asked for by name, so it is chosen even where the repository around it ignores it;
    what lies in it is still judged by the rules from above.
    """
    root = root.rstrip("/")
    repository = repository_around(root or "/")
    if repository is None:
        lists = rules_without_repository(root)
        return _at_top(None, lists, root, {OWN_IGNORE_FILE, GIT_IGNORE_FILE})
    top = repository.top.rstrip("/")
    if top == root:
        return _at_top(repository, repository.rules, root, {OWN_IGNORE_FILE, GIT_IGNORE_FILE})
    rules = _at_top(repository, repository.rules, top, {GIT_IGNORE_FILE})
    path = top
    for name in root[len(top) + 1 :].split("/"):
        path = f"{path}/{name}"
        present = {GIT_IGNORE_FILE} if path != root else {GIT_IGNORE_FILE, OWN_IGNORE_FILE}
        rules = rules.inside(path, name, tracked_only=False, present=present)
    return rules


def _at_top(
    repository: Repository | None, lists: list[RuleList], path: str, present: set[str]
) -> DirectoryRules:
    ignore_case = repository is not None and repository.ignore_case
    from_git = _Rules(tuple((rules, "") for rules in lists))
    from_ignore = _Rules()
    if GIT_IGNORE_FILE in present:
        from_git = from_git.with_file(
            read_ignore_file(f"{path}/{GIT_IGNORE_FILE}", ignore_case=ignore_case)
        )
    if OWN_IGNORE_FILE in present:
        from_ignore = from_ignore.with_file(
            read_ignore_file(f"{path}/{OWN_IGNORE_FILE}", ignore_case=ignore_case)
        )
    return DirectoryRules(repository, "", from_git, from_ignore, tracked_only=False)
