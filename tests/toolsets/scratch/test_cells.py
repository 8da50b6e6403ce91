"""Cells: appended, replaced, moved, edited, deleted; versions and exact text."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.journal import history
from rolltop.toolsets.scratch import TOOLSET
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from tests.campaign import examples
from tests.desks import make_desk
from tests.toolsets.scratch.caller import UNKNOWN, Caller, cell

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from tests.databases import Clock

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=200)


USUAL_NAMES = {
    **dict.fromkeys(("PY", "python", "Python3", ".py"), "py"),
    **dict.fromkeys(("javascript", "JavaScript"), "js"),
    "typescript": "ts",
    "rust": "rs",
    "golang": "go",
    "Ruby": "rb",
    "yml": "yml",
    **dict.fromkeys(("bash", "shell", "zsh", "SH"), "sh"),
    **dict.fromkeys(("c++", "C++", "cpp"), "cpp"),
    **dict.fromkeys(("c#", "csharp", "C#"), "cs"),
    **dict.fromkeys(("markdown", " Markdown "), "md"),
    **dict.fromkeys(("text", "plain", "text/plain", "plaintext"), "txt"),
}


@pytest.mark.parametrize(("given", "stored"), USUAL_NAMES.items())
def test_a_language_may_have_its_usual_name_in_any_case(
    local: Caller, given: str, stored: str
) -> None:
    pad = local.pad()
    local.append(pad, "", given)
    assert local.read(pad)["cells"][0]["language"] == stored


def test_a_replacement_keeps_the_language_that_it_does_not_name(mine: Caller) -> None:
    pad = mine.pad(cells=[cell("a: 1", "yaml"), cell("x", "sql")])
    one, _two = mine.cell_ids(pad)
    sent: list[dict[str, Any]] = [
        {"index": 0, "content": "a: ["},
        {"cell_id": one, "cell": {"content": "a: [", "language": None}},
        {"cell_id": one, "cell": {"content": "a: [", "validate": True, "json_schema": {}}},
    ]
    for arguments in sent:
        mine.ok("scratch_replace_cell", scratch_id=pad, **arguments)
        shown = mine.read(pad)["cells"][0]
        assert (shown["language"], shown["content"]) == ("yaml", "a: [")
    assert mine.read(pad)["cells"][0]["validation"]["valid"] is False
    mine.ok("scratch_replace_cell", scratch_id=pad, index=1, content="y")
    assert mine.read(pad)["cells"][1]["language"] == "sql"
    mine.ok("scratch_replace_cell", scratch_id=pad, index=1, content="y", language="md")
    assert mine.read(pad)["cells"][1]["language"] == "md"
    error = mine.fails("scratch_append_cell", scratch_id=pad, cell={"content": "z"})
    assert (error["code"], "language" in error["message"]) == ("VALIDATION_ERROR", True)
    nowhere = {"scratch_id": pad, "content": "z"}
    assert mine.code("scratch_replace_cell", **nowhere, index=9) == "INVALID_INDEX"
    assert mine.code("scratch_replace_cell", **nowhere, cell_id=UNKNOWN) == "NOT_FOUND"


@pytest.mark.parametrize(
    "language", ["sql", "xml", "CSV", "kotlin", "diff", "dockerfile", "ö" * 64]
)
def test_any_other_word_is_kept_as_given_and_its_cell_as_text(mine: Caller, language: str) -> None:
    sent = cell("NUL-free \"' <any> {text\n", f" {language} ", validate=True)
    created = mine.ok("scratch_create", cells=[sent])
    pad = created["scratchpad"]["scratch_id"]
    shown = mine.read(pad)["cells"][0]
    assert (shown["language"], shown["content"]) == (language, sent["content"])
    (checked,) = mine.ok("scratch_validate", scratch_id=pad)["results"]
    for result in (created["validation"][0], checked):
        assert (result["valid"], result["errors"], result["warnings"]) == (True, [], [])
        syntax = result["details"]["syntax"]
        assert (syntax["checked"], syntax["by"]) == (False, "none")
        assert language in syntax["reason"]
    # A replacement takes them as well.
    answer = mine.ok("scratch_replace_cell", scratch_id=pad, index=0, cell=cell("x", "Bash"))
    assert answer["scratchpad"]["cells"][0]["language"] == "sh"


def test_a_cell_goes_to_the_end_with_an_id_of_its_own_or_the_callers(mine: Caller) -> None:
    pad = mine.pad("a")
    chosen = str(uuid.uuid4())
    answer = mine.ok("scratch_append_cell", scratch_id=pad, cell=cell("b", cell_id=chosen))
    assert answer["cell_id"] == chosen
    shown = answer["scratchpad"]
    assert (shown["version"], shown["cell_count"]) == (2, 2)
    named = {"cell_id": chosen, "uri": f"rolltop://cell/{chosen[:8]}"}
    assert shown["cells"] == [{**named, "index": 1, "language": "py", "version": 1}]
    assert "validation" not in answer
    error = mine.fails("scratch_append_cell", scratch_id=pad, cell=cell(cell_id=chosen))
    assert error["code"] == "INVALID_ID"
    assert mine.contents(pad) == ["a", "b"]


def test_an_append_may_name_the_pads_version(mine: Caller) -> None:
    pad = mine.pad()
    for version in (1, 2):
        mine.ok("scratch_append_cell", scratch_id=pad, cell=cell(), if_version=version)
    error = mine.fails("scratch_append_cell", scratch_id=pad, cell=cell(), if_version=2)
    assert (error["code"], error["details"]) == ("CONFLICT", {"version": 3})
    assert len(mine.contents(pad)) == 2


def test_a_replacement_keeps_tags_and_metadata_and_resets_the_rest(mine: Caller) -> None:
    pad = mine.pad()
    one = mine.append(
        pad, "[1]", "json", tags=["t"], metadata={"m": 1}, validate=True, json_schema={}
    )
    answer = mine.ok(
        "scratch_replace_cell", scratch_id=pad, cell_id=one, cell=cell("new", "md"), if_version=1
    )
    assert answer["cell_id"] == one
    (shown,) = mine.read(pad)["cells"]
    assert (shown["content"], shown["language"], shown["version"]) == ("new", "md", 2)
    assert (shown["tags"], shown["metadata"], shown["validate"]) == (["t"], {"m": 1}, False)
    assert "json_schema" not in shown
    assert shown["validation"]["stale"] is True
    other = cell("x", "md", tags=["u"], metadata={})
    mine.ok("scratch_replace_cell", scratch_id=pad, index=0, cell=other)
    (shown,) = mine.read(pad)["cells"]
    assert (shown["tags"], shown["metadata"]) == (["u"], {})
    assert mine.read(pad)["cell_tags"] == ["u"]


@pytest.mark.parametrize(("start", "end"), [(0, 3), (3, 0), (1, 2), (2, 2)])
def test_a_replacement_may_move_the_cell(mine: Caller, start: int, end: int) -> None:
    pad = mine.pad("a", "b", "c", "d")
    expected = ["a", "b", "c", "d"]
    del expected[start]
    expected.insert(end, "X")
    mine.ok(
        "scratch_replace_cell",
        scratch_id=pad,
        index=start,
        cell=cell("X", "txt"),
        new_index=end,
    )
    assert mine.contents(pad) == expected


def test_a_deleted_cell_is_gone_and_the_others_close_up(mine: Caller) -> None:
    pad = mine.pad("a", "b", "c")
    ids = mine.cell_ids(pad)
    assert (
        mine.code("scratch_delete_cell", scratch_id=pad, cell_id=ids[1], if_version=7) == "CONFLICT"
    )
    answer = mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=ids[1], if_version=1)
    assert answer["deleted"] is True
    assert answer["scratchpad"]["cell_count"] == 2
    assert mine.contents(pad) == ["a", "c"]
    assert mine.code("scratch_delete_cell", scratch_id=pad, cell_id=ids[1]) == "NOT_FOUND"
    mine.append(pad, "again", cell_id=ids[1])


def test_a_deleted_cell_comes_back_to_its_place(mine: Caller, theirs: Caller) -> None:
    pad = mine.pad("a", "harbour", "c", metadata={"title": "t"})
    _, cell_id, last = mine.cell_ids(pad)
    fields = {"tags": ["x"], "metadata": {"n": 1}, "json_schema": {"type": "object"}}
    sent = cell('{"harbour": 1}', "json", validate=True, **fields)
    mine.ok("scratch_replace_cell", scratch_id=pad, cell_id=cell_id, cell=sent)
    before = mine.read(pad)["cells"][1]
    for gone in (last, cell_id):
        mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=gone)
    assert theirs.code("scratch_restore", cell_id=cell_id) == "NOT_FOUND"
    answer = mine.ok("scratch_restore", cell_id=cell_id[:8])
    assert (answer["cell_id"], answer["scratchpad"]["cell_count"]) == (cell_id, 2)
    shown = mine.read(pad)
    assert shown["version"] == answer["scratchpad"]["version"] == 5
    assert shown["cells"][1] == {**before, "version": 3}
    hits = mine.ok("scratch_search", query="harbour", tags=["x"], mode="words")["hits"]
    assert [hit["cell_id"] for hit in hits] == [cell_id]
    mine.ok("scratch_restore", scratch_id=pad[:8], cell_id=last)
    assert mine.cell_ids(pad)[1:] == [cell_id, last]


def test_a_cell_that_comes_back_stands_before_what_followed_it(mine: Caller) -> None:
    pad = mine.pad("a", "b", "c", "d")
    a, _, c, _ = mine.cell_ids(pad)
    for gone in (c, a):
        mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=gone)
    mine.ok("scratch_restore", cell_id=c)
    assert mine.contents(pad) == ["b", "c", "d"]
    mine.ok("scratch_restore", cell_id=a)
    assert mine.contents(pad) == ["a", "b", "c", "d"]


def test_only_a_deleted_cell_of_a_pad_that_is_there_comes_back(mine: Caller) -> None:
    pad, other = mine.pad("a", "b"), mine.pad()
    kept, gone = mine.cell_ids(pad)
    for sent in ({"cell_id": kept}, {"cell_id": kept[:8]}, {"cell_id": UNKNOWN}):
        assert mine.code("scratch_restore", **sent) == "NOT_FOUND"
    assert mine.code("scratch_restore", cell_id="c") == "INVALID_ID"
    mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=gone)
    assert mine.code("scratch_restore", scratch_id=other, cell_id=gone) == "NOT_FOUND"
    mine.ok("scratch_delete", scratch_id=pad)
    for cell_id in (kept, gone):
        assert mine.code("scratch_restore", cell_id=cell_id) == "NOT_FOUND"
    mine.ok("scratch_restore", scratch_id=pad)
    full = make_desk(mine.desk.database, settings={"scratch.max_cells_per_pad": 1})
    assert (
        Caller(full, mine.scope).code("scratch_restore", cell_id=gone) == "CAPACITY_LIMIT_REACHED"
    )
    mine.ok("scratch_restore", cell_id=gone)
    assert mine.code("scratch_restore", cell_id=gone) == "NOT_FOUND"
    assert mine.contents(pad) == ["a", "b"]


def test_a_deleted_cell_that_cannot_be_put_back_says_why(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    pad = mine.pad("long ago " * 100)
    (gone,) = mine.cell_ids(pad)
    mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=gone)

    def none_kept(_tx: Tx, _digests: object) -> dict[str, str]:
        return {}

    monkeypatch.setattr(history, "read_texts", none_kept)
    error = mine.fails("scratch_restore", cell_id=gone)
    assert error["code"] == "NOT_FOUND"
    assert "no longer kept" in error["message"]
    assert "desk.history_bytes" in error["hint"]


def test_cells_are_listed_with_their_sizes_and_first_line(mine: Caller) -> None:
    pad = mine.pad("ä" * 100 + "\nsecond\r\n", "", "one line\r\nx")
    listed = mine.ok("scratch_list_cells", scratch_id=pad)
    assert (listed["scratch_id"], listed["cell_count"]) == (pad, 3)
    first, empty, third = listed["cells"]
    assert (first["bytes"], first["lines"], first["first_line"]) == (209, 2, "ä" * 79 + "…")
    assert (empty["bytes"], empty["lines"], empty["tokens"], empty["first_line"]) == (0, 0, 0, "")
    assert (third["lines"], third["first_line"]) == (2, "one line")
    assert all("content" not in shown for shown in listed["cells"])
    ids = [third["cell_id"], first["cell_id"], third["cell_id"]]
    some = mine.ok("scratch_list_cells", scratch_id=pad, cell_ids=ids)["cells"]
    assert some == [third, first]


def test_reads_choose_cells_by_id_index_and_tag_in_the_order_asked_for(mine: Caller) -> None:
    pad = mine.pad()
    ids = [mine.append(pad, str(n), tags=[f"t{n % 2}"]) for n in range(4)]

    def chosen(**arguments: Any) -> list[str]:
        return [shown["content"] for shown in mine.read(pad, **arguments)["cells"]]

    assert chosen(cell_ids=[ids[2], ids[0].upper(), ids[2]]) == ["2", "0"]
    assert chosen(indices=[3, 1, 3]) == ["3", "1"]
    assert chosen(tags=["t1"]) == ["1", "3"]
    assert chosen(tags=["t0", "t1"]) == ["0", "1", "2", "3"]
    assert chosen(indices=[3, 0], tags=["t1"]) == ["3"]
    assert chosen(tags=["none"]) == []
    assert mine.read(pad, tags=["none"])["cell_tags"] == ["t0", "t1"]
    missing = mine.fails("scratch_read", scratch_id=pad, cell_ids=[ids[0], UNKNOWN])
    assert missing["code"] == "NOT_FOUND"
    assert UNKNOWN in missing["message"]
    for index in (4, -1):
        assert mine.code("scratch_read", scratch_id=pad, indices=[index]) == "INVALID_INDEX"


@pytest.mark.parametrize("index", [-1, 1, 2**31, 2**63, 10**30])
def test_no_index_is_too_large_to_be_refused(mine: Caller, index: int) -> None:
    pad = mine.pad("kept")
    sent = {"scratch_id": pad, "cell": cell()}
    assert mine.code("scratch_replace_cell", **sent, index=index) == "INVALID_INDEX"
    assert mine.code("scratch_replace_cell", **sent, index=0, new_index=index) == "INVALID_INDEX"
    assert mine.code("scratch_validate", scratch_id=pad, indices=[index]) == "INVALID_INDEX"
    assert mine.contents(pad) == ["kept"]


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT)
def test_content_is_kept_byte_for_byte(local: Caller, text: str) -> None:
    pad = local.pad(text)
    (shown,) = local.read(pad)["cells"]
    assert shown["content"] == text
    (entry,) = local.ok("scratch_list_cells", scratch_id=pad)["cells"]
    assert entry["bytes"] == len(text.encode())


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ({"language": "py"}, "content"),
        ({"language": " ", "content": ""}, "cell.language"),
        ({"language": "", "content": ""}, "language"),
        ({"language": "x" * 65, "content": ""}, "64"),
        ({"language": "sql", "content": "", "json_schema": {}}, "json_schema"),
        ({"language": "py", "content": 5}, "cell.content"),
        ({"language": "py", "content": "nul\x00"}, "NUL"),
        ({"language": "py", "content": "\udc00"}, "surrogate"),
        ({"language": "py", "content": "", "tagz": []}, "tags"),
        ({"language": "py", "content": "", "tags": ["a", 5]}, "tags"),
        ({"language": "py", "content": "", "tags": [""]}, "tags"),
        ({"language": "py", "content": "", "validate": "yes"}, "validate"),
        ({"language": "py", "content": "", "metadata": []}, "metadata"),
        ({"language": "py", "content": "", "metadata": {"a": "\ud800"}}, "metadata"),
        ({"language": "py", "content": "", "json_schema": {}}, "json_schema"),
        ({"language": "json", "content": "", "json_schema": []}, "true or false or text; got []"),
        ({"language": "json", "content": "", "json_schema": "{"}, "json_schema"),
        ({"language": "json", "content": "", "json_schema": "[]"}, "json_schema"),
        ({"language": "json", "content": "", "json_schema": {"type": "strin"}}, "type"),
    ],
)
def test_a_wrong_cell_is_refused_with_what_is_wrong_and_stores_nothing(
    local: Caller, sent: dict[str, Any], named: str
) -> None:
    pad = local.pad("kept")
    one = local.cell_ids(pad)[0]
    for tool, arguments in (
        ("scratch_append_cell", {"cell": sent}),
        ("scratch_replace_cell", {"cell": sent, "cell_id": one}),
    ):
        error = local.fails(tool, scratch_id=pad, **arguments)
        assert error["code"] == "VALIDATION_ERROR"
        assert named in error["message"] + error["hint"]
    assert local.code("scratch_create", cells=[sent]) == "VALIDATION_ERROR"
    assert local.contents(pad) == ["kept"]
    assert local.read(pad)["version"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("scratch_append_cell", {"cell": cell(cell_id="c")}, "INVALID_ID"),
        ("scratch_replace_cell", {"cell": cell()}, "VALIDATION_ERROR"),
        ("scratch_replace_cell", {"cell": cell(), "cell_id": UNKNOWN}, "NOT_FOUND"),
        ("scratch_replace_cell", {"cell": cell(), "cell_id": "c"}, "INVALID_ID"),
        ("scratch_replace_cell", {"cell": cell(), "index": 1}, "INVALID_INDEX"),
        ("scratch_replace_cell", {"cell": cell(), "index": -1}, "INVALID_INDEX"),
        ("scratch_replace_cell", {"cell": cell(), "index": 0, "new_index": 1}, "INVALID_INDEX"),
        ("scratch_replace_cell", {"cell": cell(), "index": 0, "new_index": -1}, "INVALID_INDEX"),
        ("scratch_replace_cell", {"cell": cell(), "index": 0, "if_version": 2}, "CONFLICT"),
        ("scratch_replace_cell", {"cell": cell(cell_id=UNKNOWN), "index": 0}, "VALIDATION_ERROR"),
        (
            "scratch_edit_cell",
            {"cell_id": UNKNOWN, "edits": [{"old": "a", "new": ""}]},
            "NOT_FOUND",
        ),
        ("scratch_delete_cell", {"cell_id": UNKNOWN}, "NOT_FOUND"),
        ("scratch_delete_cell", {"cell_id": "0"}, "INVALID_ID"),
    ],
)
def test_each_wrong_target_has_its_code_and_changes_nothing(
    mine: Caller, tool: str, arguments: dict[str, Any], code: str
) -> None:
    pad = mine.pad("kept")
    assert mine.code(tool, scratch_id=pad, **arguments) == code
    assert code in TOOLSET.error_codes
    assert mine.code(tool, **{"scratch_id": UNKNOWN, **arguments}) in {"NOT_FOUND", code}
    assert mine.contents(pad) == ["kept"]


def test_a_cell_of_another_pad_is_not_found(mine: Caller) -> None:
    pad, other = mine.pad("a"), mine.pad("b")
    foreign = mine.cell_ids(other)[0]
    for tool, arguments in (
        ("scratch_read", {"cell_ids": [foreign]}),
        ("scratch_list_cells", {"cell_ids": [foreign]}),
        ("scratch_delete_cell", {"cell_id": foreign}),
        ("scratch_replace_cell", {"cell_id": foreign, "cell": cell()}),
        ("scratch_validate", {"cell_ids": [foreign]}),
    ):
        assert mine.code(tool, scratch_id=pad, **arguments) == "NOT_FOUND"
    assert mine.contents(other) == ["b"]


def test_a_write_moves_versions_and_times(mine: Caller, clock: Clock) -> None:
    pad = mine.pad("a", "b")
    ids = mine.cell_ids(pad)
    clock.advance(seconds=1)
    mine.ok("scratch_edit_cell", scratch_id=pad, cell_id=ids[1], edits=[{"old": "b", "new": "B"}])
    read = mine.read(pad)
    assert [shown["version"] for shown in read["cells"]] == [1, 2]
    assert read["version"] == 2
    assert read["updated_at"] > read["created_at"]


def test_tags_under_a_cells_metadata_are_tags_too(mine: Caller) -> None:
    pad = mine.pad()
    sent = cell("x", "txt", tags=["own"], metadata={"tags": [" kept ", "own"], "m": 1})
    cell_id = mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)["cell_id"]
    shown = mine.read(pad, tags=["kept"])
    assert [one["tags"] for one in shown["cells"]] == [["own", "kept"]]
    assert shown["cells"][0]["metadata"] == sent["metadata"]
    assert shown["cell_tags"] == ["kept", "own"]
    other = cell("x", "txt", metadata={"tags": "one"})
    mine.ok("scratch_replace_cell", scratch_id=pad, cell_id=cell_id, cell=other)
    assert mine.read(pad)["cells"][0]["tags"] == ["one"]
    other = cell("x", "txt", metadata={"tags": "one, two"})
    mine.ok("scratch_replace_cell", scratch_id=pad, cell_id=cell_id, cell=other)
    assert mine.read(pad)["cells"][0]["tags"] == ["one", "two"]
    bad = cell("x", "txt", metadata={"tags": ["a", 1]})
    assert mine.code("scratch_append_cell", scratch_id=pad, cell=bad) == "VALIDATION_ERROR"
    own_data = cell("x", "txt", metadata={"tags": {"a": 1}})
    mine.ok("scratch_append_cell", scratch_id=pad, cell=own_data)


def test_the_journal_tells_the_pads_of_cells_deleted_ones_too(mine: Caller) -> None:
    pads: dict[str, str] = {}
    for _ in range(2):
        pad = mine.ok("scratch_create", cells=[cell()])["scratchpad"]
        pads[pad["cells"][0]["cell_id"]] = pad["scratch_id"]
    deleted, scratch_id = next(iter(pads.items()))
    mine.ok("scratch_delete_cell", scratch_id=scratch_id, cell_id=deleted)
    service = mine.desk.service(ScratchService)

    def find(tx: Tx) -> dict[str, str]:
        entries = history.read_entries(tx, limit=20)
        newest = [entry for entry in entries if entry.kind == "cell"][-1:]
        assert [entry.ref for entry in newest] == [deleted]
        return service.find_pads_of_entries(tx, newest) | service.find_pads_of(tx, [*pads])

    assert mine.desk.database.read_sync(mine.scope, find) == pads
