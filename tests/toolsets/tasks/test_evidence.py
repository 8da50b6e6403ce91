"""Tasks that take evidence: when they complete, what becomes of it later, and what reopens."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import evidence
from rolltop.core.principal import IMPERSONATE
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.tasks import TOOLSET as TASKS
from rolltop.toolsets.tasks import jobs, store
from rolltop.workspace import Roots, file_stat
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

    Call = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    written = folder / "log.md"
    written.write_text("# Log\n\nall tests pass\nend\n")
    return written


@pytest.fixture
def desk(database: Database, file: Path) -> AppContext:
    return make_desk(database, roots=Roots.open({"docs": file.parent}, base=file.parent))


@pytest.fixture
def call(desk: AppContext, me: Principal) -> Call:
    """Return what a call that must succeed answered."""
    return partial(answer_of, desk, me)


def cell(call: Call, content: str) -> dict[str, str]:
    made = call("scratch_create", cells=[{"language": "json", "content": content}])["scratchpad"]
    found = made["cells"][0]
    return {"scratch_id": made["scratch_id"], "cell_id": found["cell_id"], "uri": found["uri"]}


LINES = "rolltop://file/docs/log.md#L3"


def test_a_task_completes_once_each_criterion_has_evidence_that_resolves(
    desk: AppContext, me: Principal, call: Call
) -> None:
    task = call(
        "add_task",
        title="Ship it",
        acceptance=["tests pass", "numbers are JSON", "it is announced"],
        requires_evidence=True,
    )["data"]["task_id"]

    def refused() -> str:
        answer = call_tool(desk, me, "complete_task", task_id=task)
        assert answer.code == "CONFLICT"
        assert answer.structured["data"]["status"] == "pending"
        return answer.structured["error"]

    assert "Criterion 1 (tests pass) has no evidence" in refused()
    broken = cell(call, "[1,")
    call("update_task", task_id=task, evidence=[LINES, broken["uri"]])
    assert "Criterion 3 (it is announced) has no evidence" in refused()
    call("update_task", task_id=task, evidence=[LINES, broken["uri"], "https://example.org/1"])
    assert "Evidence 2 does not resolve" in refused()
    assert "does not validate" in refused()
    where = {name: broken[name] for name in ("scratch_id", "cell_id")}
    call("scratch_edit_cell", **where, edits=[{"old": "[1,", "new": "[1]"}])
    done = call("complete_task", task_id=task)["data"]
    assert done["status"] == "completed"
    shown = call("get_task", task_id=task)["data"]
    assert shown["acceptance"] == ["tests pass", "numbers are JSON", "it is announced"]
    assert [one["uri"] for one in shown["evidence"]] == [
        LINES,
        broken["uri"],
        "https://example.org/1",
    ]
    assert not any("state" in one for one in shown["evidence"])
    assert call("complete_task", task_id=task)["data"] == done


def test_without_criteria_one_evidence_is_needed(
    desk: AppContext, me: Principal, call: Call
) -> None:
    task = call("add_task", title="a", requires_evidence=True)["data"]["task_id"]
    refused = call_tool(desk, me, "complete_task", task_id=task)
    assert "has no evidence" in refused.structured["error"]
    assert "update_task" in refused.structured["hint"]
    note = call("note_save", text="done")["uri"]
    call("update_task", task_id=task, evidence=[note])
    assert call("complete_task", task_id=task)["data"]["status"] == "completed"


def test_a_task_that_requires_none_completes_as_ever(call: Call) -> None:
    task = call("add_task", title="a", acceptance=["b"], evidence=[LINES])["data"]["task_id"]
    assert call("complete_task", task_id=task)["data"]["status"] == "completed"


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("nothing", "INVALID_ARGUMENT"),
        ("rolltop://note/00000000", "NOT_FOUND"),
        ("rolltop://file/docs/none.md", "NOT_FOUND"),
        ("rolltop://file/docs/log.md#L4-5", "NOT_FOUND"),
        ("rolltop://file/elsewhere/log.md", "NOT_FOUND"),
        ("rolltop://file/docs/..%2Fsecret", "NOT_FOUND"),
        ("rolltop://pad/00000000", "INVALID_ARGUMENT"),
        ("rolltop://cell/none", "INVALID_ARGUMENT"),
        ("ftp://example.org/", "INVALID_ARGUMENT"),
    ],
)
def test_what_is_no_evidence_is_refused(
    desk: AppContext, me: Principal, call: Call, uri: str, code: str
) -> None:
    answer = call_tool(desk, me, "add_task", title="a", evidence=[uri])
    assert answer.code == code, answer.text
    assert answer.structured["error"].startswith("evidence")
    assert answer.structured["hint"]
    assert call("list_tasks")["data"] == []


def state_of(call: Call, task: str) -> list[str | None]:
    """What each list says of a task's evidence."""
    listed = [one for one in call("list_tasks")["data"] if one["task_id"] == task]
    found = [one for one in call("list_tasks", q="proved")["data"] if one["task_id"] == task]
    broken = call("desk_resume").get("broken", [])
    told = [one["problem"].removeprefix("evidence ") for one in broken]
    details = [one.get("state") for one in call("get_task", task_id=task)["data"]["evidence"]]
    return [listed[0].get("evidence"), found[0].get("evidence"), *(told or [None]), *details]


