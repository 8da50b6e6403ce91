"""The operators of a query: what must be there, what must not, and filters of notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.retrieval.service import ranking
from tests.desks import make_desk
from tests.toolsets.desk.desk_users import PastSearcher, Searcher, make_searcher

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import CallContext
    from rolltop.core.db import Database
    from rolltop.core.fulltext.documents import TextQuery
    from rolltop.core.principal import Principal
    from tests.databases import Clock


@pytest.fixture
def mine(database: Database, me: Principal, tmp_path: Path) -> Searcher:
    return make_searcher(database, me, tmp_path)


def test_operators_hold_for_every_kind(mine: Searcher) -> None:
    mine.fill("storm with three masts")
    (mine.folder / "voyage.md").rename(mine.folder / "wreck.md")
    mine.fill()
    every = ["cell", "file", "note", "pad", "task"]
    for query in ("storm -masts", "storm NOT masts", 'storm -"three masts"', "storm -mast*"):
        found = mine.search(query)
        assert sorted(hit["kind"] for hit in found["hits"]) == every, query
        assert "masts" not in str(found), query
        assert found["matched"] == "all", query
    for query in ('"three masts"', 'storm "with three"'):
        found = mine.search(query)
        assert sorted(hit["kind"] for hit in found["hits"]) == every, query
        assert all("three masts" in str(hit) for hit in found["hits"]), query
    assert mine.kinds('storm "masts three"') == []


def test_what_an_operator_leaves_out_hides_nothing_behind_it(mine: Searcher) -> None:
    titles = [f"Storm {number} of masts" for number in range(120)]
    for at in range(0, len(titles), 40):
        mine.call("add_task", tasks=[{"title": one} for one in titles[at : at + 40]])
    mine.call("scratch_create", cells=[{"language": "txt", "content": one} for one in titles])
    late = "Among many other things that were seen from the harbour there was a storm"
    mine.call("add_task", title=late)
    mine.call("scratch_create", cells=[{"language": "txt", "content": late}])
    assert sorted(mine.kinds("storm -masts", kinds=["task", "cell"])) == ["cell", "task"]


def test_operators_leave_as_many_of_a_kind_as_are_asked_for(mine: Searcher) -> None:
    titles = [f"A long night at sea in a storm {number}" for number in range(45)]
    titles += [f"Storm, masts {number}" for number in range(20)]
    for at in range(0, len(titles), 40):
        mine.call("add_task", tasks=[{"title": one} for one in titles[at : at + 40]])
    given = {"kinds": ["task"], "max_tokens": 9000}
    first = mine.search("storm -masts", **given)
    last = mine.search("storm -masts", **given, cursor=first["next_cursor"])
    assert len(first["hits"]) + len(last["hits"]) == 30
    assert last["limited"] == ["task"]
    found = mine.search("storm -sea", **given)
    assert len(found["hits"]) == 20
    assert "limited" not in found


def test_files_that_an_operator_may_hide_are_told(mine: Searcher) -> None:
    late = "Among many other things that were seen from the harbour there was a storm"
    titles = [f"# Storm {number}\n\nA storm of masts\n" for number in range(150)]
    log = "\n".join([*titles, f"# Log\n\n{late}\n"])
    (mine.folder / "log.md").write_text(log, encoding="utf-8")
    found = mine.search("storm -masts")
    assert (found["hits"], found["limited"]) == ([], ["file"])
    assert "limited" not in mine.search("harbour -masts")


def test_only_searches_that_lack_texts_are_asked_for_more(
    mine: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mine.folder / "voyage.md").write_text("A storm\n", encoding="utf-8")
    titles = [f"Storm {number} of masts" for number in range(40)]
    mine.call("add_task", tasks=[{"title": one} for one in titles])
    mine.call("add_task", title="Among many other things that were seen there was a storm")
    asked: list[int] = []
    search = ranking.find_texts

    def find_texts(call: CallContext, query: TextQuery) -> Any:
        asked.append(query.limit)
        return search(call, query)

    monkeypatch.setattr(ranking, "find_texts", find_texts)
    assert sorted(mine.kinds("storm -masts")) == ["file", "task"]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("storm: git commit -m, returns -1", "git commit -m storm"),
        ("storm: git commit -m, returns -1", "storm returns -1"),
        ("storm: rm -rf masts", "rm -rf storm masts"),
        ("MCP storm -32601: method unknown", "MCP storm -32601 method unknown"),
        ("storm of -40.5C", "storm -40.5C"),
        ("storm WHERE masts IS NOT NULL", "storm masts IS NOT NULL"),
        ("CREATE TABLE IF NOT EXISTS storm", "CREATE TABLE IF NOT EXISTS storm"),
        ("storm NOT IN masts", "storm NOT IN masts"),
        ("in a storm sailors MUST NOT climb", "storm sailors MUST NOT climb"),
    ],
)
def test_what_code_and_commands_are_made_of_is_no_operator(
    mine: Searcher, text: str, query: str
) -> None:
    mine.fill(text)
    found = mine.search(query)
    kinds = {hit["kind"] for hit in found["hits"] if text in str(hit)}
    assert kinds >= {"cell", "file", "note", "task"}
    assert found["matched"] == "all"


def test_other_capitals_leave_not_an_operator(mine: Searcher) -> None:
    mine.fill("storm")
    mine.fill("storm with masts")
    for query in ("storm AND NOT masts", "A storm NOT masts"):
        assert len(mine.kinds(query)) == 4, query
        assert "masts" not in str(mine.search(query)["hits"]), query


def test_either_of_two_phrases_around_or_will_do(mine: Searcher) -> None:
    texts = ["storm with three masts", "a storm, two anchors", "masts and three anchors"]
    for text in texts:
        mine.call("note_save", text=text)
        mine.call("scratch_create", cells=[{"language": "txt", "content": text}])
    query = '"three masts" OR "two anchors"'
    found = mine.call("note_list", q=query)["items"]
    assert sorted(note["title_prev"] for note in found) == sorted(texts[:2])
    found = mine.call("note_list", q=f"({query}) -storm OR masts")["items"]
    assert [note["title_prev"] for note in found] == texts[2:]
    for kind in ("note", "cell"):
        for either in (query, '"three masts" OR home OR "two anchors"'):
            found = mine.search(either, kinds=[kind])["hits"]
            assert len(found) == 2, (kind, either)
            assert "masts and" not in str(found), (kind, either)
    for lone in ('"three masts" OR', 'OR "three masts"', '"three masts" -home OR "two anchors"'):
        assert len(mine.kinds(lone, kinds=["cell"])) == (2 if "anchors" in lone else 1), lone
    assert mine.kinds('"masts three" OR "anchors two"') == []
    assert mine.kinds('"three masts" OR NOT storm', kinds=["cell"]) == []
    assert mine.kinds('"three masts" "two anchors"') == []


def test_filters_of_notes_are_no_words(mine: Searcher) -> None:
    mine.fill()
    mine.call("note_save", text="a storm at home")
    mine.call("add_task", title="The tag is the sea before 2020")
    found = mine.search("storm tag:sea after:2020-01-01")
    assert sorted(hit["kind"] for hit in found["hits"]) == ["cell", "file", "note", "pad", "task"]
    assert found["matched"] == "all"


def test_before_and_after_without_a_date_are_words(mine: Searcher) -> None:
    (mine.folder / "card.md").write_text("hero card with before:absolute and after:hidden\n")
    for query in ("hero before:absolute", "after:hidden", 'card BEFORE:"absolute"'):
        found = mine.search(query)
        assert [hit["kind"] for hit in found["hits"]] == ["file"], query
        assert found["matched"] == "all", query


def test_without_notes_a_filter_of_theirs_is_a_word(mine: Searcher) -> None:
    mine.call("add_task", title="Push tag:latest")
    mine.call("add_task", title="Push and pull")
    others = [one for one in TOOLSETS if one.name != "notes"]
    desk = make_desk(mine.desk.database, toolsets=others)
    for searcher, given in (
        (mine, {"kinds": ["task"]}),
        (Searcher(desk, mine.scope, mine.folder), {}),
    ):
        best, *_ = searcher.search("push tag:latest", **given)["hits"]
        assert best["title"] == "Push tag:latest"


def test_at_a_time_operators_hold_for_every_kind(mine: Searcher, clock: Clock) -> None:
    past = PastSearcher(mine, clock)
    titles = ("A storm at sea", "A storm of masts")
    tasks = [past.call("add_task", title=title)["data"]["task_id"] for title in titles]
    cells = [{"language": "txt", "content": title} for title in titles]
    pad = past.call("scratch_create", cells=cells)["scratchpad"]["scratch_id"]
    then = past.clock().isoformat()
    past.call("scratch_delete", scratch_id=pad)
    for task in tasks:
        past.call("delete_task", task_id=task)
    for query, title in (("storm -masts", titles[0]), ('storm "of masts"', titles[1])):
        assert past.titles(query, as_of=then) == {f"task: {title}", f"cell: {title}"}
