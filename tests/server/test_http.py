"""HTTP: who may reach the server under which name, what it takes, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import InvalidConfig, StartupError
from rolltop.server.http import serve
from tests.limits import LONG
from tests.server.apps import make_app
from tests.server.processes import (
    LEGACY,
    MODERN,
    PATIENCE,
    ClockedHttpServer,
    HttpServer,
    ServerProcess,
    free_port,
    rpc_request,
    sse_or_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ERAS = [LEGACY, MODERN]
EVERYWHERE = "0.0.0.0"  # noqa: S104  # refused is what it shall be


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server on the loopback that answers to one public name and one web origin."""
    with HttpServer(
        tmp_path_factory.mktemp("http"),
        http__allowed_hosts="desk.example.org,proxy.example.org:8443",
        http__allowed_origins="https://app.example.org",
        http__max_body="64KiB",
    ) as running:
        yield running


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:1", 200),
        ("127.8.9.10", 200),
        ("localhost", 200),
        ("LOCALHOST:8765", 200),
        ("localhost.", 200),
        ("[::1]:8765", 200),
        ("[::ffff:127.0.0.1]:8765", 200),
        ("[::ffff:192.168.1.5]", 421),
        ("desk.example.org", 200),
        ("Desk.Example.Org:443", 200),
        ("proxy.example.org:8443", 200),
        ("proxy.example.org", 421),
        ("proxy.example.org:80", 421),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("evil.example:8765", 421),
        ("desk.example.org.evil.example", 421),
        ("localhost@evil.example", 421),
        ("[::1]evil", 421),
        ("192.168.1.5", 421),
        ("", 421),
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/nowhere"])
def test_only_known_hosts_are_answered_but_for_probes(
    server: HttpServer, path: str, host: str, status: int
) -> None:
    got, _, _ = server.ask("GET", path, headers={"Host": host})
    passed = {"/mcp": 405, "/nowhere": 404}[path]
    assert got == (passed if status == 200 else status)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1", 200),
        ("https://[::1]:1234", 200),
        ("https://app.example.org", 200),
        ("HTTPS://APP.example.org", 200),
        ("http://app.example.org", 403),
        ("https://app.example.org:8443", 403),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost@evil.example", 403),
        ("http://evil.example@localhost", 403),
        ("http://localhost/path", 403),
        ("ftp://localhost", 403),
        ("null", 403),
        ("", 403),
        ("http://[", 403),
    ],
)
def test_only_known_origins_may_call(server: HttpServer, origin: str, status: int) -> None:
    assert server.ask("GET", "/health", headers={"Origin": origin})[0] == status


def test_health_says_nothing_but_that_it_lives(server: HttpServer) -> None:
    status, _, body = server.ask("GET", "/health")
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    status, headers, _ = server.ask("POST", "/health")
    assert (status, headers["allow"]) == (405, "GET, HEAD")


def test_it_is_ready_once_the_store_is_open(server: HttpServer) -> None:
    status, _, body = server.ask("GET", "/ready")
    assert (status, json.loads(body)) == (200, {"status": "ok"})


@pytest.mark.parametrize("era", ERAS)
def test_tools_are_listed_and_called(server: HttpServer, era: str) -> None:
    status, listed = server.rpc("tools/list", era=era)
    assert status == 200
    assert {"add_task", "say", "who_am_i"} <= {t["name"] for t in listed["result"]["tools"]}
    called = server.call("who_am_i", era=era)["structuredContent"]
    assert called["rights"] == ["act_as", "read", "write"]
    assert called["actor"] == ("raw" if era == MODERN else "")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("body", "identifier", "code"),
    [
        (b"garbage", None, -32700),
        (b"[" * 30_000, None, -32700),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":NaN}}', 3, -32700),
        (b'{"jsonrpc":"2.0","id":4}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', 5, -32600),
        (b"[]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":6,"method":"ping"}]', 6, -32600),
        (b"", None, -32700),
    ],
)
def test_a_malformed_body_is_answered(
    server: HttpServer, era: str, body: bytes, identifier: Any, code: int
) -> None:
    _, headers = rpc_request("ping", era=era)
    status, _, answer = server.ask("POST", "/mcp", body, headers)
    assert status == 400
    message = json.loads(answer)
    assert (message["id"], message["error"]["code"]) == (identifier, code)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"title": "\ud800"}, "INVALID_TEXT"),
        ({"title": "x", "description": "\udc00 and more"}, "INVALID_TEXT"),
        ({"title": "x", "\ud800": 1}, "INVALID_ARGUMENT"),
        ({"title": "x", "tags": json.loads("[" * 96 + "]" * 96)}, "INVALID_ARGUMENT"),
    ],
)
def test_arguments_that_are_json_reach_their_tool_in_both_eras(
    server: HttpServer, era: str, arguments: dict[str, Any], code: str
) -> None:
    result = server.call("add_task", era=era, **arguments)
    assert (result["isError"], result["structuredContent"]["code"]) == (True, code)


