"""The project that a server was started in: its directory and its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rolltop.core.principal import MAX_PROJECT_LENGTH, is_project_name
from rolltop.workspace.git_repository import common_directory, git_directory

# Hosts without a folder of their own start servers in these or below them.
_SYSTEM_TREES: Final = frozenset(
    map(
        Path,
        (
            *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys"),
            *("/usr/bin", "/usr/lib", "/usr/sbin", "/usr/share"),
            *("/Applications", "/Library", "/System"),
            *(
                os.environ[name]
                for name in ("SYSTEMROOT", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMDATA")
                if os.environ.get(name)
            ),
        ),
    )
)
# Projects lie below these, but these are none.
_SYSTEM_DIRECTORIES: Final = frozenset(
    map(
        Path,
        (
            *("/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr"),  # noqa: S108  # names
            *("/usr/local", "/usr/src", "/var", "/var/tmp", "/Users", "/Volumes"),  # noqa: S108
        ),
    )
)


def find_project_directory(start: Path) -> Path | None:
    """Return the top of the git repository around a directory, else the directory itself.

    None where that is no project: `/` or a drive, the home directory, what lies above it, and
    system directories.
    """
    directory = start.resolve()
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111  # Path.home() may raise
    outside = {home, *home.parents, Path(directory.anchor)} | _SYSTEM_DIRECTORIES
    for candidate in (directory, *directory.parents):
        if candidate in outside or not _SYSTEM_TREES.isdisjoint((candidate, *candidate.parents)):
            return directory if candidate != directory else None
        if git_directory(str(candidate)) is not None:
            return candidate
    return directory


def find_project_name(start: Path) -> str:
    """Return the name of the project around a directory; empty if it lies in none.

    A linked worktree has the name of its repository.
    """
    directory = find_project_directory(start)
    if directory is None:
        return ""
    named = directory.name
    git_dir = git_directory(str(directory))
    shared = git_dir and common_directory(git_dir)
    if shared and shared != git_dir:
        common = Path(shared).resolve()
        named = common.parent.name if common.name == ".git" else common.name.removesuffix(".git")
    name = "".join(filter(str.isprintable, named))[:MAX_PROJECT_LENGTH].strip()
    return name if is_project_name(name) else ""
