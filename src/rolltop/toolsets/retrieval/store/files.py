"""SQLite files that hold an index of files: shared by processes, and begun anew where damaged.

What they hold can be made again from the files it was made of, so nothing in them is precious.
Only apsw opens them, since a second SQLite library in one process would drop the first one's
locks.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from pathlib import Path

_Item = TypeVar("_Item")
_GIVEN_UP: Final = ".damaged"
_BUSY_MS: Final = 2000
_CACHE_KIB: Final = 2 * 1024
_LONGEST_LOG: Final = 4 * 1024 * 1024
MUCH: Final = 1 << 20
"""Bytes of text read, at least, after which an index is tidied."""
_TOGETHER: Final = 300
"""Files that are read one after the other: they are alike, and take less room together."""
_LEAST_RUNS: Final = 16
_SHARE: Final = 4
"""One byte of text in so many has to have been read since, too."""
_SETTINGS: Final = f"""
    PRAGMA journal_mode = wal; PRAGMA journal_size_limit = {_LONGEST_LOG};
    PRAGMA synchronous = normal; PRAGMA cache_size = -{_CACHE_KIB};
"""
_TABLES: Final = "SELECT count(*) FROM sqlite_schema"

Value = str | int | bytes
Values = tuple[Value, ...] | Mapping[str, Value]


class Unusable(Exception):
    """The file cannot be used now: the disk is full, say, or it may not be written."""


class Damaged(Unusable):
    """The file is no index that can be used; it has been given up."""


class Busy(Exception):
    """Another process is writing."""


class NotUnderstood(Exception):
    """FTS5 cannot read what it is asked, which says nothing of the file."""


class Connection:
    """One connection to a file, for one thread at a time: hold `lock` while rows are read."""

    def __init__(self, path: Path) -> None:
        """Open the file, which exists."""
        self.lock: Final = RLock()
        self._db: Final = apsw.Connection(str(path))
        self._db.set_busy_timeout(_BUSY_MS)
        if not self.number("PRAGMA page_count"):  # it can be said of an empty file only, and writes
            self.execute("PRAGMA auto_vacuum = incremental")
        for _ in self.execute(_SETTINGS):  # statements after one with an answer wait for it
            pass

    def close(self) -> None:
        """Let go of the file."""
        with self.lock:
            self._db.close()

    def execute(self, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a statement, read as they are asked for."""
        # The annotation of apsw's own method names types that checkers don't know.
        return self._db.execute(statement, values)  # pyright: ignore[reportUnknownMemberType]

    def execute_many(self, statement: str, rows: Iterable[Values]) -> None:
        """Run a statement once for each row of values."""
        for _ in self._db.executemany(statement, rows):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # as above
            pass

    def number(self, statement: str, values: Values = ()) -> int:
        """Return the number a statement answers."""
        return next(self.execute(statement, values))[0]

    def matching(self, statement: str, asked: str) -> str:
        """Return the text that a statement answers to an expression of FTS5's.

        Raises NotUnderstood.
        """
        try:
            return next(self.execute(statement, (asked,)))[0]
        except apsw.SQLError as error:
            raise NotUnderstood from error

    @contextmanager
    def snapshot(self) -> Generator[Connection, None, None]:
        """Read all as it is at one time, whatever others write; one may be taken inside another."""
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
        with self.lock:
            try:
                self.execute("BEGIN IMMEDIATE")
            except apsw.BusyError as busy:
                raise Busy from busy
            try:
                yield self
                self.execute("COMMIT")
            except BaseException:
                with suppress(apsw.Error):
                    self.execute("ROLLBACK")
                raise


class Growth:
    """How much was read into an index file since it was tidied, which takes as long as it is large.

    So it is worth it only after much was read.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._read = 0

    def add(self, size: int) -> None:
        """Count so many bytes of text as read."""
        self._read += size

    def tidy(self, whole: Callable[[], int], how: Callable[[], None]) -> None:
        """Tidy where it is worth it; `whole` says how many bytes there are in all. Raises Damaged.

        Where another process is writing, or there is no room to do it in, that waits until as much
        is read again: the index is right as it is.
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


