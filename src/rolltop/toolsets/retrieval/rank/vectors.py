"""Vectors of units' texts, kept on disk by what was embedded: never by the place it stood at.

The key of a vector is a hash of the text and the model's version, so a unit that changed has no
vector until its new text is embedded.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final

from rolltop.core import logs
from rolltop.core.lazy import lazy
from rolltop.toolsets.retrieval.store import Busy, Damaged, IndexFile, Unusable

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from rolltop.core.embed import Matrix
else:
    np = lazy("numpy")

VERSION: Final = 1
"""Of what the file holds and of which part of a text is embedded."""

CHARACTERS: Final = 500
"""Code points of a unit that are embedded: its head says what it is, and time grows with them."""

SIZE: Final = 320
"""Bytes that a vector takes on disk, its key and the room in pages counted."""

_KEY: Final = 16
_LEVELS: Final = 7
_MIDDLE: Final = 8
_KEPT: Final = 0.9
"""The share of the most there may be that is left when vectors are dropped: not at every turn."""
_LEASE: Final = 60
"""Seconds."""
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


def embedded(own: str) -> str:
    """Return what of a unit's own text is embedded."""
    return own[:CHARACTERS]


def key_of(version: str, text: str) -> bytes:
    """Return what stands for a text that is embedded by a model of that version."""
    said = f"{version}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(said, digest_size=_KEY).digest()


def packed(made: Matrix) -> list[bytes]:
    """Return vectors as they are kept: four bits a number, as shares of the greatest."""
    greatest = np.maximum(np.abs(made).max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    levels = (np.rint(made / greatest * _LEVELS) + _MIDDLE).astype(np.uint8)
    return [row.tobytes() for row in levels[:, ::2] << 4 | levels[:, 1::2]]


def cosines(vector: Matrix, kept: Sequence[bytes]) -> list[float]:
    """Return the cosine between a unit vector and each of those that are kept."""
    pairs = np.frombuffer(b"".join(kept), dtype=np.uint8).reshape(len(kept), -1)
    levels = np.stack((pairs >> 4, pairs & 15), axis=2).reshape(len(kept), -1)
    made = levels.astype(np.float32) - _MIDDLE
    norms = np.maximum(np.linalg.norm(made, axis=1), np.float32(1))
    return [round(float(one), 6) for one in made @ vector / norms]


class Vectors:
    """The vectors that are kept of one root. Any number of threads may ask; nothing raises."""

    def __init__(self, folder: Path, name: str) -> None:
        """Take the folder and the name they are kept by; open nothing yet."""
        self._folder: Final = folder
        self._name: Final = name
        self._lock: Final = Lock()
        self._file: IndexFile | None = None
        self._given_up = False

    def of(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return those of the vectors that are there."""
        found: dict[bytes, bytes] = {}
        with self._using(begin=False) as file:
            if file is None:
                return found
            with file.reading() as db:
                for key in keys:
                    for (vector,) in db.execute(_VECTOR, (key,)):
                        found[key] = vector
        return found

    def put(
        self, made: Mapping[bytes, bytes], used: Collection[bytes], most: int, *, ahead: bool
    ) -> None:
        """Keep vectors, note which were `used`, and drop those least lately used over `most`.

        Those made `ahead` of any use go first. Where another process is writing nothing is kept:
        what a search lacks is made again.
        """
        if not made and not used:
            return
        with self._using(begin=True) as file:
            if file is None:
                return
            with file.writing() as db:
                turn = db.number("SELECT coalesce(max(used), 0) + 1 FROM vectors")
                rows = [(key, 0 if ahead else turn, vector) for key, vector in made.items()]
                db.execute_many("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                marks = [(turn, key) for key in used]
                db.execute_many("UPDATE vectors SET used = ? WHERE text = ?", marks)
                count = db.number(_COUNT)
                if count > most:
                    db.execute(_DROP, (count - int(most * _KEPT),))

    def count(self) -> int:
        """Return how many there are."""
        with self._using(begin=False) as file:
            if file is not None:
                with file.reading() as db:
                    return db.number(_COUNT)
        return 0

    def leads(self, holder: int) -> bool:
        """Return whether `holder` is the one, of all processes, that makes vectors ahead.

        It is for a minute after it asked last; a time further away is of a clock that was wrong.
        """
        now = int(time.time())
        with self._using(begin=True) as file:
            if file is None:
                return False
            with file.writing() as db:
                other, until = next(db.execute("SELECT holder, until FROM ahead"))
                if other != holder and now < until <= now + _LEASE:
                    return False
                db.execute("UPDATE ahead SET holder = ?, until = ?", (holder, now + _LEASE))
                return True
        return False

    def close(self) -> None:
        """Let go of the file, for good."""
        with self._lock:
            self._given_up = True
            if self._file is not None:
                self._file.close()
                self._file = None

    def _opened(self, *, begin: bool) -> IndexFile | None:
        with self._lock:
            if self._file is None and not self._given_up:
                if not begin and next(self._folder.glob(f"{self._name}-*.db"), None) is None:
                    return None
                try:
                    with suppress(Damaged):  # once: the next one opened is another
                        self._file = IndexFile(self._folder, self._name, VERSION, _SCHEMA)
                        return self._file
                    self._file = IndexFile(self._folder, self._name, VERSION, _SCHEMA)
                except Busy:
                    return None  # for now
                except (OSError, Unusable) as problem:
                    self._given_up = True
                    logs.event("vectors unusable", level="warn", reason=type(problem).__name__)
            return self._file

    @contextmanager
    def _using(self, *, begin: bool) -> Generator[IndexFile | None, None, None]:
        """Give the file, None where there is none; what goes wrong with it is dealt with."""
        file = self._opened(begin=begin)
        try:
            yield file
        except Busy:
            pass
        except Unusable as problem:
            self._failed(file, problem)

    def _failed(self, file: IndexFile | None, problem: Unusable) -> None:
        """Let go of a file that cannot be used: one that is damaged is begun anew."""
        with self._lock:
            if file is None or self._file is not file:
                return
            self._file = None
            self._given_up = not isinstance(problem, Damaged)
        file.close()
        logs.event("vectors failed", level="warn", reason=type(problem).__name__)
