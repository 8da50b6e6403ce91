"""Git repositories around and inside a root: where they begin, and their own ignore rules."""

# ruff: noqa: PTH118 - os.path joins any bytes in a name
from __future__ import annotations

from functools import cached_property
from os.path import join
from pathlib import Path

from rolltop.core.roots.gitconfig import GitSettings, excludes_file, global_config_files
from rolltop.core.roots.gitdirectory import git_directory, shared_directory
from rolltop.core.roots.gitignore import RuleList, read_ignore_file
from rolltop.core.roots.gitindex import TrackedPaths, tracked_paths

_SHA1_BYTES = 20
_SHA256_BYTES = 32


class Repository:
    """One repository as it is at the time of the call: nothing but its index is kept longer."""

    def __init__(self, top: str, git_dir: str) -> None:
        self.top = top
        self.git_dir = git_dir
        common = shared_directory(git_dir)
        files = [*global_config_files(), join(common, "config")]
        settings = GitSettings(files, git_dir)
        if settings.flag("extensions.worktreeconfig"):
            settings = GitSettings([*files, join(git_dir, "config.worktree")], git_dir)
        self.ignore_case = settings.flag("core.ignorecase")
        sha256 = settings.text("extensions.objectformat") == "sha256"
        self._id_bytes = _SHA256_BYTES if sha256 else _SHA1_BYTES
        self.rules = _existing(
            read_ignore_file(
                join(common, "info", "exclude"), ignore_case=self.ignore_case, follow=True
            ),
            _user_rules(settings, top, ignore_case=self.ignore_case),
        )

    @cached_property
    def tracked(self) -> TrackedPaths:
        """The tracked paths; read on first use, which is the first ignored name."""
        return tracked_paths(self.git_dir, id_bytes=self._id_bytes, ignore_case=self.ignore_case)


def repository_at(directory: str) -> Repository | None:
    """The repository whose working tree begins at the directory, if one does."""
    git_dir = git_directory(directory)
    return None if git_dir is None else Repository(directory, git_dir)


def repository_around(directory: str) -> Repository | None:
    """The repository the directory lies in: the nearest one, from the directory upwards."""
    for candidate in (directory, *map(str, Path(directory).parents)):
        found = repository_at(candidate)
        if found is not None:
            return found
    return None


def rules_without_repository(top: str) -> list[RuleList]:
    """The user's own ignore rules, which hold in trees that are no repository too."""
    settings = GitSettings(global_config_files())
    return _existing(_user_rules(settings, top, ignore_case=False))


def _user_rules(settings: GitSettings, top: str, *, ignore_case: bool) -> RuleList:
    return read_ignore_file(excludes_file(settings, top), ignore_case=ignore_case, follow=True)


def _existing(*lists: RuleList) -> list[RuleList]:
    return [rules for rules in lists if rules]
