"""The chunks of one root's files as rows of an FTS5 index.

FTS5 stores no text, only the positions of terms in chunks. It proposes candidates, which are
scored by their files' current text; that of documents is stored, for it takes long to extract. The
chunks of a file have consecutive row ids, the first of which is the file's id; ids are never
reused.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from rolltop.core.fulltext.analyzer import tokenize_joined
from rolltop.documents import outline
from rolltop.documents.extractors.formats import (
    DOCUMENT_EXTENSIONS,
    count_libraries,
    has_document_name,
)
from rolltop.toolsets.retrieval.index.chunker import Chunk, split_chunks
from rolltop.toolsets.retrieval.store import (
    GONE,
    MAX_INTEGER,
    Connection,
    Damaged,
    IndexFile,
    Row,
    Stamp,
    decode_path,
    encode_path,
)

# Of the schema and of how texts are read, cut and tokenized; other versions have other files.
VERSION: Final = 10_300 + outline.VERSION

# Prefix of the term for a chunk's whole name, as `plain_name` returns it.
NAME: Final = "="

_SURROGATES: Final = "surrogatepass"
_EMPTY: Final = zlib.compress(b"")

# How often a chunk's name is indexed: FTS5's bm25() then counts it as so many uses.
_NAME_REPEATS: Final = 3

_SCHEMA: Final = """
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        chunks INTEGER NOT NULL,
        size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        change INTEGER NOT NULL
    );
    CREATE INDEX files_change ON files (change);
    CREATE INDEX files_empty ON files (path) WHERE chunks = 0;
    CREATE TABLE spans (
        id INTEGER PRIMARY KEY, file INTEGER NOT NULL, name TEXT NOT NULL, scope TEXT NOT NULL,
        line INTEGER NOT NULL, end_line INTEGER NOT NULL,
        start INTEGER NOT NULL, "end" INTEGER NOT NULL, rest TEXT
    );
    CREATE TABLE documents (file INTEGER PRIMARY KEY, text BLOB NOT NULL);
    CREATE TABLE totals (
        next INTEGER NOT NULL, chunks INTEGER NOT NULL, libraries INTEGER NOT NULL
    );
    INSERT INTO totals VALUES (1, 0, 0);
    CREATE VIRTUAL TABLE chunks USING fts5(
        terms, content='', contentless_delete=1, tokenize="ascii tokenchars '='"
    );
    CREATE VIRTUAL TABLE vocabulary USING fts5vocab(chunks, row);
    INSERT INTO chunks (chunks, rank) VALUES ('hashsize', 33554432)
"""
_OPTIMIZE: Final = "INSERT INTO chunks (chunks) VALUES ('optimize')"
_INSERT_FILE: Final = """
    INSERT INTO files (id, path, chunks, size, mtime, ctime, inode, change)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_SPAN: Final = "INSERT INTO spans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FILE_ROW: Final = "SELECT path, id, size, mtime, ctime, inode FROM files WHERE path = ?"
_FILE_ROWS: Final = "SELECT path, id, size, mtime, ctime, inode FROM files WHERE change > ?"
_DOCUMENT: Final = """
    SELECT text FROM files LEFT JOIN documents ON file = id
    WHERE path = ? AND size = ? AND mtime = ? AND ctime = ? AND inode = ?
"""
_EMPTY_FILES: Final = "SELECT path, size, mtime, ctime, inode FROM files WHERE chunks = 0"
# With more libraries documents may have a text that had none.
_ASK_AGAIN: Final = """
    UPDATE files SET size = -1, change = (SELECT max(change) + 1 FROM files)
    WHERE chunks = 0 AND path LIKE ?
"""
# Of several servers on one index, the one with the fewest decides whether to ask again.
_READ_WITH: Final = "UPDATE totals SET libraries = min(libraries, ?)"
# CROSS JOIN preserves the order of the matches.
_CANDIDATES: Final = """
    WITH found AS MATERIALIZED (
        SELECT rowid AS id, bm25(chunks) AS score FROM chunks WHERE chunks MATCH ? ORDER BY score
    )
    SELECT -score, spans.* FROM found CROSS JOIN spans USING (id)
"""


class IndexedFile(NamedTuple):
    """A file that was read, with its chunks and the terms of each; of a document also its text."""

    path: str
    stamp: Stamp
    chunks: Sequence[Chunk]
    terms: Sequence[str]
    document: str = ""


class FoundChunk(NamedTuple):
    """A chunk that meets an expression, the `number`th of the file with that id, from 0."""

    score: float
    file: int
    number: int
    chunk: Chunk


def index_file(
    path: str, stamp: Stamp, text: str, extracted: outline.Outline | None = None
) -> IndexedFile:
    """Return a file's chunks with their terms; `extracted` is the outline of a document's text."""
    chunks = split_chunks(path, text, extracted)
    terms: list[str] = []
    for chunk in chunks:
        fields = fields_of(path, chunk, tokenize_joined(chunk.own(text)))
        names = [fields.name] * _NAME_REPEATS
        if chunk.name:
            names.append(f"{NAME}{plain_name(chunk.name)}")
        terms.append(" ".join((fields.path, *names, fields.body)))
    return IndexedFile(path, stamp, chunks, terms, text if extracted else "")


