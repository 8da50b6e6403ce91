"""Connections that hold a server: half-open, stalled, unread, in pieces, too many."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.server.processes import LEGACY, PATIENCE, HttpServer, Lines, rpc_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server of little patience and few connections."""
    with HttpServer(
        tmp_path_factory.mktemp("connections"),
        http__header_timeout=1,
        http__body_timeout=1,
        http__idle_timeout=1,
        http__max_client_connections=20,
    ) as running:
        yield running


def connected(host: str, data: bytes = b"") -> socket.socket:
    name, port = host.rsplit(":", 1)
    connection = socket.create_connection((name, int(port)), PATIENCE)
    connection.sendall(data)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    parts: list[bytes] = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("data", "start"),
    [
        (b"", b"HTTP/1.1 408 "),
        (HEAD, b"HTTP/1.1 408 "),
        (BODY + b"Content-Length: 9\r\n\r\n{", b"HTTP/1.1 408 "),
        (BODY + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{", b"HTTP/1.1 408 "),
        (HEAD + b"\r\n", b"HTTP/1.1 200 "),
        (HEAD + b"\r\n" + HEAD, b"HTTP/1.1 200 "),
        (HEAD + b"Content-Length: 9\r\n\r\n{", b"HTTP/1.1 200 "),
    ],
    ids=["nothing", "headers", "body", "chunk", "idle", "second headers", "unread body"],
)
def test_a_request_that_does_not_come_is_not_waited_for(
    server: HttpServer, data: bytes, start: bytes
) -> None:
    with connected(server.host, data) as connection:
        assert read_all(connection).startswith(start)


def test_a_body_in_drops_is_not_waited_for(server: HttpServer) -> None:
    with connected(server.host, BODY + b"Transfer-Encoding: chunked\r\n\r\n") as connection:
        connection.settimeout(0.1)  # between two drops
        answer = b""
        while not answer:
            connection.sendall(b"1\r\n \r\n")
            with suppress(TimeoutError):
                answer = connection.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_slow_body_is_waited_for_while_it_keeps_its_rate(server: HttpServer) -> None:
    body, headers = rpc_request("tools/call", {"name": "who_am_i"}, era=LEGACY)
    lines = [f"{name}: {value}\r\n".encode() for name, value in headers.items()]
    start = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    with connected(server.host, b"".join([start, *lines, b"\r\n"])) as connection:
        connection.settimeout(0.1)
        for _ in range(15):  # half as long again as a body may stall
            connection.sendall(b"1000\r\n%s\r\n" % (b" " * 0x1000))
            with pytest.raises(TimeoutError):
                connection.recv(1)
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        connection.settimeout(PATIENCE)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_half_open_connections_keep_nobody_out(server: HttpServer) -> None:
    with ExitStack() as opened:
        for _ in range(60):
            opened.enter_context(connected(server.host, HEAD))
        assert server.ask("GET", "/health")[0] == 200
        assert not server.call("who_am_i")["isError"]


def test_calls_in_flight_keep_their_connections(server: HttpServer) -> None:
    body, headers = rpc_request("tools/call", {"name": "wait_for_cancel"}, era=LEGACY)
    with ExitStack() as opened:
        for _ in range(20):
            waiting = http.client.HTTPConnection(server.host, timeout=PATIENCE)
            opened.callback(waiting.close)
            waiting.request("POST", "/mcp", body, headers)
            assert waiting.getresponse().status == 200
        with connected(server.host) as refused:
            assert read_all(refused).startswith(b"HTTP/1.1 503 ")


def test_half_open_connections_leave_descriptors_for_others(tmp_path: Path) -> None:
    command = ["-m", "tests.server.program", "http", f"data_dir={tmp_path}", "http.port=0"]
    limited = ["sh", "-c", 'ulimit -n 256 && exec "$@"', "sh", sys.executable, *command]
    with subprocess.Popen(limited, stderr=subprocess.PIPE) as process, ExitStack() as opened:
        opened.callback(process.kill)
        assert process.stderr
        lines = Lines(process.stderr)
        host = urlsplit(lines.until(r"started .*url=(\S+)")[1]).netloc
        for _ in range(300):
            opened.enter_context(connected(host, HEAD))
        asking = http.client.HTTPConnection(host, timeout=PATIENCE)
        opened.callback(asking.close)
        for method, path, body, headers in (
            ("GET", "/health", None, {}),
            ("POST", "/mcp", *rpc_request("tools/call", {"name": "who_am_i"}, era=LEGACY)),
        ):
            asking.request(method, path, body, headers)
            response = asking.getresponse()
            assert response.status == 200
            response.read()


def test_a_body_of_tiny_chunks_is_refused(server: HttpServer) -> None:
    with connected(server.host, BODY + b"Transfer-Encoding: chunked\r\n\r\n") as connection:
        connection.sendall(b"1\r\n \r\n" * 1500)
        assert read_all(connection).startswith(b"HTTP/1.1 400 ")
