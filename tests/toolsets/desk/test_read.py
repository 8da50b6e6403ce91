"""What desk_read shows of each kind of address, and what it says of a stale one."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from unicodedata import normalize
from urllib.parse import quote

import pytest

from rolltop.core import token_counter
from rolltop.core.dispatch import ToolSelection
from rolltop.core.pagination import count_tokens
from rolltop.workspace import Roots
from tests.contracts.statements import kept_to
from tests.desks import call_tool, make_desk
from tests.toolsets.desk.desk_users import DeskUser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock

DOCUMENTS: Final = Path(__file__).parents[2] / "data" / "documents"
NOTE = "# Harbour\n\nmasts\n\n## Storms\n\n1703\n1987\n"


class Reader(DeskUser):
    """A user who opens addresses."""

    def read(self, uri: str, **arguments: Any) -> Any:
        """Return what is at an address."""
        return self.call("desk_read", uri=uri, **arguments)

    def fails(self, uri: str) -> Any:
        """Return the error of an address."""
        answer = call_tool(self.desk, self.scope, "desk_read", uri=uri)
        assert answer.is_error, answer.text
        return answer.structured["error"]

    def put(self, path: str, text: str) -> str:
        """Write a file; return its version."""
        place = self.folder / path
        place.parent.mkdir(exist_ok=True, parents=True)
        place.write_bytes(text.encode())
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@pytest.fixture
def mine(database: Database, me: Principal, tmp_path: Path) -> Iterator[Reader]:
    folder = tmp_path / "docs"
    folder.mkdir()
    desk = make_desk(database, roots=Roots.open({"docs": folder}, base=folder))
    with kept_to((me.user_id,), besides=()):
        yield Reader(desk, me, folder)


def test_a_note_is_shown_with_its_title_and_the_titles_around_its_lines(mine: Reader) -> None:
    note = mine.call("note_save", text=NOTE, tags=["sea"])
    assert mine.read(note["uri"]) == {
        "uri": f"{note['uri']}@1",
        "kind": "note",
        "title": "Harbour",
        "tags": ["sea"],
        "text": NOTE,
        "by": "unknown",
        "at": "2026-01-31T12:00Z",
    }
    lines = mine.read(f"{note['uri']}#L7")
    assert (lines["text"], lines["heading"]) == ("1703\n", ["Harbour", "Storms"])
    assert (lines["line_start"], lines["line_end"], lines["total_lines"]) == (7, 7, 8)
    assert lines["uri"] == f"{note['uri']}@1#L7"
    assert mine.read(f"rolltop://note/{note['id']}")["text"] == NOTE


def test_a_note_at_another_version(mine: Reader) -> None:
    note = mine.call("note_save", text=NOTE)
    mine.call("note_save", id=note["id"], local_version=1, text=NOTE + "2013\n")
    old = mine.read(f"{note['uri']}@1")
    assert (old["uri"], old["text"]) == (f"{note['uri']}@1", NOTE)
    assert old["became"] == "changed since @1, which is shown: now @2"
    assert "became" not in mine.read(f"{note['uri']}@2")
    assert mine.read(f"{note['uri']}@9")["became"] == "there is no @9: now @2"
    gone = mine.read(f"{note['uri']}#L100-101")
    assert gone["text"] == "1987\n2013\n"
    assert gone["became"] == "L100-101 are gone: there are 9 lines now"


def test_a_note_in_the_trash_and_one_deleted_for_good_say_how_they_come_back(
    mine: Reader,
) -> None:
    note = mine.call("note_save", text=NOTE)
    mine.call("note_manage", action="trash", id=note["id"], local_version=1)
    trashed = mine.read(note["uri"])
    assert trashed["text"] == NOTE
    assert trashed["became"] == "deleted (restore: note_manage with action untrash)"
    mine.call("note_manage", action="delete_permanently", id=note["id"], local_version=2)
    erased = mine.read(note["uri"])
    assert erased["text"] == NOTE
    restore = "restore: note_manage with action restore and version 2"
    assert erased["became"] == f"deleted for good ({restore})"


def test_a_pad_lists_its_cells_and_a_cell_shows_its_pad(mine: Reader) -> None:
    cells = [{"language": "md", "content": NOTE}, {"language": "json", "content": "[1]"}]
    made = mine.call("scratch_create", metadata={"title": "Plan"}, cells=cells)["scratchpad"]
    pad = mine.read(made["uri"])
    assert (pad["kind"], pad["title"], len(pad["cells"])) == ("pad", "Plan", 2)
    first = pad["cells"][0]
    assert first["uri"] == made["cells"][0]["uri"]
    cell = mine.read(f"{first['uri']}#L3")
    assert (cell["text"], cell["heading"], cell["title"]) == ("masts\n", ["Harbour"], "Harbour")
    assert cell["pad"] == {"uri": made["uri"], "title": "Plan"}
    mine.call(
        "scratch_edit_cell",
        scratch_id=made["scratch_id"],
        cell_id=made["cells"][0]["cell_id"],
        edits=[{"old": "masts", "new": "sails"}],
    )
    assert mine.read(f"{first['uri']}@1")["text"] == NOTE
    mine.call("scratch_delete", scratch_id=made["scratch_id"])
    assert mine.read(made["uri"])["became"] == "deleted (restore: scratch_restore)"
    assert mine.read(first["uri"])["became"] == "deleted with its pad (restore: scratch_restore)"


def test_what_is_said_to_bring_a_cell_back_brings_it_back(mine: Reader) -> None:
    """Whether the cell was deleted, or its pad with the operation that made both."""
    cells = [{"language": "txt", "content": "a"}]
    pad = mine.call("scratch_create", cells=cells)["scratchpad"]
    cell, named = pad["cells"][0], {"scratch_id": pad["scratch_id"]}
    made = mine.call("desk_history")["changes"][0]["operation"]
    for tool, given in (
        ("scratch_delete_cell", {**named, "cell_id": cell["cell_id"]}),
        ("desk_undo", {"operation": made}),
    ):
        mine.call(tool, **given)
        became = mine.read(cell["uri"])["became"]
        operation = became.removeprefix("deleted (restore: desk_undo with operation ")[:-1]
        mine.call("desk_undo", operation=operation)
        assert mine.read(cell["uri"])["text"] == "a"


def test_a_task_is_shown_whole_with_its_comments(mine: Reader) -> None:
    task = mine.call("add_task", title="Grease the wheel", description="both sides")["data"]
    mine.call("update_task", task_id=task["task_id"], comment="one side done")
    shown = mine.read(task["uri"])
    assert shown["title"] == "Grease the wheel"
    assert shown["task"]["description"] == "both sides"
    assert shown["task"]["comments"][0]["text"] == "one side done"
    mine.call("delete_task", task_id=task["task_id"])
    gone = mine.read(task["uri"])
    assert gone["became"] == "deleted (restore: restore_task)"
    assert gone["task"]["description"] == "both sides"


def test_lines_of_a_file_come_with_the_titles_around_them(mine: Reader) -> None:
    version = mine.put("a b/guide.md", NOTE)
    (hit,) = mine.call("repo_search", query="1703")["result"]
    shown = mine.read(hit["uri"])
    assert shown["uri"] == f"rolltop://file/docs/a%20b/guide.md@{version}#L7"
    assert (shown["text"], shown["heading"]) == ("1703\n", ["Harbour", "Storms"])
    newer = mine.put("a b/guide.md", NOTE + "2013\n")
    stale = mine.read(shown["uri"])
    assert stale["became"] == f"changed since @{version}: now @{newer}"
    beyond = mine.read("rolltop://file/docs/a%20b/guide.md#L50-51")
    assert beyond["text"] == "1987\n2013\n"
    assert "there are 9 lines now" in beyond["became"]
    listed = mine.read("rolltop://file/docs/a%20b")
    assert [entry["path"] for entry in listed["entries"]] == ["a b/guide.md"]


def test_a_section_is_found_where_it_moved_to(mine: Reader) -> None:
    version = mine.put("guide.md", NOTE)
    section = mine.call("list_sections", file_path="guide.md")["outline"][1]
    uri = f"rolltop://section/docs/guide.md@{version}#{section['id']}"
    shown = mine.read(f"{uri}#L5-8")
    assert shown["text"] == "## Storms\n\n1703\n1987\n"
    assert (shown["title"], shown["heading"]) == ("Storms", ["docs/guide.md", "Harbour"])
    assert "became" not in shown
    newer = mine.put("guide.md", NOTE.replace("masts", "masts\nsails"))
    moved = mine.read(f"{uri}#L5-8")
    assert moved["became"] == f"changed since @{version}: now @{newer}; moved to L6-9"
    mine.put("guide.md", "# Harbour\n\n## Storm\n")
    error = mine.fails(uri)
    assert error["code"] == "NOT_FOUND"
    assert mine.read(error["details"]["suggestions"][0]["uri"])["kind"] == "section"


def test_lines_of_a_file_are_found_where_they_moved_to(mine: Reader) -> None:
    text = "one\ntwo\nthree\n}\nfour\n}\n"
    version = mine.put("g.md", text)
    uri = mine.read("rolltop://file/docs/g.md")["uri"]
    assert uri.endswith(f"@{version}")
    newer = mine.put("g.md", f"new\nlines\n{text}")
    shown = mine.read(f"{uri}#L2-3")
    changed = f"changed since @{version}: now @{newer}"
    assert shown["became"] == f"{changed}; moved to L4-5"
    assert (shown["text"], shown["line_start"], shown["line_end"]) == ("two\nthree\n", 4, 5)
    assert shown["uri"] == f"rolltop://file/docs/g.md@{newer}#L4-5"
    assert mine.read(f"{uri}#L3")["became"] == f"{changed}; moved to L5"
    assert mine.read(f"{uri}#L6")["became"] == f"{changed}; moved to L8"  # the second is the second
    mine.put("g.md", "two\nthree\n")
    back = mine.read(f"rolltop://file/docs/g.md@{newer}#L4-5")
    assert (back["text"], back["became"].split("; ")[1]) == ("two\nthree\n", "moved to L1-2")
    several = mine.put("g.md", "}\n}\n}\nx\nother\n}\n")
    for lines, own in (("L6", "}\n"), ("L2-3", "}\n}\n")):
        shown = mine.read(f"{uri}#{lines}")
        assert (shown["text"], shown["became"]) == (
            own,
            f"changed since @{version}: now @{several}",
        )


def test_lines_of_a_file_that_stayed_or_are_not_known_are_not_said_to_have_moved(
    mine: Reader,
) -> None:
    text = "one\ntwo\nthree\n"
    version = mine.put("g.md", text)
    uri = f"rolltop://file/docs/g.md@{version}#L2"
    assert "became" not in mine.read(uri)
    newer = mine.put("g.md", f"{text}two\n")
    assert mine.read(uri)["became"] == f"changed since @{version}: now @{newer}"
    mine.put("g.md", f"zero\n{text}")
    assert "moved" not in mine.read(f"rolltop://file/docs/g.md@{'0' * 12}#L2")["became"]
    (mine.folder / "g.md").write_bytes(f"zero\n{text}".encode("utf-16"))
    assert mine.read("rolltop://file/docs/g.md#L2")["text"] == "one\n"


def test_a_renamed_file_is_found_by_its_hash(mine: Reader) -> None:
    version = mine.put("guide.md", NOTE)
    mine.put("other.md", NOTE + "more\n")
    section = mine.call("list_sections", file_path="guide.md")["outline"][1]
    (mine.folder / "deep").mkdir()
    (mine.folder / "guide.md").rename(mine.folder / "deep" / "manual.txt")
    shown = mine.read(f"rolltop://file/docs/guide.md@{version}#L7")
    assert shown["uri"] == f"rolltop://file/docs/deep/manual.txt@{version}#L7"
    assert (shown["text"], shown["became"]) == ("1703\n", "renamed to docs/deep/manual.txt")
    (mine.folder / "deep" / "manual.txt").rename(mine.folder / "deep" / "manual.md")
    part = mine.read(f"rolltop://section/docs/guide.md@{version}#{section['id']}")
    assert (part["title"], part["became"]) == ("Storms", "renamed to docs/deep/manual.md")
    assert mine.fails("rolltop://file/docs/guide.md")["code"] == "NOT_FOUND"  # no hash to go by
    mine.put("deep/manual.md", "another\n")
    assert mine.fails(f"rolltop://file/docs/guide.md@{version}")["code"] == "NOT_FOUND"
    (mine.folder / ".gitignore").write_text("hidden.md\n")
    mine.put("hidden.md", NOTE)
    assert mine.fails(f"rolltop://file/docs/guide.md@{version}")["code"] == "NOT_FOUND"


def test_an_empty_file_and_an_empty_note_are_shown(mine: Reader) -> None:
    mine.put("empty.md", "")
    assert mine.read("rolltop://file/docs/empty.md")["text"] == ""
    assert mine.read("rolltop://file/docs/empty.md#L3-4")["text"] == ""
    note = mine.call("note_save", text="")
    assert (mine.read(note["uri"])["text"], mine.read(note["uri"])["title"]) == ("", "")
    assert mine.read(f"{note['uri']}#L3-4")["text"] == ""


@pytest.mark.parametrize("lines", ["", "#L2-900"])
def test_a_long_text_is_cut_and_goes_on_where_it_was(mine: Reader, lines: str) -> None:
    text = "".join(f"line {n} of it\n" for n in range(1000))
    mine.put("long.txt", text)
    note = mine.call("note_save", text=text, max_tokens=300)
    cell = mine.call("scratch_create", cells=[{"language": "txt", "content": text}])
    wanted = "".join(text.splitlines(keepends=True)[1:900]) if lines else text
    for uri in (
        "rolltop://file/docs/long.txt",
        note["uri"],
        cell["scratchpad"]["cells"][0]["uri"],
    ):
        answer = mine.read(f"{uri}{lines}", max_tokens=1000)
        assert token_counter.count(str(answer["text"])) <= 1000
        assert answer["truncated"] is True
        parts = [answer["text"]]
        while "next" in answer or "next" in answer.get("meta", {}):
            onward = answer.get("next") or answer["meta"]["next"]
            answer = mine.call(onward["tool"], **onward["arguments"])
            assert count_tokens(answer) <= 1000
            whole = answer.get("result", answer)
            whole = whole["scratchpad"]["cells"][0] if "scratchpad" in whole else whole
            parts.append(whole["text"] if "text" in whole else whole["content"])
        assert "".join(parts) == wanted


@pytest.mark.parametrize(
    ("uri", "code", "said"),
    [
        ("the plan", "INVALID_ARGUMENT", "rolltop://note/<id>"),
        ("rolltop://file/docs/../../etc/passwd", "NOT_FOUND", "outside"),
        ("rolltop://file/docs//etc/passwd", "NOT_FOUND", ""),
        ("rolltop://file/none/a.md", "NOT_FOUND", "The roots are: docs."),
        ("rolltop://file/docs/%FF%FE", "NOT_FOUND", ""),
        ("rolltop://section/docs/a.md#s1", "NOT_FOUND", ""),
        ("rolltop://note/1a2b3c4d", "NOT_FOUND", "note_list"),
        ("rolltop://task/1a2b3c4d", "NOT_FOUND", "list_tasks"),
        ("rolltop://task/not-an-id", "INVALID_ARGUMENT", ""),
        ("rolltop://pad/1a2b3c4d", "NOT_FOUND", "scratch_list"),
        ("rolltop://cell/1a2b3c4d", "NOT_FOUND", "scratch_list_cells"),
        ("rolltop://cell/' OR 1=1 --", "INVALID_ARGUMENT", ""),
        ("rolltop://note/" + "%41" * 3000, "INVALID_ARGUMENT", ""),
        ("rolltop://note/\ud800", "INVALID_TEXT", "lone surrogate"),
        ("rolltop://note/%ED%A0%80", "INVALID_TEXT", "lone surrogate"),
    ],
)
def test_an_address_that_leads_nowhere_says_what_to_do(
    mine: Reader, uri: str, code: str, said: str
) -> None:
    error = mine.fails(uri)
    assert error["code"] == code, error
    assert said in error["message"] + error["hint"]


def test_a_beginning_of_several_ids_names_them(mine: Reader) -> None:
    ids = [f"1a2b3c4d-0000-4000-8000-00000000000{n}" for n in range(2)]
    for pad in ids:
        mine.call("scratch_create", scratch_id=pad)
    error = mine.fails("rolltop://pad/1a2b3c4d")
    assert error["code"] == "INVALID_ARGUMENT"
    assert all(pad in error["message"] for pad in ids)
    assert mine.read(f"rolltop://pad/{ids[1]}")["kind"] == "pad"


def test_what_is_left_out_of_the_server_is_not_opened(mine: Reader) -> None:
    note = mine.call("note_save", text="x")
    mine.desk = make_desk(mine.desk.database, selection=ToolSelection(toolsets=["tasks", "desk"]))
    error = mine.fails(note["uri"])
    assert (error["code"], "toolset notes" in error["hint"]) == ("NOT_FOUND", True)


def as_two(mine: Reader) -> tuple[Reader, Reader]:
    """Return two clients of the user."""
    ann, ben = (replace(mine.scope, actor=name) for name in ("ann", "ben"))
    return Reader(mine.desk, ann, mine.folder), Reader(mine.desk, ben, mine.folder)


def test_who_made_a_record_what_it_is_is_told_with_it(mine: Reader, clock: Clock) -> None:
    ann, ben = as_two(mine)
    note = ann.call("note_save", text=NOTE)["id"]
    task = ann.call("add_task", title="chart")["data"]["task_id"]
    clock.advance(hours=1)
    ben.call("note_save", id=note, local_version=1, text=f"{NOTE}2013\n")

    def check(address: str, by: str, at: str) -> None:
        read = mine.read(f"rolltop://{address}")
        assert (read["by"], read["at"]) == (by, f"2026-01-31T{at}Z"), address

    check(f"note/{note}", "ben", "13:00")
    check(f"note/{note}@1", "ann", "12:00")
    check(f"task/{task}", "ann", "12:00")
    clock.advance(hours=1)
    ann.call("note_manage", action="trash", id=note, local_version=2)
    ann.call("note_manage", action="delete_permanently", id=note, local_version=3)
    ben.call("delete_task", task_id=task)
    check(f"note/{note}", "ann", "14:00")
    check(f"note/{note}@1", "ann", "12:00")
    check(f"task/{task}", "ben", "14:00")
    mine.put("page.md", NOTE)
    assert not {"by", "at"} & mine.read("rolltop://file/docs/page.md").keys()


@pytest.mark.parametrize(("kept", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_every_tool_opens_a_file_however_unicode_composes_its_name(
    mine: Reader, kept: Literal["NFC", "NFD"], asked: Literal["NFC", "NFD"]
) -> None:
    on_disk, path = normalize(kept, "Übung/Größe.md"), normalize(asked, "Übung/Größe.md")
    mine.put(on_disk, NOTE)
    opened = mine.read(f"rolltop://file/docs/{quote(path)}#L6-7")
    assert (opened["text"], opened["heading"]) == ("\n1703\n", ["Harbour", "Storms"])
    assert mine.read(opened["uri"])["text"] == opened["text"]
    assert "Harbour" in mine.read(f"rolltop://section/docs/{quote(path)}#storms")["heading"]
    assert mine.call("repo_open_file", path=path)["result"]["path"] == on_disk
    assert mine.call("smart_read", file_path=path)["content"] == NOTE
    assert mine.call("read_plan", file_paths=[path], query="storms", budget_tokens=400)["sections"]
    for glob in (path, path.replace("e.md", "?.md"), f"docs/{path.partition('/')[0]}/**"):
        found = mine.call("repo_search", query="1703", file_glob=glob)["result"]
        assert [each["path"] for each in found] == [on_disk]
    listed = mine.call("repo_list_dir", repo="docs", path=path.partition("/")[0])["result"]
    assert [each["path"] for each in listed["entries"]] == [on_disk]


@pytest.mark.parametrize("name", ["handbook.pdf", "handbook", "HANDBOOK.PDF"])
def test_a_document_that_is_all_ascii_is_opened_as_one(mine: Reader, name: str) -> None:
    data = (DOCUMENTS / "handbook.pdf").read_bytes()
    assert b"\0" not in data
    (mine.folder / name).write_bytes(data)
    opened = mine.read(f"rolltop://file/docs/{name}")
    assert "Keeping the lamp" in opened["text"]
    assert "endobj" not in opened["text"]
    line = 1 + opened["text"].split("\n").index("Oil")
    lines = mine.read(f"rolltop://file/docs/{name}#L{line}")
    assert (lines["text"].strip(), lines["heading"]) == ("Oil", ["Keeping the lamp", "Oil"])


def test_a_text_that_tells_of_documents_is_opened_as_text(mine: Reader) -> None:
    text = "It starts with\n%PDF-1.3\nthen 1 0 obj\n"
    mine.put("formats.md", text)
    assert mine.read("rolltop://file/docs/formats.md")["text"] == text
    (mine.folder / "broken.pdf").write_bytes(b"%PDF-1.3\n1 0 obj\n")
    assert "pdf" in mine.fails("rolltop://file/docs/broken.pdf")["message"].lower()


def test_who_changed_a_cell_made_its_pad_what_it_is(mine: Reader, clock: Clock) -> None:
    ann, ben = as_two(mine)
    cells = [{"language": "text", "content": text} for text in ("a", "b")]
    made = ann.call("scratch_create", cells=cells)["scratchpad"]
    clock.advance(hours=1)
    place = {"scratch_id": made["scratch_id"], "index": 0}
    ben.call("scratch_replace_cell", **place, cell={"language": "text", "content": "c"})
    stamps = [(mine.read(one["uri"])["by"], one["index"]) for one in made["cells"]]
    assert stamps == [("ben", 0), ("ann", 1)]
    pad = mine.read(made["uri"])
    assert (pad["by"], pad["at"]) == ("ben", "2026-01-31T13:00Z")
    clock.advance(hours=1)
    last = made["cells"][1]["cell_id"]
    ann.call("scratch_delete_cell", scratch_id=made["scratch_id"], cell_id=last)
    assert mine.read(made["uri"]).get("by") in {None, "ann"}


def test_tools_take_the_address_that_is_shown_or_the_start_of_an_id_for_the_id(
    mine: Reader,
) -> None:
    note = mine.call("note_save", text="a")["uri"]
    task, other = (mine.call("add_task", title=title)["data"]["uri"] for title in "ab")
    cells = [{"language": "txt", "content": "a"}]
    pad = mine.call("scratch_create", cells=cells)["scratchpad"]
    cell = pad["cells"][0]["uri"]
    for version, form in enumerate((note, note.rpartition("/")[2]), 1):
        given = {"id": form, "local_version": version}
        assert mine.call("note_save", **given, text=f"text {version}")["uri"] == note
        assert mine.call("note_get", id=form)["text"] == f"text {version}"
        assert len(mine.call("note_manage", id=form, action="history")["versions"]) == version + 1
    for at, action in enumerate(("trash", "untrash", "restore", "trash", "delete_permanently"), 3):
        given = {"version": 1} if action == "restore" else {}
        done = mine.call("note_manage", id=note, action=action, local_version=at, **given)
        assert done["uri"] == note
    mine.call("update_task", task_id=task, blocked_by=[other], parent_id=other)
    assert mine.call("get_task", task_id=task)["data"]["blocked_by"]
    replaced = {"cell_id": cell, "cell": cells[0]}
    mine.call("scratch_replace_cell", scratch_id=pad["uri"], **replaced)
    assert mine.call("scratch_read", scratch_id=pad["uri"], cell_ids=[cell])["scratchpad"]["cells"]
    for tool, name, uri in (("note_get", "id", task), ("get_task", "task_id", f"{task}@1")):
        assert call_tool(mine.desk, mine.scope, tool, **{name: uri}).is_error


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ("guide/b.md", ""),
        ("./guide/b.md", ""),
        ("docs/guide/b.md", ""),
        ("guide/b.md:3", "#L3"),
        ("guide/b.md:3-4", "#L3-4"),
        ("guide/b.md#L3-L4", "#L3-4"),
        ("file://{folder}/guide/b.md", ""),
        ("{folder}/guide/b.md:3", "#L3"),
        ("guide/c:12", ""),
    ],
)
def test_a_plain_path_means_its_file(mine: Reader, given: str, lines: str) -> None:
    version = mine.put("guide/b.md", NOTE)
    name = "c:12" if "c:12" in given else "b.md"
    mine.put("guide/c:12", NOTE)
    uri = f"rolltop://file/docs/guide/{quote(name)}@{version}{lines}"
    assert mine.read(given.format(folder=mine.folder))["uri"] == uri
    link = {"from": given.format(folder=mine.folder), "to": "https://example.org/"}
    assert mine.call("desk_link", relation="relates", **link)["uri"] == uri.replace(
        f"@{version}", ""
    )


def test_a_plain_id_means_its_thing(mine: Reader) -> None:
    note = mine.call("note_save", text=NOTE)
    task = mine.call("add_task", title="Sail")["data"]
    pad = mine.call("scratch_create", cells=[{"language": "txt", "content": "a"}])["scratchpad"]
    cell = pad["cells"][0]
    uri = note["uri"]
    for given in (note["id"], uri[-8:], f"note/{note['id']}", uri.replace("//note", "//notes")):
        assert mine.read(given)["text"] == NOTE
        assert mine.call("desk_history", uri=given)["changes"][0]["uri"] == f"{uri}@1"
    for one, given in ((task, task["task_id"]), (pad, pad["scratch_id"]), (cell, cell["cell_id"])):
        assert mine.read(given)["uri"].startswith(one["uri"])
    linked = mine.call("desk_link", **{"from": note["id"]}, relation="relates", to=task["task_id"])
    assert (linked["uri"], linked["to"]) == (uri, task["uri"])


def test_what_is_no_name_of_anything_is_told_what_an_address_is(mine: Reader) -> None:
    note = mine.call("note_save", text=NOTE)
    wrong = (
        "guide/none.md",
        "../secret",
        "12345678",
        f"task/{note['id']}",
        "12345678-----",
        "1" * 36,
        "1" * 32,
        "word",
        "a\nb",
        "/etc/passwd",
    )
    for given in wrong:
        error = mine.fails(given)
        assert error["code"] == "INVALID_ARGUMENT"
        assert "is no address" in error["message"]
