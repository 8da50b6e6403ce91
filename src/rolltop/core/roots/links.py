"""Symbolic links that lead nowhere, told without touching what may never answer."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOUNTS: Final = Path("/proc/self/mountinfo")
_LOCAL: Final = frozenset(
    b"bcachefs btrfs devpts devtmpfs erofs exfat ext2 ext3 ext4 f2fs hugetlbfs iso9660 mqueue ntfs3"
    b" overlay ramfs squashfs tmpfs udf vfat xfs zfs".split()
)
"""File systems of files that this machine's kernel answers for, and nobody else."""
_PLACE: Final = 4
"""Of the mount point, among the fields that the kernel writes."""
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")
_NOWHERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
_MOST_LINKS: Final = 40
"""Links on the way of one; Linux follows as many."""
_MOST_STEPS: Final = 20_000
"""Names on the ways of all links of one answer: a tenth of a second's."""


def leading_nowhere(links: Sequence[str]) -> int:
    """Return how many links lead to nothing that is there, by their absolute paths.

    One that leads over a file system of another machine, or of a program, is not followed, for that
    may never answer; nor is any where the system does not say what is mounted, nor are more than
    take a moment. Those are taken to lead somewhere.
    """
    if not links:
        return 0
    try:
        mounts = _Mounts(_MOUNTS.read_bytes())
    except OSError:
        return 0
    left, found = _MOST_STEPS, 0
    for link in links:
        steps, stays = _followed(link, mounts, left)
        left -= steps
        if left <= 0:
            break
        found += stays and not _leads_somewhere(link)
    return found


class _Mounts:
    """What is mounted where, and who answers for it."""

    def __init__(self, told: bytes) -> None:
        """Take what the kernel tells of mounts; those that come later hide those before."""
        self._foreign: Final[dict[str, bool]] = {}
        for line in told.split(b"\n"):
            before, between, after = line.partition(b" - ")
            fields = before.split(b" ")
            if between and len(fields) > _PLACE:
                place = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), fields[_PLACE])
                foreign = after.split(b" ", 1)[0] not in _LOCAL
                self._foreign[os.fsdecode(place)] = foreign

    def are_foreign_at(self, path: str) -> bool:
        """Return whether others than this machine's kernel answer for a path without links."""
        while path:
            if path in self._foreign:
                return self._foreign[path]
            path = path.rpartition("/")[0]
        return self._foreign.get("/", True)


def _followed(link: str, mounts: _Mounts, most: int) -> tuple[int, bool]:
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
        if mounts.are_foreign_at(path):
            return steps, False
        try:
            is_link = name != ".." and stat.S_ISLNK(os.lstat(path).st_mode)
            target = str(Path(path).readlink()) if is_link else ""
        except OSError:
            return steps, True
        links += is_link
        if links > _MOST_LINKS:
            return steps, True
        if is_link:
            names += reversed(target.split("/"))
            at = "" if target.startswith("/") else at
        else:
            at = path
    return steps, not names


def _leads_somewhere(link: str) -> bool:
    try:
        Path(link).stat()
    except OSError as error:
        return error.errno not in _NOWHERE
    return True
