"""Bodies of requests: counted while they arrive, parsed once, and refused as soon as can be."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

from mcp_types import JSONRPCMessage
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope

from rolltop.core.json_scanner import JsonScanner, LimitExceeded
from rolltop.core.thread_pool import FairTurns, Pool
from rolltop.server import jsonrpc
from rolltop.server.asgi_responses import CLOSE_HEADERS, Rejection
from rolltop.server.jsonrpc import MAX_INLINE_BYTES

SHUTDOWN_MESSAGE: Final = "The server is stopping"
SHUTDOWN_HEADERS: Final = {"retry-after": "1", **CLOSE_HEADERS}
_JSON: Final = "application/json"
_MAX_UNASKED_BYTES: Final = 1 << 20
"""What is taken of a body before it is its caller's turn to send a large one."""


@dataclass(frozen=True)
class RequestMessage:
    """A message, and its body where that is small enough for the SDK to parse it again."""

    message: JSONRPCMessage
    body: bytes | None


class RequestBodies:
    """The bodies that are on their way or being served, within `max_total` bytes together."""

    def __init__(self, turns: FairTurns, *, max_body: int, max_total: int) -> None:
        """`max_body` is the limit of one body in bytes; a caller may have half of all."""
        self._turns = turns
        self._max_body = max_body
        self._max_total = max_total
        self._total = 0
        self._totals: Counter[str] = Counter()
        self._arriving: set[asyncio.Timeout] = set()
        self._stopping = False
        # One at a time, so that threads that parse don't take the lock from the loop in turns.
        self._parsing = asyncio.Semaphore(1)

    def reject_unread(self) -> None:
        """Refuse the requests whose body is still on its way: none of them has begun a call."""
        self._stopping = True
        now = asyncio.get_running_loop().time()
        for reading in self._arriving:
            reading.reschedule(now)

    @asynccontextmanager
    async def message(
        self, scope: Scope, receive: Receive, caller: str
    ) -> AsyncGenerator[RequestMessage]:
        """Read the body of a caller's request; its bytes count until the request has been served.

        A large one is parsed in a turn of the caller, and what a very large one has beyond 1 MiB
        read in another; a caller without a name (there is no token) takes no turns. Raises
        Rejection.
        """
        body = _ArrivingBody(caller)
        try:
            _check_media_type(Headers(scope=scope))
            yield await self._read(scope, receive, body)
        finally:
            self._count(body, -body.size)

    async def _read(self, scope: Scope, receive: Receive, body: _ArrivingBody) -> RequestMessage:
        try:
            async with asyncio.timeout(0 if self._stopping else None) as reading:
                self._arriving.add(reading)
                try:
                    await self._receive(scope, receive, body, _MAX_UNASKED_BYTES)
                    if not body.is_complete:
                        async with self._turn(body.caller, "upload"):
                            await self._receive(scope, receive, body, self._max_body)
                finally:
                    self._arriving.discard(reading)
        except TimeoutError:
            raise Rejection.with_message(503, SHUTDOWN_MESSAGE, SHUTDOWN_HEADERS) from None
        if body.failure is not None:
            raise rejection_of(jsonrpc.body_refusal(bytes(body.head), body.failure))
        if body.size <= MAX_INLINE_BYTES:
            message = jsonrpc.parse_message(bytes(body.head))
        else:
            async with self._turn(body.caller, "body"), self._parsing:
                message = await asyncio.to_thread(body.parse)
        if isinstance(message, list):
            raise rejection_of(message[0])
        return RequestMessage(message, bytes(body.head) if body.size <= MAX_INLINE_BYTES else None)

    def _turn(self, caller: str, pool: Pool) -> AbstractAsyncContextManager[object]:
        return self._turns.turn(caller, pool) if caller else nullcontext()

    def _count(self, body: _ArrivingBody, size: int) -> bool:
        """Count bytes of a body; return whether there are too many of them, or of its caller's."""
        self._total += size
        self._totals[body.caller] += size
        mine = self._totals[body.caller]
        if not mine:
            del self._totals[body.caller]
        # One caller's, whose connections may be gone meanwhile, leave room for others'.
        most = max(self._max_body, self._max_total // 2) if body.caller else self._max_total
        return self._total > self._max_total or mine > most

    async def _receive(
        self, scope: Scope, receive: Receive, body: _ArrivingBody, until: int
    ) -> None:
        """Take the body up to so many bytes; one refused for its contents is still taken."""
        declared = Headers(scope=scope).get("content-length", "")
        too_large = f"A request may have at most {self._max_body} bytes (http.max_body)"
        if declared.isdecimal() and int(declared) > self._max_body:
            raise Rejection.with_message(413, too_large, CLOSE_HEADERS)
        while not body.is_complete and body.size <= until:
            received = await receive()
            if received["type"] != "http.request":
                raise Rejection.with_message(400, "The body ended early", CLOSE_HEADERS)
            chunk = received.get("body", b"")
            body.size += len(chunk)
            is_crowded = self._count(body, len(chunk))
            if body.size > self._max_body:
                raise Rejection.with_message(413, too_large, CLOSE_HEADERS)
            if is_crowded:
                text = "The requests on their way are too large together (http.max_bodies)"
                raise Rejection.with_message(503, text, SHUTDOWN_HEADERS)
            body.take(chunk)
            body.is_complete = not received.get("more_body", False)


class _ArrivingBody:
    """What has come of one body."""

    def __init__(self, caller: str) -> None:
        self.caller = caller
        self.size = 0
        self.is_complete = False
        self.head = bytearray()
        """Of a large body, no more than an id is looked for in."""
        self.failure: LimitExceeded | None = None
        self._scanner: JsonScanner | None = JsonScanner()

    def take(self, chunk: bytes) -> None:
        if len(self.head) <= MAX_INLINE_BYTES:
            self.head += chunk[: MAX_INLINE_BYTES + 1]
        if self._scanner is None:
            return
        try:
            self._scanner.feed(chunk)
        except LimitExceeded as failure:
            self.failure, self._scanner = failure, None

    def parse(self) -> JSONRPCMessage | list[jsonrpc.JsonRpcRefusal]:
        """Return the message. Called on a thread."""
        scanner, self._scanner = self._scanner, None
        try:
            return jsonrpc.message_from_value(scanner.parse() if scanner else None)
        except ValueError as failure:
            return [jsonrpc.body_refusal(bytes(self.head), failure)]


def rejection_of(refusal: jsonrpc.JsonRpcRefusal) -> Rejection:
    """Return the rejection that answers with a JSON-RPC error."""
    return Rejection(Response(refusal.body(), 400, media_type=_JSON), f"code {refusal.code}")


def _check_media_type(headers: Headers) -> None:
    """Refuse a body that is not even read: it is not JSON, or it is packed. Raises Rejection."""
    types = headers.getlist("content-type")
    if len(types) != 1 or types[0].partition(";")[0].strip().lower() != _JSON:
        raise Rejection.with_message(415, f"Send {_JSON} as Content-Type")
    if any(coding.strip().lower() != "identity" for coding in headers.getlist("content-encoding")):
        text = "Send the body without Content-Encoding"
        raise Rejection.with_message(415, text, {"accept-encoding": "identity"})
