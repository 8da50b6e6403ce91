"""Symbolic links that lead nowhere, told without touching what may never answer."""

from __future__ import annotations

import errno
import os
import re
import stat
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOUNTS: Final = Path("/proc/self/mountinfo")
_LOCAL: Final = frozenset(
    b"bcachefs binfmt_misc bpf btrfs cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs erofs"
    b" exfat ext2 ext3 ext4 f2fs hugetlbfs iso9660 mqueue nsfs ntfs3 overlay proc pstore ramfs"
    b" securityfs squashfs sysfs tmpfs tracefs udf vfat xfs zfs".split()
)
"""File systems that this machine's kernel answers for, and nobody else."""
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")
_NOWHERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_MOST: Final = 20_000
"""Links that are followed for one answer: a tenth of a second's."""
_MOST_STEPS: Final = 400
"""Names on the way of one, those of the links that it leads over among them."""


def leading_nowhere(links: Sequence[str]) -> int:
    """Return how many links lead to nothing that is there, by their absolute paths.

    One that leads over a file system of another machine, or of a program, is not followed, for that
    may never answer; nor is any where the system does not say what is mounted. Those are taken to
    lead somewhere.
    """
    if not links:
        return 0
    try:
        foreign = _foreign(_MOUNTS.read_bytes())
    except OSError:
        return 0
    return sum(_leads_nowhere(link, foreign) for link in islice(links, _MOST))


def _foreign(mounted: bytes) -> frozenset[str]:
    """Return where file systems are mounted that others answer for."""
    found = set[str]()
    for line in mounted.splitlines():
        before, _, after = line.partition(b" - ")
        if after.split(b" ", 1)[0] not in _LOCAL:
            place = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), before.split(b" ")[4])
            found.add(os.fsdecode(place))
    return frozenset(found)


def _leads_nowhere(link: str, foreign: frozenset[str]) -> bool:
    at, _, name = link.rpartition("/")
    names = [name]
    for _ in range(_MOST_STEPS):
        if not names:
            return False
        name = names.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            at = at.rpartition("/")[0]
            continue
        path = f"{at}/{name}"
        if path in foreign:
            return False
        try:
            if stat.S_ISLNK(os.lstat(path).st_mode):
                target = os.readlink(path)  # noqa: PTH115 - the text, as it is
                names += reversed(target.split("/"))
                at = "" if target.startswith("/") else at
            else:
                at = path
        except OSError as error:
            return error.errno in _NOWHERE
    return True
