"""What is kept of one root on disk: the words that propose pieces of its files, and their units.

FTS5 keeps no text, only which words occur in which piece. It proposes; what is answered is
weighed by the files' own text. A file's number is that of its first piece; no number is ever
given twice.
"""

from __future__ import annotations

import json
import zlib
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.search.terms import is_beginning
from rolltop.core.text import outline
from rolltop.toolsets.retrieval.rank.units import Unit
from rolltop.toolsets.retrieval.store import GONE, IndexFile, Row, Stamp, kept_path, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rolltop.core.search.terms import Expression
    from rolltop.toolsets.retrieval.store import Connection

VERSION: Final = 7_000 + outline.VERSION
"""Of what the file holds and of how texts are cut and split; another version's is dropped."""

_SCHEMA: Final = """
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        pieces INTEGER NOT NULL,
        size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        change INTEGER NOT NULL
    );
    CREATE INDEX files_change ON files (change);
    CREATE TABLE cuts (file INTEGER PRIMARY KEY, units BLOB NOT NULL);
    CREATE TABLE numbers (next INTEGER NOT NULL, pieces INTEGER NOT NULL);
    INSERT INTO numbers VALUES (1, 0);
    CREATE VIRTUAL TABLE words USING fts5(
        held, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '=/'"
    );
    CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
    INSERT INTO words (words, rank) VALUES ('hashsize', 33554432)
"""
_NOTE: Final = """
    INSERT INTO files (id, path, pieces, size, mtime, ctime, inode, change)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_ROW: Final = "SELECT path, id, size, mtime, ctime, inode FROM files WHERE path = ?"
_MEETING: Final = """
    SELECT json_group_array(rowid) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)
"""
_FILES_OF: Final = """
    SELECT json_group_array((SELECT coalesce(max(id), 0) FROM files WHERE id <= value))
    FROM json_each(?)
"""
_LACKING: Final = """
    SELECT path, id, size, mtime, ctime, inode FROM files
    WHERE pieces > 0 AND id > ? AND id NOT IN (SELECT file FROM cuts) ORDER BY id LIMIT ?
"""


class Noted(NamedTuple):
    """A file that was read, and the words of each of its pieces."""

    path: str
    stamp: Stamp
    pieces: Sequence[str]


class UnitFile:
    """What is kept of one root. Any number of threads may ask; raises `store.Damaged`."""

    def __init__(self, folder: Path, name: str) -> None:
        """Open the newest file of that name in the folder, or begin one. Raises Damaged."""
        self._file: Final = IndexFile(folder, name, VERSION, _SCHEMA)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def at_one_time(self) -> AbstractContextManager[object]:
        """Let all that is asked inside be told of the file as it is at one time."""
        return self._file.reading()

    def each_row(self, since: int, take: Callable[[str, Row], None]) -> int:
        """Hand over what was noted of files after change `since`: path and row.

        Returns the last change. One after the other, since there may be more than fit in memory.
        """
        with self._file.reading() as db:
            last = db.number("SELECT coalesce(max(change), 0) FROM files")
            found = db.execute(
                "SELECT path, id, size, mtime, ctime, inode FROM files WHERE change > ?", (since,)
            )
            for one in found:
                take(*_row(*one))
            return last

    def rows_of(self, paths: Iterable[str]) -> dict[str, Row]:
        """Return what is noted of files by their paths."""
        found: dict[str, Row] = {}
        with self._file.reading() as db:
            for path in paths:
                row = next(db.execute(_ROW, (kept_path(path),)), None)
                if row is not None:
                    found[path] = _row(*row)[1]
        return found

    def pieces(self) -> int:
        """Return how many pieces are noted: those of files as they are, whatever they were."""
        with self._file.reading() as db:
            return db.number("SELECT pieces FROM numbers")

    def occurrences(self, words: Iterable[str]) -> dict[str, int]:
        """Return how many pieces have each of the words."""
        with self._file.reading() as db:
            found: dict[str, int] = {}
            for word in words:
                row = next(db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)), (0,))
                found[word] = row[0]
            return found

    def meeting(self, said: str, most: int = -1) -> list[int]:
        """Return the pieces that meet an expression as `said` says it, by their number.

        They are up to `most`, where that is given: which ones, files' turns at being read decide.
        """
        with self._file.reading() as db:
            # One row for all: for each, the interpreter's lock would be given up.
            ((numbers,),) = db.execute(_MEETING, (said, most))
            return json.loads(numbers)

    def files_of(self, pieces: Sequence[int]) -> list[tuple[int, int]]:
        """Return for each piece the number of its file, and the place of the piece in it."""
        with self._file.reading() as db:
            ((numbers,),) = db.execute(_FILES_OF, (json.dumps(pieces),))
        return [
            (number, piece - number)
            for number, piece in zip(json.loads(numbers), pieces, strict=True)
        ]

    def pieces_of(self, files: Iterable[int]) -> list[range]:
        """Return the pieces of files by their numbers, where they are still there."""
        statement = "SELECT pieces FROM files WHERE id = ?"
        with self._file.reading() as db:
            return [
                range(number, number + next(db.execute(statement, (number,)), (0,))[0])
                for number in files
            ]

    def put(self, files: Iterable[Noted]) -> None:
        """Note files: all of them or none. Raises Busy where another process is writing."""
        with self._file.writing() as db:
            change = db.number("SELECT coalesce(max(change), 0) + 1 FROM files")
            for noted in files:
                _put(db, noted, change)

    def forget(self, paths: Iterable[str]) -> None:
        """Drop what was noted of files that are gone. Raises Busy."""
        self.put(Noted(path, GONE, ()) for path in paths)

    def tidy(self) -> None:
        """Take less room on disk, after much was put. Raises Busy."""
        self._file.tidy("INSERT INTO words (words) VALUES ('optimize')")

    def lacking(self, after: int, most: int) -> dict[str, Row]:
        """Return files after a number whose units are not kept yet, in the order of numbers."""
        with self._file.reading() as db:
            return dict(_row(*one) for one in db.execute(_LACKING, (after, most)))

    def units_of(self, number: int) -> list[Unit] | None:
        """Return the units that are kept of a file, None where none are."""
        with self._file.reading() as db:
            row = next(db.execute("SELECT units FROM cuts WHERE file = ?", (number,)), None)
        return None if row is None else _unpacked(row[0])

    def cut_of(self, numbers: Iterable[int]) -> set[int]:
        """Return those files, by their numbers, of which units are kept."""
        statement = "SELECT file FROM cuts WHERE file = ?"
        with self._file.reading() as db:
            return {one for number in numbers for (one,) in db.execute(statement, (number,))}

    def keep_units(self, cut: Iterable[tuple[int, Sequence[Unit]]]) -> None:
        """Keep the units of files by their numbers, while these stand for them. Raises Busy."""
        packed = [(_packed(units), number) for number, units in cut]
        with self._file.writing() as db:
            db.execute_many(
                "INSERT OR REPLACE INTO cuts (file, units) SELECT id, ?1 FROM files WHERE id = ?2",
                packed,
            )


def said(expression: Expression) -> str:
    """Return an expression in FTS5's words."""
    return " OR ".join(f"({' AND '.join(map(quoted, clause))})" for clause in expression)


