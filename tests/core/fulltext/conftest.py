"""An index to put things into and ask, on each database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.db import SYSTEM
from rolltop.core.fulltext import hybrid_query, indexer, vector_store
from rolltop.core.fulltext.documents import IndexDocument
from tests.fake_embedder import FakeEmbedder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.db import Database
    from rolltop.core.fulltext.documents import IndexHit, QueryMode
    from rolltop.core.principal import Principal


@dataclass
class Index:
    """One user's index, with an embedder."""

    database: Database
    scope: Principal
    embedder: FakeEmbedder

    def put(self, *documents: IndexDocument) -> None:
        self.database.write_sync(self.scope, indexer.put, documents)

    def cell(self, name: str, *parts: str, **filters: str | Sequence[str]) -> None:
        """Put one thing of the kind cell."""
        self.put(*(IndexDocument("cell", name, n, text, filters) for n, text in enumerate(parts)))

    def drop(self, *ids: str) -> None:
        self.database.write_sync(self.scope, indexer.drop, "cell", ids)

    def embed(self, embedder: FakeEmbedder | None = None, limit: int = 1000) -> int:
        """Give every text that has none a vector; return how many were kept."""
        embedder = embedder or self.embedder
        version = embedder.version
        texts = self.database.read_sync(SYSTEM, vector_store.pending_texts, version, limit)
        made = embedder.embed([text.text for text in texts])
        return self.database.write_sync(SYSTEM, vector_store.store_vectors, version, texts, made)

    def hits(
        self,
        text: str,
        mode: QueryMode = "words",
        filters: Mapping[str, Sequence[str]] | None = None,
        limit: int = 10,
        **more: Any,
    ) -> list[IndexHit]:
        """Return what is found of the kind cell, or of `kinds`."""
        vector = None if mode == "words" else self.embedder.embed([text])[0]
        asked: dict[str, Any] = {"kinds": ["cell"], "vector": vector, **more}
        asked.setdefault("version", self.embedder.version)
        return self.database.read_sync(
            self.scope,
            hybrid_query.query,
            text,
            filters=filters or {},
            limit=limit,
            mode=mode,
            **asked,
        )

    def ids(self, text: str, mode: QueryMode = "words", **more: Any) -> list[str]:
        """Return the ids of what is found, best first."""
        return [hit.id for hit in self.hits(text, mode, **more)]


@pytest.fixture
def index(database: Database, me: Principal) -> Index:
    """Return an empty index."""
    return Index(database, me, FakeEmbedder(dims=256))


@pytest.fixture
def their_index(database: Database, them: Principal, index: Index) -> Index:
    """Return another tenant's index in the same store."""
    return Index(database, them, index.embedder)
