"""Every write leaves entries in the journal, whoever makes it, in the order of commits."""

from __future__ import annotations

import asyncio
import base64
import random
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, select

from rolltop.core import accounts
from rolltop.core.db import SYSTEM
from rolltop.core.journal import history
from rolltop.core.journal.tables import journal, journal_contents
from rolltop.core.principal import Principal
from rolltop.toolsets.desk import jobs
from tests.desks import answer_of, call_tool, make_desk
from tests.forks import PATIENCE
from tests.growth import count_steps

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.journal.history import Entry
    from tests.databases import Clock, MakeDatabase


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


def call(desk: AppContext, who: Principal, tool: str, /, **arguments: Any) -> dict[str, Any]:
    return answer_of(desk, who, tool, **arguments)


def entries(desk: AppContext, who: Principal) -> list[Entry]:
    return desk.database.read_sync(who, history.read_entries, limit=1000)


def said(desk: AppContext, who: Principal) -> list[str]:
    """Each entry as `tool kind: summary`."""

    def read(tx: Tx) -> list[str]:
        found = history.read_entries(tx, limit=1000)
        texts = history.read_texts(tx, history.text_digests(found))
        return [f"{one.tool} {one.kind}: {history.summarize(one, texts)}" for one in found]

    return desk.database.read_sync(who, read)


def test_flags_are_told_alike_on_both_databases(desk: AppContext, me: Principal) -> None:
    task = call(desk, me, "add_task", title="Write", requires_evidence=False)["data"]["task_id"]
    call(desk, me, "update_task", task_id=task, requires_evidence=True)
    assert said(desk, me)[-1] == "update_task task: requires_evidence false → true"


def test_a_task_s_life_is_told_in_lines(desk: AppContext, me: Principal) -> None:
    task = call(desk, me, "add_task", title="Write", description="a\nb\n")["data"]["task_id"]
    call(desk, me, "update_task", task_id=task, title="Read", priority=1)
    call(desk, me, "update_task", task_id=task, description="a\nc\nd\n")
    token = call(desk, me, "claim_task", task_id=task)["data"]["claim"]["token"]
    call(desk, me, "complete_task", task_id=task, token=token)
    call(desk, me, "delete_task", task_id=task)
    assert not [line for line in said(desk, me) if "hash" in line]
    assert [line for line in said(desk, me) if "claim" not in line] == [
        "add_task task: created",
        "update_task task: title Write → Read, priority none → 1",
        "update_task task: +2 −1 lines",
        "complete_task task: status pending → completed",
        "delete_task task: deleted",
    ]
    assert {one.ref for one in entries(desk, me)} == {task}
    assert [one.sequence for one in entries(desk, me)] == [1, 2, 3, 4, 5, 6]
    assert [one.version_after for one in entries(desk, me)] == [1, 2, 3, 4, 5, 6]


def test_a_note_s_life_is_told_in_lines(desk: AppContext, me: Principal) -> None:
    note = call(desk, me, "note_save", text="a\nb\n", tags=["x"])
    saved = call(desk, me, "note_save", id=note["id"], local_version=1, text="a\nc\nd\n")
    call(desk, me, "note_save", id=note["id"], local_version=2, text="a\nc\nd\n", tags=["y"])
    call(desk, me, "note_manage", id=note["id"], action="trash", local_version=3)
    assert saved["local_version"] == 2
    assert said(desk, me) == [
        "note_save note: created",
        "note_save note: +2 −1 lines",
        "note_save note: tags +y −x",
        "note_manage note: deleted",
    ]
    assert {one.ref for one in entries(desk, me)} == {note["id"]}


