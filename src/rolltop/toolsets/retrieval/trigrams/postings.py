"""The index on disk: which trigrams occur in which files, in an SQLite file of its own.

It only proposes: a row holds the state a file had when it was read, and speaks for that state
alone. So a lost or late row costs time, never a hit. Several processes share the file; only
apsw opens it, since a second SQLite library in one process would drop the first one's locks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.retrieval.store import (
    GONE,
    IndexFile,
    NotUnderstood,
    Row,
    Stamp,
    kept_path,
    path_of,
)
from rolltop.toolsets.retrieval.trigrams.required import All
from rolltop.toolsets.retrieval.trigrams.runs import grams
from rolltop.toolsets.retrieval.trigrams.stretches import is_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.store import Value
    from rolltop.toolsets.retrieval.trigrams.required import Need

VERSION: Final = 3
"""Of what the index holds; a file of another version is dropped."""

_PREFIX: Final = "trigrams"
_QUOTE: Final = '"'
_GRAMS: Final = (48, 12, 5)
"""Trigrams asked for of one text, fewer where there are many texts: each costs less than a file
that is read in vain."""
_MOST_TERMS: Final = 400
_DEEPEST: Final = 16
"""Levels of what is asked: FTS5 reads less than 50."""
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
_LAST_CHANGE: Final = "SELECT coalesce(max(change), 0) FROM files"
_NEXT_CHANGE: Final = "SELECT coalesce(max(change), 0) + 1 FROM files"
# One statement for many rows, and many numbers as one answer: otherwise the interpreter's lock is
# given up for each row, and to have it back may take 5 ms while another thread computes.
_NOTE: Final = """
    INSERT INTO files (root, path, size, mtime, ctime, inode, kind, change)
    SELECT :root, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
        :change
    FROM json_each(:files) WHERE true
    ON CONFLICT (root, path) DO UPDATE SET
        size = excluded.size, mtime = excluded.mtime, ctime = excluded.ctime,
        inode = excluded.inode, kind = excluded.kind, change = excluded.change
"""
_NUMBERS: Final = """
    SELECT json_group_array(id) FROM (
        SELECT files.id FROM json_each(:files) AS one CROSS JOIN files
        ON files.root = :root AND files.path = one.value ->> 0 ORDER BY one.key
    )
"""
_THERE: Final = """
    SELECT json_group_array(one.key) FROM json_each(:files) AS one CROSS JOIN files
    ON files.root = :root AND files.path = one.value ->> 0
    WHERE size = one.value ->> 1 AND mtime = one.value ->> 2 AND ctime = one.value ->> 3
        AND inode = one.value ->> 4
"""
_FORGET: Final = "DELETE FROM grams WHERE rowid IN (SELECT value FROM json_each(:numbers))"
_KEEP: Final = """
    INSERT INTO grams (rowid, text) SELECT cast(key AS integer), value FROM json_each(:texts)
