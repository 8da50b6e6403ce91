"""Links: made between things of any kind, seen from both ends, heard by the search, taken back."""

from __future__ import annotations

from functools import partial
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pytest

from rolltop.core.journal import history
from rolltop.toolsets.desk import links as links_module
from rolltop.toolsets.desk.ranking import rank_below
from rolltop.toolsets.notes.models import Content, NewNote
from rolltop.toolsets.notes.store import notebooks
from rolltop.workspace import Roots
from tests.contracts.statements import kept_to
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.dispatch import Answer
    from rolltop.core.principal import Principal
    from tests.databases import Clock

    Call = Callable[..., Any]


@pytest.fixture
def desk(database: Database, tmp_path: Path) -> AppContext:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a b.md").write_text("# Storm\n\nthe mast\n\n## Harbour\n\ncalm\n")
    return make_desk(database, roots=Roots.open({"docs": folder}, base=tmp_path))


@pytest.fixture
def call(desk: AppContext, me: Principal) -> Call:
    """Return what a call that must succeed answered."""
    return partial(answer_of, desk, me)


def things(call: Call) -> dict[str, str]:
    """The addresses of one thing of each kind."""
    pad = call(
        "scratch_create", metadata={"title": "A pad"}, cells=[{"language": "md", "content": "x"}]
    )["scratchpad"]
    return {
        "note": call("note_save", text="# A note\n\nof a storm")["uri"],
        "pad": pad["uri"],
        "cell": pad["cells"][0]["uri"],
        "task": call("add_task", title="A task")["data"]["uri"],
        "file": "rolltop://file/docs/a%20b.md",
        "section": call("desk_read", uri="rolltop://section/docs/a%20b.md#Harbour")["uri"],
        "web": "https://example.org/Page?q=1#there",
    }


def links(call: Call, uri: str) -> list[tuple[str, str, str]]:
    found = call("desk_read", uri=uri).get("links", [])
    return [(one["relation"], one["uri"], one.get("title", "")) for one in found]


@pytest.mark.parametrize(
    ("relation", "inverse"),
    [
        ("relates", "relates"),
        ("implements", "implemented_by"),
        ("evidence", "evidence_for"),
        ("derived_from", "source_of"),
        ("supersedes", "superseded_by"),
        ("duplicates", "duplicated_by"),
    ],
)
def test_a_link_is_shown_from_both_ends(call: Call, relation: str, inverse: str) -> None:
    at = things(call)
    linked = {"from": at["note"], "relation": relation, "to": at["task"]}
    assert call("desk_link", **linked) == {
        "uri": at["note"],
        "relation": relation,
        "to": at["task"],
        "linked": True,
    }
    call("desk_link", **linked)
    assert links(call, at["note"]) == [(relation, at["task"], "A task")]
    assert links(call, at["task"]) == [(inverse, at["note"], "A note")]
    assert call("desk_link", **linked, remove=True)["linked"] is False
    assert links(call, at["note"]) == links(call, at["task"]) == []


def test_both_ends_are_addresses_of_any_kind(call: Call) -> None:
    at = things(call)
    for kind in at.keys() - {"note"}:
        call("desk_link", **{"from": at["note"], "relation": "relates", "to": at[kind]})
        call("desk_link", **{"from": at[kind], "relation": "derived_from", "to": at["note"]})
    shown = links(call, at["note"])
    assert {(relation, uri) for relation, uri, _title in shown} == {
        (relation, at[kind])
        for relation in ("relates", "source_of")
        for kind in at.keys() - {"note"}
    }
    for kind in at.keys() - {"note", "web"}:
        seen = {(relation, uri) for relation, uri, _title in links(call, at[kind])}
        assert seen == {("derived_from", at["note"]), ("relates", at["note"])}, kind
    for kind in at.keys() - {"note"}:
        call(
            "desk_link", **{"from": at["note"], "relation": "relates", "to": at[kind]}, remove=True
        )
    assert {relation for relation, _uri, _title in links(call, at["note"])} == {"source_of"}


