"""Tokens over HTTP: when one is needed, whose it is, and what it may do."""

from __future__ import annotations

import asyncio
import http.client
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import InvalidConfig
from rolltop.server.auth import Authenticator
from tests.server.apps import make_app
from tests.server.processes import LEGACY, MODERN, PATIENCE, HttpServer, StdioServer, rpc_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ERAS = (LEGACY, MODERN)
A_WORD = "s3cret"


class Accounts:
    """The store of a running server, reached as `rolltop token` reaches it."""

    def __init__(self, folder: Path, *, days_ahead: float = 0) -> None:
        url = f"sqlite:///{folder / 'data' / 'desk.db'}"
        (folder / "data").mkdir(exist_ok=True)
        ahead = timedelta(days=days_ahead)
        self.database = Database(url, clock=lambda: datetime.now(UTC) + ahead)

    def user(self, email: str) -> str:
        return self.database.write_sync(SYSTEM, accounts.add_user, email).id

    def token(self, user: str, name: str = "t", **options: Any) -> tuple[str, str]:
        """Return the plain token and its id."""
        plain, token = self.database.write_sync(
            SYSTEM, accounts.create_token, user, name, **options
        )
        return plain, token.id


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Accounts]:
    """The accounts in the store below the test's folder."""
    made = Accounts(tmp_path)
    yield made
    made.database.close()


def status(server: HttpServer, *, authorization: str | None, path: str = "/mcp") -> int:
    """Return the status a request with that Authorization header gets."""
    body, headers = rpc_request("tools/list", era=LEGACY)
    if authorization is not None:
        headers["authorization"] = authorization
    return server.ask("POST", path, body, headers)[0]


def test_auto_asks_for_a_token_from_the_moment_the_store_holds_one(
    tmp_path: Path, store: Accounts
) -> None:
    with HttpServer(tmp_path) as server:
        assert status(server, authorization=None) == 200
        assert status(server, authorization="Bearer rt_made_up") == 401
        plain, _ = store.token(store.user("ada@example.org"))
        assert status(server, authorization=None) == 401
        assert status(server, authorization=f"Bearer {plain}") == 200
        assert status(server, authorization=f"bearer   {plain}") == 200
        for wrong in (
            "",
            "Bearer",
            "Bearer ",
            "Bearer rt_made_up",
            f"Bearer {plain}x",
            f"Bearer {plain[:-1]}",
            f"Basic {plain}",
            plain,
            f"Bearer {plain} {plain}",
            "Bearer \xff\xfe",
        ):
            assert status(server, authorization=wrong) == 401, wrong
        assert status(server, authorization=None, path=f"/mcp?token={plain}") == 401
        assert server.ask("GET", "/mcp")[0] == 401
        assert server.ask("GET", "/health")[0] == 200


def test_the_challenge_is_what_the_specification_asks_for(tmp_path: Path, store: Accounts) -> None:
    plain, _ = store.token(store.user("ada@example.org"), read_only=True)
    with HttpServer(tmp_path) as server:
        _, headers = rpc_request("ping", era=LEGACY)
        _, missing, body = server.ask("POST", "/mcp", b"{}", headers)
        assert missing["www-authenticate"] == "Bearer"
        assert b"rolltop token create" in body
        headers["authorization"] = "Bearer rt_unknown"
        code, wrong, body = server.ask("POST", "/mcp", b"{}", headers)
        assert code == 401
        assert wrong["www-authenticate"].startswith('Bearer error="invalid_token"')
        assert b"rt_unknown" not in body
        call, headers = rpc_request("tools/call", {"name": "add_task"}, era=LEGACY)
        headers["authorization"] = f"Bearer {plain}"
        code, few, _ = server.ask("POST", "/mcp", call, headers)
        assert code == 403
        assert few["www-authenticate"].startswith('Bearer error="insufficient_scope"')


