"""Connections that hold a server: half-open, stalled, unread, in pieces, too many."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
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


LIMIT = 1
"""Seconds for which a server of little patience waits."""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server of little patience."""
    with HttpServer(
        tmp_path_factory.mktemp("hasty"),
        http__header_timeout=LIMIT,
        http__body_timeout=LIMIT,
        http__idle_timeout=LIMIT,
    ) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server of few connections, which waits for as long as tests may take."""
    with HttpServer(
        tmp_path_factory.mktemp("connections"),
        http__header_timeout="1h",
        http__body_timeout="1h",
        http__idle_timeout="1h",
        http__max_client_connections=20,
    ) as running:
        yield running


class Pauses:
    """The longest time that this process let pass between two looks at the clock."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = time.monotonic()

    def look(self) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self._last)
        self._last = now

    def were_too_long(self) -> bool:
        """Whether the server may have waited for this process, which was halted meanwhile."""
        self.look()
        return self.longest > LIMIT / 2


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
    hasty: HttpServer, data: bytes, start: bytes
) -> None:
    while True:
        pauses = Pauses()
        with connected(hasty.host, data) as connection:
            if pauses.were_too_long():
                continue
            assert read_all(connection).startswith(start)
            break


def test_a_body_in_drops_is_not_waited_for(hasty: HttpServer) -> None:
    with connected(hasty.host, BODY + b"Transfer-Encoding: chunked\r\n\r\n") as connection:
        connection.settimeout(0.1)  # between two drops
        answer = b""
        while not answer:
            connection.sendall(b"1\r\n \r\n")
            with suppress(TimeoutError):
                answer = connection.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 408 ")


def is_answered_slowly(server: HttpServer) -> bool:
    """Send a call for half as long again as a body may stall; False where this process was halted.

    Fails where the call is not answered well.
    """
    body, headers = rpc_request("tools/call", {"name": "who_am_i"}, era=LEGACY)
    lines = [f"{name}: {value}\r\n".encode() for name, value in headers.items()]
    start = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    pauses, answer = Pauses(), b""
    with (
        suppress(ConnectionError),
        connected(server.host, b"".join([start, *lines, b"\r\n"])) as connection,
    ):
        connection.settimeout(LIMIT / 10)
        for _ in range(15):
            connection.sendall(b"1000\r\n%s\r\n" % (b" " * 0x1000))
            pauses.look()
            with suppress(TimeoutError):
                answer = connection.recv(1 << 16)
                break
        else:
            connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            pauses.look()
            connection.settimeout(PATIENCE)
            answer = connection.recv(1 << 16)
    if pauses.were_too_long():
        return False
    assert answer.startswith(b"HTTP/1.1 200 ")
    return True


def test_a_slow_body_is_waited_for_while_it_keeps_its_rate(hasty: HttpServer) -> None:
    while not is_answered_slowly(hasty):
        pass


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