def test_a_link_may_lead_to_a_version_or_to_lines(call: Call) -> None:
    at = things(call)
    lines = f"{at['note']}@1#L1-2"
    call("desk_link", **{"from": at["task"], "relation": "evidence", "to": lines})
    assert links(call, at["task"]) == [("evidence", lines, "A note")]
    assert links(call, at["note"]) == [("evidence_for", at["task"], "A task")]
    call("desk_link", **{"from": at["task"], "relation": "evidence", "to": at["note"]}, remove=True)
    assert links(call, at["task"]) == []


def test_links_of_tasks_are_shown_from_both_ends_too(call: Call) -> None:
    at = things(call)
    named = [f"{at['note']}#L1-2", at["file"], "https://example.org/"]
    task = call("add_task", title="Another", links=named)["data"]
    assert call("get_task", task_id=task["task_id"])["data"]["links"] == named
    for end in (at["note"], at["file"]):
        assert links(call, end) == [("relates", task["uri"], "Another")]
    assert links(call, at["cell"]) == []


def test_a_link_to_a_file_is_seen_where_the_file_is_found(call: Call, tmp_path: Path) -> None:
    note, folder = call("note_save", text="# A note")["uri"], tmp_path / "docs"
    (folder / normalize("NFC", "é.md")).write_text("composed")
    first = call("desk_read", uri="rolltop://file/docs/a%20b.md")["uri"]
    (folder / "a b.md").rename(folder / "c.md")
    for named, found in (
        (first, "c.md"),
        ("rolltop://file/docs/./c.md#L1", "c.md"),
        ("rolltop://file/docs/.//c.md", "c.md"),
        (f"rolltop://file/docs/{normalize('NFD', 'é.md')}", normalize("NFC", "é.md")),
        ("rolltop://section/docs/./c.md#Storm", "c.md"),
    ):
        made = {"from": note, "relation": "relates", "to": named}
        linked = call("desk_link", **made)["to"]
        (_, uri, _) = links(call, note)[0]
        assert uri == linked
        assert f"/docs/{found}" in linked
        at = call("desk_read", uri=linked.partition("@")[0].partition("#L")[0])
        assert [one["uri"] for one in at["links"]] == [note], named
        call("desk_link", **made, remove=True)
        assert links(call, note) == []


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [
        ("nothing", "https://example.org/", "INVALID_ARGUMENT"),
        ("rolltop://note/00000000", "https://example.org/", "NOT_FOUND"),
        ("https://example.org/", "rolltop://file/docs/none.md", "NOT_FOUND"),
        ("https://example.org/", "https://example.org/", "INVALID_ARGUMENT"),
        ("https://example.org/", "ftp://example.org/", "INVALID_ARGUMENT"),
        ("https://example.org/", f"https://example.org/{'x' * 2048}", "INVALID_ARGUMENT"),
    ],
)
def test_what_cannot_be_linked_is_refused(
    desk: AppContext, me: Principal, start: str, end: str, code: str
) -> None:
    given = {"from": start, "relation": "relates", "to": end}
    assert call_tool(desk, me, "desk_link", **given).code == code
    assert desk.database.read_sync(me, history.last_sequence) == 0


def test_what_is_not_linked_cannot_be_unlinked(desk: AppContext, me: Principal, call: Call) -> None:
    at = things(call)
    call("desk_link", **{"from": at["note"], "relation": "relates", "to": at["task"]})
    for given in (
        {"from": at["task"], "relation": "relates", "to": at["note"]},
        {"from": at["note"], "relation": "duplicates", "to": at["task"]},
        {"from": at["note"], "relation": "relates", "to": at["pad"]},
    ):
        assert call_tool(desk, me, "desk_link", **given, remove=True).code == "NOT_FOUND"
    assert len(links(call, at["note"])) == 1


