"""The copies and indexes that `pgvector` asks, made in the background as tenants grow.

One process at a time does it. Whatever ends it, the next one goes on: copies are made in the
order of the vectors' numbers, and an index that was not finished is not valid and is made anew.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import ProgrammingError

from rolltop.core import logging
from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.db.postgres_copy import copy_rows
from rolltop.core.fulltext import pgvector
from rolltop.core.fulltext.pgvector import (
    TABLE,
    PgvectorSupport,
    ServerVectorIndex,
    index_dims,
    is_supported_version,
    newest_copied_id,
)
from rolltop.core.fulltext.tables import fetch_rows, search_vectors
from rolltop.core.fulltext.vector_cache import STORED_DTYPE

MAX_UNINDEXED_VECTORS: Final = 500
"""Vectors newer than the index that are left to be compared in memory."""

_COPY_BATCH_ROWS: Final = 2000
_TENANT_BATCH: Final = 50  # the index takes some milliseconds for each
_ADVISORY_KEY: Final = 0x726F6C6C6E656172  # "rollnear"
_MAX_DIMENSIONS: Final = 4000  # that an index of 16-bit floats takes
_MAX_MEMORY_KB: Final = 1 << 20  # kB that the server may take to make an index
_COLUMNS: Final = ("id", "part_id", "user_id", "embedding", "near")
_TABLE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
        id bigint PRIMARY KEY REFERENCES search_vectors (id) ON DELETE CASCADE,
        part_id bigint NOT NULL,
        user_id uuid NOT NULL,
        embedding varchar(100) COLLATE "C" NOT NULL,
        near halfvec NOT NULL
    )""",
    f"CREATE INDEX IF NOT EXISTS ix_{TABLE}_part_id ON {TABLE} (part_id)",
    f"CREATE INDEX IF NOT EXISTS ix_{TABLE}_newest ON {TABLE} (user_id, embedding, id)",
)
_IS_COMPLETE: Final = text(
    "SELECT count(*) = 1 FROM pg_attribute"
    " WHERE attrelid = to_regclass(:name) AND attname = 'near' AND NOT attisdropped"
)
_INDEXES: Final = text(
    "SELECT c.relname, pg_get_expr(i.indpred, i.indrelid) FROM pg_index i"
    " JOIN pg_class c ON c.oid = i.indexrelid"
    " WHERE i.indrelid = to_regclass(:name) AND i.indpred IS NOT NULL"
)
_AVAILABLE_VERSION: Final = text(
    "SELECT installed_version, to_regtype('halfvec') IS NOT NULL FROM pg_available_extensions"
    " WHERE name = 'vector'"
)

Rows = list[tuple[int, int, bytes]]  # number, part, vector


def update_indexes(
    database: Database,
    version: str,
    owners: Iterable[str] | None,
    is_stopping: Callable[[], bool],
) -> None:
    """Copy and index what large tenants' indexes lack; blocks: seconds, for a new index minutes.

    It looks at these tenants, at all where None are named. Where the server has no pgvector and
    makes none, nothing is done. Raises Unavailable.
    """
    if database.service(PgvectorSupport).is_missing:
        return
    lagging = database.read_sync(SYSTEM, _find_lagging_tenants, version, owners)
    if lagging:
        database.maintain_sync(
            lambda connection: _update_indexes(database, connection, lagging, is_stopping)
        )


def _find_lagging_tenants(
    tx: Tx, version: str, owners: Iterable[str] | None
) -> list[ServerVectorIndex]:
    """Return the tenants who have many vectors, and many that no index holds."""
    if owners is None:
        c = search_vectors.c
        many = select(c.user_id).where(c.embedding == version)
        many = many.group_by(c.user_id).having(func.count() >= pgvector.MIN_INDEXED_VECTORS)
        owners = (str(owner) for (owner,) in fetch_rows(tx, many))
    found: list[ServerVectorIndex] = []
    for owned in (ServerVectorIndex(owner, version) for owner in sorted(set(owners))):
        is_new = index_dims(tx, owned) is None
        last, least = (
            (0, pgvector.MIN_INDEXED_VECTORS)
            if is_new
            else (newest_copied_id(tx, owned), MAX_UNINDEXED_VECTORS)
        )
        if _has_many(tx, owned, last, least):
            found.append(owned)
    return found


def _has_many(tx: Tx, index: ServerVectorIndex, after: int, least: int) -> bool:
    """Whether the tenant has at least so many vectors after a number."""
    c = search_vectors.c
    mine = select(c.id).where(
        c.user_id == index.user_id, c.embedding == index.version, c.id > after
    )
    counted = select(func.count()).select_from(mine.limit(least).subquery())
    return int(tx.execute(counted).scalar_one()) >= least


def _update_indexes(
    database: Database,
    connection: Connection,
    lagging: list[ServerVectorIndex],
    is_stopping: Callable[[], bool],
) -> None:
    key = {"key": _ADVISORY_KEY}
    if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), key).scalar_one():
        return  # another process is at it
    try:
        if not _has_extension(connection):
            database.service(PgvectorSupport).is_missing = True
            return
        _make_table(connection)
        for owned in lagging:
            is_indexed = database.read_sync(SYSTEM, index_dims, owned) is not None
            _copy_all(database, owned, is_stopping, is_indexed=is_indexed)
            if not is_indexed and not is_stopping():
                _make_index(database, connection, owned)
        _drop_unused(connection)
    finally:
        connection.execute(text("SELECT pg_advisory_unlock(:key)"), key)