class Fields(NamedTuple):
    """The words of a chunk by field, joined by spaces; `path` includes the scope."""

    name: str
    path: str
    body: str


def fields_of(path: str, chunk: Chunk, body: str) -> Fields:
    """Return the words of a chunk of a file; `body` are those of its own text."""
    place = f"{path_words(path)} {tokenize_joined(chunk.scope)}"
    return Fields(tokenize_joined(chunk.name), place, body)


@lru_cache(1 << 12)
def path_words(path: str) -> str:
    """Return the words of a path, without its ending."""
    return tokenize_joined(f"{path.rpartition('/')[0]} {path_stem(path)}")


def path_stem(path: str) -> str:
    """Return a file's name without its ending."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return stem if dot and stem else ending


def plain_name(name: str) -> str:
    """Return a name as names are compared: small letters and digits, nothing between them."""
    return "".join(filter(str.isalnum, name.lower()))


class ChunkIndex(IndexFile):
    """The index of one root on disk. Any number of threads may ask; raises `store.Damaged`."""

    def __init__(self, folder: Path, name: str) -> None:
        """Open the newest file of that name in the folder, or begin one.

        Raises Busy, Damaged or Unusable.
        """
        super().__init__(folder, name, VERSION, _SCHEMA, optimize=_OPTIMIZE)
        try:
            self._ask_again(count_libraries())
        except BaseException:
            self.close()
            raise

    def _ask_again(self, libraries: int) -> None:
        """Have documents without text read again if there are more libraries than before."""
        with self.read_transaction() as db:
            if db.number("SELECT libraries FROM totals") >= libraries:
                return
        with self.write_transaction() as db:
            db.execute_many(_ASK_AGAIN, [(f"%{ending}",) for ending in DOCUMENT_EXTENSIONS])
            db.execute("UPDATE totals SET libraries = ?", (libraries,))

    def each_row(self, since: int, take: Callable[[str, Row], None]) -> int:
        """Hand over the files indexed after change `since`: path and row.

        Returns the last change. One after the other, since there may be more than fit in memory.
        """
        with self.read_transaction() as db:
            last = db.number("SELECT coalesce(max(change), 0) FROM files")
            for kept, number, *stamp in db.execute(_FILE_ROWS, (since,)):
                take(decode_path(kept), _row(number, stamp))
            return last

    def rows_of(self, paths: Iterable[str]) -> dict[str, Row]:
        """Look up the index rows of files by path."""
        with self.read_transaction() as db:
            return {
                decode_path(kept): _row(number, stamp)
                for path in paths
                for kept, number, *stamp in db.execute(_FILE_ROW, (encode_path(path),))
            }

    def put(self, files: Iterable[IndexedFile]) -> None:
        """Index files: all of them or none. Raises Busy where another process is writing."""
        with self.write_transaction() as db:
            change = db.number("SELECT coalesce(max(change), 0) + 1 FROM files")
            deleted: list[int] = []
            is_without_text = False
            for file in files:
                deleted += _put(db, file, change)
                is_without_text |= not file.chunks and has_document_name(file.path)
            if is_without_text:
                db.execute(_READ_WITH, (count_libraries(),))
            if deleted:
                _subtract_deleted(db, deleted)

    def find_document(self, path: str, stamp: Stamp) -> str | None:
        """Return the text extracted from a document in a state; None if it is not indexed.

        Raises Damaged or Unusable.
        """
        kept = (min(part, MAX_INTEGER) for part in stamp)
        with self.read_transaction() as db:
            found = next(db.execute(_DOCUMENT, (encode_path(path), *kept)), None)
            if found is None:
                return None
            try:
                return zlib.decompress(found[0] or _EMPTY).decode(errors=_SURROGATES)
            except (zlib.error, UnicodeDecodeError):
                raise Damaged from None

    def documents_without_text(self) -> set[tuple[str, Stamp]]:
        """List the documents in which there was nothing to index, each with its state."""
        with self.read_transaction() as db:
            rows = db.execute(_EMPTY_FILES)
            return {
                (decode_path(kept), (size, mtime, ctime, inode))
                for kept, size, mtime, ctime, inode in rows
                if has_document_name(kept)
            }

    def forget(self, paths: Iterable[str]) -> None:
        """Drop files that are gone. Raises Busy."""
        self.put(IndexedFile(path, GONE, (), ()) for path in paths)


@contextmanager
def index_in_memory(files: Iterable[IndexedFile]) -> Generator[Connection, None, None]:
    """Index files for one search; their ids count their chunks from 1, in the order given."""
    db = Connection(Path("/chunks"), mode="memory")
    try:
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        for file in files:
            _put(db, file, 0)
        yield db
    finally:
        db.close()


def count_chunks(db: Connection) -> int:
    """Return how many chunks there are."""
    return db.number("SELECT chunks FROM totals")


def count_term(db: Connection, term: str) -> int:
    """Return how many chunks have a term."""
    found = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,))
    return next(found, (0,))[0]


def count_matches(db: Connection, expression: str, most: int) -> int:
    """Return how many chunks meet an expression, counting no further than `most`."""
    statement = "SELECT count(*) FROM (SELECT 1 FROM chunks WHERE chunks MATCH ? LIMIT ?)"
    return db.number(statement, (expression, most))


def find_chunks(db: Connection, expression: str) -> Iterator[FoundChunk]:
    """Find the chunks that match an FTS5 expression, best bm25() score first.

    Chunks of equal score come in the order in which their files were indexed.
    """
    return map(_found_chunk, db.execute(_CANDIDATES, (expression,)))


def first_chunk(db: Connection, file: int) -> Chunk | None:
    """Return the first chunk of a file by its id, None if it has none."""
    rows = db.execute("SELECT 0.0, spans.* FROM spans WHERE id = ?", (file,))
    return next((_found_chunk(row).chunk for row in rows), None)


def _found_chunk(row: tuple[Any, ...]) -> FoundChunk:
    score, number, file, name, scope, line, end_line, start, end, rest = row
    spans: list[tuple[int, int]] = json.loads(rest) if rest else []
    kept = tuple((first, last) for first, last in spans)
    chunk = Chunk(name, scope, line, end_line, start, end, kept)
    return FoundChunk(score, file, number - file, chunk)


def _put(db: Connection, file: IndexedFile, change: int) -> list[int]:
    """Replace a file's rows; return the lengths of the deleted chunks."""
    kept = encode_path(file.path)
    before = next(db.execute("SELECT id, chunks FROM files WHERE path = ?", (kept,)), None)
    lengths: list[int] = []
    if before is not None:
        number, count = before
        ids = range(number, number + count)
        lengths = [_length(db, one) for one in ids]
        db.execute_many("DELETE FROM chunks WHERE rowid = ?", ((one,) for one in ids))
        db.execute_many("DELETE FROM spans WHERE id = ?", ((one,) for one in ids))
        db.execute("DELETE FROM documents WHERE file = ?", (number,))
        db.execute("DELETE FROM files WHERE id = ?", (number,))
    first = db.number("SELECT next FROM totals")
    # Files of later years than 2262 are never kept, but ranked all the same.
    stamp = (min(part, MAX_INTEGER) for part in file.stamp)
    db.execute(_INSERT_FILE, (first, kept, len(file.chunks), *stamp, change))
    db.execute(
        "UPDATE totals SET next = ?, chunks = chunks + ?",
        (first + max(1, len(file.chunks)), len(file.chunks) - len(lengths)),
    )
    if file.document:
        text = zlib.compress(file.document.encode(errors=_SURROGATES))
        db.execute("INSERT INTO documents VALUES (?, ?)", (first, text))
    db.execute_many("INSERT INTO chunks (rowid, terms) VALUES (?, ?)", enumerate(file.terms, first))
    db.execute_many(
        _INSERT_SPAN,
        (
            (number, first, *chunk[:-1], json.dumps(chunk.rest) if chunk.rest else "")
            for number, chunk in enumerate(file.chunks, first)
        ),
    )
    return lengths


