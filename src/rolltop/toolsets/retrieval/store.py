"""SQLite index files, shared by processes and recreated when damaged.

Their content can always be rebuilt from the indexed files. Also: the comparison of a root's files
with an index.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from rolltop.core import logging
from rolltop.core.db import sqlite
from rolltop.core.db.open_files import OpenFiles

if TYPE_CHECKING:
    from rolltop.workspace import FileStat


MAX_INTEGER: Final = (1 << 63) - 1
"""The largest number that an index holds."""
_Item = TypeVar("_Item")
_GIVEN_UP: Final = ".damaged"
# Each folder that a client starts the server in may get an index.
_MAX_UNUSED_SECONDS: Final = 60 * 24 * 3600
BUSY_SECONDS: Final = 2.0
_CACHE_KIB: Final = 2 * 1024
_MAX_LOG_BYTES: Final = 4 * 1024 * 1024
# Bytes of text read, at least, before an index is tidied.
MUCH: Final = 1 << 20
# Until an index that could not be used is tried again: a full disk gets room.
_RETRY_SECONDS: Final = 60.0
# Consecutive files that stay together: similar ones compress better.
_TOGETHER: Final = 300
_MIN_RUNS: Final = 16
# An index is tidied after at least 1/4 of its text was read anew.
_SHARE: Final = 4
_PRAGMAS: Final = (
    f"journal_size_limit = {_MAX_LOG_BYTES}",
    "synchronous = normal",
    f"cache_size = -{_CACHE_KIB}",
)
_DAMAGED: Final = {
    sqlite.library.SQLITE_CORRUPT,
    sqlite.library.SQLITE_NOTADB,
    sqlite.library.SQLITE_FORMAT,
}
_TABLES: Final = "SELECT count(*) FROM sqlite_schema"

Value = str | int | bytes
Values = tuple[Value, ...] | Mapping[str, Value]
# Recorded for a deleted file.
GONE: Final[Stamp] = (-1, 0, 0, 0)


class Unusable(Exception):
    """The file cannot be used now: disk full, say, or read-only."""


class Damaged(Unusable):
    """The file is not a usable index; it has been marked as damaged."""


class Busy(Exception):
    """Another process is writing."""


class NotUnderstood(Exception):
    """FTS5 rejects the expression; the file is fine."""


class Connection:
    """A connection for one thread at a time: acquire `lock` while rows are read."""

    def __init__(self, path: Path, *, mode: sqlite.Mode = "rw") -> None:
        """Open an existing file, or a database in memory."""
        self.lock: Final = RLock()
        self._db: Final = sqlite.connect(path, mode=mode, timeout=BUSY_SECONDS)
        if not self.number("PRAGMA page_count"):  # it can be said of an empty file only, and writes
            self.execute("PRAGMA auto_vacuum = incremental")
        for pragma in (f"journal_mode = {sqlite.journal_mode()}", *_PRAGMAS):
            self.execute(f"PRAGMA {pragma}")

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self._db.close()

    def execute(self, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """Execute a statement; rows are read on demand."""
        return self._db.execute(statement, values)

    def execute_many(self, statement: str, rows: Iterable[Values]) -> None:
        """Run a statement once for each row of values."""
        self._db.executemany(statement, rows)

    def number(self, statement: str, values: Values = ()) -> int:
        """Execute a statement that returns one number."""
        return next(self.execute(statement, values))[0]

    def matching(self, statement: str, asked: str) -> str:
        """Execute a statement with an FTS5 expression for one text. Raises NotUnderstood."""
        try:
            return next(self.execute(statement, (asked,)))[0]
        except sqlite.library.Error as error:
            if sqlite.error_code(error) == sqlite.library.SQLITE_ERROR:
                raise NotUnderstood from error
            raise

    @contextmanager
    def snapshot(self) -> Generator[Connection, None, None]:
        """Open a read transaction; may be nested."""
        with self.lock:
            if self._db.in_transaction:
                yield self
                return
            self.execute("BEGIN")
            try:
                yield self
            finally:
                if self._db.in_transaction:  # an error may have ended it
                    self.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Generator[Connection, None, None]:
        """Write all or nothing. Raises Busy."""
        with self.lock, _translate_busy():
            self.execute("BEGIN IMMEDIATE")
            try:
                yield self
                self.execute("COMMIT")
            except BaseException:
                with suppress(sqlite.library.Error):
                    self.execute("ROLLBACK")
                raise


class Growth:
    """Counts the text read since an index was tidied.

    Tidying takes time in proportion to the index, so it is done only after much was read.
    """

    def __init__(self) -> None:
        self._read = 0

    def add(self, size: int) -> None:
        """Add bytes of text."""
        self._read += size

    def tidy(self, whole: Callable[[], int], how: Callable[[], None]) -> None:
        """Tidy if enough was read; `whole` computes the total bytes. Raises Damaged.

        Skipped while another process writes or the disk is full, until as much is read again.
        """
        if self._read < MUCH or self._read * _SHARE < whole():
            return
        self._read = 0
        try:
            how()
        except Damaged:
            raise
        except (Busy, Unusable):
            pass


def scatter(work: Sequence[_Item]) -> list[_Item]:
    """Shuffle work in runs of consecutive items.

    Processes that fill one index together skip what another has done; without a random order they
    would do the same items at the same time.
    """
    together = min(_TOGETHER, 1 + len(work) // _MIN_RUNS)
    starts = list(range(0, len(work), together))
    secrets.SystemRandom().shuffle(starts)
    return [one for start in starts for one in work[start : start + together]]


def batches(work: Iterable[FileStat], most_bytes: int, most: int) -> Iterator[list[FileStat]]:
    """Split files into batches of about `most_bytes` and at most `most` files."""
    batch: list[FileStat] = []
    total = 0
    for one in work:
        batch.append(one)
        total += one.size
        if total >= most_bytes or len(batch) >= most:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def encode_path(path: str) -> str:
    """Encode a path as text that SQLite can store, whatever its bytes."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def decode_path(encoded: str) -> str:
    """Decode a path encoded by `encode_path`."""
    return encoded if encoded.isascii() else os.fsdecode(encoded.encode("latin-1"))


