"""The index that toolsets share: put things in, take them out, find them by words and meaning.

A thing is (kind, id) with filters and parts of text. Writes belong to the transaction of what
they describe: a thing is found by its words as soon as that is committed. Vectors follow from a
background job (`pending`, then `store_vectors`). Everything keeps to the transaction's tenant.

Importing this loads neither SQLAlchemy nor numpy; only vectors need numpy (extra `semantic`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rolltop.core.fulltext.analyzer import chunks
from rolltop.core.fulltext.documents import (
    NO_EMBEDDING,
    Filters,
    FoundText,
    IndexDocument,
    IndexHit,
    PendingText,
    QueryMode,
    TextQuery,
)
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from rolltop.core.db import Database, Tx
    from rolltop.core.embedding import Matrix
    from rolltop.core.fulltext import (
        document_index,
        hybrid_query,
        indexer,
        pgvector_index,
        vector_store,
    )
    from rolltop.core.fulltext.vector_store import QueryVector
else:
    pgvector_index = lazy("rolltop.core.fulltext.pgvector_index")
    hybrid_query = lazy("rolltop.core.fulltext.hybrid_query")
    vector_store = lazy("rolltop.core.fulltext.vector_store")
    document_index = lazy("rolltop.core.fulltext.document_index")
indexer = lazy("rolltop.core.fulltext.indexer")

__all__ = [
    "NO_EMBEDDING",
    "Filters",
    "FoundText",
    "IndexDocument",
    "IndexHit",
    "PendingText",
    "QueryMode",
    "TextQuery",
    "chunks",
    "count_pending",
    "drop",
    "drop_all",
    "index_vectors",
    "is_vector_cache_warm",
    "pending_texts",
    "put",
    "query",
    "store_vectors",
    "update_filters",
    "warm_vector_cache",
]


def put(
    tx: Tx, documents: Sequence[IndexDocument], *, new: bool = False, same_filters: bool = False
) -> None:
    """Put the documents in place of all the index holds of their things (kind, id).

    Parts whose text was there before keep their vectors, whatever their place; blank ones are not
    kept, so that nothing finds them. A thing's filters are those of its first document. Words are
    found at once, within the transaction too. `new` says that the index is not expected to hold
    the things: it is faster then, and right anyway. `same_filters` promises that things it holds
    have these filters, and spares a look.
    """
    indexer.put(tx, documents, new=new, same_filters=same_filters)


def drop(tx: Tx, kind: str, ids: Iterable[str]) -> None:
    """Take things out of the index; ids that it does not hold are passed over."""
    indexer.drop(tx, kind, ids)


def drop_all(tx: Tx, user_id: str) -> None:
    """Take everything of one tenant out of both indexes, before the tenant is deleted."""
    indexer.drop_all(tx, user_id)
    document_index.remove_all(tx, user_id)


def update_filters(tx: Tx, kind: str, ids: Iterable[str], filters: Filters) -> None:
    """Put these filters' values in place of the things' own; no text is indexed or embedded anew.

    Filters of other names stay; one with an empty list is taken away.
    """
    indexer.update_filters(tx, kind, ids, filters)


def query(  # noqa: PLR0913  # every choice is the caller's
    tx: Tx,
    text: str,
    *,
    kinds: Sequence[str],
    filters: Mapping[str, Sequence[str]],
    limit: int,
    mode: QueryMode = "hybrid",
    vector: QueryVector | None = None,
    version: str = NO_EMBEDDING,
) -> list[IndexHit]:
    """Return at most `limit` things that answer `text` best, best first, each by its best part.

    `filters`: a thing must have one of the values of every name; an empty list filters nothing.
    They and the tenant apply before anything is cut. `vector` is the embedding of the query by
    the model `version`, or the future of it, which is awaited when the words have been looked
    up; without it the mode hybrid goes by words and meaning finds nothing.
    Equal scores are ordered by kind, id and part. No text makes it fail.
    """
    return hybrid_query.query(
        tx,
        text,
        kinds=kinds,
        filters=filters,
        limit=limit,
        mode=mode,
        vector=vector,
        version=version,
    )


def is_vector_cache_warm(tx: Tx, version: str) -> bool:
    """Whether a query by the model `version` has at most a few vectors to read first.

    The first one of a process reads all of the tenant's: seconds, where there are many.
    """
    return vector_store.is_cache_warm(tx, version)


def warm_vector_cache(tx: Tx, version: str) -> None:
    """Read the tenant's vectors by the model `version` now, so that no query waits for it."""
    vector_store.warm_cache(tx, version)


def pending_texts(tx: Tx, version: str, limit: int) -> list[PendingText]:
    """Return at most `limit` texts of all tenants without a vector by the model `version`."""
    return vector_store.pending_texts(tx, version, limit)


def count_pending(tx: Tx, version: str) -> int:
    """Return how many of the tenant's texts lack a vector by the model, counted to 10,000."""
    return vector_store.count_pending(tx, version)


def store_vectors(tx: Tx, version: str, texts: Sequence[PendingText], made: Matrix) -> int:
    """Keep one vector for each text, in place of another model's; return how many were kept.

    Texts that were edited or deleted meanwhile are passed over.
    """
    return vector_store.store_vectors(tx, version, texts, made)


def index_vectors(
    database: Database,
    version: str,
    owners: Iterable[str] | None,
    is_stopping: Callable[[], bool],
) -> None:
    """Give tenants with many vectors the server's own index of them, where it makes such ones.

    It looks at these tenants, at all where None are named, and answers nothing different: only
    sooner. Blocks, for minutes where an index is new; call it outside transactions.
    """
    if database.url_kind == "postgresql":
        pgvector_index.update_indexes(database, version, owners, is_stopping)
