"""Vectors of chunks on disk, keyed by the embedded text, not by its position.

The key is a hash of the text and the model's version, so a changed chunk has no vector until its
new text is embedded.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.core.embedding import Matrix
from rolltop.core.lazy_imports import lazy
from rolltop.toolsets.retrieval.store import Busy, IndexFile, IndexHandle, Unusable

if TYPE_CHECKING:
    import numpy as np

else:
    np = lazy("numpy")

# Version of the file format and of the choice of text to embed.
VERSION: Final = 1

# Code points of a chunk that are embedded: its head tells its purpose, and time grows with length.
CHARACTERS: Final = 500

# Bytes of a vector on disk, including its key and page overhead.
SIZE: Final = 320

_KEY: Final = 16
_LEVELS: Final = 7
_MIDDLE: Final = 8
# Share of the maximum that remains after vectors are dropped, so that not every write drops some.
_KEPT: Final = 0.9
# Seconds.
_LEASE: Final = 60
_SCHEMA: Final = """
    CREATE TABLE vectors (
        text BLOB PRIMARY KEY, used INTEGER NOT NULL, vector BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE ahead (holder INTEGER NOT NULL, until INTEGER NOT NULL);
    INSERT INTO ahead VALUES (0, 0)
"""
_VECTOR: Final = "SELECT vector FROM vectors WHERE text = ?"
_COUNT: Final = "SELECT count(*) FROM vectors"
_DROP: Final = """
    DELETE FROM vectors WHERE text IN (SELECT text FROM vectors ORDER BY used, text LIMIT ?)
"""


def text_to_embed(own: str) -> str:
    """Select the part of a chunk's own text that is embedded."""
    return own[:CHARACTERS]


def key_of(version: str, text: str) -> bytes:
    """Compute the key of a text's vector for a version of the model."""
    said = f"{version}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(said, digest_size=_KEY).digest()


def pack_vectors(made: Matrix) -> list[bytes]:
    """Quantize vectors to four bits a number, relative to the largest."""
    greatest = np.maximum(np.abs(made).max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    levels = (np.rint(made / greatest * _LEVELS) + _MIDDLE).astype(np.uint8)
    return [row.tobytes() for row in levels[:, ::2] << 4 | levels[:, 1::2]]


def cosines(vector: Matrix, kept: Sequence[bytes]) -> list[float]:
    """Compute the cosine of a unit vector with each quantized vector."""
    pairs = np.frombuffer(b"".join(kept), dtype=np.uint8).reshape(len(kept), -1)
    levels = np.stack((pairs >> 4, pairs & 15), axis=2).reshape(len(kept), -1)
    made = levels.astype(np.float32) - _MIDDLE
    norms = np.maximum(np.linalg.norm(made, axis=1), np.float32(1))
    return [round(float(one), 6) for one in made @ vector / norms]


class Vectors:
    """The vectors of one root. Thread-safe; never raises."""

    def __init__(self, folder: Path, name: str) -> None:
        self._handle: Final = IndexHandle(
            "vectors", folder, name, lambda: IndexFile(folder, name, VERSION, _SCHEMA)
        )

    def of(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Look up vectors by key."""
        found: dict[bytes, bytes] = {}
        with self._using(begin=False) as file:
            if file is None:
                return found
            with file.read_transaction() as db:
                for key in keys:
                    for (vector,) in db.execute(_VECTOR, (key,)):
                        found[key] = vector
        return found

    def put(
        self, made: Mapping[bytes, bytes], used: Collection[bytes], most: int, *, ahead: bool
    ) -> None:
        """Store vectors, mark keys as `used`, and drop the least recently used above `most`.

        Vectors made `ahead` of use are dropped first. Nothing is stored while another process
        writes: missing vectors are made again.
        """
        if not made and not used:
            return
        with self._using(begin=True) as file:
            if file is None:
                return
            with file.write_transaction() as db:
                turn = db.number("SELECT coalesce(max(used), 0) + 1 FROM vectors")
                rows = [(key, 0 if ahead else turn, vector) for key, vector in made.items()]
                db.execute_many("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                marks = [(turn, key) for key in used]
                db.execute_many("UPDATE vectors SET used = ? WHERE text = ?", marks)
                count = db.number(_COUNT)
                if count > most:
                    db.execute(_DROP, (count - int(most * _KEPT),))

    def count(self) -> int:
        """Count the vectors."""
        with self._using(begin=False) as file:
            if file is not None:
                with file.read_transaction() as db:
                    return db.number(_COUNT)
        return 0

    def leads(self, holder: int) -> bool:
        """Report whether `holder` holds the lease to make vectors ahead.

        The lease lasts a minute; one that ends later was taken by a wrong clock and is ignored.
        """
        now = int(time.time())
        with self._using(begin=True) as file:
            if file is None:
                return False
            with file.write_transaction() as db:
                other, until = next(db.execute("SELECT holder, until FROM ahead"))
                if other != holder and now < until <= now + _LEASE:
                    return False
                db.execute("UPDATE ahead SET holder = ?, until = ?", (holder, now + _LEASE))
                return True
        return False

    def close(self) -> None:
        """Close the file for good."""
        self._handle.close()

    @contextmanager
    def _using(self, *, begin: bool) -> Generator[IndexFile | None, None, None]:
        """Open the file, None if there is none; handle its errors."""
        file = self._handle.get(begin=begin)
        try:
            yield file
        except Busy:
            pass
        except Unusable as problem:
            self._handle.fail(file, problem)