def test_a_link_to_what_is_gone_can_be_removed(call: Call) -> None:
    at = things(call)
    made = {"from": at["task"], "relation": "relates", "to": at["note"]}
    call("desk_link", **made)
    note = call("note_list")["items"][0]["id"]
    call("note_manage", action="trash", id=note, local_version=1)
    call("note_manage", action="delete_permanently", id=note, local_version=2)
    assert [uri for _relation, uri, _title in links(call, at["task"])] == [at["note"]]
    call("desk_link", **made, remove=True)
    assert links(call, at["task"]) == []


def test_links_are_told_in_the_journal_and_undone(call: Call) -> None:
    at = things(call)
    call("desk_link", **{"from": at["note"], "relation": "implements", "to": at["task"]})
    (entry, *_) = call("desk_history")["changes"]
    assert (entry["uri"], entry["tool"]) == (at["note"], "desk_link")
    assert entry["summary"] == f"linked: implements {at['task']}"
    call("desk_undo", operation=entry["operation"])
    assert links(call, at["task"]) == []
    (undone, *_) = call("desk_history")["changes"]
    assert undone["summary"] == f"unlinked: implements {at['task']}"
    again = call("desk_undo", operation=undone["operation"])
    assert again["undone"] == [at["note"]]
    assert links(call, at["task"]) == [("implemented_by", at["note"], "A note")]


def test_what_is_superseded_ranks_below_what_supersedes_it_and_says_so(call: Call) -> None:
    old = call("note_save", text="# Storm masts\n\nstorm masts storm masts")["uri"]
    new = call("note_save", text="# Notes\n\nOf storm and masts, and a lot of other things")["uri"]
    task = call("add_task", title="storm", description="masts")["data"]["uri"]

    def found() -> list[tuple[str, str]]:
        hits = call("desk_search", query="storm masts")["hits"]
        assert [hit["score"] for hit in hits] == sorted([hit["score"] for hit in hits])[::-1]
        return [(hit["uri"], hit.get("superseded_by", "")) for hit in hits if hit["kind"] != "file"]

    places = {uri.partition("@")[0].partition("#")[0]: at for at, (uri, _by) in enumerate(found())}
    assert places[old] < places[new]
    call("desk_link", **{"from": new, "relation": "supersedes", "to": old})
    after = dict(found())
    assert after[old] == new
    assert list(after).index(new) < list(after).index(old)
    call("desk_link", **{"from": task, "relation": "supersedes", "to": new})
    assert [uri for uri, _by in found()][-2:] == [new, old]
    call("desk_link", **{"from": old, "relation": "supersedes", "to": task})  # a circle
    assert {by for _uri, by in found()} == {old, new, task}


def test_what_is_gone_supersedes_nothing(call: Call, clock: Clock) -> None:
    old = call("note_save", text="# Storm\n\nmasts")["uri"]
    note = call("note_save", text="# New")["id"]
    pad = call("scratch_create", cells=[{"language": "md", "content": "x"}])["scratchpad"]
    task = call("add_task", title="new")["data"]
    ends = {
        "note": f"rolltop://note/{note}",
        "cell": pad["cells"][0]["uri"],
        "task": task["uri"],
    }

    def found(**given: Any) -> str:
        hits = call("desk_search", query="masts", kinds=["note"], **given)["hits"]
        return hits[0].get("superseded_by", "")

    for new, delete in (
        ("note", ("note_manage", {"action": "trash", "id": note, "local_version": 1})),
        ("cell", ("scratch_delete", {"scratch_id": pad["scratch_id"]})),
        ("task", ("delete_task", {"task_id": task["task_id"]})),
    ):
        call("desk_link", **{"from": ends[new], "relation": "supersedes", "to": old})
        assert f"/{new}/" in found()
        then = clock().isoformat()
        clock.advance(seconds=1)
        call(delete[0], **delete[1])
        assert found() == "", new
        assert f"/{new}/" in found(as_of=then)
        (entry, *_) = call("desk_history")["changes"]
        operation = call("desk_undo", operation=entry["operation"])["operation"]
        assert f"/{new}/" in found()
        call("desk_undo", operation=operation)
    call("note_manage", action="delete_permanently", id=note, local_version=4)
    assert found() == ""