class IndexFile:
    """The latest index file of a kind in a folder, with a reading and a writing connection."""

    def __init__(
        self, folder: Path, prefix: str, version: int, schema: str, *, optimize: str = ""
    ) -> None:
        """Open the file or create it by the schema, whose statements contain no other semicolon.

        `optimize` is the statement that comes before disk space is reclaimed. Raises Busy, Damaged
        or Unusable.
        """
        self._optimize: Final = optimize
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path: Final = _newest(folder, prefix, version)
        os.utime(self._path)
        _delete_unused(folder)
        with self._handle_damage(), _translate_busy():
            self._writer: Final = Connection(self._path)
            if not self._writer.number(_TABLES):  # others may be writing for long: ask first
                with self._writer.transaction() as db:
                    if not db.number(_TABLES):
                        for statement in (*schema.split(";"), f"PRAGMA user_version = {version}"):
                            db.execute(statement)
            if self._writer.number("PRAGMA user_version") != version:
                raise Damaged
            self._reader: Final = Connection(self._path)
            self._files: Final = OpenFiles(self._path, sqlite)

    def close(self) -> None:
        """Close the file."""
        self._files.allow_checkpoint()
        self._reader.close()
        self._writer.close()
        self._files.close()

    @contextmanager
    def read_transaction(self) -> Generator[Connection, None, None]:
        """Open a read transaction; may be nested. Raises Damaged or Unusable."""
        with self._handle_damage():
            self._require_own()
            with self._reader.snapshot() as db:
                yield db

    @contextmanager
    def write_transaction(self) -> Generator[Connection, None, None]:
        """Write all or nothing. Raises Busy, Damaged or Unusable."""
        with self._handle_damage(), self._writer.transaction() as db:
            if next(db.execute("PRAGMA journal_mode")) != (sqlite.journal_mode(),):
                raise Unusable  # another process's library is safe with a log, and this one's not
            yield db
            self._require_own()

    def tidy(self) -> None:
        """Reclaim disk space. Raises as `write_transaction`."""
        with self.write_transaction() as db:
            db.execute(self._optimize)
        with self.write_transaction() as db:
            for _ in db.execute("PRAGMA incremental_vacuum"):
                pass
        with self._handle_damage(), self._writer.lock, suppress(Busy), _translate_busy():
            # Empties the log too, unless somebody reads from it still.
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _require_own(self) -> None:
        """Raise Damaged if the file or its log was replaced or marked as damaged.

        Other processes may then use another file and not see what is written here.
        """
        if self._files.find_lost_file() or sqlite.beside(self._path, _GIVEN_UP).exists():
            raise Damaged

    @contextmanager
    def _handle_damage(self) -> Generator[None, None, None]:
        """Mark a damaged file; its successor gets a new name."""
        try:
            yield
        except (Damaged, sqlite.library.Error) as error:
            if not isinstance(error, Damaged) and sqlite.error_code(error) not in _DAMAGED:
                raise Unusable from error
            with suppress(OSError):  # the folder may be gone, and the name with it
                sqlite.beside(self._path, _GIVEN_UP).touch(mode=0o600)
            raise Damaged from error


