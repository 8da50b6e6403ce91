"""The trigram index on disk: which trigrams occur in which files, in an SQLite file.

It only proposes candidates: a row describes one state of a file, so a missing or late row costs
time, never a match. Several processes share the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.retrieval.store import (
    GONE,
    IndexFile,
    NotUnderstood,
    Row,
    Stamp,
    decode_path,
    encode_path,
)

if TYPE_CHECKING:
    from rolltop.workspace import FileStat

# Version of the schema; other versions have other files.
VERSION: Final = 4

PREFIX: Final = "trigrams"
_SCHEMA: Final = """
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        root TEXT NOT NULL,
        path TEXT NOT NULL,
        size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        change INTEGER NOT NULL,
        UNIQUE (root, path)
    );
    CREATE INDEX files_change ON files (change);
    CREATE VIRTUAL TABLE grams USING fts5(
        text, content='', contentless_delete=1, detail=none, tokenize='trigram'
    );
    INSERT INTO grams (grams, rank) VALUES ('hashsize', 8388608);
    INSERT INTO grams (grams, rank) VALUES ('automerge', 16)
"""
_OPTIMIZE: Final = "INSERT INTO grams (grams) VALUES ('optimize')"
_LAST_CHANGE: Final = "SELECT coalesce(max(change), 0) FROM files"
_ROWS: Final = """
    SELECT path, id, size, mtime, ctime, inode, kind FROM files WHERE change > ? AND +root = ?
"""  # by the changes, not by the paths
_NOTE: Final = """
    INSERT INTO files (root, path, size, mtime, ctime, inode, kind, change)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (root, path) DO UPDATE SET
        size = excluded.size, mtime = excluded.mtime, ctime = excluded.ctime,
        inode = excluded.inode, kind = excluded.kind, change = excluded.change
"""
_KEEP: Final = """
    INSERT INTO grams (rowid, text) SELECT id, ? FROM files WHERE root = ? AND path = ?
"""
_FORGET: Final = """
    DELETE FROM grams WHERE rowid = (SELECT id FROM files WHERE root = ? AND path = ?)
"""
# All numbers in one row: SQLite releases the GIL for each row, and getting it back may take 5 ms
# while another thread computes.
_MATCHING: Final = "SELECT json_group_array(rowid) FROM grams WHERE grams MATCH ?"
_THERE: Final = """
    SELECT json_group_array(one.key) FROM json_each(?) AS one CROSS JOIN files
    ON files.root = ? AND files.path = one.value ->> 0
    WHERE size = one.value ->> 1 AND mtime = one.value ->> 2 AND ctime = one.value ->> 3
        AND inode = one.value ->> 4
"""

TEXT: Final = 0
BINARY: Final = 1
# The kind of a file that ended the process that read it: it is not read until it changes.
UNREAD: Final = 2


class FileEntry(NamedTuple):
    """A file that was read, to be put into the index."""

    path: str
    stamp: Stamp
    kind: int
    text: str


class TrigramFile(IndexFile):
    """The index of every root of one user, in a folder of its own.

    Readers never wait for the writer: each has a connection, and there is one of either a process.
    """

    def __init__(self, folder: Path) -> None:
        """Open the newest file in the folder, or begin one. Raises Busy, Damaged or Unusable."""
        super().__init__(folder, PREFIX, VERSION, _SCHEMA, optimize=_OPTIMIZE)

    def each_row(self, root: str, since: int, take: Callable[[str, Row, int], None]) -> int:
        """Call `take(path, row, kind)` for rows changed after `since`; return the last change.

        A callback, since the rows may not fit in memory.
        """
        with self.read_transaction() as db:
            last = db.number(_LAST_CHANGE)
            if last != since:
                for path, number, *stamp, kind in db.execute(_ROWS, (since, encode_path(root))):
                    take(decode_path(path), Row(number, tuple(stamp)), kind)
            return last

    def matching(self, expression: str) -> set[int] | None:
        """Find the ids of the files that match; None if FTS5 rejects the expression."""
        with self.read_transaction() as db:
            try:
                return set(json.loads(db.matching(_MATCHING, expression)))
            except NotUnderstood:
                return None

    def lacking(self, root: str, entries: Sequence[FileStat]) -> list[FileStat]:
        """Return those of the files that are not noted in the state they are in."""
        rows = json.dumps([(encode_path(entry.relative), *entry[1:5]) for entry in entries])
        with self.read_transaction() as db:
            ((there,),) = db.execute(_THERE, (rows, encode_path(root)))
        known = set(json.loads(there))
        return [entry for number, entry in enumerate(entries) if number not in known]

    def put(self, root: str, files: Sequence[FileEntry]) -> None:
        """Note files: all of them or none. Raises Busy where another process is writing."""
        key = encode_path(root)
        paths = [(key, encode_path(noted.path)) for noted in files]
        both = list(zip(paths, files, strict=True))
        with self.write_transaction() as db:
            change = db.number(_LAST_CHANGE) + 1
            db.execute_many(_FORGET, paths)
            db.execute_many(_NOTE, ((*at, *one.stamp, one.kind, change) for at, one in both))
            db.execute_many(_KEEP, ((one.text, *at) for at, one in both if one.text))

    def forget(self, root: str, paths: Iterable[str]) -> None:
        """Delete the rows of deleted files. Raises Busy."""
        self.put(root, [FileEntry(path, GONE, BINARY, "") for path in paths])