@pytest.mark.parametrize(("count", "pairs"), [(30, combinations), (20, permutations)])
def test_a_search_ends_however_many_things_supersede_each_other(
    desk: AppContext, me: Principal, call: Call, count: int, pairs: Callable[..., Any]
) -> None:
    saved = [call("note_save", text=f"# Handover {at}") for at in range(count)]
    ends = [links_module.parse_end(f"rolltop://note/{note['id']}", "from") for note in saved]

    def link_all(tx: Tx) -> None:
        for older, newer in pairs(ends, 2):
            links_module.add_link(tx, newer, older, "supersedes")

    desk.database.write_sync(me, link_all)
    hits = call("desk_search", query="handover", kinds=["note"], max_tokens=9000)["hits"]
    found, newest_first = [hit["uri"] for hit in hits], [note["uri"] for note in saved][::-1]
    assert sum("superseded_by" in hit for hit in hits) == 20 - (pairs is combinations)
    if pairs is combinations:
        assert found == newest_first[:20]
    else:
        assert set(found) == set(newest_first)


@pytest.mark.parametrize(
    ("above", "order"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({3: [0], 4: [2, 3]}, [0, 1, 2, 3, 4]),
        ({0: [3], 1: [3]}, [2, 3, 0, 1, 4]),
        ({0: [2], 2: [4], 3: [4]}, [1, 4, 2, 0, 3]),
        ({1: [3, 3, 1]}, [0, 2, 3, 1, 4]),
        ({0: [1], 1: [3], 3: [1]}, [2, 3, 1, 0, 4]),  # 1 and 3 in a circle
    ],
)
def test_what_is_superseded_follows_what_supersedes_it_and_the_others_stay(
    above: dict[int, list[int]], order: list[int]
) -> None:
    assert rank_below(5, above) == order


def test_many_links_leave_room_for_what_is_read(call: Call) -> None:
    note = call("note_save", text="# A note\n\nof a storm")["uri"]
    for number in range(60):
        web = f"https://example.org/{number}"
        call("desk_link", **{"from": note, "relation": "relates", "to": web})
    whole = call("desk_read", uri=note)
    assert len(whole["links"]) == 60
    little = call("desk_read", uri=note, max_tokens=400)
    assert little["text"] == whole["text"]
    assert len(little["links"]) + little["more_links"] == 60


def test_of_very_many_links_the_newest_are_shown_and_the_others_counted(
    desk: AppContext, me: Principal, call: Call, clock: Clock
) -> None:
    note = call("note_save", text="# A note")
    thing = links_module.parse_end(f"rolltop://note/{note['id']}", "from")

    def add(tx: Tx) -> None:
        for number in range(600):
            page = links_module.parse_end(f"https://example.org/{number}", "to")
            links_module.add_link(tx, *((thing, page) if number % 2 else (page, thing)), "relates")

    desk.database.write_sync(me, add)
    clock.advance(seconds=1)
    newest = "https://example.org/newest"
    call("desk_link", **{"from": note["uri"], "relation": "implements", "to": newest})
    for room in (400, 100_000):
        shown = call("desk_read", uri=note["uri"], max_tokens=room)
        assert shown["links"][0] == {"relation": "implements", "uri": newest}
        assert len(shown["links"]) + shown["more_links"] == 601