def test_evidence_that_changes_or_vanishes_is_told_in_every_list(call: Call, file: Path) -> None:
    note = call("note_save", text="one\ntwo\n")
    pair = cell(call, "[1]")
    task = call("add_task", title="proved", evidence=[f"{note['uri']}#L1", LINES, pair["uri"]])[
        "data"
    ]["task_id"]
    call("complete_task", task_id=task)
    assert state_of(call, task) == [None] * 6
    call("note_save", id=note["id"], local_version=1, text="one\nother\n")
    file.write_text("# Log\n\nall tests pass\nmore\n")
    assert state_of(call, task) == [None] * 6  # other lines
    file.write_text("# Log\n\ntests fail\n")
    assert state_of(call, task) == ["changed"] * 3 + [None, "changed", None]
    call("scratch_delete", scratch_id=pair["scratch_id"])
    assert state_of(call, task) == ["missing"] * 3 + [None, "changed", "missing"]
    file.write_text("# Log\n\nall tests pass\n")
    call("scratch_restore", scratch_id=pair["scratch_id"])
    assert state_of(call, task) == [None] * 6
    call("note_manage", action="trash", id=note["id"], local_version=2)
    assert state_of(call, task) == ["missing"] * 3 + ["missing", None, None]


def evidence_of(call: Call, task: str) -> list[dict[str, str]]:
    return call("get_task", task_id=task)["data"]["evidence"]


def test_lines_that_moved_are_evidence_where_they_are_now(
    desk: AppContext, call: Call, file: Path
) -> None:
    file.write_text("# Log\n\nall tests pass\non both\n\nend\n\nend\n")
    note = call("note_save", text="one\nall is measured\n")
    kept = ["rolltop://file/docs/log.md#L3-4", f"{note['uri']}#L2", "rolltop://file/docs/log.md#L6"]
    ids = [
        call("add_task", title="proved", evidence=[uri], reopen_on_change=True)["data"]["task_id"]
        for uri in kept
    ]
    for task in ids[:2]:
        call("complete_task", task_id=task)
    file.write_text("# Log\n\nnew\n\nall tests pass\non both\n\nend\n\nend\n")
    call("note_save", id=note["id"], local_version=1, text="zero\none\nall is measured\n")
    moved = {"uri": "rolltop://file/docs/log.md#L5-6", "became": "moved to L5-6"}
    assert evidence_of(call, ids[0]) == [moved]
    assert evidence_of(call, ids[1]) == [{"uri": f"{note['uri']}#L3", "became": "moved to L3"}]
    [several] = evidence_of(call, ids[2])
    assert several == {"uri": kept[2], "state": "changed"}  # which of two is it?
    asyncio.run(jobs.reopen_changed(desk))
    listed = {one["task_id"]: one for one in call("list_tasks")["data"]}
    assert [listed[task]["status"] for task in ids[:2]] == ["completed"] * 2
    assert not any("evidence" in listed[task] for task in ids[:2])
    file.write_text("all tests pass\non both\n")
    assert evidence_of(call, ids[0])[0]["became"] == "moved to L1-2"
    file.write_text("all tests pass\non one\n")
    assert evidence_of(call, ids[0]) == [{"uri": kept[0], "state": "missing"}]
    asyncio.run(jobs.reopen_changed(desk))
    assert call("get_task", task_id=ids[0])["data"]["status"] == "pending"