def test_a_pad_s_life_is_told_by_pad_and_cell(desk: AppContext, me: Principal) -> None:
    cells = [{"language": "md", "content": text} for text in ("a\n", "b\n")]
    pad = call(desk, me, "scratch_create", cells=cells)["scratchpad"]
    first = pad["cells"][0]["cell_id"]
    given = {"scratch_id": pad["scratch_id"]}
    call(desk, me, "scratch_append_cell", **given, cell=cells[0])
    call(desk, me, "scratch_edit_cell", **given, cell_id=first, edits=[{"old": "a", "new": "c"}])
    call(desk, me, "scratch_delete_cell", **given, cell_id=first)
    call(desk, me, "scratch_delete", **given)
    assert said(desk, me) == [
        "scratch_create pad: created",
        "scratch_create cell: created",
        "scratch_create cell: created",
        "scratch_append_cell cell: created",
        "scratch_edit_cell cell: +1 −1 lines",
        "scratch_delete_cell cell: deleted (restore: desk_undo)",
        "scratch_delete_cell pad: cells moved",
        "scratch_delete pad: deleted",
    ]


def test_what_stands_beside_a_task_is_told_by_its_names(desk: AppContext, me: Principal) -> None:
    blocker = call(desk, me, "add_task", title="Read")["data"]["task_id"]
    task = call(desk, me, "add_task", title="Write", tags=["a"])["data"]["task_id"]
    page = "https://example.org/build/1"
    changes: list[dict[str, Any]] = [
        {"tags": ["b", "c"], "priority": 1},
        {"blocked_by": [blocker]},
        {"comment": "half done"},
        {"acceptance": ["It builds", "It runs"]},
        {"acceptance": ["It runs"]},
        {"evidence": [page]},
        {"evidence": []},
        {"blocked_by": [], "due_at": "2026-02-01T10:00:00Z", "comment": "soon"},
    ]
    for given in changes:
        call(desk, me, "update_task", task_id=task, **given)
    call(desk, me, "claim_task", task_id=task, lease_seconds=60)
    call(desk, me, "desk_undo", operation=entries(desk, me)[-1].operation)
    assert said(desk, me)[1:] == [
        "add_task task: created",
        "update_task task: priority none → 1, tags +b +c −a",
        f"update_task task: blocked_by +{blocker[:8]}",
        "update_task task: comment",
        "update_task task: acceptance +It builds +It runs",
        "update_task task: acceptance −It builds",
        f"update_task task: evidence +{page}",
        f"update_task task: evidence −{page}",
        f"update_task task: due_at none → 2026-02-01T10:00Z, blocked_by −{blocker[:8]}, comment",
        "claim_task task: claimed until 2026-01-31T12:01Z",
        "desk_undo task: claim released",
    ]
    lines = call(desk, me, "get_task", task_id=task)["data"]["history"]
    assert [line.partition("unknown: ")[2] for line in lines] == [
        "claim released",
        "claimed until 2026-01-31T12:01Z",
        f"due_at none → 2026-02-01T10:00Z, blocked_by −{blocker[:8]}",  # comments show elsewhere
        f"evidence −{page}",
        f"evidence +{page}",
    ]


def test_a_schema_of_a_pad_is_told_by_its_name(desk: AppContext, me: Principal) -> None:
    pad = call(desk, me, "scratch_create", cells=[], tags=["a"])["scratchpad"]["scratch_id"]
    given = {"action": "upsert", "scratch_id": pad}
    schema = {"name": "pay", "description": "", "schema": {"type": "object"}}
    call(desk, me, "scratch_schema", **given, schema=schema)
    call(desk, me, "scratch_update", scratch_id=pad, tags=["b"])
    assert said(desk, me)[1:] == [
        "scratch_schema pad: schemas +pay",
        "scratch_update pad: tags +b −a",
    ]


def test_lines_of_a_value_make_no_lines_of_the_history(desk: AppContext, me: Principal) -> None:
    task = call(desk, me, "add_task", title="a")["data"]["task_id"]
    call(desk, me, "update_task", task_id=task, acceptance=["one\ntwo\u2028three"])
    assert said(desk, me)[-1] == "update_task task: acceptance +one two three"
    (shown,) = call(desk, me, "get_task", task_id=task)["data"]["history"]
    assert len(shown.splitlines()) == 1