def test_nobody_sees_or_makes_links_of_anothers_things(
    desk: AppContext, me: Principal, them: Principal, call: Call
) -> None:
    at = things(call)
    call("desk_link", **{"from": at["note"], "relation": "relates", "to": at["web"]})
    call("desk_link", **{"from": at["file"], "relation": "relates", "to": at["note"]})

    def theirs(tool: str, **arguments: Any) -> Answer:
        return call_tool(desk, them, tool, **arguments)

    with kept_to([them.user_id], besides=("BEGIN", "SAVEPOINT", "SET"), tables="desk_"):
        given = {"from": at["note"], "relation": "relates", "to": at["file"]}
        assert theirs("desk_link", **given).code == "NOT_FOUND"
        assert "links" not in theirs("desk_read", uri=at["file"]).structured
        given = {"from": at["note"], "relation": "relates", "to": at["web"], "remove": True}
        assert theirs("desk_link", **given).code == "NOT_FOUND"
    assert me.user_id
    assert len(links(call, at["note"])) == 2


def test_an_id_that_begins_another_stands_for_its_own_note_alone(
    desk: AppContext, me: Principal, call: Call
) -> None:
    def add(tx: Tx) -> None:
        new = [NewNote(Content(name), name) for name in ("todo", "todo-2")]
        notebooks.open_notebook(tx, desk.settings)[0].create(new, source="import")

    desk.database.write_sync(me, add)
    ends = {name: f"rolltop://note/{name}" for name in ("todo", "todo-2")}
    page = "https://example.org/"
    for uri in ends.values():
        call("desk_link", **{"from": uri, "relation": "relates", "to": page})
    for uri in ends.values():
        listed = call("desk_history", uri=uri)["changes"]
        assert [one["uri"].partition("@")[0] for one in listed] == [uri]
    call("desk_link", **{"from": ends["todo"], "relation": "relates", "to": page}, remove=True)
    assert links(call, ends["todo"]) == []
    assert links(call, ends["todo-2"]) == [("relates", page, "")]
    assert call_tool(desk, me, "desk_read", uri="rolltop://note/tod").code == "NOT_FOUND"


def test_a_history_is_found_by_an_id_in_any_form(call: Call) -> None:
    whole = call("add_task", title="a")["data"]["task_id"]
    for given in (whole, whole.replace("-", ""), whole[:8].upper(), whole.replace("-", "")[:14]):
        assert len(call("desk_history", uri=f"rolltop://task/{given}")["changes"]) == 1, given


def test_a_history_of_bytes_that_are_no_text_is_refused(desk: AppContext, me: Principal) -> None:
    answer = call_tool(desk, me, "desk_history", uri="rolltop://note/%FF")
    assert answer.code == "INVALID_TEXT"


def test_the_beginning_of_several_ids_is_refused(
    desk: AppContext, me: Principal, call: Call
) -> None:
    ids = [f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2)]
    pads = [f"rolltop://pad/{one}" for one in ids]
    note = call("note_save", text="# A note")["uri"]
    for scratch_id, uri in zip(ids, pads, strict=True):
        call("scratch_create", scratch_id=scratch_id, cells=[])
        call("desk_link", **{"from": uri, "relation": "relates", "to": note})
    begun = {"from": "rolltop://pad/00000000", "relation": "relates", "to": note, "remove": True}
    turned = begun | {"from": note, "to": begun["from"]}
    call("desk_link", **{"from": note, "relation": "relates", "to": pads[0]})
    call("desk_link", **{"from": note, "relation": "relates", "to": pads[1]})
    for name, given in (("desk_link", begun), ("desk_link", turned)):
        refused = call_tool(desk, me, name, **given)
        assert refused.code == "INVALID_ARGUMENT"
        assert all(uri in refused.structured["error"]["message"] for uri in pads)
    assert len(links(call, note)) == 2  # each pad is named once
    refused = call_tool(desk, me, "desk_history", uri="rolltop://pad/00000000")
    assert refused.code == "INVALID_ARGUMENT"
    assert all(uri in refused.structured["error"]["message"] for uri in pads)
    assert len(call("desk_history", uri=pads[0])["changes"]) == 1
    call("desk_link", **begun | {"from": pads[0]})
    call("desk_link", **begun)  # one is left
    assert [relation for relation, _uri, _title in links(call, note)] == ["relates"] * 2