@pytest.mark.parametrize("era", ERAS)
def test_json_that_no_argument_brings_is_answered_by_its_id(server: HttpServer, era: str) -> None:
    _, answer = server.rpc("ping", {"x": "\ud800"}, era=era)
    assert answer["id"] == 1
    _, answer = server.rpc("tools/call", {"name": "\ud800", "arguments": {}}, era=LEGACY)
    assert answer["id"] == 1
    body, headers = rpc_request("tools/list", era=era)
    status, _, listed = server.ask("POST", "/mcp", b"\xef\xbb\xbf" + body, headers)
    assert (status, "tools" in sse_or_json(listed)["result"]) == (200, True)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("sent", "is_json"),
    [
        ("APPLICATION/JSON", True),
        ("Application/Json; charset=utf-8", True),
        ("application/json;charset=utf-8", True),
        ("text/plain", False),
        ("application/json-rpc", False),
        ("application/x-www-form-urlencoded; charset=application/json", False),
        ("", False),
        (None, False),
    ],
)
def test_a_message_comes_as_json_in_any_case(
    server: HttpServer, era: str, sent: str | None, *, is_json: bool
) -> None:
    body, headers = rpc_request("tools/list", era=era)
    del headers["content-type"]
    given = {} if sent is None else {"content-type": sent}
    status, _, answer = server.ask("POST", "/mcp", body, headers | given)
    assert status == (200 if is_json else 415)
    if not is_json:
        assert json.loads(answer) == {"error": "Send application/json as Content-Type"}


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_refused(server: HttpServer, *, declared: bool) -> None:
    _, headers = rpc_request("ping", era=LEGACY)
    connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
    body = b"x" * (65 * 1024)
    pieces = body if declared else iter([body[:40_000], body[40_000:]])
    with suppress(ConnectionError):  # it was refused before all of it was sent
        connection.request("POST", "/mcp", pieces, headers, encode_chunked=not declared)
    response = connection.getresponse()
    assert (response.status, response.getheader("connection")) == (413, "close")
    assert response.getheader("retry-after") is None  # it will be as large
    connection.close()


def test_a_refused_request_is_logged_by_its_status_and_never_by_its_words(tmp_path: Path) -> None:
    json_type = {"content-type": "application/json"}
    refused: list[tuple[dict[str, str], bytes, int]] = [
        ({"host": "private.example"}, b"{}", 421),
        ({"origin": "http://private.example"}, b"{}", 403),
        ({"authorization": "Bearer private"}, b"{}", 401),
        ({}, b'{"my": "private words"}', 415),
        (json_type, b'{"my": "private words"}', 400),
        (json_type, b"private" * 1000, 413),
    ]
    with HttpServer(tmp_path, http__max_body=1024) as server:
        for headers, body, status in refused:
            assert server.ask("POST", "/mcp", body, headers)[0] == status
            server.stderr.until(rf"request refused.* status={status} .*address=127.* path=/mcp")
        assert not any("private" in line for line in server.stderr.seen)


@pytest.mark.parametrize(
    ("agent", "budget"),
    [("codex_cli_rs/0.147.0", 2_400), ("claude-code/2.1 (cli)", 9_000), ("curl/8", 9_000)],
)
def test_a_client_without_a_name_is_known_by_its_user_agent(
    server: HttpServer, agent: str, budget: int
) -> None:
    params: dict[str, Any] = {"name": "who_am_i", "arguments": {}}
    for era, expected in ((LEGACY, budget), (MODERN, 20_000)):  # which carries the client's name
        body, headers = rpc_request("tools/call", params, era=era)
        answer = server.ask("POST", "/mcp", body, {**headers, "user-agent": agent})[2]
        assert sse_or_json(answer)["result"]["structuredContent"]["budget"] == expected


def test_there_is_no_stream_to_open_and_no_session_to_end(server: HttpServer) -> None:
    for method in ("GET", "DELETE", "PUT"):
        status, headers, _ = server.ask(method, "/mcp")
        assert (status, headers["allow"]) == (405, "POST")


