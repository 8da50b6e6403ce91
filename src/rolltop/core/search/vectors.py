"""Vectors of parts: in the database for good, and in one matrix a tenant while the process runs.

Rows of `search_vectors` are only added and removed, and their numbers are never given twice, so
what is new since the last look is what has a greater number. Removed ones stay in the matrix
until it is made anew; the database says at each search which are still there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, insert, select, text, update

from rolltop.core.search.documents import Pending
from rolltop.core.search.tables import (
    fetched,
    owner_of,
    search_parts,
    search_texts,
    search_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Pool

    from rolltop.core.db import Tx

Matrix = NDArray[np.float32]
Numbers = NDArray[np.int64]

_STORED: Final = np.dtype("<f2")
_MOST_NUMBERS: Final = 256 << 20  # of all matrices in memory: a gigabyte
_AT_ONCE: Final = 400
_ADVISORY_KEY: Final = 0x726F6C6C76656373  # "rollvecs"


@dataclass
class VectorSet:
    """The vectors of one tenant by one model, as far as the process has read them."""

    parts: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    matrix: Matrix = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    count: int = 0
    last: int = 0
    is_sorted: bool = True
    """Whether each part's number is above those before: the usual order of embedding."""

    lock: Lock = field(default_factory=Lock)

    def add(self, parts: Numbers, vectors: Matrix, last: int) -> None:
        """Add rows behind those there are; views that were given out stay as they are."""
        needed = self.count + len(parts)
        before = self.parts[self.count - 1] if self.count else -1
        ascending = bool((np.diff(parts, prepend=before) > 0).all())
        self.is_sorted = self.is_sorted and ascending
        if needed > len(self.parts) or self.matrix.shape[1] != vectors.shape[1]:
            room = needed + needed // 4
            grown = np.empty((room, vectors.shape[1]), dtype=np.float32)
            numbers = np.empty(room, dtype=np.int64)
            if self.count:
                grown[: self.count] = self.matrix[: self.count]
                numbers[: self.count] = self.parts[: self.count]
            self.matrix, self.parts = grown, numbers
        self.matrix[self.count : needed] = vectors
        self.parts[self.count : needed] = parts
        self.count, self.last = needed, last

    def forget(self) -> None:
        """Be empty, so that the next look reads everything."""
        self.count = self.last = 0
        self.is_sorted = True
        self.parts = np.empty(0, dtype=np.int64)
        self.matrix = np.empty((0, 0), dtype=np.float32)


_sets: Final[WeakKeyDictionary[Pool, dict[tuple[str, str], VectorSet]]] = WeakKeyDictionary()
_choosing: Final = Lock()


def nearest(tx: Tx, version: str, vector: Matrix, among: Sequence[int] | None = None) -> Nearness:
    """Return the tenant's vectors, of these parts where they are given, by their nearness.

    They are up to date with `tx`.
    """
    kept = _set_of(tx, version)
    with kept.lock:
        _read_new(tx, version, kept)
        parts, matrix = kept.parts[: kept.count], kept.matrix[: kept.count]
        is_sorted = kept.is_sorted
    if among is not None:
        rows = _rows_of(parts, among, is_sorted=is_sorted)
        parts, matrix = parts[rows], matrix[rows]
    cosines = matrix @ vector.astype(np.float32) if len(parts) else np.empty(0, np.float32)
    return Nearness(parts, cosines, is_sorted)


