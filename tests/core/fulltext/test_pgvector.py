"""On PostgreSQL with pgvector: large tenants get an index of the server's, which changes no answer.

The tests' server has pgvector; one that has none is the same server with its extensions hidden.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psycopg
import pytest
from sqlalchemy import text

from rolltop.core import fulltext
from rolltop.core.accounts import add_user, delete_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.fulltext import IndexDocument, filters, pgvector
from rolltop.core.principal import Principal
from tests.core.fulltext.conftest import Index
from tests.fake_embedder import FakeEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.databases import MakeDatabase
    from tests.postgresql import PostgreSQLServer

WORDS: Final = ("amber", "bronze", "copper", "dune", "ember", "flint", "gold", "harbour")
COUNT: Final = 120
DIMS: Final = 32


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index from 100 vectors on, leave 10 to memory, and take a filter's 20 things for many."""
    monkeypatch.setattr(pgvector, "MIN_INDEXED_VECTORS", 100)
    monkeypatch.setattr(
        import_module("rolltop.core.fulltext.pgvector_index"), "MAX_UNINDEXED_VECTORS", 10
    )
    monkeypatch.setattr(filters, "MAX_LISTED_ITEMS", 20)
    monkeypatch.setattr(import_module("rolltop.core.fulltext.vector_store"), "SCAN_THRESHOLD", 12)


@pytest.fixture
def url(migrated_url: str) -> str:
    """Return the URL of a store of the test's own."""
    return migrated_url


@pytest.fixture
def index(url: str, make_database: MakeDatabase) -> Index:
    """Return an empty index."""
    return index_at(make_database(url))


def index_at(database: Database, email: str = "me@example.org", version: str = "fake/1") -> Index:
    """Return the index of a new user."""
    scope = Principal.for_user(database.write_sync(SYSTEM, add_user, email).id)
    return Index(database, scope, FakeEmbedder(version, dims=DIMS))


