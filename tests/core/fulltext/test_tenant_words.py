"""On PostgreSQL the index of words itself tells tenants apart, in stores of before too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, LiteralString

from psycopg import sql
from sqlalchemy import select

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.fulltext import document_index, filters, tables
from rolltop.core.fulltext.documents import IndexDocument
from rolltop.core.fulltext.phrase_query import PhraseQuery, split_phrase
from rolltop.core.principal import Principal
from tests.core.fulltext.conftest import Index
from tests.databases import connect_as_system
from tests.fake_embedder import FakeEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from rolltop.core.db import Tx
    from tests.databases import MakeDatabase


def rows(url: str, statement: LiteralString, *values: str) -> list[tuple[Any, ...]]:
    with connect_as_system(url) as connection:
        return connection.execute(statement, values).fetchall()


def two_tenants(database: Database) -> tuple[Index, Index]:
    """Return the indexes of two users, of whom the second has many golden things."""
    scopes = [
        Principal.for_user(database.write_sync(SYSTEM, add_user, f"{name}@example.org").id)
        for name in "ab"
    ]
    mine, theirs = (Index(database, scope, FakeEmbedder()) for scope in scopes)
    mine.cell("a", "one gold watch")
    for n in range(20):
        theirs.cell(f"b{n}", "gold, gold and a watch")
    return mine, theirs


def test_the_index_finds_one_tenant_s_words_alone(
    postgres_url: Callable[[], str], make_database: MakeDatabase
) -> None:
    url = postgres_url()
    mine, theirs = two_tenants(make_database(url))
    matching = "SELECT count(*) FROM search_texts WHERE words @@ %s::tsquery"
    for index, count in ((mine, 1), (theirs, 20)):
        mark = tables.tenant_lexeme(index.scope.tenant_id)
        assert rows(url, matching, f"'{mark}' & ('gold' | 'watch')") == [(count,)]
    assert (mine.ids("gold watch"), len(theirs.ids("gold", limit=30))) == (["a"], 20)
    assert mine.ids(tables.tenant_lexeme(mine.scope.tenant_id)) == []


def test_a_wide_filter_is_asked_row_by_row_before_the_server_knows_its_tables(
    postgres_url: Callable[[], str], make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "MAX_LISTED_ITEMS", 50)
    url = postgres_url()
    database = make_database(url)
    scope = Principal.for_user(database.write_sync(SYSTEM, add_user, "a@example.org").id)
    index = Index(database, scope, FakeEmbedder())
    count = 1000
    with connect_as_system(url) as connection:  # else it may learn about them at any moment
        for table in ("search_items", "search_filters", "search_parts", "search_texts"):
            connection.execute(
                sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = off)").format(
                    sql.Identifier(table)
                )
            )
    index.put(
        *(
            IndexDocument("cell", f"c{n:04}", 0, f"gold {n}", {"place": f"p{n % 2}"})
            for n in range(count)
        )
    )
    assert len(index.hits("gold", filters={"place": ["p1"]})) == 10
    database.close()  # which has the server count what was read
    read = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'search_filters'"
    ((tuples,),) = rows(url, read)
    assert tuples < 5 * count


SHORT, LONG = "one gold watch", "one gold watch " * 2000


def two_shelves(database: Database) -> tuple[Principal, Principal]:
    """Return two users with a short and a long text each; the second has many more."""
    mine, theirs = (
        Principal.for_user(database.write_sync(SYSTEM, add_user, f"{name}@example.org").id)
        for name in "ab"
    )
    database.write_sync(mine, document_index.add, [SHORT, LONG])
    database.write_sync(theirs, document_index.add, [SHORT, LONG, *["gold and a watch"] * 20])
    return mine, theirs


def found(database: Database, scope: Principal, asked: PhraseQuery) -> int:
    """Return how many of a user's texts meet what is asked."""

    def count(tx: Tx) -> int:
        values = {"owner": scope.tenant_id, **document_index.values_of(tx, asked)}
        table = document_index.matching_texts(
            tx.kind, document_index.shape_of(tx.kind, asked), ranked=True
        )
        return len(tx.execute(select(table.c.number, table.c.rank), values).all())

    return database.read_sync(scope, count)


GOLD: Final = PhraseQuery((split_phrase("gold watch"),))


def test_the_index_of_whole_texts_finds_one_tenant_s_words_alone(
    postgres_url: Callable[[], str], make_database: MakeDatabase
) -> None:
    url = postgres_url()
    database = make_database(url)
    mine, theirs = two_shelves(database)
    short = "SELECT count(*) FROM search_wholes WHERE words @@ %s::tsquery"
    long = "SELECT count(DISTINCT whole_id) FROM search_whole_parts WHERE words @@ %s::tsquery"
    for scope, count in ((mine, 1), (theirs, 21)):
        gold = f"'{tables.tenant_lexeme(scope.tenant_id)}' & 'gold'"
        assert (rows(url, short, gold), rows(url, long, gold)) == ([(count,)], [(1,)])
    assert (found(database, mine, GOLD), found(database, theirs, GOLD)) == (2, 2)
    assert tables.tenant_lexeme(mine.tenant_id) not in split_phrase(
        tables.tenant_lexeme(mine.tenant_id)
    )
