"""`rolltop workspace`: from nobody to a shared desk, as an operator types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

ANN, BEN = "ann@example.org", "ben@example.org"


def test_two_users_share_a_workspace_until_one_leaves(shell: Shell) -> None:
    for email in (ANN, BEN):
        shell("user", "add", email)
    assert "owned by ann" in shell("workspace", "create", "harbour", "--owner", ANN).out
    assert "is editor of harbour" in shell("workspace", "invite", "harbour", BEN).out
    assert shell("workspace", "list").out.splitlines()[-1].split()[-1] == "2"
    members = shell("workspace", "members", "harbour").out.splitlines()[1:]
    assert [line.split() for line in members] == [[ANN, "owner"], [BEN, "editor"]]
    assert "in harbour" in shell("token", "create", BEN, "--workspace", "harbour").out
    assert shell("token", "list", BEN).out.split()[-1] == "harbour"
    here = ("--user", BEN, "--workspace", "harbour")
    assert shell("call", "add_task", "title=buoys", *here).code == 0
    seen = shell("call", "list_tasks", "--user", ANN, "--workspace", "harbour")
    assert "buoys" in seen.out
    assert "buoys" not in shell("call", "list_tasks", "--user", BEN).out
    assert shell("workspace", "leave", "harbour", BEN).code == 0
    assert shell("token", "list", BEN).out.split()[-1] == "(left)"
    refused = shell("call", "list_tasks", *here)
    assert (refused.code, "no workspace 'harbour'" in refused.err) == (2, True)
    for command in (("leave", "harbour", ANN), ("invite", "harbour", ANN, "--role", "viewer")):
        refused = shell("workspace", *command)
        assert (refused.code, "needs an owner" in refused.err) == (1, True)
    assert "only owner of harbour" in shell("user", "delete", ANN, "--yes").err


def test_a_workspace_is_deleted_with_what_is_in_it_after_a_question(shell: Shell) -> None:
    shell("user", "add", ANN)
    shell("workspace", "create", "harbour", "--owner", ANN)
    shell("call", "add_task", "title=x", "--user", ANN, "--workspace", "harbour")
    assert "--yes" in shell("workspace", "delete", "harbour").err
    assert "tasks (1)" in shell("workspace", "delete", "harbour", "--yes").out
    assert "no workspace 'harbour'" in shell("workspace", "members", "harbour").err
    assert shell("user", "delete", ANN, "--yes").code == 0


def test_what_cannot_be_is_refused_with_what_to_do(shell: Shell) -> None:
    shell("user", "add", ANN)
    assert "cannot name" in shell("workspace", "create", "a b", "--owner", ANN).err
    assert "no user" in shell("workspace", "create", "harbour", "--owner", BEN).err
    shell("workspace", "create", "harbour", "--owner", ANN)
    assert "already" in shell("workspace", "create", "Harbour", "--owner", ANN).err
    refused = shell("token", "create", ANN, "--workspace", "elsewhere")
    assert (refused.code, "no workspace 'elsewhere'" in refused.err) == (1, True)