class Closable(Protocol):
    """An index that is open."""

    def close(self) -> None:
        """Close its file."""
        ...


TIndex = TypeVar("TIndex", bound=Closable)


class IndexHandle(Generic[TIndex]):
    """An index of one kind, opened when it is first asked for. Thread-safe.

    A damaged one is made anew at the next use; one that cannot be used is given up for a minute.
    `what` names it in the log, `prefix` begins its files' names.
    """

    def __init__(
        self, what: str, folder: Path, prefix: str, open_index: Callable[[], TIndex]
    ) -> None:
        self._what: Final = what
        self._folder: Final = folder
        self._prefix: Final = prefix
        self._open_index: Final = open_index
        self._lock: Final = Lock()
        self._index: TIndex | None = None
        self._retry_at = 0.0

    @property
    def is_given_up(self) -> bool:
        """Whether it could not be used, and is not to be tried yet."""
        return time.monotonic() < self._retry_at

    def get(self, *, begin: bool = False) -> TIndex | None:
        """Open the index, None if there is none; `begin` creates one."""
        with self._lock:
            if self._index is None and not self.is_given_up and (begin or self._exists()):
                try:
                    try:
                        self._index = self._open_index()
                    except Damaged:  # its successor has another name
                        self._index = self._open_index()
                except Busy:
                    return None  # for now
                except (OSError, Unusable) as problem:
                    self._retry_at = time.monotonic() + _RETRY_SECONDS
                    self._log("unusable", problem)
            return self._index

    def fail(self, index: TIndex | None, problem: Unusable, *, reading: bool = True) -> bool:
        """Close an index that cannot be used; False if it was closed before or may be read."""
        is_damaged = isinstance(problem, Damaged)
        with self._lock:
            if index is None or self._index is not index:
                return False
            self._retry_at = 0.0 if is_damaged else time.monotonic() + _RETRY_SECONDS
            self._index = None if is_damaged or reading else index
            is_closed = self._index is None
        if is_closed:
            index.close()
        self._log("failed", problem)
        return is_closed

    def close(self) -> None:
        """Close the index for good."""
        with self._lock:
            self._retry_at = math.inf
            if self._index is not None:
                self._index.close()
                self._index = None

    def _exists(self) -> bool:
        return next(self._folder.glob(f"{self._prefix}-*.db"), None) is not None

    def _log(self, outcome: str, problem: Exception) -> None:
        logging.event(f"{self._what} {outcome}", level="warn", reason=type(problem).__name__)


