"""Vectors of parts: in the database for good, and in one matrix a tenant while the process runs.

Rows of `search_vectors` are only added and removed, and their numbers are never given twice, so
what is new since the last look is what has a greater number. Removed ones stay in the matrix
until it is made anew; the database says at each search which are still there.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np
from sqlalchemy import delete, insert, select, text, update

from rolltop.core.search.documents import Pending
from rolltop.core.search.matrices import STORED, Matrix, Nearness, VectorSet
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

_MOST_BYTES: Final = 1 << 30  # of all matrices in memory
_AT_ONCE: Final = 400
_ADVISORY_KEY: Final = 0x726F6C6C76656373  # "rollvecs"


_sets: Final[WeakKeyDictionary[Pool, dict[tuple[str, str], VectorSet]]] = WeakKeyDictionary()
_choosing: Final = Lock()


def nearest(tx: Tx, version: str, vector: Matrix, among: Sequence[int] | None = None) -> Nearness:
    """Return the tenant's vectors, of these parts where they are given, by their nearness.

    They are up to date with `tx`.
    """
    kept = _set_of(tx, version)
    with kept.lock:
        _read_new(tx, version, kept)
        return kept.near(vector, among)


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
        one.part_id: row.tobytes() for one, row in zip(texts, vectors.astype(STORED), strict=True)
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
        total = sum(kept.bytes for kept in sets.values())
        for old in list(sets)[:-1]:
            if total <= _MOST_BYTES:
                break
            total -= sets.pop(old).bytes
        return chosen


def _read_new(tx: Tx, version: str, kept: VectorSet) -> None:
    c = search_vectors.c
    # What is new stands at the table's end; the first time the tenant's own are looked up.
    owner = owner_of(tx.kind, search_vectors) if kept.last else c.user_id
    rows = fetched(
        tx,
        select(c.id, c.part_id, c.vector)
        .where(owner == tx.scope.tenant_id, c.embedding == version, c.id > kept.last)
        .order_by(c.id),
    )
    if rows:
        raw = b"".join([row[2] for row in rows])
        vectors = np.frombuffer(raw, dtype=STORED).reshape(len(rows), -1)
        parts = np.fromiter((row[1] for row in rows), dtype=np.int64, count=len(rows))
        kept.add(parts, vectors, int(rows[-1][0]))


def _batches(values: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