def test_a_token_stops_working_when_revoked_or_expired_and_the_door_stays_shut(
    tmp_path: Path, store: Accounts
) -> None:
    ada = store.user("ada@example.org")
    past = Accounts(tmp_path, days_ahead=-2)
    expired, _ = past.token(ada, expires_at=datetime.now(UTC) - timedelta(days=1))
    past.database.close()
    revoked, revoked_id = store.token(ada)
    with HttpServer(tmp_path) as server:
        assert status(server, authorization=f"Bearer {expired}") == 401
        assert status(server, authorization=f"Bearer {revoked}") == 200
        store.database.write_sync(SYSTEM, accounts.revoke_token, ada, revoked_id)
        assert status(server, authorization=f"Bearer {revoked}") == 401
    with HttpServer(tmp_path) as server:
        assert status(server, authorization=None) == 401
    with HttpServer(tmp_path, http__auth="off") as server:
        assert status(server, authorization=None) == 200
        assert status(server, authorization=f"Bearer {revoked}") == 200


def test_each_token_sees_its_owners_things_only(tmp_path: Path, store: Accounts) -> None:
    ada, bob = store.user("ada@example.org"), store.user("bob@example.org")
    hers, token_id = store.token(ada, "laptop")
    his, _ = store.token(bob)
    with HttpServer(tmp_path, project="kite") as server:
        for era in ERAS:
            seen = server.call("who_am_i", era=era, token=hers)["structuredContent"]
            assert (seen["user"], seen["actor"], seen["project"]) == (ada, "laptop", "kite")
            assert seen["rights"] == ["read", "write"]
            added = server.call("add_task", era=era, token=hers, title="hers")
            task = added["structuredContent"]["data"]["task_id"]
            listed = server.call("list_tasks", era=era, token=his)["structuredContent"]["data"]
            assert listed == []
            for arguments in ({"task_id": task}, {"task_id": task, "user_id": ada}):
                refused = server.call("complete_task", era=era, token=his, **arguments)
                assert refused["structuredContent"]["code"] == "NOT_FOUND"
    [used] = store.database.read_sync(SYSTEM, accounts.list_tokens, ada)
    assert used.id == token_id
    assert used.last_used_at is not None


def test_a_token_names_the_project_of_its_clients(tmp_path: Path, store: Accounts) -> None:
    ada = store.user("ada@example.org")
    kite, own = store.token(ada, project="kite")[0], store.token(ada)[0]
    with HttpServer(tmp_path, project="boat") as server:
        for era in ERAS:
            for token, project in ((kite, "kite"), (own, "boat")):
                seen = server.call("who_am_i", era=era, token=token)["structuredContent"]
                assert seen["project"] == project
        added = server.call("add_task", token=kite, title="fly")["structuredContent"]["data"]
        assert server.call("next_task", token=own)["structuredContent"]["data"] is None
        found = server.call("next_task", token=kite)["structuredContent"]["data"]
        assert (found["task_id"], found["project"]) == (added["task_id"], "kite")


@pytest.mark.parametrize("era", ERAS)
def test_a_token_to_read_with_sees_and_calls_reading_tools_only(
    reading_and_writing: tuple[HttpServer, str, str], era: str
) -> None:
    server, reading, writing = reading_and_writing
    listed = server.rpc("tools/list", era=era, token=reading)[1]["result"]["tools"]
    assert {"list_tasks", "keep_things"} <= {tool["name"] for tool in listed}
    assert "add_task" not in {tool["name"] for tool in listed}
    [keeping] = [tool for tool in listed if tool["name"] == "keep_things"]
    assert "save" not in str(keeping["inputSchema"])
    everything = server.rpc("tools/list", era=era, token=writing)[1]["result"]["tools"]
    assert "add_task" in {tool["name"] for tool in everything}
    again = server.rpc("tools/list", era=era, token=reading)[1]["result"]["tools"]
    assert again == listed
    code, _ = server.rpc("tools/call", {"name": "add_task"}, era=era, token=reading)
    assert code == 403
    refused = server.call("keep_things", era=era, token=reading, action="save")
    assert refused["isError"]
    code, unknown = server.rpc("tools/call", {"name": "ad_task"}, era=era, token=reading)
    assert unknown["error"]["code"] == -32602
    assert not server.call("list_tasks", era=era, token=reading)["isError"]


