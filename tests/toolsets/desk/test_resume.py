"""Where was I: desk_resume names what is open, touched last, changed by others and broken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter
from rolltop.core.dispatch import ToolSelection
from rolltop.core.principal import READ
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.desk import resume
from rolltop.toolsets.notes.models import BackendState
from rolltop.toolsets.notes.store import notebooks
from tests.contracts.statements import kept_to
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal
    from tests.databases import Clock

NEWS = ("title", "summary", "by", "at")
LISTS = ("in_work", "ready", "blocked", "recent", "changed_by_others", "broken")


@dataclass(frozen=True)
class Client:
    """A client of one user."""

    desk: AppContext
    scope: Principal

    def call(self, name: str, **arguments: Any) -> Any:
        """Return what a call that must succeed answered."""
        return answer_of(self.desk, self.scope, name, **arguments)

    def resume(self, **arguments: Any) -> Any:
        """Return where the work stands."""
        return self.call("desk_resume", **arguments)

    def task(self, title: str, **fields: Any) -> str:
        """Add a task; return its id."""
        return self.call("add_task", title=title, **fields)["data"]["task_id"]

    def note(self, text: str) -> str:
        """Add a note; return its id."""
        return self.call("note_save", text=text)["id"]

    def pad(self, title: str, *contents: str, **fields: Any) -> str:
        """Add a pad of JSON cells that are checked; return its id."""
        cells = [{"language": "json", "content": text, "validate": True} for text in contents]
        added = self.call("scratch_create", metadata={"title": title}, cells=cells, **fields)
        return added["scratchpad"]["scratch_id"]

    def named(self, name: str, **changed: Any) -> Client:
        """Return another client of the same user."""
        return replace(self, scope=replace(self.scope, actor=name, **changed))


@pytest.fixture
def mine(database: Database, me: Principal) -> Client:
    return Client(make_desk(database), replace(me, actor="mine", session="1"))


@pytest.fixture
def other(mine: Client) -> Client:
    return mine.named("other", session="")


def titles(answer: dict[str, Any], name: str) -> list[str]:
    return [item["title"] for item in answer.get(name, [])]


def test_an_empty_desk_answers_nothing(mine: Client) -> None:
    assert mine.resume() == {}


def test_tasks_in_work_ready_and_blocked(mine: Client, clock: Clock) -> None:
    crane = mine.task("Fix the crane", priority=1)
    boat = mine.task("Paint the boat", due_at="2026-01-30")
    for n in range(4):
        mine.task(f"Wash {n}", priority=n)
    mine.task("Sail", blocked_by=[crane, boat, mine.task("Find a crew", priority=4)])
    left = mine.task("Left alone", priority=0)
    mine.call("claim_task", task_id=left, lease_seconds=60)
    clock.advance(minutes=2)
    mine.call("claim_task", task_id=crane, lease_seconds=600)

    answer = mine.resume()

    assert sorted(answer["in_work"], key=lambda item: item["title"]) == [
        {
            "uri": f"rolltop://task/{crane[:8]}",
            "title": "Fix the crane",
            "by": "mine (1)",
            "until": "2026-01-31T12:12Z",
        },
        {
            "uri": f"rolltop://task/{left[:8]}",
            "title": "Left alone",
            "by": "mine (1)",
            "until": "2026-01-31T12:01Z",
            "lapsed": True,
        },
    ]
    assert [(item["title"], item["why"]) for item in answer["ready"]] == [
        ("Wash 0", "priority 0"),
        ("Wash 1", "priority 1"),
        ("Wash 2", "priority 2"),
    ]
    (sail,) = answer["blocked"]
    blockers = {one.get("title", one["uri"]) for one in sail["blocked_by"]}
    assert blockers == {f"rolltop://task/{crane[:8]}", "Paint the boat", "Find a crew"}
    assert answer.keys() == {"in_work", "ready", "blocked"}  # nothing that is empty

    mine.call("complete_task", task_id=mine.resume()["ready"][0]["uri"].rpartition("/")[2])
    mine.call("update_task", task_id=boat, priority=1)
    first = mine.resume()["ready"][0]
    assert first["title"] == "Paint the boat"
    assert first["why"] == "priority 1, overdue since 2026-01-30"


def test_pads_and_notes_touched_last_once_each(mine: Client) -> None:
    note = mine.note("# Harbour\n\nmasts\n")
    pad = mine.pad("Config", "[1]", "[2]")
    gone = mine.note("# Gone")
    mine.call("note_manage", action="trash", id=gone, local_version=1)
    patch = [{"op": "add", "ln": 3, "val": "more"}]
    mine.call("note_save", id=note, local_version=1, text_patch=patch)

    answer = mine.resume()

    assert answer.keys() == {"recent"}
    assert [(item["uri"], item["title"], item["summary"]) for item in answer["recent"]] == [
        (f"rolltop://note/{note[:8]}", "Harbour", "+1 −0 lines"),
        (f"rolltop://note/{gone[:8]}", "Gone", "deleted"),
        (f"rolltop://pad/{pad[:8]}", "Config", "created"),
    ]
    cell = mine.call("scratch_list_cells", scratch_id=pad)["cells"][0]["cell_id"]
    new = {"language": "json", "content": "[9]"}
    mine.call("scratch_replace_cell", scratch_id=pad, cell_id=cell, cell=new)
    newest = mine.resume()["recent"][0]
    assert newest["title"] == "Config"
    assert newest["summary"].startswith("cell ")
    assert "content [1] → [9]" in newest["summary"]


def test_what_others_changed_since_this_client_last_wrote(
    mine: Client, other: Client, clock: Clock
) -> None:
    other.note("# Seen")
    task = mine.task("Paint the boat")
    done = mine.task("Wash")
    clock.advance(days=3)
    other.note("# New")
    other.call("update_task", task_id=task, title="Paint the red boat")
    other.call("complete_task", task_id=done)
    clock.advance(days=3)

    answer = mine.resume()

    assert [
        (item["title"], item["summary"], item["by"]) for item in answer["changed_by_others"]
    ] == [
        ("Wash", "status pending → completed", "other"),
        ("New", "created", "other"),
    ]
    assert all(item.keys() <= {"uri", *NEWS} for item in answer["changed_by_others"])
    (ready,) = answer["ready"]  # said once, with what was changed of it
    assert ready["changed"] == "other: title Paint the boat → Paint the red boat"
    assert titles(answer, "recent") == ["Seen"]
    assert answer["recent"][0]["by"] == "other"
    assert mine.named("mine", session="2").resume() == answer  # the same client, started again
    assert mine.resume() == answer  # reading counts for nothing
    mine.note("# Mine")
    after = mine.resume()
    assert "changed_by_others" not in after
    assert titles(after, "recent") == ["Mine", "New", "Seen"]
    assert "by" not in after["recent"][0]


def test_a_claim_by_another_is_told_once(mine: Client, other: Client) -> None:
    mine.note("# Mine")
    task = other.task("Paint the boat")
    claim = other.call("claim_task", task_id=task, lease_seconds=60)["data"]["claim"]
    (item,) = mine.resume()["in_work"]
    assert (item["by"], item["until"]) == ("other", "2026-01-31T12:01Z")
    assert "changed" not in item
    other.call("update_task", task_id=task, tags=["a"], token=claim["token"])
    (item,) = mine.resume()["in_work"]
    assert item["changed"] == "other: tags +a"


def test_a_client_that_never_wrote_gets_the_last_24_hours(
    mine: Client, other: Client, clock: Clock
) -> None:
    other.note("# Old")
    clock.advance(hours=25)
    other.note("# New")
    for client in (mine, mine.named("", session=""), mine.named("", session="7")):
        answer = client.resume()
        assert titles(answer, "changed_by_others") == ["New"]
        assert titles(answer, "recent") == ["Old"]
    nameless = mine.named("", session="7")
    nameless.note("# Own")  # what counts as its last call is nobody's to say
    assert titles(nameless.resume(), "changed_by_others") == ["New"]


def test_what_others_changed_is_told_to_a_client_that_wrote_long_before(
    mine: Client, other: Client, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume, "MAX_ENTRIES", 5)
    monkeypatch.setattr(resume, "MAX_SEARCHED", 10)
    mine.note("# Mine")
    for number in range(8):
        other.note(f"# New {number}")
    clock.advance(days=3)
    expected = [f"New {number}" for number in (7, 6, 5, 4, 3)]
    assert titles(mine.resume(), "changed_by_others") == expected
    assert "changed_by_others" not in mine.named("third").resume()
    for number in range(8, 16):
        other.note(f"# New {number}")
    clock.advance(days=3)
    assert "changed_by_others" not in mine.resume()


def test_whoever_linked_things_has_called(mine: Client, other: Client, clock: Clock) -> None:
    one, another = (other.note(f"# Seen {number}") for number in (1, 2))
    addresses = {"from": f"rolltop://note/{one}", "to": f"rolltop://note/{another}"}
    mine.call("desk_link", relation="relates", **addresses)
    other.note("# New")
    clock.advance(days=3)
    assert titles(mine.resume(), "changed_by_others") == ["New"]


def test_what_is_broken(mine: Client) -> None:
    pad = mine.pad("Config", "[1]", "[1,", "{]")
    note = mine.note("# Refused")
    mine.note("# Fine")

    def refuse(tx: Tx) -> None:
        notebooks.activate_account(tx, "me@example.org", with_local=True)
        notebook, _account = notebooks.open_notebook(tx, mine.desk.settings)
        found = notebook.get(note)
        assert found is not None
        notebook.set_backend_state(found, BackendState("conflict"))

    mine.desk.database.write_sync(mine.scope, refuse)
    answer = mine.resume()
    assert {(item["title"], item["problem"]) for item in answer["broken"]} == {
        ("Refused", "sync conflict"),
        ("[1,", "json: 1 error"),
        ("{]", "json: 1 error"),
    }
    assert titles(answer, "recent") == ["Fine", "Config"]
    for item in answer["broken"]:
        assert mine.call("desk_read", uri=item["uri"])["title"] == item["title"]
    cells = mine.call("scratch_list_cells", scratch_id=pad)["cells"]
    unchecked = {"language": "json", "content": "[2]", "validate": False}
    for cell, new in zip(cells[1:], ({**unchecked, "validate": True}, unchecked), strict=True):
        cell_id = cell["cell_id"]
        mine.call("scratch_replace_cell", scratch_id=pad, cell_id=cell_id, cell=new)
    broken = [item for item in mine.resume()["broken"] if "note" not in item["uri"]]
    assert [(item["title"], item["problem"]) for item in broken] == [
        ("[2]", "json: 1 error, changed since")
    ]
    mine.call("scratch_delete", scratch_id=pad)
    assert titles(mine.resume(), "broken") == ["Refused"]


def test_broken_evidence_of_what_others_did_is_named_within_the_budget(
    mine: Client, other: Client
) -> None:
    proof = other.note("# Proof")
    done = other.task("Done by another", evidence=[f"rolltop://note/{proof}"])
    other.call("complete_task", task_id=done)
    other.call("note_save", id=proof, local_version=1, text="# Other")
    for n in range(10):
        other.note(f"# Note {n} with a long title\n\ntext")
    (told,) = mine.resume(max_tokens=4000)["broken"]
    assert told == {
        "uri": f"rolltop://task/{done[:8]}",
        "title": "Done by another",
        "problem": "evidence changed",
        "changed": "other: status pending → completed",
    }
    assert titles(mine.resume(max_tokens=300), "broken") == ["Done by another"]


def test_a_project_shows_its_own_and_what_has_none(
    mine: Client, other: Client, clock: Clock
) -> None:
    port, sea = (mine.named("mine", project=name) for name in ("port", "sea"))
    for client in (port, sea, other):
        clock.advance(seconds=1)
        name = client.scope.project or "none"
        client.task(f"task of {name}")
        client.pad(f"pad of {name}", f"[{name}")
    clock.advance(seconds=1)
    other.task("given to sea", project="sea")

    answer = port.resume()
    assert answer["project"] == "port"
    assert titles(answer, "ready") == ["task of port", "task of none"]
    assert sorted(titles(answer, "broken")) == ["[none", "[port"]
    assert titles(answer, "recent") == ["pad of port"]
    assert titles(answer, "changed_by_others") == ["pad of none"]
    assert port.resume(project="sea") == {**sea.resume(), "project": "sea"}
    assert "task of sea" in titles(sea.resume(), "ready")
    everything = port.resume(project="*")
    assert "project" not in everything
    assert titles(everything, "ready") == ["task of port", "task of sea", "task of none"]
    refused = call_tool(port.desk, port.scope, "desk_resume", project="p" * 101)
    assert refused.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("budget", [300, 800])
def test_every_open_item_is_named_once_within_the_budget(
    mine: Client, other: Client, budget: int
) -> None:
    open_titles = [f"Fix crane {n} of the harbour" for n in range(14)]
    tasks = [mine.task(title) for title in open_titles[:3]]
    for task, title in zip(tasks * 3, open_titles[3:12], strict=True):
        mine.task(title, blocked_by=[task])
    for title in open_titles[12:]:
        mine.call("claim_task", task_id=mine.task(title))
    mine.pad("Config", "[1,")
    for n in range(30):
        other.note(f"# Note {n} with a long title\n\ntext")

    answer = call_tool(mine.desk, mine.scope, "desk_resume", max_tokens=budget)

    assert token_counter.count(answer.text) <= budget
    shown = answer.structured
    named = [title for name in LISTS for title in titles(shown, name)]
    assert len(named) == len(set(named))
    assert {*open_titles, "[1,"} <= set(named)
    uris = [item["uri"] for name in LISTS for item in shown.get(name, []) if "uri" in item]
    assert len(uris) == len(set(uris))
    assert shown["truncated"] is True
    assert shown["more"]["changed_by_others"] == 30 - len(shown.get("changed_by_others", []))
    if budget == 800:
        assert all("uri" in item for name in LISTS for item in shown.get(name, []))
        for left_out in ({}, {"max_tokens": None}):
            assert mine.resume(**left_out) == shown
        whole = mine.call(shown["next"]["tool"], **shown["next"]["arguments"])
        assert "truncated" not in whole
        assert len(whole["changed_by_others"]) == 20
        assert whole["more"] == {"changed_by_others": 10}


def test_a_pad_whose_cells_all_moved_hides_nothing_else(mine: Client, other: Client) -> None:
    mine.note("# Mine")
    names = [f"Note {number}" for number in range(6)]
    for name in names:
        other.note(f"# {name}")
    pad = other.pad("Config", *(f"[{number}]" for number in range(100)))
    last = other.call("scratch_list_cells", scratch_id=pad)["cells"][-1]["cell_id"]
    new = {"language": "json", "content": "[99]"}
    given = {"scratch_id": pad, "cell_id": last, "new_index": 0}
    other.call("scratch_replace_cell", **given, cell=new)
    answer = mine.resume()
    assert sorted(titles(answer, "changed_by_others")) == ["Config", *names]
    assert titles(answer, "recent") == ["Mine"]
    assert "truncated" not in answer
    assert answer["changed_by_others"][0]["summary"] == "cells moved"


def test_what_was_touched_loses_its_line_before_its_name(mine: Client, other: Client) -> None:
    mine.note("# Mine")
    tags = [f"{'t' * 30}{number}" for number in range(3)]
    for number in range(5):
        text = f"# Note {number}"
        other.call("note_save", id=other.note(text), local_version=1, text=text, tags=tags)
    whole = mine.resume()["changed_by_others"]
    assert titles({"all": whole}, "all") == [f"Note {number}" for number in (4, 3, 2, 1, 0)]
    brief = [{name: item[name] for name in item if name != "summary"} for item in whole]
    counts = set[tuple[int, int]]()
    for budget in range(200, 600, 8):
        shown = mine.resume(max_tokens=budget).get("changed_by_others", [])
        count = sum("summary" in item for item in shown)
        assert shown == [*whole[:count], *brief[count : len(shown)]]
        assert count == 0 or len(shown) == len(whole)
        counts.add((count, len(shown)))
    assert {(count, 5) for count in range(6)} <= counts


def test_what_no_budget_holds_is_counted(mine: Client) -> None:
    first = mine.task("First")
    plan = [{"title": f"Step {n} " + "x" * 80, "blocked_by": [first]} for n in range(45)]
    for _ in range(2):
        mine.call("add_task", tasks=plan)
    answer = call_tool(mine.desk, mine.scope, "desk_resume", max_tokens=200)
    assert token_counter.count(answer.text) <= 200
    assert titles(answer.structured, "ready") == ["First"]
    assert len(titles(answer.structured, "blocked")) + answer.structured["more"]["blocked"] == 90


def test_another_tenant_sees_nothing_and_no_statement_leaves_the_tenant(
    mine: Client, other: Client, them: Principal
) -> None:
    mine.call("claim_task", task_id=mine.task("Mine"))
    mine.pad("Config", "[1,")
    other.note("# Note")
    with kept_to((mine.scope.user_id,), besides=()):
        assert mine.resume(project="*").keys() >= {"in_work", "broken", "changed_by_others"}
    theirs = Client(mine.desk, replace(them, actor="mine", session="1"))
    assert theirs.resume(project="*") == {}


def test_a_token_that_may_only_read_resumes_and_leaves_no_trace(
    mine: Client, other: Client
) -> None:
    other.note("# Note")
    reader = mine.named("reader", permissions=frozenset({READ}))
    before = mine.call("desk_history")
    assert titles(reader.resume(), "changed_by_others") == ["Note"]
    assert reader.resume() == reader.resume()
    assert mine.call("desk_history") == before


def test_a_server_without_a_toolset_leaves_its_things_out(mine: Client) -> None:
    mine.task("Task")
    mine.note("# Note")
    mine.pad("Config", "[1,")
    few = ToolSelection(toolsets=("desk", "notes"))
    desk = make_desk(mine.desk.database, toolsets=TOOLSETS, selection=few)
    answer = replace(mine, desk=desk).resume()
    assert answer.keys() == {"recent"}
    assert titles(answer, "recent") == ["Note"]