def test_a_line_of_many_changes_is_cut(desk: AppContext, me: Principal) -> None:
    task = call(desk, me, "add_task", title="a" * 90)["data"]["task_id"]
    call(desk, me, "update_task", task_id=task, title="b" * 90, description="c" * 90, priority=1)
    line = said(desk, me)[-1].removeprefix("update_task task: ")
    assert line.startswith(f"title {'a' * 59}… → {'b' * 59}…")
    assert (len(line), line[-1]) == (160, "…")


def test_a_call_that_failed_and_one_that_changed_nothing_leave_no_entry(
    desk: AppContext, me: Principal
) -> None:
    task = call(desk, me, "add_task", title="a")["data"]["task_id"]
    before = entries(desk, me)
    assert call_tool(desk, me, "update_task", task_id=task, title="b", if_version=7).is_error
    assert call_tool(desk, me, "add_task", tasks=[{"title": "a"}, {"title": ""}]).is_error
    call(desk, me, "list_tasks")
    call(desk, me, "get_task", task_id=task)
    assert entries(desk, me) == before


def test_an_entry_says_who_and_when_and_in_which_operation(database: Database) -> None:
    owner = database.write_sync(SYSTEM, accounts.add_user, "a@example.org").id
    me = Principal.for_user(owner, actor="claude-code", project="rolltop", session="ab12")
    desk = make_desk(database)
    call(desk, me, "add_task", tasks=[{"title": "a"}, {"title": "b"}])
    call(desk, me, "add_task", title="c")
    first, second, third = entries(desk, me)
    assert first.operation == second.operation != third.operation
    assert (first.client, first.project) == ("claude-code (ab12)", "rolltop")
    assert first.at == second.at <= third.at


def test_a_number_up_to_a_billion_is_a_place_in_the_feed(desk: AppContext, me: Principal) -> None:
    call(desk, me, "add_task", title="a")
    for tool in ("desk_changes", "desk_history"):
        assert call_tool(desk, me, tool, since="9" * 5000).code == "INVALID_ARGUMENT"
        assert call(desk, me, tool, since="9" * 9)["changes"] == []
        assert len(call(desk, me, tool, since="0")["changes"]) == 1


def test_history_is_narrowed_by_tool_to_its_last_page(desk: AppContext, me: Principal) -> None:
    call(desk, me, "note_save", text="a")
    call(desk, me, "add_task", tasks=[{"title": str(number)} for number in range(50)])
    call(desk, me, "note_save", text="b")
    wanted = {"tool": "note_save", "project": "*"}
    assert [one["sequence"] for one in call(desk, me, "desk_history", **wanted)["changes"]] == [
        52,
        1,
    ]
    tasks = call(desk, me, "desk_history", tool="add_task")["changes"]
    assert {one["tool"] for one in tasks} == {"add_task"}
    assert call(desk, me, "desk_history", tool="nothing")["changes"] == []


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        *(("desk_history", name) for name in ("tool", "actor", "project")),
        ("desk_changes", "project"),
        ("desk_undo", "actor"),
    ],
)
def test_what_no_journal_can_have_is_refused(
    desk: AppContext, me: Principal, tool: str, name: str
) -> None:
    answer = call_tool(desk, me, tool, since="0", **{name: "a\0b"})
    assert answer.code == "INVALID_TEXT", answer.text


def test_each_tenant_has_numbers_and_texts_of_its_own(
    desk: AppContext, me: Principal, them: Principal
) -> None:
    for who in (me, them, me):
        call(desk, who, "note_save", text="the same long text\n" * 100)
    assert [one.sequence for one in entries(desk, me)] == [1, 2]
    assert [one.sequence for one in entries(desk, them)] == [1]

    def owners(tx: Tx) -> list[str]:
        return list(tx.execute(select(journal_contents.c.user_id)).scalars())

    kept = desk.database.read_sync(SYSTEM, owners)
    assert sorted(kept) == sorted([me.user_id, them.user_id])


