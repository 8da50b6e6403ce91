"""Numbers of several parts in searches: what they find first, and that they hide nothing else."""

from __future__ import annotations

from itertools import islice, permutations
from typing import TYPE_CHECKING

import pytest

from rolltop.core.fulltext.bm25 import query_terms
from tests.contracts.statements import kept_to
from tests.toolsets.desk.desk_users import Searcher, make_searcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rolltop.core.db import Database
    from rolltop.core.principal import Principal


@pytest.fixture
def mine(database: Database, me: Principal, tmp_path: Path) -> Iterator[Searcher]:
    searcher = make_searcher(database, me, tmp_path)
    with kept_to((me.user_id,), besides=()):
        yield searcher


@pytest.mark.parametrize(
    ("query", "term"), [("5.7版", "版"), ("版本5.7.0版本有", "5 7 0"), ("since v3.1.4", "3 1 4")]
)
def test_a_number_hides_no_other_word(query: str, term: str) -> None:
    assert term in query_terms(query)


def test_few_of_many_numbers_are_looked_for_as_a_whole() -> None:
    query = " ".join(map(".".join, islice(permutations("12345678"), 24)))
    assert len([term for term in query_terms(query) if " " in term]) == 4


def test_text_beside_a_number_is_found(mine: Searcher) -> None:
    (mine.folder / "notes.md").write_text("新版本说明\n")
    task = mine.call("add_task", title="版权声明")["data"]
    assert mine.call("repo_smart_search", query="5.7版")["result"][0]["path"] == "notes.md"
    assert mine.call("list_tasks", query="5.7版")["data"][0]["uri"] == task["uri"]


@pytest.mark.parametrize("query", ["upgrade guide v3.1", "how to upgrade the client to v3.1.4?"])
def test_a_version_that_the_query_names_is_not_put_behind_a_newer_one(
    mine: Searcher, query: str
) -> None:
    for version in ("v3", "v4"):
        (mine.folder / version).mkdir()
        (mine.folder / version / "upgrade.md").write_text("# Upgrade guide\n\nof the client\n")
    first, second = mine.call("repo_smart_search", query=query)["result"][:2]
    assert [first["path"], second["path"]] == ["v3/upgrade.md", "v4/upgrade.md"]


def test_numbers_with_words_between_are_not_the_number(mine: Searcher) -> None:
    release = mine.call("add_task", title="Notes on the release 5.7.0 of the pump")["data"]
    for title in ("5 workers, 7 retries, 0 delays", "0 workers 5.7", "0 and 5, 7"):
        mine.call("add_task", title=title)
    assert mine.call("list_tasks", query="5.7.0")["data"][0]["uri"] == release["uri"]


def test_what_is_excluded_is_taken_as_it_is_written(mine: Searcher) -> None:
    note = mine.call("note_save", text="pump ratio 2.0 measured")
    mine.call("note_save", text="pump v2.0 ordered")
    items = mine.call("note_list", query="pump -v2.0")["items"]
    assert [item["uri"] for item in items] == [note["uri"]]


@pytest.mark.parametrize("query", ["what was fixed in 5.7.0", "fixed in v5.7.0?"])
@pytest.mark.parametrize("title", ["Version 5.7.0", "[v5.7.0] - 2024-05-07", "Autumn"])
def test_a_plan_takes_a_number_of_several_parts_as_one_word(
    mine: Searcher, query: str, title: str
) -> None:
    others = "".join(
        f"## {name}\n\nFixed 5 of 7 faults, and 0 of 5 others. Fixed 7 slow tests.\n\n"
        for name in ("7.5.0", "15.7.0", "2.5.7.0", "5.7.01", "0.7.5")
    )
    text = f"# Changes\n\n{others}## {title}\n\nAs of 5.7.0 the pump stops.\n"
    (mine.folder / "changes.md").write_text(text)
    asked = {"file_paths": ["changes.md"], "query": query, "budget_tokens": 200}
    answer = mine.call("read_plan", **asked)
    assert answer["sections"][0]["title"] == title