def scattered(work: Sequence[_Item]) -> list[_Item]:
    """Return the same work in another order: what stood together still does, mostly.

    Processes that fill one index together then share the work, since each passes by what another
    has done. They would do the same things at the same time if they did not part by chance.
    """
    together = min(_TOGETHER, 1 + len(work) // _LEAST_RUNS)
    starts = list(range(0, len(work), together))
    secrets.SystemRandom().shuffle(starts)
    return [one for start in starts for one in work[start : start + together]]


def batches(
    work: Iterable[_Item], size: Callable[[_Item], int], most_bytes: int, most: int
) -> Iterator[list[_Item]]:
    """Yield the work in batches of about so many bytes, and so many things at most."""
    batch: list[_Item] = []
    total = 0
    for one in work:
        batch.append(one)
        total += size(one)
        if total >= most_bytes or len(batch) >= most:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def kept_path(path: str) -> str:
    """Return a path as text that SQLite can keep, whatever bytes are in it."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def path_of(kept: str) -> str:
    """Return the path that `kept_path` made this of."""
    return kept if kept.isascii() else os.fsdecode(kept.encode("latin-1"))


class IndexFile:
    """The newest file of a kind in a folder: one connection that reads and one that writes."""

    def __init__(self, folder: Path, prefix: str, version: int, schema: str) -> None:
        """Open it, or begin one with the schema. Raises Busy, Damaged or Unusable."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path: Final = _newest(folder, prefix, version)
        with self._damage_noticed(), _others_noticed():
            self._writer: Final = Connection(self._path)
            if not self._writer.number(_TABLES):  # others may be writing for long: ask first
                with self._writer.transaction() as db:
                    if not db.number(_TABLES):
                        db.execute(f"{schema}; PRAGMA user_version = {version}")
            if self._writer.number("PRAGMA user_version") != version:
                raise Damaged
            self._reader: Final = Connection(self._path)

    def close(self) -> None:
        """Let go of the file."""
        self._reader.close()
        self._writer.close()

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """Give the connection to read from: the file is as it is at one time until this ends.

        It may be asked for again inside. Raises Damaged or Unusable.
        """
        with self._damage_noticed(), self._reader.snapshot() as db:
            yield db

    @contextmanager
    def writing(self) -> Generator[Connection, None, None]:
        """Write all or nothing. Raises Busy, Damaged or Unusable."""
        with self._damage_noticed(), self._writer.transaction() as db:
            yield db

    def tidy(self, optimize: str) -> None:
        """Take less room on disk, by a statement that makes room first. Raises as `writing`."""
        with self.writing() as db:
            db.execute(optimize)
        with self.writing() as db:
            for _ in db.execute("PRAGMA incremental_vacuum"):
                pass
        with self._damage_noticed(), self._writer.lock, suppress(apsw.BusyError):
            # Empties the log too, unless somebody reads from it still.
            for _ in self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)"):
                pass

    @contextmanager
    def _damage_noticed(self) -> Generator[None, None, None]:
        """Give a damaged file up: the next one opened has another name, never used before."""
        try:
            yield
        except (Damaged, apsw.CorruptError, apsw.NotADBError, apsw.FormatError) as error:
            self._path.with_name(f"{self._path.name}{_GIVEN_UP}").touch(mode=0o600)
            raise Damaged from error
        except apsw.Error as error:
            raise Unusable from error


@contextmanager
def _others_noticed() -> Generator[None, None, None]:
    """Tell a file that others keep for now from one that cannot be used. Raises Busy."""
    try:
        yield
    except apsw.BusyError as busy:
        raise Busy from busy


def _newest(folder: Path, prefix: str, version: int) -> Path:
    """Return the file to use, and remove those of other versions or given up."""
    number = 1
    for path in folder.glob(f"{prefix}-*.db*"):
        name, _, ending = path.name.partition(".db")
        own, _, count = name.removeprefix(f"{prefix}-").partition("-")
        if own != str(version) or not count.isdigit():
            path.unlink(missing_ok=True)
        elif ending == _GIVEN_UP:
            number = max(number, int(count) + 1)
            _remove(path.with_name(f"{name}.db"))
        else:
            number = max(number, int(count))
    chosen = folder / f"{prefix}-{version}-{number}.db"
    with suppress(FileExistsError):
        # Nobody has it open yet, so closing it drops no lock of ours.
        os.close(os.open(chosen, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    return chosen


def _remove(path: Path) -> None:
    """Delete a file that nobody will open again; the mark that says so stays."""
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