def test_numbers_have_no_gap_while_many_write_at_once(desk: AppContext, me: Principal) -> None:
    def write() -> None:
        for _ in range(10):
            call(desk, me, "add_task", title="a")
            assert call_tool(desk, me, "add_task", title="").is_error

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = entries(desk, me)
    assert [one.sequence for one in found] == list(range(1, 41))
    assert len({one.ref for one in found}) == 40


def test_what_is_older_is_purged_and_texts_stay_while_an_entry_names_them(
    desk: AppContext, me: Principal, clock: Clock
) -> None:
    text = "long\n" * 100
    note = call(desk, me, "note_save", text=text)
    call(desk, me, "note_save", text="other\n" * 100)
    clock.advance(days=1)
    call(desk, me, "note_save", id=note["id"], local_version=1, text="short")
    first, second, third = entries(desk, me)

    def purge(tx: Tx) -> int:
        return history.purge_journal(tx, third.at)

    assert desk.database.read_sync(SYSTEM, history.count_entries)["journal_entries"] == 3
    assert desk.database.write_sync(SYSTEM, purge) == 2
    assert [one.sequence for one in entries(desk, me)] == [third.sequence]
    clock.advance(minutes=1)
    assert desk.database.read_sync(SYSTEM, history.count_entries) == {
        "journal_entries": 1,
        "journal_age_seconds": 60,
    }

    def texts(tx: Tx) -> list[str]:
        named = history.text_digests([first, second])
        return list(history.read_texts(tx, named).values())

    assert desk.database.read_sync(me, texts) == [text]
    assert (first.at, second.at) < (third.at, third.at)


def test_a_purge_reads_no_entries_of_those_who_have_none_to_lose(
    desk: AppContext, me: Principal, them: Principal
) -> None:
    for who in (me, them):
        call(desk, who, "note_save", text="text")
    sent: list[str] = []

    def purge(tx: Tx) -> int:
        event.listen(tx.connection, "before_cursor_execute", lambda *given: sent.append(given[2]))
        return history.purge_journal(tx, tx.now - timedelta(days=1))

    assert desk.database.write_sync(SYSTEM, purge) == 0
    assert sent
    assert not [statement for statement in sent if "changes" in statement]


def test_the_oldest_texts_go_first_where_there_are_too_many_bytes(
    database: Database, me: Principal, them: Principal, clock: Clock
) -> None:
    desk = make_desk(database, settings={"desk.history_bytes": 3400})
    theirs = random_text(1)
    call(desk, them, "note_save", text=theirs)
    pad = call(desk, me, "scratch_create", cells=[{"language": "txt", "content": random_text(2)}])
    cell = {
        "scratch_id": pad["scratchpad"]["scratch_id"],
        "cell_id": pad["scratchpad"]["cells"][0]["cell_id"],
    }
    call(desk, me, "scratch_delete_cell", **cell)
    note = call(desk, me, "note_save", text=random_text(3))["id"]
    written = {"cell": random_text(2), "3": random_text(3)}
    for number in range(4, 9):
        clock.advance(hours=1)
        given = {"id": note, "local_version": number - 3, "text": random_text(number)}
        call(desk, me, "note_save", **given)
        written[str(number)] = random_text(number)
    asyncio.run(jobs.purge_journal(desk))

    def kept(tx: Tx) -> set[str]:
        found = history.read_entries(tx, limit=1000)
        texts = set(history.read_texts(tx, history.text_digests(found)).values())
        return {name for name, text in written.items() if text in texts}

    # Of a cell that was deleted only the journal has the text; the others went by their age.
    assert desk.database.read_sync(me, kept) == {"cell", "7", "8"}
    since, texts_since = desk.database.read_sync(me, history.kept_since)
    assert since == entries(desk, me)[0].at
    assert texts_since == clock.now - timedelta(hours=1)
    assert desk.database.read_sync(them, history.kept_since)[1] is None

    operations = {one.tool: one.operation for one in entries(desk, me)}
    call(desk, me, "desk_undo", operation=operations["note_save"])
    forgotten = [one.operation for one in entries(desk, me) if one.tool == "note_save"][-2]
    refused = call_tool(desk, me, "desk_undo", operation=forgotten)
    assert "no longer kept" in refused.text
    call(desk, me, "desk_undo", operation=operations["scratch_delete_cell"])
    back = call(desk, me, "scratch_read", scratch_id=cell["scratch_id"])
    assert back["scratchpad"]["cells"][0]["content"] == written["cell"]