def test_lines_of_which_there_were_two_are_not_taken_for_each_other(call: Call, file: Path) -> None:
    file.write_text("a\nassert ok\nb\nassert ok\n")
    uri = "rolltop://file/docs/log.md#L2"
    task = call("add_task", title="proved", evidence=[uri])["data"]["task_id"]
    call("complete_task", task_id=task)
    file.write_text("a\nassert True\nb\nassert ok\n")
    assert evidence_of(call, task) == [{"uri": uri, "state": "changed"}]


def test_a_task_completes_with_the_lines_that_were_named_wherever_they_are(
    call: Call, file: Path
) -> None:
    given = {"title": "proved", "evidence": [LINES], "requires_evidence": True}
    task = call("add_task", **given)["data"]["task_id"]
    file.write_text("# Log\n\nnot these\n\nall tests pass\n")
    call("complete_task", task_id=task)
    assert evidence_of(call, task) == [{"uri": "rolltop://file/docs/log.md#L5"}]
    file.write_text("# Log\n\nneither\n\nall tests pass\n")
    assert evidence_of(call, task) == [{"uri": "rolltop://file/docs/log.md#L5"}]


def test_lines_are_not_looked_for_where_that_takes_long(call: Call, file: Path) -> None:
    lines = [f"line {number}\n" for number in range(4000)]
    file.write_text("".join(lines))
    addresses = [f"rolltop://file/docs/log.md#{where}" for where in ("L9-12", "L1-3000")]
    task = call("add_task", title="proved", evidence=addresses)["data"]["task_id"]
    file.write_text("".join(["new\n", *lines]))
    short, long = evidence_of(call, task)
    assert short["became"] == "moved to L10-13"
    assert long["state"] == "changed"


def test_a_task_is_reopened_where_its_evidence_changes(
    desk: AppContext, call: Call, file: Path
) -> None:
    ids: list[str] = []
    for reopens in (True, False):
        given = {"title": "a", "evidence": [LINES], "reopen_on_change": reopens}
        ids.append(call("add_task", **given)["data"]["task_id"])
        call("complete_task", task_id=ids[-1])
    asyncio.run(jobs.reopen_changed(desk))
    assert {one["status"] for one in call("list_tasks")["data"]} == {"completed"}
    file.write_text("# Log\n\ntests fail\n")
    asyncio.run(jobs.reopen_changed(desk))
    first, second = (call("get_task", task_id=one)["data"] for one in ids)
    assert (first["status"], second["status"]) == ("pending", "completed")
    assert [one["text"] for one in first["comments"]] == ["reopened: evidence changed"]
    summary = call("desk_history")["changes"][0]["summary"]
    assert summary == "status completed → pending, comment"
    asyncio.run(jobs.reopen_changed(desk))
    assert call("get_task", task_id=ids[0])["data"] == first


