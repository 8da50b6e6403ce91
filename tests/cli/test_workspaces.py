"""`rolltop workspace`: from nobody to a shared desk, as an operator types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

ANN, BEN, EVE = "ann@example.org", "ben@example.org", "eve@example.org"


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


@pytest.fixture
def viewer(shell: Shell) -> tuple[str, ...]:
    """Who looks on in Ann's workspace, as options of a command."""
    for email in (ANN, EVE):
        shell("user", "add", email)
    shell("workspace", "create", "harbour", "--owner", ANN)
    shell("workspace", "invite", "harbour", EVE, "--role", "viewer")
    return ("--user", EVE, "--workspace", "harbour")


def test_a_viewer_exports_and_changes_nothing_from_a_shell(
    shell: Shell, viewer: tuple[str, ...], tmp_path: Path
) -> None:
    for tool, given in (("add_task", "title=buoys"), ("note_save", "text=tides")):
        assert shell("call", tool, given, "--user", ANN).code == 0
    desk, notes = str(tmp_path / "desk"), str(tmp_path / "notes")
    shell("export", desk, "--user", ANN)
    shell("notes", "export", notes, "--user", ANN)
    for command in (
        ("import", desk),
        ("notes", "import", notes),
        ("notes", "login", ANN, "--without-local"),
        ("notes", "sync"),
    ):
        refused = shell(*command, *viewer)
        assert (refused.code, f"{EVE} is a viewer" in refused.err) == (1, True), command
    assert "belong to no account" in shell("notes", "sync", "--dry-run", *viewer).err
    assert shell("notes", "status", *viewer).code == 0
    assert shell("export", str(tmp_path / "out"), *viewer).out.startswith("Wrote 0 notes, 0 tasks")
    assert shell("import", desk, "--user", ANN, "--workspace", "harbour").code == 0


def test_a_viewers_token_is_not_said_to_write(shell: Shell, viewer: tuple[str, ...]) -> None:
    assert viewer
    named = ("--workspace", EVE, "--workspace", "Harbour")
    made = shell("token", "create", EVE, *named).out
    assert f"may read and write in {EVE}, harbour (as a viewer: only read) and expires" in made
    made = shell("token", "create", ANN, "--workspace", "harbour").out
    assert "may read and write in harbour and expires" in made


def test_a_viewers_call_of_a_writing_tool_says_why_not(
    shell: Shell, viewer: tuple[str, ...]
) -> None:
    refused = shell("call", "add_task", "title=x", *viewer)
    assert refused.code == 2
    assert f"{EVE} is a viewer of this workspace" in refused.err
    assert shell("call", "list_tasks", *viewer).code == 0