def random_text(seed: int) -> str:
    """A text of 1,400 characters that takes about 1,050 bytes compressed."""
    return base64.b64encode(random.Random(seed).randbytes(1050)).decode()  # noqa: S311  # no secret


def test_entries_are_counted_of_all_who_have_some(
    desk: AppContext, me: Principal, them: Principal
) -> None:
    count = desk.database.read_sync
    assert count(SYSTEM, history.count_entries) == {"journal_entries": 0}
    for who, number in ((me, 2), (them, 3)):
        for _ in range(number):
            call(desk, who, "add_task", title="Write")
    found = count(SYSTEM, history.count_entries)
    assert found["journal_entries"] == len(entries(desk, me)) + len(entries(desk, them)) == 5
    assert found["journal_age_seconds"] >= 0


def test_a_user_s_journal_goes_with_the_user(
    desk: AppContext, me: Principal, them: Principal
) -> None:
    for who in (me, them):
        call(desk, who, "note_save", text="text\n" * 100)
    desk.database.write_sync(SYSTEM, accounts.delete_user, me.user_id)

    def owners(tx: Tx) -> set[str]:
        tables = (journal, journal_contents)
        return {
            owner for table in tables for owner in tx.execute(select(table.c.user_id)).scalars()
        }

    assert desk.database.read_sync(SYSTEM, owners) == {them.user_id}


def test_a_text_stays_where_the_clock_went_back_before_it_was_named_again(
    desk: AppContext, me: Principal, clock: Clock
) -> None:
    text = "text\n" * 100
    call(desk, me, "note_save", text=text)
    start = clock.now
    clock.advance(days=-1)
    call(desk, me, "note_save", text=text)

    def purge(tx: Tx) -> int:
        return history.purge_journal(tx, start)

    assert desk.database.write_sync(SYSTEM, purge) == 0  # what came later was not yet old
    first, _second = entries(desk, me)

    def texts(tx: Tx) -> list[str]:
        return list(history.read_texts(tx, history.text_digests([first])).values())

    assert desk.database.read_sync(me, texts) == [text]


DELETE_IN_A_PROCESS_OF_ITS_OWN = """
import sys
from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
database = Database(sys.argv[1])
database.write_sync(SYSTEM, accounts.delete_user, sys.argv[2])
database.close()
"""


def test_a_process_that_knows_no_toolset_deletes_a_user(
    desk: AppContext, me: Principal, database_url: str
) -> None:
    call(desk, me, "add_task", title="a", tags=["b"])
    program = [sys.executable, "-c", DELETE_IN_A_PROCESS_OF_ITS_OWN, database_url, me.user_id]
    subprocess.run(program, check=True, timeout=PATIENCE)
    assert desk.database.read_sync(SYSTEM, accounts.list_users) == []