"""
_KEEP_LONG: Final = "INSERT INTO grams (rowid, text) VALUES (?, ?)"
_LONG: Final = 1 << 20
"""Characters of a text from which on one copy more of it matters."""
_MATCHING: Final = "SELECT json_group_array(rowid) FROM grams WHERE grams MATCH ?"

TEXT: Final = 0
BINARY: Final = 1


class Noted(NamedTuple):
    """A file that was read, to be put into the index."""

    path: str
    stamp: Stamp
    kind: int
    text: str


class Postings:
    """The index of every root of one user, in a folder of its own.

    Readers never wait for the writer: each has a connection, and there is one of either a
    process.
    """

    def __init__(self, folder: Path) -> None:
        """Open the newest file in the folder, or begin one. Raises Damaged or Unusable."""
        self._file: Final = IndexFile(folder, _PREFIX, VERSION, _SCHEMA)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def at_one_time(self) -> AbstractContextManager[object]:
        """Let all that is asked inside be told of the file as it is at one time.

        Otherwise others may write between two questions, and rows may speak of states that the
        numbers proposed know nothing of.
        """
        return self._file.reading()

    def each_row(self, root: str, since: int, take: Callable[[str, Row, int], None]) -> int:
        """Hand over what was noted of the root's files after change `since`: path, row and kind.

        Returns the last change. One after the other, since there may be more than fit in memory.
        """
        with self._file.reading() as db:
            last = db.number(_LAST_CHANGE)
            found = db.execute(
                "SELECT path, id, size, mtime, ctime, inode, kind FROM files"
                " WHERE change > ? AND +root = ?",  # by the changes, not by the paths
                (since, kept_path(root)),
            )
            for path, number, size, mtime, ctime, inode, kind in found:
                take(path_of(path), Row(number, (size, mtime, ctime, inode)), kind)
            return last

    def proposed(self, need: Need) -> tuple[int, set[int] | None]:
        """Return the last change, and the numbers of files that hold what is needed.

        None instead of numbers where that may be any.
        """
        expression = _expression(need)
        if expression is None:
            return 0, None
        with self._file.reading() as db:
            change = db.number(_LAST_CHANGE)
            try:
                numbers = db.matching(_MATCHING, expression)
            except NotUnderstood:
                return 0, None
            return change, set(json.loads(numbers))

    def lacking(self, root: str, entries: Sequence[Entry]) -> list[Entry]:
        """Return those of the files that are not noted in the state they are in."""
        rows = [(kept_path(entry.relative), *entry[1:5]) for entry in entries]
        with self._file.reading() as db:
            values = {"root": kept_path(root), "files": json.dumps(rows)}
            ((there,),) = db.execute(_THERE, values)
        known = set(json.loads(there))
        return [entry for number, entry in enumerate(entries) if number not in known]

    def put(self, root: str, files: Sequence[Noted]) -> None:
        """Note files: all of them or none. Raises Busy where another process is writing."""
        rows = [(kept_path(noted.path), *noted.stamp, noted.kind) for noted in files]
        values: dict[str, Value] = {"root": kept_path(root), "files": json.dumps(rows)}
        with self._file.writing() as db:
            values["change"] = db.number(_NEXT_CHANGE)
            db.execute(_NOTE, values)
            ((numbers,),) = db.execute(_NUMBERS, values)
            db.execute(_FORGET, {"numbers": numbers})
            of = zip(json.loads(numbers), files, strict=True)
            texts = {number: noted.text for number, noted in of if noted.text}
            for number in [number for number, text in texts.items() if len(text) > _LONG]:
                db.execute(_KEEP_LONG, (number, texts.pop(number)))
            db.execute(_KEEP, {"texts": json.dumps(texts, ensure_ascii=False)})

    def forget(self, root: str, paths: Iterable[str]) -> None:
        """Drop what was noted of files that are gone. Raises Busy."""
        self.put(root, [Noted(path, GONE, BINARY, "") for path in paths])

    def tidy(self) -> None:
        """Take less room on disk, after much was put. Raises Busy."""
        self._file.tidy("INSERT INTO grams (grams) VALUES ('optimize')")


def exists(folder: Path) -> bool:
    """Return whether the folder holds an index, of whatever state."""
    return next(folder.glob(f"{_PREFIX}-{VERSION}-*.db"), None) is not None


def _expression(need: Need) -> str | None:
    """Return the need in FTS5's words, None where nothing is needed or it is too much to say."""
    for most in _GRAMS:
        for stretches in (True, False):
            terms = _terms(need, most, _DEEPEST, stretches=stretches)
            if terms.count(_QUOTE) <= 2 * _MOST_TERMS:
                return terms or None
    return None


def _terms(need: Need, most: int, levels: int, *, stretches: bool) -> str:
    """Return the need in FTS5's words, "" where it asks for nothing that is kept.

    What lies deeper than the levels is left out, and where not wanted, the need of stretches.
    """
    if isinstance(need, str):
        if is_mark(need) and not stretches:
            return ""
        return " AND ".join(map(_quoted, _spread(grams(need), most)))
    if not levels:
        return ""
    terms = [_terms(part, most, levels - 1, stretches=stretches) for part in need.parts]
    if isinstance(need, All):
        return " AND ".join(f"({one})" for one in terms if one)
    return " OR ".join(f"({one})" for one in terms) if all(terms) else ""


def _spread(found: list[str], most: int) -> list[str]:
    """Return up to `most` of the trigrams, the first and the last among them."""
    if len(found) <= most:
        return found
    step = (len(found) - 1) / (most - 1)
    return [found[round(step * number)] for number in range(most)]


def _quoted(gram: str) -> str:
    return f'"{gram.replace(_QUOTE, _QUOTE * 2)}"'
