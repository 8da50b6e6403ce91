"""The server's own files, which every root treats as not there.

They must not even be opened and closed: that drops the locks this process holds on its store.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SIBLING_ENDINGS = ("", "-wal", "-shm", "-journal", ".lock", ".partial")


class HiddenStores:
    """Data directories and store files; a path hides itself, its siblings and all below it.

    The siblings are what SQLite and the server put beside a store: `-wal`, `-shm`, `-journal`,
    `.lock` and `.partial`. A store need not exist yet.
    """

    def __init__(self, stores: Sequence[Path]) -> None:
        named = {Path(os.path.realpath(store.parent), store.name) for store in stores}
        real = {Path(os.path.realpath(store)) for store in stores}
        self._paths = frozenset(
            path.with_name(path.name + ending)
            for path in named | real
            if path.name
            for ending in _SIBLING_ENDINGS
        )
        self._beginnings = tuple(f"{path}/" for path in self._paths)
        names: dict[str, set[str]] = {}
        for path in self._paths:
            names.setdefault(str(path.parent).rstrip("/"), set()).add(path.name)
        self.names_by_directory = {directory: frozenset(held) for directory, held in names.items()}
        """Directory (without a trailing slash) → names in it that are not there."""

    def hide(self, path: str) -> bool:
        """Whether the real path is, or lies in, one of the stores."""
        return f"{path}/".startswith(self._beginnings)

    def own(self, status: os.stat_result) -> bool:
        """Whether the file is one of the stores' under another name, by a hard link."""
        return status.st_nlink > 1 and any(
            os.path.samestat(status, held) for path in self._paths for held in _files(path)
        )


def _files(path: Path) -> Iterator[os.stat_result]:
    """The state of each file at or below the path."""
    try:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            yield status
            return
        for child in path.iterdir():
            yield from _files(child)
    except OSError:
        return  # it went away, or is not ours to read: then it is no open store of ours