WRITE_WHILE_A_TOOLSET_IS_BEING_IMPORTED = """
import sys
from sqlalchemy import Column, ForeignKey, PrimaryKeyConstraint, Table, Text, select
from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from rolltop.core.db.schema import metadata
from rolltop.core.db.types import Identifier
from rolltop.core.journal.tables import Journaled, journal, journaled_tables, keep_journal
from rolltop.core.principal import Principal

database = Database(sys.argv[1])
me = Principal.for_user(database.write_sync(SYSTEM, accounts.add_user, "a@example.org").id)

def declare(name):
    owner = Column("user_id", Identifier, ForeignKey("users.id", ondelete="CASCADE"))
    key = PrimaryKeyConstraint("user_id", "id")
    return Table(name, metadata, owner, Column("id", Text), key)

first = declare("first")
database.write_sync(SYSTEM, lambda tx: first.create(tx.connection))
database.write_sync(me, lambda tx: None)
keep_journal(first, Journaled("first", "id"))

rest = iter(journaled_tables().values())
next(rest)
declare("second")
assert list(rest) == []

row = {"user_id": me.user_id, "id": "1"}
database.write_sync(me, lambda tx: tx.execute(first.insert(), row))
print(*database.read_sync(me, lambda tx: tx.execute(select(journal.c.kind)).scalars()))
database.close()
"""


def test_a_table_declared_while_others_write_is_kept_from_its_first_row(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    program = [sys.executable, "-c", WRITE_WHILE_A_TOOLSET_IS_BEING_IMPORTED, url]
    run = subprocess.run(program, check=True, timeout=PATIENCE, capture_output=True, text=True)
    assert run.stdout.split() == ["first"]


READ_IN_A_PROCESS_OF_ITS_OWN = """
import sys
from rolltop.core.db import Database
from rolltop.core.principal import Principal
from tests.desks import call_tool, make_desk
database = Database(sys.argv[1])
answer = call_tool(make_desk(database), Principal.for_user(sys.argv[2]), "desk_changes", since="0")
database.close()
for change in answer.structured["changes"]:
    print(change["summary"])
"""


def test_a_process_that_wrote_nothing_says_the_same_of_what_others_wrote(
    desk: AppContext, me: Principal, database_url: str
) -> None:
    note = call(desk, me, "note_save", text="a\n")
    call(desk, me, "note_save", id=note["id"], local_version=1, text="a\nb\n")
    call(desk, me, "scratch_create", cells=[])
    program = [sys.executable, "-c", READ_IN_A_PROCESS_OF_ITS_OWN, database_url, me.user_id]
    run = subprocess.run(program, check=True, timeout=PATIENCE, capture_output=True, text=True)
    assert run.stdout.splitlines() == ["created", "+1 −0 lines", "created"]


def test_the_entries_of_a_thing_are_read_without_those_of_others(
    sqlite_url: str, make_database: MakeDatabase
) -> None:
    desk = make_desk(make_database(sqlite_url))
    me = Principal.for_user(desk.database.write_sync(SYSTEM, accounts.ensure_default_user).id)
    first = call(desk, me, "add_task", title="Write")["data"]["task_id"]

    def read(tx: Tx) -> int:
        wanted = history.EntryFilter(kind="task", ref=first)
        some = [wanted, replace(wanted, ref=first[:8]), replace(wanted, ref=None, refs=[first])]
        newest = partial(history.read_entries, tx, limit=9, newest_first=True, heads_only=True)
        return sum(count_steps(tx, partial(newest, one)) for one in some)

    few = desk.database.read_sync(me, read)
    for _ in range(10):
        call(desk, me, "add_task", tasks=[{"title": "Read"}] * 40)
    assert desk.database.read_sync(me, read) < 2 * few


@pytest.mark.parametrize("tool", ["desk_history", "desk_changes", "desk_undo"])
def test_unix_seconds_are_no_number_of_an_entry(
    desk: AppContext, me: Principal, clock: Clock, tool: str
) -> None:
    note = call(desk, me, "note_save", text="a note")
    clock.advance(minutes=1)
    call(desk, me, "add_task", title="Write")
    refused = call_tool(desk, me, tool, since=note["modified_at"])
    assert refused.code == "INVALID_ARGUMENT", refused.text
    assert "neither a sequence number nor a time" in refused.structured["error"]["message"]
    assert "2026-01-31T12:01Z" in refused.structured["error"]["hint"]
