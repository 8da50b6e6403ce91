"""Scratchpads as wholes: made, read, changed, listed, deleted, restored."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.scratch import TOOLSET
from tests.desks import make_desk
from tests.toolsets.scratch.caller import UNKNOWN, Caller, cell

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock

NOT_A_UUID = "pad-1"


def test_a_new_pad_holds_what_was_given(mine: Caller, me: Principal) -> None:
    metadata = {
        "title": "  Storms ",
        "description": "of 1703",
        "summary": "wind",
        "other": {"deep": [1, None, "ä"]},
        "nothing": None,
    }
    made = mine.ok(
        "scratch_create",
        metadata=metadata,
        tags=[" b ", "a", "b"],
        cells=[cell("é\r\n\tx", "txt", tags=["t"], metadata={"n": 1}), cell("{}", "json")],
    )["scratchpad"]
    assert uuid.UUID(made["scratch_id"])
    assert "metadata" not in made
    assert [sorted(shown) for shown in made["cells"]] == [
        ["cell_id", "index", "language", "tags", "uri", "version"],
        ["cell_id", "index", "language", "uri", "version"],
    ]
    read = mine.read(made["scratch_id"])
    assert read["metadata"] == {**metadata, "title": "Storms"}
    assert (read["title"], read["description"], read["summary"]) == ("Storms", "of 1703", "wind")
    assert (read["tags"], read["cell_tags"], read["namespace"]) == (["b", "a"], ["t"], "default")
    assert (read["tenant_id"], read["version"], read["cell_count"]) == (me.tenant_id, 1, 2)
    assert read["cells"][0]["content"] == "é\r\n\tx"
    assert read["cells"][0]["metadata"] == {"n": 1}


def test_arguments_win_over_the_same_keys_in_metadata(mine: Caller) -> None:
    metadata = {"namespace": "from metadata", "tags": ["m"]}
    pad = mine.pad(metadata=metadata)
    read = mine.read(pad)
    assert (read["namespace"], read["tags"], read["metadata"]) == ("from metadata", ["m"], {})
    other = mine.read(mine.pad(metadata=metadata, namespace=" mine ", tags=["a"]))
    assert (other["namespace"], other["tags"]) == ("mine", ["a"])


def test_tags_in_one_text_are_several_in_metadata_too(mine: Caller) -> None:
    told = mine.read(mine.pad(tags="storm, draft"))
    for metadata in ({"tags": "storm, draft"}, {"tags": '["storm", "draft"]'}):
        assert mine.read(mine.pad(metadata=metadata))["tags"] == told["tags"] == ["storm", "draft"]


def test_an_id_of_the_callers_choice_is_kept_and_can_be_taken_once(
    mine: Caller, theirs: Caller
) -> None:
    chosen = str(uuid.uuid4()).upper()
    assert mine.pad("kept", scratch_id=chosen) == chosen.lower()
    error = mine.fails("scratch_create", scratch_id=chosen, cells=[cell()])
    assert error["code"] == "INVALID_ID"
    assert mine.contents(chosen) == ["kept"]
    assert theirs.pad("theirs", scratch_id=chosen) == chosen.lower()
    assert mine.contents(chosen) == ["kept"]


def test_a_creation_that_fails_leaves_nothing(mine: Caller) -> None:
    taken = mine.cell_ids(mine.pad("a"))[0]
    same = str(uuid.uuid4())
    for cells, code in (
        ([cell(), cell(cell_id=taken)], "INVALID_ID"),
        ([cell(cell_id=same), cell(cell_id=same.upper())], "INVALID_ID"),
        ([cell(), cell(language=" ")], "VALIDATION_ERROR"),
    ):
        assert mine.code("scratch_create", cells=cells, namespace="new") == code
    assert len(mine.listed()) == 1
    spaces = mine.ok("scratch_namespace", action="list")["namespaces"]
    assert [space["namespace"] for space in spaces] == ["default"]


def test_an_update_merges_metadata_and_null_removes(mine: Caller, clock: Clock) -> None:
    pad = mine.pad(metadata={"title": "t", "kept": 1, "gone": 2})
    clock.advance(seconds=1)
    changed = mine.ok(
        "scratch_update",
        scratch_id=pad,
        metadata={"title": None, "gone": None, "new": [3]},
        tags=["x"],
        namespace="other",
        if_version=1,
    )["scratchpad"]
    assert (changed["version"], changed["namespace"]) == (2, "other")
    read = mine.read(pad)
    assert read["updated_at"] > read["created_at"]
    assert read["tags"] == ["x"]
    assert read["metadata"] == {"kept": 1, "new": [3]}
    assert "title" not in read
    error = mine.fails("scratch_update", scratch_id=pad, tags=[], if_version=1)
    assert (error["code"], error["details"]) == ("CONFLICT", {"version": 2})
    assert mine.read(pad)["tags"] == ["x"]
    mine.ok("scratch_update", scratch_id=pad, metadata={"namespace": None, "tags": None})
    read = mine.read(pad)
    assert (read["namespace"], read["tags"]) == ("default", [])


def test_include_metadata_false_drops_metadata_and_nothing_else(mine: Caller) -> None:
    pad = mine.pad("a", metadata={"title": "t", "x": 1})
    whole, without = mine.read(pad), mine.read(pad, include_metadata=False)
    assert whole.pop("metadata") == {"title": "t", "x": 1}
    assert without == whole


def test_namespaces_of_a_read_tell_own_pads_from_missing_ones_by_the_code_alone(
    mine: Caller, theirs: Caller
) -> None:
    own, foreign = mine.pad(), theirs.pad()
    assert mine.read(own, namespaces=["x", "default"])["scratch_id"] == own
    outside = mine.fails("scratch_read", scratch_id=own, namespaces=["x"])
    assert (outside["code"], outside["message"]) == ("UNAUTHORIZED", "Scratchpad not found")
    for missing in (foreign, UNKNOWN):
        for namespaces in ([], ["x"]):
            error = mine.fails("scratch_read", scratch_id=missing, namespaces=namespaces)
            assert (error["code"], error["message"]) == ("NOT_FOUND", "Scratchpad not found")


def test_a_deletion_says_whether_the_pad_was_there(mine: Caller, theirs: Caller) -> None:
    pad, foreign = mine.pad("kept"), theirs.pad()
    assert mine.ok("scratch_delete", scratch_id=pad)["deleted"] is True
    for gone in (pad, foreign, UNKNOWN):
        assert mine.ok("scratch_delete", scratch_id=gone) == {
            "ok": True,
            "scratch_id": gone,
            "deleted": False,
        }
    assert theirs.listed() == [foreign]
    assert mine.listed() == []
    assert mine.code("scratch_read", scratch_id=pad) == "NOT_FOUND"


def test_a_pad_stays_in_the_trash_for_30_days_and_comes_back_whole(
    mine: Caller, theirs: Caller, clock: Clock
) -> None:
    schema = {"s": {"schema": {"type": "array"}}}
    pad = mine.pad("a", "b", metadata={"title": "t", "schemas": schema}, tags=["x"])
    before = mine.read(pad)
    mine.ok("scratch_delete", scratch_id=pad)
    error = mine.fails("scratch_create", scratch_id=pad)
    assert error["code"] == "INVALID_ID"
    assert "scratch_restore" in error["hint"]
    (entry,) = mine.ok("scratch_restore")["scratchpads"]
    assert (entry["scratch_id"], entry["title"], entry["cell_count"]) == (pad, "t", 2)
    assert theirs.ok("scratch_restore")["scratchpads"] == []
    assert theirs.code("scratch_restore", scratch_id=pad) == "NOT_FOUND"
    clock.advance(days=29)
    mine.ok("scratch_restore", scratch_id=pad)
    after = mine.read(pad)
    for moving in ("updated_at", "last_access_at", "version"):
        assert after.pop(moving) > before.pop(moving)
    assert after == before
    assert mine.code("scratch_restore", scratch_id=pad) == "NOT_FOUND"


def test_after_30_days_a_pad_is_gone_and_its_id_free(mine: Caller, clock: Clock) -> None:
    pad = mine.pad("old")
    cell_id = mine.cell_ids(pad)[0]
    mine.ok("scratch_delete", scratch_id=pad)
    clock.advance(days=30)
    assert mine.ok("scratch_restore")["scratchpads"] == []
    assert mine.code("scratch_restore", scratch_id=pad) == "NOT_FOUND"
    mine.ok("scratch_create", scratch_id=pad, cells=[cell("new", "txt", cell_id=cell_id)])
    assert mine.contents(pad) == ["new"]


def test_a_pad_deleted_while_the_clock_stood_back_is_restored(mine: Caller, clock: Clock) -> None:
    pad = mine.pad("kept")
    clock.advance(days=-365)
    mine.ok("scratch_delete", scratch_id=pad)
    clock.advance(days=365 + 29)
    mine.ok("scratch_restore", scratch_id=pad)
    assert mine.contents(pad) == ["kept"]


def test_lists_are_ordered_and_filtered_before_the_limit(mine: Caller, clock: Clock) -> None:
    ids: dict[str, str] = {}
    for title, tags, namespace in (
        ("b", ["x"], "one"),
        ("A", [], "two"),
        ("c", ["y"], "one"),
        ("", [], "one"),
    ):
        ids[title] = mine.pad(metadata={"title": title}, tags=tags, namespace=namespace)
        clock.advance(seconds=1)
    mine.append(ids["A"], tags=["z"])

    def titles(**arguments: Any) -> list[str]:
        by_id = {pad: title for title, pad in ids.items()}
        return [by_id[pad] for pad in mine.listed(**arguments)]

    assert titles() == ["A", "", "c", "b"]
    assert titles(order="created") == ["", "c", "A", "b"]
    assert titles(order="title") == ["A", "b", "c", ""]
    assert titles(namespaces=["one"], limit=2) == ["", "c"]
    assert titles(tags=["x", "z"], order="title") == ["A", "b"]
    assert titles(tags=["x"], namespaces=["two"]) == []
    assert titles(tags=[], namespaces=[]) == titles()
    entry = mine.ok("scratch_list", limit=1)["scratchpads"][0]
    assert sorted(entry) == sorted(
        [
            *("scratch_id", "uri", "title", "description", "namespace", "tags"),
            *("cell_count", "updated_at"),
        ]
    )


@pytest.mark.parametrize("order", ["recent", "created", "title"])
def test_following_next_gives_every_pad_once(mine: Caller, clock: Clock, order: str) -> None:
    made = set[str]()
    for n in range(7):
        made.add(mine.pad(metadata={"title": "same" if n % 2 else ""}))
        clock.advance(seconds=n % 3)
    answer = mine.ok("scratch_list", limit=2, order=order)
    seen: list[str] = []
    while True:
        seen += [pad["scratch_id"] for pad in answer["scratchpads"]]
        if "next" not in answer:
            break
        answer = mine.ok(answer["next"]["tool"], **answer["next"]["arguments"])
    assert (len(seen), set(seen)) == (7, made)
    assert seen == mine.listed(order=order)


def test_tags_are_listed_apart_each_once_and_sorted(mine: Caller, theirs: Caller) -> None:
    theirs.pad(tags=["secret"])
    pad = mine.pad(tags=["b", "a"], namespace="one")
    mine.append(pad, tags=["d", "b"])
    mine.append(mine.pad(tags=["a", "z"], namespace="two"), tags=["d"])
    gone = mine.pad(tags=["gone"])
    mine.ok("scratch_delete", scratch_id=gone)
    assert mine.ok("scratch_list_tags") == {
        "ok": True,
        "scratchpad_tags": ["a", "b", "z"],
        "cell_tags": ["b", "d"],
    }
    assert mine.ok("scratch_list_tags", namespaces=["one"]) == {
        "ok": True,
        "scratchpad_tags": ["a", "b"],
        "cell_tags": ["b", "d"],
        "namespace_filter": ["one"],
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("scratch_create", {"scratch_id": NOT_A_UUID}, "INVALID_ID"),
        ("scratch_create", {"scratch_id": UNKNOWN.replace("-", "")}, "INVALID_ID"),
        ("scratch_create", {"namespace": " "}, "VALIDATION_ERROR"),
        ("scratch_create", {"namespace": "n" * 201}, "VALIDATION_ERROR"),
        ("scratch_create", {"tags": ["ok", " "]}, "VALIDATION_ERROR"),
        ("scratch_create", {"tags": ["t" * 201]}, "VALIDATION_ERROR"),
        ("scratch_create", {"metadata": {"title": 5}}, "VALIDATION_ERROR"),
        ("scratch_create", {"metadata": {"summary": ["s"]}}, "VALIDATION_ERROR"),
        ("scratch_create", {"metadata": {"tags": 5}}, "VALIDATION_ERROR"),
        ("scratch_create", {"metadata": {"namespace": 5}}, "VALIDATION_ERROR"),
        ("scratch_create", {"metadata": {"x": "nul\x00"}}, "VALIDATION_ERROR"),
        ("scratch_create", {"metadata": {"\ud800": 1}}, "VALIDATION_ERROR"),
        ("scratch_create", {"metadata": {"x": float("nan")}}, "VALIDATION_ERROR"),
        ("scratch_create", {"namespace": "\ud800"}, "VALIDATION_ERROR"),
        ("scratch_create", {"unknown": 1}, "VALIDATION_ERROR"),
        ("scratch_read", {"scratch_id": NOT_A_UUID}, "INVALID_ID"),
        ("scratch_read", {"scratch_id": UNKNOWN, "namespaces": [""]}, "VALIDATION_ERROR"),
        ("scratch_read", {"scratch_id": UNKNOWN, "cell_ids": ["c"]}, "INVALID_ID"),
        ("scratch_read", {"scratch_id": UNKNOWN, "cursor": "c"}, "VALIDATION_ERROR"),
        ("scratch_update", {"scratch_id": UNKNOWN}, "VALIDATION_ERROR"),
        ("scratch_update", {"scratch_id": UNKNOWN, "tags": []}, "NOT_FOUND"),
        ("scratch_delete", {"scratch_id": NOT_A_UUID}, "INVALID_ID"),
        ("scratch_restore", {"scratch_id": UNKNOWN}, "NOT_FOUND"),
        ("scratch_list", {"limit": 0}, "VALIDATION_ERROR"),
        ("scratch_list", {"limit": 201}, "VALIDATION_ERROR"),
        ("scratch_list", {"order": "size"}, "VALIDATION_ERROR"),
        ("scratch_list", {"tags": [" "]}, "VALIDATION_ERROR"),
        ("scratch_list", {"cursor": "pads-recent.x"}, "VALIDATION_ERROR"),
        ("scratch_search", {"query": " \n"}, "VALIDATION_ERROR"),
        ("scratch_search", {"query": "x", "limit": 51}, "VALIDATION_ERROR"),
    ],
)
def test_each_wrong_value_has_its_code_and_stores_nothing(
    local: Caller, tool: str, arguments: dict[str, Any], code: str
) -> None:
    assert local.code(tool, **arguments) == code
    assert code in TOOLSET.error_codes
    assert local.listed() == []


def test_metadata_that_is_nested_too_deep_is_refused(local: Caller) -> None:
    deep: dict[str, Any] = {}
    for _ in range(150):
        deep = {"d": deep}
    assert local.code("scratch_create", metadata=deep) == "VALIDATION_ERROR"


def test_quotes_and_sql_in_every_text_are_text(mine: Caller) -> None:
    nasty = "'; DROP TABLE scratch_pads; -- \" % _ \\ {} 😀"
    pad = mine.pad(nasty, metadata={"title": nasty, nasty: nasty}, tags=[nasty], namespace=nasty)
    read = mine.read(pad, namespaces=[nasty])
    assert read["metadata"] == {"title": nasty, nasty: nasty}
    assert (read["tags"], read["cells"][0]["content"]) == ([nasty], nasty)
    assert mine.listed(tags=[nasty], namespaces=[nasty]) == [pad]
    assert mine.ok("scratch_search", query=nasty)["ok"]


def test_the_settings_name_the_default_namespace(database: Database, me: Principal) -> None:
    desk = make_desk(database, settings={"scratch.default_namespace": " desk "})
    caller = Caller(desk, me)
    pad = caller.pad()
    assert caller.read(pad, namespaces=["desk"])["namespace"] == "desk"
    for wrong in (" ", "n" * 201, "nul\x00"):
        desk = make_desk(database, settings={"scratch.default_namespace": wrong})
        error = Caller(desk, me).fails("scratch_create")
        assert error["code"] == "CONFIG_ERROR"
        assert "scratch.default_namespace" in error["message"]


ONE = "3f2a1b4c-0000-4000-8000-000000000001"
TWO = "3f2a1b4c-0000-4000-8000-000000000002"
START = "3f2a1b4c"


def test_an_id_may_be_given_by_its_beginning(mine: Caller, theirs: Caller) -> None:
    theirs.pad(scratch_id=TWO)
    pad = mine.pad("a", "b", scratch_id=ONE)
    one = mine.cell_ids(pad)[1]
    for start in (START, START.upper(), ONE[:13], ONE.replace("-", ""), ONE[:9]):
        assert mine.read(start)["scratch_id"] == pad
    for tool in ("scratch_list_cells", "scratch_validate"):
        assert mine.ok(tool, scratch_id=START, cell_ids=[one[:8]])["scratch_id"] == pad
    assert [shown["cell_id"] for shown in mine.read(START, cell_ids=[one[:8]])["cells"]] == [one]
    target = {"scratch_id": START, "cell_id": one[:8]}
    edits = [{"old": "b", "new": "c"}]
    assert mine.ok("scratch_edit_cell", **target, edits=edits)["cell_id"] == one
    assert mine.ok("scratch_replace_cell", **target, cell=cell("d"))["cell_id"] == one
    assert mine.ok("scratch_delete_cell", **target)["cell_id"] == one
    mine.append(START, "e")
    mine.ok("scratch_update", scratch_id=START, tags=["t"])
    assert mine.ok("scratch_schema", action="list", scratch_id=START)["schemas"] == []
    assert mine.ok("scratch_delete", scratch_id=START)["scratch_id"] == pad
    assert mine.code("scratch_read", scratch_id=START) == "NOT_FOUND"
    assert mine.ok("scratch_delete", scratch_id=START) == {
        "ok": True,
        "scratch_id": START,
        "deleted": False,
    }
    assert mine.ok("scratch_restore", scratch_id=START)["scratchpad"]["scratch_id"] == pad
    assert mine.contents(pad) == ["a", "e"]


def test_the_beginning_of_several_ids_names_them_and_that_of_none_is_missing(mine: Caller) -> None:
    cells = [cell(cell_id=ONE), cell(cell_id=TWO)]
    pads = [mine.pad(scratch_id=one, cells=cells * (one == ONE)) for one in (ONE, TWO)]
    error = mine.fails("scratch_read", scratch_id=START)
    assert error["code"] == "INVALID_ID"
    assert set(pads) <= set(re.findall("[-0-9a-f]{36}", error["message"]))
    sent = {"scratch_id": ONE, "cell_id": START}
    error = mine.fails("scratch_delete_cell", **sent)
    assert error["code"] == "INVALID_ID"
    assert {ONE, TWO} <= set(re.findall("[-0-9a-f]{36}", error["message"]))
    for start in (UNKNOWN[:8], "0" * 9):
        assert mine.code("scratch_read", scratch_id=start) == "NOT_FOUND"
        assert mine.code("scratch_restore", scratch_id=start) == "NOT_FOUND"
        error = mine.fails("scratch_read", scratch_id=ONE, cell_ids=[start])
        assert (error["code"], start[:8] in error["message"]) == ("NOT_FOUND", True)
        assert mine.code("scratch_delete_cell", scratch_id=start, cell_id=start) == "NOT_FOUND"
    for text in ("3f2a1b4", "3f2a1b4g", f"{ONE}0", ""):
        assert mine.code("scratch_list_cells", scratch_id=text) != "NOT_FOUND"
    # A new id is given whole.
    assert mine.code("scratch_create", scratch_id="0" * 8) == "INVALID_ID"