def test_the_legacy_era_is_offered_no_subscriptions(server: HttpServer) -> None:
    params = {"uri": "rolltop://thing/one"}
    assert server.rpc("resources/subscribe", params)[1]["error"]["code"] == -32601
    client = {"name": "raw", "version": "1"}
    handshake = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}
    opened = server.rpc("initialize", handshake)[1]["result"]
    assert opened["capabilities"]["resources"]["subscribe"] is False


@pytest.mark.parametrize("era", ERAS)
def test_progress_is_streamed(server: HttpServer, era: str) -> None:
    params = {"name": "take_steps", "arguments": {"steps": 9}, "_meta": {"progressToken": "t"}}
    body, headers = rpc_request("tools/call", params, era=era)
    _, _, answer = server.ask("POST", "/mcp", body, headers)
    events = [json.loads(x[5:]) for x in answer.decode().splitlines() if x.startswith("data:")]
    assert [e["params"]["progress"] for e in events[:-1]][-1] == 9
    assert events[-1]["result"]["structuredContent"] == {"steps": 9}


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_leaves_cancels_its_call(tmp_path: Path, era: str) -> None:
    with HttpServer(tmp_path) as server:
        server.call("who_am_i")
        params = {"name": "wait_for_cancel", "_meta": {"progressToken": "t"}}
        body, headers = rpc_request("tools/call", params, era=era)
        connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        connection.request("POST", "/mcp", body, headers)
        response = connection.getresponse()
        assert b"event: message" in response.readline()
        assert b"waiting" in response.readline()
        response.close()
        connection.close()
        server.stderr.until("tool=wait_for_cancel .*outcome=cancelled")


def test_the_next_call_of_a_client_works_after_a_restart(tmp_path: Path) -> None:
    port = free_port()
    with HttpServer(tmp_path, http__port=port) as server:
        assert not server.call("add_task", title="kept")["isError"]
        server.process.kill()
    with HttpServer(tmp_path, http__port=port) as server:
        listed = server.call("list_tasks")["structuredContent"]["data"]
        assert [task["title"] for task in listed] == ["kept"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_time_with_a_stuck_thread(tmp_path: Path, number: signal.Signals) -> None:
    with ClockedHttpServer(tmp_path, http__shutdown_timeout="1h") as server:
        body, headers = rpc_request("tools/call", {"name": "stuck"}, era=LEGACY)
        stuck = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        stuck.request("POST", "/mcp", body, headers)
        assert stuck.getresponse().status == 200
        server.call("who_am_i")
        server.process.send_signal(number)
        server.let_time_pass()
        assert server.ends() == 0
        assert any("stopped" in line for line in server.stderr.rest())
        stuck.close()


WAITING_CALL = ("tools/call", {"name": "wait_for_cancel"})
WAITING_READ = ("resources/read", {"uri": "rolltop://thing/waiting"})


def in_flight(
    server: HttpServer, era: str, request: tuple[str, dict[str, str]] = WAITING_CALL
) -> http.client.HTTPConnection:
    """Return the connection of a request that waits for its end, and has come to the server."""
    server.call("who_am_i")
    body, headers = rpc_request(*request, era=era)
    waiting = http.client.HTTPConnection(server.host, timeout=PATIENCE)
    waiting.request("POST", "/mcp", body, headers)
    server.ask("GET", "/health")
    return waiting


def test_after_sigterm_calls_are_served_for_a_while_and_probes_hear_of_the_end(
    tmp_path: Path,
) -> None:
    with HttpServer(tmp_path, http__drain_seconds="60s") as server:
        kept = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        kept.request("GET", "/health")
        kept.getresponse().read()
        server.process.send_signal(signal.SIGTERM)
        server.stderr.until("stopping")
        status, headers, answer = server.ask("GET", "/ready")
        assert (status, headers["connection"]) == (503, "close")
        assert json.loads(answer)["reason"] == "the server is stopping"
        status, headers, _ = server.ask("POST", "/mcp", *rpc_request("tools/list", era=LEGACY))
        assert (status, headers["connection"]) == (200, "close")
        assert kept.sock
        assert kept.sock.recv(1) == b""  # so no proxy sends its next request there
        kept.close()


def test_a_server_whose_disk_failed_a_write_is_not_ready(tmp_path: Path) -> None:
    with HttpServer(tmp_path) as server:
        assert not server.call("add_task", title="kept")["isError"]
        assert server.ask("GET", "/ready")[0] == 200
        for limit in (8192, resource.RLIM_INFINITY):
            allowed = (limit, resource.RLIM_INFINITY)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, allowed)
            assert server.call("add_task", title="lost")["isError"]
            status, _, answer = server.ask("GET", "/ready")
            reason = "The disk failed to keep what was written to the store."
            assert (status, json.loads(answer)["reason"]) == (503, reason)
        assert not server.call("list_tasks")["isError"]