def _make_table(connection: Connection) -> None:
    if not connection.execute(_IS_COMPLETE, {"name": TABLE}).scalar_one():
        connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))  # the extension was away
    for statement in _TABLE:
        connection.execute(text(statement))


def _has_extension(connection: Connection) -> bool:
    """Whether pgvector can be used; it is made where the server has it and allows that."""
    if connection.execute(_AVAILABLE_VERSION).first() is None:
        return False
    try:
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except ProgrammingError:  # only an administrator may
        logging.event("pgvector is not used: CREATE EXTENSION vector was refused", level="warn")
        return False
    version, has_type = connection.execute(_AVAILABLE_VERSION).one()
    if not (has_type and is_supported_version(version)):
        logging.event("pgvector is not used: too old, or in another schema", level="warn")
        return False
    return True


def _copy_all(
    database: Database,
    index: ServerVectorIndex,
    is_stopping: Callable[[], bool],
    *,
    is_indexed: bool,
) -> None:
    at_once = _TENANT_BATCH if is_indexed else _COPY_BATCH_ROWS
    while not is_stopping() and database.write_sync(SYSTEM, _copy_batch, index, at_once):
        pass


def _copy_batch(tx: Tx, index: ServerVectorIndex, at_once: int) -> bool:
    """Copy the next vectors; return whether there were any."""
    c = search_vectors.c
    statement = (
        select(c.id, c.part_id, c.vector)
        .where(
            c.user_id == index.user_id,
            c.embedding == index.version,
            c.id > newest_copied_id(tx, index),
        )
        .order_by(c.id)
        .limit(at_once)
    )
    numbers = [number for number, *_rest in fetch_rows(tx, statement)]
    # They must not be deleted meanwhile; those that are just being deleted end the batch.
    locked = {
        row[0]: row
        for row in fetch_rows(tx, statement.with_for_update(key_share=True, skip_locked=True))
    }
    rows: Rows = []
    for number in numbers:
        if number not in locked:
            break
        rows.append(locked[number])
    if rows:
        copy_rows(tx.connection, TABLE, _COLUMNS, _pack_rows(index, rows))
    return bool(rows)


def _pack_rows(index: ServerVectorIndex, rows: Rows) -> bytes:
    """Return rows of the table as the server's binary format has them."""
    version = index.version.encode()
    dims = len(rows[0][2]) // STORED_DTYPE.itemsize
    fields: list[tuple[Any, ...]] = [("columns", ">i2")]
    values: dict[str, Any] = {
        "id": (">i8", [row[0] for row in rows]),
        "part_id": (">i8", [row[1] for row in rows]),
        "user_id": ("V16", np.void(uuid.UUID(index.user_id).bytes)),
        "embedding": (f"V{len(version)}", np.void(version)),
        "near": (np.dtype([("dims", ">i2"), ("unused", ">i2"), ("all", ">f2", (dims,))]), None),
    }
    for name, (kind, _value) in values.items():
        fields += [(f"{name} length", ">i4"), (name, kind)]
    made: NDArray[Any] = np.zeros(len(rows), dtype=np.dtype(fields))
    made["columns"] = len(values)
    for name, (kind, value) in values.items():
        made[f"{name} length"] = np.dtype(kind).itemsize
        if value is not None:
            made[name] = value
    made["near"]["dims"] = dims
    made["near"]["all"] = np.frombuffer(b"".join(row[2] for row in rows), STORED_DTYPE).reshape(
        -1, dims
    )
    return made.tobytes()


def _make_index(database: Database, connection: Connection, index: ServerVectorIndex) -> None:
    """Make the tenant's index, without keeping anybody from writing meanwhile."""
    dims, count = database.read_sync(SYSTEM, _count_vectors, index)
    if not 0 < dims <= _MAX_DIMENSIONS:
        return
    index = replace(index, dims=dims)
    memory = min(_MAX_MEMORY_KB, max(64 << 10, count * (dims * 4 + 1000) >> 10))
    connection.execute(text(f"SET maintenance_work_mem = {memory}"))
    # Workers of its own would need shared memory, of which containers have little.
    connection.execute(text("SET max_parallel_maintenance_workers = 0"))
    connection.execute(text(f"ANALYZE {TABLE}"))
    connection.execute(text(f"DROP INDEX IF EXISTS {index.name}"))
    made = (
        f"CREATE INDEX CONCURRENTLY {index.name} ON {TABLE}"
        f" USING hnsw ({index.expression} halfvec_ip_ops) WHERE {index.condition}"
    )
    connection.execute(text(made.replace(":", "\\:")))
    logging.event("vectors indexed", count=count)


def _count_vectors(tx: Tx, index: ServerVectorIndex) -> tuple[int, int]:
    """Return how many numbers the tenant's vectors have, and how many there are."""
    c = search_vectors.c
    statement = select(func.max(func.octet_length(c.vector)), func.count()).where(
        c.user_id == index.user_id, c.embedding == index.version
    )
    ((octets, count),) = fetch_rows(tx, statement)
    return int(octets or 0) // STORED_DTYPE.itemsize, int(count)


def _drop_unused(connection: Connection) -> None:
    """Drop the indexes of tenants who are gone, and of models that are no longer used."""
    for name, condition in connection.execute(_INDEXES, {"name": TABLE}).all():
        used = f"SELECT EXISTS (SELECT 1 FROM {TABLE} WHERE {condition})"  # noqa: S608  # its own index's
        if not connection.execute(text(used.replace(":", "\\:"))).scalar_one():
            connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {name}"))