@dataclass(frozen=True)
class Nearness:
    """Parts with their cosines to one vector; a part may be one that is no longer stored."""

    parts: Numbers
    cosines: Matrix
    is_sorted: bool

    def best(self, count: int) -> list[int]:
        """Return the nearest parts, nearest first."""
        chosen = np.arange(len(self.parts))
        if count < len(self.parts):
            chosen = np.argpartition(self.cosines, -count)[-count:]
        ordered = chosen[np.lexsort((self.parts[chosen], -self.cosines[chosen]))]
        return self.parts[ordered].tolist()

    def cosines_of(self, parts: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each of these parts that has a vector."""
        rows = _rows_of(self.parts, parts, is_sorted=self.is_sorted)
        found = zip(self.parts[rows].tolist(), self.cosines[rows].tolist(), strict=True)
        return dict(found)


def _rows_of(known: Numbers, parts: Sequence[int], *, is_sorted: bool) -> Numbers:
    """Return the rows at which these parts stand, in ascending order."""
    wanted = np.unique(np.asarray(parts, dtype=np.int64))
    if not len(wanted) or not len(known):
        return np.empty(0, dtype=np.int64)
    if not is_sorted:
        return np.flatnonzero(np.isin(known, wanted))
    rows = np.searchsorted(known, wanted)
    rows = rows[rows < len(known)]
    return rows[np.isin(known[rows], wanted)]


def forget(tx: Tx, version: str) -> None:
    """Read the tenant's vectors anew at the next look: too many of those kept are gone."""
    kept = _set_of(tx, version)
    with kept.lock:
        kept.forget()


def pending(tx: Tx, version: str, limit: int) -> list[Pending]:
    """Return texts of all tenants that have no vector by this model, those without any first."""
    c = search_parts.c
    found: list[Pending] = []
    for lacking in (c.embedding.is_(None), c.embedding < version, c.embedding > version):
        statement = (
            select(c.id, c.user_id, search_texts.c.text)
            .join(search_texts, search_texts.c.id == c.id)
            .where(lacking)
            .order_by(c.embedding, c.id)  # as the index has them
            .limit(limit - len(found))
        )
        found += [Pending(*row) for row in fetched(tx, statement)]
        if len(found) >= limit:
            break
    return found


def store(tx: Tx, version: str, texts: Sequence[Pending], vectors: Matrix) -> int:
    """Keep the vectors of texts that are still stored, in place of other models'; return how many.

    Raises ValueError for other than one finite vector a text.
    """
    if len(texts) != len(vectors) or not np.isfinite(vectors).all():
        raise ValueError("there must be one finite vector for each text")
    if tx.kind == "postgresql":  # numbers must become visible in their order
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
    raw = {
        one.part_id: row.tobytes() for one, row in zip(texts, vectors.astype(_STORED), strict=True)
    }
    kept = 0
    for some in _batches(sorted(raw)):
        stored = fetched(
            tx,
            select(search_parts.c.id, search_parts.c.user_id)
            .where(search_parts.c.id.in_(some))
            .with_for_update(skip_locked=True),  # what is being deleted needs none
        )
        if not stored:
            continue
        numbers = [number for number, _owner in stored]
        tx.execute(delete(search_vectors).where(search_vectors.c.part_id.in_(numbers)))
        tx.execute(
            insert(search_vectors),
            [
                {"part_id": n, "user_id": owner, "embedding": version, "vector": raw[n]}
                for n, owner in stored
            ],
        )
        tx.execute(
            update(search_parts).where(search_parts.c.id.in_(numbers)).values(embedding=version)
        )
        kept += len(stored)
    return kept


def _set_of(tx: Tx, version: str) -> VectorSet:
    """Return what the process keeps of the tenant, the most recently asked for last."""
    with _choosing:
        sets = _sets.setdefault(tx.connection.engine.pool, {})
        key = (tx.scope.tenant_id, version)
        chosen = sets.pop(key, None) or VectorSet()
        sets[key] = chosen
        total = sum(kept.matrix.size for kept in sets.values())
        for old in list(sets)[:-1]:
            if total <= _MOST_NUMBERS:
                break
            total -= sets.pop(old).matrix.size
        return chosen


def _read_new(tx: Tx, version: str, kept: VectorSet) -> None:
    c = search_vectors.c
    # What is new stands at the table's end; the first time the tenant's own are looked up.
    owner = owner_of(tx, search_vectors) if kept.last else c.user_id
    rows = fetched(
        tx,
        select(c.id, c.part_id, c.vector)
        .where(owner == tx.scope.tenant_id, c.embedding == version, c.id > kept.last)
        .order_by(c.id),
    )
    if rows:
        raw = b"".join([row[2] for row in rows])
        vectors = np.frombuffer(raw, dtype=_STORED).reshape(len(rows), -1).astype(np.float32)
        parts = np.fromiter((row[1] for row in rows), dtype=np.int64, count=len(rows))
        kept.add(parts, vectors, int(rows[-1][0]))


def _batches(values: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
