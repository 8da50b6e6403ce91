"""Whether the files that SQLite has open are still the ones at their place.

SQLite finds its log (-wal) and its locks (-shm) by name. If one is removed or replaced, the next
process makes another, and neither sees the other's locks or commits.
"""

from __future__ import annotations

from contextlib import suppress
from os import stat_result
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from rolltop.core.db.sqlite import Mode, beside, journal_mode, library

if TYPE_CHECKING:
    import sqlite3


_NOOP_SINCE: Final = (3, 51, 0)  # "PRAGMA wal_checkpoint(NOOP)" only counts the log's frames
_LOG_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24


class Connector(Protocol):
    """Opens the files: the module `sqlite`, or what opens a store that may be encrypted."""

    def connect(self, path: Path, *, mode: Mode = "rw", timeout: float = 5.0) -> sqlite3.Connection:
        """Open an existing file. Raises the library's errors."""
        ...


class OpenFiles:
    """A connection that stays open, so that nobody else deletes the files, and their inodes.

    It is read-only: if it is closed last, SQLite neither writes the log back nor deletes files by
    their names, which may be another store's by then.
    """

    def __init__(self, path: Path, driver: Connector) -> None:
        """Open the files. Raises the driver's errors."""
        endings = ("-wal", "-shm") if journal_mode() == "wal" else ()
        self._paths: Final = (path, *(beside(path, ending) for ending in endings))
        self._driver: Final = driver
        self._anchor = driver.connect(path, mode="ro")
        ((page_size,),) = self._anchor.execute("PRAGMA page_size").fetchall()
        # Reading takes the lock that keeps the files.
        self._anchor.execute("PRAGMA user_version").fetchone()
        self._page_size: Final = int(page_size)  # SQLCipher answers a text
        self._inodes: Final = [_inode(stat) for stat in map(_stat, self._paths)]
        self._log_size = 0
        self._lost_name = ""
        self.find_lost_file()

    def find_lost_file(self) -> str:
        """Return the name of the file that was removed, replaced or emptied first; "" for none.

        Costs a stat each, 6 µs.
        """
        if not self._lost_name:
            stats = [_stat(path) for path in self._paths]
            for path, inode, stat in zip(self._paths, self._inodes, stats, strict=True):
                if _inode(stat) != inode:
                    self._lost_name = path.name
                    return self._lost_name
            log = stats[1] if len(stats) > 1 else None
            size = log.st_size if log else 0
            if log and (size < self._log_size or not self._log_size):
                # Twice, since another program may empty the log by rights in between.
                is_whole = self._is_log_complete() or self._is_log_complete()
                self._lost_name = "" if is_whole else self._paths[1].name
            self._log_size = size
        return self._lost_name

    def allow_checkpoint(self) -> None:
        """Let whatever is closed last write the log back and delete it, if that is safe."""
        if not self.find_lost_file():
            with suppress(library.Error):  # the log stays, and the next start reads it
                writing = self._driver.connect(self._paths[0])
                writing.execute("PRAGMA user_version").fetchone()
                self._anchor.close()
                self._anchor = writing
        elif self._only_log_is_lost():
            self._anchor.close()

    def close(self) -> None:
        """Close the connection."""
        self._anchor.close()

    def _only_log_is_lost(self) -> bool:
        """Whether the log lost its name, and nobody can have written another."""
        if len(self._paths) == 1:
            return False
        store, log, index = map(_stat, self._paths)
        is_alone = [_inode(store), _inode(index)] == [self._inodes[0], self._inodes[2]]
        if not is_alone or log is None or not log.st_size:
            return is_alone
        # Of a shortened log, SQLite would write back some pages and miss others.
        return _inode(log) == self._inodes[1] and self._is_log_complete()

    def _is_log_complete(self) -> bool:
        """Whether the log is large enough for the frames that SQLite believes it to hold."""
        if library.sqlite_version_info < _NOOP_SINCE:
            return True
        ((_busy, frames, _done),) = self._anchor.execute("PRAGMA wal_checkpoint(NOOP)").fetchall()
        log = _stat(self._paths[1])  # after they were counted: others add more
        needed = _LOG_HEADER_BYTES + frames * (_FRAME_HEADER_BYTES + self._page_size)
        return not frames or needed <= (log.st_size if log else 0)


def _stat(path: Path) -> stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _inode(stat: stat_result | None) -> tuple[int, int] | None:
    return (stat.st_dev, stat.st_ino) if stat else None
