"""Pads of several projects: where new ones go, and what each project sees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.scratch.service import import_export
from tests.desks import call_tool, make_desk
from tests.toolsets.scratch.caller import Caller, cell

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal


def connect(desk: AppContext, me: Principal, project: str) -> Caller:
    """Return a caller whose connection has a project."""
    return Caller(desk, replace(me, project=project))


def seen(caller: Caller, **arguments: Any) -> set[str]:
    """Return the ids that a caller lists, and searches alike."""
    listed = set(caller.listed(**arguments))
    for order in ("created", "title"):
        assert set(caller.listed(order=order, **arguments)) == listed
    hits = caller.ok("scratch_search", query="harbour", **arguments)["hits"]
    assert {hit["scratch_id"] for hit in hits} == listed
    return listed


@pytest.fixture
def ships(desk: AppContext, me: Principal) -> Caller:
    return connect(desk, me, "ships")


@pytest.fixture
def docks(desk: AppContext, me: Principal) -> Caller:
    return connect(desk, me, "docks")


def test_a_pad_goes_into_its_projects_namespace(ships: Caller, mine: Caller) -> None:
    pad = ships.pad("harbour")
    assert ships.read(pad)["namespace"] == "ships"
    other = ships.pad(namespace="other")
    assert ships.read(other)["namespace"] == "other"
    ships.ok("scratch_update", scratch_id=other, metadata={"namespace": None})
    assert ships.read(other)["namespace"] == "ships"
    assert mine.read(mine.pad())["namespace"] == "default"


def test_a_project_sees_its_own_and_what_belongs_to_none(
    ships: Caller, docks: Caller, mine: Caller
) -> None:
    own = ships.pad("harbour", tags=["ships"])
    assert "other_projects" not in ships.ok("scratch_list")
    foreign = docks.pad("harbour", tags=["docks"], cells=[cell("harbour", "md")])
    common = mine.pad("harbour", tags=["none"])
    named = docks.pad("harbour", namespace="research", tags=["named"])
    assert seen(ships) == {own, common, named}
    assert seen(docks) == {foreign, common, named}
    assert seen(mine) == {own, foreign, common, named}
    assert seen(ships, namespaces=["*"]) == {own, foreign, common, named}
    assert seen(ships, namespaces=["docks"]) == {foreign}
    assert ships.ok("scratch_list")["other_projects"] == 1
    assert ships.ok("scratch_search", query="harbour")["other_projects"] == 1
    tags = ships.ok("scratch_list_tags")
    assert (tags["scratchpad_tags"], tags["other_projects"]) == (["named", "none", "ships"], 1)
    # What is asked for by its id is there.
    assert ships.read(foreign)["namespace"] == "docks"
    assert ships.read(foreign, namespaces=["*"])["scratch_id"] == foreign
    ships.append(foreign, "more")
    assert seen(ships) == {own, common, named}


def test_a_namespace_that_was_there_before_its_project_stays_everybodys(
    ships: Caller, docks: Caller, mine: Caller
) -> None:
    early = ships.pad("harbour", namespace="docks")
    late = docks.pad("harbour")
    assert seen(ships) == {early, late}
    assert seen(docks) == {early, late}
    assert seen(mine) == {early, late}


def test_a_projects_namespace_that_is_renamed_is_nobodys(
    ships: Caller, docks: Caller, mine: Caller
) -> None:
    pad = docks.pad("harbour")
    assert seen(ships) == set()
    rename = {"action": "rename", "old_namespace": "docks", "new_namespace": "piers"}
    mine.ok("scratch_namespace", **rename)
    assert seen(ships) == {pad}


def rename(caller: Caller, old: str, new: str) -> None:
    """Rename a namespace."""
    names = {"old_namespace": old, "new_namespace": new}
    caller.ok("scratch_namespace", action="rename", **names)


def test_a_namespace_that_gets_its_projects_name_from_it_is_the_projects(
    ships: Caller, docks: Caller, mine: Caller
) -> None:
    pad = docks.pad("harbour")
    rename(docks, "docks", "piers")
    assert seen(ships) == {pad}
    rename(docks, "piers", "docks")
    late = docks.pad("harbour")
    assert seen(ships) == set()
    assert seen(docks) == {pad, late}
    assert ships.ok("scratch_list")["other_projects"] == 1
    # As when it is registered: only a connection of the project makes it the project's.
    common = mine.pad("harbour", namespace="research")
    rename(mine, "research", "ships")
    assert seen(docks) == {pad, late, common}


def test_the_undo_of_a_rename_gives_a_namespace_back_to_its_project(
    ships: Caller, docks: Caller
) -> None:
    docks.pad("harbour")
    rename(docks, "docks", "piers")
    (renamed, *_) = call_tool(docks.desk, docks.scope, "desk_history").structured["changes"]
    assert renamed["tool"] == "scratch_namespace"
    answer = call_tool(docks.desk, docks.scope, "desk_undo", operation=renamed["operation"])
    assert not answer.is_error, answer.text
    assert seen(ships) == set()


def test_a_pad_that_an_undo_puts_back_is_seen_though_its_namespace_was_deleted(
    ships: Caller, docks: Caller, mine: Caller
) -> None:
    docks.pad("harbour")
    pad = mine.pad("harbour", namespace="research")
    mine.ok("scratch_delete", scratch_id=pad)
    (deleted, *_) = call_tool(mine.desk, mine.scope, "desk_history").structured["changes"]
    mine.ok("scratch_namespace", action="delete", namespace="research")
    answer = call_tool(mine.desk, mine.scope, "desk_undo", operation=deleted["operation"])
    assert not answer.is_error, answer.text
    assert seen(ships) == {pad}
    (undone, *_) = call_tool(mine.desk, mine.scope, "desk_history").structured["changes"]
    answer = call_tool(mine.desk, mine.scope, "desk_undo", operation=undone["operation"])
    assert not answer.is_error, answer.text
    assert seen(ships) == set()


def test_a_project_keeps_a_namespace_that_came_back_to_it_in_an_export(
    ships: Caller, docks: Caller, them: Principal
) -> None:
    docks.pad("harbour")
    rename(docks, "docks", "piers")
    rename(docks, "piers", "docks")
    database = docks.desk.database
    exported = database.read_sync(docks.scope, import_export.read_namespaces)
    assert database.write_sync(them, import_export.import_namespaces, exported) == []
    others = Caller(ships.desk, replace(them, project="ships"))
    others.pad("harbour", namespace="docks")
    assert seen(others) == set()


def test_a_list_goes_on_within_its_project(ships: Caller, docks: Caller) -> None:
    expected = {ships.pad(metadata={"title": f"pad {n}"}) for n in range(12)}
    docks.pad()
    pages = list(ships.followed("scratch_list", 300, limit=5))
    assert {pad["scratch_id"] for page in pages for pad in page["scratchpads"]} == expected


def test_a_default_namespace_that_is_set_wins(database: Database, me: Principal) -> None:
    desk = make_desk(database, settings={"scratch.default_namespace": "home"})
    ships = connect(desk, me, "ships")
    assert ships.read(ships.pad())["namespace"] == "home"


def test_under_the_seeds_names_there_are_no_projects(database: Database, me: Principal) -> None:
    desk = make_desk(database, settings={"names": "seed"})
    ships, docks = connect(desk, me, "ships"), connect(desk, me, "docks")
    pad = ships.pad("harbour")
    assert ships.read(pad)["namespace"] == "default"
    assert seen(docks) == {pad}


def test_a_project_may_be_called_as_the_default_namespace(
    ships: Caller, desk: AppContext, me: Principal
) -> None:
    pad = connect(desk, me, "default").pad("harbour")
    assert seen(ships) == {pad}
