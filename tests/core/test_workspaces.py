"""Workspaces in the store: names, members and their roles, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from rolltop.core import accounts, workspaces
from rolltop.core.db import SYSTEM
from rolltop.core.db.schema import users
from rolltop.core.errors import Conflict, InvalidArgument, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database


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


def test_open_access_ends_with_the_token_and_with_the_membership(team: Team) -> None:
    space = team.space()
    team.do(workspaces.set_member, space.id, team.ben, "editor")
    _, his = team.do(accounts.create_token, team.ben, "t", workspace_names=["harbour"])
    _, hers = team.do(accounts.create_token, team.ann, "t", workspace_names=["harbour"])
    opened = {(his.id, space.id), (his.id, team.ben), (hers.id, space.id), (hers.id, team.ben)}
    assert team.do(accounts.find_valid_access, opened) == opened - {(hers.id, team.ben)}
    team.do(workspaces.remove_member, space.id, team.ben)
    team.do(accounts.revoke_token, team.ann, hers.id)
    assert team.do(accounts.find_valid_access, opened) == {(his.id, team.ben)}


def test_nothing_of_a_deleted_workspace_is_left(team: Team) -> None:
    space = team.space()
    team.do(accounts.delete_owner, space.id)
    left = team.database.read_sync(
        SYSTEM, lambda tx: tx.execute(select(users.c.id).where(users.c.is_workspace)).all()
    )
    assert left == []
    assert team.do(workspaces.list_members, space.id) == []
