"""Bodies over HTTP: what is too large or no JSON is refused, and holds up nobody else."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import time
from contextlib import ExitStack, suppress
from select import select
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.thread_pool import FairTurns
from rolltop.server.asgi_responses import Rejection
from rolltop.server.request_body import RequestBodies
from tests.server.processes import LEGACY, MODERN, PATIENCE, HttpServer, rpc_request, sse_or_json

if TYPE_CHECKING:
    from collections.abc import Iterator

ERAS = [LEGACY, MODERN]
SIZE = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(
        tmp_path_factory.mktemp("bodies"), http__max_body="2MiB", http__max_bodies="4MiB"
    ) as running:
        yield running


def posted(
    server: HttpServer, body: bytes, *, era: str = LEGACY, method: str = "ping", **more: str
) -> tuple[int, Any]:
    """Return status and message of the answer to a body; `method` is for the header."""
    _, headers = rpc_request(method, era=era)
    given = {name.replace("_", "-"): value for name, value in more.items()}
    status, _, answer = server.ask("POST", "/mcp", body, headers | given)
    return status, sse_or_json(answer)


def ping(value: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":' + value + b"}}"


def filled(begin: bytes, unit: bytes, end: bytes) -> bytes:
    return begin + unit * (SIZE // len(unit)) + end


MANY = "Parse error: more than 50000 values"
DEEP = "Parse error: nested more than 100 deep"
LONG = "Parse error: a number of more than 4300 digits"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("body", "identifier", "message"),
    [
        (ping(filled(b"[", b"[],", b"[]]")), 7, MANY),
        (ping(filled(b"[", b"0,", b"0]")), 7, MANY),
        (ping(filled(b"{", b'"k":0,', b'"k":0}')), 7, MANY),
        (filled(b"[", b'{"id":7,"method":"ping"},', b"{}]"), None, MANY),
        (ping(filled(b"", b'{"k":', b"")), 7, DEEP),
        (ping(filled(b"", b"[", b"")), 7, DEEP),
        (ping(filled(b"", b"9", b"")), 7, LONG),
        (ping(filled(b"0.", b"9", b"")), 7, LONG),
        (ping(filled(b"1e", b"9", b"")), 7, LONG),
        (ping(b"1e999"), 7, "Parse error: a number is out of range"),
        (ping(filled(b'["', b"x", b'",1e999]')), 7, "Parse error: a number is out of range"),
        (ping(filled(b'"', b"\xff", b'"')), 7, "Parse error: byte 0 is not UTF-8"),
        (filled(b"", b" ", b""), None, "Parse error: Expecting value"),
        (filled(b'"', b'\\"', b""), None, "Parse error: Unterminated string"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_body_over_a_limit_is_refused_by_its_id(
    server: HttpServer, era: str, body: bytes, identifier: int | None, message: str
) -> None:
    status, answer = posted(server, body, era=era)
    error = {"code": -32700, "message": message}
    assert (status, answer) == (400, {"jsonrpc": "2.0", "id": identifier, "error": error})


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("chunk", [1 << 10, 1 << 20])
def test_a_large_argument_comes_to_its_tool_as_it_was_sent(
    server: HttpServer, era: str, chunk: int
) -> None:
    text = '\U0001f600\\"\n\x7f' * 20_000
    params = {"name": "say", "arguments": {"text": text, "times": 1}}
    body, headers = rpc_request("tools/call", params, era=era)
    connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
    parts = (body[start : start + chunk] for start in range(0, len(body), chunk))
    connection.request("POST", "/mcp", parts, headers, encode_chunked=True)
    answer = sse_or_json(connection.getresponse().read())
    connection.close()
    assert answer.get("result"), answer
    assert answer["result"]["structuredContent"]["code"] == "INVALID_ARGUMENT"
    assert answer["id"] == 1


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "method": "initialize", "params": {"x": "y" * 40_000}},
        {"id": 1, "method": "ping", "params": {"_meta": {"x": "y" * 40_000}}},
        {"id": 1, "method": "ping", "params": {"_meta": {"x": ["y"] * 40_000}}},
        {"id": "y" * 40_000, "method": "ping"},
        {"method": "notifications/cancelled", "params": {"requestId": "y" * 40_000}},
        {"id": 1, "result": {"x": "y" * 40_000}},
    ],
    ids=lambda message: str(message)[:50],
)
def test_only_the_params_of_requests_may_be_large(
    server: HttpServer, era: str, message: dict[str, Any]
) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    status, answer = posted(server, body, era=era)
    assert (status, answer["error"]["code"]) == (400, -32600)
    assert "may have at most 32768 bytes here" in answer["error"]["message"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("name", "code"), [("y" * SIZE, -32602), ("\ud800" * 40_000, -32602), (["y"] * 40_000, -32602)]
)
def test_a_large_name_is_refused_like_a_short_one(
    server: HttpServer, era: str, name: Any, code: int
) -> None:
    body, headers = rpc_request("tools/call", {"name": name, "arguments": {}}, era=era)
    headers.pop("mcp-name", None)
    status, _, answer = server.ask("POST", "/mcp", body, headers)
    got = sse_or_json(answer)
    assert got["id"] == 1
    assert got["error"]["code"] == (code if era == LEGACY else -32020), (status, got)
    assert len(answer) < 2000


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip"])
def test_a_packed_body_is_refused(server: HttpServer, coding: str) -> None:
    status, answer = posted(server, ping(b"1"), content_encoding=coding)
    assert (status, answer) == (415, {"error": "Send the body without Content-Encoding"})
    assert posted(server, ping(b"1"), content_encoding="identity")[0] == 200


def test_all_bodies_together_are_limited_and_counted_no_longer_than_they_last(
    server: HttpServer,
) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 2000000\r\n\r\n"
    end = time.monotonic() + PATIENCE
    with ExitStack() as opened:
        unfinished: list[socket.socket] = []
        status, answer = 0, {}
        while status != 503:  # what was sent has come when it is counted
            assert time.monotonic() < end
            # Whose part comes last is refused, which may be one of the unfinished.
            unfinished = [one for one in unfinished if not select([one], [], [], 0)[0]]
            while len(unfinished) < 2:
                host, port = server.host.rsplit(":", 1)
                sending = opened.enter_context(socket.create_connection((host, int(port))))
                with suppress(ConnectionError):  # it was refused before all of it was sent
                    sending.sendall(head + b" " * 1_950_000)
                unfinished.append(sending)
            status, answer = posted(server, b" " * 1_000_000)
        assert "http.max_bodies" in answer["error"]
        assert posted(server, ping(b"1"))[0] == 200
    while status == 503:
        assert time.monotonic() < end
        status, _ = posted(server, b" " * 1_000_000)
    assert status == 400


def test_others_are_answered_while_a_large_body_is_on_its_way(server: HttpServer) -> None:
    body = ping(filled(b"[", b"0,", b"0]"))
    _, headers = rpc_request("ping", era=LEGACY)
    connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
    connection.putrequest("POST", "/mcp")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.putheader("content-length", str(len(body)))
    connection.endheaders(body[:-1])
    assert server.ask("GET", "/health")[0] == 200
    assert not server.call("who_am_i")["isError"]
    connection.send(body[-1:])
    assert connection.getresponse().status == 400
    connection.close()


class Upload:
    """A body of 3 MiB on its way, in pieces that come once `goes_on` is set."""

    def __init__(self, bodies: RequestBodies, caller: str) -> None:
        self.taken = 0
        self.goes_on = asyncio.Event()
        begin = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
        self._pieces = [begin, *[b"x" * SIZE] * 3, b'"}}']
        self._bodies, self._caller = bodies, caller

    async def receive(self) -> Any:
        if self.taken > len(self._pieces) - 2:
            await self.goes_on.wait()
        self.taken += 1
        rest = self._pieces[self.taken :]
        return {"type": "http.request", "body": self._pieces[self.taken - 1], "more_body": rest}

    async def read(self) -> bool:
        scope = {"type": "http", "headers": [(b"content-type", b"application/json")]}
        try:
            async with self._bodies.message(scope, self.receive, self._caller):
                return True
        except Rejection:
            return False


def test_a_caller_s_bodies_leave_room_for_others() -> None:
    async def send() -> None:
        turns = FairTurns(threads=2, processors=1)
        bodies = RequestBodies(turns, max_body=4 * SIZE, max_total=8 * SIZE)
        first, second, others = (Upload(bodies, name) for name in ("ann", "ann", "ben"))
        reading = asyncio.create_task(first.read())
        others.goes_on.set()
        assert await asyncio.wait_for(others.read(), PATIENCE)
        assert first.taken == 4  # 3 MiB of the 4 that one caller may have
        assert not await asyncio.wait_for(second.read(), PATIENCE)
        first.goes_on.set()
        assert await asyncio.wait_for(reading, PATIENCE)

    asyncio.run(send())


def test_of_a_caller_no_more_large_bodies_are_read_at_once_than_it_has_turns() -> None:
    async def send() -> None:
        turns = FairTurns(threads=2, processors=1)
        bodies = RequestBodies(turns, max_body=4 * SIZE, max_total=64 * SIZE)
        first, second, others = (Upload(bodies, name) for name in ("ann", "ann", "ben"))
        reading = [asyncio.create_task(one.read()) for one in (first, second)]
        others.goes_on.set()
        assert await asyncio.wait_for(others.read(), PATIENCE)
        assert (first.taken, second.taken) == (4, 2)  # 1 MiB is read before the turn
        for one in (first, second):
            one.goes_on.set()
        assert all(await asyncio.wait_for(asyncio.gather(*reading), PATIENCE))

    asyncio.run(send())