def test_every_task_is_reopened_however_many_have_evidence(
    desk: AppContext, call: Call, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_TASKS_TO_REOPEN", 2)
    ids: set[str] = set()
    for _task in range(5):
        given = {"title": "a", "evidence": [LINES], "reopen_on_change": True}
        ids.add(call("add_task", **given)["data"]["task_id"])
    for task in ids:
        call("complete_task", task_id=task)
    asyncio.run(jobs.reopen_changed(desk))
    file.write_text("# Log\n\ntests fail\n")
    for pending in (2, 4, 5):
        asyncio.run(jobs.reopen_changed(desk))
        found = {one["task_id"] for one in call("list_tasks", status="pending")["data"]}
        assert found <= ids
        assert len(found) == pending


@pytest.fixture
def elsewhere(database: Database, tmp_path: Path, request: pytest.FixtureRequest) -> AppContext:
    """Return another server on the same store, which does not see the same files."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "log.md").write_text("# Another project\n")
    roots = {"another project": {"docs": other}, "no such root": {"code": other}}
    return make_desk(
        database,
        roots=Roots.open(roots.get(request.param, {}), base=tmp_path),
        toolsets=(TASKS,) if request.param == "tasks alone" else TOOLSETS,
    )


@pytest.mark.parametrize(
    "elsewhere", ["another project", "no such root", "no root", "tasks alone"], indirect=True
)
def test_evidence_is_left_alone_by_servers_that_cannot_look_at_it(
    elsewhere: AppContext, desk: AppContext, me: Principal, call: Call, file: Path
) -> None:
    note = call("note_save", text="done")["uri"]
    given = {"title": "proved", "evidence": [LINES, note]}
    done, waits = (
        call("add_task", **given, **flag)["data"]["task_id"]
        for flag in ({"reopen_on_change": True}, {"requires_evidence": True})
    )
    call("complete_task", task_id=done)
    there = partial(answer_of, elsewhere, me)
    asyncio.run(jobs.reopen_changed(elsewhere))
    listed = {one["task_id"]: one for one in there("list_tasks")["data"]}
    assert listed[done]["status"] == "completed"
    assert not any("evidence" in one for one in listed.values())
    assert not any("state" in one for one in evidence_of(there, done))
    refused = call_tool(elsewhere, me, "complete_task", task_id=waits)
    assert refused.code == "CONFLICT"
    assert "Evidence 1 cannot be looked at here" in refused.structured["error"]
    assert "at a server that reads its evidence" in refused.structured["hint"]
    assert call("complete_task", task_id=waits)["data"]["status"] == "completed"
    file.write_text("# Log\n\ntests fail\n")
    asyncio.run(jobs.reopen_changed(desk))
    assert call("get_task", task_id=done)["data"]["status"] == "pending"


@pytest.mark.parametrize("left", ["nothing", "an empty folder"])
def test_evidence_is_not_missing_while_its_whole_root_is(
    desk: AppContext, call: Call, file: Path, left: str
) -> None:
    given = {"title": "proved", "evidence": [LINES], "reopen_on_change": True}
    task = call("add_task", **given)["data"]["task_id"]
    call("complete_task", task_id=task)
    file.parent.rename(file.parent.with_name("unmounted"))
    if left != "nothing":
        file.parent.mkdir()
    asyncio.run(jobs.reopen_changed(desk))
    [listed] = call("list_tasks")["data"]
    assert listed["status"] == "completed"
    assert "evidence" not in listed


def test_notes_of_another_account_go_on_proving_a_task(
    database: Database, desk: AppContext, me: Principal, call: Call
) -> None:
    note = call("note_save", text="done")["uri"]
    given = {"title": "proved", "evidence": [note], "reopen_on_change": True}
    task = call("add_task", **given)["data"]["task_id"]
    call("complete_task", task_id=task)
    for with_local in (False, True):
        account = "me@example.org"
        database.write_sync(me, notebooks.activate_account, account, with_local=with_local)
        asyncio.run(jobs.reopen_changed(desk))
        [listed] = call("list_tasks")["data"]
        assert listed["status"] == "completed"
        assert "evidence" not in listed


def test_a_note_that_was_deleted_for_good_proves_nothing(desk: AppContext, call: Call) -> None:
    note = call("note_save", text="done")
    given = {"title": "proved", "evidence": [note["uri"]], "reopen_on_change": True}
    task = call("add_task", **given)["data"]["task_id"]
    call("complete_task", task_id=task)
    call("note_manage", action="trash", id=note["id"], local_version=1)
    call("note_manage", action="delete_permanently", id=note["id"], local_version=2)
    asyncio.run(jobs.reopen_changed(desk))
    [comment] = call("get_task", task_id=task)["data"]["comments"]
    assert comment["text"] == "reopened: evidence missing"


@pytest.mark.parametrize("became", ["folder", "pipe", "link", "too large"])
def test_what_took_the_place_of_evidence_reopens_its_task(
    desk: AppContext, call: Call, file: Path, tmp_path: Path, became: str
) -> None:
    file.with_name("other.md").write_text("Other\n")
    given = {"title": "proved", "evidence": [LINES], "reopen_on_change": True}
    task = call("add_task", **given)["data"]["task_id"]
    call("complete_task", task_id=task)
    if became == "too large":
        os.truncate(file, evidence.MAX_READ_BYTES + 1)
    else:
        file.unlink()
    if became == "folder":
        file.mkdir()
    elif became == "pipe":
        os.mkfifo(file)
    elif became == "link":
        (tmp_path / "outside.md").write_text("# Log\n\nall tests pass\n")
        file.symlink_to(tmp_path / "outside.md")
    asyncio.run(jobs.reopen_changed(desk))
    [listed] = call("list_tasks")["data"]
    said = "changed" if became == "too large" else "missing"
    assert (listed["status"], listed["evidence"]) == ("pending", said)


@pytest.mark.parametrize("elsewhere", ["another project"], indirect=True)
def test_evidence_that_is_the_same_in_another_directory_proves_a_task(
    elsewhere: AppContext, me: Principal, call: Call, file: Path, tmp_path: Path
) -> None:
    task = call("add_task", title="proved", evidence=[LINES], requires_evidence=True)
    (tmp_path / "other" / "log.md").write_bytes(file.read_bytes())
    sent = {"task_id": task["data"]["task_id"]}
    assert call_tool(elsewhere, me, "complete_task", **sent).code is None


def test_what_is_wrong_with_evidence_is_told_however_much_else_there_is(
    call: Call, file: Path
) -> None:
    call("add_task", title="proved", evidence=[LINES])
    addresses = [[f"https://a.example/{n}-{m}" for m in range(50)] for n in range(45)]
    call("add_task", tasks=[{"title": "links", "evidence": some} for some in addresses])
    file.write_text("# Log\n")
    assert str(call("desk_resume")).count("evidence missing") == 1  # in whichever list it stands


def test_a_list_reads_so_much_evidence_and_the_next_one_goes_on(
    call: Call, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", 0)
    large = [file.with_name(f"{name}.log") for name in ("a", "b", "c")]
    for each in large:
        each.write_text("1\n")
        os.truncate(each, evidence.MAX_READ_BYTES // 2 + 1)
    uris = [f"rolltop://file/docs/{each.name}#L1" for each in large]
    call("add_task", tasks=[{"title": "proved", "evidence": [uri] * 3} for uri in uris])

    def count_changed(line: bytes) -> int:
        for each in large:
            with each.open("r+b") as opened:
                if opened.read(len(line)) != line:
                    opened.seek(0)
                    opened.write(line)
        return sum("evidence" in one for one in call("list_tasks")["data"])

    assert [count_changed(line) for line in (b"2\n", b"2\n", b"2\n")] == [2, 3, 3]
    assert [count_changed(line) for line in (b"1\n", b"1\n")] == [0, 0]


def test_evidence_is_undone_with_its_task(call: Call) -> None:
    task = call("add_task", title="a", acceptance=["b"])["data"]["task_id"]
    call("update_task", task_id=task, evidence=[LINES], requires_evidence=True)
    operation = call("desk_history")["changes"][0]["operation"]
    call("desk_undo", operation=operation)
    shown = call("get_task", task_id=task)["data"]
    assert shown["acceptance"] == ["b"]
    assert not {"evidence", "requires_evidence"} & shown.keys()
    call("update_task", task_id=task, acceptance=[], evidence=[])
    assert "acceptance" not in call("get_task", task_id=task)["data"]


def test_nobody_proves_anything_by_anothers_notes(
    desk: AppContext, me: Principal, them: Principal
) -> None:
    note = call_tool(desk, them, "note_save", text="theirs").structured["uri"]
    refused = call_tool(desk, me, "add_task", title="a", evidence=[note])
    assert refused.code == "NOT_FOUND"


def test_evidence_of_another_s_task_is_looked_for_among_their_things(
    desk: AppContext, me: Principal, them: Principal
) -> None:
    who = replace(me, permissions=me.permissions | {IMPERSONATE})
    for_them = partial(answer_of, desk, who, user_id=them.user_id)
    mine, theirs = (answer_of(desk, one, "note_save", text="a")["uri"] for one in (me, them))
    refused = call_tool(desk, who, "add_task", title="a", evidence=[mine], user_id=them.user_id)
    assert refused.code == "NOT_FOUND"
    task = for_them("add_task", title="a", evidence=[theirs], requires_evidence=True)["data"]
    for_them("update_task", task_id=task["task_id"], evidence=[theirs])
    shown = [
        *for_them("list_tasks")["data"],
        *for_them("list_tasks", q="a")["data"],
        for_them("next_task")["data"],
        for_them("get_task", task_id=task["task_id"])["data"],
    ]
    for one in (*shown, *answer_of(desk, them, "list_tasks")["data"]):
        assert "missing" not in str(one)
    done = for_them("complete_task", task_id=task["task_id"])["data"]
    assert done["status"] == "completed"


def test_a_plain_path_is_the_evidence_that_its_address_is(call: Call) -> None:
    task = call("add_task", title="Plain", evidence=["log.md:3", "log.md"])["data"]
    found = call("get_task", task_id=task["task_id"])["data"]["evidence"]
    assert [one["uri"] for one in found] == [LINES, "rolltop://file/docs/log.md"]
