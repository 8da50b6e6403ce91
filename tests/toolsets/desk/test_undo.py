"""Undo gives back the state before, byte for byte but for versions and times of change."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from sqlalchemy import select

from rolltop.core import accounts
from rolltop.core.context import CallContext
from rolltop.core.db import SYSTEM
from rolltop.core.journal import history
from rolltop.core.journal.snapshot import JournalSnapshot, Moment
from rolltop.core.journal.tables import journaled_tables
from rolltop.core.principal import Principal
from rolltop.toolsets.desk import store as desk_tables
from rolltop.toolsets.notes.store import tables as note_tables
from rolltop.toolsets.scratch.store import tables as scratch_tables
from rolltop.toolsets.tasks.store import tables as task_tables
from tests.campaign import examples
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.dispatch import Answer
    from tests.databases import Clock

ALL_TABLES: Final = (task_tables, note_tables, scratch_tables, desk_tables)
TEXTS: Final = st.sampled_from(["", "a\n", "a\nb\nc\n", "b\nc\n", "x = 1\n", "long\n" * 100])
TAGS: Final = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True)
PHASES: Final = [Phase.generate]
NUMBER: Final = st.integers(0, 40)


def state(desk: AppContext, who: Principal) -> dict[str, list[Any]]:
    """What is stored of a user, without versions, times of change and row numbers."""

    def read(tx: Tx) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for table, journaled in journaled_tables().values():
            free = journaled.moving | {"number", "source", "sync_state", "finding"}
            columns = [column for column in table.columns if column.name not in free]
            rows = tx.execute(select(*columns).where(table.c.user_id == who.user_id)).all()
            found[table.name] = sorted(map(repr, rows))
        return found

    return desk.database.read_sync(who, read)


def lasting_state(desk: AppContext, who: Principal, sequence: int) -> dict[str, list[Any]]:
    """What was stored after an entry, without what the journal does not tell of by itself."""

    def read(tx: Tx) -> dict[str, list[Any]]:
        moment, found = Moment(sequence, tx.now), dict[str, list[Any]]()
        kinds = {journaled.kind for _table, journaled in journaled_tables().values()}
        snapshot = JournalSnapshot(tx, moment, kinds)
        for table, journaled in journaled_tables().values():
            free = journaled.moving | journaled.computed | journaled.derived
            names = [column.name for column in table.columns if column.name not in free]
            rows = snapshot.rows(table.c.user_id, [who.user_id])
            found[table.name] = sorted(repr([row[name] for name in names]) for row in rows)
        return found

    return desk.database.read_sync(who, read)


def undo(desk: AppContext, who: Principal, operation: str) -> Answer:
    return call_tool(desk, who, "desk_undo", operation=operation)


def operations(desk: AppContext, who: Principal) -> list[str]:
    """The operations of a user, in order."""
    entries = desk.database.read_sync(who, history.read_entries, limit=100_000)
    return list(dict.fromkeys(entry.operation for entry in entries))


class Writes(RuleBasedStateMachine):
    """Any writes of all toolsets, taken back at any time."""

    database: Database
    clock: Clock

    @initialize()
    def start(self) -> None:
        user = self.database.write_sync(SYSTEM, accounts.ensure_default_user)
        self.database.write_sync(SYSTEM, accounts.delete_user, user.id)
        owner = self.database.write_sync(SYSTEM, accounts.ensure_default_user).id
        self.who = Principal.for_user(owner, actor="one")
        self.desk = make_desk(self.database)
        self.first = state(self.desk, self.who)
        self.states = [self.first]
        self.moments: list[tuple[int, dict[str, list[Any]]]] = []
        self.addresses: dict[str, str] = {}
        self.found: list[tuple[str, list[str]]] = []
        self.tasks: list[str] = []
        self.notes: list[str] = []
        self.pads: list[str] = []
        self.cells: list[tuple[str, str]] = []

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        before = len(operations(self.desk, self.who))
        answer = call_tool(self.desk, self.who, tool, **arguments)
        if len(operations(self.desk, self.who)) > before:
            self.states.append(state(self.desk, self.who))
            self.note_versions()
        return None if answer.is_error else answer.structured

    def note_versions(self) -> None:
        """Keep what is stored now, and what is shown at the newest addresses."""
        newest = self.desk.database.read_sync(self.who, history.last_sequence)
        now = lasting_state(self.desk, self.who, newest)
        self.moments.append((newest, now))
        self.found.append((self.clock().isoformat(), self.search()))
        self.clock.advance(seconds=1)
        operation = operations(self.desk, self.who)[-1]
        listed = call_tool(self.desk, self.who, "desk_history").structured["changes"]
        for change in listed:
            if change["operation"] == operation[:8] and "@" in change.get("uri", ""):
                opened = self.call_read(change["uri"])
                if "became" not in opened:  # of a pad in the trash no more is shown than that
                    self.addresses[change["uri"]] = self.shown(opened)

    def search(self, **given: Any) -> list[str]:
        """The addresses of what has a word, without versions."""
        answer = call_tool(self.desk, self.who, "desk_search", query="long", **given)
        assert not answer.is_error, answer.text
        return sorted(hit["uri"].partition("@")[0] for hit in answer.structured["hits"])

    def call_read(self, uri: str) -> dict[str, Any]:
        answer = call_tool(self.desk, self.who, "desk_read", uri=uri)
        assert not answer.is_error, answer.text
        return answer.structured

    def shown(self, opened: dict[str, Any]) -> str:
        """What an address shows, without what may be another with every look."""
        task = opened.get("task", {})
        free = {"uri", "claim", "released", "evidence", "history"}
        kept = {name: value for name, value in task.items() if name not in free}
        cells = [cell["first_line"] for cell in opened.get("cells", ())]
        shown = (opened.get("text"), opened["title"], opened.get("tags"), sorted(kept), cells)
        return repr(shown)

    @rule(title=st.sampled_from("abc"), text=TEXTS, tags=TAGS, blocker=NUMBER)
    def add_task(self, title: str, text: str, tags: list[str], blocker: int) -> None:
        given = {"blocked_by": [self.tasks[blocker % len(self.tasks)]]} if self.tasks else {}
        added = self.call("add_task", title=title, description=text, tags=tags, **given)
        if added:
            self.tasks.append(added["data"]["task_id"])

    @rule(which=NUMBER, title=st.sampled_from("abc"), text=TEXTS, tags=TAGS)
    def update_task(self, which: int, title: str, text: str, tags: list[str]) -> None:
        if self.tasks:
            task = self.tasks[which % len(self.tasks)]
            self.call("update_task", task_id=task, title=title, description=text, tags=tags)

    @rule(which=NUMBER, required=st.booleans(), criteria=TAGS, number=st.integers(0, 2))
    def prove_task(self, which: int, criteria: list[str], number: int, *, required: bool) -> None:
        if self.tasks:
            task = self.tasks[which % len(self.tasks)]
            evidence = [f"https://example.org/{one}" for one in range(number)]
            evidence += [f"rolltop://note/{one}" for one in self.notes[:1]]
            given = {"acceptance": criteria, "evidence": evidence, "requires_evidence": required}
            self.call("update_task", task_id=task, **given)
            self.call("complete_task", task_id=task)

    @rule(
        which=NUMBER,
        tool=st.sampled_from(["complete_task", "reopen_task", "delete_task", "claim_task"]),
    )
    def change_task(self, which: int, tool: str) -> None:
        if self.tasks:
            self.call(tool, task_id=self.tasks[which % len(self.tasks)])

    @rule(text=TEXTS, tags=TAGS)
    def add_note(self, text: str, tags: list[str]) -> None:
        saved = self.call("note_save", text=text, tags=tags)
        if saved:
            self.notes.append(saved["id"])

    @rule(which=NUMBER, text=TEXTS, tags=TAGS)
    def save_note(self, which: int, text: str, tags: list[str]) -> None:
        if self.notes:
            note = self.notes[which % len(self.notes)]
            version = self.version_of(note)
            self.call("note_save", id=note, local_version=version, text=text, tags=tags)

    @rule(which=NUMBER, action=st.sampled_from(["trash", "untrash", "delete_permanently"]))
    def manage_note(self, which: int, action: str) -> None:
        if self.notes:
            note = self.notes[which % len(self.notes)]
            version = self.version_of(note)
            self.call("note_manage", id=note, local_version=version, action=action)

    def version_of(self, note: str) -> int:
        answer = call_tool(self.desk, self.who, "note_get", id=note)
        return 1 if answer.is_error else answer.structured["local_version"]

    @rule(texts=st.lists(TEXTS, max_size=3), tags=TAGS, title=st.sampled_from("abc"))
    def create_pad(self, texts: list[str], tags: list[str], title: str) -> None:
        cells = [{"language": "md", "content": text, "tags": tags} for text in texts]
        made = self.call("scratch_create", metadata={"title": title}, cells=cells, tags=tags)
        if made:
            pad = made["scratchpad"]
            self.pads.append(pad["scratch_id"])
            some = [(pad["scratch_id"], cell["cell_id"]) for cell in pad.get("cells", ())]
            self.cells += some

    @rule(which=NUMBER, text=TEXTS)
    def append_cell(self, which: int, text: str) -> None:
        if self.pads:
            pad = self.pads[which % len(self.pads)]
            made = self.call(
                "scratch_append_cell", scratch_id=pad, cell={"language": "md", "content": text}
            )
            if made:
                self.cells.append((pad, made["cell_id"]))

    @rule(which=NUMBER, text=TEXTS, to=st.integers(0, 2))
    def replace_cell(self, which: int, text: str, to: int) -> None:
        if self.cells:
            pad, cell = self.cells[which % len(self.cells)]
            given = {"language": "md", "content": text}
            self.call(
                "scratch_replace_cell", scratch_id=pad, cell_id=cell, cell=given, new_index=to
            )

    @rule(which=NUMBER)
    def delete_cell(self, which: int) -> None:
        if self.cells:
            pad, cell = self.cells[which % len(self.cells)]
            self.call("scratch_delete_cell", scratch_id=pad, cell_id=cell)

    @rule(which=NUMBER)
    def restore_cell(self, which: int) -> None:
        if self.cells:
            _pad, cell = self.cells[which % len(self.cells)]
            self.call("scratch_restore", cell_id=cell)

    @rule(
        which=NUMBER,
        tool=st.sampled_from(["scratch_delete", "scratch_restore"]),
        tags=TAGS,
        title=st.sampled_from("abc"),
    )
    def change_pad(self, which: int, tool: str, tags: list[str], title: str) -> None:
        if self.pads:
            pad = self.pads[which % len(self.pads)]
            self.call("scratch_update", scratch_id=pad, tags=tags, metadata={"title": title})
            self.call(tool, scratch_id=pad)

    @rule(
        which=NUMBER,
        other=NUMBER,
        relation=st.sampled_from(["relates", "supersedes"]),
        remove=st.booleans(),
    )
    def link(self, which: int, other: int, relation: str, *, remove: bool) -> None:
        ends = [f"rolltop://task/{one}" for one in self.tasks]
        ends += [f"rolltop://note/{one}" for one in self.notes]
        ends += [f"rolltop://cell/{one}" for _pad, one in self.cells]
        if ends:
            given = {"from": ends[which % len(ends)], "to": ends[other % len(ends)]}
            self.call("desk_link", **given, relation=relation, remove=remove)

    @rule()
    def undo_the_last_and_redo_it(self) -> None:
        done = operations(self.desk, self.who)
        if not done:
            return
        now = state(self.desk, self.who)
        undone = undo(self.desk, self.who, done[-1])
        if undone.structured.get("skipped"):
            return
        assert state(self.desk, self.who) == self.states[-2]
        redone = undo(self.desk, self.who, undone.structured["operation"])
        assert not redone.is_error
        assert state(self.desk, self.who) == now
        # What was done and undone is two more operations that change nothing together.
        self.states += [self.states[-2], now]

    @rule(which=NUMBER)
    def undo_any_or_nothing(self, which: int) -> None:
        done = operations(self.desk, self.who)
        if not done:
            return
        now = state(self.desk, self.who)
        answer = undo(self.desk, self.who, done[which % len(done)])
        if len(operations(self.desk, self.who)) > len(done):
            self.states.append(state(self.desk, self.who))
        else:
            assert state(self.desk, self.who) == now
        assert answer.code in {None, "CONFLICT"}

    def teardown(self) -> None:
        if not hasattr(self, "desk"):
            return
        if operations(self.desk, self.who):
            answer = call_tool(self.desk, self.who, "desk_undo", since="0", actor="one")
            assert not answer.is_error, answer.text
        assert state(self.desk, self.who) == self.first
        for sequence, stored in self.moments[:: max(len(self.moments) // 4, 1)]:
            assert lasting_state(self.desk, self.who, sequence) == stored
        for moment, found in self.found[:: max(len(self.found) // 4, 1)]:
            assert self.search(as_of=moment) == found
        for uri, shown in self.addresses.items():
            assert self.shown(self.call_read(uri)) == shown, uri


def test_any_writes_undone_in_full_give_back_the_first_state(
    database: Database, clock: Clock
) -> None:
    class OnThisDatabase(Writes):
        pass

    OnThisDatabase.database = database
    OnThisDatabase.clock = clock
    OnThisDatabase.TestCase.settings = settings(
        max_examples=examples(12), stateful_step_count=14, deadline=None, phases=PHASES
    )
    run: Any = OnThisDatabase.TestCase()
    run.runTest()


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


def test_a_pads_entries_tell_its_version_and_not_that_of_a_cell_that_moved(
    desk: AppContext, me: Principal
) -> None:
    def call(tool: str, **given: Any) -> Any:
        return answer_of(desk, me, tool, **given)

    cells = [{"language": "txt", "content": text} for text in ("a", "b", "c")]
    pad = call("scratch_create", cells=cells)["scratchpad"]
    listed = call("scratch_list_cells", scratch_id=pad["scratch_id"])["cells"]
    for cell in listed[1:]:
        call("scratch_delete_cell", scratch_id=pad["scratch_id"], cell_id=cell["cell_id"])
    call("scratch_append_cell", scratch_id=pad["scratch_id"], cell=cells[0])
    done = call("desk_history")["changes"]
    first = [one["operation"] for one in done if one["tool"] == "scratch_delete_cell"][-1]
    call("desk_undo", operation=first)
    wanted = history.EntryFilter(kind="pad")
    entries = desk.database.read_sync(me, history.read_entries, wanted, limit=10)
    versions = [(entry.version_before, entry.version_after) for entry in entries]
    assert versions[0] == (None, 1)
    assert all(after == (before or 0) + 1 for before, after in versions if after is not None)
    now = call("scratch_read", scratch_id=pad["scratch_id"])["scratchpad"]
    assert versions[-1][1] == now["version"]


def test_an_undo_that_finds_nothing_to_do_is_no_operation(desk: AppContext, me: Principal) -> None:
    note = answer_of(desk, me, "note_save", text="a")["id"]
    for _ in range(3):  # a deletion, its undo, a deletion again
        undo(desk, me, operations(desk, me)[-1])
    undo(desk, me, operations(desk, me)[1])
    done = operations(desk, me)
    for dry_run in (True, False):  # the last deletion, though the note is there
        again = answer_of(desk, me, "desk_undo", operation=done[3], dry_run=dry_run)
        assert again["undone"] == []
        assert "operation" not in again
        assert [one["operation"] for one in again["skipped"]] == [done[3][:8]]
    assert operations(desk, me) == done
    assert answer_of(desk, me, "note_get", id=note)["text"] == "a"
    answer_of(desk, me, "desk_undo", since="0")
    assert call_tool(desk, me, "note_get", id=note).is_error


def test_an_undo_that_finds_nothing_to_do_moves_no_version(desk: AppContext, me: Principal) -> None:
    task = answer_of(desk, me, "add_task", title="a")["data"]["task_id"]
    for title in "ba":
        answer_of(desk, me, "update_task", task_id=task, title=title)
    before = answer_of(desk, me, "get_task", task_id=task)
    assert answer_of(desk, me, "desk_undo", operation=operations(desk, me)[1])["undone"] == []
    assert answer_of(desk, me, "get_task", task_id=task) == before


def test_what_others_wrote_on_other_lines_stays(desk: AppContext, me: Principal) -> None:
    def call(tool: str, **given: Any) -> Any:
        answer = call_tool(desk, me, tool, **given)
        assert not answer.is_error, answer.text
        return answer.structured

    lines = [f"line {number}" for number in range(10)]
    note = call("note_save", text="\n".join(lines))["id"]
    mine, theirs = [*lines], [*lines]
    mine[1] = theirs[1] = "mine"
    theirs[8] = "theirs"
    call("note_save", id=note, local_version=1, text="\n".join(mine))
    call("note_save", id=note, local_version=2, text="\n".join(theirs))
    undo(desk, me, operations(desk, me)[1])
    left = call("note_get", id=note)["text"].split("\n")
    assert (left[1], left[8]) == ("line 1", "theirs")


def test_what_later_work_depends_on_is_not_taken_back(desk: AppContext, me: Principal) -> None:
    task = call_tool(desk, me, "add_task", title="a").structured["data"]["task_id"]
    call_tool(desk, me, "update_task", task_id=task, title="b")
    before = state(desk, me)
    first, second = operations(desk, me)
    refused = undo(desk, me, first).structured["error"]
    assert refused["code"] == "CONFLICT"
    assert second[:8] in refused["message"]
    assert second[:8] in refused["hint"]
    assert state(desk, me) == before
    call_tool(desk, me, "desk_undo", operation=second[:8])
    undo(desk, me, first)
    assert state(desk, me)["tasks"] == []


@pytest.mark.parametrize("reference", ["blocked_by", "parent_id"])
def test_what_refers_to_something_that_is_gone_is_not_put_back(
    desk: AppContext, me: Principal, reference: str
) -> None:
    gone, task = (answer_of(desk, me, "add_task", title=title)["data"]["task_id"] for title in "ab")
    for given in ([gone], []) if reference == "blocked_by" else (gone, ""):
        answer_of(desk, me, "update_task", task_id=task, **{reference: given})
    made, taken_out = operations(desk, me)[0], operations(desk, me)[-1]
    assert not undo(desk, me, made).is_error
    before = state(desk, me)
    for dry_run in (True, False):
        refused = call_tool(desk, me, "desk_undo", operation=taken_out, dry_run=dry_run)
        error = refused.structured["error"]
        assert error["code"] == "CONFLICT"
        assert task[:8] in error["message"]
        assert "is gone" in error["message"]
        assert state(desk, me) == before


@pytest.mark.parametrize("reference", ["blocked_by", "parent_id"])
@pytest.mark.parametrize("way", ["loosened", "deleted"])
def test_no_task_hangs_on_itself_after_an_undo(
    desk: AppContext, me: Principal, way: str, reference: str
) -> None:
    def tie(task: str, on: str) -> None:
        given: Any = [one for one in [on] if one] if reference == "blocked_by" else on
        answer_of(desk, me, "update_task", task_id=task, **{reference: given})

    first, second, third = (
        answer_of(desk, me, "add_task", title=title)["data"]["task_id"] for title in "abc"
    )
    tie(second, first)
    tie(third, second)
    if way == "loosened":
        tie(second, "")
        taken_out = operations(desk, me)[-1]
        answer_of(desk, me, "update_task", task_id=second, title="d")
    else:
        answer_of(desk, me, "delete_task", task_id=second)
        taken_out = operations(desk, me)[-1]
    tie(first, third)
    before = state(desk, me)
    refused = undo(desk, me, taken_out)
    assert refused.code == "CONFLICT", refused.text
    assert f"{reference} makes a cycle" in refused.text
    assert "by operation" not in refused.text  # none of this task is in the way
    assert state(desk, me) == before
    tie(first, "")
    assert not undo(desk, me, taken_out).is_error


def test_what_has_another_s_name_by_now_is_not_put_back(desk: AppContext, me: Principal) -> None:
    pad = answer_of(desk, me, "scratch_create", cells=[])["scratchpad"]["scratch_id"]
    named = {"name": "pay", "description": "", "schema": {"type": "object"}}

    def manage(action: str, **given: Any) -> Any:
        return answer_of(desk, me, "scratch_schema", action=action, scratch_id=pad, **given)

    first = manage("upsert", schema=named)["schema"]["id"]
    manage("delete", schema_id=first)
    deleted = operations(desk, me)[-1]
    manage("upsert", schema=named)
    refused = undo(desk, me, deleted)
    assert refused.code == "CONFLICT", refused.text
    assert f"pad/{pad[:8]}" in refused.text
    assert "another has its name" in refused.text


@pytest.mark.parametrize("text", ["a" * 33, "a" * 36, "1234567", "x" * 8, "-" * 12, ""])
def test_what_is_no_operations_id_is_refused(desk: AppContext, me: Principal, text: str) -> None:
    call_tool(desk, me, "add_task", title="a")
    assert undo(desk, me, text).code == "INVALID_ARGUMENT"


def test_an_operation_is_found_by_its_id_in_any_form(desk: AppContext, me: Principal) -> None:
    call_tool(desk, me, "add_task", title="a")
    (whole,) = operations(desk, me)
    for form in (whole[:8], whole.upper(), whole.replace("-", ""), whole[:13]):
        answer = call_tool(desk, me, "desk_undo", operation=form, dry_run=True)
        assert len(answer.structured["undone"]) == 1, answer.text


@pytest.mark.parametrize("since", [2, "2"])
def test_no_operation_is_taken_back_by_halves(
    desk: AppContext, me: Principal, since: str | int
) -> None:
    answer_of(desk, me, "add_task", tasks=[{"title": title} for title in "abc"])
    note = answer_of(desk, me, "note_save", text="a")
    first, _second = operations(desk, me)
    tasks = state(desk, me)["tasks"]
    done = answer_of(desk, me, "desk_undo", since=since)
    assert done["undone"] == [note["uri"]]
    assert [one["operation"] for one in done["skipped"]] == [first[:8]]
    assert state(desk, me)["tasks"] == tasks
    assert len(answer_of(desk, me, "desk_undo", operation=first)["undone"]) == 3
    assert state(desk, me)["tasks"] == []


def test_what_has_no_address_is_named_where_it_is_taken_back(
    desk: AppContext, me: Principal
) -> None:
    answer_of(desk, me, "add_task", tasks=[{"title": title} for title in "ab"])
    answer_of(desk, me, "scratch_namespace", action="create", namespace="ships")
    tried = answer_of(desk, me, "desk_undo", since="1", dry_run=True)
    assert tried["undone"] == ["namespace ships"]
    assert len(tried["skipped"]) == 1


def test_what_began_before_a_time_is_not_taken_back_by_halves(
    desk: AppContext, me: Principal, clock: Clock
) -> None:
    running = me.during("add_task")
    call = CallContext(desk, running, "add_task", 0)

    async def add(title: str) -> None:
        await desk.registry.find("add_task", me).tool.function(call, title=title)

    first = clock().isoformat()
    for title in "ab":
        asyncio.run(add(title))
        clock.advance(seconds=1)
    refused = answer_of(desk, me, "desk_undo", since=first)
    assert refused["undone"] == []
    assert [one["operation"] for one in refused["skipped"]] == [running.operation[:8]]


def test_a_client_without_a_session_takes_back_no_session_s_work_unasked(
    desk: AppContext, me: Principal
) -> None:
    here = replace(me, actor="claude")
    there = replace(here, session="ab12")
    theirs = answer_of(desk, there, "note_save", text="theirs")["uri"]
    mine = answer_of(desk, here, "note_save", text="mine")["uri"]
    tried = {"since": "0", "dry_run": True}
    assert answer_of(desk, here, "desk_undo", **tried)["undone"] == [mine]
    assert answer_of(desk, there, "desk_undo", **tried)["undone"] == [theirs]
    named = answer_of(desk, here, "desk_undo", **tried, actor="claude")
    assert named["undone"] == [mine, theirs]


def test_an_undo_that_deletes_a_task_and_what_was_below_it_is_undone(
    desk: AppContext, me: Principal
) -> None:
    above = answer_of(desk, me, "add_task", title="a")["data"]["task_id"]
    answer_of(desk, me, "add_task", title="b", parent_id=above, blocked_by=[above])
    answer_of(desk, me, "delete_task", task_id=above)
    before = state(desk, me)
    for _ in range(2):
        undone = answer_of(desk, me, "desk_undo", since="0")
        assert state(desk, me)["tasks"] == []
        answer_of(desk, me, "desk_undo", operation=undone["operation"])
        assert state(desk, me) == before


def test_a_note_that_was_deleted_for_good_and_came_back_otherwise_is_not_put_back(
    desk: AppContext, me: Principal
) -> None:
    note = answer_of(desk, me, "note_save", text="a")["id"]
    for version, action in enumerate(("trash", "delete_permanently"), 1):
        answer_of(desk, me, "note_manage", action=action, id=note, local_version=version)
    deleted = operations(desk, me)[-1]
    answer_of(desk, me, "note_manage", action="restore", id=note, version=1, local_version=2)
    answer_of(desk, me, "note_save", id=note, local_version=3, text="b")
    before = state(desk, me)
    refused = undo(desk, me, deleted)
    assert refused.code == "CONFLICT"
    assert operations(desk, me)[-1][:8] in refused.structured["error"]["hint"]
    assert state(desk, me) == before