@pytest.fixture(scope="module")
def reading_and_writing(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[HttpServer, str, str]]:
    """A server, a token to read with and one to write with."""
    folder = tmp_path_factory.mktemp("tokens")
    made = Accounts(folder)
    ada = made.user("ada@example.org")
    reading, writing = made.token(ada, read_only=True)[0], made.token(ada)[0]
    made.database.close()
    with HttpServer(folder) as server:
        yield server, reading, writing


def test_nobody_passes_while_the_store_cannot_be_asked(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    url = "postgresql://nobody@127.0.0.1:1/nowhere?connect_timeout=1"
    with HttpServer(tmp_path, database_url=url) as server:
        assert status(server, authorization=None) == 503
        assert status(server, authorization="Bearer rt_anything") == 503
        assert server.ask("GET", "/ready")[0] == 503
        assert server.ask("GET", "/health")[0] == 200
        server.stderr.until(
            r'"request refused".* status=503 reason=.*out of reach: .*port 1.*path=/mcp'
        )


def test_a_store_that_is_silent_is_waited_for_as_long_as_a_call_may_take(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nowhere"
        patient = {"database_url": url, "lock_timeout": "10m", "call_timeout": "1s"}
        with HttpServer(tmp_path, **patient) as server:
            cookie = {"cookie": f"rolltop_page_{server.host.rpartition(':')[2]}=a"}
            for given in (None, "Bearer rt_anything"):
                assert status(server, authorization=given) == 503
            for headers in ({}, cookie):
                assert server.ask("GET", "/", headers=headers)[0] == 503
        with StdioServer(tmp_path, **patient) as server:
            server.initialize()
            assert server.call("note_list")["structuredContent"]["error"]["code"] == "TIMEOUT"


def test_the_token_of_the_settings_is_required_and_is_the_default_users(
    tmp_path: Path, store: Accounts
) -> None:
    with HttpServer(tmp_path, http__bearer_token=f" {A_WORD} ", http__require_token=True) as server:
        for wrong in (None, "Bearer", "Bearer s3cre", "Bearer s3crets", "Bearer s3crét", "s3cret"):
            assert status(server, authorization=wrong) == 401
        assert status(server, authorization="Bearer s3cret") == 200
        seen = server.call("who_am_i", token=A_WORD)["structuredContent"]
        email = accounts.DEFAULT_EMAIL
        default = store.database.read_sync(SYSTEM, accounts.find_user_by_email, email)
        assert default is not None
        assert (seen["user"], seen["rights"]) == (default.id, ["read", "write"])
        hers, _ = store.token(store.user("ada@example.org"))
        assert status(server, authorization=f"Bearer {hers}") == 200
        assert not any("s3cret" in line for line in server.stderr.seen)
    # A token that is given is one that is asked for.
    with HttpServer(tmp_path, http__bearer_token=A_WORD[::-1]) as server:
        assert status(server, authorization=None) == 401


@pytest.mark.parametrize(
    "given",
    [
        {"http.require_token": True},
        {"http.require_token": True, "http.auth": "off"},
        {"http.bearer_token": "s3cret", "http.auth": "off"},
        {"http.bearer_token": "two words"},
        {"http.auth": "jwt"},
        {"http.auth": "jwt", "http.bearer_token": "s3cret"},
        {"http.jwt_create_users": True},
        {"http.oauth_audience": "https://desk.example/mcp"},
        {"http.oauth_audience": "https://desk.example/mcp", "http.bearer_token": "s3cret"},
    ],
)
def test_authentication_that_is_not_set_up_is_no_start(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    app = make_app(tmp_path, http=True, **given)
    with pytest.raises(InvalidConfig) as refused:
        Authenticator(app.context, app.user, exposed=False).check()
    assert refused.value.hint
    assert "s3cret" not in str(refused.value)
    app.context.close()


def test_jwt_asks_for_an_issuer_and_for_no_token_of_the_store(tmp_path: Path) -> None:
    given = {"http.oauth_issuer": "https://a.example", "http.public_url": "https://b.example"}
    app = make_app(tmp_path, http=True, **{"http.auth": "jwt", **given})
    authentication = Authenticator(app.context, app.user, exposed=False)
    authentication.check()
    assert asyncio.run(authentication.is_token_needed())
    app.context.close()


def test_no_token_ever_reaches_the_log(tmp_path: Path, store: Accounts) -> None:
    plain, token_id = store.token(store.user("ada@example.org"))
    with HttpServer(tmp_path, log_level="trace") as server:
        assert status(server, authorization=f"Bearer {plain}") == 200
        assert status(server, authorization="Bearer rt_swordfish") == 401
        server.call("who_am_i", token=plain)
        server.process.terminate()
        assert server.ends() == 0
        server.stderr.rest()
        log = "\n".join(server.stderr.seen)
    assert plain not in log
    assert f"token_id={token_id}" in log
    assert "swordfish" not in log


def listen(server: HttpServer, opened: ExitStack, token: str = "") -> http.client.HTTPResponse:
    """Return a stream of changes that has been acknowledged."""
    params = {"notifications": {"resourceSubscriptions": ["rolltop://thing/one"]}}
    body, headers = rpc_request("subscriptions/listen", params, era=MODERN)
    headers |= {"authorization": f"Bearer {token}"} if token else {}
    connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
    opened.callback(connection.close)
    connection.request("POST", "/mcp", body, headers)
    stream = opened.enter_context(connection.getresponse())
    assert b"acknowledged" in stream.readline() + stream.readline()
    return stream


def test_streams_and_waiting_calls_without_a_token_end_when_one_is_needed(
    tmp_path: Path, store: Accounts
) -> None:
    wait = 50
    with HttpServer(tmp_path) as server, ExitStack() as opened, ThreadPoolExecutor(1) as pool:
        stream = listen(server, opened)
        waiting = pool.submit(server.call, "desk_changes", since="0", wait_seconds=wait)
        while b"rolltop_calls_in_flight 1.0" not in server.ask("GET", "/metrics")[2]:
            pass
        store.token(store.user("ada@example.org"))
        assert b"complete" in stream.read()
        assert not waiting.result(wait - 10)["isError"]
        assert status(server, authorization=None) == 401


def test_a_call_that_waits_for_changes_is_answered_when_the_server_stops(tmp_path: Path) -> None:
    with (
        HttpServer(tmp_path, http__shutdown_timeout="20s") as server,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(server.call, "desk_changes", since="0", wait_seconds=50)
        while b"rolltop_calls_in_flight 1.0" not in server.ask("GET", "/metrics")[2]:
            pass
        server.process.send_signal(signal.SIGTERM)
        assert waiting.result(PATIENCE)["structuredContent"]["changes"] == []
        assert server.ends() == 0


@pytest.mark.parametrize("how", ["revoked", "deleted"])
def test_the_stream_of_a_revoked_token_ends(tmp_path: Path, store: Accounts, how: str) -> None:
    user = store.user("ada@example.org")
    plain, token_id = store.token(user)
    kept, _ = store.token(store.user("bob@example.org"))
    with HttpServer(tmp_path) as server, ExitStack() as opened:
        streams = [listen(server, opened, token) for token in (plain, kept)]
        if how == "revoked":
            store.database.write_sync(SYSTEM, accounts.revoke_token, user, token_id)
        else:
            store.database.write_sync(SYSTEM, accounts.delete_user, user)
        assert b"complete" in streams[0].read()
        server.call("announce", thing="one", era=MODERN, token=kept)
        assert b"acknowledged" not in streams[1].readline()
