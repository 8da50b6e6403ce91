"""The index that toolsets share: put things in, take them out, find them by words and meaning.

A thing is (kind, id) with filters and parts of text. Writes belong to the transaction of what
they describe: a thing is found by its words as soon as that is committed. Vectors follow from a
background job (`pending`, then `store_vectors`). Everything keeps to the transaction's tenant.

Importing this loads neither SQLAlchemy nor numpy; only vectors need numpy (extra `semantic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.lazy import lazy
from rolltop.core.search.chunking import chunks
from rolltop.core.search.documents import NO_EMBEDDING, Document, Filters, Hit, Mode, Pending
from rolltop.core.search.snippets import snippet
from rolltop.core.search.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rolltop.core.db import Tx
    from rolltop.core.embed import Matrix
    from rolltop.core.search import searching, vectors, writing
else:
    searching = lazy("rolltop.core.search.searching")
    vectors = lazy("rolltop.core.search.vectors")
    writing = lazy("rolltop.core.search.writing")

__all__ = [
    "NO_EMBEDDING",
    "Document",
    "Filters",
    "Hit",
    "Mode",
    "Pending",
    "chunks",
    "drop",
    "drop_all",
    "pending",
    "put",
    "query",
    "snippet",
    "store_vectors",
    "update_filters",
    "words",
]


def put(tx: Tx, documents: Sequence[Document], *, new: bool = False) -> None:
    """Put the documents in place of all the index holds of their things (kind, id).

    Parts whose text was there before keep their vectors, whatever their place. A thing's filters
    are those of its first document. Words are found at once, within the transaction too. `new`
    says that the index is not expected to hold the things: it is faster then, and right anyway.
    """
    writing.put(tx, documents, new=new)


def drop(tx: Tx, kind: str, ids: Iterable[str]) -> None:
    """Take things out of the index; ids that it does not hold are passed over."""
    writing.drop(tx, kind, ids)


def drop_all(tx: Tx, user_id: str) -> None:
    """Take everything of one tenant out of the index, before the tenant is deleted."""
    writing.drop_all(tx, user_id)


def update_filters(tx: Tx, kind: str, ids: Iterable[str], filters: Filters) -> None:
    """Put these filters' values in place of the things' own; no text is indexed or embedded anew.

    Filters of other names stay; one with an empty list is taken away.
    """
    writing.update_filters(tx, kind, ids, filters)


def query(  # noqa: PLR0913  # every choice is the caller's
    tx: Tx,
    text: str,
    *,
    kinds: Sequence[str],
    filters: Mapping[str, Sequence[str]],
    limit: int,
    mode: Mode = "hybrid",
    vector: Matrix | None = None,
    version: str = NO_EMBEDDING,
) -> list[Hit]:
    """Return at most `limit` things that answer `text` best, best first, each by its best part.

    `filters`: a thing must have one of the values of every name; an empty list filters nothing.
    They and the tenant apply before anything is cut. `vector` is the embedding of the query by
    the model `version`; without it the mode hybrid goes by words and meaning finds nothing.
    Equal scores are ordered by kind, id and part. No text makes it fail.
    """
    return searching.query(
        tx,
        text,
        kinds=kinds,
        filters=filters,
        limit=limit,
        mode=mode,
        vector=vector,
        version=version,
    )


def pending(tx: Tx, version: str, limit: int) -> list[Pending]:
    """Return at most `limit` texts of all tenants without a vector by the model `version`."""
    return vectors.pending(tx, version, limit)


def store_vectors(tx: Tx, version: str, texts: Sequence[Pending], made: Matrix) -> int:
    """Keep one vector for each text, in place of another model's; return how many were kept.

    Texts that were edited or deleted meanwhile are passed over.
    """
    return vectors.store(tx, version, texts, made)
