"""Workspaces as clients see them: over HTTP by token and header, over stdio by a setting."""

from __future__ import annotations

import http.client
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from mcp_types import INVALID_PARAMS

from rolltop.core import accounts, workspaces
from rolltop.core.db import SYSTEM
from rolltop.core.errors import InvalidConfig
from tests.server.apps import make_app
from tests.server.processes import (
    MODERN,
    PATIENCE,
    HttpServer,
    StdioServer,
    rpc_request,
    sse_or_json,
)
from tests.server.test_auth import Accounts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Team:
    """Ann owns the workspace harbour, Ben edits there, Eve looks on; each has a token for it."""

    def __init__(self, folder: Path) -> None:
        self.store = Accounts(folder)
        self.ids = {name: self.store.user(f"{name}@example.org") for name in ("ann", "ben", "eve")}
        self.space = self._write(workspaces.create_workspace, "harbour", self.ids["ann"]).id
        for name, role in (("ben", "editor"), ("eve", "viewer")):
            self.join(name, role)
        self.tokens = {
            name: self.store.token(user, "laptop", workspace_names=["harbour"])[0]
            for name, user in self.ids.items()
        }

    def join(self, name: str, role: str) -> None:
        """Let a user into the workspace, or change the role there."""
        self._write(workspaces.set_member, self.space, self.ids[name], role)

    def leave(self, name: str) -> None:
        """Take a user out of the workspace."""
        self._write(workspaces.remove_member, self.space, self.ids[name])

    def _write(self, function: Any, *arguments: Any) -> Any:
        return self.store.database.write_sync(SYSTEM, function, *arguments)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """The team in the store below the test's folder."""
    made = Team(tmp_path)
    yield made
    made.store.database.close()


def ask(server: HttpServer, token: str, tool: str, workspace: str = "", **arguments: Any) -> Any:
    """Return the status of a call, and its result."""
    params = {"name": tool, "arguments": arguments}
    body, headers = rpc_request("tools/call", params, era=MODERN)
    headers |= {"authorization": f"Bearer {token}"} if token else {}
    headers |= {"rolltop-workspace": workspace} if workspace else {}
    status, _, answer = server.ask("POST", "/mcp", body, headers)
    return status, sse_or_json(answer).get("result", {}).get("structuredContent")


def test_members_share_what_is_in_a_workspace_and_nothing_else(tmp_path: Path, team: Team) -> None:
    own, _ = team.store.token(team.ids["ann"], "own")
    other, _ = team.store.token(team.store.user("mallory@example.org"))
    with HttpServer(tmp_path) as server:
        saved = ask(server, team.tokens["ann"], "note_save", text="# Tides\n\nlow at six")[1]
        ask(server, own, "note_save", text="# Diary\n\nprivate")
        for name in ("ben", "eve"):
            status, found = ask(server, team.tokens[name], "note_list")
            assert status == 200
            assert [note["title_prev"] for note in found["items"]] == ["# Tides"]
        assert [n["title_prev"] for n in ask(server, own, "note_list")[1]["items"]] == ["# Diary"]
        assert ask(server, other, "note_list")[1]["items"] == []
        given = {"id": saved["id"], "local_version": saved["local_version"]}
        patch = [{"op": "add", "ln": 3, "val": "high at noon"}]
        changed = ask(server, team.tokens["ben"], "note_save", **given, text_patch=patch)[1]
        assert changed["local_version"] == saved["local_version"] + 1
        assert ask(server, team.tokens["eve"], "note_save", text="mine too")[0] == 403
        by = [one["by"] for one in ask(server, team.tokens["ann"], "desk_history")[1]["changes"]]
        assert by[0].startswith("ben@example.org/")
        assert by[1].startswith("ann@example.org/")


def test_a_request_names_one_of_its_tokens_workspaces(tmp_path: Path, team: Team) -> None:
    both, _ = team.store.token(team.ids["ann"], workspace_names=["ann@example.org", "harbour"])
    with HttpServer(tmp_path) as server:
        ask(server, both, "note_save", "Harbour", text="# Tides\n\nlow")
        assert ask(server, both, "note_list")[1]["items"] == []
        for named in ("harbour", team.space, "HARBOUR"):
            assert len(ask(server, both, "note_list", named)[1]["items"]) == 1
        for token, named in ((both, "elsewhere"), (team.tokens["ann"], "ann@example.org")):
            assert ask(server, token, "note_list", named)[0] == 403


