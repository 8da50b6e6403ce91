"""Vectors of parts: in the database for good, and in one matrix a tenant while the process runs.

Where a PostgreSQL server has indexed a tenant's vectors (`pgvector`), the matrix holds only those
that are newer.

Rows of `search_vectors` are only added and removed, and their numbers are never given twice, so
what is new since the last look is what has a greater number. Removed ones stay in the matrix
until it is made anew; the database says at each search which are still there.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from sqlalchemy import bindparam, delete, func, insert, select, text, update

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import Identifier
from rolltop.core.lazy import lazy
from rolltop.core.search.batches import batches
from rolltop.core.search.documents import Pending
from rolltop.core.search.matrices import STORED, Asked, Matrix, Nearness, VectorSet
from rolltop.core.search.tables import (
    fetched,
    owner_of,
    search_parts,
    search_texts,
    search_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Pool

    from rolltop.core.db import Tx
    from rolltop.core.db.address import Kind
    from rolltop.core.search import pgvector
    from rolltop.core.search.conditions import Allowed
    from rolltop.core.search.pgvector import Indexed, ServerNearness
else:  # only PostgreSQL needs it
    pgvector = lazy("rolltop.core.search.pgvector")

FEW: Final = 5000
"""Vectors that a query may have to read first: a tenth of a second's work."""

_MOST_BYTES: Final = 1 << 30  # of all matrices in memory
_READ_AT_ONCE: Final = 5000
_ADVISORY_KEY: Final = 0x726F6C6C76656373  # "rollvecs"


_sets: Final[WeakKeyDictionary[Pool, dict[tuple[str, str], VectorSet]]] = WeakKeyDictionary()
_choosing: Final = Lock()


def nearest(
    allowed: Allowed, version: str, asked: Asked, among: Sequence[int] | None = None
) -> Nearness | ServerNearness:
    """Return the tenant's vectors, of these parts where they are given, by their nearness.

    They are up to date with the transaction.
    """
    tx = allowed.tx
    kept, owned = _kept(tx, version)
    with kept.lock:
        _read_new(tx, version, kept, owned)
        near = kept.near(asked, among)
    if owned is None:
        return near
    return pgvector.ServerNearness(allowed, owned, near, among)


def at_hand(tx: Tx, version: str) -> bool:
    """Whether a query by this model has at most a few vectors to read first."""
    kept, owned = _kept(tx, version)
    if kept.is_read:
        return True
    c = search_vectors.c
    first = 0 if owned is None else owned.last
    mine = select(c.id).where(c.user_id == tx.scope.tenant_id, c.embedding == version, c.id > first)
    counted = select(func.count()).select_from(mine.limit(FEW + 1).subquery())
    return int(tx.execute(counted).scalar_one()) <= FEW


def read_ahead(tx: Tx, version: str) -> None:
    """Read what the next query by this model would have to."""
    kept, owned = _kept(tx, version)
    with kept.lock:
        _read_new(tx, version, kept, owned)


def forget(tx: Tx, version: str) -> None:
    """Read the tenant's vectors anew at the next look: too many of those kept are gone."""
    kept, _owned = _kept(tx, version)
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
    for some in batches(sorted(raw)):
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


def _kept(tx: Tx, version: str) -> tuple[VectorSet, Indexed | None]:
    """Return what the process keeps of the tenant, and what the server has indexed of the rest."""
    kept = _set_of(tx, version)
    # A set that holds all there is, and that is few, is too small to have an index.
    is_small = kept.is_read and not kept.first and kept.count < pgvector.INDEXED_FROM
    if tx.kind == "sqlite" or is_small:
        return kept, None
    return kept, pgvector.indexed(tx, version)


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


def _read_new(tx: Tx, version: str, kept: VectorSet, owned: Indexed | None) -> None:
    """Read what is newer than the last vector kept; in parts, to let other threads run.

    What the server has indexed is not read, and not kept but for a few.
    """
    first = 0 if owned is None else owned.last
    if not first - FEW <= kept.first <= first:
        kept.forget(first)
    statement = _newer(tx.kind, is_first=kept.last == kept.first)
    values: dict[str, Any] = {"owner": tx.scope.tenant_id, "version": version}
    parts: list[int] = []
    raw: list[bytes] = []
    last, rows = kept.last, statement.rows(tx, {**values, "last": kept.last})
    while rows:
        parts += [row[1] for row in rows]
        raw += [row[2] for row in rows]
        last = int(rows[-1][0])
        rows = statement.rows(tx, {**values, "last": last}) if len(rows) == _READ_AT_ONCE else ()
    if parts:
        vectors = np.frombuffer(b"".join(raw), dtype=STORED).reshape(len(parts), -1)
        kept.add(np.asarray(parts, dtype=np.int64), vectors, last)
    kept.is_read = True


@cache
def _newer(kind: Kind, *, is_first: bool) -> Prepared:
    """Return what reads some vectors of one tenant and model after a number, in order."""
    c = search_vectors.c
    owner = c.user_id if is_first else owner_of(kind, search_vectors)
    return Prepared(
        select(c.id, c.part_id, c.vector)
        .where(
            owner == bindparam("owner", type_=Identifier),
            c.embedding == bindparam("version"),
            c.id > bindparam("last"),
        )
        .order_by(c.id)
        .limit(_READ_AT_ONCE)
    )
