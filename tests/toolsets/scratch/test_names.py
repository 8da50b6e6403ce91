"""Namespaces of a tenant and schemas of a pad, under the tools' own and their seeds' names."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.toolsets.scratch.caller import UNKNOWN, Caller

if TYPE_CHECKING:
    from tests.databases import Clock

ARRAY = {"type": "array", "items": {"type": "integer"}}


def spaces(caller: Caller) -> dict[str, int]:
    """Return the namespaces and how many pads each has, in order."""
    listed = caller.ok("scratch_namespace", action="list")["namespaces"]
    return {entry["namespace"]: entry["scratchpad_count"] for entry in listed}


def test_namespaces_are_registered_by_creation_and_by_use_oldest_first(
    mine: Caller, theirs: Caller, clock: Clock
) -> None:
    theirs.pad(namespace="theirs")
    assert mine.ok("scratch_namespace", action="create", namespace=" z ") == {
        "ok": True,
        "namespace": "z",
        "created": True,
    }
    clock.advance(seconds=1)
    pad = mine.pad(namespace="a")
    clock.advance(seconds=1)
    mine.ok("scratch_update", scratch_id=pad, namespace="A")
    assert mine.ok("scratch_namespace_create", namespace="z")["created"] is False
    assert list(spaces(mine).items()) == [("z", 0), ("a", 0), ("A", 1)]


def test_a_rename_moves_the_pads_with_it(mine: Caller, clock: Clock) -> None:
    pads = [mine.pad("harbour", namespace="old") for _ in range(2)]
    mine.pad(namespace="taken")
    gone = mine.pad(namespace="old")
    mine.ok("scratch_delete", scratch_id=gone)
    clock.advance(seconds=1)
    rename = {"action": "rename", "old_namespace": "old"}
    for new, arguments, code in (
        ("taken", {}, "VALIDATION_ERROR"),
        ("new", {"migrate_scratchpads": False}, "VALIDATION_ERROR"),
        (" ", {}, "VALIDATION_ERROR"),
        (None, {}, "VALIDATION_ERROR"),
    ):
        sent = {**rename, "new_namespace": new, **arguments}
        assert mine.code("scratch_namespace", **sent) == code
    assert mine.ok("scratch_namespace", **rename, new_namespace="old")["migrated_count"] == 0
    answer = mine.ok("scratch_namespace", **rename, new_namespace="new")
    assert answer == {"ok": True, "namespace": "new", "migrated_count": 2}
    assert spaces(mine) == {"new": 2, "taken": 1}
    read = mine.read(pads[0])
    assert (read["namespace"], read["version"]) == ("new", 2)
    hits = mine.ok("scratch_search", query="harbour", namespaces=["new"])["hits"]
    assert {hit["scratch_id"] for hit in hits} == set(pads)
    mine.ok("scratch_restore", scratch_id=gone)
    assert spaces(mine)["new"] == 3
    unknown = {**rename, "old_namespace": "nothing", "new_namespace": "x"}
    assert mine.code("scratch_namespace", **unknown) == "NOT_FOUND"
    empty = {"old_namespace": "e", "new_namespace": "f", "migrate_scratchpads": False}
    mine.ok("scratch_namespace_create", namespace="e")
    assert mine.ok("scratch_namespace_rename", **empty)["migrated_count"] == 0


def test_a_rename_takes_the_namespace_for_the_old_name(mine: Caller) -> None:
    mine.pad(namespace="old")
    rename = {"action": "rename", "namespace": "old", "new_namespace": "new"}
    assert mine.ok("scratch_namespace", **rename)["migrated_count"] == 1
    assert spaces(mine) == {"new": 1}
    assert mine.code("scratch_namespace", action="rename", namespace="new") == "VALIDATION_ERROR"


def test_a_namespace_in_use_is_deleted_with_its_pads_or_not_at_all(
    mine: Caller, theirs: Caller
) -> None:
    pad = mine.pad("harbour", namespace="used")
    foreign = theirs.pad(namespace="used")
    delete = {"action": "delete", "namespace": "used"}
    assert mine.code("scratch_namespace", **delete) == "VALIDATION_ERROR"
    assert mine.listed() == [pad]
    answer = mine.ok("scratch_namespace", **delete, delete_scratchpads=True)
    assert (answer["deleted"], answer["removed_scratchpads"]) == (True, 1)
    assert mine.listed() == []
    assert mine.ok("scratch_search", query="harbour")["hits"] == []
    assert theirs.listed() == [foreign]
    again = mine.ok("scratch_namespace_delete", namespace="used")
    assert (again["deleted"], again["removed_scratchpads"]) == (False, 0)
    mine.ok("scratch_restore", scratch_id=pad)
    assert spaces(mine) == {"used": 1}


@pytest.mark.parametrize("action", ["create", "delete"])
def test_a_blank_namespace_is_refused(local: Caller, action: str) -> None:
    for name in (" ", None, "n" * 201, "\x00"):
        code = local.code("scratch_namespace", action=action, namespace=name)
        assert code == "VALIDATION_ERROR"


def test_schemas_come_with_the_metadata_and_get_an_id(mine: Caller) -> None:
    given: dict[str, Any] = {
        "b": {"schema": ARRAY},
        "a": {"id": str(uuid.uuid4()), "schema": {}, "name": "a"},
    }
    pad = mine.pad(metadata={"schemas": given, "x": 1})
    kept = mine.read(pad)["metadata"]["schemas"]
    assert uuid.UUID(kept["b"]["id"])
    assert kept["b"]["schema"] == ARRAY
    assert (kept["a"]["id"], kept["a"]["description"]) == (given["a"]["id"], "")
    changed: dict[str, Any] = {
        "a": None,
        "b": {"schema": True, "description": "d"},
        "c": {"schema": {}},
    }
    mine.ok("scratch_update", scratch_id=pad, metadata={"schemas": changed})
    merged = mine.read(pad)["metadata"]["schemas"]
    assert sorted(merged) == ["b", "c"]
    assert (merged["b"]["id"], merged["b"]["schema"]) == (kept["b"]["id"], True)
    mine.ok("scratch_update", scratch_id=pad, metadata={"schemas": None})
    assert mine.read(pad)["metadata"] == {"x": 1}


def test_schemas_are_kept_listed_renamed_and_deleted(mine: Caller) -> None:
    pad = mine.pad()

    def names() -> list[str]:
        listed = mine.ok("scratch_list_schemas", scratch_id=pad)["schemas"]
        return [entry["name"] for entry in listed]

    entry = {"name": "b", "description": "1", "schema": ARRAY}
    kept = mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=entry)["schema"]
    unnamed = mine.ok("scratch_upsert_schema", scratch_id=pad, schema={"schema": {}})["schema"]
    assert unnamed["name"] == unnamed["id"]
    mine.ok("scratch_upsert_schema", scratch_id=pad, schema={"name": "a", "schema": {}})
    assert names() == [*sorted(["a", unnamed["id"]]), "b"]
    renamed: dict[str, Any] = {"id": kept["id"].upper(), "name": "c", "schema": {}}
    changed = mine.ok("scratch_upsert_schema", scratch_id=pad, schema=renamed)["schema"]
    assert changed == {"id": kept["id"], "name": "c", "description": "1", "schema": {}}
    got = mine.ok("scratch_get_schema", scratch_id=pad, schema_id=kept["id"])
    assert got["schema"] == changed
    version = mine.read(pad)["version"]
    gone = mine.ok("scratch_schema", action="delete", scratch_id=pad, schema_id=kept["id"])
    assert gone["deleted"] is True
    assert "c" not in names()
    assert mine.read(pad)["version"] == version + 1


def test_a_schema_is_read_and_deleted_by_its_name(mine: Caller) -> None:
    pad = mine.pad(metadata={"schemas": {"dep": {"schema": ARRAY}, "other": {"schema": {}}}})
    kept = mine.read(pad)["metadata"]["schemas"]["dep"]
    for named in ("dep", " dep", "scratchpad://schemas/dep", kept["id"], kept["id"].upper()):
        got = mine.ok("scratch_schema", action="get", scratch_id=pad, schema_id=named)
        assert (got["schema"]["id"], got["schema"]["schema"]) == (kept["id"], ARRAY)
    # An id goes before a name.
    entry: dict[str, Any] = {"name": kept["id"], "schema": {}}
    mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=entry)
    gone = mine.ok("scratch_schema", action="delete", scratch_id=pad, schema_id="dep")
    assert (gone["schema_id"], gone["deleted"]) == (kept["id"], True)
    assert {*mine.read(pad)["metadata"]["schemas"]} == {"other", kept["id"]}
    assert mine.code("scratch_get_schema", scratch_id=pad, schema_id="dep") == "INVALID_ID"


def test_two_schemas_never_have_one_name(mine: Caller) -> None:
    pad = mine.pad(metadata={"schemas": {"a": {"schema": {}}, "b": {"schema": {}}}})
    before = mine.read(pad)
    of_b = before["metadata"]["schemas"]["b"]["id"]
    for taken_by in (of_b, str(uuid.uuid4())):
        schema: dict[str, Any] = {"id": taken_by, "name": "a", "schema": {}}
        code = mine.code("scratch_schema", action="upsert", scratch_id=pad, schema=schema)
        assert code == "CONFLICT"
    taken: dict[str, Any] = {"schemas": {"a": {"id": of_b, "schema": {}}}}
    assert mine.code("scratch_update", scratch_id=pad, metadata=taken) == "CONFLICT"
    assert mine.read(pad) == before


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"action": "get"}, "VALIDATION_ERROR"),
        ({"action": "get", "schema_id": "s"}, "INVALID_ID"),
        ({"action": "get", "schema_id": UNKNOWN}, "NOT_FOUND"),
        ({"action": "delete", "schema_id": UNKNOWN}, "NOT_FOUND"),
        ({"action": "upsert"}, "VALIDATION_ERROR"),
        ({"action": "upsert", "schema": {"name": "a"}}, "VALIDATION_ERROR"),
        ({"action": "upsert", "schema": {"id": "1", "schema": {}}}, "VALIDATION_ERROR"),
        ({"action": "upsert", "schema": {"schema": {"type": 5}}}, "VALIDATION_ERROR"),
        ({"action": "upsert", "schema": {"schema": []}}, "VALIDATION_ERROR"),
        ({"action": "upsert", "schema": {"schema": {}, "name": " "}}, "VALIDATION_ERROR"),
        ({"action": "upsert", "schema": {"schema": {}, "nam": "a"}}, "VALIDATION_ERROR"),
        ({"action": "rename"}, "VALIDATION_ERROR"),
    ],
)
def test_each_wrong_schema_has_its_code(
    local: Caller, arguments: dict[str, Any], code: str
) -> None:
    pad = local.pad()
    assert local.code("scratch_schema", scratch_id=pad, **arguments) == code
    assert local.code("scratch_schema", scratch_id=UNKNOWN, action="list") == "NOT_FOUND"
    assert local.ok("scratch_schema", scratch_id=pad, action="list")["schemas"] == []
    assert local.read(pad)["version"] == 1


@pytest.mark.parametrize("names", range(10, 60, 2))
def test_a_schema_is_shown_as_it_is_or_as_text_that_may_be_cut(local: Caller, names: int) -> None:
    schema = {"required": [f"field {n}" for n in range(names)], "title": "t" * 60}
    pad = local.pad(metadata={"schemas": {"one": {"schema": schema}}})
    sent = {"scratch_id": pad, "max_tokens": 300}
    (listed,) = local.ok("scratch_schema", action="list", **sent)["schemas"]
    got = local.ok("scratch_schema", action="get", schema_id=listed["id"], **sent)["schema"]
    for shown in (listed["schema"], got["schema"]):
        assert shown == schema or json.dumps(schema, separators=(",", ":")).startswith(
            shown.rstrip("…")
        )
