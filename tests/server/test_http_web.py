"""What browsers and probes ask: preflights, readable responses, health under any Host."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from rolltop.core.errors import InvalidConfig
from rolltop.server.http import serve
from tests.server.apps import make_app
from tests.server.processes import LEGACY, PATIENCE, HttpServer, rpc_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APP = "https://app.example.org"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("web"), http__allowed_origins=APP) as running:
        yield running


def sent(server: HttpServer, data: bytes) -> bytes:
    """Return all that comes back on a connection which carries these bytes."""
    host, port = server.host.rsplit(":", 1)
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        connection.sendall(data)
        parts: list[bytes] = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("path", ["/mcp", "/health"])
def test_a_preflight_of_an_allowed_origin_is_answered(server: HttpServer, path: str) -> None:
    asked = {
        "Origin": APP,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,mcp-protocol-version",
    }
    status, headers, body = server.ask("OPTIONS", path, headers=asked)
    assert (status, body) == (204, b"")
    assert headers["access-control-allow-origin"] == APP
    assert headers["access-control-allow-methods"] == "GET, POST"
    allowed = set(headers["access-control-allow-headers"].split(", "))
    assert allowed >= {"authorization", "content-type", "accept", "last-event-id"}
    assert allowed >= {"mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"}
    assert int(headers["access-control-max-age"]) > 0
    assert headers["vary"].startswith("Origin")
    assert "access-control-allow-private-network" not in headers
    assert "access-control-allow-credentials" not in headers
    asked["Access-Control-Request-Private-Network"] = "true"
    _, headers, _ = server.ask("OPTIONS", path, headers=asked)
    assert headers["access-control-allow-private-network"] == "true"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://app.example.org:1"])
def test_a_page_of_another_origin_is_refused_and_may_read_nothing(
    server: HttpServer, origin: str
) -> None:
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    for method in ("OPTIONS", "POST", "GET"):
        status, headers, body = server.ask(method, "/mcp", headers=asked)
        assert status == 403
        assert b"http.allowed_origins" in body
        assert not [name for name in headers if name.startswith("access-control")]


def test_a_page_may_read_answers_and_refusals(server: HttpServer) -> None:
    body, headers = rpc_request("tools/list", era=LEGACY)
    for sent_body, expected in ((body, 200), (b"{}", 400)):
        status, got, _ = server.ask("POST", "/mcp", sent_body, headers | {"Origin": APP})
        assert (status, got["access-control-allow-origin"]) == (expected, APP)
        assert got["vary"] == "Origin"
        assert "www-authenticate" in got["access-control-expose-headers"]
    _, got, _ = server.ask("POST", "/mcp", body, headers)
    assert "access-control-allow-origin" not in got


def test_the_pages_own_forms_pass_under_every_allowed_name(tmp_path: Path) -> None:
    allowed = {"http__allowed_hosts": "desk.example.org", "http__bearer_token": "made-up"}
    with HttpServer(tmp_path, **allowed) as server:
        sender = {"Host": "desk.example.org"}
        _, headers, body = server.ask("GET", "/login", headers=sender)
        sender["Cookie"] = headers["set-cookie"].partition(";")[0]
        found = re.search(rb'name="csrf" value="(\w+)"', body)
        assert found
        form = b"token=made-up&csrf=" + found[1]
        for origin, status in (
            ("https://desk.example.org", 303),
            ("http://desk.example.org", 303),
            ("https://desk.example.org:1", 403),
            ("https://other.example.org", 403),
            ("ftp://desk.example.org", 403),
        ):
            sent_from = {**sender, "Origin": origin}
            assert server.ask("POST", "/login", form, sent_from)[0] == status, origin
        # A name that leads here by somebody else's doing.
        sender = {"Host": "evil.example", "Origin": "http://evil.example"}
        assert server.ask("POST", "/login", form, sender)[0] == 421
        assert server.ask("GET", "/health", headers=sender)[0] == 403


def test_options_without_an_origin_is_no_preflight(server: HttpServer) -> None:
    asked = {"Access-Control-Request-Method": "POST"}
    assert server.ask("OPTIONS", "/mcp", headers=asked)[0] == 405


@pytest.mark.parametrize("path", ["/health", "/ready"])
@pytest.mark.parametrize("host", ["10.1.2.3:8765", "pod.cluster.local", "bad host!", ""])
def test_probes_may_ask_under_any_host(server: HttpServer, path: str, host: str) -> None:
    assert server.ask("GET", path, headers={"Host": host})[0] == 200
    assert sent(server, f"GET {path} HTTP/1.0\r\n\r\n".encode()).startswith(b"HTTP/1.1 200 ")


def test_a_refused_host_is_named_with_the_setting_that_allows_it(server: HttpServer) -> None:
    status, _, body = server.ask("POST", "/mcp", b"{}", {"Host": "desk.example.org"})
    assert status == 421
    assert b"'desk.example.org'" in body
    assert b"http.allowed_hosts" in body
    assert sent(server, b"GET /mcp HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421 ")


def test_probe_addresses_must_be_addresses(tmp_path: Path) -> None:
    app = make_app(tmp_path, http=True, http__port=0, http__probe_addresses=("pod.local",))
    with pytest.raises(InvalidConfig, match=r"http\.probe_addresses: 'pod\.local'"):
        serve(app)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("hosts", "https://desk.example.org"),
        ("hosts", "desk.example.org/"),
        ("hosts", "*.example.org"),
        ("hosts", "2001:db8::1"),
        ("hosts", "bücher.example"),
        ("origins", "app.example.org"),
        ("origins", "https://app.example.org/page"),
        ("origins", "https://*.example.org"),
        ("origins", "*"),
    ],
)
def test_a_name_that_no_request_can_come_with_is_no_start(
    tmp_path: Path, setting: str, name: str
) -> None:
    listed = {f"http__allowed_{setting}": ("desk", name) if setting == "hosts" else (name,)}
    app = make_app(tmp_path, http=True, http__port=0, **listed)
    with pytest.raises(InvalidConfig, match=rf"^http\.allowed_{setting}: {re.escape(repr(name))}"):
        serve(app)


def test_names_in_every_form_that_requests_have_are_taken(tmp_path: Path) -> None:
    hosts = "desk,Desk.Example.org.,proxy.example.org:8443,[2001:db8::1],10.0.0.7,a_b"
    origins = "https://App.example.org/,http://10.0.0.7:3000,vscode-webview://1ab-c,null"
    given = {"http__allowed_hosts": hosts, "http__allowed_origins": origins}
    with HttpServer(tmp_path, **given) as server:
        for host in hosts.split(","):
            for origin in origins.rstrip("/").split(","):
                headers = {"host": host, "origin": origin.rstrip("/")}
                assert server.ask("GET", "/", headers=headers)[0] == 401


BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
TYPE = b"Host: localhost\r\nContent-Type: application/json\r\n"
ACCEPT = b"Accept: application/json, text/event-stream\r\n"
POST = b"POST /mcp HTTP/1.1\r\n" + TYPE + ACCEPT
CHUNKED = b"28\r\n" + BODY + b"\r\n0\r\n\r\n"
HIDDEN = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 40\r\n\r\n" + CHUNKED + HIDDEN,
        POST.replace(b"/1.1", b"/1.0") + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED + HIDDEN,
        POST + b"Content-Length: 40\r\nContent-Length: 5\r\n\r\n" + BODY + HIDDEN,
        POST + b"Content-Length: 40, 5\r\n\r\n" + BODY + HIDDEN,
        POST + b"Content-Length: +40\r\n\r\n" + BODY + HIDDEN,
        POST + b"Content-Length: 0x28\r\n\r\n" + BODY + HIDDEN,
        POST + b"Content-Length : 40\r\n\r\n" + BODY + HIDDEN,
        POST + b"Content-Length: -1\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED + HIDDEN,
        POST + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKED + HIDDEN,
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED + HIDDEN,
        POST + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKED + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"-1\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"0x28\r\n" + BODY + HIDDEN,
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n" + HIDDEN,
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n" + HIDDEN,
        b"GET /health\r\n" + HIDDEN,
    ],
    ids=lambda data: data[-120:-41].decode(),
)
def test_a_request_whose_end_is_in_doubt_is_refused_and_nothing_after_it_is_read(
    server: HttpServer, data: bytes
) -> None:
    got = sent(server, data)
    assert got.count(b"HTTP/1.1 ") == 1, got
    assert got.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")), got
    assert b"connection: close" in got.lower()


def test_headers_have_a_limit(server: HttpServer) -> None:
    many = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 1000) for number in range(66))
    got = sent(server, HIDDEN[:-2] + many + b"\r\n")
    assert got.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 ")), got
    assert b"connection: close" in got.lower()
