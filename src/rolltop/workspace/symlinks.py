"""Finds dangling symbolic links without touching file systems that may hang."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rolltop.workspace.file_stat import (
    LOCAL_FILE_SYSTEMS,
    MOUNT_POINT_FIELD,
    MOUNTS,
    parse_mounts,
)

_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")
_DANGLING_ERRNOS: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
# Links on the way of one; Linux follows as many.
_MAX_LINKS: Final = 40
# Names on the ways of all links of one answer: a tenth of a second's.
_MAX_STEPS: Final = 20_000


def count_dangling(links: Sequence[str]) -> int:
    """Count the links, by absolute path, whose target does not exist.

    Links that cross a network or user-space file system, which may hang, are not followed; nor are
    any if the mounts are unknown, nor more than take a moment. Those count as valid.
    """
    if not links:
        return 0
    try:
        mounts = _MountTable(MOUNTS.read_bytes())
    except OSError:
        return 0
    left, found = _MAX_STEPS, 0
    for link in links:
        steps, stays = _follow(link, mounts, left)
        left -= steps
        if left <= 0:
            break
        found += stays and not _resolves(link)
    return found


class _MountTable:
    """Mount points and their file systems."""

    def __init__(self, mounts: bytes) -> None:
        """Parse the kernel's mount table; later mounts hide earlier ones."""
        self._foreign: Final[dict[str, bool]] = {}
        for fields, name in parse_mounts(mounts):
            place = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), fields[MOUNT_POINT_FIELD])
            self._foreign[os.fsdecode(place)] = name not in LOCAL_FILE_SYSTEMS

    def is_foreign(self, path: str) -> bool:
        """Report whether a path without links is on a file system that may hang."""
        while path:
            if path in self._foreign:
                return self._foreign[path]
            path = path.rpartition("/")[0]
        return self._foreign.get("/", True)


def _follow(link: str, mounts: _MountTable, most: int) -> tuple[int, bool]:
    """Return how many names were gone over, and whether the kernel can go all the way alone."""
    at, _, name = link.rpartition("/")
    names = [name]
    links = steps = 0
    while names and steps < most:
        steps += 1
        name = names.pop()
        if name in {"", "."}:
            continue
        path = at.rpartition("/")[0] if name == ".." else f"{at}/{name}"
        if mounts.is_foreign(path):
            return steps, False
        try:
            is_link = name != ".." and stat.S_ISLNK(os.lstat(path).st_mode)
            target = str(Path(path).readlink()) if is_link else ""
        except OSError:
            return steps, True
        links += is_link
        if links > _MAX_LINKS:
            return steps, True
        if is_link:
            names += reversed(target.split("/"))
            at = "" if target.startswith("/") else at
        else:
            at = path
    return steps, not names


def _resolves(link: str) -> bool:
    try:
        Path(link).stat()
    except OSError as error:
        return error.errno not in _DANGLING_ERRNOS
    return True
