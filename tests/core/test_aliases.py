"""Seed names: what an answer says to call next is a tool that is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import ToolRegistry, ToolSelection, UnknownTool
from rolltop.core.principal import Principal
from rolltop.toolsets import TOOLSETS
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from tests.databases import MakeDatabase

SEED = ToolSelection(use_aliases=True)


@pytest.fixture
def me(make_database: MakeDatabase, sqlite_url: str) -> tuple[AppContext, Principal]:
    database = make_database(sqlite_url)
    user = database.write_sync(SYSTEM, add_user, "me@example.org")
    desk = make_desk(database, selection=SEED, settings={"max_result_tokens": 400})
    return desk, Principal.for_user(user.id)


def _said(me: tuple[AppContext, Principal], tool: str, **arguments: Any) -> dict[str, Any]:
    return call_tool(*me, tool, **arguments).structured


@pytest.mark.parametrize(("save", "get"), [("save", "get"), ("note_save", "note_get")])
def test_a_write_that_is_cut_goes_on_by_a_listed_name(
    me: tuple[AppContext, Principal], save: str, get: str
) -> None:
    text = "a line with some words\n" * 200
    saved = _said(me, save, text=text)
    assert saved["next"]["tool"] == "get"
    read = _said(me, get, id=saved["id"])
    assert read["next"]["tool"] == get


def test_hints_name_listed_tools(me: tuple[AppContext, Principal]) -> None:
    missing = _said(me, "get", id="nothing")["error"]["resolution_hint"]
    assert missing.startswith("list answers the ids of your notes")
    reset = _said(me, "get", id="nothing", local_version="one")["error"]["resolution_hint"]
    assert reset.startswith("Call get again with local_version")
    unnamed = _said(me, "manage", action="trash", id="a")["error"]["resolution_hint"]
    assert unnamed == "get answers the note's local_version; call manage again with it."


def test_hints_name_the_listed_tool_of_an_action(me: tuple[AppContext, Principal]) -> None:
    pad = _said(me, "scratch_create", metadata={"title": "a"})["scratchpad"]["scratch_id"]
    unknown = _said(
        me,
        "scratch_get_schema",
        scratch_id=pad,
        schema_id="00000000-0000-4000-8000-000000000000",
    )
    assert unknown["error"]["hint"] == "scratch_list_schemas shows names and ids."
    wrong = _said(me, "scratch_namespace_rename", namespace=1)["error"]["hint"]
    assert "scratch_namespace_rename" in wrong


@pytest.mark.parametrize(
    ("name", "parameters", "required"),
    [
        ("scratch_list_schemas", {"scratch_id", "cursor", "max_tokens"}, {"scratch_id"}),
        (
            "scratch_get_schema",
            {"scratch_id", "schema_id", "max_tokens"},
            {"scratch_id", "schema_id"},
        ),
        ("scratch_upsert_schema", {"scratch_id", "schema_id", "schema"}, {"scratch_id", "schema"}),
        ("scratch_namespace_list", {"cursor", "max_tokens"}, set[str]()),
        ("scratch_namespace_create", {"namespace"}, {"namespace"}),
        (
            "scratch_namespace_rename",
            {"old_namespace", "new_namespace", "migrate_scratchpads"},
            {"old_namespace", "new_namespace"},
        ),
        ("scratch_namespace_delete", {"namespace", "delete_scratchpads"}, {"namespace"}),
        ("add_task", {"title", "description", "user_id"}, {"title"}),
        ("list_tasks", {"status", "cursor", "max_tokens", "user_id"}, set[str]()),
        ("complete_task", {"task_id", "user_id"}, {"task_id"}),
        ("update_task", {"task_id", "title", "description", "user_id"}, {"task_id"}),
        ("delete_task", {"task_id", "user_id"}, {"task_id"}),
    ],
)
def test_a_seed_name_lists_its_own_parameters_only(
    me: tuple[AppContext, Principal], name: str, parameters: set[str], required: set[str]
) -> None:
    desk, scope = me
    (offer,) = (each for each in desk.registry.list_tools(scope) if each.name == name)
    listed = offer.parameters.listed_schema
    assert set(listed["properties"]) == parameters
    assert set(listed.get("required", ())) == required
    answer = _said(me, name, action="list")
    hint = answer["hint"] if "success" in answer else answer["error"]["hint"]
    assert f"{name} takes: " in hint
    others = ("action", "index", "cells", "priority")
    assert {word for word in others if word in hint} == set()


def test_a_tool_of_its_seeds_name_takes_more_than_it_lists(
    me: tuple[AppContext, Principal],
) -> None:
    task = _said(me, "add_task", title="Mend", priority=0)["data"]
    assert task["priority"] == 0
    assert _said(me, "list_tasks", tag="x")["data"] == []


def test_seed_names_of_actions_do_their_work(me: tuple[AppContext, Principal]) -> None:
    assert _said(me, "scratch_namespace_create", namespace="a")["created"]
    renamed = _said(me, "scratch_namespace_rename", old_namespace="a", new_namespace="b")
    assert renamed["namespace"] == "b"
    (entry,) = _said(me, "scratch_namespace_list")["namespaces"]
    assert entry["namespace"] == "b"
    assert _said(me, "scratch_namespace_delete", namespace="b")["deleted"]
    pad = _said(me, "scratch_create")["scratchpad"]["scratch_id"]
    kept = _said(me, "scratch_upsert_schema", scratch_id=pad, schema={"name": "n", "schema": {}})
    known = {"scratch_id": pad, "schema_id": kept["schema"]["id"]}
    assert _said(me, "scratch_get_schema", **known)["schema"]["name"] == "n"
    assert len(_said(me, "scratch_list_schemas", scratch_id=pad)["schemas"]) == 1


def test_what_a_caller_gave_is_repeated_as_it_was_given(me: tuple[AppContext, Principal]) -> None:
    error = _said(me, "get", id="note_get")["error"]
    assert error["message"] == 'There is no note "note_get"'
    saved = _said(me, "save", text="call note_get with care")
    assert saved["text"] == "call note_get with care"


def test_a_path_in_a_hint_keeps_its_name() -> None:
    registry = ToolRegistry(TOOLSETS, SEED)
    assert registry.use_listed_names("Call note_get.") == "Call get."
    for hint in ("Did you mean docs/sub/repo_search.md?", "See a/note_get/b, note_get.py."):
        assert registry.use_listed_names(hint) == hint


def test_the_nearest_name_is_one_that_is_listed() -> None:
    for selection, nearest in ((SEED, "get_snippet"), (ToolSelection(), "repo_get_snippet")):
        with pytest.raises(UnknownTool) as caught:
            ToolRegistry(TOOLSETS, selection).find("repo_get_snipet", Principal.for_user("me"))
        assert caught.value.suggestion == nearest
        with pytest.raises(UnknownTool) as caught:
            ToolRegistry(TOOLSETS, selection).find("get_snipet", Principal.for_user("me"))
        assert caught.value.suggestion == nearest


def test_tools_are_chosen_by_either_name() -> None:
    chosen = ToolSelection(tools=("save", "note_list", "scratch_schema"), use_aliases=True)
    listed = ToolRegistry(TOOLSETS, chosen).list_tools(Principal.for_user("me"))
    schemas = ["scratch_list_schemas", "scratch_get_schema", "scratch_upsert_schema"]
    assert [offer.name for offer in listed] == [*schemas, "list", "save"]
    without = ToolSelection(toolsets=("notes",), exclude=("get", "note_manage"))
    listed = ToolRegistry(TOOLSETS, without).list_tools(Principal.for_user("me"))
    assert [offer.name for offer in listed] == ["note_list", "note_save"]


def test_tools_are_chosen_by_the_names_of_their_actions() -> None:
    wanted = ("scratch_namespace_list", "scratch_namespace_create", "save")
    for read_only, names in ((False, wanted), (True, wanted[:1])):
        chosen = ToolSelection(tools=wanted, use_aliases=True, read_only=read_only)
        listed = ToolRegistry(TOOLSETS, chosen).list_tools(Principal.for_user("me"))
        assert tuple(offer.name for offer in listed) == names
    rest = ["scratch_namespace_create", "scratch_namespace_rename", "scratch_namespace_delete"]
    without = ToolSelection(
        toolsets=("scratch",), exclude=("scratch_namespace_list",), use_aliases=True
    )
    listed = [
        offer.name for offer in ToolRegistry(TOOLSETS, without).list_tools(Principal.for_user("me"))
    ]
    assert [name for name in listed if "namespace" in name] == rest
    none = ToolSelection(tools=("scratch_namespace_delete",), read_only=True)
    assert ToolRegistry(TOOLSETS, none).list_tools(Principal.for_user("me")) == ()
    every = ToolSelection(toolsets=("scratch",), exclude=(*rest, "scratch_namespace_list"))
    assert not ToolRegistry(TOOLSETS, every).has_tools(["scratch_namespace"])


def test_an_action_that_is_not_chosen_is_refused_by_either_name(
    make_database: MakeDatabase, sqlite_url: str
) -> None:
    database = make_database(sqlite_url)
    me = Principal.for_user(database.write_sync(SYSTEM, add_user, "me@example.org").id)
    desk = make_desk(database, selection=ToolSelection(exclude=("scratch_namespace_list",)))
    (offer,) = (o for o in desk.registry.list_tools(me) if o.name == "scratch_namespace")
    left = ["create", "rename", "delete"]
    assert sorted(offer.parameters.schema["properties"]["action"]["enum"]) == sorted(left)
    refused = call_tool(desk, me, "scratch_namespace", action="list")
    assert refused.is_error
    assert "not offered here" in refused.text
    assert not call_tool(desk, me, "scratch_namespace", action="create", namespace="a").is_error
    with pytest.raises(UnknownTool, match="scratch_namespace_list"):
        desk.registry.find("scratch_namespace_list", me)


def test_an_action_without_a_name_of_its_own_stays_with_the_tool() -> None:
    for selection, left in (
        (ToolSelection(exclude=("scratch_upsert_schema",)), {"list", "get", "delete"}),
        (ToolSelection(tools=("scratch_upsert_schema",)), {"upsert"}),
        (ToolSelection(tools=("scratch_schema", "scratch_upsert_schema")), None),
    ):
        offer = ToolRegistry(TOOLSETS, selection).find("scratch_schema", Principal.for_user("me"))
        offered = set(offer.parameters.schema["properties"]["action"]["enum"])
        assert offered == (left or {"list", "get", "upsert", "delete"})
