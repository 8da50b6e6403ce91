"""Frequent words, things said to be new, and many rows are answered as any others are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from rolltop.core.fulltext import hybrid_query, indexer, sqlite_fts
from rolltop.core.fulltext.documents import IndexDocument

if TYPE_CHECKING:
    from tests.core.fulltext.conftest import Index

QUERIES = ("harbour", "harbour storm", "storm lantern light", "lantern", "你 light", "nothing")


def fill(index: Index) -> None:
    documents: list[IndexDocument] = []
    for n in range(40):
        rare = "lantern " * (n % 3) if n % 10 == 0 else ""
        text = f"harbour light {n} {'storm ' * (n % 4)}{rare}你好{'and more words ' * (n % 5)}"
        parity = {"parity": "even" if n % 2 == 0 else "odd"}
        documents.append(IndexDocument("cell", f"c{n:02}", 0, text, parity))
    index.put(*documents)


def few_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the index weigh few of the parts that have a query's words."""
    monkeypatch.setattr(sqlite_fts, "MAX_RANKED_ROWS", -1)
    monkeypatch.setattr(sqlite_fts, "MAX_READ_TEXTS", 7)
    searching = import_module("rolltop.core.fulltext.hybrid_query")
    monkeypatch.setattr(searching, "MAX_CANDIDATES", 1)


def test_frequent_words_are_weighed_alike_by_both_ways(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(index)
    asked: list[tuple[str, dict[str, list[str]]]] = [
        (query, filters) for query in QUERIES for filters in ({}, {"parity": ["odd"]})
    ]
    ranked = [index.hits(query, filters=filters, limit=5) for query, filters in asked]
    monkeypatch.setattr(sqlite_fts, "MAX_RANKED_ROWS", -1)
    weighed = [index.hits(query, filters=filters, limit=5) for query, filters in asked]
    assert weighed == ranked
    assert any(ranked)


def test_of_many_parts_with_frequent_words_the_newest_are_weighed(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_are_read(monkeypatch)
    fill(index)
    found = index.ids("harbour", limit=2)
    if index.database.url_kind == "sqlite":
        assert set(found) < {f"c{n}" for n in range(33, 40)}
    assert len(found) == 2


@pytest.mark.parametrize("filters", [{}, {"parity": ["even"]}])
def test_of_many_parts_those_with_a_rarer_word_are_weighed(
    index: Index, monkeypatch: pytest.MonkeyPatch, filters: dict[str, list[str]]
) -> None:
    few_are_read(monkeypatch)
    fill(index)
    index.put(
        *(IndexDocument("cell", f"d{n}", 0, "harbour light", {"parity": "even"}) for n in (1, 2))
    )
    found = index.ids("harbour light lantern", limit=2, filters=filters)
    assert found == ["c20", "c10"]


def test_words_get_rarer_and_more_frequent_as_texts_come_and_go(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hybrid_query, "MAX_UNCACHED_PARTS", 3)
    fill(index)
    before = index.hits("harbour storm", limit=40)
    assert index.hits("harbour storm", limit=40) == before
    index.put(*(IndexDocument("cell", f"d{n}", 0, "storm") for n in range(60)))
    after = index.ids("harbour storm", limit=100)
    assert after.index("c04") < after.index("d0")  # one has a harbour and no storm, one the other
    index.drop(*(f"c{n:02}" for n in range(40)))
    assert index.ids("harbour") == []


def test_what_is_said_to_be_new_and_is_not_takes_the_old_ones_place(index: Index) -> None:
    index.cell("a", "an old fox", "a hound", tag="one")

    def put_new(names: str) -> None:
        documents = [
            IndexDocument("cell", name, 0, f"a boat {name}", {"tag": "two"}) for name in names
        ]
        index.database.write_sync(index.scope, lambda tx: indexer.put(tx, documents, new=True))

    put_new("abc")
    put_new("cd")
    assert sorted(index.ids("boat")) == ["a", "b", "c", "d"]
    assert index.ids("fox") == index.ids("hound") == []
    assert index.ids("boat", filters={"tag": ["one"]}) == []
    assert sorted(index.ids("boat", filters={"tag": ["two"]})) == ["a", "b", "c", "d"]
