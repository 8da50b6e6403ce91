"""On PostgreSQL the index of words itself tells tenants apart, in stores of before too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg import sql

from rolltop.core import search
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.embed.fake import FakeEmbedder
from rolltop.core.scope import Scope
from rolltop.core.search import conditions, tsearch
from tests.core.search.conftest import Index
from tests.schema_scripts import without_script

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.databases import MakeDatabase


def rows(url: str, statement: LiteralString, *values: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement, values).fetchall()


def two_tenants(database: Database) -> tuple[Index, Index]:
    """Return the indexes of two users, of whom the second has many golden things."""
    scopes = [
        Scope.of(database.write_now(SYSTEM, add_user, f"{name}@example.org").id) for name in "ab"
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
        mark = tsearch.mark(index.scope.tenant_id)
        assert rows(url, matching, f"'{mark}' & ('gold' | 'watch')") == [(count,)]
    assert (mine.ids("gold watch"), len(theirs.ids("gold", limit=30))) == (["a"], 20)
    assert mine.ids(tsearch.mark(mine.scope.tenant_id)) == []


def test_texts_of_an_older_store_are_found_after_it(
    postgres_url: Callable[[], str], make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_url()
    mine, theirs = two_tenants(make_database(url))
    before = mine.hits("gold watch")
    with psycopg.connect(url) as connection:  # as core_0003 left it
        connection.execute(
            "UPDATE search_texts SET words ="
            " ts_delete(words, '@' || replace(user_id::text, '-', ''))"
        )
        connection.execute("ALTER INDEX ix_search_texts_words SET (fastupdate = on)")
        connection.execute(
            "UPDATE rolltop_versions SET version_num = 'core_0003' WHERE version_num = 'core_0004'"
        )
    assert mine.ids("gold") == []
    monkeypatch.setattr("rolltop.core.db.script.statements", without_script)
    again = make_database(url)
    assert Index(again, mine.scope, mine.embedder).hits("gold watch") == before
    assert len(Index(again, theirs.scope, theirs.embedder).ids("gold", limit=30)) == 20
    options = "SELECT reloptions FROM pg_class WHERE relname = 'ix_search_texts_words'"
    assert rows(url, options) == [(["fastupdate=off"],)]


def test_a_wide_filter_is_asked_row_by_row_before_the_server_knows_its_tables(
    postgres_url: Callable[[], str], make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "NARROW", 50)
    url = postgres_url()
    database = make_database(url)
    scope = Scope.of(database.write_now(SYSTEM, add_user, "a@example.org").id)
    index = Index(database, scope, FakeEmbedder())
    count = 1000
    with psycopg.connect(url) as connection:  # else it may learn about them at any moment
        for table in ("search_items", "search_filters", "search_parts", "search_texts"):
            connection.execute(
                sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = off)").format(
                    sql.Identifier(table)
                )
            )
    index.put(
        *(
            search.Document("cell", f"c{n:04}", 0, f"gold {n}", {"place": f"p{n % 2}"})
            for n in range(count)
        )
    )
    assert len(index.hits("gold", filters={"place": ["p1"]})) == 10
    database.close()  # which has the server count what was read
    read = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'search_filters'"
    ((tuples,),) = rows(url, read)
    assert tuples < 5 * count