@pytest.mark.parametrize("auth", ["auto", "off"])
def test_without_a_token_a_workspace_cannot_be_named(tmp_path: Path, auth: str) -> None:
    with HttpServer(tmp_path, http__auth=auth) as server:
        assert ask(server, "", "note_list", "harbour")[0] == 403
        assert ask(server, "", "note_list")[0] == 200


def test_who_has_left_is_out_at_once_and_so_are_the_open_streams(
    tmp_path: Path, team: Team
) -> None:
    params = {"notifications": {"resourceSubscriptions": ["rolltop://thing/one"]}}
    with HttpServer(tmp_path) as server, ExitStack() as opened:
        body, headers = rpc_request("subscriptions/listen", params, era=MODERN)
        connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        opened.callback(connection.close)
        token = {"authorization": f"Bearer {team.tokens['ben']}"}
        connection.request("POST", "/mcp", body, headers | token)
        stream = connection.getresponse()
        assert b"acknowledged" in stream.readline() + stream.readline()
        team.leave("ben")
        assert b"complete" in stream.read()
        assert ask(server, team.tokens["ben"], "note_list")[0] == 403


@pytest.mark.parametrize(
    ("name", "method", "params", "what"),
    [
        ("ben", "tools/call", {"name": "note_list", "arguments": {}}, "tool=note_list"),
        ("eve", "resources/read", {"uri": "rolltop://thing/one"}, 'tool="resource thing"'),
        (
            "eve",
            "tools/call",
            {"name": "note_save", "arguments": {"text": "mine"}},
            "request refused.* status=403",
        ),
    ],
)
def test_the_log_names_the_member_the_token_and_the_workspace(
    tmp_path: Path, team: Team, name: str, method: str, params: dict[str, Any], what: str
) -> None:
    body, headers = rpc_request(method, params, era=MODERN)
    with HttpServer(tmp_path) as server:
        given = {**headers, "authorization": f"Bearer {team.tokens[name]}"}
        server.ask("POST", "/mcp", body, given)
        line = server.stderr.until(f"{what} .*")[0]
    assert f" user_id={team.ids[name]} " in line
    assert re.search(rf" token_id=\S+ workspace_id={team.space}", line)


def test_an_editor_takes_back_the_own_doing_and_an_owner_everybodys(
    tmp_path: Path, team: Team
) -> None:
    ann, ben = team.tokens["ann"], team.tokens["ben"]
    reading, _ = team.store.token(
        team.ids["ann"], "wall", workspace_names=["harbour"], read_only=True
    )
    with HttpServer(tmp_path) as server:
        ask(server, ann, "note_save", text="of Ann")
        ask(server, ben, "note_save", text="of Ben")
        done = ask(server, ann, "desk_history")[1]["changes"]
        of_ben, of_ann = (one["operation"] for one in done)
        for looking in (team.tokens["eve"], reading):
            assert ask(server, looking, "desk_history")[1]["changes"] == done
            assert ask(server, looking, "desk_undo", operation=of_ann)[0] == 403
        refused = ask(server, ben, "desk_undo", operation=of_ann)[1]
        assert "of yours" in str(refused)
        assert len(ask(server, ben, "desk_undo", operation=of_ben)[1]["undone"]) == 1
        assert len(ask(server, ann, "desk_undo", operation=of_ann)[1]["undone"]) == 1
        assert ask(server, ann, "note_list")[1]["items"] == []


def test_a_local_server_works_in_the_workspace_of_the_settings(tmp_path: Path, team: Team) -> None:
    settings = {"user": "ben@example.org", "workspace": "Harbour", "http__auth": "off"}
    with HttpServer(tmp_path, **settings) as server:
        assert ask(server, "", "note_save", text="# Tides\n\nlow")[0] == 200
        assert ask(server, "", "note_list", "harbour")[0] == 200
        assert "ben@example.org/" in str(ask(server, "", "desk_history")[1])
    with HttpServer(tmp_path) as server:
        found = ask(server, team.tokens["eve"], "note_list")[1]["items"]
        assert [note["title_prev"] for note in found] == ["# Tides"]


def test_a_viewers_write_is_refused_by_the_role_and_asks_for_no_other_token(
    tmp_path: Path, team: Team
) -> None:
    params = {"name": "note_save", "arguments": {"text": "mine"}}
    body, headers = rpc_request("tools/call", params, era=MODERN)
    headers["authorization"] = f"Bearer {team.tokens['eve']}"
    with HttpServer(tmp_path) as server:
        status, told, said = server.ask("POST", "/mcp", body, headers)
        assert (status, told["www-authenticate"]) == (403, "Bearer")
        assert b"eve@example.org is a viewer of this workspace" in said
        headers["rolltop-workspace"] = "elsewhere"
        status, told, _ = server.ask("POST", "/mcp", body, headers)
        assert (status, told["www-authenticate"]) == (403, "Bearer")