def quoted(word: str) -> str:
    """Return a word in FTS5's words; one that is the beginning of words stands for them."""
    return f'"{word}"{"*" * is_beginning(word)}'


def _put(db: Connection, noted: Noted, change: int) -> None:
    kept = kept_path(noted.path)
    before = next(db.execute("SELECT id, pieces FROM files WHERE path = ?", (kept,)), None)
    count = 0
    if before is not None:
        number, count = before
        gone = range(number, number + count)
        db.execute_many("DELETE FROM words WHERE rowid = ?", ((piece,) for piece in gone))
        db.execute("DELETE FROM cuts WHERE file = ?", (number,))
        db.execute("DELETE FROM files WHERE id = ?", (number,))
    first = db.number("SELECT next FROM numbers")
    db.execute(_NOTE, (first, kept, len(noted.pieces), *noted.stamp, change))
    db.execute(
        "UPDATE numbers SET next = ?, pieces = pieces + ?",
        (first + max(1, len(noted.pieces)), len(noted.pieces) - count),
    )
    db.execute_many("INSERT INTO words (rowid, held) VALUES (?, ?)", enumerate(noted.pieces, first))


def _packed(units: Sequence[Unit]) -> bytes:
    """Return units in few bytes: numbers are told from those of the unit before."""
    columns: list[list[str | int | list[int]]] = [[], [], [], [], [], [], []]
    line = at = 0
    for unit in units:
        steps = unit.line - line, unit.end_line - unit.line, unit.start - at, unit.end - unit.start
        rest = [after - before for before, after in pairwise((unit.end, *chain(*unit.rest)))]
        for column, value in zip(columns, (unit.name, unit.scope, *steps, rest), strict=True):
            column.append(value)
        line, at = unit.line, unit.end
    return zlib.compress(json.dumps(columns, separators=(",", ":")).encode())


def _unpacked(data: bytes) -> list[Unit]:
    columns = json.loads(zlib.decompress(data))
    found: list[Unit] = []
    line = at = 0
    for name, scope, down, height, start, length, steps in zip(*columns, strict=True):
        line += down
        begun, at = at + start, at + start + length
        _, *ends = accumulate(steps, initial=at)
        rest = tuple(zip(ends[::2], ends[1::2], strict=True))
        found.append(Unit(name, scope, line, line + height, begun, at, rest))
    return found


def _row(kept: str, number: int, *stamp: int) -> tuple[str, Row]:
    size, mtime, ctime, inode = stamp
    return path_of(kept), Row(number, (size, mtime, ctime, inode))
