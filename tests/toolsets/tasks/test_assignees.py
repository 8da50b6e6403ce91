"""Tasks are given to members of the workspace, and next_task leaves those of others to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from rolltop.core import accounts, workspaces
from rolltop.core.db import SYSTEM
from rolltop.core.errors import InvalidArgument
from rolltop.core.principal import IMPERSONATE, Principal
from rolltop.toolsets.tasks import import_export
from tests.desks import answer_of
from tests.toolsets.tasks.caller import UNKNOWN, Caller

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from tests.databases import Clock

ANN, BEN, EVE = (f"{name}@example.org" for name in ("ann", "ben", "eve"))


@dataclass(frozen=True)
class Team:
    """Three members of one workspace: Ann owns it, Ben edits, Eve looks on."""

    space: str
    ids: dict[str, str]
    ann: Caller
    ben: Caller


@pytest.fixture
def team(database: Database, desk: AppContext) -> Team:
    ids = {
        name: database.write_sync(SYSTEM, accounts.add_user, name).id for name in (ANN, BEN, EVE)
    }
    space = database.write_sync(SYSTEM, workspaces.create_workspace, "harbour", ids[ANN]).id
    for name, role in ((BEN, "editor"), (EVE, "viewer")):
        database.write_sync(SYSTEM, workspaces.set_member, space, ids[name], role)

    def caller(name: str, role: str) -> Caller:
        return Caller(desk, Principal.for_user(ids[name]).in_workspace(space, name, role))

    return Team(space, ids, caller(ANN, "owner"), caller(BEN, "editor"))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [(BEN, BEN), (f" {BEN.upper()} ", BEN), ("Eve", EVE), ("me", ANN), ("ME", ANN), ("ann", ANN)],
)
def test_a_task_is_given_to_a_member(team: Team, sent: str, kept: str) -> None:
    task = team.ann.add(assignee=sent)
    assert team.ben.ok("get_task", task_id=task)["assignee"] == kept
    assert team.ben.task(task)["assignee"] == kept
    assert team.ben.ok("update_task", task_id=task, assignee="me")["assignee"] == BEN
    assert "assignee" not in team.ann.ok("update_task", task_id=task, assignee="")


def test_who_is_no_member_is_refused_and_members_are_named(team: Team, them: Principal) -> None:
    del them  # a user, but no member
    for stranger in ("them@example.org", "nobody@example.org", "them", "harbour", "*", "x" * 300):
        assert team.ann.code("add_task", title="a", assignee=stranger) == "NOT_A_MEMBER"
    refused = team.ann.fails("add_task", title="a", assignee="benn")
    assert refused["error"] == 'assignee "benn" is no member of this workspace'
    assert all(name in refused["hint"] for name in (ANN, BEN, EVE, "rolltop workspace members"))
    assert team.ann.titles() == []
    task = team.ann.add()
    for tool, given in (("update_task", {"task_id": task}), ("list_tasks", {}), ("next_task", {})):
        assert team.ann.code(tool, assignee="benn", **given) == "NOT_A_MEMBER"
    assert team.ann.task(task)["version"] == 1


def test_a_name_that_two_members_have_is_no_name(database: Database, team: Team) -> None:
    other = database.write_sync(SYSTEM, accounts.add_user, "ben@example.com").id
    database.write_sync(SYSTEM, workspaces.set_member, team.space, other, "editor")
    refused = team.ann.fails("add_task", title="a", assignee="ben")
    assert refused["code"] == "NOT_A_MEMBER"
    assert "ben@example.com, ben@example.org" in refused["hint"]
    assert EVE not in refused["hint"]
    assert team.ann.task(team.ann.add(assignee=BEN))["assignee"] == BEN


def test_a_plan_is_shared_out(team: Team) -> None:
    plan = [
        {"title": "chart", "assignee": "me"},
        {"title": "sail", "assignee": BEN, "blocked_by": 0},
    ]
    team.ann.ok("add_task", tasks=plan)
    assert {t["title"]: t["assignee"] for t in team.ann.ok("list_tasks")} == {
        "chart": ANN,
        "sail": BEN,
    }
    wrong = [{"title": "chart"}, {"title": "sail", "assignee": "nobody@example.org"}]
    assert "tasks[1]" in team.ann.fails("add_task", tasks=wrong)["hint"]
    assert len(team.ann.titles()) == 2


def test_next_task_leaves_those_of_others_to_them(team: Team) -> None:
    for title, fields in (
        ("bens", {"priority": 0, "assignee": BEN}),
        ("anns", {"priority": 1, "assignee": ANN}),
        ("nobodys", {"priority": 2}),
    ):
        team.ann.add(title, **fields)
    asked = {None: "anns", "me": "anns", BEN: "bens", "*": "bens", EVE: None}
    for assignee, title in asked.items():
        given = {} if assignee is None else {"assignee": assignee}
        found = team.ann.ok("next_task", **given)
        assert (found and found["title"]) == title, assignee
    assert team.ben.ok("next_task")["title"] == "bens"
    team.ann.ok("complete_task", task_id=team.ann.ok("next_task")["task_id"])
    assert team.ann.ok("next_task")["title"] == "nobodys"
    assert team.ann.ok("next_task", assignee="me") is None


def test_what_waits_is_counted_of_the_same_tasks(team: Team) -> None:
    mine, bens = team.ann.add(assignee="me"), team.ann.add(assignee=BEN)
    for task in (mine, bens):
        team.ben.ok("claim_task", task_id=task)
    assert team.ann.whole("next_task")["waiting"]["claimed"] == 1
    assert team.ann.whole("next_task", assignee="*")["waiting"]["claimed"] == 2
    assert "waiting" not in team.ann.whole("next_task", assignee=EVE)


def test_tasks_are_listed_by_whom_they_were_given_to(team: Team, clock: Clock) -> None:
    for number in range(5):
        clock.advance(minutes=1)
        team.ann.add(f"ben {number}", assignee=BEN)
        team.ann.add(f"ann {number}", assignee=ANN)
        team.ann.add(f"any {number}")
    assert team.ben.titles(assignee="me") == [f"ben {number}" for number in (4, 3, 2, 1, 0)]
    assert team.ben.titles(assignee=ANN.title(), q="ann") == [f"ann {n}" for n in (4, 3, 2, 1, 0)]
    assert len(team.ben.titles(assignee="*")) == len(team.ben.titles()) == 15
    assert team.ben.titles(assignee="eve") == []
    page = team.ben.whole("list_tasks", assignee="me", limit=3)
    rest = team.ben.whole("list_tasks", assignee="me", limit=3, cursor=page["next_cursor"])
    assert [one["title"] for one in rest["data"]] == ["ben 1", "ben 0"]
    assert team.ben.code("list_tasks", cursor=page["next_cursor"]) == "INVALID_CURSOR"


@pytest.mark.parametrize("how", ["left", "deleted"])
def test_a_task_of_somebody_who_is_gone_says_whose_it_was_and_is_free(
    database: Database, team: Team, how: str
) -> None:
    task = team.ann.add("adrift", assignee=BEN)
    assert team.ann.ok("next_task") is None
    if how == "left":
        database.write_sync(SYSTEM, workspaces.remove_member, team.space, team.ids[BEN])
    else:
        database.write_sync(SYSTEM, accounts.delete_user, team.ids[BEN])
    assert team.ann.ok("next_task")["assignee"] == BEN
    assert team.ann.titles(assignee=BEN) == ["adrift"]
    assert team.ann.ok("update_task", task_id=task, title="found", assignee=BEN)["version"] == 2
    assert team.ann.code("add_task", title="new", assignee=BEN) == "NOT_A_MEMBER"
    assert team.ann.ok("update_task", task_id=task, assignee="me")["assignee"] == ANN


def test_an_assignment_is_taken_back(team: Team) -> None:
    task = team.ann.add(assignee="me")
    team.ben.ok("update_task", task_id=task, assignee="me")
    entry = answer_of(team.ann.desk, team.ann.scope, "desk_history")["changes"][0]
    assert entry["by"].startswith(BEN)
    assert entry["summary"] == f"assignee {ANN} → {BEN}"
    answer_of(team.ann.desk, team.ann.scope, "desk_undo", operation=entry["operation"])
    assert team.ben.task(task)["assignee"] == ANN


def test_on_a_desk_of_ones_own_there_is_nobody_else(mine: Caller) -> None:
    task = mine.add("own", assignee="me")
    assert mine.task(task)["assignee"] == "me@example.org"
    hint = mine.fails("add_task", title="a", assignee="them@example.org")["hint"]
    assert "me@example.org" in hint
    assert "them" not in hint
    mine.add("nobodys", priority=0)
    assert mine.ok("next_task")["title"] == "nobodys"
    assert mine.ok("next_task", assignee="me")["title"] == "own"


def test_me_is_the_user_whom_an_unauthenticated_call_names(mine: Caller, them: Principal) -> None:
    local = Caller(
        mine.desk, replace(mine.scope, permissions=mine.scope.permissions | {IMPERSONATE})
    )
    task = local.add("theirs", assignee="me", user_id=them.user_id)
    found = local.ok("get_task", task_id=task, user_id=them.user_id)
    assert found["assignee"] == "them@example.org"
    assert local.ok("next_task", user_id=them.user_id, assignee="me")["task_id"] == task
    for tool, given in (("add_task", {"title": "a"}), ("list_tasks", {}), ("next_task", {})):
        plain = local.fails(tool, user_id=UNKNOWN, **given)
        for name in ("me", "them@example.org"):
            assert local.fails(tool, user_id=UNKNOWN, assignee=name, **given) == plain


def test_files_of_the_desk_keep_it(database: Database, team: Team) -> None:
    team.ann.add(assignee=BEN)
    (stored,) = database.read_sync(team.ann.scope, lambda tx: [*import_export.read_tasks(tx)])
    file = import_export.render_task(stored)
    assert import_export.parse_task(file, "task.md", 0.0) == stored
    assert stored.assignee == BEN
    with pytest.raises(InvalidArgument, match="no e-mail address"):
        import_export.parse_task(file.replace(BEN.encode(), b"me"), "task.md", 0.0)


def test_resume_offers_what_next_task_may_answer(team: Team) -> None:
    for title, name in (("anns", ANN), ("bens", BEN), ("nobodys", "")):
        team.ann.add(title, assignee=name)
    claimed = team.ann.add("begun", assignee=BEN)
    team.ben.ok("claim_task", task_id=claimed)
    work = answer_of(team.ann.desk, team.ann.scope, "desk_resume")
    assert {item["title"] for item in work["ready"]} == {"anns", "nobodys"}
    (begun,) = work["in_work"]
    assert begun["by"].startswith(BEN)
