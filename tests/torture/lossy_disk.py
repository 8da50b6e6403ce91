"""A disk in memory that fails once, and that a power cut leaves with what was synced.

`python -m tests.torture.lossy_disk MOUNT FOLDER FAULT NUMBER SEED` mounts it with the files of
FOLDER until it is unmounted, then puts there what a power cut at that moment leaves: files as they
were synced, under the names that were synced with their directory, and of each later write the
sectors that SEED draws. FAULT happens to the operation NUMBER of those that it can happen to; a
power cut kills the process whose operation it is, and comes soon after a failed sync of names.
There are no directories but the one.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mfusepy import FUSE, FuseOSError, Operations, fuse_get_context

SECTOR: Final = 512  # bytes: what a disk writes whole or not at all
MAX_BEFORE_CUT: Final = 60  # operations after a failed sync of names
_SHARED_MEMORY: Final = "-shm"  # the kernel writes it when it likes, and nobody needs it later


@dataclass
class File:
    """A file's bytes, as they are read now and as they were when last synced."""

    mode: int
    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    since: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    """Offset and bytes of what was written since; a truncation is one at its end, of nothing."""


class Disk(Operations):
    """One folder of files."""

    use_ns = True

    def __init__(self, folder: Path, fault: str, number: int, seed: int) -> None:
        self._fault = fault
        self._left = number
        self._draw: Final = random.Random(seed)  # noqa: S311  # no secret
        self._files: Final[dict[str, File]] = {}
        for source in folder.iterdir():
            data = source.read_bytes()
            self._files[f"/{source.name}"] = File(0o600, bytearray(data), data)
        self._synced: dict[str, File] = dict(self._files)
        self._is_cut = False

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        """Return what stat shows."""
        del fh
        owner = {"st_uid": os.geteuid(), "st_gid": os.getegid()}
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2, **owner}
        file = self._file(path)
        size = len(file.data)
        return {"st_mode": stat.S_IFREG | file.mode, "st_nlink": 1, "st_size": size, **owner}

    def readdir(self, path: str, fh: int) -> list[str]:
        """Return the names."""
        del path, fh
        return [".", "..", *(name[1:] for name in self._files)]

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        """Make an empty file, whose name is still to be synced."""
        del fi
        self._count(path, "create")
        self._files[path] = File(stat.S_IMODE(mode))
        return 0

    def chmod(self, path: str, mode: int) -> int:
        """Set the mode."""
        self._file(path).mode = stat.S_IMODE(mode)
        return 0

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        """Return bytes as they were last written, synced or not."""
        del fh
        return bytes(self._file(path).data[offset : offset + size])

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        """Write bytes, or a part of them."""
        del fh
        file = self._file(path)
        if self._count(path, "write"):
            self._put(file, offset, data[: len(data) // 2 // SECTOR * SECTOR])
            raise FuseOSError(errno.EIO)
        self._put(file, offset, data)
        return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        """Set the size."""
        del fh
        self._count(path, "truncate")
        file = self._file(path)
        del file.data[length:]
        file.data.extend(bytes(length - len(file.data)))
        file.since.append((length, b""))
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        """Keep the file's bytes; a sync that failed keeps none, and the next one is fine again."""
        del datasync, fh
        file = self._file(path)
        self._count(path, "sync", file)
        file.synced, file.since = bytes(file.data), []
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        """Keep the names."""
        del datasync, fh
        self._count(path, "sync of names")
        self._synced = dict(self._files)
        return 0

    def unlink(self, path: str) -> int:
        """Remove a name."""
        self._count(path, "unlink")
        del self._files[path]
        return 0

    def rename(self, old: str, new: str) -> int:
        """Give a file another name."""
        self._count(old, "rename")
        self._files[new] = self._files.pop(old)
        return 0

    def leave(self, folder: Path) -> None:
        """Write what a power cut leaves in place of what the folder holds."""
        for file in folder.iterdir():
            file.unlink()
        for path, file in self._synced.items():
            if not path.endswith(_SHARED_MEMORY):
                (folder / path[1:]).write_bytes(self._remains(file))

    def _remains(self, file: File) -> bytes:
        remains = bytearray(file.synced)
        for offset, data in file.since:
            if not data and self._draw.random() < 0.5:  # either may happen
                del remains[offset:]
            for start in range(0, len(data), SECTOR):
                if self._draw.random() < 0.5:  # either may happen
                    part, at = data[start : start + SECTOR], offset + start
                    remains.extend(bytes(max(0, at + len(part) - len(remains))))
                    remains[at : at + len(part)] = part
        return bytes(remains)

    def _file(self, path: str) -> File:
        try:
            return self._files[path]
        except KeyError:
            raise FuseOSError(errno.ENOENT) from None

    @staticmethod
    def _put(file: File, offset: int, data: bytes) -> None:
        file.data.extend(bytes(max(0, offset + len(data) - len(file.data))))
        file.data[offset : offset + len(data)] = data
        file.since.append((offset, bytes(data)))

    def _count(self, path: str, what: str, file: File | None = None) -> bool:
        """Fail this operation, if it is its turn; return whether it shall be done in part."""
        if path.endswith(_SHARED_MEMORY):
            return False
        if self._is_cut:
            raise FuseOSError(errno.EIO)
        happens_to = {
            "power-cut": what,
            "sync-error": "sync",
            "names-sync-error": "sync of names",
        }.get(self._fault, "write")
        self._left -= what == happens_to
        if self._left != 0 or what != happens_to:
            return False
        self._left = -1
        if self._fault == "names-sync-error":  # it does no harm until the power is cut
            self._fault, self._left = "power-cut", self._draw.randint(1, MAX_BEFORE_CUT)
            raise FuseOSError(errno.EIO)
        self._is_cut = self._fault == "power-cut"
        if self._is_cut:
            os.kill(fuse_get_context()[2], signal.SIGKILL)
        if self._fault == "torn-write":
            return True
        if file is not None:
            file.since.clear()
        raise FuseOSError(errno.ENOSPC if self._fault == "full-disk" else errno.EIO)


def main(mount: str, folder: str, fault: str, number: str, seed: str) -> None:
    """Serve until it is unmounted."""
    disk = Disk(Path(folder), fault, int(number), int(seed))
    FUSE(disk, mount, foreground=True, nothreads=True, hard_remove=True, fsname="lossy")
    disk.leave(Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