def _length(db: Connection, number: int) -> int:
    """Return how many terms FTS5 counted in a chunk."""
    (block,) = next(db.execute("SELECT sz FROM chunks_docsize WHERE id = ?", (number,)))
    return _read_varints(block)[0]


def _subtract_deleted(db: Connection, lengths: Sequence[int]) -> None:
    """Subtract deleted chunks from FTS5's totals: the counts of rows and terms.

    A contentless table cannot do so itself. bm25() uses the totals, so candidates would depend on
    earlier states of the files. They are the "averages record" of
    https://sqlite.org/src/file/ext/fts5/fts5_index.c.
    """
    db.execute("SAVEPOINT totals")  # flushes FTS5's pending rows into its tables
    (block,) = next(db.execute("SELECT block FROM chunks_data WHERE id = 1"))
    rows, terms = _read_varints(block)
    block = _varint(rows - len(lengths)) + _varint(terms - sum(lengths))
    db.execute("UPDATE chunks_data SET block = ? WHERE id = 1", (block,))
    db.execute("RELEASE totals")


def _read_varints(block: bytes) -> list[int]:
    """Return SQLite's variable-length integers of up to eight bytes."""
    found, number = list[int](), 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            found.append(number)
            number = 0
    return found


def _varint(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def _row(number: int, stamp: Iterable[int]) -> Row:
    size, mtime, ctime, inode = stamp
    return Row(number, (size, mtime, ctime, inode))