def fill(index: Index, first: int = 0, count: int = COUNT) -> None:
    """Add things of three words each, and their vectors."""
    numbers = range(first, first + count)
    words = [[WORDS[n % 8], WORDS[n // 8 % 8], WORDS[n * 7 % 5]] for n in numbers]
    index.put(
        *(
            IndexDocument(
                "cell", f"c{n:04}", 0, " ".join(some), {"half": f"{n % 2}", "ten": f"{n % 10}"}
            )
            for n, some in zip(numbers, words, strict=True)
        )
    )
    index.embed()


def keep_up(index: Index, owners: Iterable[str] | None = None) -> None:
    fulltext.index_vectors(index.database, index.embedder.version, owners, lambda: False)


def rows(index: Index, statement: str) -> list[Any]:
    """Return the rows of a statement, as tuples."""
    return index.database.read_sync(
        SYSTEM, lambda tx: list(map(tuple, tx.execute(text(statement))))
    )


def indexes(index: Index) -> list[str]:
    """Return the names of the server's finished indexes of vectors."""
    found = rows(
        index,
        "SELECT relname FROM pg_index JOIN pg_class ON oid = indexrelid"
        " WHERE relname LIKE 'ix_search_near_%' AND indpred IS NOT NULL AND indisvalid",
    )
    return [name for (name,) in found]


def copied(index: Index) -> int:
    ((count,),) = rows(index, "SELECT count(*) FROM search_near")
    return count


def answers(index: Index, *, exactly: bool = False) -> list[list[float]]:
    """Return the scores of what some queries find by meaning and by both: many are equal."""
    filters: tuple[dict[str, list[str]], ...] = ({}, {"half": ["1"]}, {"ten": ["3"]})
    asked = [("gold ember", 10), ("dune", 25)]
    with pytest.MonkeyPatch.context() as patch:
        if exactly:
            patch.setattr(pgvector, "find_index", no_index)
        return [
            [hit.score for hit in index.hits(query, mode, some, limit)]
            for query, limit in asked
            for mode in ("meaning", "hybrid")
            for some in filters
        ]


def no_index(_tx: object, _version: str) -> None:
    """Stand in for `pgvector.find_index`, so that all vectors are compared in memory."""


def agree(index: Index) -> None:
    """Assert that the answers are those of a comparison with every vector."""
    assert_alike(answers(index), answers(index, exactly=True))


def assert_alike(found: list[list[float]], true: list[list[float]]) -> None:
    assert found == [pytest.approx(scores, abs=2e-6) for scores in true]
    assert any(found)


def test_a_large_tenant_gets_an_index_that_changes_no_answer(index: Index) -> None:
    fill(index, count=90)
    keep_up(index)
    assert rows(index, "SELECT 1 FROM pg_extension WHERE extname = 'vector'") == []
    fill(index, first=90, count=30)
    keep_up(index, [index.scope.tenant_id])
    assert (len(indexes(index)), copied(index)) == (1, COUNT)
    agree(index)


def test_what_is_newer_than_the_index_edited_or_gone_is_seen_at_once(index: Index) -> None:
    fill(index)
    keep_up(index)
    index.cell("c0003", "a walrus", half="1", ten="3")
    index.drop("c0005", "c0119")
    assert "c0005" not in index.ids("flint amber", "meaning", limit=COUNT)
    index.embed()
    assert index.ids("walrus", "meaning", limit=1) == ["c0003"]
    assert index.ids("walrus", "meaning", filters={"half": ["1"]}, limit=1) == ["c0003"]
    assert index.ids("walrus", "meaning", filters={"ten": ["3"]}, limit=1) == ["c0003"]
    agree(index)
    keep_up(index)
    assert copied(index) == COUNT - 3  # one vector is left to memory
    fill(index, first=200, count=15)
    keep_up(index)
    assert copied(index) == COUNT - 3 + 16
    agree(index)


def test_a_process_that_starts_has_few_vectors_to_read(
    index: Index, url: str, make_database: MakeDatabase
) -> None:
    def at_hand() -> bool:
        return make_database(url).read_sync(
            index.scope, fulltext.is_vector_cache_warm, index.embedder.version
        )

    fill(index)
    assert not at_hand()
    keep_up(index)
    fill(index, first=200, count=5)
    assert at_hand()
    agree(index)


def test_each_large_tenant_has_an_index_alone(index: Index) -> None:
    fill(index)
    theirs = index_at(index.database, "them@example.org")
    fill(theirs)
    small = index_at(index.database, "small@example.org")
    fill(small, count=30)
    keep_up(index)
    assert (len(indexes(index)), copied(index)) == (2, 2 * COUNT)
    for one in (index, theirs, small):
        agree(one)
    index.database.write_sync(SYSTEM, delete_user, theirs.scope.user_id)
    assert copied(index) == COUNT
    fill(index, first=200, count=20)
    keep_up(index)
    assert (len(indexes(index)), copied(index)) == (1, COUNT + 20)
    agree(index)


def test_a_change_of_model_is_survived(index: Index) -> None:
    fill(index)
    keep_up(index)
    before = indexes(index)
    index.embedder = FakeEmbedder("o'ther:2 %s", dims=2 * DIMS)
    assert index.embed(limit=50) == 50
    assert len(index.ids("gold ember", "meaning", limit=COUNT)) <= 50
    index.embed()
    agree(index)
    keep_up(index)
    assert len(indexes(index)) == 1
    assert indexes(index) != before
    agree(index)


def test_an_index_that_was_not_finished_is_not_used_and_made_anew(index: Index, url: str) -> None:
    fill(index)
    keep_up(index)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indpred IS NOT NULL")
    agree(index)
    keep_up(index)
    assert len(indexes(index)) == 1
    agree(index)


def test_processes_that_come_together_make_one_index(
    index: Index, url: str, make_database: MakeDatabase
) -> None:
    fill(index)
    others = [Index(make_database(url), index.scope, index.embedder) for _ in range(3)]
    with ThreadPoolExecutor(len(others)) as pool:
        list(pool.map(keep_up, others))
    assert (len(indexes(index)), copied(index)) == (1, COUNT)
    agree(index)


def test_the_extension_may_go_and_come_back(
    index: Index, url: str, make_database: MakeDatabase
) -> None:
    fill(index)
    keep_up(index)
    with psycopg.connect(url) as connection:
        connection.execute("DROP EXTENSION vector CASCADE")
    agree(index)
    index.drop("c0001")
    again = Index(make_database(url), index.scope, index.embedder)
    agree(again)
    keep_up(again)
    assert (len(indexes(again)), copied(again)) == (1, COUNT - 1)
    agree(again)


def test_a_user_who_may_not_create_the_extension_goes_without(
    postgres_url: Callable[[], str], make_database: MakeDatabase
) -> None:
    url = postgres_url()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE ROLE clerk LOGIN")
        connection.execute("GRANT CREATE ON SCHEMA public TO clerk")
    index = index_at(make_database(url.replace("postgres@", "clerk@")))
    fill(index)
    keep_up(index)
    assert rows(index, "SELECT to_regclass('search_near')::text") == [(None,)]
    agree(index)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE EXTENSION vector")
    again = Index(make_database(url.replace("postgres@", "clerk@")), index.scope, index.embedder)
    keep_up(again)
    assert len(indexes(again)) == 1
    agree(again)
    again.database.close()
    with psycopg.connect(url) as connection:
        connection.execute("DROP OWNED BY clerk")
        connection.execute("DROP ROLE clerk")


def test_a_server_without_pgvector_lacks_nothing(
    own_postgresql_server: PostgreSQLServer, make_database: MakeDatabase
) -> None:
    server, url = own_postgresql_server, own_postgresql_server.url("postgres")
    hidden = {"extension_control_path": str(server.folder)}
    index = index_at(make_database(url))
    fill(index)
    keep_up(index)
    index.database.close()
    server.stop()
    server.start(**hidden)
    without = Index(make_database(url), index.scope, index.embedder)
    fill(without, first=200, count=30)
    keep_up(without)
    found = answers(without)
    assert copied(without) == COUNT
    without.database.close()
    server.stop()
    server.start()
    back = Index(make_database(url), index.scope, index.embedder)
    keep_up(back)
    assert copied(back) == COUNT + 30
    assert_alike(answers(back), found)


def test_the_nearest_of_many_are_found_with_filters_too(index: Index) -> None:
    random = np.random.default_rng(5)
    numbers = range(3000)
    index.put(
        *(IndexDocument("cell", f"c{n}", 0, f"word{n}", {"ten": f"{n * n % 10}"}) for n in numbers)
    )
    version = index.embedder.version
    texts = index.database.read_sync(SYSTEM, fulltext.pending_texts, version, len(numbers))
    made = random.standard_normal((len(texts), DIMS)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    index.database.write_sync(SYSTEM, fulltext.store_vectors, version, texts, made)
    keep_up(index)
    assert len(indexes(index)) == 1
    hits = 0
    for vector in made[:30] + made[30:60] * 0.5:
        sought = vector / np.linalg.norm(vector)
        filters, fits = ({"ten": ["1", "9"]}, {1, 9}) if hits % 2 else ({}, set(range(10)))
        cosines = made @ sought
        open_to = [n for n in numbers if n * n % 10 in fits]
        true = sorted(open_to, key=lambda n: -cosines[n])[:10]
        found = index.hits("any", "meaning", filters, vector=sought)
        assert len(found) == 10
        hits += len({hit.id for hit in found} & {f"c{n}" for n in true})
    assert hits >= 294