def find_problems(folder: Path) -> Iterator[Unusable]:
    """Yield why the indexes in a folder cannot be used; those that are Damaged are made anew."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        yield Unusable(f"{folder}: {error.strerror}")
        return
    for name in names:
        if not name.endswith(".db") or f"{name}{_GIVEN_UP}" in names:
            continue
        try:
            with suppress(Busy), closing(Connection(folder / name)) as db, db.transaction():
                pass
        except sqlite.library.Error as error:
            kind = Damaged if sqlite.error_code(error) in _DAMAGED else Unusable
            yield kind(f"{folder / name}: {error}")


@contextmanager
def _translate_busy() -> Generator[None, None, None]:
    """Raise Busy if another process has locked the file."""
    try:
        yield
    except sqlite.library.Error as error:
        if sqlite.error_code(error) == sqlite.library.SQLITE_BUSY:
            raise Busy from error
        raise


def _newest(folder: Path, prefix: str, version: int) -> Path:
    """Choose the file to use; delete damaged ones.

    Those of other versions stay while they are used: several versions of Rolltop may run at once.
    """
    number = 1
    for path in folder.glob(f"{prefix}-*.db*"):
        name, _, ending = path.name.partition(".db")
        own, _, count = name.removeprefix(f"{prefix}-").partition("-")
        if own != str(version) or not count.isdigit():
            continue
        if ending == _GIVEN_UP:
            number = max(number, int(count) + 1)
            _remove(path.with_name(f"{name}.db"))
        else:
            number = max(number, int(count))
    chosen = folder / f"{prefix}-{version}-{number}.db"
    with suppress(FileExistsError):
        # Nobody has it open yet, so closing it drops no lock of ours.
        os.close(os.open(chosen, os.O_CREAT | os.O_EXCL, 0o600))
    return chosen


def _delete_unused(folder: Path) -> None:
    """Delete indexes that no process has opened for long: of projects that nobody works on."""
    before = time.time() - _MAX_UNUSED_SECONDS
    for path in folder.glob("*.db"):
        with suppress(OSError):  # another process was faster
            if path.stat().st_mtime < before:
                sqlite.beside(path, _GIVEN_UP).unlink(missing_ok=True)
                _remove(path)


def _remove(path: Path) -> None:
    """Delete an abandoned file; its marker stays."""
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


# Size, mtime and ctime in nanoseconds, inode: identifies a state of a file.
Stamp = tuple[int, int, int, int]


class Row(NamedTuple):
    """An index row of a file: its id, and the state in which it was read."""

    number: int
    stamp: Stamp


class RowComparison:
    """Compares a root's files with an index's rows. For one thread at a time."""

    def __init__(self) -> None:
        self.entries: Sequence[FileStat] = ()
        self.fresh: Final[dict[int, FileStat]] = {}
        """Files indexed in their current state, by id."""
        self.stale: Final[dict[str, FileStat]] = {}
        """The other files, by path."""
        self._known: Final[dict[str, FileStat]] = {}
        # Ids of the fresh files, by path.
        self._numbers: Final[dict[str, int]] = {}
        # Rows that match no current state, by path.
        self._outdated: Final[dict[str, Row]] = {}

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(entry.size for entry in self.entries)

    def number(self, entry: FileStat) -> int | None:
        """Look up a file's id; None if it is not indexed in that state."""
        number = self._numbers.get(entry.relative)
        return number if number is not None and self.fresh.get(number) == entry else None

    def find_gone(self) -> list[str]:
        """List the paths of deleted files that still have rows."""
        known = self._known
        return sorted(
            path for path, row in self._outdated.items() if path not in known and row.stamp != GONE
        )

    def take_files(self, entries: Sequence[FileStat]) -> None:
        """Update the files; the identical list means unchanged files."""
        if entries is self.entries:
            return
        # The catalog keeps an entry's object while its file is the same: ids compare ten times
        # as fast as entries.
        old_ids, new_ids = set(map(id, self.entries)), set(map(id, entries))
        before = {entry.relative: entry for entry in self.entries if id(entry) not in new_ids}
        now = {entry.relative: entry for entry in entries if id(entry) not in old_ids}
        self.entries = entries
        self._known.update(now)
        for path in before.keys() - now.keys():
            del self._known[path]
            self._place(path, self._row(path))
        if not (self._numbers or self._outdated):  # of no row is anything known
            self.stale.update(now)
            return
        for path, entry in now.items():
            if before.get(path) != entry:
                self._place(path, self._row(path))

    def take_row(self, path: str, row: Row) -> None:
        """Update the row of a file."""
        self._place(path, row)

    def forget_rows(self) -> None:
        """Assume an empty index."""
        self.fresh.clear()
        self._numbers.clear()
        self._outdated.clear()
        self.stale.update(self._known)

    def _row(self, path: str) -> Row | None:
        number = self._numbers.get(path)
        if number is None:
            return self._outdated.get(path)
        return Row(number, self.fresh[number][1:5])

    def _place(self, path: str, row: Row | None) -> None:
        number = self._numbers.pop(path, None)
        if number is not None:
            self.fresh.pop(number, None)
        self.stale.pop(path, None)
        self._outdated.pop(path, None)
        entry = self._known.get(path)
        if entry is not None and row is not None and row.stamp == entry[1:5]:
            self.fresh[row.number] = entry
            self._numbers[entry.relative] = row.number  # the path's own text, not one more
            return
        if row is not None:
            self._outdated[path] = row
        if entry is not None:
            self.stale[entry.relative] = entry
