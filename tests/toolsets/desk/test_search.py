"""One search over everything: what is found, in which order, how it fits, and what is not shown."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.core import accounts, token_counter
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import ToolSelection
from rolltop.core.errors import DeadlineExceeded
from rolltop.core.fulltext.documents import FoundText
from rolltop.core.pagination import AddressText
from rolltop.core.principal import Principal
from rolltop.toolsets.desk.ranking import rank_texts
from rolltop.toolsets.notes.models import Content, NewNote
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.retrieval.index import trigram_index
from rolltop.toolsets.retrieval.service import ranking
from rolltop.workspace import Roots
from tests.contracts.statements import kept_to
from tests.desks import answer_of, call_tool, make_desk
from tests.forks import PATIENCE
from tests.toolsets.desk.desk_users import PastSearcher, Searcher, make_searcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.db import Database, Tx
    from rolltop.workspace import FileStat
    from tests.databases import Clock

DOCUMENTS: Final = Path(__file__).parents[2] / "data" / "documents"
NOTE = (
    "# Harbour log\n\nNothing of note.\n\n## Storms\n\nThe great storm took four masts.\nThen calm."
)


@pytest.fixture
def mine(database: Database, me: Principal, tmp_path: Path) -> Iterator[Searcher]:
    searcher = make_searcher(database, me, tmp_path)
    with kept_to((me.user_id,), besides=()):
        yield searcher


def test_a_hit_says_where_it_is_and_who_wrote_it_when(mine: Searcher, clock: Clock) -> None:
    mine.scope = Principal.for_user(mine.scope.user_id, actor="Codex")
    saved = mine.call("note_save", text=NOTE)
    answer = mine.search("how many masts did the great storm take?")
    assert 0.3 < answer["hits"][0].pop("score") <= 1
    assert answer == {
        "hits": [
            {
                "uri": saved["uri"],
                "kind": "note",
                "title": "Harbour log > Storms",
                "line": 7,
                "lines": "The great storm took four masts.\nThen calm.",
                "by": "Codex",
                "at": clock().strftime("%Y-%m-%dT%H:%MZ"),
            }
        ],
        "matched": "some",
    }


def test_all_kinds_are_found_and_each_is_opened_by_its_address(mine: Searcher) -> None:
    mine.fill()
    hits = mine.search("storm")["hits"]
    assert sorted(hit["kind"] for hit in hits) == ["cell", "file", "note", "pad", "task"]
    for hit in hits:
        opened = mine.call("desk_read", uri=hit["uri"])
        assert "storm" in str(opened)
        assert opened["kind"] == hit["kind"]


def test_what_answers_best_comes_first_whatever_its_kind(mine: Searcher) -> None:
    mine.fill()
    asked = "mainsail torn by lightning near Lisbon"
    (mine.folder / "torn.md").write_text(f"# Repairs\n\nThe {asked}.\n", encoding="utf-8")
    mine.call("note_save", text="# Lightning\n\nis bright, and near")
    mine.call("add_task", title="Look for a torn sail")
    assert mine.kinds(asked)[0] == "file"
    mine.call("add_task", title=f"Mend the {asked} with new thread", description="by noon")
    mine.call("note_save", text="Lisbon is a port")
    assert set(mine.kinds(asked)[:2]) == {"file", "task"}


@pytest.mark.parametrize("question", ["what was fixed in {}?", "fixed in v{}", "{}"])
@pytest.mark.parametrize(
    ("number", "near"),
    [
        ("5.7.0", ("7.5.0", "5.0.7", "5.7.0rc1", "5.7.1")),
        ("10.0.2.1", ("10.2.0.1", "10.1.2.0")),
        ("2026-05-12", ("2026-12-05", "12-05-2026")),
    ],
)
def test_a_version_an_address_or_a_date_comes_before_those_of_the_same_digits(
    mine: Searcher, number: str, near: tuple[str, ...], question: str
) -> None:
    texts = {one: f"# {one}\n\nFixed: {one[0]} and {one[-1]}, fixed as fixed." for one in near}
    texts[number] = f"# v{number}\n\nFixed the pump, the mast and the sail of the tender."
    found = dict[str, str]()
    for at, (one, text) in enumerate(texts.items()):
        (mine.folder / f"{at}.md").write_text(text)
        pad = {"cells": [{"language": "txt", "content": text}]}
        task = mine.call("add_task", title=text[2:].partition("\n")[0], description=text)["data"]
        note = mine.call("note_save", text=text)
        (cell,) = mine.call("scratch_create", **pad)["scratchpad"]["cells"]
        made = (f"rolltop://file/docs/{at}.md", note["uri"], task["uri"], cell["uri"])
        found |= dict.fromkeys(made, one)
    query = question.format(number)
    hits = {
        "note": mine.call("note_list", query=query)["items"],
        "task": mine.call("list_tasks", query=query)["data"],
        "cell": mine.call("scratch_search", query=query)["hits"],
        "file": mine.call("repo_smart_search", query=query)["result"],
    }
    firsts = {kind: some[0]["uri"] for kind, some in hits.items()}
    firsts |= {f"desk {at}": hit["uri"] for at, hit in enumerate(mine.search(query)["hits"][:4])}
    numbers = {kind: found[uri.partition("#")[0]] for kind, uri in firsts.items()}
    assert numbers == dict.fromkeys(firsts, number)


def test_kinds_tags_and_times_narrow_the_search(mine: Searcher, clock: Clock) -> None:
    mine.fill()
    assert mine.kinds("storm", kinds=["task", "note"]) == mine.kinds(
        "storm", kinds=["note", "task"]
    )
    assert sorted(mine.kinds("storm", kinds=["task", "cell"])) == ["cell", "task"]
    assert sorted(mine.kinds("storm", tags=["sea", "log"])) == ["cell", "note", "pad", "task"]
    assert mine.kinds("storm", tags=["sea", "land"]) == []
    os.utime(mine.folder / "voyage.md", (0, 0))
    then = clock.advance(hours=1)
    clock.advance(hours=1)
    mine.call("add_task", title="A later storm")
    later = mine.search("storm", since=then.isoformat())
    assert [hit["title"] for hit in later["hits"]] == ["A later storm"]


@pytest.mark.parametrize("narrowing", [{"since": True}, {"tags": ["sea", "log"]}])
def test_what_narrows_a_search_does_so_however_much_answers_better(
    mine: Searcher, clock: Clock, narrowing: dict[str, Any]
) -> None:
    titles = [f"A storm {number}" for number in range(220)]
    for at in range(0, len(titles), 44):
        some = titles[at : at + 44]
        mine.call("add_task", tasks=[{"title": one, "tags": ["sea"]} for one in some])
    cells = [{"language": "txt", "content": one, "tags": ["sea"]} for one in titles]
    mine.call("scratch_create", cells=cells)
    if "since" in narrowing:
        narrowing = {"since": clock.advance(hours=1).isoformat()}
        clock.advance(hours=1)
    late = "Among many other things that were seen from the harbour there was a storm"
    mine.call("add_task", title=late, tags=["sea", "log"])
    cell = {"language": "txt", "content": late, "tags": ["sea", "log"]}
    mine.call("scratch_create", cells=[cell])
    hits = mine.search("storm", kinds=["task", "cell"], **narrowing)["hits"]
    assert sorted(hit["kind"] for hit in hits) == ["cell", "task"]


def test_the_end_of_a_search_names_the_kinds_of_which_there_may_be_more(mine: Searcher) -> None:
    mine.call("note_save", text="a storm")
    mine.call("add_task", tasks=[{"title": f"A storm {number}"} for number in range(40)])
    answer = mine.search("storm", kinds=["note", "task"], max_tokens=9000)
    assert "limited" not in answer
    answer = mine.search(
        "storm", kinds=["note", "task"], max_tokens=9000, cursor=answer["next_cursor"]
    )
    assert (answer["limited"], "next" in answer) == (["task"], False)
    assert "limited" not in mine.search("storm", kinds=["note"])


def test_a_hit_shows_its_line_however_far_into_the_text(mine: Searcher) -> None:
    filler = [f"Line {number} tells of calm water and nothing else" for number in range(1500)]
    mine.call("note_save", text="\n".join([*filler, "Then the storm came", *filler]))
    (hit,) = mine.search("storm", kinds=["note"])["hits"]
    assert (hit["line"], hit["lines"].split("\n")[0]) == (1501, "Then the storm came")


def test_pages_show_each_text_once_though_some_shown_before_are_deleted(mine: Searcher) -> None:
    titles = {f"A storm {number}" for number in range(28)}
    for title in sorted(titles):
        mine.call("add_task", title=title)
    answer = mine.search("storm", kinds=["task"], max_tokens=9000)
    shown = [hit["title"] for hit in answer["hits"]]
    for hit in answer["hits"][:5]:
        mine.call("delete_task", task_id=hit["uri"].rpartition("/")[2].partition("@")[0])
    answer = mine.search("storm", kinds=["task"], max_tokens=9000, cursor=answer["next_cursor"])
    assert sorted([*shown, *(hit["title"] for hit in answer["hits"])]) == sorted(titles)


def test_the_case_of_tags_counts_for_no_kind(mine: Searcher, clock: Clock) -> None:
    note = mine.call("note_save", text="storm", tags=["Bug"])
    task = mine.call("add_task", title="storm", tags=["BUG", "Über"])["data"]
    cells = [
        {"language": "md", "content": "storm", "tags": ["bUg"]},
        {"language": "md", "content": "storm"},
    ]
    pad = mine.call("scratch_create", cells=cells, tags=["\u00fcBER"])["scratchpad"]
    then = clock().isoformat()
    assert sorted(mine.kinds("storm", tags=["bug"])) == ["cell", "note", "task"]
    assert sorted(mine.kinds("storm", tags=["bug", "u\u0308ber"])) == ["cell", "task"]
    assert mine.kinds("storm", tags=["bu"]) == []
    assert mine.call("list_tasks", tag="bug")["data"][0]["task_id"] == task["task_id"]
    assert mine.call("next_task", tag="Bug")["data"]["task_id"] == task["task_id"]
    assert mine.call("note_list", tags=["bug"])["items"][0]["id"] == note["id"]
    asked = {"scratch_id": pad["scratch_id"], "tags": ["BUG"]}
    for tag in ("Bug", "Über"):
        (listed,) = mine.call("scratch_list", tags=[tag, "none"])["scratchpads"]
        assert listed["scratch_id"] == pad["scratch_id"]
    for tool in ("scratch_read", "scratch_list_cells"):
        read = mine.call(tool, **asked)
        assert len(read.get("scratchpad", read)["cells"]) == 1
    found = mine.call("scratch_search", query="storm", tags=["bug"])["hits"]
    assert [hit["cell_id"] for hit in found] == [pad["cells"][0]["cell_id"]]
    clock.advance(hours=1)
    mine.call("update_task", task_id=task["task_id"], title="calm", tags=[])
    past = mine.call("desk_search", query="storm", tags=["bug"], as_of=then)["hits"]
    assert sorted(hit["kind"] for hit in past) == ["cell", "note", "task"]


@pytest.mark.parametrize("modified", [-9e10, 9e10])
def test_a_note_of_any_year_is_found_as_it_is_and_as_it_was(
    mine: Searcher, clock: Clock, modified: float
) -> None:
    def pull(tx: Tx) -> None:
        dated = Content("# An old storm", modified=modified, created=modified)
        notebook, _account = notebooks.open_notebook(tx, mine.desk.settings)
        notebook.create([NewNote(dated, "old")], source="pull")

    mine.desk.database.write_sync(mine.scope, pull)
    clock.advance(hours=1)
    then = clock().isoformat()
    clock.advance(hours=1)
    assert mine.kinds("storm") == ["note"]
    assert mine.kinds("storm", as_of=then) == ["note"]
    saved = mine.call("note_get", id="old")
    mine.call("note_save", id="old", text="calm", local_version=saved["local_version"])
    assert mine.kinds("storm", as_of=then) == ["note"]


def test_tags_find_no_files_and_say_so(mine: Searcher) -> None:
    mine.fill()
    refused = call_tool(
        mine.desk, mine.scope, "desk_search", query="storm", kinds=["file"], tags=["sea"]
    )
    assert refused.code == "INVALID_ARGUMENT"
    assert mine.search("anemometer", tags=["sea"])["searched"] == ["cell", "note", "pad", "task"]


def test_a_project_shows_its_own_and_what_has_none(mine: Searcher) -> None:
    mine.call("add_task", title="A storm of ours", project="ours")
    mine.call("add_task", title="A storm of theirs", project="theirs")
    mine.scope = Principal.for_user(mine.scope.user_id, project="ours")
    found = {name: mine.search("storm", project=name)["hits"] for name in (None, "theirs", "*")}
    titles = {name: {hit["title"] for hit in hits} for name, hits in found.items()}
    assert titles[None] == {"A storm of ours"}
    assert titles["theirs"] == {"A storm of theirs"}
    assert titles["*"] == {"A storm of ours", "A storm of theirs"}


def test_nobody_finds_anothers_texts(database: Database, me: Principal, tmp_path: Path) -> None:
    desk = make_desk(database, roots=Roots.open({"docs": tmp_path}, base=tmp_path))
    Searcher(desk, me, tmp_path).fill()
    them = Principal.for_user(database.write_sync(SYSTEM, accounts.add_user, "them@here.org").id)
    with kept_to((them.user_id,), besides=()):
        answer = call_tool(desk, them, "desk_search", query="storm")
    assert [hit["kind"] for hit in answer.structured["hits"]] == ["file"]  # all users' own


@pytest.mark.parametrize("word", ["storm", "the", "ü", "42"])
@pytest.mark.parametrize("kind", ["note", "cell", "task", "file"])
def test_no_search_is_empty_while_a_word_is_there(mine: Searcher, word: str, kind: str) -> None:
    mine.fill(word)
    assert kind in mine.kinds(f"{word} anemometer", kinds=[kind])
    assert kind in mine.kinds(f"whose {word}?")


@pytest.mark.parametrize(
    "name",
    [
        "test_user_cannot_log_in_with_an_expired_reset_token",
        "userCannotLogInAnyMoreWithAnExpiredResetToken",
        "użytkownik_nie_może_się_już_zalogować_by_an_expired_reset_token",
    ],
)
def test_a_word_of_a_name_of_very_many_is_found(mine: Searcher, name: str) -> None:
    mine.fill(name)
    assert sorted(mine.kinds("expired token")) == ["cell", "file", "note", "pad", "task"]


def test_an_empty_answer_says_what_was_searched_and_the_nearest_word(mine: Searcher) -> None:
    mine.fill("anemometer")
    assert mine.search("anemometre", kinds=["note", "task"]) == {
        "hits": [],
        "searched": ["note", "task"],
        "nearest": "anemometer",
    }


@pytest.mark.parametrize("budget", [200, 400, 800, 1500])
def test_more_hits_come_before_longer_ones(mine: Searcher, budget: int) -> None:
    for number in range(30):
        lines = "\n".join(f"line {line} of the storm in year {number}" for line in range(20))
        mine.call("note_save", text=f"# Year {number}\n\n{lines}")
    whole = call_tool(mine.desk, mine.scope, "desk_search", query="storm", max_tokens=budget)
    assert token_counter.count(whole.text) <= budget
    hits = whole.structured["hits"]
    assert len(hits) >= {200: 1, 400: 3, 800: 7, 1500: 15}[budget]
    few = mine.search("storm", kinds=["note"], max_tokens=5000)["hits"]
    assert len(few) == 20
    assert len(few[0]["lines"]) > len(hits[0]["lines"])


def test_what_a_document_is_made_of_is_not_found(mine: Searcher) -> None:
    data = (DOCUMENTS / "handbook.pdf").read_bytes()
    assert b"endobj" in data
    (mine.folder / "handbook.pdf").write_bytes(data)
    for query in ("endobj", "BaseFont Helvetica"):
        assert mine.search(query)["hits"] == []
        assert mine.call("repo_smart_search", query=query)["result"] == []


def test_a_section_of_a_document_is_found_and_opened(mine: Searcher) -> None:
    mine.call("note_save", text="of wicks")
    (mine.folder / "handbook.pdf").write_bytes((DOCUMENTS / "handbook.pdf").read_bytes())
    assert mine.kinds("trim the wick") == ["note"]
    trigram_index.update_index(mine.desk)
    end = time.monotonic() + PATIENCE
    while mine.kinds("trim the wick") == ["note"]:
        assert time.monotonic() < end
        ranking.update_index(mine.desk)
    (best, *_) = mine.search("trim the wick")["hits"]
    assert best["kind"] == "file"
    assert best["title"] == "Keeping the lamp > Wick"
    opened = mine.call("desk_read", uri=best["uri"])
    assert opened["text"].strip() == "Wick\nTrim the wick to four millimetres."
    mine.desk.service(ranking.open_chunk_indexes).close()


def test_files_that_were_not_searched_are_named(mine: Searcher) -> None:
    (mine.folder / "handbook.pdf").write_bytes((DOCUMENTS / "handbook.pdf").read_bytes())
    mine.call("note_save", text="a harbour")
    told = "Not read: 1 file that is not indexed yet. Search again in a minute."
    assert mine.search("wick")["unsearched"]["file"] == told
    assert mine.search("harbour")["unsearched"]["file"] == told
    assert "unsearched" not in mine.search("wick", kinds=["note"])
    (mine.folder / "ledger.txt").write_text("bales and bales\n" * 600_000 + "KERNEL_PANIC\n")
    for query in ("harbour", "KERNEL_PANIC", "KERNEL_PANICS"):
        answer = mine.search(query)
        assert "1 file over 8 MiB; repo_search finds every line" in answer["unsearched"]["file"]
        (best, *_) = answer["hits"]
        assert best["kind"] == ("note" if query == "harbour" else "file")


def test_a_search_goes_on_to_its_end_without_a_repeat(mine: Searcher) -> None:
    for number in range(25):
        mine.call("note_save", text=f"storm {number}")
        mine.call("add_task", title=f"Storm {number}")
    answer = mine.search("storm", max_tokens=600)
    seen = [hit["uri"] for hit in answer["hits"]]
    while "next" in answer:
        answer = mine.call(answer["next"]["tool"], **answer["next"]["arguments"])
        seen += [hit["uri"] for hit in answer["hits"]]
    assert len(seen) == len(set(seen)) == 50


def test_without_an_argument_an_answer_is_short(mine: Searcher) -> None:
    for number in range(40):
        mine.call("note_save", text=f"# Year {number}\n\n" + "a storm of many words\n" * 20)
    answer = call_tool(mine.desk, mine.scope, "desk_search", query="storm")
    assert 1000 < token_counter.count(answer.text) <= 1500


def test_a_server_without_some_toolsets_searches_the_others(mine: Searcher) -> None:
    mine.fill()
    some = ToolSelection(toolsets=("desk", "notes"))
    desk = make_desk(mine.desk.database, roots=mine.desk.roots, selection=some)
    answer = call_tool(desk, mine.scope, "desk_search", query="storm")
    assert [hit["kind"] for hit in answer.structured["hits"]] == ["note"]


def test_a_root_that_is_gone_hides_nothing_else_and_is_told(
    database: Database, me: Principal, tmp_path: Path
) -> None:
    folders = {name: tmp_path / name for name in ("docs", "code")}
    for folder in folders.values():
        folder.mkdir()
    roots = Roots.open(folders, base=tmp_path)
    mine = Searcher(make_desk(database, roots=roots), me, folders["docs"])
    mine.fill()
    assert "unsearched" not in mine.search("storm")
    folders["code"].rmdir()
    found = mine.search("storm")
    assert found["unsearched"] == {"file": "Root directory of code no longer exists"}
    assert {hit["kind"] for hit in found["hits"]} == {"note", "task", "pad", "cell", "file"}
    (folders["docs"] / "voyage.md").unlink()
    folders["docs"].rmdir()
    found = mine.search("storm")
    assert found["unsearched"] == {"file": "Root directory of docs, code no longer exists"}
    assert {hit["kind"] for hit in found["hits"]} == {"note", "task", "pad", "cell"}
    assert "Restore it" in mine.search("calm")["unsearched"]["file"]
    refused = call_tool(mine.desk, me, "desk_search", query="storm", kinds=["file"])
    assert refused.code == "CONFIG_INVALID"


def test_files_that_were_not_read_are_counted(mine: Searcher) -> None:
    mine.fill()
    assert "unsearched" not in mine.search("storm")
    for number in range(100):
        (mine.folder / f"log {number}.md").write_text(f"A storm in {number}\n", encoding="utf-8")
    unread = mine.call("repo_smart_search", query="storm")["meta"]["unread"]
    told = mine.search("storm")["unsearched"]["file"]
    assert told == f"Not read: {unread} files that are not indexed yet. Search again in a minute."
    assert "unsearched" not in mine.search("storm", kinds=["note"])


def test_a_search_that_breaks_hides_nothing_else_and_is_told(
    mine: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.fill()
    for problem, told in (
        (DeadlineExceeded("the index is busy"), "the index is busy"),
        (OSError("disk"), "Something failed here"),
    ):
        monkeypatch.setattr(ranking, "find_texts", partial(fail_with, problem))
        found = mine.search("storm")
        assert told in found["unsearched"]["file"]
        assert {hit["kind"] for hit in found["hits"]} == {"note", "task", "pad", "cell"}


def fail_with(problem: Exception, *_: object) -> None:
    raise problem


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": " "},
        {"query": "storm", "since": "someday"},
        {"query": "storm", "kinds": ["section"]},
        {"query": "before:2026-02-30 storm"},
        {"query": "storm", "project": "x" * 10_000},
    ],
)
def test_a_wrong_argument_is_refused(mine: Searcher, wrong: dict[str, Any]) -> None:
    answer = call_tool(mine.desk, mine.scope, "desk_search", **wrong)
    assert answer.code == "INVALID_ARGUMENT", answer.text


@pytest.fixture
def past(mine: Searcher, clock: Clock) -> PastSearcher:
    return PastSearcher(mine, clock)


def test_at_a_time_texts_are_found_as_they_were(past: PastSearcher) -> None:
    cells = [{"language": "txt", "content": "a storm in a cell"}]
    pad = past.call("scratch_create", metadata={"title": "Storm pad"}, cells=cells)["scratchpad"]
    task = past.call("add_task", title="A storm of tasks")["data"]
    note = past.call("note_save", text="storm of notes")
    past.call("note_save", text="storm that stays")
    past.call("note_save", text="all about rain")
    then = past.clock().isoformat()
    past.call("note_save", id=note["id"], local_version=1, text="calm of notes")
    past.call("delete_task", task_id=task["task_id"])
    past.call("scratch_delete", scratch_id=pad["scratch_id"])
    past.call("note_save", text="a later storm")
    assert past.titles("storm") == {"note: storm that stays", "note: a later storm"}
    assert past.titles("storm", as_of=then) == {
        "note: storm of notes",
        "note: storm that stays",
        "task: A storm of tasks",
        "pad: Storm pad",
        "cell: a storm in a cell",
    }
    assert past.titles("calm", as_of=then) == set()
    for hit in past.search("storm", as_of=then)["hits"]:
        assert hit["at"] <= then
        opened = past.call("desk_read", uri=hit["uri"])
        assert "storm" in str(opened).lower()


def test_at_a_time_filters_hold_as_things_were(past: PastSearcher) -> None:
    task = past.call("add_task", title="A storm", tags=["sea"], project="ours")["data"]
    note = past.call("note_save", text="a storm at home", tags=["Sea"])
    then = past.clock().isoformat()
    past.call("update_task", task_id=task["task_id"], tags=["land"], project="theirs")
    past.call("note_save", id=note["id"], local_version=1, text="a storm", tags=[])
    past.call("desk_link", **{"from": task["uri"]}, to=note["uri"], relation="supersedes")
    given = {"as_of": then}
    assert len(past.search("storm", **given, tags=["sea"])["hits"]) == 2
    assert past.search("storm", **given, tags=["land"])["hits"] == []
    found = past.search("storm", **given, project="ours", kinds=["task"])["hits"]
    assert [hit["title"] for hit in found] == ["A storm"]
    assert past.search("storm", **given, project="theirs", kinds=["task"])["hits"] == []
    assert past.search("storm -home", **given, kinds=["note"])["hits"] == []
    assert past.search('"a storm at" tag:sea', **given, kinds=["note"])["hits"]
    assert "superseded_by" not in str(past.search("storm", **given))
    assert "superseded_by" in str(past.search("storm"))


def test_since_a_time_cells_are_found_that_were_changed_themselves(past: PastSearcher) -> None:
    storm, calm = ({"language": "txt", "content": word} for word in ("storm", "calm"))
    pad = past.call("scratch_create", cells=[storm])["scratchpad"]["scratch_id"]
    given = {"kinds": ["cell"], "since": past.clock().isoformat()}
    past.call("scratch_append_cell", scratch_id=pad, cell=calm)
    then = past.clock().isoformat()
    assert past.titles("storm calm", **given) == {"cell: calm"}
    past.call("scratch_delete", scratch_id=pad)
    assert past.titles("storm calm", **given) == set()
    assert past.titles("storm calm", **given, as_of=then) == {"cell: calm"}


def test_at_a_time_a_phrase_of_one_character_is_found_in_longer_words(past: PastSearcher) -> None:
    note = past.call("note_save", text="日本の港")
    then = past.clock().isoformat()
    past.call("note_save", id=note["id"], local_version=1, text="Harbours")
    for phrase in ('"日"', '"港"', '"日本"'):
        assert past.search(phrase, as_of=then, kinds=["note"])["hits"], phrase


def test_at_a_time_what_stayed_is_found_behind_much_that_was_changed(past: PastSearcher) -> None:
    stayed = {past.call("note_save", text=f"storm {number}")["uri"] for number in range(3)}
    then = past.clock().isoformat()
    for number in range(40):
        past.call("note_save", text=f"storm storm {number}\nstorm")
    answer = past.search("storm", as_of=then)
    assert {hit["uri"] for hit in answer["hits"]} == stayed


def test_at_a_time_files_are_not_searched(past: PastSearcher) -> None:
    past.fill()
    then = past.clock().isoformat()
    assert "file" not in past.kinds("storm", as_of=then)
    refused = call_tool(
        past.desk, past.scope, "desk_search", query="storm", kinds=["file"], as_of=then
    )
    assert (refused.code, "git" in refused.text) == ("INVALID_ARGUMENT", True)
    early = call_tool(past.desk, past.scope, "desk_search", query="storm", as_of="2020-01-01")
    assert early.code == "VERSION_NOT_FOUND"
    assert "kept_since" in early.text
    assert past.search("anemometer", as_of=then) == {
        "hits": [],
        "searched": ["cell", "note", "pad", "task"],
    }


def test_each_kinds_own_order_stays(clock: Clock) -> None:
    def found(kind: Any, text: str) -> FoundText:
        return FoundText(kind, AddressText(f"rolltop://{kind}/{text}"), "", text, clock(), ref=text)

    notes = [found("note", text) for text in ("storm", "a great storm at sea", "sea")]
    tasks = [found("task", text) for text in ("great storm", "harbour great")]
    ranked = rank_texts("great storm", [notes, tasks])
    order = [one.found for one in ranked]
    assert [one for one in order if one.kind == "note"] == notes[:2]  # the last has no word
    assert [one for one in order if one.kind == "task"] == tasks
    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)


def test_a_file_of_a_year_that_no_date_has_is_found(
    database: Database, me: Principal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late.md").write_text("storm")
    roots = Roots.open({"docs": tmp_path}, base=tmp_path)
    desk = make_desk(database, roots=roots, settings={"retrieval.index": False})
    walk = Roots.walk
    for seconds, year in ((300_000_000_000, "9999"), (-300_000_000_000, "1")):
        time_ns = seconds * 10**9  # which some file systems keep

        def walk_then(*args: Any, time_ns: int = time_ns, **kwargs: Any) -> Iterator[FileStat]:
            return (entry._replace(mtime_ns=time_ns) for entry in walk(*args, **kwargs))

        monkeypatch.setattr(Roots, "walk", walk_then)
        (hit,) = answer_of(desk, me, "desk_search", query="storm")["hits"]
        assert hit["at"].lstrip("0").startswith(f"{year}-")
