"""Projects: what a connection sees unasked, and that nothing is hidden from who asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.desks import make_desk
from tests.toolsets.tasks.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal


@pytest.fixture
def kite(desk: AppContext, mine: Caller) -> Caller:
    return Caller(desk, replace(mine.scope, project="kite"))


@pytest.fixture
def swift(desk: AppContext, mine: Caller) -> Caller:
    return Caller(desk, replace(mine.scope, project="swift"))


def test_a_task_carries_the_project_of_its_connection_or_the_one_that_is_named(
    mine: Caller, kite: Caller
) -> None:
    assert "project" not in mine.ok("add_task", title="t")
    for given in ({}, {"project": None}, {"project": ""}):
        assert kite.ok("add_task", title="t", **given)["project"] == "kite"
    task = kite.ok("add_task", title="t", project=" swift ")
    assert task["project"] == "swift"
    moved = kite.ok("update_task", task_id=task["task_id"], project="kite")
    assert (moved["project"], moved["version"]) == ("kite", 2)
    assert "project" not in kite.ok("update_task", task_id=task["task_id"], project="")


def test_lists_and_next_task_show_the_projects_own_and_what_has_none(
    mine: Caller, kite: Caller, swift: Caller
) -> None:
    mine.add("nobody's", priority=4)
    kite.add("kite's", priority=1)
    swift.add("swift's", priority=0)
    assert set(kite.titles()) == {"kite's", "nobody's"}
    assert set(swift.titles()) == {"swift's", "nobody's"}
    assert set(mine.titles()) == {"kite's", "swift's", "nobody's"}
    for caller in (mine, kite, swift):
        assert set(caller.titles(project="*")) == {"kite's", "swift's", "nobody's"}
        assert caller.titles(project="kite") == ["kite's"]
        assert caller.titles(project="none") == []
        assert caller.ok("next_task", project="*")["title"] == "swift's"
        assert caller.ok("next_task", project="kite")["title"] == "kite's"
    assert kite.ok("next_task")["title"] == "kite's"
    assert mine.ok("next_task")["title"] == "swift's"


def test_what_waits_is_counted_in_the_project(kite: Caller, swift: Caller) -> None:
    swift.ok("claim_task", task_id=swift.add())
    assert kite.whole("next_task") == {"success": True, "data": None}
    assert kite.whole("next_task", project="*")["waiting"]["claimed"] == 1
    assert swift.whole("next_task")["waiting"]["claimed"] == 1


def test_pages_keep_to_their_project(kite: Caller, swift: Caller) -> None:
    for n in range(4):
        kite.add(f"k{n}")
        swift.add(f"s{n}")
    answer = kite.whole("list_tasks", project="swift", limit=3)
    again = kite.whole("list_tasks", **answer["next"]["arguments"])
    titles = {task["title"] for task in answer["data"] + again["data"]}
    assert titles == {"s0", "s1", "s2", "s3"}
    cursor = answer["next_cursor"]
    assert kite.code("list_tasks", cursor=cursor) == "INVALID_CURSOR"


def test_nothing_is_hidden_from_an_explicit_id(kite: Caller, swift: Caller) -> None:
    parent = swift.add("parent")
    child = swift.add("child", parent_id=parent)
    assert kite.ok("get_task", task_id=parent)["title"] == "parent"
    assert kite.titles(parent_id=parent) == ["child"]
    assert kite.ok("update_task", task_id=child[:8], title="seen")["project"] == "swift"
    token = kite.ok("claim_task", task_id=child)["claim"]["token"]
    kite.ok("complete_task", task_id=child, token=token)
    kite.ok("delete_task", task_id=child)
    kite.ok("restore_task", task_id=child)


def test_a_named_user_and_the_seeds_names_know_no_projects(
    database: Database, kite: Caller, swift: Caller
) -> None:
    me = kite.scope.user_id
    kite.add("kite's", priority=1)
    assert "project" not in swift.ok("add_task", title="named", user_id=me)
    assert set(swift.titles(user_id=me)) == {"kite's", "named"}
    assert swift.titles(user_id=me, project="kite") == ["kite's"]
    assert swift.ok("next_task", user_id=me)["title"] == "kite's"
    seed = Caller(make_desk(database, settings={"names": "seed"}), swift.scope)
    assert set(seed.titles()) == {"kite's", "named"}
    assert seed.ok("next_task")["title"] == "kite's"
    assert "project" not in seed.ok("add_task", title="seed's")


def test_anothers_project_of_the_same_name_shows_nothing(
    desk: AppContext, kite: Caller, them: Principal
) -> None:
    kite.add("kite's")
    assert Caller(desk, replace(them, project="kite")).titles(project="kite") == []