def test_a_local_viewer_is_shown_reading_tools_and_told_why_no_others(
    tmp_path: Path, team: Team
) -> None:
    with StdioServer(tmp_path, user="eve@example.org", workspace="harbour") as server:
        server.initialize()
        listed = server.request("tools/list")["result"]["tools"]
        assert {"note_list", "note_manage"} <= {tool["name"] for tool in listed}
        assert "note_save" not in {tool["name"] for tool in listed}
        asked = {"name": "note_save", "arguments": {"text": "mine"}}
        refused = server.request("tools/call", asked)["error"]
        assert refused["code"] == INVALID_PARAMS
        assert "eve@example.org is a viewer of this workspace" in refused["message"]
        team.join("eve", "editor")
        while "result" not in server.request("tools/call", asked):
            pass  # whom the settings name is remembered for a second
        assert server.request("tools/list")["result"]["tools"] == listed


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"user": "ann@example.org", "workspace": "elsewhere"}, "workspace: The user has no"),
        ({"workspace": "harbour"}, "default@localhost"),
    ],
)
def test_a_workspace_that_is_not_the_users_stops_the_start(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    app = make_app(tmp_path, http=True, **settings)
    with pytest.raises(InvalidConfig, match=said):
        app.user.check()
    app.context.close()


def test_a_deleted_member_leaves_what_was_done(tmp_path: Path, team: Team) -> None:
    with HttpServer(tmp_path) as server:
        ask(server, team.tokens["ben"], "note_save", text="# Tides\n\nlow")
        team.store.database.write_sync(SYSTEM, accounts.delete_user, team.ids["ben"])
        assert ask(server, team.tokens["ben"], "note_list")[0] == 401
        found = ask(server, team.tokens["ann"], "note_list")[1]["items"]
        assert [note["title_prev"] for note in found] == ["# Tides"]


def test_a_workspaces_id_is_nobodys_for_who_is_no_member(tmp_path: Path, team: Team) -> None:
    with HttpServer(tmp_path, user="eve@example.org", http__auth="off") as server:
        added = ask(server, "", "add_task", title="x", user_id=team.space)[1]
        assert "not found" in str(added).lower()
        listed = ask(server, "", "list_tasks", user_id=team.space)[1]
        assert listed["code"] == "NOT_FOUND"
    with HttpServer(tmp_path) as server:
        assert '"x"' not in str(ask(server, team.tokens["ann"], "list_tasks")[1])


def test_a_call_that_waits_ends_when_its_caller_leaves(tmp_path: Path, team: Team) -> None:
    with HttpServer(tmp_path) as server, ThreadPoolExecutor(1) as pool:
        wait = 50
        asked: dict[str, Any] = {"since": "0", "wait_seconds": wait}
        waiting = pool.submit(ask, server, team.tokens["ben"], "desk_changes", **asked)
        while "rolltop_calls_in_flight 1.0" not in server.ask("GET", "/metrics")[2].decode():
            pass
        team.leave("ben")
        assert waiting.result(wait - 10)[1]["changes"] == []
        assert ask(server, team.tokens["ben"], "note_list")[0] == 403


def test_a_key_of_one_member_is_not_anothers(tmp_path: Path, team: Team) -> None:
    same = {"text": "# Tides", "idempotency_key": "k"}
    with HttpServer(tmp_path) as server:
        for _ in range(2):
            for name in ("ann", "ben"):
                assert ask(server, team.tokens[name], "note_save", **same)[0] == 200
        assert len(ask(server, team.tokens["ann"], "note_list")[1]["items"]) == 2


def test_refused_requests_count_and_are_logged_without_their_words(
    tmp_path: Path, team: Team
) -> None:
    with HttpServer(tmp_path, http__rate_limit=3) as server:
        codes = [ask(server, team.tokens["ann"], "note_list", "secret-words")[0] for _ in range(4)]
        assert codes == [403, 403, 403, 429]
        assert ask(server, team.tokens["ann"], "note_list")[0] == 200
        server.process.terminate()
        assert server.ends() == 0
        server.stderr.rest()
        assert "secret-words" not in "\n".join(server.stderr.seen)
