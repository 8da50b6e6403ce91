"""Vectors of parts: in the database for good, and in one matrix a tenant while the process runs.

Rows of `search_vectors` are only added and removed, and their numbers are never given twice, so
what is new since the last look is what has a greater number. Removed ones stay in the matrix
until it is made anew; the database says at each search which are still there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any, Final

import numpy as np
from sqlalchemy import bindparam, delete, func, insert, select, text, update

from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, batches
from rolltop.core.db.types import Identifier
from rolltop.core.db.url import DatabaseKind
from rolltop.core.fulltext.documents import PendingText
from rolltop.core.fulltext.tables import (
    owner_of,
    search_parts,
    search_texts,
    search_vectors,
)
from rolltop.core.fulltext.vector_cache import (
    STORED_DTYPE,
    Matrix,
    QueryVector,
    VectorQuery,
    VectorSet,
)

SCAN_THRESHOLD: Final = 5000
"""Vectors that a query may have to read first: a tenth of a second's work."""

_MAX_BYTES: Final = 1 << 30  # of all matrices in memory
_READ_BATCH_ROWS: Final = 5000
_MAX_COUNTED_TEXTS: Final = 10_000
_ADVISORY_KEY: Final = 0x726F6C6C76656373  # "rollvecs"


class VectorSets:
    """The vectors in memory of each tenant and model of a database, the last used last."""

    def __init__(self) -> None:
        self._lock: Final = Lock()
        self._sets: Final[dict[tuple[str, str], VectorSet]] = {}

    def get(self, tenant_id: str, version: str) -> VectorSet:
        """Return a tenant's vectors; drop those used longest ago where all take too much memory."""
        with self._lock:
            chosen = self._sets.pop((tenant_id, version), None) or VectorSet()
            self._sets[tenant_id, version] = chosen
            total = sum(kept.bytes for kept in self._sets.values())
            for old in list(self._sets)[:-1]:
                if total <= _MAX_BYTES:
                    break
                total -= self._sets.pop(old).bytes
            return chosen


def query_vectors(
    tx: Tx, version: str, asked: QueryVector, among: Sequence[int] | None = None
) -> VectorQuery:
    """Return the tenant's vectors, of these parts where they are given, by their nearness.

    They are up to date with the transaction.
    """
    kept = _cached_vectors(tx, version)
    with kept.lock:
        _read_newer(tx, version, kept)
        return kept.compare(asked, among)


def is_cache_warm(tx: Tx, version: str) -> bool:
    """Whether a query by the model `version` has at most a few vectors to read first.

    The first one of a process reads all of the tenant's: seconds, where there are many.
    """
    if _cached_vectors(tx, version).is_read:
        return True
    c = search_vectors.c
    mine = select(c.id).where(c.user_id == tx.scope.tenant_id, c.embedding == version)
    counted = select(func.count()).select_from(mine.limit(SCAN_THRESHOLD + 1).subquery())
    return int(tx.execute(counted).scalar_one()) <= SCAN_THRESHOLD


def warm_cache(tx: Tx, version: str) -> None:
    """Read the tenant's vectors by the model `version` now, so that no query waits for it."""
    kept = _cached_vectors(tx, version)
    with kept.lock:
        _read_newer(tx, version, kept)


def invalidate_cache(tx: Tx, version: str) -> None:
    """Read the tenant's vectors anew at the next look: too many of those kept are gone."""
    kept = _cached_vectors(tx, version)
    with kept.lock:
        kept.clear()


def pending_texts(tx: Tx, version: str, limit: int) -> list[PendingText]:
    """Return texts of all tenants that have no vector by this model, those without any first."""
    c = search_parts.c
    found: list[PendingText] = []
    for lacking in (c.embedding.is_(None), c.embedding < version, c.embedding > version):
        statement = (
            select(c.id, c.user_id, search_texts.c.text)
            .join(search_texts, search_texts.c.id == c.id)
            .where(lacking)
            .order_by(c.embedding, c.id)  # as the index has them
            .limit(limit - len(found))
        )
        found += [PendingText(*row) for row in tx.execute(statement)]
        if len(found) >= limit:
            break
    return found


def count_pending(tx: Tx, version: str) -> int:
    """Return how many of the tenant's texts have no vector by this model, counted to 10,000."""
    c = search_parts.c
    mine = owner_of(tx.kind, search_parts) == tx.scope.tenant_id
    total = 0
    for lacking in (c.embedding.is_(None), c.embedding < version, c.embedding > version):
        some = select(c.id).where(mine, lacking).limit(_MAX_COUNTED_TEXTS - total).subquery()
        total += int(tx.execute(select(func.count()).select_from(some)).scalar_one())
    return total


def store_vectors(tx: Tx, version: str, texts: Sequence[PendingText], vectors: Matrix) -> int:
    """Keep the vectors of texts that are still stored, in place of other models'; return how many.

    Raises ValueError for other than one finite vector a text.
    """
    if len(texts) != len(vectors) or not np.isfinite(vectors).all():
        raise ValueError("there must be one finite vector for each text")
    if tx.kind == "postgresql":  # numbers must become visible in their order
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
    raw = {
        one.part_id: row.tobytes()
        for one, row in zip(texts, vectors.astype(STORED_DTYPE), strict=True)
    }
    kept = 0
    for some in batches(sorted(raw)):
        stored: Sequence[Any] = tx.execute(
            select(search_parts.c.id, search_parts.c.user_id)
            .where(search_parts.c.id.in_(some))
            .with_for_update(skip_locked=True)  # what is being deleted needs none
        ).all()
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


def _cached_vectors(tx: Tx, version: str) -> VectorSet:
    return tx.service(VectorSets).get(tx.scope.tenant_id, version)


def _read_newer(tx: Tx, version: str, kept: VectorSet) -> None:
    """Read what is newer than the last vector kept; in parts, to let other threads run."""
    statement = _newer_statement(tx.kind, is_first=not kept.last_id)
    values: dict[str, Any] = {"owner": tx.scope.tenant_id, "version": version}
    parts: list[int] = []
    raw: list[bytes] = []
    last, rows = kept.last_id, statement.rows(tx, {**values, "last": kept.last_id})
    while rows:
        parts += [row[1] for row in rows]
        raw += [row[2] for row in rows]
        last = int(rows[-1][0])
        rows = statement.rows(tx, {**values, "last": last}) if len(rows) == _READ_BATCH_ROWS else ()
    if parts:
        vectors = np.frombuffer(b"".join(raw), dtype=STORED_DTYPE).reshape(len(parts), -1)
        kept.add(np.asarray(parts, dtype=np.int64), vectors, last)
    kept.is_read = True


@cache
def _newer_statement(kind: DatabaseKind, *, is_first: bool) -> CompiledStatement:
    """Read some vectors of one tenant and model after a number, in order."""
    c = search_vectors.c
    owner = c.user_id if is_first else owner_of(kind, search_vectors)
    return CompiledStatement(
        select(c.id, c.part_id, c.vector)
        .where(
            owner == bindparam("owner", type_=Identifier),
            c.embedding == bindparam("version"),
            c.id > bindparam("last"),
        )
        .order_by(c.id)
        .limit(_READ_BATCH_ROWS)
    )
