"""Notes, pads, cells and tasks as they were: at a version, and at a time."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import cursor as cursors
from rolltop.core.db import SYSTEM
from rolltop.core.journal import history
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.scratch.store import pad_rows
from rolltop.toolsets.tasks import store as tasks
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal
    from tests.databases import Clock

LONG = "".join(f"line {number} of it\n" for number in range(300))


class Writer:
    """A user whose every write is an hour after the one before."""

    def __init__(self, desk: AppContext, scope: Principal, clock: Clock) -> None:
        self.desk, self.scope, self.clock = desk, scope, clock

    def call(self, name: str, **arguments: Any) -> Any:
        """Return what a call that must succeed answered."""
        self.clock.advance(hours=1)
        return answer_of(self.desk, self.scope, name, **arguments)

    def read(self, uri: str, **arguments: Any) -> Any:
        """Return what is at an address."""
        return answer_of(self.desk, self.scope, "desk_read", uri=uri, **arguments)

    def fails(self, uri: str, **arguments: Any) -> Any:
        """Return the error of an address."""
        answer = call_tool(self.desk, self.scope, "desk_read", uri=uri, **arguments)
        assert answer.is_error, answer.text
        return answer.structured["error"]

    def addresses(self, uri: str) -> list[str]:
        """The addresses that the history of a thing lists, the oldest first."""
        changes = answer_of(self.desk, self.scope, "desk_history", uri=uri)["changes"]
        return [change["uri"] for change in reversed(changes)]

    def purge(self, before: datetime) -> None:
        def purge(tx: Tx) -> int:
            return history.purge_journal(tx, before)

        self.desk.database.write_sync(SYSTEM, purge)


@pytest.fixture
def mine(database: Database, me: Principal, clock: Clock) -> Writer:
    return Writer(make_desk(database), me, clock)


def test_a_task_is_shown_as_it_was_at_each_of_its_versions(mine: Writer) -> None:
    task = mine.call("add_task", title="Write", description="a\n" * 200, tags=["x"])["data"]
    mine.call("update_task", task_id=task["task_id"], tags=["y"])
    mine.call("update_task", task_id=task["task_id"], title="Read", comment="no time")
    mine.call("update_task", task_id=task["task_id"], description="short")
    versions = [mine.read(uri) for uri in mine.addresses(task["uri"])]
    assert [one["uri"] for one in versions] == [f"{task['uri']}@{n}" for n in (1, 2, 3, 4)]
    assert [one["title"] for one in versions] == ["Write", "Write", "Read", "Read"]
    assert [one["task"]["tags"] for one in versions] == [["x"], ["y"], ["y"], ["y"]]
    assert [len(one["task"].get("comments", ())) for one in versions] == [0, 0, 1, 1]
    assert [len(one["task"]["description"]) for one in versions] == [399, 399, 399, 5]
    assert [one["task"]["version"] for one in versions] == [1, 2, 3, 4]
    assert versions[0]["task"]["updated_at"] == task["updated_at"]
    assert versions[0]["became"] == "changed since @1, which is shown: now @4"
    assert mine.read(f"{task['uri']}@9")["became"] == "there is no @9: now @4"


def test_what_a_task_hung_on_is_shown_where_it_was_not_in_the_trash_then(mine: Writer) -> None:
    parent, blocker = (mine.call("add_task", title=title)["data"]["task_id"] for title in "pb")
    given = {"parent_id": parent, "blocked_by": [blocker]}
    task = mine.call("add_task", title="waits", **given)["data"]["task_id"]
    for other in (parent, blocker):
        mine.call("delete_task", task_id=other)
    mine.call("update_task", task_id=task, title="waits no more")
    for other in (parent, blocker):
        mine.call("restore_task", task_id=other)
    mine.call("update_task", task_id=task, title="waits again")

    def read_edges(version: int) -> dict[str, Any]:
        read = mine.read(f"rolltop://task/{task}@{version}")["task"]
        return {name: read[name] for name in given if name in read}

    assert [read_edges(version) for version in (1, 2, 3)] == [given, {}, given]
    mine.call("delete_task", task_id=blocker)
    assert [read_edges(version) for version in (1, 2)] == [given, {}]


def test_a_cell_is_shown_as_it_was_with_its_lines_and_its_pad(mine: Writer) -> None:
    cells = [{"language": "md", "content": "# A\n\nmasts\n", "tags": ["x"]}]
    pad = mine.call("scratch_create", metadata={"title": "Plan"}, cells=cells)["scratchpad"]
    given = {"scratch_id": pad["scratch_id"], "cell_id": pad["cells"][0]["cell_id"]}
    uri = pad["cells"][0]["uri"]
    mine.call("scratch_edit_cell", **given, edits=[{"old": "masts", "new": "sails"}])
    mine.call("scratch_replace_cell", **given, cell={"language": "txt", "content": "b"})
    first, second = mine.read(f"{uri}@1#L3"), mine.read(f"{uri}@2")
    assert (first["text"], first["heading"], first["language"]) == ("masts\n", ["A"], "md")
    assert (first["uri"], first["title"]) == (f"{uri}@1#L3", "A")
    assert (first["tags"], first["pad"]["title"]) == (["x"], "Plan")
    assert second["text"] == "# A\n\nsails\n"
    mine.call("scratch_delete", scratch_id=pad["scratch_id"])
    in_trash = [mine.read(f"{uri}@{version}") for version in (1, 2, 3)]
    assert [one["text"] for one in in_trash] == ["# A\n\nmasts\n", "# A\n\nsails\n", "b"]
    assert all("restore: scratch_restore" in one["became"] for one in in_trash)
    mine.call("scratch_restore", scratch_id=pad["scratch_id"])
    mine.call("scratch_delete_cell", **given)
    gone = mine.read(f"{uri}@2")
    assert gone["text"] == "# A\n\nsails\n"
    operation = mine.call("desk_history")["changes"][0]["operation"]
    assert f"deleted (restore: desk_undo with operation {operation})" in gone["became"]
    mine.call("desk_undo", operation=operation)
    assert mine.read(uri)["text"] == "b"


def test_what_the_trash_was_emptied_of_is_not_said_to_come_back(mine: Writer) -> None:
    task = mine.call("add_task", title="a")["data"]
    cells = [{"language": "txt", "content": "b"}]
    pad = mine.call("scratch_create", cells=cells)["scratchpad"]
    thens = [mine.clock().isoformat()]
    mine.call("delete_task", task_id=task["task_id"])
    mine.call("scratch_delete", scratch_id=pad["scratch_id"])
    thens.append(mine.clock().isoformat())
    mine.clock.advance(days=31)
    for purge in (tasks.purge_trash, pad_rows.purge_trash):
        mine.desk.database.write_sync(SYSTEM, purge)
    for uri in (task["uri"], pad["uri"], pad["cells"][0]["uri"]):
        assert mine.read(uri)["became"] == "deleted for good"
        for then in thens:
            error = mine.fails(uri, as_of=then)
            assert (error["code"], "no longer kept" in error["message"]) == (
                "VERSION_NOT_FOUND",
                True,
            )


def test_a_pad_is_shown_with_the_cells_that_it_had(mine: Writer) -> None:
    cells = [{"language": "txt", "content": text} for text in ("a", "b")]
    pad = mine.call("scratch_create", metadata={"title": "Plan"}, cells=cells)["scratchpad"]
    given = {"scratch_id": pad["scratch_id"]}
    first, second = (cell["cell_id"] for cell in pad["cells"])
    mine.call("scratch_edit_cell", **given, cell_id=second, edits=[{"old": "b", "new": "bb"}])
    mine.call("scratch_update", **given, metadata={"title": "Plans"})
    mine.call("scratch_delete_cell", **given, cell_id=first)
    mine.call("scratch_append_cell", **given, cell={"language": "txt", "content": "c"})
    shown = [mine.read(uri) for uri in mine.addresses(pad["uri"])[:2]]
    assert [one["title"] for one in shown] == ["Plan", "Plans"]
    lines = [[cell["first_line"] for cell in one["cells"]] for one in shown]
    assert lines == [["a", "b"], ["a", "bb"]]
    assert [mine.read(cell["uri"])["text"] for cell in shown[0]["cells"]] == ["a", "b"]


def test_a_pad_whose_cells_were_changed_since_is_not_said_to_be_as_it_is_now(mine: Writer) -> None:
    cell = {"language": "txt", "content": "a"}
    pad = mine.call("scratch_create", metadata={"title": "Plan"}, cells=[cell])["scratchpad"]
    given, first = {"scratch_id": pad["scratch_id"]}, f"{pad['uri']}@1"
    then = mine.clock().isoformat()
    mine.call("scratch_append_cell", **given, cell=cell)
    shown = mine.read(first)
    assert (shown["uri"], len(shown["cells"])) == (first, 1)
    assert shown["became"] == "changed since @1, which is shown: now @2"
    later = mine.clock().isoformat()
    mine.call("scratch_append_cell", **given, cell=cell)
    mine.call("scratch_update", **given, metadata={"title": "Plans"})
    assert mine.read(first)["uri"] == first
    for time, version, count in (
        (then, "", 1),
        (later, "", 2),
        (mine.clock().isoformat(), "@4", 3),
    ):
        shown = mine.read(pad["uri"], as_of=time)
        assert (shown["uri"], len(shown["cells"])) == (f"{pad['uri']}{version}", count)
        assert shown["became"].endswith(", and now" if version else ": now @4")


def test_what_a_note_was_is_known_longer_than_its_own_history(
    database: Database, me: Principal, clock: Clock
) -> None:
    mine = Writer(make_desk(database, settings={"notes.history": 1}), me, clock)
    note = mine.call("note_save", text="first\n", tags=["x"])
    for version in (1, 2):
        mine.call("note_save", id=note["id"], local_version=version, text=f"{version}\n", tags=[])
    own = call_tool(mine.desk, me, "note_get", id=note["id"], local_version=1)
    assert own.code == "VERSION_NOT_FOUND"
    shown = mine.read(f"{note['uri']}@1")
    assert (shown["text"], shown["tags"]) == ("first\n", ["x"])


@pytest.mark.parametrize("kind", ["task", "cell", "note"])
def test_a_version_that_is_no_longer_kept_says_since_when_they_are(
    database: Database, me: Principal, clock: Clock, kind: str
) -> None:
    mine = Writer(make_desk(database, settings={"notes.history": 1}), me, clock)
    if kind == "task":
        made = mine.call("add_task", title="a")["data"]
        for title in "bc":
            mine.call("update_task", task_id=made["task_id"], title=title)
    elif kind == "note":
        made = mine.call("note_save", text="a")
        for version in (1, 2):
            mine.call("note_save", id=made["id"], local_version=version, text=str(version))
    else:
        cell = {"language": "txt", "content": "a"}
        pad = mine.call("scratch_create", cells=[cell])["scratchpad"]
        made = pad["cells"][0]
        given = {"scratch_id": pad["scratch_id"], "cell_id": made["cell_id"]}
        for old, new in ("ab", "bc"):
            mine.call("scratch_edit_cell", **given, edits=[{"old": old, "new": new}])
    mine.purge(mine.clock())
    error = mine.fails(f"{made['uri']}@1")
    assert error["code"] == "VERSION_NOT_FOUND"
    since = error["details"]["kept_since"]
    assert since in error["hint"]
    second = mine.clock() - timedelta(hours=1)
    assert second.isoformat().startswith(since[:19])
    assert "which is shown: now @3" in mine.read(f"{made['uri']}@2")["became"]


def test_at_a_time_a_thing_is_what_it_was_then(mine: Writer) -> None:
    task = mine.call("add_task", title="Write")["data"]
    note = mine.call("note_save", text="first\n")
    cells = [{"language": "txt", "content": "first"}]
    pad = mine.call("scratch_create", metadata={"title": "Plan"}, cells=cells)["scratchpad"]
    then = mine.clock().isoformat()
    mine.call("update_task", task_id=task["task_id"], title="Read")
    mine.call("note_save", id=note["id"], local_version=1, text="second\n")
    mine.call(
        "scratch_delete_cell", scratch_id=pad["scratch_id"], cell_id=pad["cells"][0]["cell_id"]
    )
    mine.call("delete_task", task_id=task["task_id"])
    later = mine.call("add_task", title="Later")["data"]
    assert mine.read(task["uri"], as_of=then)["title"] == "Write"
    shown = mine.read(note["uri"], as_of=then)
    assert (shown["uri"], shown["text"]) == (f"{note['uri']}@1", "first\n")
    assert shown["became"] == f"as of {then.replace('+00:00', 'Z')}: now @2"
    assert mine.read(pad["cells"][0]["uri"], as_of=then)["text"] == "first"
    assert [one["first_line"] for one in mine.read(pad["uri"], as_of=then)["cells"]] == ["first"]
    assert mine.read(pad["uri"])["cells"] == []
    now = mine.read(note["uri"], as_of=mine.clock().isoformat())
    assert (now["text"], now["became"].endswith("and now")) == ("second\n", True)
    in_trash = mine.read(task["uri"], as_of=mine.clock().isoformat())["became"]
    assert "it was in the trash then" in in_trash
    assert mine.fails(later["uri"], as_of=then)["code"] == "NOT_FOUND"


def test_a_note_that_an_account_adopted_is_what_it_was_before(mine: Writer) -> None:
    note = mine.call("note_save", text="harbour")
    then = mine.clock().isoformat()
    mine.call("note_save", id=note["id"], local_version=1, text="lighthouse")

    def found_in(account: str, *, with_local: bool) -> list[str]:
        activate, database = notebooks.activate_account, mine.desk.database
        database.write_sync(mine.scope, activate, account, with_local=with_local)
        hits = mine.call("desk_search", query="harbour", as_of=then)["hits"]
        return [hit["uri"] for hit in hits]

    assert found_in("me@example.org", with_local=True) == [f"{note['uri']}@1"]
    assert mine.read(note["uri"], as_of=then)["text"] == "harbour"
    assert found_in("other@example.org", with_local=False) == []


def test_a_time_after_all_that_was_purged_is_known_though_nothing_was_written_since(
    mine: Writer, clock: Clock
) -> None:
    def call(tool: str, **given: Any) -> Any:
        return answer_of(mine.desk, mine.scope, tool, **given)

    task = mine.call("add_task", title="Write")["data"]
    note = mine.call("note_save", text="walrus")
    cells = [{"language": "txt", "content": "first"}]
    pad = mine.call("scratch_create", cells=cells)["scratchpad"]
    other = mine.call("note_save", text="gone")
    mine.call("note_manage", action="trash", id=other["id"], local_version=1)
    mine.call("note_manage", action="delete_permanently", id=other["id"], local_version=2)
    clock.advance(days=30)
    early = mine.clock().isoformat()
    clock.advance(days=10)
    then = mine.clock().isoformat()
    clock.advance(days=10)

    def check() -> None:
        assert mine.read(task["uri"], as_of=then)["title"] == "Write"
        assert mine.read(note["uri"], as_of=then)["text"] == "walrus"
        assert mine.read(pad["cells"][0]["uri"], as_of=then)["text"] == "first"
        assert mine.fails(other["uri"], as_of=then)["code"] == "NOT_FOUND"
        found = call("desk_search", query="walrus", as_of=then)["hits"]
        assert [one["uri"].partition("@")[0] for one in found] == [note["uri"]]
        assert mine.fails(task["uri"], as_of="2020-01-01")["code"] == "VERSION_NOT_FOUND"

    for _ in range(2):
        mine.purge(datetime.fromisoformat(early))
        assert call("desk_history")["changes"] == []
        assert call("desk_changes", since="0")["changes"] == []
        assert call_tool(mine.desk, mine.scope, "desk_undo", since="0").code == "NOT_FOUND"
        check()
    mine.call("update_task", task_id=task["task_id"], title="Read")
    mine.call("note_save", id=note["id"], local_version=1, text="walruses")
    check()
    mine.purge(datetime.fromisoformat(early))
    check()
    assert len(call("desk_history")["changes"]) == 2
    assert mine.read(f"{note['uri']}@1")["text"] == "walrus"


def test_a_time_before_the_journal_says_since_when_it_is_kept(mine: Writer) -> None:
    task = mine.call("add_task", title="Write")["data"]
    error = mine.fails(task["uri"], as_of="2020-01-01")
    assert error["code"] == "VERSION_NOT_FOUND"
    assert error["details"]["kept_since"] in error["hint"]


@pytest.mark.parametrize(
    ("uri", "as_of", "said"),
    [
        ("rolltop://file/docs/a.md", "2026-01-01", "git"),
        ("rolltop://section/docs/a.md#s1", "2026-01-01", "git"),
        ("rolltop://task/1a2b3c4d@2", "2026-01-01", "version"),
        ("rolltop://task/1a2b3c4d", "someday", "no date"),
    ],
)
def test_a_time_that_cannot_be_meant_is_refused(
    mine: Writer, uri: str, as_of: str, said: str
) -> None:
    error = mine.fails(uri, as_of=as_of)
    assert error["code"] == "INVALID_ARGUMENT"
    assert said in error["message"] + error["hint"]


def test_the_minute_that_an_answer_shows_can_be_asked_for(mine: Writer) -> None:
    note = mine.call("note_save", text="walrus")
    shown = mine.read(note["uri"])["at"]
    mine.call("note_save", id=note["id"], local_version=1, text="otter")
    assert mine.read(note["uri"], as_of=shown)["text"] == "walrus"
    assert mine.read(note["uri"], as_of="1 hour ago")["text"] == "walrus"
    assert mine.read(note["uri"], as_of=f"{mine.clock():%Y-%m-%d}")["text"] == "otter"
    assert mine.read(note["uri"], as_of="today")["text"] == "otter"
    found = mine.call("desk_search", query="walrus", as_of=shown)["hits"]
    assert [hit["uri"].partition("@")[0] for hit in found] == [note["uri"]]


def test_what_was_made_later_did_not_exist_yet(mine: Writer) -> None:
    first = mine.call("add_task", title="first")["data"]
    made = mine.read(first["uri"])["at"].removesuffix("Z")
    before = mine.fails(first["uri"], as_of="yesterday")["message"]
    assert f"did not exist yet at 2026-01-30T23:59:59.999999Z: it was made at {made}" in before
    pad = mine.call("scratch_create", cells=[{"language": "txt", "content": "a"}])["scratchpad"]
    for uri in (pad["uri"], pad["cells"][0]["uri"]):
        later = mine.fails(uri, as_of=made)
        assert (later["code"], "did not exist yet" in later["message"]) == ("NOT_FOUND", True)


def test_what_is_older_than_the_journal_is_not_said_to_be_new(mine: Writer) -> None:
    task = mine.call("add_task", title="first")["data"]
    mine.call("update_task", task_id=task["task_id"], title="second")
    mine.purge(mine.clock() + timedelta(minutes=1))
    mine.call("update_task", task_id=task["task_id"], title="third")
    error = mine.fails(task["uri"], as_of="2020-01-01")
    assert (error["code"], "no longer kept" in error["message"]) == ("VERSION_NOT_FOUND", True)


def test_an_earlier_text_that_is_cut_goes_on_at_its_version(mine: Writer) -> None:
    cells = [{"language": "txt", "content": LONG}, {"language": "txt", "content": "word " * 2000}]
    pad = mine.call("scratch_create", cells=cells)["scratchpad"]
    then = mine.clock().isoformat()
    for cell in pad["cells"]:
        given = {"scratch_id": pad["scratch_id"], "cell_id": cell["cell_id"]}
        mine.call("scratch_replace_cell", **given, cell={"language": "txt", "content": "short"})
    first, second = (cell["uri"] for cell in pad["cells"])
    for wanted, given in (
        (LONG, {"uri": f"{first}@1"}),
        (LONG, {"uri": first, "as_of": then}),
        ("word " * 2000, {"uri": f"{second}@1"}),
        ("".join(LONG.splitlines(keepends=True)[1:200]), {"uri": f"{first}@1#L2-200"}),
    ):
        answer = mine.read(**given, max_tokens=600)
        parts = [answer["text"]]
        while "next" in answer:
            answer = mine.call(answer["next"]["tool"], **answer["next"]["arguments"])
            parts.append(answer["text"])
        assert len(parts) > 1
        assert "".join(parts) == wanted


def test_an_earlier_task_with_many_comments_goes_on(mine: Writer) -> None:
    task = mine.call("add_task", title="Write")["data"]
    for number in range(20):
        mine.call("update_task", task_id=task["task_id"], comment=f"{number}: " + "word " * 30)
    mine.call("update_task", task_id=task["task_id"], title="Read")
    answer = mine.read(f"{task['uri']}@21", max_tokens=400)
    shown = [*answer["task"]["comments"]]
    assert answer["task"]["title"] == "Write"
    while "next" in answer:
        answer = mine.call(answer["next"]["tool"], **answer["next"]["arguments"])
        shown += answer["task"]["comments"]
    assert [int(one["text"].split(":")[0]) for one in shown] == list(range(20))[::-1]


def test_a_cursor_of_another_list_is_refused(mine: Writer) -> None:
    task = mine.call("add_task", title="Write")["data"]
    assert mine.fails(task["uri"], cursor="x.1")["code"] == "INVALID_CURSOR"


@pytest.mark.parametrize("number", [str((1 << 62) + 1), "-1" + "0" * 30, "1" + "0" * 3000])
def test_a_cursor_with_a_number_that_no_database_holds_is_refused(
    mine: Writer, number: str
) -> None:
    task = mine.call("add_task", title="Write")["data"]["task_id"]
    values = base64.urlsafe_b64encode(f"[{number}]".encode()).decode().rstrip("=")
    comments = cursors.filtered_kind("comments", task, None)
    for tool, kind, given in (
        ("desk_history", "history", {}),
        ("desk_changes", "changes", {}),
        ("get_task", comments, {"task_id": task}),
    ):
        answer = call_tool(mine.desk, mine.scope, tool, **given, cursor=f"{kind}~{values}")
        assert answer.code == "INVALID_CURSOR", (tool, answer.text)


def test_nobody_reads_anothers_versions(mine: Writer, them: Principal) -> None:
    task = mine.call("add_task", title="Write")["data"]
    mine.call("update_task", task_id=task["task_id"], title="Read")
    mine.call("delete_task", task_id=task["task_id"])
    then = mine.clock().isoformat()
    mine.scope = them
    mine.call("add_task", title="Mine")
    for given in ({"uri": f"{task['uri']}@1"}, {"uri": task["uri"], "as_of": then}):
        assert mine.fails(**given)["code"] == "NOT_FOUND"


def test_since_a_time_cells_whose_history_is_no_longer_kept_are_not_found(mine: Writer) -> None:
    storm, calm, late = (
        {"language": "txt", "content": word} for word in ("storm", "calm", "storm and calm")
    )
    pad = mine.call("scratch_create", cells=[storm])["scratchpad"]["scratch_id"]
    mine.call("scratch_append_cell", scratch_id=pad, cell=calm)
    mine.clock.advance(hours=1)
    since = mine.clock().isoformat()
    mine.purge(mine.clock())
    mine.call("scratch_append_cell", scratch_id=pad, cell=late)
    then = mine.clock().isoformat()

    def found(**given: Any) -> list[str]:
        asked = {"query": "storm calm", "kinds": ["cell"], "since": since}
        return [hit["lines"] for hit in mine.call("desk_search", **asked, **given)["hits"]]

    assert found() == ["storm and calm"]
    mine.call("scratch_delete", scratch_id=pad)
    assert found() == []
    assert found(as_of=then) == ["storm and calm"]
