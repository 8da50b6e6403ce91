"""The directories that the configuration and the host's start allow to be read."""

from __future__ import annotations

import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

from rolltop.core.roots.problems import RootProblem


def real_root(name: str, given: str | Path, base: Path) -> Path:
    """The real path of a configured root, which has to be a directory that can be listed."""
    try:
        path = Path(os.path.realpath(base / Path(given).expanduser()))
        status = path.stat()
        if not str(given).strip():
            raise RootProblem("ROOT_NOT_FOUND", name, str(given))
        if not stat.S_ISDIR(status.st_mode):
            raise RootProblem("ROOT_NOT_DIRECTORY", name, str(given))
        with os.scandir(path) as listing:
            next(listing, None)
    except PermissionError:
        raise RootProblem("ROOT_NOT_READABLE", name, str(given)) from None
    except (OSError, ValueError, RuntimeError):  # RuntimeError: `~user` of nobody
        raise RootProblem("ROOT_NOT_FOUND", name, str(given)) from None
    return path


def usable_working_directory(given: Path | None) -> Path | None:
    """The real working directory, unless it is gone, `/` or the user's home."""
    if given is None:
        return None
    path = Path(os.path.realpath(given))
    homes = {os.path.expanduser("~")}  # noqa: PTH111 - Path.home() raises where there is none
    with suppress(KeyError):
        homes.add(pwd.getpwuid(os.getuid()).pw_dir)
    too_wide = {Path("/"), *(Path(os.path.realpath(home)) for home in homes)}
    return path if path.is_dir() and path not in too_wide else None
