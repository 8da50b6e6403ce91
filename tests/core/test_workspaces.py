"""Workspaces in the store: names, members and their roles, on both databases."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from rolltop.core import accounts, workspaces
from rolltop.core.db import SYSTEM
from rolltop.core.db.schema import users
from rolltop.core.errors import Conflict, InvalidArgument, NotFound
from rolltop.core.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database, Tx


class Team:
    """Two users, and the functions of accounts and workspaces by name."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ann = self.do(accounts.add_user, "ann@example.org").id
        self.ben = self.do(accounts.add_user, "ben@example.org").id

    def do(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return the function's result of one transaction."""
        return self.database.write_sync(SYSTEM, function, *arguments, **options)

    def space(self, name: str = "harbour") -> workspaces.Workspace:
        """Return a new workspace of Ann's."""
        return self.do(workspaces.create_workspace, name, self.ann)


@pytest.fixture
def team(database: Database) -> Team:
    """Ann and Ben."""
    return Team(database)


def test_a_workspace_is_no_user(team: Team) -> None:
    space = team.space("Harbour-2")
    assert space.name == "harbour-2"
    assert [user.email for user in team.do(accounts.list_users)] == [
        "ann@example.org",
        "ben@example.org",
    ]
    assert team.do(accounts.find_user_by_id, space.id) is None
    assert team.do(accounts.find_user_by_email, "harbour-2") is None
    assert team.do(workspaces.find_workspace, " HARBOUR-2 ") == space
    with pytest.raises(NotFound):
        team.do(workspaces.find_workspace, "ann@example.org")
    with pytest.raises(Conflict):
        team.space("harbour-2")


@pytest.mark.parametrize("name", ["", "a b", "ann@example.org", "-x", "x" * 65, "x/y", "\x00"])
def test_names_that_cannot_be_typed_are_refused(team: Team, name: str) -> None:
    with pytest.raises(InvalidArgument):
        team.space(name)


def test_members_come_change_and_go_but_an_owner_stays(team: Team) -> None:
    space = team.space()
    team.do(workspaces.set_member, space.id, team.ben, "viewer")
    with pytest.raises(Conflict):
        team.do(workspaces.set_member, space.id, team.ann, "editor")
    with pytest.raises(Conflict):
        team.do(workspaces.remove_member, space.id, team.ann)
    with pytest.raises(Conflict, match="harbour"):
        team.do(accounts.delete_user, team.ann)
    with pytest.raises(InvalidArgument):
        team.do(workspaces.set_member, space.id, team.ben, "king")
    team.do(workspaces.set_member, space.id, team.ben, "owner")
    team.do(accounts.delete_user, team.ann)
    members = team.do(workspaces.list_members, space.id)
    assert [(one.email, one.role) for one in members] == [("ben@example.org", "owner")]
    assert team.do(workspaces.list_workspaces) == [(space, 1)]
    with pytest.raises(NotFound):
        team.do(workspaces.remove_member, space.id, team.ann)


def test_a_token_opens_the_workspaces_it_names_and_never_more(team: Team) -> None:
    space = team.space()
    team.do(workspaces.set_member, space.id, team.ben, "editor")
    with pytest.raises(NotFound):
        team.do(accounts.create_token, team.ben, "t", workspace_names=["elsewhere"])
    plain, _ = team.do(accounts.create_token, team.ben, "t", workspace_names=["harbour"])
    both, _ = team.do(
        accounts.create_token, team.ben, "t", workspace_names=["ben@example.org", "harbour"]
    )
    own, _ = team.do(accounts.create_token, team.ben, "t")

    def opens(token: str, name: str = "") -> tuple[str, str]:
        found = team.do(accounts.find_access, token, name).membership
        return found.workspace_id, found.role

    assert opens(plain) == opens(plain, "Harbour") == (space.id, "editor")
    assert opens(both) == opens(own) == opens(own, "ben@example.org") == (team.ben, "owner")
    assert opens(both, "harbour") == opens(both, space.id) == (space.id, "editor")
    for token, name in ((own, "harbour"), (plain, "ben@example.org"), (plain, "elsewhere")):
        with pytest.raises(NotFound):
            opens(token, name)
    team.do(workspaces.remove_member, space.id, team.ben)
    with pytest.raises(NotFound):
        opens(plain)
    assert opens(both) == (team.ben, "owner")
    team.do(accounts.delete_owner, space.id)
    with pytest.raises(NotFound):  # and not the user's own
        opens(plain)


def test_who_may_still_call_is_told_by_token_user_membership_and_time(team: Team) -> None:
    space = team.space()
    team.do(workspaces.set_member, space.id, team.ben, "editor")
    _, his = team.do(accounts.create_token, team.ben, "t", workspace_names=["harbour"])
    _, hers = team.do(accounts.create_token, team.ann, "t", workspace_names=["harbour"])
    ann, ben = Principal.for_user(team.ann), Principal.for_user(team.ben)
    shared = {
        "ann by token": replace(ann, token_id=hers.id),
        "ann": ann,
        "ben by token": replace(ben, token_id=his.id),
        "ben": ben,
    }
    callers = {
        "ann alone": ann,
        "ben alone": ben,
        "ben expired": replace(ben, expires_at=1.0),
        **{name: one.in_workspace(space.id, "x", "editor") for name, one in shared.items()},
    }

    def allowed() -> set[str]:
        found = team.do(accounts.find_allowed, set(callers.values()))
        return {name for name, one in callers.items() if one in found}

    assert allowed() == callers.keys() - {"ben expired"}
    team.do(accounts.revoke_token, team.ann, hers.id)
    assert allowed() == callers.keys() - {"ben expired", "ann by token"}
    team.do(workspaces.remove_member, space.id, team.ben)
    assert allowed() == {"ann alone", "ben alone", "ann"}
    team.do(accounts.delete_user, team.ben)
    assert allowed() == {"ann alone", "ann"}


@pytest.mark.parametrize("second", ["leaves", "is demoted", "is deleted"])
def test_two_owners_cannot_leave_at_once(team: Team, second: str) -> None:
    space = team.space()
    team.do(workspaces.set_member, space.id, team.ben, "owner")
    together = threading.Barrier(2)

    def leave(function: Any, *arguments: Any) -> bool:
        def wait(tx: Tx) -> None:
            with suppress(threading.BrokenBarrierError):
                together.wait(0.5)  # on SQLite one waits for the other
            function(tx, *arguments)

        try:
            team.database.write_sync(SYSTEM, wait)
        except Conflict:
            return False
        return True

    others = {
        "leaves": (workspaces.remove_member, space.id, team.ben),
        "is demoted": (workspaces.set_member, space.id, team.ben, "viewer"),
        "is deleted": (accounts.delete_user, team.ben),
    }
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(leave, workspaces.remove_member, space.id, team.ann)
        then = pool.submit(leave, *others[second])
        assert sorted([first.result(), then.result()]) == [False, True]
    members = team.do(workspaces.list_members, space.id)
    assert "owner" in [one.role for one in members]


def test_a_workspace_is_named_by_its_name_or_its_id_and_by_no_others(team: Team) -> None:
    space = team.space()
    for named in ("harbour", space.id, space.id.upper()):
        assert team.do(workspaces.find_membership, team.ann, named).workspace_id == space.id
    with pytest.raises(InvalidArgument):
        team.do(workspaces.create_workspace, team.ben, team.ann)
    for odd in (f"{{{space.id}}}", f"urn:uuid:{space.id}", space.id.replace("-", "")):
        with pytest.raises(NotFound):
            team.do(workspaces.find_membership, team.ann, odd)
    with pytest.raises(Conflict):
        team.do(accounts.add_user, "eve@example.org", space.id)


def test_a_token_whose_first_workspace_is_left_opens_no_other_in_its_place(team: Team) -> None:
    first, second = team.space("harbour"), team.space("pier")
    for space in (first, second):
        team.do(workspaces.set_member, space.id, team.ben, "editor")
    plain, _ = team.do(accounts.create_token, team.ben, "t", workspace_names=["harbour", "pier"])
    team.do(workspaces.remove_member, first.id, team.ben)
    with pytest.raises(NotFound):
        team.do(accounts.find_access, plain)
    assert team.do(accounts.find_access, plain, "pier").membership.workspace_id == second.id


def test_a_token_stays_needed_when_the_last_ones_user_is_deleted(team: Team) -> None:
    team.do(accounts.create_token, team.ben, "t")
    team.do(accounts.delete_user, team.ben)
    assert team.do(accounts.has_any_token)
    assert not team.do(accounts.has_valid_token)


def test_nothing_of_a_deleted_workspace_is_left(team: Team) -> None:
    space = team.space()
    team.do(accounts.delete_owner, space.id)
    left = team.database.read_sync(
        SYSTEM, lambda tx: tx.execute(select(users.c.id).where(users.c.is_workspace)).all()
    )
    assert left == []
    assert team.do(workspaces.list_members, space.id) == []