def is_listening(server: HttpServer) -> bool:
    """Whether a connection to the server can be made."""
    host, port = server.host.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (ConnectionRefusedError, ConnectionResetError):  # the latter while it is closed
        return False
    return True


def test_while_stopping_calls_in_flight_end_and_nobody_can_connect(tmp_path: Path) -> None:
    limits = {"rolltop.server.http:_FIRST_REQUEST_TIMEOUT": LONG}
    with ClockedHttpServer(tmp_path, limits, http__shutdown_timeout="3650d") as server:
        waiting = in_flight(server, MODERN)
        early = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        early.connect()
        server.ask("GET", "/health")  # so the other connection has come
        server.process.send_signal(signal.SIGTERM)
        early.request("POST", "/mcp", *rpc_request("tools/list", era=LEGACY))
        assert early.getresponse().status == 200
        early.close()
        server.let_time_pass()
        while is_listening(server):
            pass
        assert waiting.sock
        waiting.sock.shutdown(socket.SHUT_RDWR)
        waiting.close()
        assert server.ends() == 0


def test_calls_that_come_with_the_signal_are_answered(tmp_path: Path) -> None:
    limits = {
        f"rolltop.server.http:{name}": 0 for name in ("_ACCEPT_GRACE", "_ACCEPT_SETTLE_SECONDS")
    }
    with ClockedHttpServer(tmp_path, limits, http__shutdown_timeout="3650d") as server:
        server.call("who_am_i")
        waiting: list[http.client.HTTPConnection] = []
        os.kill(server.process.pid, signal.SIGSTOP)
        for number in range(40):
            call = {"name": "add_task", "arguments": {"title": f"task {number}"}}
            waiting.append(http.client.HTTPConnection(server.host, timeout=PATIENCE))
            waiting[-1].request("POST", "/mcp", *rpc_request("tools/call", call, era=MODERN))
        server.process.send_signal(signal.SIGTERM)
        os.kill(server.process.pid, signal.SIGCONT)
        answers = [sse_or_json(connection.getresponse().read()) for connection in waiting]
        for connection in waiting:
            connection.close()
        told = [answer["result"]["content"] for answer in answers]
        assert [text for text in told if "UNAVAILABLE" in str(text)] == []
        assert server.ends() == 0


@pytest.mark.parametrize("request_", [WAITING_CALL, WAITING_READ])
def test_what_is_not_done_when_the_server_must_end_is_told_so(
    tmp_path: Path, request_: tuple[str, dict[str, str]]
) -> None:
    with ClockedHttpServer(tmp_path, http__shutdown_timeout="1h") as server:
        waiting = in_flight(server, LEGACY, request_)
        server.process.send_signal(signal.SIGTERM)
        server.let_time_pass()
        response = waiting.getresponse()
        assert "UNAVAILABLE" in response.read().decode()
        assert server.ends() == 0
        waiting.close()


def test_it_ends_in_time_while_a_thread_holds_the_interpreter(tmp_path: Path) -> None:
    limits = {
        "rolltop.server.http:_EXIT_LIMIT": 0.2,
        "rolltop.server.http:_ACCEPT_GRACE": LONG,
        "rolltop.server.http:_FIRST_REQUEST_TIMEOUT": LONG,
    }
    with HttpServer(tmp_path, limits, http__shutdown_timeout="1s") as server:
        body, headers = rpc_request("tools/call", {"name": "hold_interpreter"}, era=LEGACY)
        held = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        held.request("POST", "/mcp", body, headers)
        server.stderr.until("held")
        server.process.send_signal(signal.SIGTERM)
        assert server.ends() == -signal.SIGKILL
        held.close()


def test_a_request_whose_body_does_not_come_is_refused_at_once_when_the_server_stops(
    tmp_path: Path,
) -> None:
    with HttpServer(tmp_path, http__shutdown_timeout="60s") as server:
        stalled = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        stalled.putrequest("POST", "/mcp")
        stalled.putheader("content-type", "application/json")
        stalled.putheader("content-length", "1000")
        stalled.endheaders(b'{"jsonrpc":')
        server.call("who_am_i")  # so the other request has come
        server.process.send_signal(signal.SIGTERM)
        response = stalled.getresponse()
        assert (response.status, response.getheader("connection")) == (503, "close")
        assert json.loads(response.read()) == {"error": "The server is stopping"}
        assert server.ends() == 0
        stalled.close()


