"""The project that a server was started in: its folder and its name."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from rolltop.core.principal import MAX_PROJECT_LENGTH, is_project_name
from rolltop.workspace.git_repository import common_directory, git_directory

# These hold projects, or the homes of those who have some, and are none themselves.
_SHARED_FOLDERS: Final = (
    *("/home", "/media", "/mnt", "/opt", "/private", "/private/tmp", "/private/var", "/root"),
    *("/run", "/srv", "/usr", "/usr/local", "/usr/src", "/Users", "/var", "/var/lib", "/Volumes"),
    *("/tmp", "/var/tmp"),  # noqa: S108 - named to be refused
)
# These belong to the system or to installed programs, with all that is below them.
_SYSTEM_TREES: Final = (
    *("/Applications", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/Library"),
    *("/private/etc", "/proc", "/sbin", "/snap", "/sys", "/System", "/usr/bin", "/usr/include"),
    *("/usr/lib", "/usr/libexec", "/usr/local/bin", "/usr/sbin", "/usr/share", "/var/log"),
)
_WINDOWS_TREES: Final = (
    *("APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "ProgramFiles(x86)"),
    *("ProgramW6432", "SystemRoot"),
)
"""Variables that name them on Windows."""
_HOME_TREES: Final = (
    *(".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh"),
    *(".cache", ".config", ".local", "AppData", "Library"),
)
"""Where programs keep their own files in a home, and where credentials are."""


def find_project(start: Path) -> Path | None:
    """Find the project around a folder: its git top level, else the folder itself.

    None if that is the top of a drive, a home or a folder above one, or a folder of the system
    or of installed programs, which may contain repositories but is no project itself.
    """
    path = Path(os.path.realpath(start))
    for candidate in (path, *path.parents):
        if git_directory(str(candidate)) is not None:
            if _is_project_folder(candidate, is_repository=True):
                return candidate
            break
    return path if _is_project_folder(path) else None


def find_project_name(start: Path) -> str:
    """Return the name of the project around a directory; empty if it lies in none.

    A linked worktree has the name of its repository.
    """
    directory = find_project(start)
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


def _is_project_folder(path: Path, *, is_repository: bool = False) -> bool:
    """Report whether a folder, given by its real path, may be taken for a project."""
    homes = _home_directories()
    if path == path.parent or any(home.is_relative_to(path) for home in homes):
        return False
    trees = [*map(Path, _SYSTEM_TREES), *(home / name for home in homes for name in _HOME_TREES)]
    trees += [Path(os.environ[name]) for name in _WINDOWS_TREES if os.environ.get(name)]
    if path in {*map(Path, _SHARED_FOLDERS), *trees}:
        return False
    if not is_repository and any(path.is_relative_to(tree) for tree in trees):
        return False
    return _is_listable(path)


def _is_listable(path: Path) -> bool:
    try:
        with os.scandir(path):
            return True
    except (OSError, ValueError):
        return False


def _home_directories() -> set[Path]:
    """Find the user's homes: the environment's, and the one that the system knows."""
    homes = {os.path.expanduser("~"), *_account_home()}  # noqa: PTH111 - Path.home() may raise
    return {Path(os.path.realpath(home)) for home in homes if Path(home).is_absolute()}


@cache
def _account_home() -> tuple[str, ...]:
    if sys.platform != "win32":
        with suppress(ImportError, KeyError):
            import pwd  # noqa: PLC0415 - only on Unix

            return (pwd.getpwuid(os.getuid()).pw_dir,)
    return ()