def test_an_idle_connection_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with HttpServer(tmp_path, http__shutdown_timeout="1h", http__idle_timeout="1h") as server:
        idle = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        idle.request("GET", "/health")
        idle.getresponse().read()
        server.process.send_signal(signal.SIGTERM)
        assert server.ends() == 0
        idle.close()


def test_a_change_stream_hears_of_own_changes_and_ends_with_the_server(tmp_path: Path) -> None:
    uri = "rolltop://thing/one"
    with HttpServer(tmp_path) as server:
        params = {"notifications": {"resourceSubscriptions": [uri]}}
        body, headers = rpc_request("subscriptions/listen", params, era=MODERN)
        stream = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        stream.request("POST", "/mcp", body, headers)
        response = stream.getresponse()
        assert b"acknowledged" in response.readline() + response.readline()
        server.call("announce", thing="other", era=MODERN)
        server.call("announce", thing="one", era=MODERN)
        server.process.send_signal(signal.SIGTERM)
        rest = [json.loads(x[5:]) for x in response.read().splitlines() if x.startswith(b"data:")]
        assert [m["params"]["uri"] for m in rest if "method" in m] == [uri]
        assert rest[-1]["result"]["resultType"] == "complete"
        assert server.ends() == 0
        stream.close()


def test_a_unix_socket_serves_its_owner_too(tmp_path: Path) -> None:
    path = tmp_path / "desk.sock"
    with HttpServer(tmp_path, http__socket=path) as server:
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(path))
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
        with ServerProcess("http", tmp_path, {"http.port": 0, "http.socket": path}) as second:
            assert second.ends() == 1
        server.process.kill()
    with HttpServer(tmp_path, http__socket=path, http__shutdown_timeout="1h") as again:
        waiting = in_flight(again, MODERN)
        again.process.send_signal(signal.SIGTERM)
        while is_listening(again):
            pass
        assert not path.exists()
        # The next one is up before this one has ended its calls.
        with HttpServer(tmp_path, http__socket=path) as heir:
            assert waiting.sock
            waiting.sock.shutdown(socket.SHUT_RDWR)
            waiting.close()
            assert again.ends() == 0
            assert path.exists()
            heir.process.send_signal(signal.SIGTERM)
            assert heir.ends() == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"http.host": EVERYWHERE}, "http.allowed_hosts"),
        ({"http.host": "::"}, "http.allowed_hosts"),
        ({"http.host": ""}, "http.allowed_hosts"),
        ({"http.host": "no.such.host.invalid"}, "http.allowed_hosts"),
        ({"http.host": EVERYWHERE, "http.auth": "off"}, "http.auth"),
        ({"http.host": EVERYWHERE, "http.allowed_hosts": ("x.org",)}, "rolltop token create"),
        ({"http.auth": "token"}, "rolltop token create"),
        ({"http.host": "127.0.0.1\0"}, "http.host"),
        ({"user": "ada@example.org"}, "rolltop user add"),
    ],
)
def test_a_start_that_would_not_be_safe_is_refused(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    app = make_app(tmp_path, http=True, **{"http.port": 0, **changes})
    with pytest.raises(InvalidConfig) as refused:
        serve(app)
    assert said in f"{refused.value.message} {refused.value.hint}"
    app.context.database.close()


def test_a_refused_address_ends_the_process_with_two(tmp_path: Path) -> None:
    with ServerProcess("http", tmp_path, {"http.host": EVERYWHERE}) as refused:
        assert refused.ends() == 2


def test_a_port_that_is_taken_fails_the_start(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StartupError, match=str(port)):
            serve(make_app(tmp_path, http=True, http__port=port))


def test_many_callers_at_once_each_get_their_own_answer(server: HttpServer) -> None:
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        era = ERAS[number % 2]
        answers[number] = server.call("say", text=f"<{number}>", era=era)["structuredContent"][
            "said"
        ]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert all(f"<{number}>" in answers[number] for number in range(24))


def test_the_last_message_of_a_stream_is_found() -> None:
    assert sse_or_json(b'event: message\r\ndata: {"a":1}\r\n\r\n') == {"a": 1}
